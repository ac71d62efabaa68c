"""Definitions of ops, interpreted step by step on :class:`~.shades.Shade` arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from lazyloom.jaxprs.op_definitions import function_of
from lazyloom.jaxprs.walking import called, is_literal, linear_solve, needed, scan_counts
from lazyloom.trace.specs import Spec
from lazyloom.types import TensorType

from . import elementwise, folds, moves
from .centring import axes_of_mean, centred
from .shades import FUNCTION, Shade, is_inexact, limits, shade_of, wide

#: a loop that goes round more often than this is not followed
LONGEST: Final = 3000
#: how many roundings a solver of systems may be off, for each row, of its largest result
SOLVER: Final = 64.0


class Untold(Exception):
    """There is no rule for a step."""


#: whether numbers lose no more than their own rounding where their mean is taken off
exact_means = True
_traced: dict[Any, Any] = {}


def op(spec: Spec, types: tuple[TensorType | None, ...], operands: Sequence[Any]) -> list[Shade]:
    """The results of an op at operands, None for those that are absent."""
    import jax

    key = (spec, types)
    closed = _traced.get(key)
    present = [t for t in types if t is not None]
    if closed is None:
        shaped = [jax.ShapeDtypeStruct(t.shape, t.dtype.numpy) for t in present]
        with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"):
            closed = _traced[key] = jax.make_jaxpr(function_of(spec, types))(*shaped)
    given = [o for o in operands if o is not None]
    try:
        found = run(closed.jaxpr, closed.consts, given)
        if all(isinstance(x, Shade) for x in found):
            return found
    except Untold:
        pass
    return _by_definition(spec, types, given)


def _by_definition(
    spec: Spec, types: tuple[TensorType | None, ...], given: Sequence[Shade]
) -> list[Shade]:
    """Results as JAX computes them, of which nothing is told but that random ones are close."""
    import jax

    with jax.enable_x64(True):
        out = jax.jit(function_of(spec, types))(
            *(jax.numpy.asarray(x.rounded()) for x in given))
        found = [np.asarray(x) for x in (out if isinstance(out, (tuple, list)) else [out])]
    made = []
    for x in found:
        shade = shade_of(x)
        e: Any = 0.0
        if not all(g.is_exact for g in given):
            e = np.nan if is_inexact(x.dtype) else np.inf
        elif is_inexact(x.dtype):
            e = np.nan
            if spec.op.name.startswith("random_"):
                with np.errstate(all="ignore"):
                    size = np.abs(shade.v).astype(np.float64)
                # of angles, an arccosine near 1 makes 30 units of one
                e = np.where(np.isfinite(size), 32 * FUNCTION * limits(x.dtype).unit * size, 0)
        made.append(Shade(x.dtype, shade.v, e))
    return made


def run(jaxpr: Any, consts: Sequence[Any], given: Sequence[Any]) -> list[Any]:
    """The results of a traced function. Raises :class:`Untold`."""
    values: dict[Any, Any] = {}
    for var, const in zip(jaxpr.constvars, consts, strict=True):
        values[var] = _constant(const)
    values.update(zip(jaxpr.invars, given, strict=True))

    def read(atom: Any) -> Any:
        return _constant(atom.val, atom.aval) if is_literal(atom) else values[atom]

    made_by: dict[Any, Any] = {}
    for step in needed(jaxpr):
        operands = [read(a) for a in step.invars]
        results = _step(step, operands)
        if exact_means and step.primitive.name == "sub":
            axes = axes_of_mean(step, made_by)
            if axes is not None:
                results = [centred(results[0], operands[0], axes)]
        values.update(zip(step.outvars, results, strict=True))
        made_by.update(dict.fromkeys(step.outvars, step))
    return [read(v) for v in jaxpr.outvars]


def _constant(value: Any, aval: Any = None) -> Any:
    dtype = getattr(aval, "dtype", None) or getattr(value, "dtype", None)
    if dtype is not None and not isinstance(dtype, np.dtype):
        return value
    array = np.asarray(value)
    return shade_of(array if dtype is None else array.astype(dtype))


def _step(step: Any, xs: list[Any]) -> list[Any]:
    name = step.primitive.name
    inner = called(step)
    if inner is not None:
        return run(*inner, xs)
    if name == "custom_linear_solve":
        solve, operands = linear_solve(step.params, xs)
        return run(solve.jaxpr, solve.consts, operands)
    if name in _CONTROL:
        return _CONTROL[name](step.params, xs, step)
    opaque = not all(isinstance(x, Shade) for x in xs)
    if opaque or name.startswith(("random_", "threefry", "rng_")):
        return _bound(step, xs)
    aval = step.outvars[0].aval
    if name == "optimization_barrier":
        return xs
    if name == "split":
        return _split(step.params, xs[0])
    for rule in (elementwise.rule,):
        found = rule(name, xs, step.params, aval)
        if found is not None:
            return [_typed(found, aval)]
    for other in (moves.rule, folds.rule):
        several = other(name, xs, step.params, aval, step)
        if several is not None:
            listed = several if isinstance(several, list) else [several]
            return [_typed(x, v.aval) for x, v in zip(listed, step.outvars, strict=True)]
    if name in _SOLVERS:
        return _solved(step, xs)
    if name in _WINDOWS:
        return [_windowed(step, xs)]
    if all(not is_inexact(x.dtype) for x in xs) and all(
        not is_inexact(v.aval.dtype) for v in step.outvars
    ):
        return _bound(step, xs)
    raise Untold(name)


def _typed(x: Shade, aval: Any) -> Shade:
    assert x.dtype == aval.dtype, (x.dtype, aval)
    if x.shape != tuple(aval.shape):
        x = x.moved(lambda a: np.broadcast_to(a, aval.shape))
    kind = wide(x.dtype)
    return x if x.v.dtype == kind else Shade(x.dtype, x.v.astype(kind), x.e)


def _bound(step: Any, xs: Sequence[Any]) -> list[Any]:
    """A step on integers and keys, as JAX has it."""
    import jax

    exact = all(not isinstance(x, Shade) or x.is_exact for x in xs)
    with jax.enable_x64(True):
        found = step.primitive.bind(
            *(jax.numpy.asarray(x.rounded()) if isinstance(x, Shade) else x for x in xs),
            **step.params)
    listed = list(found) if step.primitive.multiple_results else [found]
    return [_constant(x) if exact or not isinstance(x.dtype, np.dtype)
            else Shade(x.dtype, np.asarray(x), np.inf) for x in listed]


def _split(p: Any, x: Shade) -> list[Shade]:
    ends = np.cumsum(p["sizes"])
    return [x.moved(lambda a, low=end - size, high=end: np.take(
        a, range(low, high), p["axis"])) for end, size in zip(ends, p["sizes"], strict=True)]


# Solvers and windows, as JAX computes them in float64

_SOLVERS: Final = ("cholesky", "triangular_solve", "tridiagonal_solve")
_WINDOWS: Final = ("reduce_window_max", "reduce_window_min")


def _in_double(step: Any, arrays: Sequence[Any]) -> list[Any]:
    import jax

    with jax.enable_x64(True):
        found = step.primitive.bind(*map(jax.numpy.asarray, arrays), **step.params)
    listed = found if step.primitive.multiple_results else [found]
    return [np.asarray(x) for x in listed]


def _solved(step: Any, xs: Sequence[Shade]) -> list[Shade]:
    """A solver: how far results move when operands move within their bounds, many times over."""
    avals = [v.aval for v in step.outvars]
    wild = any(not np.isfinite(x.v).all() or not np.isfinite(x.e).all() for x in xs)
    if wild or any(np.dtype(a.dtype).kind == "c" for a in avals):
        return [Shade(a.dtype, np.zeros(a.shape, wide(a.dtype)), np.inf) for a in avals]
    numbers = [x.v.astype(np.float64) for x in xs]
    middle = _in_double(step, numbers)
    unit = limits(avals[0].dtype).unit
    rng = np.random.default_rng(0)
    spread = [np.zeros(m.shape) for m in middle]
    for _ in range(3):
        moved = [n + rng.choice([-1.0, 1.0], n.shape) * (x.e + 4 * unit * np.abs(n))
                 for n, x in zip(numbers, xs, strict=True)]
        for k, m in enumerate(_in_double(step, moved)):
            spread[k] = np.fmax(spread[k], np.abs(m - middle[k]))
    made = []
    for m, s, a in zip(middle, spread, avals, strict=True):
        rows = max(1, m.shape[-1])
        largest = np.max(np.abs(m), initial=0.0)
        e = rows * SOLVER * (np.max(s, initial=0.0) + unit * largest)
        known = np.isfinite(m).all() and np.isfinite(e)
        made.append(Shade(a.dtype, m.astype(wide(a.dtype)), e if known else np.inf))
    return made


def _windowed(step: Any, xs: Sequence[Shade]) -> Shade:
    import jax

    (x,) = xs
    aval = step.outvars[0].aval
    if not is_inexact(x.dtype):
        return _bound(step, xs)[0]
    if np.isnan(x.v).any():
        return Shade(aval.dtype, np.zeros(aval.shape, wide(aval.dtype)), np.inf)
    (v,) = _in_double(step, [x.v.astype(np.float64)])
    with jax.enable_x64(True):
        e = np.asarray(jax.lax.reduce_window_max_p.bind(
            jax.numpy.asarray(np.array(x.e)), **step.params))
    at = limits(aval.dtype)
    e = np.where(np.abs(v) < at.least, np.fmax(e, float(at.least)), np.fmax(e, 0))
    return Shade(aval.dtype, v.astype(wide(aval.dtype)), e)


# Control flow


def _scan(p: Any, xs: list[Any], step: Any) -> list[Any]:
    consts, carried = scan_counts(p)
    fixed, carry, rows = xs[:consts], xs[consts : consts + carried], xs[consts + carried :]
    if p["length"] > LONGEST:
        raise Untold("scan")
    order = range(p["length"])
    out: list[list[Any]] = [[] for _ in step.outvars[carried:]]
    for k in reversed(order) if p["reverse"] else order:
        found = run(p["jaxpr"].jaxpr, p["jaxpr"].consts,
                    [*fixed, *carry, *(r.moved(lambda a, k=k: a[k]) for r in rows)])
        carry = found[:carried]
        for part, x in zip(out, found[carried:], strict=True):
            part.append(x)
    stacked = []
    for part, var in zip(out, step.outvars[carried:], strict=True):
        if p["reverse"]:
            part.reverse()
        if not part:
            stacked.append(Shade(var.aval.dtype, np.zeros(var.aval.shape, wide(var.aval.dtype))))
        else:
            stacked.append(Shade(var.aval.dtype, np.stack([x.v for x in part]),
                                 np.stack([x.e for x in part])))
    return [*carry, *stacked]


def _while(p: Any, xs: list[Any], step: Any) -> list[Any]:
    conditions, bodies = p["cond_nconsts"], p["body_nconsts"]
    asked, fixed = xs[:conditions], xs[conditions : conditions + bodies]
    carry = xs[conditions + bodies :]
    for _ in range(LONGEST):
        (goes,) = run(p["cond_jaxpr"].jaxpr, p["cond_jaxpr"].consts, [*asked, *carry])
        if goes.shape or not goes.is_exact:
            raise Untold("while")
        if not goes.v:
            return carry
        carry = run(p["body_jaxpr"].jaxpr, p["body_jaxpr"].consts, [*fixed, *carry])
    raise Untold("while")


def _cond(p: Any, xs: list[Any], step: Any) -> list[Any]:
    which, *operands = xs
    if not which.is_exact:
        raise Untold("cond")
    branch = p["branches"][int(np.clip(int(which.v), 0, len(p["branches"]) - 1))]
    return run(branch.jaxpr, branch.consts, operands)


_CONTROL: Final = {"scan": _scan, "while": _while, "cond": _cond}
