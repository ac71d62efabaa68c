"""The text of a C function for an op, from a traced function (a ClosedJaxpr)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ...jaxprs.walking import called, is_literal, needed
from ..c_values import (
    CArray,
    CValue,
    FunctionWriter,
    Lazy,
    NoCode,
    Shape,
    array,
    c_type,
    constant,
    dim_text,
    product,
    same,
    size_text,
)
from ..primitives.entry import ELEMENTWISE, RESHAPE
from ..primitives.table import PRIMITIVES

#: what an element may cost that is computed again where it is used again
CHEAP: Final = 3
#: the extent of arrays of one axis
FLAT: Final = "n0"
#: what an element of C's library costs, in multiplications of products: NumPy makes vectors of them
LIBRARY: Final = 50
#: bytes of scratch memory that a call takes from the stack
STACK: Final = 16384


class CFunctionSource(NamedTuple):
    """A C function.

    Attributes:
        body: its text without the name: parameters and statements.
        symbols: what it is to be given as its symbols, expressions of the op's.
        operands, results: (extents, dtype's name) of each.
        work: the multiplications of its products, and what takes as long, an expression of the op's
            symbols.
    """

    body: str
    symbols: tuple[str, ...]
    operands: tuple[tuple[Shape, str], ...]
    results: tuple[tuple[Shape, str], ...]
    work: str


def source_of(closed: Any, symbols: Sequence[str] = ()) -> CFunctionSource:
    """The function in C. Raises NoCode."""
    jaxpr = closed.jaxpr
    size = size_text(_largest(jaxpr))
    flat = not size.isdigit() and _is_flat(jaxpr, size)
    shape_of = _flat if flat else _shape
    f = _Writer(shape_of)
    operands: list[CValue] = []
    for k, v in enumerate(jaxpr.invars):
        c_type(v.aval.dtype)
        operands.append(CArray(shape_of(v.aval), np.dtype(str(v.aval.dtype)), f"a{k}"))
    results = f.body(jaxpr, closed.consts, operands)
    names = {}
    for k, (value, var) in enumerate(zip(results, jaxpr.outvars, strict=True)):
        dtype = np.dtype(str(var.aval.dtype))
        if value.dtype != dtype:
            raise NoCode(f"a result of {value.dtype} in place of {dtype}")
        if isinstance(value, CArray) and value.name in f.scratch:
            names[k] = value.name
            del f.scratch[value.name]
        else:
            names[k] = f"o{k}"
            f.store(CArray(value.shape, dtype, names[k]), value)
    head = ["{"]
    head += [f"const i64 {s} = e[{k}]; (void){s};" for k, s in enumerate(
        [FLAT] if flat else symbols)]
    head += [f"const {x.kind} *restrict a{k} = p[{k}];" for k, x in enumerate(operands)]
    head += [f"{c_type(v.aval.dtype)} *restrict {names[k]} = p[{len(operands) + k}];"
             for k, v in enumerate(jaxpr.outvars)]
    first, last = _memory(f)
    text = "\n".join([*head, *first, *f.lines, *last, "return 0;", "}"])
    return CFunctionSource(
        text, (size,) if flat else tuple(symbols), _arrays(jaxpr.invars),
        _arrays(jaxpr.outvars), " + ".join(f.work) or "0")


def _arrays(variables: Sequence[Any]) -> tuple[tuple[Shape, str], ...]:
    return tuple((tuple(v.aval.shape), str(v.aval.dtype)) for v in variables)


def _memory(f: FunctionWriter) -> tuple[list[str], list[str]]:
    """The lines that take scratch memory, and those that give it back."""
    if not f.scratch:
        return [], []
    lines, places, end = [], [], "0"
    for name, b in f.scratch.items():
        lines.append(f"const i64 n{name} = {end};")
        places.append(f"{b.kind} *restrict {name} = ({b.kind} *)(w + n{name});")
        end = f"n{name} + ((({size_text(b.shape)}) * {b.dtype.itemsize} + 63) & ~63L)"
    return [
        *lines, f"const i64 whole = {end};",
        f"char fixed[{STACK}] __attribute__((aligned(64)));",
        "char *w = whole <= (i64)sizeof fixed ? fixed : malloc(whole);",
        "if (!w) return 1;", *places,
    ], ["if (w != fixed) free(w);"]


def _shape(aval: Any) -> Shape:
    return tuple(aval.shape)


# arrays of one size that are computed element by element have one axis: so functions for any number
# of axes are the same

def _flat(aval: Any) -> Shape:
    return () if size_text(tuple(aval.shape)) == "1" else (FLAT,)


def _largest(jaxpr: Any) -> Shape:
    """The shape of a result, or of an operand, that is no single element."""
    return next((tuple(v.aval.shape) for v in (*jaxpr.outvars, *jaxpr.invars)
                 if size_text(tuple(v.aval.shape)) != "1"), ())


def _is_flat(jaxpr: Any, size: str) -> bool:
    """Whether all of it is computed element by element, and is of that size or a single element."""
    # a result may be an operand or a number that no step makes
    if any(_other_size(v, size) for v in jaxpr.outvars):
        return False
    for step in needed(jaxpr):
        inner = called(step)
        if inner is not None:
            if not _is_flat(inner[0], size):
                return False
        elif _kind(step) not in (ELEMENTWISE, RESHAPE) or (
            step.primitive.name == "reshape" and step.params["dimensions"] is not None
        ):
            return False
        if any(_other_size(v, size) for v in (*step.invars, *step.outvars)):
            return False
    return True


def _kind(step: Any) -> str:
    """What a step does with elements, "" where that is not known."""
    known = PRIMITIVES.get(step.primitive.name)
    return known.kind if known is not None else ""


def _other_size(variable: Any, size: str) -> bool:
    return size_text(tuple(variable.aval.shape)) not in ("1", size)


def _places(jaxpr: Any, steps: Sequence[Any]) -> Counter[Any]:
    """In how many places each variable is computed, if it is computed wherever it is used.

    All that leads to one result element by element is one place: a loop that computes each once.
    """
    uses: dict[Any, list[Any]] = {}
    for step in steps:
        for a in step.invars:
            if not is_literal(a):
                uses.setdefault(a, []).append(step)
    found: Counter[Any] = Counter({v: len(given) for v, given in uses.items()})
    returned = [v for v in jaxpr.outvars if not is_literal(v)]
    found.update(returned)
    #: the result in whose loop a variable is computed
    ends: dict[Any, Any] = {v: v for v in returned}
    made = [v for step in reversed(steps) for v in step.outvars]
    for v in (*made, *jaxpr.invars):
        after = {id(ends[w]): ends[w] for step in uses.get(v, ()) for w in step.outvars
                 if w in ends}
        if v in ends:
            continue
        if len(after) == 1 and all(_in_one_loop(step, v) for step in uses[v]):
            (ends[v],) = after.values()
            found[v] = 1
        else:
            ends[v] = v
    return found


def _in_one_loop(step: Any, v: Any) -> bool:
    """Whether a step takes each element of a variable for the same element of its result."""
    shape = tuple(v.aval.shape)
    return _kind(step) == ELEMENTWISE and all(
        len(w.aval.shape) == len(shape) and all(map(same, w.aval.shape, shape))
        for w in step.outvars)


class _Writer(FunctionWriter):
    def __init__(self, shape_of: Callable[[Any], Shape]) -> None:
        super().__init__()
        self.shape_of: Final = shape_of

    def body(self, jaxpr: Any, consts: Sequence[Any], operands: Sequence[CValue]) -> list[CValue]:
        values: dict[Any, CValue] = {}
        for var, const in zip(jaxpr.constvars, consts, strict=True):
            values[var] = array(self, const)
        values.update(zip(jaxpr.invars, operands, strict=True))

        def read(atom: Any) -> CValue:
            if is_literal(atom):
                return constant(atom.val, np.dtype(str(atom.aval.dtype)), self.shape_of(atom.aval))
            return values[atom]

        steps = list(needed(jaxpr))
        uses = _places(jaxpr, steps)
        for step in steps:
            results = self._step(step, [read(a) for a in step.invars])
            for var, value in zip(step.outvars, results, strict=True):
                values[var] = self._kept(value, uses[var])
        return [read(v) for v in jaxpr.outvars]

    def _kept(self, value: CValue, uses: int) -> CValue:
        """The value, in memory if it were computed more than once otherwise."""
        if not isinstance(value, Lazy) or not value.cost:
            return value
        if all(same(n, 1) for n in value.shape):
            name = self.scalar(value.kind, self.element(value, ["0"] * len(value.shape)))
            return Lazy(value.shape, value.dtype, lambda body, index: name, 0)
        return self.held(value) if uses > 1 and value.cost > CHEAP else value

    def _step(self, step: Any, xs: list[CValue]) -> Sequence[CValue]:
        name = step.primitive.name
        inner = called(step)
        if inner is not None:
            return self.inner(*inner, xs)
        if step.effects:
            raise NoCode(f"{name}, which has an effect")
        known = PRIMITIVES.get(name)
        if known is None or isinstance(known.c, str):
            raise NoCode(name if known is None else f"{name}: {known.c}")
        if known.whole:
            results: Sequence[CValue] = known.c(self, step, xs)
            return results
        (out,) = [v.aval for v in step.outvars]
        shape = self.shape_of(out)
        c_type(out.dtype)
        dtype = np.dtype(str(out.dtype))
        if known.kind == RESHAPE and self.shape_of is _flat:
            return [xs[0] if len(xs[0].shape) == len(shape) else xs[0].mapped(shape, [])]
        if known.library and dtype.kind == "f" and dtype.itemsize >= known.library:
            self.work.append(product([str(LIBRARY), *map(dim_text, out.shape)]))
        return [known.c(self, step.params, xs, shape, dtype)]

    def inner(self, jaxpr: Any, consts: Sequence[Any], xs: Sequence[CValue]) -> list[CValue]:
        uses = _places(jaxpr, needed(jaxpr))
        return self.body(jaxpr, consts, [
            self._kept(x, uses[v]) for x, v in zip(xs, jaxpr.invars, strict=True)])
