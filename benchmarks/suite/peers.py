"""Who is measured beside us: where they are found and how their threads are set.

A peer runs in this environment's Python, or in that of ``LAZYLOOM_BENCH_PYTHON_<PEER>`` (such as
``LAZYLOOM_BENCH_PYTHON_TORCH_XLA``) where its versions clash with others';
``LAZYLOOM_BENCH_PYTHON`` stands in for all peers but NumPy, JAX and Lazyloom itself. The peer
``earlier`` is another build of Lazyloom (``benchmarks/beside.py``), by its environment's Python.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

Variables = dict[str, str]


def _xla(count: int) -> Variables:
    # XLA:CPU's pool takes its size from this one, or from the processors it may run on
    return {"NPROC": str(count), "OPENBLAS_NUM_THREADS": str(count)}


def _openmp(count: int) -> Variables:
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return {name: str(count) for name in names}


@dataclass(frozen=True)
class Peer:
    """A library.

    Attributes:
        title: for people.
        check: what a new process runs to see whether it is there and works.
        distributions: those whose versions are reported.
        threads: variables that set its number of threads; None if it cannot be set.
        variables: variables of its process in any case.
    """

    title: str
    check: str
    distributions: tuple[str, ...]
    threads: Callable[[int], Variables] | None = None
    variables: Variables = field(default_factory=dict)


PEERS: dict[str, Peer] = {
    "lazyloom": Peer("Lazyloom", "import lazyloom", ("lazyloom",), _xla),
    "earlier": Peer("Lazyloom, earlier", "import lazyloom", ("lazyloom",), _xla),
    "numpy": Peer("NumPy", "import numpy", ("numpy",), _openmp),
    "jax": Peer("JAX", "import jax", ("jax", "jaxlib"), _xla),
    "torch": Peer("PyTorch", "import torch", ("torch",), _openmp),
    "mlx": Peer("MLX", "import mlx.core", ("mlx",)),
    "tinygrad": Peer(
        "tinygrad", "import tinygrad; (tinygrad.Tensor.ones(2) + 1).tolist()", ("tinygrad",),
        lambda count: {"NUM_CPU_THREADS": str(count)}),
    "torch_xla": Peer(
        "pytorch/xla", "import torch_xla; torch_xla.device()", ("torch_xla", "torch"), _xla,
        {"PJRT_DEVICE": "CPU"}),
}  # fmt: skip

OURS = ("lazyloom", "jax", "numpy")

_VERSIONS = """
import importlib.metadata as m, json, platform
{check}
found = {{"python": platform.python_version()}}
for name in {names!r}:
    try:
        found[name] = m.version(name)
    except m.PackageNotFoundError:
        found[name] = "checkout"
print("\\n" + json.dumps(found))
"""


def python_of(peer: str) -> str:
    """The interpreter that the peer runs in."""
    given = os.environ.get(f"LAZYLOOM_BENCH_PYTHON_{peer.upper()}")
    if given is None and peer not in OURS:
        given = os.environ.get("LAZYLOOM_BENCH_PYTHON")
    return given or sys.executable


def probe(name: str) -> tuple[dict[str, str], str]:
    """The peer's versions, or why it is absent."""
    peer = PEERS[name]
    code = _VERSIONS.format(check=peer.check, names=peer.distributions)
    try:
        done = subprocess.run(
            [python_of(name), "-c", code], capture_output=True, text=True, timeout=120,
            env={**os.environ, **peer.variables},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return {}, f"{type(error).__name__}: {error}"
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        reason = lines[-1] if lines else f"exit status {done.returncode}"
        return {}, reason.removeprefix("ModuleNotFoundError: ")
    return json.loads(done.stdout.strip().splitlines()[-1]), ""


def thread_counts(name: str, cores: int) -> list[int | None]:
    """The numbers of threads to try."""
    if PEERS[name].threads is None:
        return [None]
    return sorted({1, max(1, cores // 2), cores})


def variables(name: str, threads: int | None) -> Variables:
    """Variables of a peer's process."""
    peer = PEERS[name]
    found = dict(peer.variables)
    if threads is not None:
        found["LAZYLOOM_BENCH_THREADS"] = str(threads)
        if peer.threads is not None:
            found.update(peer.threads(threads))
    return found
