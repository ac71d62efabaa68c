"""Passes of a generator over a region's function: folding, fusing, and what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.codegen import Leaf, Pass, PassError, Region, RegionRewriter, Result
from lazyloom.codegen.passes import prepared
from lazyloom.errors import ArgumentError
from tests.codegen.generators import InNumPy, interpret
from tests.codegen.programs import Doing, divided, written

WHY = engines.available()
called = pytest.mark.skipif(bool(WHY), reason=WHY or "there is none")


def region_of(text: str, outputs: str) -> Region:
    """The region of a program of which one generator does all."""
    p = written(text)
    (part,) = divided(p, outputs, Doing(ops="add multiply negative subtract tanh")).parts
    return part.region


def kept(writer: RegionRewriter) -> None:
    for n in range(len(writer.source.program.structure.instructions)):
        writer.keep(n)


def double_negation(writer: RegionRewriter) -> Region | None:
    """``-(-x)`` is x, where something uses it."""
    instructions = writer.source.program.structure.instructions
    found = False
    for n, i in enumerate(instructions):
        operand = i.operands[0]
        if i.spec.op.name == "negative" and isinstance(operand, Result) and (
            instructions[operand.instruction].spec.op.name == "negative"
        ):
            writer.replace(n, writer.now(instructions[operand.instruction].operands[0]))
            found = True
        else:
            writer.keep(n)
    return writer.region() if found else None


def product_and_sum(writer: RegionRewriter) -> Region:
    """``x * y + z`` is a group."""
    for n, i in enumerate(writer.source.program.structure.instructions):
        results = writer.keep(n)
        operand = writer.now(i.operands[0])
        if i.spec.op.name == "add" and isinstance(operand, Result):
            writer.group("fused", [operand, results[0]])
    return writer.region()


class Passing(InNumPy):
    """A generator with passes, in NumPy, that keeps what it is given to build."""

    def __init__(self, *passes: Pass, constants: Sequence[int] = ()) -> None:
        super().__init__("add", "multiply", "negative", "subtract", "tanh", name="passing")
        self.given = passes
        self.named = constants
        self.regions: list[Region] = []
        self.bounds: list[tuple[Region, dict[int, Any]]] = []

    def passes(self) -> Sequence[Pass]:
        return self.given

    def build(self, region: Region) -> codegen.Code:
        self.regions.append(region)
        return super().build(region)

    def constants(self, region: Region) -> Sequence[int]:
        return [k for k in self.named if k < len(region.operands)]

    def bound(self, region: Region, values: Mapping[int, Any]) -> codegen.Code:
        self.bounds.append((region, dict(values)))
        further = [values[k] for k in range(len(region.operands)) if k >= self.own(region)]

        def run(*arrays: Any) -> Any:
            return interpret(region, (*arrays, *further))

        return codegen.PythonCode(run)

    def own(self, region: Region) -> int:
        return len(self.regions[-1].operands)


@called
def test_what_is_built_is_what_the_passes_gave() -> None:
    mine = Passing(Pass("double negation", double_negation), Pass("fuse", product_and_sum))
    codegen.register(mine)
    x = np.linspace(-2, 2, 10, dtype=np.float32)
    with codegen.use("passing"), codegen.verify():
        a = torch.tensor(x)
        found = (torch.neg(-(a * a)) + 1).numpy()
    np.testing.assert_allclose(found, x * x + 1, rtol=1e-6)
    (region,) = mine.regions
    assert [call.op for call in region.calls] == ["multiply", "add"]
    assert region.composites == (("fused", (0, 1)),)
    assert not codegen.failures()


@called
def test_constants_are_folded_where_they_are_bound() -> None:
    """Of ``x * scale * gain`` the product of the constants is computed once."""
    def fold(writer: RegionRewriter) -> Region | None:
        first, second = writer.source.program.structure.instructions
        (scale,) = [o for o in first.operands if isinstance(o, Leaf) and o.number in writer.values]
        (gain,) = [o for o in second.operands if isinstance(o, Leaf) and o.number in writer.values]
        (x,) = [o for o in first.operands if o != scale]
        both = writer.constant(writer.values[scale.number] * writer.values[gain.number])
        writer.replace(1, writer.add("multiply", [x, both])[0])
        return writer.region()

    def when_bound(writer: RegionRewriter) -> Region | None:
        return fold(writer) if writer.values else None

    mine = Passing(Pass("fold", when_bound), constants=(1, 2))
    codegen.register(mine)
    x = np.arange(6, dtype=np.float32)
    with codegen.use("passing"), torch.no_grad():
        scale, gain = torch.tensor(x + 1), torch.tensor(x + 2)
        for step in range(4):
            found = (torch.tensor(x + step) * scale * gain).numpy()
            np.testing.assert_array_equal(found, (x + step) * ((x + 1) * (x + 2)))
    (region, values), = mine.bounds
    assert [call.op for call in region.calls] == ["multiply"] and len(region.operands) == 4
    np.testing.assert_array_equal(values[3], (x + 1) * (x + 2))
    assert ll.stats()["constants_bound"] and not codegen.failures()


def other_operands(writer: RegionRewriter) -> Region:
    kept(writer)
    region = writer.region()
    program = region.program
    fewer = type(program.structure)(program.structure.stream, program.structure.leaf_types[:-1])
    return region._replace(program=type(program)(fewer, program.outputs, []))


def other_results(writer: RegionRewriter) -> Region:
    kept(writer)
    last = writer.keep(1)[0]
    writer.replace(1, writer.add("cast", [last], dtype=ll.dtypes.float64)[0])
    return writer.region()


def fails(writer: RegionRewriter) -> Region:
    raise RuntimeError("no table")


def adds_constants(writer: RegionRewriter) -> Region:
    kept(writer)
    writer.replace(1, writer.add("add", [Leaf(0), writer.constant(np.ones(4, np.float32))])[0])
    return writer.region()


def a_wrong_shape(writer: RegionRewriter) -> Region:
    kept(writer)
    writer.add("add", [Leaf(0), writer.constant(np.ones(3, np.float32))])
    return writer.region()


def a_wrong_group(writer: RegionRewriter) -> Region:
    kept(writer)
    return writer.region()._replace(composites=(("odd", (0, 7)),))


def turned_layouts(writer: RegionRewriter) -> Region:
    kept(writer)
    region = writer.region()
    return region._replace(layouts=region.layouts[:-1])


def nothing_for_a_result(writer: RegionRewriter) -> Region:
    writer.keep(0)
    return writer.region()


def out_of_order(writer: RegionRewriter) -> Region:
    writer.keep(1)
    return writer.region()


WRONG: list[tuple[Callable[[RegionRewriter], Any], str]] = [
    (other_operands, r"gave operands \(float32\[4\]\), expected \(float32\[4\], float32\[4\]\)"),
    (other_results, r"gave results \(float64\[4\]\), expected \(float32\[4\]\)"),
    (fails, "raised RuntimeError: no table"),
    (adds_constants, "gave further operands in a build"),
    (a_wrong_shape, r"raised ShapeError"),
    (a_wrong_group, r"gave the group 'odd' of ops \(0, 7\), expected some of 0 to 1"),
    (turned_layouts, "gave 2 layouts, expected one for each operand and result"),
    (nothing_for_a_result, "result 0 of op 1 is not there"),
    (out_of_order, "result 0 of op 0 was asked for, which was neither kept nor replaced yet"),
    (lambda writer: 7, "gave a int, expected a Region, or None for no change"),
]


@pytest.mark.parametrize(("function", "why"), WRONG)
def test_what_a_pass_does_wrong_is_said_and_by_which(
    function: Callable[[RegionRewriter], Any], why: str
) -> None:
    mine = Passing(Pass("fine", product_and_sum), Pass("the wrong one", function))
    with pytest.raises(PassError, match=f"the pass 'the wrong one' .*{why}"):
        prepared(mine, region_of("M:multiply(a,b) A:add(M,b)", "A"))


def test_what_is_no_pass() -> None:
    mine = Passing(product_and_sum)  # type: ignore[arg-type]
    with pytest.raises(PassError, match="expected Pass"):
        prepared(mine, region_of("M:multiply(a,b) A:add(M,b)", "A"))


@called
def test_xla_does_a_region_whose_pass_fails() -> None:
    codegen.register(Passing(Pass("quantise", fails)))
    x = np.linspace(-2, 2, 8, dtype=np.float32)
    with codegen.use("passing"), pytest.warns(RuntimeWarning, match="the pass 'quantise' raised"):
        found = (torch.tensor(x) * 2.5 + 1).numpy()
    np.testing.assert_allclose(found, x * np.float32(2.5) + 1, rtol=1e-6)
    failures = codegen.failures()
    assert failures and all(f.when == "build" and "quantise" in f.error for f in failures)


@called
def test_a_pass_that_computes_something_else_is_found_by_verifying() -> None:
    def drops_the_sum(writer: RegionRewriter) -> Region:
        writer.replace(1, writer.keep(0)[0])
        return writer.region()

    codegen.register(Passing(Pass("too much", drops_the_sum)))
    x = np.linspace(-2, 2, 8, dtype=np.float32)
    with codegen.use("passing"), codegen.verify(), pytest.warns(RuntimeWarning):
        found = (torch.tensor(x) * 2.5 + 1).numpy()
    np.testing.assert_allclose(found, x * np.float32(2.5) + 1, rtol=1e-6)
    assert [f.when for f in codegen.failures()] == ["verify"]


def test_a_rewriter_by_itself() -> None:
    region = region_of("M:multiply(a,b) A:add(M,1) N:negative(A)", "N M")
    writer = RegionRewriter(region)
    kept(writer)
    again = writer.region()
    assert again.program == region.program and again.layouts == region.layouts
    writer = RegionRewriter(region)
    (product,) = writer.keep(0)
    half = writer.number(0.1, ll.dtypes.float32)
    assert half.number == float(np.float32(0.1)) and writer.type_of(None) is None
    total = writer.add("add", [product, half])[0]
    writer.add("tanh", [total])  # which nothing uses
    writer.replace(2, total)
    assert writer.region().program.ops == ["multiply", "add"]
    assert writer.type_of(total) == region.results[0]
    with pytest.raises(ArgumentError, match="is an operand, expected a result"):
        writer.replace(2, Leaf(0))
        writer.region()
