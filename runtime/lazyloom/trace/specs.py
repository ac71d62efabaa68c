"""Specs: an op with its attributes and number of operands, interned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final

from ..compiled import mypyc_attr
from ..errors import ArgumentError, LoomError, ShapeError
from ..ops.bodies import held_ops
from ..ops.derived import FORWARD, VMAP
from ..ops.spec import OpDef, attribute_bits
from ..placements import Placement, along_new_axis, parsed
from ..types import TensorType, has_placed, placed_results, tensor_type, whole_type
from .source import user_site


@final
class Inferred:
    """The result types of a spec for two operand types."""

    __slots__ = ("a", "b", "results")

    def __init__(
        self, a: TensorType, b: TensorType, results: tuple[TensorType, ...]
    ) -> None:
        self.a: Final = a
        self.b: Final = b
        self.results: Final = results


@final
class NewestVjp:
    """The spec of an op's vjp for the operands and results that were requested last."""

    __slots__ = ("arity", "argnums", "outnums", "spec")

    def __init__(self, arity: int, argnums: list[int], outnums: list[int], spec: Spec) -> None:
        self.arity: Final[int] = arity
        self.argnums: Final[list[int]] = argnums
        self.outnums: Final[list[int]] = outnums
        self.spec: Final[Spec] = spec


@final
class Consuming:
    """The spec of a derivative from residuals.

    Attributes:
        primary: how many results of the op that emits them are not residuals.
        known: the operands by which it is the derivative.
    """

    __slots__ = ("spec", "primary", "known")

    def __init__(self, spec: Spec, primary: int, known: tuple[int, ...]) -> None:
        self.spec: Final[Spec] = spec
        self.primary: Final[int] = primary
        self.known: Final[tuple[int, ...]] = known


# Interned and never freed: the collector need not look at specs, nor at structures, which are
# tuples of them.


def _placement_of(op: OpDef, attrs: dict[str, Any]) -> Placement | None:
    """Where the results of an op that places lie; None for its derivatives."""
    placement = parsed(attrs["placement"])
    base: OpDef | None = op
    while base is not None and base.kind == VMAP:
        # the axis that it is mapped over comes first
        placement = along_new_axis(placement)
        base = base.base
    return placement if base is op.root else None


@mypyc_attr(acyclic=True)
@final
class Spec:
    """An op with its attributes and number of operands. Interned: the unit of exact keys.

    Two specs are one object exactly if op, attributes (by type and bits) and arity agree.

    Example:

        >>> a, b = lazyloom.spec("add", 2), lazyloom.spec("add", 2)
        >>> a is b, a.op.name
        (True, 'add')
    """

    __slots__ = (
        "op", "attrs", "bits", "arity", "types", "heavy", "id", "effect", "fallible", "checked",
        "shared",
        "differentiable", "newest", "vjps", "newest_vjp", "dependences", "ops", "versioned",
        "kernels", "emitting", "consuming", "saved", "placement",
    )  # fmt: skip

    def __init__(self, op: OpDef, attrs: dict[str, Any], bits: Any, arity: int, id: int) -> None:
        self.op: Final[OpDef] = op
        self.attrs: Final[dict[str, Any]] = attrs
        self.bits: Final[Any] = bits
        self.arity: Final[int] = arity
        self.id: Final[int] = id
        self.types: Final[dict[tuple[TensorType | None, ...], tuple[TensorType, ...]]] = {}
        #: the op, and the ops of bodies that it holds
        self.ops: Final[frozenset[OpDef]] = frozenset(
            held_ops(op, attrs) if op.root.signature.bodies else (op,))
        #: true if other processes know all these ops
        self.versioned: Final[bool] = all(o.version is not None for o in self.ops)
        self.heavy: Final[bool] = op.execution.heavy or op.execution.fallible or op.execution.effect
        # along axes of a mesh it is a part of a body, and no other process runs it
        among_processes = op.execution.collective and not attrs.get("axes")
        self.effect: Final[bool] = op.execution.effect and (
            among_processes or not op.execution.collective)
        #: several processes run it together
        self.shared: Final[bool] = among_processes and len(attrs["group"]) > 1
        self.fallible: Final[bool] = any(o.execution.fallible for o in self.ops)
        #: its second result is checked before anything that depends on the first is read
        self.checked: Final[bool] = op.execution.checked
        #: where the results lie, of an op that says so; else where its operands do
        self.placement: Final[Placement | None] = (
            _placement_of(op, attrs) if op.root.execution.places else None)
        self.differentiable: Final[bool] = op.derivative.differentiable is not False
        #: the ``OpKernel`` (execute/op_by_op) that runs it by itself, by operand types
        self.kernels: Final[dict[tuple[TensorType | None, ...], Any]] = {}
        #: what was inferred last for two operands; a loop infers the same again
        self.newest: Inferred | None = None
        #: the specs of its vjp, by operands and numbers of results that have a cotangent
        self.vjps: Final[dict[Any, Spec]] = {}
        self.newest_vjp: NewestVjp | None = None
        #: the specs that emit residuals, and those that take them (lazyloom.autodiff.reverse)
        self.emitting: Final[dict[Any, Spec]] = {}
        self.consuming: Final[dict[Any, Consuming]] = {}
        #: :meth:`OpDef.dependences`, for real operands and with complex ones, once requested
        self.dependences: Final[list[tuple[int, ...] | None]] = [None, None]
        #: what :meth:`saves` returned, by mask
        self.saved: Final[dict[int, int]] = {}

    def depends(self, position: int, argnums: list[int], complex_operands: bool) -> bool:
        """Return True if the derivative by any of ``argnums`` depends on an operand's data."""
        bits = self._dependence(position, complex_operands)
        return any(bits >> w & 1 for w in argnums)

    def needs(self, position: int, mask: int) -> bool:
        """Return True if the derivative by the operands of a mask takes an operand's data.

        Wider than :meth:`depends`: of a piecewise linear op, the data say which piece applies.
        """
        return bool(self._dependence(position, True) & mask)

    def saves(self, mask: int) -> int:
        """The operands whose data the derivative by the operands of a mask takes, as a mask.

        All operands if the derivative takes residuals.
        """
        saved = self.saved.get(mask)
        if saved is None:
            saved = 0
            for position in range(self.arity):
                if self.op.kind == FORWARD or self.needs(position, mask):
                    saved |= 1 << position
            self.saved[mask] = saved
        return saved

    def _dependence(self, position: int, complex_operands: bool) -> int:
        dependences = self.dependences[complex_operands]
        if dependences is None:
            dependences = self.op.dependences(self.attrs, self.arity, complex_operands)
            self.dependences[complex_operands] = dependences
        return dependences[position]

    def infer(self, types: tuple[TensorType | None, ...]) -> tuple[TensorType, ...]:
        """The types of the results. Raises ShapeError, DTypeError, ArgumentError."""
        results = self.types.get(types)
        if results is None:
            placed = has_placed(types)
            whole = types
            if placed:
                # rules know shapes and dtypes; where a program's values lie is decided for all
                whole = tuple([None if t is None else whole_type(t) for t in types])
            try:
                results = self.op.infer(whole, self.attrs)
            except ShapeError as error:
                if error.op is not None:
                    raise
                raise ShapeError(f"{self.op.name}: the result: {error}", op=self.op.name) from None
            if self.placement is not None:
                results = tuple([tensor_type(t.shape, t.dtype, self.placement) for t in results])
            elif placed:
                results = placed_results(types, results, self.op.name)
                if self.op.execution.aliases is not None:
                    results = self._updated(types, results)
            self.types[types] = results
        return results

    def _updated(
        self, types: tuple[TensorType | None, ...], results: tuple[TensorType, ...]
    ) -> tuple[TensorType, ...]:
        """The types of results, where new values of operands are divided as those are."""
        found: list[TensorType] = []
        for r, t in enumerate(results):
            position = self.op.aliased_operand(len(types), len(results), r)
            old = types[position] if 0 <= position < len(types) else None
            if old is not None and old.agrees(t) and old.placement.spec is not None:
                t = old
            found.append(t)
        return tuple(found)

    def infer_two(self, a: TensorType, b: TensorType) -> tuple[TensorType, ...]:
        """:meth:`infer` for two operands that are present."""
        newest = self.newest
        if newest is not None and newest.a is a and newest.b is b:
            return newest.results
        results = self.infer((a, b))
        self.newest = Inferred(a, b, results)
        return results

    def __repr__(self) -> str:
        attrs = self.attrs
        if self.op.root.execution.places:
            attrs = {**attrs, "placement": repr(parsed(attrs["placement"]))}
        inner = ", ".join([f"{k}={v!r}" for k, v in attrs.items()])
        return f"{self.op.name}[{inner}]" if inner else self.op.name


_specs: Final[dict[Any, Spec]] = {}
_given_specs: Final[dict[Any, Spec]] = {}
#: specs without attributes, by op and arity
_plain: Final[dict[OpDef, dict[int, Spec]]] = {}


def spec_of(op: OpDef, attributes: Any, arity: int) -> Spec:
    """The interned spec. Raises ArgumentError for attributes that the op does not take."""
    if not attributes:
        by_arity = _plain.get(op)
        if by_arity is None:
            by_arity = _plain.setdefault(op, {})
        plain = by_arity.get(arity)
        if plain is None:
            plain = by_arity[arity] = _spec_of(op, {}, arity)
        return plain
    if not isinstance(attributes, Mapping):
        raise ArgumentError(
            f"{op.name}: the attributes are a {type(attributes).__name__}, expected a mapping of "
            "names to values", op=op.name, site=str(user_site()))
    parts: list[Any] = [op, arity]
    try:
        for k, v in attributes.items():
            parts.append(k)
            parts.append(attribute_bits(v))
        key = tuple(parts)
        spec = _given_specs.get(key)
    except TypeError:
        return _spec_of(op, attributes, arity)
    if spec is None:
        spec = _given_specs[key] = _spec_of(op, attributes, arity)
    return spec


def _spec_of(op: OpDef, attributes: Mapping[str, Any], arity: int) -> Spec:
    try:
        attrs = op.canonical_attributes(attributes)
    except LoomError as error:
        place(error, op.name)
        raise
    bits = tuple([attribute_bits(v) for v in attrs.values()])
    key = (op, bits, arity)
    spec = _specs.get(key)
    if spec is None:
        spec = _specs.setdefault(key, Spec(op, attrs, bits, arity, len(_specs)))
    return spec


def place(error: LoomError, op: str) -> None:
    """Add the op and the user's place to an error that was raised while recording."""
    if error.op is None:
        error.op = op
    if error.site is None:
        error.site = str(user_site())
