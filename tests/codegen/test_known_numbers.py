"""Constants that predicates and patterns see: ReLU6, a maximum with 0 and a GELU by hand, found
soundly, and what is nearly one of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
import lazyloom_numpy as lnp
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.codegen import YES, Answer, Call, No, Pattern, absent, any_value, match, number
from lazyloom.execute import known_numbers
from tests.codegen.generators import InNumPy
from tests.codegen.programs import Doing, divided, regions, written

x = any_value()
WHY = engines.available()
called = pytest.mark.skipif(bool(WHY), reason=WHY or "there is none")

RELU6 = Pattern("relu6", match("maximum", match("minimum", x, number(6), commutes=True),
                               number(0), commutes=True))


def gelu(commutes: bool = True) -> Pattern:
    """``0.5 * x * (1 + erf(x / sqrt(2)))``, however it is written."""
    half = match("multiply", x, number(0.5), commutes=commutes)
    erf = match("erf", match("divide", x, number(math.sqrt(2))))
    return Pattern("gelu", match("multiply", half, match("add", erf, number(1), commutes=commutes),
                                 commutes=commutes))


class Found(codegen.Generator):
    """Groups alone, computed by a function of the region's array."""

    name = "found"
    version = "1"

    def __init__(self, function: Callable[..., Any], *patterns: Pattern) -> None:
        self.function = function
        self.given = patterns
        self.calls = 0

    def supports(self, call: Call) -> Answer:
        return No("in groups only")

    def patterns(self) -> Sequence[Pattern]:
        return self.given

    def build(self, region: codegen.Region) -> codegen.Code:
        assert len(region.operands) == 1, "the numbers are no operands"

        def run(operand: Any) -> Any:
            self.calls += 1
            return self.function(operand)

        return codegen.PythonCode(run)


class Clip(codegen.Generator):
    """The activation of an accelerator: clip with a lower bound of 0, and 6 or none above."""

    name = "clip"
    version = "1"

    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []

    def numbers(self, call: Call) -> Sequence[int]:
        return (1, 2) if call.op == "clip" else ()

    def supports(self, call: Call) -> Answer:
        if call.op != "clip":
            return No("no clip")
        self.seen.append(call.values[1:])
        _, low, high = call.values
        if low != 0 or high != 6:
            return No(f"clip({low}, {high}), expected clip(0, 6)")
        return YES

    def build(self, region: codegen.Region) -> codegen.Code:
        return codegen.PythonCode(lambda a: np.clip(a, np.float32(0), np.float32(6)))


def owners() -> list[str]:
    evaluation = ll.last_evaluation()
    assert evaluation is not None and evaluation.program is not None
    told = codegen.explain(evaluation.program)
    return [told.generator(n) for n in range(len(told.partition.owner))]


given = np.linspace(-9, 9, 24, dtype=np.float32).reshape(4, 6)


@called
def test_a_clip_of_0_and_6_is_seen_as_one() -> None:
    mine = Clip()
    codegen.register(mine)
    with codegen.use("clip"):
        for low, high, by in [(0, 6, "clip"), (0, 6.5, "xla"), (0.0, 6.0, "clip"), (1, 6, "xla"),
                              (-1e-30, 6, "xla"), (0, np.nextafter(6.0, 7.0), "clip")]:
            result = torch.clamp(torch.tensor(given), low, high)
            np.testing.assert_array_equal(result.numpy(), np.clip(
                given, np.float32(low), np.float32(high)))
            # as float32 holds it: 6 and the next double are one number
            assert owners() == [by], (low, high)
    assert not codegen.failures()


@called
def test_another_number_in_the_next_run_is_another_program() -> None:
    """What is baked into code for one number is never run with another."""
    mine = Clip()
    codegen.register(mine)

    @ll.jit
    def step(a: Any, high: float) -> Any:
        return torch.clamp(a, 0, high)

    with codegen.use("clip"):
        for high in (6.0, 3.0, 6.0, 5.0, 6.0):
            for function in (step, lambda a, h: torch.clamp(a, 0, h)):
                found = function(torch.tensor(given), high).numpy()
                np.testing.assert_array_equal(found, np.clip(given, 0, np.float32(high)))


@called
def test_too_many_numbers_are_operands_again() -> None:
    mine = Clip()
    codegen.register(mine)
    with codegen.use("clip"):
        before = ll.stats()["programs_compiled"]
        for k in range(known_numbers.MOST + 12):
            found = torch.clamp(torch.tensor(given), 0, 1.25 + k).numpy()
            np.testing.assert_array_equal(found, np.clip(given, 0, np.float32(1.25 + k)))
        assert ll.stats()["programs_compiled"] - before <= known_numbers.MOST + 1
        # those that are known stay so
        torch.clamp(torch.tensor(given), 0, 6).numpy()
        assert owners() == ["xla"]


def test_a_preview_has_the_numbers_too() -> None:
    codegen.register(Clip())
    with codegen.use("clip"):
        program = ll.program_of(torch.clamp(torch.tensor(given), 0, 6))
        assert "clip(%in0, 0:float32, 6.0:float32)" in program.text()
        assert codegen.explain(program).generator(0) == "clip"
        told = codegen.explain(ll.program_of(torch.clamp(torch.tensor(given), 0, 7)))
        assert "clip: clip(0, 7.0), expected clip(0, 6)" in told.text()
    # and without such a generator they are parameters
    with codegen.use("xla"):
        program = ll.program_of(torch.clamp(torch.tensor(given), 0, 6))
        assert "$float32.0" in program.text()
        assert type(program).parse(program.serialized) == program


def test_a_program_with_constants_is_read_back_as_it_was() -> None:
    codegen.register(Clip())
    with codegen.use("clip"):
        for high in (0.1, 1e-30, 6e37, 3.0000002):
            program = ll.program_of(torch.clamp(torch.tensor(given), 0, high))
            assert type(program).parse(program.serialized) == program
            (i,) = program.structure.instructions
            assert np.float32(high) == i.operands[2].number  # type: ignore[union-attr]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "uint16"])
def test_numbers_are_as_the_dtype_holds_them(dtype: str) -> None:
    t = ll.dtypes.dtype_named(dtype)
    for n in (0, 1, -1, 3, 2.75, 1e-3, 300, -1.5):
        found = known_numbers.held(n, t)
        assert found is not None
        expected = np.array(n).astype(t.numpy) if t.is_floating else (
            np.array(int(n)).astype(t.numpy))
        assert float(expected) == found
    assert known_numbers.held(-0.0, ll.dtypes.float32) is None
    assert known_numbers.held(math.inf, ll.dtypes.float32) is None
    assert known_numbers.held(1e39, ll.dtypes.float32) is None
    assert known_numbers.held(math.nan, ll.dtypes.float32) is None


@called
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32", "int8"])
def test_constants_of_other_dtypes_are_the_same_numbers_for_xla(dtype: str) -> None:
    """A generator that asks for numbers and does nothing changes no result."""

    class Asks(Clip):
        name = "asks"

        def numbers(self, call: Call) -> Sequence[int]:
            return range(len(call.operands))

        def supports(self, call: Call) -> Answer:
            return No("nothing")

    codegen.register(Asks())
    t = getattr(torch, dtype)

    def value() -> Any:
        a = torch.tensor(given).to(t)
        return (torch.clamp(a, -3, 5) * 3 + 7 - a * 2).to(torch.float64).numpy()

    with codegen.use("xla"):
        expected = value()
    with codegen.use("asks"):
        np.testing.assert_array_equal(value(), expected)
        evaluation = ll.last_evaluation()
        assert evaluation is not None and evaluation.program is not None
        assert "$" not in evaluation.program.text()


@called
def test_a_gelu_by_hand_is_found_and_what_is_nearly_one_is_not() -> None:
    import scipy.special  # type: ignore[import-untyped]

    def exact(a: Any) -> Any:
        return (0.5 * a * (1 + scipy.special.erf(a / math.sqrt(2)))).astype(np.float32)

    root = math.sqrt(2)
    same: list[Callable[[Any], Any]] = [
        lambda a: 0.5 * a * (1 + torch.erf(a / root)),
        lambda a: a * 0.5 * (torch.erf(a / root) + 1.0),
        lambda a: (1 + torch.erf(a / 2 ** 0.5)) * (a * 0.5),
    ]
    other = torch.tensor(given[::-1].copy())
    near: list[Callable[[Any], Any]] = [
        lambda a: 0.51 * a * (1 + torch.erf(a / root)),
        lambda a: 0.5 * a * (2 + torch.erf(a / root)),
        lambda a: 0.5 * a * (1 + torch.erf(a / 1.4142)),
        lambda a: 0.5 * a * (-1 + torch.erf(a / root)),
        lambda a: 0.5 * other * (1 + torch.erf(a / root)),
        lambda a: 0.5 * a * (1 + torch.erf(root / a)),
        lambda a: 0.5 * a * (1 + torch.erf(a / torch.tensor(root))),
    ]
    mine = Found(exact, gelu())
    codegen.register(mine)
    with codegen.use("found"):
        for function in same:
            result = function(torch.tensor(given)).numpy()
            assert set(owners()) == {"found"}
            np.testing.assert_allclose(result, exact(given), rtol=1e-5, atol=1e-6)
        assert mine.calls == len(same)
        for function in near:
            found = function(torch.tensor(given)).numpy()
            assert set(owners()) == {"xla"}
            with codegen.use("xla"):
                np.testing.assert_array_equal(found, function(torch.tensor(given)).numpy())
        # an inner result that a variable holds
        a = torch.tensor(given)
        inner = torch.erf(a / root)
        (0.5 * a * (1 + inner)).numpy()
        assert set(owners()) == {"xla"}
    assert not codegen.failures()


@called
def test_a_maximum_with_0_and_a_minimum_with_6() -> None:
    mine = Found(lambda a: np.clip(a, 0, 6), RELU6)
    codegen.register(mine)
    with codegen.use("found"):
        for low, high, by in [(0, 6, "found"), (0, 6.25, "xla"), (1, 6, "xla")]:
            result = lnp.maximum(lnp.minimum(lnp.asarray(given), high), low)
            np.testing.assert_array_equal(
                np.asarray(result), np.maximum(np.minimum(given, np.float32(high)), low))
            assert set(owners()) == {by}


@called
def test_numbers_of_mapped_functions_are_known() -> None:
    def relu6(a: Any) -> Any:
        return lnp.maximum(lnp.minimum(a, 6), 0)

    rows = np.stack([given, given + 2])
    groups, single = Found(lambda a: np.clip(a, 0, 6), RELU6), Clip()
    codegen.register(groups)
    codegen.register(single)
    with codegen.use("found", "clip"):
        for function, owner in ((relu6, "found"), (lambda a: lnp.clip(a, 0, 6), "clip")):
            for mapped in (ll.vmap(function), ll.vmap(ll.vmap(function))):
                result = mapped(lnp.asarray(rows))
                program = ll.program_of(result)
                told = codegen.explain(program)
                assert {told.generator(n) for n in range(len(program.ops))} == {owner}
                np.testing.assert_array_equal(np.asarray(result), np.clip(rows, 0, 6))
        result = ll.vmap(lambda a: lnp.clip(a, 0, 5))(lnp.asarray(rows))
        np.testing.assert_array_equal(np.asarray(result), np.clip(rows, 0, 5))
        assert set(owners()) == {"xla"}
    assert groups.calls == 2 and not codegen.failures()


def test_a_number_in_a_pattern() -> None:
    root = match("maximum", x, number(0), commutes=True)
    relu = Pattern("relu", match("negative", root))
    for text, expected in [
        ("M:maximum(a,0) N:negative(M)", ["mine: M N"]),
        ("M:maximum(0,a) N:negative(M)", ["mine: M N"]),
        ("M:maximum(a,1) N:negative(M)", []),
        ("M:maximum(a,b) N:negative(M)", []),
        # a number that may be another one in the next run
        ("M:maximum(a,$) N:negative(M)", []),
    ]:
        p = written(text)
        assert regions(p, divided(p, "N", Doing(ops="", patterns=[relu]))) == expected, text
    with pytest.raises(ll.errors.ArgumentError, match="number: nan was given"):
        number(math.nan)


def test_an_absent_operand_in_a_pattern() -> None:
    for text, expected in [
        ("C:clip(a,0) N:negative(C)", ["mine: C N"]),
        ("C:clip(a,0,_) N:negative(C)", ["mine: C N"]),
        ("C:clip(a,0,1) N:negative(C)", []),
    ]:
        p = written(text)
        open_above = Pattern("open", match("negative", match("clip", x, number(0), absent())))
        assert regions(p, divided(p, "N", Doing(ops="", patterns=[open_above]))) == expected, text


def test_a_generator_whose_numbers_raise_asks_for_none() -> None:
    class Broken(InNumPy):
        def numbers(self, call: Call) -> Sequence[int]:
            raise RuntimeError("no table")

    codegen.register(Broken("multiply", name="broken"))
    with codegen.use("broken"), pytest.warns(RuntimeWarning, match="numbers: RuntimeError: no tab"):
        program = ll.program_of(torch.tensor(given) * 2.5)
    assert "$float32.0" in program.text()
