"""What is measured beside programs is tried in them, and decides here and in later processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
from lazyloom import codegen
from lazyloom.backends.xla.backend import Xla
from lazyloom.backends.xla.regions import engines
from lazyloom.cache import memory
from lazyloom.codegen import Generator, Region, verdicts
from lazyloom.execute.compiling import background, trials
from tests.codegen.generators import InNumPy

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
    pytest.mark.usefixtures("fresh_cache"),
]

A = numpy.linspace(-2, 2, 30, dtype="float32").reshape(5, 6)
B = numpy.linspace(1, 3, 30, dtype="float32").reshape(6, 5)
#: more runs than all that is measured and tried takes
ENOUGH = 200


class Products(InNumPy):
    """Products whose last bits are not XLA's, classed all alike."""

    merges = False

    def __init__(self, worthwhile: bool) -> None:
        super().__init__("matmul", "tanh", name="products")
        self.estimated = worthwhile

    def supports(self, call: codegen.Call) -> codegen.Answer:
        found = super().supports(call)
        if not found or call.op != "matmul":
            return codegen.No("another op")
        return codegen.YES if self.estimated else codegen.if_measured("XLA is quicker")

    def size_class(self, call: codegen.Call) -> str | None:
        return "all products" if call.op == "matmul" else None

    def build(self, region: codegen.Region) -> codegen.Code:
        self.built.append([call.op for call in region.calls])

        def run(a: Any, b: Any) -> Any:
            self.calls += 1
            return numpy.nextafter(a @ b, numpy.float32(numpy.inf))

        return codegen.PythonCode(run)


class Machine:
    """A machine on which runs take as long as is said.

    Attributes:
        alone: seconds of a product by itself by the generator, where XLA takes one.
        inside: seconds of the loop with the generator's product, where it takes one with XLA's.
        measured: how often something was measured.
        reproducible: this is what the option says.
    """

    def __init__(self, alone: float, inside: float) -> None:
        self.alone = alone
        self.inside = inside
        self.measured = 0
        self.now = 0.0
        self.reproducible = threading.local()

    def timed(self, *given: Any) -> list[tuple[float, float]]:
        self.measured += 1
        return [(self.alone, 1.0)] * 9

    def run(self) -> tuple[str, Any]:
        """Run the program once; who multiplied, and the value."""
        found = numpy.asarray(np.asarray(A) @ np.asarray(B))
        numpy.testing.assert_allclose(found, A @ B, rtol=1e-5)
        evaluation = lazyloom.last_evaluation()
        assert evaluation is not None and evaluation.form == "compiled"
        name = evaluation.regions.run[0].generator if evaluation.regions.run else "xla"
        self.now += self.inside if name == "products" else 1.0
        return name, found

    def settle(self) -> list[str]:
        """Run it until nothing changes any more; who multiplied each time."""
        names = []
        for _ in range(ENOUGH):
            names.append(self.run()[0])
            background.settle()
        return names


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Machine]]:
    """Make a machine, and a generator in use that takes products by estimate or does not."""
    verdicts.adopt(None)
    before = lazyloom.get_option("measuring_after")
    lazyloom.set_option("measuring_after", 0)
    uses = []

    def made(alone: float, inside: float, worthwhile: bool = False) -> Machine:
        found = Machine(alone, inside)
        monkeypatch.setattr(Xla, "timed", lambda self, *given: found.timed(*given))
        monkeypatch.setattr(verdicts, "reproducible",
                            lambda: getattr(found.reproducible, "on", False))
        monkeypatch.setattr(trials, "clock", lambda: found.now)
        for name, value in (("RUNS", 3), ("WORTH", 0.0), ("PAYS", 0.0), ("TURNS", 3),
                            ("FEWEST", 2), ("MOST", 2), ("WARM", 1)):
            monkeypatch.setattr(trials, name, value)
        monkeypatch.setattr(trials, "_failed", set())
        monkeypatch.setattr(trials, "_spent", [0.0])
        monkeypatch.delenv(trials.VARIABLE, raising=False)
        codegen.register(Products(worthwhile))
        uses.append(codegen.use("products"))
        return found

    yield made
    background.settle()
    for use in uses:
        use.__exit__(None, None, None)
    lazyloom.set_option("measuring_after", before)
    verdicts.adopt(None)


def as_a_process_that_begins() -> None:
    verdicts.adopt(None)
    memory.clear()


@pytest.mark.parametrize("worthwhile", [False, True])
def test_a_wrong_first_guess_is_corrected(
    worthwhile: bool, machine: Callable[..., Machine]
) -> None:
    wrong, right = ("products", "xla") if worthwhile else ("xla", "products")
    here = machine(2.0, 3.0, True) if worthwhile else machine(0.5, 0.4)
    assert here.run()[0] == wrong
    before = lazyloom.stats()
    with lazyloom.options(compiles="error"):
        names = here.settle()
    assert names[0] == wrong and names[-1] == right
    # by turns, and then no more
    changes = [n for n in range(1, len(names)) if names[n] != names[n - 1]]
    assert 3 <= len(changes) <= 2 * trials.TURNS and changes[-1] < ENOUGH / 2
    assert here.measured == 1, "one product speaks for all of its class"
    after = lazyloom.stats()
    for name in ("regions_measured", "programs_divided_anew", "background_compiles",
                 "programs_compiled"):
        assert after[name] == before[name] + 1, name
    evaluation = lazyloom.last_evaluation()
    assert evaluation is not None and evaluation.found == "memory"
    assert (f"; a measurement changed which generator takes all products: {right}, before {wrong}"
            in evaluation.text())
    # the next process begins with it, and measures nothing
    as_a_process_that_begins()
    assert here.run()[0] == right
    evaluation = lazyloom.last_evaluation()
    assert evaluation is not None and evaluation.found == "disk"
    assert set(here.settle()) == {right} and here.measured == 1
    assert lazyloom.stats()["programs_divided_anew"] == after["programs_divided_anew"]


@pytest.mark.parametrize(("inside", "again"), [(1.0, True), (0.99, True), (1.5, False)])
def test_what_is_quicker_by_itself_alone_is_given_up(
    inside: float, again: bool, machine: Callable[..., Machine]
) -> None:
    here = machine(0.5, inside)
    before = lazyloom.stats()["programs_divided_anew"]
    names = here.settle()
    assert "products" in names and names[-1] == "xla"
    assert lazyloom.stats()["programs_divided_anew"] == before
    evaluation = lazyloom.last_evaluation()
    assert evaluation is not None and "measurement" not in evaluation.text()
    as_a_process_that_begins()
    assert ("products" in here.settle()) == again, "where it was not clear it is tried once more"
    as_a_process_that_begins()
    assert set(here.settle()) == {"xla"} and here.measured == 1


def test_times_that_agree_with_the_first_guess_try_nothing(
    machine: Callable[..., Machine]
) -> None:
    here = machine(2.0, 0.1)
    before = lazyloom.stats()["programs_compiled"]
    assert set(here.settle()) == {"xla"} and here.measured == 1
    assert lazyloom.stats()["programs_compiled"] == before + 1


def test_a_supposition_decides_nothing_for_other_programs(
    machine: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = machine(0.5, 0.4)
    monkeypatch.setattr(trials, "PAYS", float("inf"))
    assert set(here.settle()) == {"xla"} and here.measured == 1
    as_a_process_that_begins()
    assert here.run()[0] == "xla"
    (found,) = verdicts.current().found.values()
    assert found.supposed and found.clear and found.of_class == "all products"


@pytest.mark.parametrize("worthwhile", [False, True])
def test_reproducible_runs_are_the_same_before_and_after(
    worthwhile: bool, machine: Callable[..., Machine]
) -> None:
    here = machine(2.0, 3.0, True) if worthwhile else machine(0.5, 0.4)
    first, right = ("products", "xla") if worthwhile else ("xla", "products")

    def reproducible() -> bytes:
        here.reproducible.on = True
        name, found = here.run()
        here.reproducible.on = False
        assert name == first
        return bytes(found.tobytes())

    expected = reproducible()
    results = set()
    for _ in range(ENOUGH):
        results.add(here.run()[1].tobytes())
        background.settle()
        assert reproducible() == expected
    assert here.run()[0] == right and len(results) == 2, "the choice shows in the last bits"
    for _ in range(2):
        as_a_process_that_begins()
        assert reproducible() == expected
        assert here.run()[0] == right
        assert reproducible() == expected


def test_reproducible_runs_do_not_count(machine: Callable[..., Machine]) -> None:
    here = machine(0.5, 0.4)
    here.run()
    here.reproducible.on = True
    assert set(here.settle()) == {"xla"} and here.measured == 0


def test_programs_of_a_second_measure_nothing(
    machine: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = machine(0.5, 0.4)
    monkeypatch.setattr(trials, "WORTH", 1e-4)
    assert set(here.settle()) == {"xla"} and here.measured == 0
    # one whose products are worth it is measured only once they have run for long
    memory.clear()
    monkeypatch.setattr(trials, "WORTH", 0.0)
    lazyloom.set_option("measuring_after", 10)
    assert set(here.settle()) == {"xla"} and here.measured == 0


@pytest.mark.parametrize("how", ["variable", "option"])
def test_measuring_can_be_turned_off(
    how: str, machine: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = machine(0.5, 0.4)
    if how == "variable":
        monkeypatch.setenv(trials.VARIABLE, "0")
    with lazyloom.options(measuring_seconds=10 if how == "variable" else 0):
        assert set(here.settle()) == {"xla"} and here.measured == 0


def test_threads_share_a_trial(machine: Callable[..., Machine]) -> None:
    here = machine(0.5, 1.0)
    results: set[bytes] = set()

    def runs(_: int) -> None:
        with lazyloom.options(reproducible=True):  # whole
            for _ in range(100 * ENOUGH):
                if len(results) == 2:
                    break
                found = numpy.asarray(np.asarray(A) @ np.asarray(B))
                numpy.testing.assert_allclose(found, A @ B, rtol=1e-5)
                results.add(found.tobytes())

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(runs, range(4)))
    background.settle()
    assert len(results) == 2, "both had their turns"
    # neither is the quicker one
    assert here.settle()[-1] == "xla" and here.measured == 1


_INSTALLED = """
import sys
sys.path.insert(0, {root!r})
from tests.codegen.test_trials import Products

def made():
    return Products(False)
"""
_USER = """
import os, signal, sys, threading, time
import numpy, lazyloom
import lazyloom_numpy as np
from lazyloom import codegen
from lazyloom.backends.xla.backend import Xla
from lazyloom.codegen import verdicts
from lazyloom.execute.compiling import background, trials
how = sys.argv[1]
trials.RUNS, trials.WORTH, trials.PAYS, trials.TURNS = 3, 0.0, 0.0, 3
trials.FEWEST = trials.MOST = 2
trials.WARM = 1
lazyloom.set_option("measuring_after", 0)
verdicts.reproducible = lambda: False   # it runs whole all the same
now = [0.0]
trials.clock = lambda: now[0]
begun = threading.Event()

def timed(self, generator, region, ends):
    begun.set()
    while how != "runs":
        time.sleep(0.01)
        if ends():
            raise TimeoutError
    return [(0.5, 1.0)] * 9

Xla.timed = timed
a = numpy.arange(30, dtype="float32").reshape(5, 6)

def run():
    value = numpy.asarray(np.asarray(a) @ np.asarray(a.T))
    numpy.testing.assert_allclose(value, a @ a.T, rtol=1e-5)
    name = "products" if lazyloom.last_evaluation().regions.run else "xla"
    now[0] += 0.5 if name == "products" else 1.0
    return name

for _ in range(100):
    name = run()
    if how == "runs":
        background.settle()
    elif begun.is_set():
        break
    else:
        time.sleep(0.01)
if how == "forks":
    child = os.fork()
    if not child:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
if how == "interrupted":
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
    except KeyboardInterrupt:
        run()
print(name, begun.is_set(), len(verdicts.current().found))
"""


def _start(folder: Path, how: str) -> subprocess.Popen[str]:
    (folder / "trying.py").write_text(
        _INSTALLED.format(root=str(Path(__file__).resolve().parents[2])))
    info = folder / "trying-1.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: trying\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[lazyloom.generators]\nproducts = trying:made\n")
    environment = {
        **os.environ, "LAZYLOOM_CODEGEN": "products", "LAZYLOOM_REPRODUCIBLE": "1",
        "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}
    return subprocess.Popen(
        [sys.executable, "-c", _USER, how], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=environment)


def _ended(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.strip()


def test_several_processes_measure_at_once(tmp_path: Path) -> None:
    at_once = [_start(tmp_path, "runs") for _ in range(3)]
    # one that begins late may find what another one has measured
    assert {_ended(process).split()[0] for process in at_once} == {"products"}
    assert _ended(_start(tmp_path, "runs")) == "products False 1"


@pytest.mark.parametrize("how", ["ends", "forks", "interrupted"])
def test_what_ends_while_something_is_measured_leaves_nothing_behind(
    how: str, tmp_path: Path, fresh_cache: Path
) -> None:
    assert _ended(_start(tmp_path, how)) == "xla True 0"
    assert not list((fresh_cache / "verdict").rglob("*"))


def test_a_region_that_takes_too_long_is_given_up() -> None:
    from lazyloom.backends.xla import compiling

    runs = [0]

    def ends() -> bool:
        runs[0] += 1
        return runs[0] > 4

    generator: Generator = InNumPy("tanh", name="given_up")
    codegen.register(generator)
    with codegen.use("given_up"):
        program = lazyloom.program_of(np.tanh(np.asarray(A)))
        (part,) = codegen.explain(program).partition.parts
        region: Region = part.region
        with pytest.raises(TimeoutError):
            compiling.timed(generator, region, ends)
    assert runs[0] == 5
