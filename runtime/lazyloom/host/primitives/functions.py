"""Steps that have functions of their own, or are some: loops, branches, reductions, keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...jaxprs import random_steps
from ...jaxprs.walking import scan_counts
from ..blocks import blocked
from ..c_values import FunctionWriter, InnerLoop, Lazy, NoCode, constant
from ..writer import Expr, Unsupported, Writer, dtype_of, extent
from .entry import COMBINE, KEYS, LOOP, OTHER, RESHAPE, CValues, Exprs, Primitive
from .reductions import whole_index

#: a loop that would take more steps of NumPy than this has no kernel
LONGEST: Final = 20_000


def function_in(
    w: Writer, call: tuple[Any, Sequence[Any]], arrays: bool = False
) -> tuple[str, list[bool]]:
    """Write a traced function as a nested one that returns a tuple; its name, and what is shared.

    ``arrays``: it is a function of scalars, and called with arrays in their places.
    """
    jaxpr, consts = call
    name = w.names.fresh("f")
    inner = type(w)(w.names, w.indent + "    ")
    inner.arrays = arrays
    operands = [Expr(w.names.fresh("b"), tuple(v.aval.shape),
                      (2,) if arrays else tuple(v.aval.shape), dtype_of(v.aval), True)
                for v in jaxpr.invars]
    results = inner.body(jaxpr, consts, operands)
    if not arrays:
        results = [inner.full(r) for r in results]
    w.line(f"def {name}({', '.join(x.text for x in operands)}):")
    w.lines += inner.lines if arrays else blocked(
        inner.lines, w.names.made, {r.text for r in results}, inner.indent, w.names.fresh)
    w.line(f"    return ({''.join(r.text + ', ' for r in results)})")
    return name, list(shared(results))


def shared(results: Sequence[Expr]) -> tuple[bool, ...]:
    """Whether the memory of each result may be somebody else's."""
    names = [r.text for r in results]
    return tuple(r.shared or names.count(r.text) > 1 for r in results)


def _named(w: Writer, closed: Any) -> str:
    return function_in(w, (closed.jaxpr, closed.consts))[0]


def _results(w: Writer, whole: str, outs: Sequence[Any], shared: bool) -> list[Expr]:
    return [w.let(f"{whole}[{k}]", tuple(v.aval.shape), dtype_of(v.aval), None, shared)
            for k, v in enumerate(outs)]


def _tuple(values: Sequence[Expr]) -> str:
    return f"({''.join(v.text + ', ' for v in values)})"


def _while(w: Writer, step: Any, xs: Exprs) -> Exprs:
    p = step.params
    xs = [w.full(x) for x in xs]
    a, b = int(p["cond_nconsts"]), int(p["body_nconsts"])
    condition, body = (_named(w, p[which]) for which in ("cond_jaxpr", "body_jaxpr"))
    of_condition, of_body = _tuple(xs[:a]), _tuple(xs[a : a + b])
    carry = w.names.fresh("c")
    w.line(f"{carry} = {_tuple(xs[a + b :])}")
    shape = tuple(p["cond_jaxpr"].out_avals[0].shape)
    if not shape:
        w.line(f"while {condition}(*{of_condition}, *{carry})[0].all():")
        w.line(f"    {carry} = {body}(*{of_body}, *{carry})")
        return _results(w, carry, step.outvars, True)
    # mapped: it goes on while any element does, and those that are through stay as they are
    going, made = w.names.fresh("p"), w.names.fresh("r")
    w.line(f"while ({going} := {condition}(*{of_condition}, *{carry})[0]).any():")
    w.line(f"    {made} = {body}(*{of_body}, *{carry})")
    chosen = [
        f"choose({going}.reshape({(*shape, *[1] * (len(v.aval.shape) - len(shape)))}), "
        f"{made}[{k}], {carry}[{k}])" for k, v in enumerate(step.outvars)]
    w.line(f"    {carry} = ({''.join(c + ', ' for c in chosen)})")
    return _results(w, carry, step.outvars, True)


def _scan(w: Writer, step: Any, xs: Exprs) -> Exprs:
    p = step.params
    length, (constants, carried) = extent(p["length"]), scan_counts(p)
    closed = p["jaxpr"]
    if not w.names.at_most(length * max(1, len(closed.jaxpr.eqns)), LONGEST):
        raise Unsupported(f"a scan of {length} steps")
    xs = [w.full(x) for x in xs]
    body = _named(w, closed)
    given, carry = _tuple(xs[:constants]), w.names.fresh("c")
    rows = xs[constants + carried :]
    w.line(f"{carry} = {_tuple(xs[constants : constants + carried])}")
    outs = step.outvars[carried:]
    made = [w.let(f"empty({tuple(v.aval.shape)}, d_{dtype_of(v.aval).name})", v.aval.shape,
                  dtype_of(v.aval), written=True) for v in outs]
    at, found = w.names.fresh("i"), w.names.fresh("r")
    order = f"range({length - 1}, -1, -1)" if p["reverse"] else f"range({length})"
    w.line(f"for {at} in {order}:")
    row = "".join(f", {x.text}[{at}]" for x in rows)
    w.line(f"    {found} = {body}(*{given}, *{carry}{row})")
    w.line(f"    {carry} = {found}[:{carried}]")
    for k, v in enumerate(made):
        w.line(f"    {v.text}[{at}] = {found}[{carried + k}]")
    return [*_results(w, carry, step.outvars[:carried], True), *made]


def _cond(w: Writer, step: Any, xs: Exprs) -> Exprs:
    known = w.names.numbers.get(xs[0].text)
    if known is not None:
        closed = step.params["branches"][known]
        return w.body(closed.jaxpr, closed.consts, xs[1:])
    branches = [_named(w, closed) for closed in step.params["branches"]]
    xs = [w.full(x) for x in xs]
    found = w.names.fresh("c")
    chosen = f"min(max(int({xs[0].text}), 0), {len(branches) - 1})"
    w.line(f"{found} = ({', '.join(branches)},)[{chosen}](*{_tuple(xs[1:])})")
    return _results(w, found, step.outvars, True)


def _cond_in_c(f: FunctionWriter, step: Any, xs: CValues) -> CValues:
    known = xs[0].number
    if known is None:
        raise NoCode(LOOP)
    closed = step.params["branches"][known]
    return f.inner(closed.jaxpr, closed.consts, xs[1:])


def _branch_here(step: Any) -> int:
    """The number of the branch that is for the processor, or for any platform."""
    choices = list(step.params["platforms"])
    for k, names in enumerate(choices):
        if names is not None and "cpu" in names:
            return k
    return choices.index(None)


def _platform(w: Writer, step: Any, xs: Exprs) -> Exprs:
    number = _branch_here(step)
    found = w.literal(number, np.int32)
    w.names.numbers[found.text] = number
    return [found]


def _platform_in_c(f: FunctionWriter, step: Any, xs: CValues) -> CValues:
    number = _branch_here(step)
    found = constant(number, np.dtype(np.int32))
    found.number = number
    return [found]


def _reduce(w: Writer, step: Any, xs: Exprs) -> Exprs:
    """A reduction by a function of its own: of arrays, as its steps are elementwise."""
    closed = step.params["jaxpr"]
    body = closed.jaxpr if hasattr(closed, "jaxpr") else closed
    function, _ = function_in(w, (body, closed.consts), arrays=True)
    half = len(xs) // 2
    given, starts = [w.full(x) for x in xs[:half]], xs[half:]
    axes = tuple(sorted(int(d) for d in step.params["dimensions"]))
    whole = w.names.fresh("c")
    w.line(f"{whole} = reduce_by({function}, {_tuple(given)}, {_tuple(starts)}, {axes})")
    return _results(w, whole, step.outvars, True)


def _reduce_in_c(f: FunctionWriter, step: Any, xs: CValues) -> CValues:
    if len(step.outvars) != 1:
        raise NoCode("a reduction of several arrays")
    (x, start), p, out = xs, step.params, step.outvars[0].aval
    axes, shape, dtype = p["dimensions"], tuple(out.shape), np.dtype(str(out.dtype))
    found = f.buffer(shape, dtype)
    index = f.open(shape)
    name = f.fresh("r")
    f.line(f"{found.kind} {name} = {f.element(start, ())};")
    inner = tuple(x.shape[k] for k in axes)
    along = f.open(inner)
    element = f.element(x, whole_index(x.shape, axes, index, along))
    given = [Lazy((), dtype, lambda body, index: name, 0),
             Lazy((), dtype, lambda body, index: element, 0)]
    closed = p["jaxpr"]
    inside = closed.jaxpr if hasattr(closed, "jaxpr") else closed
    (result,) = f.body(inside, getattr(closed, "consts", ()), given)
    f.line(f"{name} = {result.at(InnerLoop(f), ())};")
    f.close(inner)
    f.line(f"{found.at(InnerLoop(f), index)} = {name};")
    f.close(shape)
    return [found]


# steps on keys, which are written as the arrays that they wrap


def _same(w: Any, step: Any, xs: Any) -> Any:
    return xs


def _wrap(w: Writer, step: Any, xs: Exprs) -> Exprs:
    w.names.generator = step.params["impl"]
    return xs


def _wrap_in_c(f: FunctionWriter, step: Any, xs: CValues) -> CValues:
    f.generator = step.params["impl"]
    return xs


def _random(w: Writer, step: Any, xs: Exprs) -> Exprs:
    return w.body(*_traced(step, w.names.generator, xs, Unsupported), xs)


def _random_in_c(f: FunctionWriter, step: Any, xs: CValues) -> CValues:
    return f.body(*_traced(step, f.generator, xs, NoCode), xs)


def _traced(
    step: Any, generator: Any, xs: Sequence[Any], error: type[Exception]
) -> tuple[Any, Sequence[Any]]:
    closed = random_steps.traced(step, generator, [(x.shape, x.dtype) for x in xs])
    if closed is None:
        raise error(f"{step.primitive.name} of such keys")
    return closed.jaxpr, closed.consts


_RANDOM: Final = Primitive(_random, _random_in_c, KEYS, whole=True)

FUNCTIONS: Final[dict[str, Primitive]] = {
    "while": Primitive(_while, LOOP, OTHER, whole=True),
    "scan": Primitive(_scan, LOOP, OTHER, whole=True),
    "cond": Primitive(_cond, _cond_in_c, OTHER, whole=True),
    "platform_index": Primitive(_platform, _platform_in_c, OTHER, whole=True),
    "reduce": Primitive(_reduce, _reduce_in_c, COMBINE, whole=True),
    "optimization_barrier": Primitive(_same, _same, RESHAPE, whole=True),
    "random_wrap": Primitive(_wrap, _wrap_in_c, KEYS, whole=True),
    "random_unwrap": Primitive(_same, _same, KEYS, whole=True),
    "random_bits": _RANDOM,
    "random_split": _RANDOM,
    "random_fold_in": _RANDOM,
}
