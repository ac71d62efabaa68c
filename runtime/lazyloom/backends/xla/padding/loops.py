"""Loops and branches whose bodies have dynamic sizes, and a scan over a dynamic number of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ....interrupts import reraise_from_handler
from ....jaxprs import tracing
from ....jaxprs.walking import scan_counts
from .. import jax_compat
from .dims import Description, NotPadded, python, unified
from .interpret import PaddedRun, PaddedValue, Rule
from .sizes import SymbolicSizes

_Dims = tuple[tuple[Description, ...], ...]


def _inner(run: PaddedRun, closed: Any, operands: Sequence[PaddedValue]) -> list[PaddedValue]:
    """Return the results of a body, whose trace creates no values of the enclosing trace."""
    return run.inside().jaxpr(closed.jaxpr, closed.consts, operands)


def _dims_of(run: PaddedRun, closed: Any, operands: Sequence[PaddedValue]) -> _Dims:
    """Return the descriptions of a body's results."""
    import jax

    dims_of_traces: list[_Dims] = []

    def body(arrays: Sequence[Any]) -> list[Any]:
        results = _inner(run, closed, _valued(arrays, [x.dims for x in operands]))
        dims_of_traces.append(tuple(r.dims for r in results))
        return [r.data for r in results]

    jax.eval_shape(body, [x.data for x in operands])
    return dims_of_traces[-1]


def _valued(arrays: Sequence[Any], dims: Sequence[tuple[Description, ...]]) -> list[PaddedValue]:
    return [PaddedValue(x, d) for x, d in zip(arrays, dims, strict=True)]


def _both(a: _Dims, b: _Dims) -> _Dims:
    return tuple(tuple(map(unified, x, y)) for x, y in zip(a, b, strict=True))


def _carried(first: _Dims, after: Callable[[_Dims], _Dims]) -> _Dims:
    """Return the descriptions of a loop's carried values that one iteration does not change."""
    dims = first
    while True:
        after_one = _both(dims, after(dims))
        if after_one == dims:
            return dims
        # only what did not vary along a dimension changes, once
        dims = after_one


def _while(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    from jax import lax

    p = step.params
    a, b = int(p["cond_nconsts"]), int(p["body_nconsts"])
    condition, body = p["cond_jaxpr"], p["body_jaxpr"]
    of_condition, of_body, carry = xs[:a], xs[a : a + b], xs[a + b :]
    arrays = [x.data for x in carry]
    dims = _carried(tuple(x.dims for x in carry), lambda dims: _dims_of(
        run, body, [*of_body, *_valued(arrays, dims)]))

    def going(arrays: Sequence[Any]) -> PaddedValue:
        (truth,) = _inner(run, condition, [*of_condition, *_valued(arrays, dims)])
        return truth

    def goes_on(arrays: Sequence[Any]) -> Any:
        truth = going(arrays)
        axes = range(len(truth.dims))
        filled = run.inside().filled(truth, axes, np.asarray(False))
        return lax.reduce_or(filled, axes) if truth.dims else filled

    def once(arrays: Sequence[Any]) -> list[Any]:
        results = [r.data for r in _inner(run, body, [*of_body, *_valued(arrays, dims)])]
        truth = going(arrays)
        if not truth.dims:
            return results
        # mapped: elements that have finished stay as they are
        return [lax.select(lax.broadcast_in_dim(truth.data, new.shape, range(len(truth.dims))),
                           new, old) for new, old in zip(results, arrays, strict=True)]

    return _valued(lax.while_loop(goes_on, once, arrays), dims)


def _scan(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    import jax
    from jax import lax

    p = step.params
    (constants, carried), body = scan_counts(p), p["jaxpr"]
    fixed, carry = xs[:constants], xs[constants : constants + carried]
    rows = xs[constants + carried :]
    along = run.sizes.plain(p["length"])
    if rows:
        along = rows[0].dims[0]
        for x in rows[1:]:
            along = unified(along, x.dims[0])
        along = run.varying(along)
    arrays = [x.data for x in carry]
    first = [PaddedValue(jax.ShapeDtypeStruct(x.data.shape[1:], x.data.dtype), x.dims[1:])
             for x in rows]

    def results(dims: _Dims) -> _Dims:
        return _dims_of(run, body, [*fixed, *_valued(arrays, dims), *first])

    dims = _carried(tuple(x.dims for x in carry), lambda dims: results(dims)[:carried])
    stacked = tuple((along, *d) for d in results(dims)[carried:])
    valid = run.valid(along)

    def once(arrays: list[Any], row: Any) -> tuple[list[Any], list[Any]]:
        there, inner = row
        outputs = [r.data for r in _inner(run, body, [
            *fixed, *_valued(arrays, dims), *_valued(inner, [x.dims[1:] for x in rows])])]
        new = outputs[:carried]
        if there is not None:
            new = [lax.select(there, x, old) for x, old in zip(new, arrays, strict=True)]
        return new, outputs[carried:]

    after, stacked_arrays = lax.scan(
        once, arrays, (valid, [x.data for x in rows]), run.sizes.at_bucket(p["length"]),
        reverse=p["reverse"])
    return [*_valued(after, dims), *_valued(stacked_arrays, stacked)]


def _cond(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    from jax import lax

    branches, operands = step.params["branches"], xs[1:]
    if isinstance(xs[0].data, np.ndarray):
        closed = branches[int(xs[0].data)]
        return run.jaxpr(closed.jaxpr, closed.consts, operands)
    dims = [_dims_of(run, closed, operands) for closed in branches]
    common = dims[0]
    for each in dims[1:]:
        common = _both(common, each)

    def branch(closed: Any) -> Callable[..., list[Any]]:
        return lambda *arrays: [r.data for r in _inner(
            run, closed, _valued(arrays, [x.dims for x in operands]))]

    return _valued(lax.switch(
        xs[0].data, list(map(branch, branches)), *[x.data for x in operands]), common)


def _platform_index(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    """Return the number of the branch for the device, or for any device."""
    choices = list(step.params["platforms"])
    here = jax_compat.device().platform
    number = next((k for k, names in enumerate(choices) if names is not None and here in names),
                  None)
    return [PaddedValue(np.asarray(choices.index(None) if number is None else number, np.int32),
        ())]


def _linear_solve(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    """Run the function that solves the system; JAX carries others along for derivatives."""
    lengths, closed = step.params["const_lengths"], step.params["jaxprs"].solve
    start = lengths.matvec + lengths.vecmat
    constants = xs[start : start + lengths.solve]
    return run.jaxpr(closed.jaxpr, closed.consts, [*constants, *xs[sum(lengths) :]])


def _random_bits(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    """Compute the bits that the generator gives from the key and the positions of the elements."""
    (key,), p = xs, step.params
    if key.dims:
        raise NotPadded("random_bits of keys in an array")
    generator = tracing.generator_of(key.data)
    data = tracing.key_data(key.data)
    texts = [run.sizes.text(n) for n in p["shape"]]

    def attempt(symbols: Sequence[Any], conditions: Sequence[str]) -> Any:
        sizes = SymbolicSizes(symbols, run.sizes.bucket.values())
        shape = tuple(map(sizes.expression, texts))
        closed = tracing.trace(
            lambda key: generator.random_bits(key, p["bit_width"], shape),
            [(data.shape, data.dtype)])
        return closed, tuple(conditions)

    try:
        closed, conditions = tracing.with_symbols(attempt, run.sizes.bucket)
    except Exception as error:
        reraise_from_handler(error)
        raise NotPadded(f"random_bits: {type(error).__name__}: {error}") from error
    run.conditions.update(dict.fromkeys(map(python, conditions)))
    return run.jaxpr(closed.jaxpr, closed.consts, [
        PaddedValue(data, tuple((str(n),) for n in data.shape))])


def _effect(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    raise NotPadded(f"{step.primitive.name} of dynamic sizes, which would draw other numbers")


LOOPS: Final[dict[str, Rule]] = {
    "while": _while, "scan": _scan, "cond": _cond, "platform_index": _platform_index,
    "custom_linear_solve": _linear_solve, "random_bits": _random_bits, "random_gamma": _effect,
    "threefry2x32": _effect, "rng_bit_generator": _effect, "rng_uniform": _effect,
}  # fmt: skip
