"""The text of a C function for an op, from a traced function (a ClosedJaxpr)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ...jaxprs import random_steps
from ...jaxprs.walking import called, is_literal, linear_solve, needed
from .elementwise import ELEMENTWISE, LIBRARY, elementwise, is_of_library
from .linalg import LINALG
from .moves import MOVES, number, split
from .sums import COMBINED, whole_index
from .values import (
    CArray,
    CValue,
    FunctionWriter,
    InnerLoop,
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

#: what an element may cost that is computed again where it is used again
CHEAP: Final = 3
#: the extent of arrays of one axis
FLAT: Final = "n0"
#: steps that leave elements as they are, in order; and all that are computed element by element
RESHAPED: Final = frozenset(("reshape", "squeeze", "expand_dims", "broadcast_in_dim"))
STEPS: Final = ELEMENTWISE | RESHAPED | {"optimization_barrier"}
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
    f = FunctionWriter()
    jaxpr = closed.jaxpr
    size = size_text(_largest(jaxpr))
    flat = not size.isdigit() and _is_flat(jaxpr, size)
    shape_of = _flat if flat else _shape
    operands: list[CValue] = []
    for k, v in enumerate(jaxpr.invars):
        c_type(v.aval.dtype)
        operands.append(CArray(shape_of(v.aval), np.dtype(str(v.aval.dtype)), f"a{k}"))
    writer = _Writer(f, shape_of)
    results = writer.body(jaxpr, closed.consts, operands)
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
        elif step.primitive.name not in STEPS or (
            step.primitive.name == "reshape" and step.params["dimensions"] is not None
        ):
            return False
        if any(_other_size(v, size) for v in (*step.invars, *step.outvars)):
            return False
    return True


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
    return step.primitive.name in ELEMENTWISE and all(
        len(w.aval.shape) == len(shape) and all(map(same, w.aval.shape, shape))
        for w in step.outvars)


class _Writer:
    def __init__(self, function: FunctionWriter, shape_of: Callable[[Any], Shape]) -> None:
        self.f: Final = function
        self.shape_of: Final = shape_of

    def body(self, jaxpr: Any, consts: Sequence[Any], operands: Sequence[CValue]) -> list[CValue]:
        values: dict[Any, CValue] = {}
        for var, const in zip(jaxpr.constvars, consts, strict=True):
            values[var] = array(self.f, const)
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
            body = InnerLoop(self.f)
            text = value.at(body, ["0"] * len(value.shape))
            for line in body.lines:
                self.f.line(line)
            name = self.f.scalar(value.kind, text)
            return Lazy(value.shape, value.dtype, lambda body, index: name, 0)
        return self.f.held(value) if uses > 1 and value.cost > CHEAP else value

    def _step(self, step: Any, xs: list[CValue]) -> Sequence[CValue]:
        name, p = step.primitive.name, step.params
        inner = called(step)
        if inner is not None:
            return self._inner(*inner, xs)
        if step.effects:
            raise NoCode(f"{name}, which has an effect")
        if name.startswith("random_"):
            return self._random(step, xs)
        if name == "optimization_barrier":
            return xs
        if name == "split":
            return split(p, xs[0], [tuple(v.aval.shape) for v in step.outvars])
        if name in LINALG:
            return LINALG[name](self.f, p, xs, [
                (tuple(v.aval.shape), np.dtype(str(v.aval.dtype))) for v in step.outvars])
        if name == "custom_linear_solve":
            closed, given = linear_solve(p, xs)
            return self._inner(closed.jaxpr, closed.consts, given)
        if len(step.outvars) != 1:
            raise NoCode(name)
        out = step.outvars[0].aval
        shape = self.shape_of(out)
        c_type(out.dtype)
        dtype = np.dtype(str(out.dtype))
        if name in RESHAPED and self.shape_of is _flat:
            return [xs[0] if len(xs[0].shape) == len(shape) else xs[0].mapped(shape, [])]
        if name == "reduce":
            return [self._reduced(p, xs, shape, dtype)]
        if name == "dim_as_value":
            return [number(p["dim"], shape, dtype)]
        if name in MOVES:
            return [MOVES[name](self.f, p, xs, shape)]
        if name in COMBINED:
            return [COMBINED[name](self.f, p, xs, shape, dtype)]
        found = elementwise(name, p, xs, shape, dtype)
        if found is None:
            raise NoCode(name)
        if is_of_library(name, dtype):
            self.f.work.append(product([str(LIBRARY), *map(dim_text, out.shape)]))
        return [found]

    def _inner(self, jaxpr: Any, consts: Sequence[Any], xs: Sequence[CValue]) -> list[CValue]:
        """A function that a step has in its parameters."""
        uses = _places(jaxpr, needed(jaxpr))
        return self.body(jaxpr, consts, [
            self._kept(x, uses[v]) for x, v in zip(xs, jaxpr.invars, strict=True)])

    def _reduced(self, p: Any, xs: list[CValue], shape: Shape, dtype: Any) -> CValue:
        """A reduction by a function of its own."""
        f, (x, start), axes = self.f, xs, p["dimensions"]
        found = f.buffer(shape, dtype)
        index = f.open(shape)
        name = f.fresh("r")
        body = InnerLoop(f)
        text = start.at(body, ())
        for line in body.lines:
            f.line(line)
        f.line(f"{found.kind} {name} = {text};")
        inner = tuple(x.shape[k] for k in axes)
        along = f.open(inner)
        body = InnerLoop(f)
        element = x.at(body, whole_index(x.shape, axes, index, along))
        for line in body.lines:
            f.line(line)
        given = [Lazy((), dtype, lambda body, index: name, 0),
                 Lazy((), dtype, lambda body, index: element, 0)]
        closed = p["jaxpr"]
        inside = closed.jaxpr if hasattr(closed, "jaxpr") else closed
        (result,) = self.body(inside, getattr(closed, "consts", ()), given)
        f.line(f"{name} = {result.at(InnerLoop(f), ())};")
        f.close(inner)
        f.line(f"{found.at(InnerLoop(f), index)} = {name};")
        f.close(shape)
        return found

    def _random(self, step: Any, xs: list[CValue]) -> Sequence[CValue]:
        """Steps on keys, which are written as the arrays that they wrap."""
        name, p = step.primitive.name, step.params
        if name == "random_wrap":
            self.f.generator = p["impl"]
            return xs
        if name == "random_unwrap":
            return xs
        closed = random_steps.traced(step, self.f.generator, [(x.shape, x.dtype) for x in xs])
        if closed is None:
            raise NoCode(f"{name} of such keys")
        return self.body(closed.jaxpr, closed.consts, xs)
