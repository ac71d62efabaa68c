"""One private disk cache per test run, shared by its workers; forms; Ctrl-C; and ``--quick``."""

from __future__ import annotations

import functools
import os
import random
import shutil
import signal
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import forms

# SciPy reads it when it is imported: its functions, and scikit-learn's, then keep our arrays
os.environ.setdefault("SCIPY_ARRAY_API", "1")

#: Of tests that exist once for every op or function, ``--quick`` runs one in this many.
SAMPLE = 18
SAMPLED = ("tests/conformance/", "tests/ops/", "tests/numpy/", "tests/torch/")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick", action="store_true",
        help=f"leave out slow tests, and all but one in {SAMPLE} of those that go through every op",
    )  # fmt: skip
    parser.addoption(
        "--op", action="append", metavar="NAME",
        help="take only this op in tests that go through the op table, several in each test",
    )  # fmt: skip


#: Tests that compile several ops in one program divide the table into this many parts.
PARTS = 8


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """``op_names`` of a test is a part of the op table's names, or what ``--op`` names.

    A test of the contract runs in both forms.
    """
    forms.parametrize(metafunc)
    if "op_names" not in metafunc.fixturenames:
        return
    from lazyloom.ops.spec import lookup, table

    asked = metafunc.config.getoption("--op")
    if asked:
        metafunc.parametrize("op_names", [[lookup(name).name for name in asked]], ids=["asked"])
        return
    # the ops of the package: other tests add some of their own
    version = lookup("add").version
    names = sorted(name for name, op in table().items() if op.version == version)
    # every so manyeth op, so that heavy ones are spread out
    metafunc.parametrize("op_names", [names[i::PARTS] for i in range(PARTS)], ids=range(PARTS))


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # as in what a script starts in the background, and in all that it starts in turn
        signal.signal(signal.SIGINT, signal.default_int_handler)
    is_worker = hasattr(config, "workerinput")
    if not is_worker and "LAZYLOOM_CACHE_DIR" not in os.environ:
        folder = tempfile.mkdtemp(prefix="lazyloom-tests-")
        os.environ["LAZYLOOM_CACHE_DIR"] = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    backend = os.environ.get("LAZYLOOM_BACKEND", "xla")
    if backend != "xla":
        for item in items:
            if item.get_closest_marker("xla") is not None:
                item.add_marker(pytest.mark.skip(reason=f"is about XLA, the backend is {backend}"))
    if not config.getoption("--quick"):
        return
    chosen = [item for item in items if _is_quick(item)]
    left_out = set(items) - set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = chosen


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before all fixtures: programs run in the form that the test is about."""
    forms.use(forms.form_of(item))


def _is_quick(item: pytest.Item) -> bool:
    if item.get_closest_marker("slow") is not None:
        return False
    # the same sample every time, and in every worker
    sampled = item.nodeid.startswith(SAMPLED) and "[" in item.nodeid
    return not sampled or zlib.crc32(item.nodeid.encode()) % SAMPLE == 0


#: XLA's options for tests whose programs run once: compiling takes a quarter of the processor
#: time. Those that this version of XLA does not know are left out.
QUICK_OPTIONS = [
    ("xla_backend_optimization_level", "0"),
    ("xla_llvm_disable_expensive_passes", "True"),
    ("xla_cpu_use_fusion_emitters", "False"),
    ("xla_cpu_parallel_codegen_split_count", "1"),
]
SMALLEST = """func.func public @main() -> tensor<i1> {
  %0 = stablehlo.constant dense<true> : tensor<i1>
  return %0 : tensor<i1>
}"""


@functools.lru_cache(maxsize=1)
def _quick_options() -> list[tuple[str, str]]:
    from lazyloom.backends.xla import jax_compat

    known = list(jax_compat.XLA_OPTIONS)
    for option in QUICK_OPTIONS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(jax_compat, "XLA_OPTIONS", [option])
            try:
                jax_compat.compile_text(SMALLEST)
            except RuntimeError:
                continue
        known.append(option)
    return known


@pytest.fixture(autouse=True)
def form(request: pytest.FixtureRequest) -> str:
    """The form in which the test's programs run: "whole" or "pieces"."""
    return forms.form_of(request.node)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Every test draws the same random numbers, whichever tests ran before it in its process."""
    random.seed(0)
    for library in ("numpy", "lazyloom_numpy"):
        if library in sys.modules:
            sys.modules[library].random.seed(0)
    for library in ("torch", "lazyloom_torch"):
        if library in sys.modules:
            sys.modules[library].manual_seed(0)


@pytest.fixture
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty disk cache and no program in memory, for this test alone.

    What a test finds there otherwise depends on those before it, also in other processes: a program
    that was stored for inputs that stay alive, say, donates nothing.
    """
    from lazyloom.cache import memory

    folder = tmp_path / "cache"
    monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(folder))
    memory.clear()
    yield folder
    memory.clear()


@pytest.fixture(scope="module")
def quick_compiler() -> Iterator[None]:
    """For modules whose programs run once: XLA leaves out what makes code fast.

    No other test finds these programs. Every op is also compiled as for users, by tests/ops.
    """
    from lazyloom.backends.xla import jax_compat
    from lazyloom.cache import memory

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax_compat, "XLA_OPTIONS", _quick_options())
        patch.setenv("LAZYLOOM_CACHE_DIR", os.path.join(os.environ["LAZYLOOM_CACHE_DIR"], "quick"))
        memory.clear()
        yield
        memory.clear()
