"""Barriers around values across which XLA must not combine two steps.

Its algebraic simplifier combines two steps where that is right for real numbers:
``log(exp(x))`` becomes ``x``, ``exp(a) * exp(b)`` becomes ``exp(a + b)``, ``sqrt(x * x)`` becomes
``abs(x)``, ``(x + 1) - 1`` becomes ``x``, ``x + 0`` becomes ``x``, ``x * convert(p)`` becomes
``select(p, x, 0)``, and the sum of ``-x`` becomes that of ``x`` with the other sign, also of zeros.
For numbers of a dtype the result differs: one side is infinite, a zero with another sign or NaN
where the other is not. And LLVM adds a product, which exponentials also end with, before it is
rounded or overflows; it computes ``prod(x ** y)`` as ``prod(x) ** y``, since XLA lets it multiply
in any order there; it compares numbers that were bfloat16 with 0 by their bits, although subnormal
ones are zeros; and it passes on unchanged what becomes float64 and float32 again.

(It assumes ``abs(x) >= 0`` for a NaN as well, which :mod:`.compiler_defects` guards.)

So the first value of a pair in :data:`HIDDEN` passes through ``optimization_barrier``, which the
simplifier does not look through and which is gone before XLA fuses; and the first value of a pair
in :data:`ROUNDED` gets a -0.0 added that only the program's memory knows: adding it changes no
value, and the product is rounded in the one instruction that multiplies and adds.
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

#: kinds of a value: the name of the step that makes it, and these
SCALED: Final = "scaled"  # a product with a constant, or a quotient by one
SHIFTED: Final = "shifted"  # a sum with a constant, or a difference
MASK: Final = "mask"  # a number converted from a truth value
WIDENED: Final = "widened"  # float32 converted from bfloat16
NEGATED: Final = "negated"  # another value with the other sign, or an imaginary part
DOUBLED: Final = "doubled"  # float64 converted from float32 or bfloat16, complex parts too
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
#: for each use of a value, the kinds that the simplifier must not see there
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
#: kinds that end in a product that may be added before it is rounded, or that is multiplied with
#: others of its kind before it is computed
_PRODUCTS: Final = frozenset(("multiply", "square", "exponential", "power", "logistic", SCALED))
#: those that may overflow where a sum of them does not; rounding a summed exponential takes 1.5
#: times as long (a million float64 elements)
_LARGE: Final = frozenset(("multiply", "square", SCALED))
ROUNDED: Final[Mapping[str, frozenset[str]]] = {
    "add": _PRODUCTS, "subtract": _PRODUCTS, SUMMED: _LARGE, PRODUCT_OF_ALL: _EXPONENTIALS | _ROOTS,
    # LLVM tests the bits, by which subnormal numbers are no zeros
    "compare": frozenset((WIDENED,)), TRUTH: frozenset((WIDENED,)),
    # a subnormal number is zero as float64; both compilers merge the conversions, which keeps it
    NARROWED: frozenset((DOUBLED,))}
#: the array that holds the -0.0: XLA turns one of equal values, or an arithmetic series, into steps
_ZERO: Final = {
    "f32": "dense<[-0.0, 5.0, 3.0]> : tensor<3xf32>",
    "f64": "dense<[-0.0, 5.0, 3.0]> : tensor<3xf64>",
    "complex<f32>": "dense<[(-0.0, -0.0), (5.0, 0.0), (3.0, 0.0)]> : tensor<3xcomplex<f32>>",
    "complex<f64>": "dense<[(-0.0, -0.0), (5.0, 0.0), (3.0, 0.0)]> : tensor<3xcomplex<f64>>",
}  # fmt: skip

_NEGATED: Final = frozenset((NEGATED,))
#: steps whose result has the elements of their first operand, except for signs, and the kinds that
#: they add
_MOVES: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("broadcast_in_dim", "reshape", "transpose", "slice", "reverse"), frozenset()),
    "negate": _NEGATED}


_DOUBLED: Final = re.compile(r"(?:bf16|f32)>+\) -> tensor<[0-9x]*(?:complex<)?f64>")
_NARROWED: Final = re.compile(r"f64>+\) -> tensor<[0-9x]*(?:complex<)?(?:bf16|f32)>")


class Flow(NamedTuple):
    """What a function's results are, and how it uses its parameters.

    Attributes:
        made: for each result, its kinds.
        passed: for each result, the parameters whose elements it may have.
        used: for each parameter, how it is used.
    """

    made: tuple[frozenset[str], ...]
    passed: tuple[frozenset[int], ...]
    used: tuple[frozenset[str], ...]


class _Values:
    """The kinds of the values of one function, and how they are used."""

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
    """Return the kinds of the result of a step."""
    kinds = {step.kind}
    with_constant = any(x in constants for x in step.operands)
    if step.kind in ("multiply", "divide") and with_constant:
        kinds.add(SCALED)
    elif step.kind in ("add", "subtract") and with_constant:
        kinds.add(SHIFTED)
    elif step.kind == "imag":
        kinds.add(NEGATED)
    elif step.kind == "convert" and "i1>)" in step.text:
        kinds.add(MASK)
    elif step.kind == "convert" and "bf16>)" in step.text and step.type.endswith("f32>"):
        kinds.add(WIDENED)
    elif step.kind == "convert" and _DOUBLED.search(step.text):
        kinds.add(DOUBLED)
    return frozenset(kinds)


def _uses(step: Statement, constants: set[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield how a step uses its operands."""
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
    kinds: frozenset[str], used: frozenset[str], pairs: Mapping[str, frozenset[str]]
) -> bool:
    return any(not kinds.isdisjoint(pairs.get(use, ())) for use in used)


def kept_inside(text: str) -> str:
    """Return the functions of an op, with barriers so that no pair of HIDDEN occurs.

    ROUNDED is ignored: what one op computes from a product that is not rounded is within the
    bounds of that op.
    """
    lines = text.split("\n")
    flows = _flows(lines)
    none: frozenset[str] = frozenset()
    for function in functions(lines):
        values = _Values(function, flows)
        for step in function.statements:
            name = step.names[0]
            # for a moved value, the step that makes it gets the barrier
            kinds = _MOVES.get(step.kind, values.made.get(name, none))
            if (step.kind == "call" or "#" in name or not fractional(step.type)
                    or not _met(kinds, values.used.get(name, none), HIDDEN)):
                continue
            inner = f"%kept{name[1:]}"
            lines[step.line] = (lines[step.line].replace(f"{name} =", f"{inner} =", 1)
                                + f"\n{hidden(name, inner, step.type)}")
    return "\n".join(lines)


def _flows(lines: Sequence[str]) -> dict[str, Flow]:
    """Return the flow of each function; functions that are called come first."""
    flows: dict[str, Flow] = {}
    remaining = list(functions(lines))
    while remaining:
        waiting = []
        names = {f.name for f in remaining}
        for function in remaining:
            if any(step.called in names and step.called != function.name
                   for step in function.statements):
                waiting.append(function)
            else:
                flows[function.name] = _Values(function, flows).flow
        if len(waiting) == len(remaining):
            break
        remaining = waiting
    return flows


@functools.lru_cache(maxsize=LOWERINGS_KEPT)
def flow_of(lowered: Lowered) -> Flow | None:
    """Return the flow of an op's results and operands; None if it is not only functions."""
    return _flows(lowered.text.split("\n")).get(lowered.name)


class Kept(NamedTuple):
    """Results of instructions that pass through a barrier: (instruction, result)."""

    hidden: frozenset[tuple[int, int]]
    rounded: frozenset[tuple[int, int]]


def kept(instructions: Sequence[Instruction], lowered: Sequence[Lowered], leading: Sequence[int],
         ) -> Kept:  # fmt: skip
    """Return the results of a program's instructions that need a barrier.

    ``leading`` says how many parameters of each function come before its operands.
    """
    flows = [flow_of(lowering) for lowering in lowered]
    none: frozenset[str] = frozenset()
    operands = [[item for item, t in zip(i.operands, i.operand_types, strict=True) if t is not None]
             for i in instructions]
    kinds: list[list[frozenset[str]]] = []
    for n, flow in enumerate(flows):
        if flow is None:
            kinds.append([])
            continue
        results = list(flow.made)
        for r, passed in enumerate(flow.passed):
            for p in passed:
                x = _source(operands[n], p - leading[n])
                if x is not None and x.number < len(kinds[x.instruction]):
                    results[r] |= kinds[x.instruction][x.number]
        kinds.append(results)
    used: dict[tuple[int, int], frozenset[str]] = {}
    for n in reversed(range(len(instructions))):
        flow = flows[n]
        if flow is None:
            continue
        for p, use in enumerate(flow.used):
            x = _source(operands[n], p - leading[n])
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
            # the step that it comes from is checked there, except for signs that it gets here
            if element and _met(flow.made[r] & _NEGATED, use, HIDDEN):
                behind.add((n, r))
            continue
        if element and _met(kinds[n][r], use, HIDDEN):
            behind.add((n, r))
        # in half precision, the result of every step is rounded
        if element in _ZERO and _met(kinds[n][r], use, ROUNDED):
            products.add((n, r))
    return Kept(frozenset(behind - products), frozenset(products))


def _source(operands: Sequence[Operand], number: int) -> Result | None:
    if not 0 <= number < len(operands):
        return None
    item = operands[number]
    return item if isinstance(item, Result) else None


def hidden(name: str, value: str, type_: str) -> str:
    """Return the statement that gives a value a name behind which XLA's simplifier cannot see it.
    """
    return f"    {name} = stablehlo.optimization_barrier {value} : {type_}"


def unknown_zero(name: str, type_: str) -> list[str]:
    """Return the statements that name a -0.0, in all elements, that no compiler pass knows."""
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
    """Return the statement that names a value, rounded before it is used in a sum.

    With the name and the text of the function that it calls. A product that the simplifier knows to
    be zero is behind a barrier: it would replace a zero plus -0.0 by the -0.0.
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
