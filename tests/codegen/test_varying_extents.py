"""Programs for many extents: offered to generators that take symbols, and to others what is static.

What lies beyond the extents of a run is NaN here, so that a result that used it is NaN as well.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom import codegen
from lazyloom.backends import Request
from lazyloom.backends.selection import backend
from lazyloom.backends.xla.padding.program import extents_of
from lazyloom.backends.xla.regions import engines
from lazyloom.backends.xla.regions.region_op import Called
from lazyloom.codegen.check import check
from lazyloom.codegen.extents import Extents
from lazyloom.errors import ArgumentError
from lazyloom.execute import costs
from lazyloom.execute.compiling import background
from lazyloom.ops.spec import lookup
from lazyloom.program.padding import Padding
from lazyloom.program.program import Instruction, Structure
from lazyloom.program.stream import Leaf, Result, encode_operand
from lazyloom.trace.specs import spec_of
from lazyloom.types import tensor_type

from .generators import NUMPY

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
    pytest.mark.usefixtures("fresh_cache"),
]

F32 = ll.dtypes.float32
BUCKET = 16


class Symbolic(codegen.Generator):
    """Ops in NumPy at the extents of a run.

    Attributes:
        ran: the extents of each run.
        asked: the calls that it was asked about.
    """

    version = "1"

    def __init__(self, *ops: str, name: str = "symbolic", symbolic: bool = True) -> None:
        self.name = name
        self.ops = ops
        self.symbolic = symbolic
        self.ran: list[tuple[int, ...]] = []
        self.asked: list[codegen.Call] = []
        self.regions: list[codegen.Region] = []

    def supports(self, call: codegen.Call) -> codegen.Answer:
        self.asked.append(call)
        return codegen.YES if call.op in self.ops else codegen.No("not one of its ops")

    def apply(self, i: Instruction, given: list[Any]) -> Any:
        if i.spec.op.name == "sum":
            return given[0].sum(axis=i.spec.attrs["axes"])
        return NUMPY[i.spec.op.name](*given)

    def build(self, region: codegen.Region) -> codegen.Code:
        self.regions.append(region)
        program = region.program

        def run(*arrays: Any) -> tuple[Any, ...]:
            operands = list(arrays)
            if region.extents is not None:
                extents = operands.pop()
                assert extents.dtype == np.int64
                self.ran.append(tuple(map(int, extents)))
                shapes = region.shapes(self.ran[-1])
                operands = [x[tuple(map(slice, shape))]
                            for x, shape in zip(operands, shapes, strict=False)]
            self.before()
            values: list[Any] = []
            for i in program.structure.instructions:
                given = [operands[o.number] if isinstance(o, Leaf)
                         else values[o.instruction] if isinstance(o, Result)
                         else np.array(o.number, o.dtype.numpy)  # type: ignore[union-attr]
                         for o in i.operands]
                values.append(np.asarray(self.apply(i, given), i.types[0].dtype.numpy))
            results = []
            for (n, _), t in zip(program.outputs, region.results, strict=True):
                out = np.full(t.shape, np.nan, t.dtype.numpy)
                out[tuple(map(slice, values[n].shape))] = values[n]
                results.append(out)
            return tuple(results)

        return codegen.PythonCode(run)

    def before(self) -> None:
        """Called before each run; may raise."""


def structure(padded: bool = True) -> Structure:
    """tanh(x @ w) + x of [e0, 4], summed over e0, and a product of static extents."""
    x, w, v = (tensor_type(s, F32) for s in ((BUCKET, 4), (4, 4), (4,)))
    ops: list[tuple[str, dict[str, Any], list[Any]]] = [
        ("matmul", {}, [Leaf(0), Leaf(1)]),
        ("tanh", {}, [Result(0, 0)]),
        ("add", {}, [Result(1, 0), Leaf(0)]),
        ("sum", {"axes": (0,)}, [Result(2, 0)]),
        ("multiply", {}, [Leaf(2), Leaf(2)]),
        ("add", {}, [Result(3, 0), Result(4, 0)]),
    ]
    stream: list[Any] = []
    for name, attrs, operands in ops:
        stream.append(spec_of(lookup(name), attrs, len(operands)))
        stream += map(encode_operand, operands)
    padding = Padding((BUCKET,), (9,), (("e0", "4"), ("4", "4"), ("4",)), ())
    return Structure(tuple(stream), (x, w, v), padding if padded else None)


OUTPUTS = ((5, 0), (2, 0))
X, W, V = (np.random.default_rng(k).normal(size=s).astype("f4")
           for k, s in enumerate(((BUCKET, 4), (4, 4), (4,))))


def expected(n: int) -> tuple[Any, Any]:
    x = X[:n].astype("f8")
    y = np.tanh(x @ W) + x
    return y.sum(axis=0) + V * V, y


def runs(names: tuple[str, ...], extents: tuple[int, ...] = (16, 9, 12)) -> Any:
    """Compile the program with generators and compare it at some extents; its regions."""
    made = backend().compile(Request(structure(), OUTPUTS, {}, names))
    for n in extents:
        x = X.copy()
        x[n:] = np.nan
        arrays = [backend().upload(a) for a in (x, W, V, np.array([n], np.int64))]
        total, y = (backend().download(a) for a in made.run(*arrays))
        for found, right in zip((total, y[:n]), expected(n), strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5)
    return made.regions


@pytest.mark.parametrize("ops", [
    ("tanh",), ("matmul", "tanh", "add"), ("sum",), ("matmul", "tanh", "add", "sum", "multiply"),
])
def test_regions_are_given_the_extents_of_the_run(ops: tuple[str, ...]) -> None:
    mine = Symbolic(*ops)
    codegen.register(mine)
    regions = runs(("symbolic",))
    assert regions.run and not regions.failed
    assert set(mine.ran) == {(16,), (9,), (12,)}
    (call,) = {call.op: call for call in mine.asked if call.op == "matmul"}.values()
    assert call.sizes == (("e0", "4"), ("4", "4"), ("e0", "4"))
    assert call.bounds == {"e0": (9, 16)}
    region = next(r for r in mine.regions if r.extents is not None)
    assert region.extents is not None and region.extents.bounds == {"e0": (9, 16)}
    assert (12, 4) in region.shapes((12,)) and (16, 4) in [t.shape for t in region.operands]
    assert any("e0" in (s or ()) for c in region.calls for s in c.sizes)
    # another process has the same from what is stored
    called = Called(1, mine, region)
    assert Called.unpacked(json.loads(json.dumps(called.packed()))) == called


def test_others_are_given_what_does_not_vary() -> None:
    mine = Symbolic("matmul", "tanh", "add", "multiply", "sum", symbolic=False)
    codegen.register(mine)
    regions = runs(("symbolic",))
    assert [r.ops for r in regions.run] == [("multiply", "add")] and not mine.ran
    assert mine.regions[0].extents is None
    with pytest.raises(ArgumentError, match="the same extents in each run"):
        mine.regions[0].shapes((9,))
    whole = structure()
    found = codegen.partition(whole, OUTPUTS, [mine], extents=extents_of(whole, OUTPUTS))
    check(whole, OUTPUTS, found)
    assert "vary from run to run" in found.reasons[0]["symbolic"]
    # the sum over e0 has a result that does not vary, and the op after it has no more
    assert found.owner == [-1, -1, -1, -1, 0, 0]


def test_two_generators_share_a_program() -> None:
    codegen.register(Symbolic("tanh"))
    codegen.register(Symbolic("add", "multiply", name="static", symbolic=False))
    regions = runs(("symbolic", "static"))
    assert sorted(r.generator for r in regions.run) == ["static", "symbolic"]


def test_what_is_not_clear_is_not_offered() -> None:
    whole = structure()
    known = extents_of(whole, OUTPUTS)
    assert known.leaves == (("e0", "4"), ("4", "4"), ("4",))
    mine = Symbolic("matmul", "tanh", "add", "sum", "multiply")
    unclear = known._replace(results=((None,), *known.results[1:]), attributes=(3,))
    found = codegen.partition(whole, OUTPUTS, [mine], extents=unclear)
    check(whole, OUTPUTS, found)
    assert found.owner[:2] == [-1, -1] and found.owner[3] == -1 and found.owner[2] >= 0
    assert "its valid elements are not the first ones" in found.reasons[1]["symbolic"]
    assert found.reasons[3]["symbolic"] == "its attributes vary from run to run"
    assert Extents.unpacked(json.loads(json.dumps(unclear))) == unclear


def test_a_run_that_fails_is_computed_at_its_extents() -> None:
    class Failing(Symbolic):
        def before(self) -> None:
            raise OSError("its device went away")

    codegen.register(Failing("matmul", "tanh", "add", "sum", name="failing"))
    with pytest.warns(RuntimeWarning, match="its device went away"):
        regions = runs(("failing",))
    assert regions.run


def test_marked_extents_run_in_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("WORTH", 0.0), ("PART", 0.0), ("EAGER_FACTOR", 1e9), ("SLOWER", 1e9)):
        monkeypatch.setattr(costs, name, value)
    mine = Symbolic("tanh", "sum")
    codegen.register(mine)
    w = ll.from_host(np.eye(4, dtype="f4"))

    def run(n: int) -> Any:
        x = ll.from_host(X[:n])
        ll.mark_dynamic(x, 0, max=16)
        (value,) = [ll.record("matmul", [x, w])]
        for _ in range(16):
            value = ll.record("tanh", [value])
        total = ll.record("sum", [value], {"axes": (0,), "keepdims": False}).read()
        right = X[:n].astype("f8")
        for _ in range(16):
            right = np.tanh(right)
        np.testing.assert_allclose(total, right.sum(axis=0), rtol=1e-5, atol=1e-5)
        return ll.last_evaluation()

    with codegen.use("symbolic"), ll.options(reproducible=False, compiled_beside=64):
        records = []
        for n in (6, 7, 8, 9, 10, 11, 5, 12):
            records.append(run(n))
            assert background.wait(120)
    padded = [r for r in records if r.form == "padded"]
    assert padded and all(r.regions.run for r in padded)
    assert len(mine.ran) >= len(padded)
