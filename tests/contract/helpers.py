"""What the contract's tests share."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import lazyloom as ll

ROOT = Path(__file__).resolve().parents[2]
F32 = ll.dtypes.float32


def host(data: Any, dtype: Any = np.float32) -> ll.Value:
    """A value with that data."""
    return ll.from_host(np.asarray(data, dtype))


def tensor(data: Any, dtype: Any = np.float32) -> ll.Tensor:
    """A tensor with that data."""
    return ll.Tensor(host(data, dtype))


def number(x: float, dtype: ll.DType = F32) -> ll.Scalar:
    """A run-time scalar."""
    return ll.Scalar(x, dtype)


def rec(op: str, *operands: Any, **attributes: Any) -> Any:
    """A recorded op, its attributes by name."""
    return ll.record(op, operands, attributes)


class Delta(dict[str, int]):
    """How much each counter of ``stats()`` grew inside a :func:`counted` block."""

    def __getattr__(self, name: str) -> int:
        return self[name]


@contextmanager
def counted() -> Iterator[Delta]:
    """Fills a :class:`Delta` when the block ends."""
    before = ll.stats()
    delta = Delta()
    yield delta
    delta.update({k: v - before.get(k, 0) for k, v in ll.stats().items()})


def script(
    code: str, *arguments: str, cache: Path | str | None = None, timeout: float = 120,
    check: bool = True, **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process of its own that can import what this one can."""
    env = {**os.environ, **environment}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), *(p for p in sys.path if p)])
    if cache is not None:
        env["LAZYLOOM_CACHE_DIR"] = str(cache)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments], env=env, text=True,
        errors="backslashreplace", capture_output=True, timeout=timeout)
    if check and done.returncode != 0:
        raise AssertionError(f"exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


@contextmanager
def switching() -> Iterator[None]:
    """Threads take turns a thousand times as often as they do by default."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def in_threads(functions: Sequence[Callable[[], Any]], timeout: float = 60) -> list[Any]:
    """Run the functions at once, each in its thread; their results. Raises the first error."""
    results: list[Any] = [None] * len(functions)
    errors: list[BaseException] = []
    start = threading.Barrier(len(functions))

    def body(i: int) -> None:
        try:
            start.wait(timeout)
            results[i] = functions[i]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(i,), daemon=True)
               for i in range(len(functions))]  # fmt: skip
    for t in threads:
        t.start()
    for t in threads:
        t.join(timeout)
    assert not any(t.is_alive() for t in threads), "a thread hangs"
    if errors:
        raise errors[0]
    return results
