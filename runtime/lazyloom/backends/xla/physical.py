"""Ops in other physical layouts: their JAX functions with renamed axes.

:func:`replay` traces an op's function at its logical shapes and runs the trace on physical
arrays: an elementwise step runs in whatever layout its operands have, a step with axes gets their
physical numbers, a product or convolution takes any layout by its dimension numbers. Only a step
with no other way moves data.

Convolutions are where this pays off: XLA's CPU code wants channels last, and a convolution with a
window or result of one element is far faster as a product of matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ...jaxprs.walking import called, is_literal, needed
from . import jax_compat
from .layouts import InLayout, LateBroadcast, Layout, identity, normalized, same_memory
from .products import as_product


class Replayed:
    """The outcome of a replay.

    Attributes:
        layouts: the layout of each result.
        moved: elements that were moved from one layout to another on the way.
        wanted: operands, as (number, layout), that a convolution prefers in that layout.
    """

    __slots__ = ("layouts", "moved", "wanted")

    def __init__(self) -> None:
        self.layouts: tuple[Layout, ...] = ()
        self.moved = 0
        self.wanted: dict[int, Layout] = {}


def replay(
    fn: Callable[..., Any], shaped: Sequence[Any], layouts: Sequence[Layout], replayed: Replayed
) -> Callable[..., Any]:
    """Return a function of physical operands in ``layouts`` that does what ``fn`` does, for JAX to
    trace.

    ``shaped`` are the logical (shape, NumPy dtype) of the operands. The function returns a tuple of
    physical results and fills ``replayed``.
    """

    def physical(*arrays: Any) -> Any:
        import jax

        closed = jax.make_jaxpr(fn)(*[jax.ShapeDtypeStruct(*s) for s in shaped])
        replaying = _Replay(replayed)
        operands = [InLayout(x, f, n) for n, (x, f) in enumerate(zip(arrays, layouts, strict=True))]
        results = []
        for value in replaying.jaxpr(closed.jaxpr, closed.consts, operands):
            # a broadcast, such as a sum's gradient, takes the layout of an operand of its shape
            shape = value.shape
            like = next((x.layout for x in operands if x.shape == shape), None)
            array = replaying.made(value, like)
            results.append(replaying.into(array, normalized(shape, array.layout)))
        replayed.layouts = tuple(r.layout for r in results)
        return tuple(r.data for r in results)

    return physical


_ELEMENTWISE: Final = frozenset(
    "abs acos acosh add add_any and asin asinh atan atan2 atanh cbrt ceil clamp clz complex conj "
    "convert_element_type copy copy_p cos cosh digamma div eq erf erf_inv erfc exp exp2 expm1 "
    "floor ge gt imag integer_pow is_finite le lgamma log log1p logistic lt max min mul ne neg "
    "nextafter not or population_count pow real reduce_precision rem round rsqrt select_n "
    "shift_left shift_right_arithmetic shift_right_logical sign sin sinh sqrt square sub tan tanh "
    "xor".split()
)
_REDUCTIONS: Final = frozenset(
    "argmax argmin reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum "
    "reduce_xor".split()
)
_CUMULATIVE: Final = frozenset("cumlogsumexp cummax cummin cumprod cumsum".split())
#: steps over windows, and the parameters that have one entry per axis
_WINDOWED: Final = frozenset(
    "reduce_window reduce_window_max reduce_window_min reduce_window_sum select_and_gather_add "
    "select_and_scatter_add".split()
)
_PER_AXIS: Final = (
    "window_dimensions", "window_strides", "padding", "base_dilation", "window_dilation",
)  # fmt: skip


class _Replay:
    def __init__(self, replayed: Replayed) -> None:
        self.found: Final = replayed

    def jaxpr(self, jaxpr: Any, consts: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        """Run a traced function on values; steps whose results nothing uses are left out."""
        values: dict[Any, Any] = {}
        for var, const in zip(jaxpr.constvars, consts, strict=True):
            values[var] = InLayout(const, identity(const.ndim))
        values.update(zip(jaxpr.invars, operands, strict=True))

        def read(atom: Any) -> Any:
            if not is_literal(atom):
                return values[atom]
            # JAX represents a Python number in a step as a number with a dtype
            return InLayout(np.asarray(atom.val, atom.aval.dtype), identity(atom.aval.ndim))

        for step in needed(jaxpr):
            results = self.step(step, [read(a) for a in step.invars])
            values.update(zip(step.outvars, results, strict=True))
        return [read(v) for v in jaxpr.outvars]

    def step(self, step: Any, operands: list[Any]) -> Sequence[Any]:
        name, params = step.primitive.name, step.params
        call = called(step)
        if call is not None:
            return self.jaxpr(*call, operands)
        if name in _ELEMENTWISE:
            return [self.elementwise(step, operands)]
        if name == "broadcast_in_dim" and len(operands) == 1:
            dims = tuple(int(d) for d in params["broadcast_dimensions"])
            return [LateBroadcast(self.made(operands[0]), dims, tuple(params["shape"]))]
        rule = getattr(self, "_" + name, None)
        if rule is None:
            rule = self._reduction if name in _REDUCTIONS else (
                self._cumulative if name in _CUMULATIVE else
                self._windowed if name in _WINDOWED else None)
        arrays = [self.made(x) for x in operands]
        result = rule(step, *arrays) if rule is not None else None
        if result is not None:
            return [result]
        plain = [self.into(x, identity(len(x.layout))).data for x in arrays]
        return [InLayout(x, identity(x.ndim)) for x in jax_compat.run_step(step, plain)]

    # layouts

    def made(self, value: Any, layout: Layout | None = None) -> InLayout:
        """Return the value as an array: a broadcast is done, in ``layout`` if given."""
        if type(value) is InLayout:
            return value
        from jax import lax

        base, dims, shape = value
        layout = identity(len(shape)) if layout is None else layout
        place = {d: k for k, d in enumerate(layout)}
        order = tuple(sorted(range(len(dims)), key=lambda i: place[dims[i]]))
        base = self.into(base, order)
        return InLayout(lax.broadcast_in_dim(
            base.data, [shape[d] for d in layout], [place[dims[i]] for i in order]), layout)

    def into(self, value: Any, layout: Layout) -> InLayout:
        """Return the value in a layout."""
        if type(value) is LateBroadcast:
            return self.made(value, layout)
        if value.layout == layout:
            return value  # type: ignore[no-any-return]
        from jax import lax

        shape = value.shape
        if same_memory(shape, value.layout, layout):
            return InLayout(lax.reshape(value.data, [shape[d] for d in layout]), layout)
        self.found.moved += math.prod(shape)
        return InLayout(lax.transpose(value.data, [value.layout.index(d) for d in layout]), layout)

    def bind(self, step: Any, operands: Sequence[Any], layout: Layout, **changed: Any) -> InLayout:
        return InLayout(step.primitive.bind(*operands, **{**step.params, **changed}), layout)

    # steps

    def elementwise(self, step: Any, operands: list[Any]) -> Any:
        ndim = step.outvars[0].aval.ndim
        full = [x for x in operands if len(x.shape) == ndim]
        if ndim and all(type(x) is LateBroadcast for x in full) and len({
                (x.dims, x.base.shape) for x in full}) == 1:
            # values that are equal along an axis stay so
            first = full[0]
            inner = [x.base if type(x) is LateBroadcast else x for x in operands]
            layout = first.base.layout
            return LateBroadcast(
                self.bind(step, [self.into(x, layout).data if x.layout else x.data for x in inner],
                          layout), first.dims, first.shape)  # fmt: skip
        votes: dict[Layout, int] = {}
        for x in full:
            if type(x) is InLayout:
                votes[x.layout] = votes.get(x.layout, 0) + 1
        plain = identity(ndim)
        layout = max(votes, key=lambda f: (votes[f], f != plain), default=plain)
        arrays = [self.into(x, layout).data if len(x.shape) == ndim else self.made(x).data
                  for x in operands]
        return self.bind(step, arrays, layout)

    def _reduction(self, step: Any, x: InLayout) -> InLayout:
        axes = {int(a) for a in step.params["axes"]}
        kept = [d for d in range(len(x.layout)) if d not in axes]
        layout = tuple(kept.index(d) for d in x.layout if d not in axes)
        at = tuple(k for k, d in enumerate(x.layout) if d in axes)
        return self.bind(step, [x.data], layout, axes=at)

    def _cumulative(self, step: Any, x: InLayout) -> InLayout:
        return self.bind(step, [x.data], x.layout, axis=x.layout.index(step.params["axis"]))

    def _windowed(self, step: Any, *operands: InLayout) -> InLayout | None:
        first = operands[0]
        if step.primitive.multiple_results:
            return None
        arrays = [self.into(x, first.layout).data if x.layout else x.data for x in operands]
        changed = {
            key: tuple(step.params[key][d] for d in first.layout)
            for key in _PER_AXIS if key in step.params}
        return self.bind(step, arrays, first.layout, **changed)

    def _pad(self, step: Any, x: InLayout, fill: InLayout) -> InLayout:
        config = step.params["padding_config"]
        return self.bind(step, [x.data, fill.data], x.layout,
                         padding_config=tuple(tuple(map(int, config[d])) for d in x.layout))

    def _slice(self, step: Any, x: InLayout) -> InLayout:
        changed = {
            key: None if step.params[key] is None else tuple(
                int(step.params[key][d]) for d in x.layout)
            for key in ("start_indices", "limit_indices", "strides")}
        return self.bind(step, [x.data], x.layout, **changed)

    def _rev(self, step: Any, x: InLayout) -> InLayout:
        shape = x.shape
        reversed_axes = {int(d) for d in step.params["dimensions"] if shape[d] != 1}
        if not reversed_axes:
            return x
        at = tuple(k for k, d in enumerate(x.layout) if d in reversed_axes)
        return self.bind(step, [x.data], x.layout, dimensions=at)

    def _concatenate(self, step: Any, *operands: InLayout) -> InLayout:
        layout = operands[0].layout
        return self.bind(step, [self.into(x, layout).data for x in operands], layout,
                         dimension=layout.index(step.params["dimension"]))

    def _transpose(self, step: Any, x: InLayout) -> InLayout:
        permutation = tuple(step.params["permutation"])
        return InLayout(x.data, tuple(permutation.index(d) for d in x.layout))

    def _squeeze(self, step: Any, x: InLayout) -> InLayout:
        gone = {int(d) for d in step.params["dimensions"]}
        kept = [d for d in range(len(x.layout)) if d not in gone]
        at = tuple(k for k, d in enumerate(x.layout) if d in gone)
        return self.bind(step, [x.data], tuple(kept.index(d) for d in x.layout if d not in gone),
                         dimensions=at)

    def _reshape(self, step: Any, x: InLayout) -> InLayout | None:
        from jax import lax

        old, new = x.shape, tuple(step.params["new_sizes"])
        if step.params.get("dimensions") is not None:
            return None
        before = [d for d, n in enumerate(old) if n != 1]
        after = [d for d, n in enumerate(new) if n != 1]
        if [old[d] for d in before] != [new[d] for d in after]:
            return None
        # axes of one element come or go: the others stay where they are
        layout = (*(after[before.index(d)] for d in x.layout if old[d] != 1),
                *(d for d, n in enumerate(new) if n == 1))
        return InLayout(lax.reshape(x.data, [new[d] for d in layout]), layout)

    def _dot_general(self, step: Any, x: InLayout, y: InLayout) -> InLayout:
        contract, batch = step.params["dimension_numbers"]
        numbers = tuple(
            tuple(tuple(v.layout.index(d) for d in dims)
                  for v, dims in zip((x, y), pair, strict=True))
            for pair in (contract, batch))

        def free(v: InLayout, side: int, order: Sequence[int]) -> list[tuple[int, int]]:
            return [(side, d) for d in order if d not in contract[side] and d not in batch[side]]

        shared = [(-1, n) for n in range(len(batch[0]))]
        logical = [*shared, *free(x, 0, identity(len(x.layout))),
                   *free(y, 1, identity(len(y.layout)))]
        physical = [*shared, *free(x, 0, x.layout), *free(y, 1, y.layout)]
        return self.bind(step, [x.data, y.data], tuple(map(logical.index, physical)),
                         dimension_numbers=numbers)

    def _conv_general_dilated(self, step: Any, x: InLayout, w: InLayout) -> InLayout:
        from jax import lax

        numbers = step.params["dimension_numbers"]
        lhs, rhs, out = numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec
        # the convolution for a weight's gradient swaps samples and channels; XLA transposes its
        # operands in any case, and its result is needed in the weight's layout
        natural = lhs[0] == 0
        if natural:
            self._ask(x, lhs)
        product = as_product(step, x, w)
        if product is not None:
            return product
        layout = (out[0], *out[2:], out[1]) if natural else identity(len(out))
        return self.bind(
            step, [x.data, w.data], layout, dimension_numbers=lax.ConvDimensionNumbers(
                tuple(x.layout.index(d) for d in lhs), tuple(w.layout.index(d) for d in rhs),
                tuple(layout.index(d) for d in out)))

    def _ask(self, x: InLayout, spec: Sequence[int]) -> None:
        """Record that a convolution wants x with its channels last."""
        layout = (spec[0], *spec[2:], spec[1])
        if x.layout == layout or same_memory(x.shape, x.layout, layout):
            return
        self.found.moved += math.prod(x.shape)
        if x.operand >= 0:
            self.found.wanted[x.operand] = layout
