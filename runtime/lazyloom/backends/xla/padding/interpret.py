"""Running a function that was traced with symbolic sizes on operands padded to a bucket."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ....jaxprs.tracing import mentions_symbols
from ....jaxprs.walking import called, is_literal, needed
from ..jax_compat import run_step
from .dims import (
    ANY,
    Description,
    NotPadded,
    compiled,
    is_dynamic,
    is_static,
    unified,
)
from .sizes import SymbolicSizes


class NeedsExtents(Exception):
    """The actual extents are needed in a function that does not take them."""


class PaddedValue(NamedTuple):
    """An array at the bucket. Its padding does not matter, and may be anything.

    Attributes:
        dims: the description of each dimension.
        counter: whether each element is its own position, row-major, without padding.
    """

    data: Any
    dims: tuple[Description, ...]
    counter: bool = False

    @property
    def dynamic(self) -> bool:
        return any(map(is_dynamic, self.dims))


#: steps that are always done by a rule, whatever their sizes: the branch taken is known
CHOICES: Final = ("platform_index",)

Rule = Callable[["PaddedRun", Any, "list[PaddedValue]"], "list[PaddedValue]"]


class PaddedRun:
    """One run of a traced function.

    Attributes:
        sizes: the sizes of the trace.
        rules: for each primitive, the rule that does it on padded operands.
        conditions: what must hold for the actual extents, as Python texts.
    """

    __slots__ = ("sizes", "rules", "conditions", "_extents", "_actual", "_masks")

    def __init__(
        self, sizes: SymbolicSizes, rules: Mapping[str, Rule], extents: Any,
        conditions: dict[str, None] | None = None,
    ) -> None:
        self.sizes: Final = sizes
        self.rules: Final = rules
        self.conditions: Final[dict[str, None]] = {} if conditions is None else conditions
        #: int64, one for each symbol; None to find out whether they are needed
        self._extents: Final = extents
        self._actual: Final[dict[str, Any]] = {}
        self._masks: Final[dict[Description, Any]] = {}

    def jaxpr(
        self, jaxpr: Any, consts: Sequence[Any], operands: Sequence[PaddedValue]
    ) -> list[PaddedValue]:
        """Return the results of a traced function. Raises NotPadded, NeedsExtents."""
        values: dict[Any, PaddedValue] = {}
        for var, const in zip(jaxpr.constvars, consts, strict=True):
            values[var] = PaddedValue(const, tuple((str(n),) for n in np.shape(const)))
        values.update(zip(jaxpr.invars, operands, strict=True))

        def read(atom: Any) -> PaddedValue:
            if not is_literal(atom):
                return values[atom]
            # JAX represents a Python number in a step as a number with a dtype
            return PaddedValue(np.asarray(atom.val, atom.aval.dtype),
                         tuple((str(n),) for n in atom.aval.shape))

        for step in needed(jaxpr):
            results = self._step(step, [read(a) for a in step.invars])
            values.update(zip(step.outvars, results, strict=True))
        return [read(v) for v in jaxpr.outvars]

    def _step(self, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
        call = called(step)
        if call is not None:
            return self.jaxpr(*call, xs)
        name = step.primitive.name
        if name not in CHOICES and not mentions_symbols(step):
            return self.bound(step, xs)
        rule = self.rules.get(name)
        if rule is None:
            raise NotPadded(f"{name} of dynamic sizes")
        return rule(self, step, xs)

    def bound(
        self, step: Any, xs: Sequence[PaddedValue], *dims: tuple[Description, ...], **changed: Any
    ) -> list[PaddedValue]:
        """Run the step at the bucket, whatever the padding is.

        ``dims`` describe the results, if these are not all static; ``changed`` are parameters
        that replace those with symbols.
        """
        for key, value in step.params.items():
            if key not in changed and mentions_symbols(value):
                raise NotPadded(f"{step.primitive.name} with a dynamic {key}")
        results = run_step(step, [x.data for x in xs], changed)
        if not dims:
            dims = tuple(tuple((str(n),) for n in v.aval.shape) for v in step.outvars)
        return [PaddedValue(x, d) for x, d in zip(results, dims, strict=True)]

    def inside(self) -> PaddedRun:
        """Return a run of a body, which may use values of this run, but not vice versa."""
        return PaddedRun(self.sizes, self.rules, self._extents, self.conditions)

    # what is valid

    def actual(self, size: str) -> Any:
        """Return the value of a size at the actual extents, an int64 scalar."""
        value = self._actual.get(size)
        if value is None:
            value = self._actual[size] = self._evaluated(size)
        return value

    def _evaluated(self, size: str) -> Any:
        from jax import lax

        if is_static(size):
            return np.int64(size)
        if self._extents is None:
            raise NeedsExtents
        symbols = {name: lax.squeeze(lax.slice(self._extents, [k], [k + 1]), [0])
                   for k, name in enumerate(self.sizes.bucket)}
        value = eval(compiled(size), {
            "floordiv": _floordiv, "mod": _mod, "max": _folded(lax.max), "min": _folded(lax.min),
            **symbols})
        return value

    def valid(self, description: Description) -> Any:
        """Return which elements along a dimension are valid, as booleans; None if all are."""
        if not is_dynamic(description):
            return None
        if description[0] == ANY:
            description = description[1:]
        mask = self._masks.get(description)
        if mask is None:
            mask = self._masks[description] = self._validity(description)
        return mask

    def _validity(self, description: Description) -> Any:
        from jax import lax

        sizes = [self.sizes.at_bucket(f) for f in description]
        shape = tuple(sizes)
        masks = [
            lax.lt(lax.broadcasted_iota(np.int32, shape, k),
                   lax.broadcast(lax.convert_element_type(self.actual(f), np.int32), shape))
            for k, f in enumerate(description) if not is_static(f)]
        mask = functools.reduce(operator.and_, masks)
        return lax.reshape(mask, (int(np.prod(sizes)),))

    def mask(self, dims: Sequence[Description], axes: Sequence[int]) -> Any:
        """Return which elements of a value of these dimensions are valid along axes, or None."""
        from jax import lax

        shape = tuple(self.sizes.at_bucket(self.sizes.total(d)) for d in dims)
        masks = []
        for axis in axes:
            along = self.valid(dims[axis])
            if along is not None:
                masks.append(lax.broadcast_in_dim(along, shape, (axis,)))
        return functools.reduce(operator.and_, masks) if masks else None

    def filled(self, x: PaddedValue, axes: Sequence[int], fill: Any) -> Any:
        """Return the array with ``fill``, a scalar, wherever it is padding along these axes."""
        from jax import lax

        mask = self.mask(x.dims, axes)
        if mask is None:
            return x.data
        fill = lax.convert_element_type(fill, x.data.dtype)
        return lax.select(mask, x.data, lax.broadcast(fill, x.data.shape))

    def counted(self, dims: tuple[Description, ...], dtype: Any) -> PaddedValue:
        """Return the position of each element in a value of these dimensions without padding."""
        from jax import lax

        factors = [f for d in dims for f in d if f != ANY]
        shape = tuple(map(self.sizes.at_bucket, factors))
        positions = np.zeros(shape, dtype) if not shape else None
        inner: list[str] = []
        for k in reversed(range(len(shape))):
            at = lax.broadcasted_iota(dtype, shape, k)
            for factor in inner:
                size = lax.convert_element_type(self.actual(factor), dtype)
                at = at * lax.broadcast(size, shape)
            inner.append(factors[k])
            positions = at if positions is None else positions + at
        data = lax.reshape(positions, [self.sizes.at_bucket(self.sizes.total(d)) for d in dims])
        return PaddedValue(data, dims, True)

    # descriptions

    def common(self, xs: Sequence[PaddedValue]) -> tuple[Description, ...]:
        """Return the common descriptions of values of one shape. Raises NotPadded if they differ.
        """
        return tuple(functools.reduce(unified, each)
                     for each in zip(*[x.dims for x in xs], strict=True))

    def varying(self, description: Description) -> Description:
        """Return the description of a dimension once the value may vary along it."""
        return description[1:] if description[0] == ANY else description

    def first(self, description: Description) -> str:
        """Return the size of a dimension whose valid elements come first. Raises NotPadded."""
        if description[0] != ANY and len(description) > 1:
            raise NotPadded(f"positions along a dimension that is padded as {description}")
        return description[-1]


def _floordiv(a: Any, b: Any) -> Any:
    import jax.numpy as jnp

    return jnp.floor_divide(a, b)


def _mod(a: Any, b: Any) -> Any:
    import jax.numpy as jnp

    return jnp.mod(a, b)


def _folded(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def call(*values: Any) -> Any:
        return functools.reduce(
            function, [np.int64(x) if isinstance(x, int) else x for x in values])

    return call
