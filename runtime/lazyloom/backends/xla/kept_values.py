"""Barriers around values that XLA must not compute across two steps.

Its algebraic simplifier takes two steps together where that is right for real numbers:
``log(exp(x))`` becomes ``x``, ``exp(a) * exp(b)`` becomes ``exp(a + b)``, ``sqrt(x * x)`` becomes
``abs(x)``, ``(x + 1) - 1`` becomes ``x``, ``x + 0`` becomes ``x``, ``x * convert(p)`` becomes
``select(p, x, 0)``, and the sum of ``-x`` becomes that of ``x`` with the other sign, of zeros, too.
For numbers of a dtype that is another result: one side is infinite, a zero with another sign or not
a number where the other is not. And LLVM adds a product, with which exponentials end, too, before
it is rounded or overflows, computes
``prod(x ** y)`` as ``prod(x) ** y``, since XLA lets it multiply in any order there, compares by
their bits with 0 numbers that were bfloat16, of which subnormal ones are zeros, and hands on what
becomes float64 and float32 again as it was.

(That ``abs(x) >= 0`` is true it takes for a NaN as well, which :mod:`.compiler_defects` guards.)

So what a pair of :data:`HIDDEN` begins with is handed on through ``optimization_barrier``, through
which the simplifier does not look and which is gone before XLA fuses; and what a pair of
:data:`ROUNDED` begins with gets a -0.0 added that nobody but the program's memory knows of: adding
it changes no value, and the product is rounded in the one instruction that multiplies and adds.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ...program.program import Instruction
from ...program.stream import Operand, Result
from ...settings import LOWERINGS_KEPT
from .lowered import Lowered
from .stablehlo_text import StableHloFunction, Statement, fractional, functions

#: what a value is: the name of the step that makes it, and these
SCALED: Final = "scaled"  # a product with a constant, or a quotient by one
SHIFTED: Final = "shifted"  # a sum with a constant, or a difference
MASK: Final = "mask"  # a number made of a truth value
WIDENED: Final = "widened"  # float32 made of bfloat16
NEGATED: Final = "negated"  # is another value with the other sign, or an imaginary part
DOUBLED: Final = "doubled"  # float64 made of float32 or bfloat16, parts of complex numbers too
#: how a step uses a value: the step's name, and these
DIVISOR: Final = "divisor"
BY_CONSTANT: Final = "by constant"  # multiplies it by a constant, or divides
PLUS_CONSTANT: Final = "plus constant"
PRODUCT_OF_ALL: Final = "product of all"  # is reduced by multiplication
SUMMED: Final = "summed"  # is reduced by addition
TRUTH: Final = "truth"  # is compared with 0
NARROWED: Final = "narrowed"  # becomes float32 or bfloat16

_EXPONENTIALS: Final = frozenset(("exponential", "power"))
_ROOTS: Final = frozenset(("sqrt", "rsqrt", "cbrt"))
#: for each use of a value, what the value must not be for the simplifier to see it there
HIDDEN: Final[Mapping[str, frozenset[str]]] = {
    "log": _EXPONENTIALS | _ROOTS,
    "asinh": _EXPONENTIALS | _ROOTS,
    "acosh": _EXPONENTIALS | _ROOTS | {SHIFTED},
    "sqrt": _EXPONENTIALS | _ROOTS | {"multiply", "square", "divide"},
    "rsqrt": _EXPONENTIALS | _ROOTS | {"multiply", "square", "divide"},
    "cbrt": _EXPONENTIALS | _ROOTS | {"multiply", "square", "divide"},
    "power": _EXPONENTIALS | _ROOTS | {"multiply", "square", "divide"},
    "multiply": _EXPONENTIALS | _ROOTS | {MASK},
    "divide": _EXPONENTIALS | {"divide", MASK},
    DIVISOR: _EXPONENTIALS | _ROOTS | {"divide", MASK},
    BY_CONSTANT: frozenset((SCALED, MASK)),
    PLUS_CONSTANT: frozenset((SHIFTED,)),
    SUMMED: frozenset((NEGATED,)),
}  # fmt: skip
#: for each use, what ends in a product that may be added before it is rounded, or is multiplied
#: with others of its kind before it is computed
_PRODUCTS: Final = frozenset(("multiply", "square", "exponential", "power", "logistic", SCALED))
#: those of them that may be too large where a sum of them is not; rounding an exponential that is
#: summed takes 1.5 times as long (a million float64 elements)
_LARGE: Final = frozenset(("multiply", "square", SCALED))
ROUNDED: Final[Mapping[str, frozenset[str]]] = {
    "add": _PRODUCTS, "subtract": _PRODUCTS, SUMMED: _LARGE, PRODUCT_OF_ALL: _EXPONENTIALS | _ROOTS,
    # LLVM looks at the bits, where subnormal numbers are no zeros
    "compare": frozenset((WIDENED,)), TRUTH: frozenset((WIDENED,)),
    # of a subnormal number float64 has a zero; both compilers convert at once, which keeps it
    NARROWED: frozenset((DOUBLED,))}
#: what the -0.0 is an element of: of one value alone, or of an arithmetic series, XLA makes steps
_ZERO: Final = {
    "f32": "dense<[-0.0, 5.0, 3.0]> : tensor<3xf32>",
    "f64": "dense<[-0.0, 5.0, 3.0]> : tensor<3xf64>",
    "complex<f32>": "dense<[(-0.0, -0.0), (5.0, 0.0), (3.0, 0.0)]> : tensor<3xcomplex<f32>>",
    "complex<f64>": "dense<[(-0.0, -0.0), (5.0, 0.0), (3.0, 0.0)]> : tensor<3xcomplex<f64>>",
}  # fmt: skip

_NEGATED: Final = frozenset((NEGATED,))
#: steps whose result has the elements of their first operand, but for signs; what they make of them
_MOVES: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("broadcast_in_dim", "reshape", "transpose", "slice", "reverse"), frozenset()),
    "negate": _NEGATED}


_DOUBLED: Final = re.compile(r"(?:bf16|f32)>+\) -> tensor<[0-9x]*(?:complex<)?f64>")
_NARROWED: Final = re.compile(r"f64>+\) -> tensor<[0-9x]*(?:complex<)?(?:bf16|f32)>")


class Flow(NamedTuple):
    """What comes of a function's results and parameters.

    Attributes:
        made: of each result, what it is.
        passed: of each result, the parameters whose elements it may have.
        used: of each parameter, how it is used.
    """

    made: tuple[frozenset[str], ...]
    passed: tuple[frozenset[int], ...]
    used: tuple[frozenset[str], ...]


class _Values:
    """What the values of one function are, and how they are used."""

    def __init__(self, function: StableHloFunction, flows: Mapping[str, Flow]) -> None:
        none: frozenset[str] = frozenset()
        nowhere: frozenset[int] = frozenset()
        self.made: Final[dict[str, frozenset[str]]] = {}
        self.passed: Final[dict[str, frozenset[int]]] = {
            p: frozenset((k,)) for k, p in enumerate(function.parameters)}
        self.used: Final[dict[str, frozenset[str]]] = {}
        constants: set[str] = set()
        for step in function.statements:
            if step.kind == "constant":
                constants.update(step.names)
            elif step.kind in _MOVES and step.operands:
                if step.operands[0] in constants:
                    constants.update(step.names)
                self.made[step.names[0]] = self.made.get(step.operands[0], none) | _MOVES[step.kind]
                self.passed[step.names[0]] = self.passed.get(step.operands[0], frozenset())
            elif step.kind == "call":
                flow = flows.get(step.called)
                if flow is not None and len(flow.made) == len(step.names):
                    for k, result in enumerate(step.names):
                        passed = [step.operands[p] for p in flow.passed[k]]
                        self.made[result] = flow.made[k].union(
                            *[self.made.get(x, none) for x in passed])
                        self.passed[result] = nowhere.union(
                            *[self.passed.get(x, nowhere) for x in passed])
            else:
                self.made[step.names[0]] = _what(step, constants)
        for step in reversed(function.statements):
            if step.kind in _MOVES and step.operands:
                self.use(step.operands[0], self.used.get(step.names[0], none))
            elif step.kind == "call":
                flow = flows.get(step.called)
                if flow is not None:
                    for used, x in zip(flow.used, step.operands, strict=True):
                        self.use(x, used)
                    for parameters, result in zip(flow.passed, step.names, strict=True):
                        for p in parameters:
                            self.use(step.operands[p], self.used.get(result, none))
            else:
                for x, use in _uses(step, constants):
                    self.use(x, use)
        self.flow: Final = Flow(
            tuple([self.made.get(r, none) for r in function.results]),
            tuple([self.passed.get(r, frozenset()) for r in function.results]),
            tuple([self.used.get(p, none) for p in function.parameters]))

    def use(self, name: str, how: frozenset[str]) -> None:
        if how:
            self.used[name] = self.used.get(name, frozenset()) | how


def _what(step: Statement, constants: set[str]) -> frozenset[str]:
    """What the result of a step is."""
    found = {step.kind}
    with_constant = any(x in constants for x in step.operands)
    if step.kind in ("multiply", "divide") and with_constant:
        found.add(SCALED)
    elif step.kind in ("add", "subtract") and with_constant:
        found.add(SHIFTED)
    elif step.kind == "imag":
        found.add(NEGATED)
    elif step.kind == "convert" and "i1>)" in step.text:
        found.add(MASK)
    elif step.kind == "convert" and "bf16>)" in step.text and step.type.endswith("f32>"):
        found.add(WIDENED)
    elif step.kind == "convert" and _DOUBLED.search(step.text):
        found.add(DOUBLED)
    return frozenset(found)


def _uses(step: Statement, constants: set[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """How a step uses its operands."""
    with_constant = any(x in constants for x in step.operands)
    for k, x in enumerate(step.operands):
        how = {step.kind}
        if step.kind in ("multiply", "divide") and with_constant:
            how.add(BY_CONSTANT)
        elif step.kind in ("add", "subtract") and with_constant:
            how.add(PLUS_CONSTANT)
        elif step.kind == "reduce" and "stablehlo.multiply" in step.text:
            how = {PRODUCT_OF_ALL}
        elif step.kind == "reduce" and "stablehlo.add" in step.text:
            how = {SUMMED}
        elif step.kind == "convert" and step.type.endswith("i1>"):
            how = {TRUTH}
        elif step.kind == "convert" and _NARROWED.search(step.text):
            how.add(NARROWED)
        if step.kind == "divide" and k == 1:
            how = {DIVISOR}
        yield x, frozenset(how)


def _met(
    made: frozenset[str], used: frozenset[str], pairs: Mapping[str, frozenset[str]]
) -> bool:
    return any(not made.isdisjoint(pairs.get(use, ())) for use in used)


def kept_inside(text: str) -> str:
    """The functions of an op, in which values are handed on so that no pair is met.

    Only the simplifier's: what one op computes of a product that is not rounded is within the
    bounds of that op.
    """
    lines = text.split("\n")
    flows = _flows(lines)
    none: frozenset[str] = frozenset()
    for function in functions(lines):
        values = _Values(function, flows)
        for step in function.statements:
            name = step.names[0]
            # of what is moved, the step that makes it is looked at
            made = _MOVES.get(step.kind, values.made.get(name, none))
            if (step.kind == "call" or "#" in name or not fractional(step.type)
                    or not _met(made, values.used.get(name, none), HIDDEN)):
                continue
            inner = f"%kept{name[1:]}"
            lines[step.line] = (lines[step.line].replace(f"{name} =", f"{inner} =", 1)
                                + f"\n{hidden(name, inner, step.type)}")
    return "\n".join(lines)


def _flows(lines: Sequence[str]) -> dict[str, Flow]:
    """The flow of each function, of those that are called first."""
    flows: dict[str, Flow] = {}
    left = list(functions(lines))
    while left:
        waiting = []
        names = {f.name for f in left}
        for function in left:
            if any(step.called in names and step.called != function.name
                   for step in function.statements):
                waiting.append(function)
            else:
                flows[function.name] = _Values(function, flows).flow
        if len(waiting) == len(left):
            break
        left = waiting
    return flows


@functools.lru_cache(maxsize=LOWERINGS_KEPT)
def flow_of(lowered: Lowered) -> Flow | None:
    """What comes of an op's results and operands; None for one that is not functions alone."""
    return _flows(lowered.text.split("\n")).get(lowered.name)


class Kept(NamedTuple):
    """Results of instructions that are handed on through something: (instruction, result)."""

    hidden: frozenset[tuple[int, int]]
    rounded: frozenset[tuple[int, int]]


def kept(instructions: Sequence[Instruction], lowered: Sequence[Lowered], leading: Sequence[int],
         ) -> Kept:  # fmt: skip
    """The results of a program's instructions that are not to be computed across.

    ``leading`` says how many parameters of each function come before its operands.
    """
    flows = [flow_of(found) for found in lowered]
    none: frozenset[str] = frozenset()
    given = [[item for item, t in zip(i.operands, i.operand_types, strict=True) if t is not None]
             for i in instructions]
    made: list[list[frozenset[str]]] = []
    for n, flow in enumerate(flows):
        if flow is None:
            made.append([])
            continue
        results = list(flow.made)
        for r, passed in enumerate(flow.passed):
            for p in passed:
                x = _source(given[n], p - leading[n])
                if x is not None and x.number < len(made[x.instruction]):
                    results[r] |= made[x.instruction][x.number]
        made.append(results)
    used: dict[tuple[int, int], frozenset[str]] = {}
    for n in reversed(range(len(instructions))):
        flow = flows[n]
        if flow is None:
            continue
        for p, use in enumerate(flow.used):
            x = _source(given[n], p - leading[n])
            if x is None:
                continue
            for r, passed in enumerate(flow.passed):
                if p in passed:
                    use |= used.get((n, r), none)
            if use:
                key = (x.instruction, x.number)
                used[key] = used.get(key, none) | use
    behind, products = set(), set()
    for (n, r), use in used.items():
        flow = flows[n]
        if flow is None:
            continue
        element = fractional(lowered[n].results[r])
        if flow.passed[r]:
            # where it comes from, it is looked at, but for signs that it gets here
            if element and _met(flow.made[r] & _NEGATED, use, HIDDEN):
                behind.add((n, r))
            continue
        if element and _met(made[n][r], use, HIDDEN):
            behind.add((n, r))
        # of half precision, every step's result is rounded
        if element in _ZERO and _met(made[n][r], use, ROUNDED):
            products.add((n, r))
    return Kept(frozenset(behind - products), frozenset(products))


def _source(given: Sequence[Operand], number: int) -> Result | None:
    if not 0 <= number < len(given):
        return None
    item = given[number]
    return item if isinstance(item, Result) else None


def hidden(name: str, value: str, type_: str) -> str:
    """The statement that calls a value so where XLA's simplifier does not see what it is."""
    return f"    {name} = stablehlo.optimization_barrier {value} : {type_}"


def unknown_zero(name: str, type_: str) -> list[str]:
    """The statements that call a -0.0 so, in all elements, which no pass of a compiler knows."""
    element = fractional(type_)
    return [
        f"    {name}_all = stablehlo.constant {_ZERO[element]}",
        f"    {name}_kept = stablehlo.optimization_barrier {name}_all : tensor<3x{element}>",
        f"    {name}_first = stablehlo.slice {name}_kept [0:1] : (tensor<3x{element}>) -> "
        f"tensor<1x{element}>",
        f"    {name}_one = stablehlo.reshape {name}_first : (tensor<1x{element}>) -> "
        f"tensor<{element}>",
        f"    {name} = stablehlo.broadcast_in_dim {name}_one, dims = [] : (tensor<{element}>) -> "
        f"{type_}"]


def rounded(name: str, value: str, type_: str) -> tuple[str, str, str]:
    """The statement that calls a value so, rounded before it is added to.

    With the name and the text of the function that it calls. A product that the simplifier knows to
    be zero is behind a barrier: a zero that is added to -0.0 it takes for the -0.0.
    """
    function = f"rounded_{re.sub('[^a-z0-9]', '_', type_)}"
    zero = "\n".join(unknown_zero("%zero", type_))
    text = f"""  func.func private @{function}(%arg0: {type_}) -> {type_} {{
{zero}
    %0 = stablehlo.optimization_barrier %arg0 : {type_}
    %1 = stablehlo.add %0, %zero : {type_}
    return %1 : {type_}
  }}"""
    return f"    {name} = func.call @{function}({value}) : ({type_}) -> {type_}", function, text
