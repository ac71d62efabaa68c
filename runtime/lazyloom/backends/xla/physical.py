"""An op in other physical layouts: its JAX function replayed with its axes renamed.

:func:`replay` traces an op's function at its logical shapes and runs what was traced on physical
arrays: an elementwise step runs in whatever form its operands have, a step that names axes names
them where they lie, a product or convolution takes any form by its dimension numbers. Only a step
that knows no other way moves data.

Convolutions are where this pays: XLA's CPU code wants channels last, and where the window is one
element, or the result is, it is far faster as a product of matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from . import jax_compat
from .layouts import Form, Laid, Spread, identity, same_memory, settled
from .products import as_product


class Replayed:
    """What a replay found out.

    Attributes:
        forms: the form of each result.
        moved: elements that were moved from one form into another on the way.
        wanted: operands, as (number, form), that a convolution would rather have had in that form.
    """

    __slots__ = ("forms", "moved", "wanted")

    def __init__(self) -> None:
        self.forms: tuple[Form, ...] = ()
        self.moved = 0
        self.wanted: dict[int, Form] = {}


def replay(
    fn: Callable[..., Any], shaped: Sequence[Any], forms: Sequence[Form], found: Replayed
) -> Callable[..., Any]:
    """A function of physical operands in ``forms`` that does what ``fn`` does, for JAX to trace.

    ``shaped`` are the logical (shape, NumPy dtype) of the operands. The function returns a tuple of
    physical results and fills ``found``.
    """

    def physical(*arrays: Any) -> Any:
        import jax

        closed = jax.make_jaxpr(fn)(*[jax.ShapeDtypeStruct(*s) for s in shaped])
        replaying = _Replay(found)
        operands = [Laid(x, f, n) for n, (x, f) in enumerate(zip(arrays, forms, strict=True))]
        results = []
        for value in replaying.jaxpr(closed.jaxpr, closed.consts, operands):
            # a broadcast, such as the gradient of a sum, lies as the operand of that shape does
            shape = value.shape
            like = next((x.form for x in operands if x.shape == shape), None)
            laid = replaying.made(value, like)
            results.append(replaying.into(laid, settled(shape, laid.form)))
        found.forms = tuple(r.form for r in results)
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
#: steps over windows, with the parameters that have one entry an axis
_WINDOWED: Final = frozenset(
    "reduce_window reduce_window_max reduce_window_min reduce_window_sum select_and_gather_add "
    "select_and_scatter_add".split()
)
_PER_AXIS: Final = (
    "window_dimensions", "window_strides", "padding", "base_dilation", "window_dilation",
)  # fmt: skip
#: steps that are functions of their own, by the parameter that holds the body
_CALLS: Final = {
    "jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr", "remat2": "jaxpr", "checkpoint": "jaxpr",
}  # fmt: skip


class _Replay:
    def __init__(self, found: Replayed) -> None:
        self.found: Final = found

    def jaxpr(self, jaxpr: Any, consts: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        """Run a traced function on values; steps whose results nothing uses are left out."""
        values: dict[Any, Any] = {}
        for var, const in zip(jaxpr.constvars, consts, strict=True):
            values[var] = Laid(const, identity(const.ndim))
        values.update(zip(jaxpr.invars, operands, strict=True))

        def read(atom: Any) -> Any:
            if not hasattr(atom, "val"):
                return values[atom]
            # JAX writes a Python number into a step as a number that knows its dtype
            return Laid(np.asarray(atom.val, atom.aval.dtype), identity(atom.aval.ndim))

        for step in _needed(jaxpr):
            results = self.step(step, [read(a) for a in step.invars])
            values.update(zip(step.outvars, results, strict=True))
        return [read(v) for v in jaxpr.outvars]

    def step(self, step: Any, operands: list[Any]) -> Sequence[Any]:
        name, params = step.primitive.name, step.params
        if name in _CALLS and _CALLS[name] in params:
            body = params[_CALLS[name]]
            inner, consts = (body.jaxpr, body.consts) if hasattr(body, "consts") else (body, ())
            return self.jaxpr(inner, consts, operands)
        if name in _ELEMENTWISE:
            return [self.elementwise(step, operands)]
        if name == "broadcast_in_dim" and len(operands) == 1:
            dims = tuple(int(d) for d in params["broadcast_dimensions"])
            return [Spread(self.made(operands[0]), dims, tuple(params["shape"]))]
        rule = getattr(self, "_" + name, None)
        if rule is None:
            rule = self._reduction if name in _REDUCTIONS else (
                self._cumulative if name in _CUMULATIVE else
                self._windowed if name in _WINDOWED else None)
        laid = [self.made(x) for x in operands]
        result = rule(step, *laid) if rule is not None else None
        if result is not None:
            return [result]
        plain = [self.into(x, identity(len(x.form))).data for x in laid]
        return [Laid(x, identity(x.ndim)) for x in jax_compat.run_step(step, plain)]

    # forms

    def made(self, value: Any, form: Form | None = None) -> Laid:
        """The value as an array: a broadcast is made, in ``form`` if given."""
        if type(value) is Laid:
            return value
        from jax import lax

        base, dims, shape = value
        form = identity(len(shape)) if form is None else form
        place = {d: k for k, d in enumerate(form)}
        order = tuple(sorted(range(len(dims)), key=lambda i: place[dims[i]]))
        base = self.into(base, order)
        return Laid(lax.broadcast_in_dim(
            base.data, [shape[d] for d in form], [place[dims[i]] for i in order]), form)

    def into(self, value: Any, form: Form) -> Laid:
        """The value in that form."""
        if type(value) is Spread:
            return self.made(value, form)
        if value.form == form:
            return value  # type: ignore[no-any-return]
        from jax import lax

        shape = value.shape
        if same_memory(shape, value.form, form):
            return Laid(lax.reshape(value.data, [shape[d] for d in form]), form)
        self.found.moved += math.prod(shape)
        return Laid(lax.transpose(value.data, [value.form.index(d) for d in form]), form)

    def bind(self, step: Any, operands: Sequence[Any], form: Form, **changed: Any) -> Laid:
        return Laid(step.primitive.bind(*operands, **{**step.params, **changed}), form)

    # steps

    def elementwise(self, step: Any, operands: list[Any]) -> Any:
        ndim = step.outvars[0].aval.ndim
        full = [x for x in operands if len(x.shape) == ndim]
        if ndim and all(type(x) is Spread for x in full) and len({
                (x.dims, x.base.shape) for x in full}) == 1:
            # what is equal along an axis stays so
            first = full[0]
            inner = [x.base if type(x) is Spread else x for x in operands]
            form = first.base.form
            return Spread(
                self.bind(step, [self.into(x, form).data if x.form else x.data for x in inner],
                          form), first.dims, first.shape)  # fmt: skip
        votes: dict[Form, int] = {}
        for x in full:
            if type(x) is Laid:
                votes[x.form] = votes.get(x.form, 0) + 1
        plain = identity(ndim)
        form = max(votes, key=lambda f: (votes[f], f != plain), default=plain)
        arrays = [self.into(x, form).data if len(x.shape) == ndim else self.made(x).data
                  for x in operands]
        return self.bind(step, arrays, form)

    def _reduction(self, step: Any, x: Laid) -> Laid:
        axes = {int(a) for a in step.params["axes"]}
        kept = [d for d in range(len(x.form)) if d not in axes]
        form = tuple(kept.index(d) for d in x.form if d not in axes)
        at = tuple(k for k, d in enumerate(x.form) if d in axes)
        return self.bind(step, [x.data], form, axes=at)

    def _cumulative(self, step: Any, x: Laid) -> Laid:
        return self.bind(step, [x.data], x.form, axis=x.form.index(step.params["axis"]))

    def _windowed(self, step: Any, *operands: Laid) -> Laid | None:
        first = operands[0]
        if step.primitive.multiple_results:
            return None
        arrays = [self.into(x, first.form).data if x.form else x.data for x in operands]
        changed = {
            key: tuple(step.params[key][d] for d in first.form)
            for key in _PER_AXIS if key in step.params}
        return self.bind(step, arrays, first.form, **changed)

    def _pad(self, step: Any, x: Laid, fill: Laid) -> Laid:
        config = step.params["padding_config"]
        return self.bind(step, [x.data, fill.data], x.form,
                         padding_config=tuple(tuple(map(int, config[d])) for d in x.form))

    def _slice(self, step: Any, x: Laid) -> Laid:
        changed = {
            key: None if step.params[key] is None else tuple(
                int(step.params[key][d]) for d in x.form)
            for key in ("start_indices", "limit_indices", "strides")}
        return self.bind(step, [x.data], x.form, **changed)

    def _rev(self, step: Any, x: Laid) -> Laid:
        shape = x.shape
        turned = {int(d) for d in step.params["dimensions"] if shape[d] != 1}
        if not turned:
            return x
        at = tuple(k for k, d in enumerate(x.form) if d in turned)
        return self.bind(step, [x.data], x.form, dimensions=at)

    def _concatenate(self, step: Any, *operands: Laid) -> Laid:
        form = operands[0].form
        return self.bind(step, [self.into(x, form).data for x in operands], form,
                         dimension=form.index(step.params["dimension"]))

    def _transpose(self, step: Any, x: Laid) -> Laid:
        permutation = tuple(step.params["permutation"])
        return Laid(x.data, tuple(permutation.index(d) for d in x.form))

    def _squeeze(self, step: Any, x: Laid) -> Laid:
        gone = {int(d) for d in step.params["dimensions"]}
        kept = [d for d in range(len(x.form)) if d not in gone]
        at = tuple(k for k, d in enumerate(x.form) if d in gone)
        return self.bind(step, [x.data], tuple(kept.index(d) for d in x.form if d not in gone),
                         dimensions=at)

    def _reshape(self, step: Any, x: Laid) -> Laid | None:
        from jax import lax

        old, new = x.shape, tuple(step.params["new_sizes"])
        if step.params.get("dimensions") is not None:
            return None
        before = [d for d, n in enumerate(old) if n != 1]
        after = [d for d, n in enumerate(new) if n != 1]
        if [old[d] for d in before] != [new[d] for d in after]:
            return None
        # axes of one element come or go: the others stay where they lie
        form = (*(after[before.index(d)] for d in x.form if old[d] != 1),
                *(d for d, n in enumerate(new) if n == 1))
        return Laid(lax.reshape(x.data, [new[d] for d in form]), form)

    def _dot_general(self, step: Any, x: Laid, y: Laid) -> Laid:
        contract, batch = step.params["dimension_numbers"]
        numbers = tuple(
            tuple(tuple(v.form.index(d) for d in dims)
                  for v, dims in zip((x, y), pair, strict=True))
            for pair in (contract, batch))

        def free(v: Laid, side: int, order: Sequence[int]) -> list[tuple[int, int]]:
            return [(side, d) for d in order if d not in contract[side] and d not in batch[side]]

        shared = [(-1, n) for n in range(len(batch[0]))]
        logical = [*shared, *free(x, 0, identity(len(x.form))), *free(y, 1, identity(len(y.form)))]
        physical = [*shared, *free(x, 0, x.form), *free(y, 1, y.form)]
        return self.bind(step, [x.data, y.data], tuple(map(logical.index, physical)),
                         dimension_numbers=numbers)

    def _conv_general_dilated(self, step: Any, x: Laid, w: Laid) -> Laid:
        from jax import lax

        numbers = step.params["dimension_numbers"]
        lhs, rhs, out = numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec
        # the one that computes a weight's gradient swaps samples and channels; XLA turns its
        # operands in any case, and its result is needed as the weight lies
        natural = lhs[0] == 0
        if natural:
            self._ask(x, lhs)
        product = as_product(step, x, w)
        if product is not None:
            return product
        form = (out[0], *out[2:], out[1]) if natural else identity(len(out))
        return self.bind(
            step, [x.data, w.data], form, dimension_numbers=lax.ConvDimensionNumbers(
                tuple(x.form.index(d) for d in lhs), tuple(w.form.index(d) for d in rhs),
                tuple(form.index(d) for d in out)))

    def _ask(self, x: Laid, spec: Sequence[int]) -> None:
        """Note that a convolution wants x with its channels last."""
        form = (spec[0], *spec[2:], spec[1])
        if x.form == form or same_memory(x.shape, x.form, form):
            return
        self.found.moved += math.prod(x.shape)
        if x.operand >= 0:
            self.found.wanted[x.operand] = form


def _needed(jaxpr: Any) -> list[Any]:
    """The steps that results depend on, in order."""
    live = {v for v in jaxpr.outvars if not hasattr(v, "val")}
    kept = []
    for step in reversed(jaxpr.eqns):
        if step.effects or any(v in live for v in step.outvars):
            kept.append(step)
            live.update(v for v in step.invars if not hasattr(v, "val"))
    return kept[::-1]
