"""One private disk cache per test run, shared by its workers; forms; Ctrl-C; how much is run.

``--quick`` leaves out what is slow, most of what goes through every op, and four fifths of the
tests outside the contract and conformance. What multiplies all samples of all ops by extents and
derivatives takes, of each op, samples that are spread over all, and other extents at each;
``--thorough`` has it take them all, and fuses ops as for users.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import random
import shutil
import signal
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import forms, quick_options

# SciPy reads it when it is imported: its functions, and scikit-learn's, then keep our arrays
os.environ.setdefault("SCIPY_ARRAY_API", "1")

#: Of tests that exist once for every op or function, and of others that have parameters,
#: ``--quick`` runs one in this many.
SAMPLE, SAMPLE_OF_OTHERS = 18, 8
#: Of the tests of a module, ``--quick`` runs one in so many, but all in these folders.
OF_A_MODULE = 5
WHOLE = ("tests/contract/", "tests/conformance/")
SAMPLED = ("tests/conformance/", "tests/ops/", "tests/numpy/", "tests/torch/")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick", action="store_true",
        help=f"leave out slow tests, and all but one in {SAMPLE} of those that go through every op",
    )  # fmt: skip
    parser.addoption(
        "--thorough", action="store_true",
        help="take all samples at all extents where a part of them is taken otherwise",
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
    gc.set_threshold(YOUNGEST, *gc.get_threshold()[1:])
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # as in what a script starts in the background, and in all that it starts in turn
        signal.signal(signal.SIGINT, signal.default_int_handler)
    quick_options.thorough = bool(config.getoption("--thorough"))
    is_worker = hasattr(config, "workerinput")
    if not is_worker and config.getoption("numprocesses", None):
        config.pluginmanager.register(CrashedWorkers())
    if not is_worker and "LAZYLOOM_CACHE_DIR" not in os.environ:
        folder = tempfile.mkdtemp(prefix="lazyloom-tests-")
        os.environ["LAZYLOOM_CACHE_DIR"] = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


class CrashedWorkers:
    """Where the threads of a worker that crashed were, as part of the test's report."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="lazyloom-crashes-")

    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["crash_file"] = os.path.join(self.folder, node.gateway.id)

    def pytest_handlecrashitem(self, crashitem: str, report: Any) -> None:
        file = Path(self.folder, report.node.gateway.id)
        text = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
        report.longrepr = f"{report.longrepr}\n" + (
            text or "no fatal signal that Python handles: it was killed, or called os._exit")

    def pytest_unconfigure(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    file = getattr(session.config, "workerinput", {}).get("crash_file")
    if file is not None:
        # it stays open as long as the process lives, in place of pytest's own
        faulthandler.enable(open(file, "w", encoding="utf-8"))  # noqa: SIM115


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    backend = os.environ.get("LAZYLOOM_BACKEND", "xla")
    if backend != "xla":
        for item in items:
            if item.get_closest_marker("xla") is not None:
                item.add_marker(pytest.mark.skip(reason=f"is about XLA, the backend is {backend}"))
    _skip_left_out(items)
    if not config.getoption("--thorough"):
        for item in items:
            if item.get_closest_marker("thorough") is not None:
                item.add_marker(pytest.mark.skip(reason="is for --thorough"))
    if not config.getoption("--quick"):
        return
    chosen = _quick(items)
    left_out = set(items) - set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = chosen


def _skip_left_out(items: list[pytest.Item]) -> None:
    """Skip tests of an accelerator that LAZYLOOM_WITHOUT leaves out: all others must pass."""
    from lazyloom.settings import ACCELERATORS, WITHOUT

    for item in items:
        for mark in item.iter_markers("accelerator"):
            if set(mark.args) - ACCELERATORS.keys() or not mark.args:
                raise pytest.UsageError(
                    f"{item.nodeid} is marked accelerator{mark.args}, expected names out of "
                    f"{', '.join(ACCELERATORS)}")
            missing = ", ".join(name for name in mark.args if name in WITHOUT)
            if missing:
                item.add_marker(pytest.mark.skip(
                    reason=f"is a test of {missing}, which LAZYLOOM_WITHOUT leaves out"))


#: how many tests run until what they left is set aside
SET_ASIDE = 200
#: objects until the cycle collector looks at the youngest; with Python's 700 it takes 7 % of all
#: tests' time. Tests of what it does call it, or run in processes of their own
YOUNGEST = 20_000
_ran = 0


def _set_aside() -> None:
    """Have no ``gc.collect()`` of a test look through what was there before.

    Of PyTorch, JAX and all tests that is millions of objects, which take a second each time.
    """
    gc.collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    _set_aside()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before all fixtures: programs run in the form that the test is about."""
    global _ran
    _ran += 1
    if _ran % SET_ASIDE == 0:
        _set_aside()
    forms.use(forms.form_of(item))
    if not quick_options.thorough:
        quick_options.share_context()


def _quick(items: list[pytest.Item]) -> list[pytest.Item]:
    """Of each test that is not slow at least one item: the same every time, in every worker."""
    found: list[pytest.Item] = []
    ranked: dict[str, list[tuple[int, int, pytest.Item]]] = {}
    for place, item in enumerate(items):
        if item.get_closest_marker("slow") is not None:
            continue
        callspec = getattr(item, "callspec", None)
        parameters = dict(callspec.params) if callspec is not None else {}
        name = item.nodeid.partition("[")[0]
        form = parameters.pop("form", None)
        # half of the tests in one form, half in the other
        if form is not None and (zlib.crc32(name.encode()) % 2 == 0) != (form == "compiled"):
            continue
        if parameters:
            rank = zlib.crc32(item.nodeid.encode())
            ranked.setdefault(name, []).append((rank, place, item))
        else:
            found.append(item)
    for name, some in ranked.items():
        count = SAMPLE if name.startswith(SAMPLED) else SAMPLE_OF_OTHERS
        found += [item for *_, item in sorted(some)[: -(-len(some) // count)]]
    kept = set(found)
    left = _some_of_each_module({item.nodeid.partition("[")[0] for item in kept})
    return [item for item in items if item in kept and item.nodeid.partition("[")[0] in left]


def _some_of_each_module(names: set[str]) -> set[str]:
    """One in so many tests of each module; all of those of the contract and of conformance."""
    left: set[str] = set()
    modules: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        if name.startswith(WHOLE):
            left.add(name)
        else:
            rank = zlib.crc32(name.encode())
            modules.setdefault(name.partition("::")[0], []).append((rank, name))
    for some in modules.values():
        left.update(one for _, one in sorted(some)[: -(-len(some) // OF_A_MODULE)])
    return left


@pytest.fixture
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether all samples of an op are to be taken, at all extents."""
    return bool(request.config.getoption("--thorough"))


@pytest.fixture(autouse=True)
def form(request: pytest.FixtureRequest) -> str:
    """The form in which the test's programs run: "compiled" or "op_by_op"."""
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
    from lazyloom.execute import compile_costs

    folder = tmp_path / "cache"
    monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(folder))
    memory.clear()
    compile_costs.forget()
    yield folder
    memory.clear()
    compile_costs.forget()


@pytest.fixture(scope="module")
def quick_compiler() -> Iterator[None]:
    """For modules whose programs run once: XLA leaves out what makes code fast.

    No other test finds these programs. With --thorough, tests/ops fuse every op as for users.
    """
    from lazyloom.backends.xla import jax_compat
    from lazyloom.cache import memory

    with quick_options.another_fingerprint(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax_compat, "XLA_OPTIONS", [*jax_compat.XLA_OPTIONS, *quick_options.known()])
        patch.setenv("LAZYLOOM_CACHE_DIR", os.path.join(os.environ["LAZYLOOM_CACHE_DIR"], "quick"))
        memory.clear()
        yield
        memory.clear()
