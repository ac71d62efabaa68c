"""Two more ops derived from each op of the table: its jvp, and the op mapped over an axis.

``sin.jvp`` takes the operands of ``sin`` and tangents of some of them, and gives the tangents
of the results; it is defined by ``jax.jvp`` of the table's function. ``matmul.vmap`` does for
every element of a leading axis of some operands what ``matmul`` does; it is defined by
``jax.vmap``. Both are ops like any other, so each can be derived from the other and from the
vjp, in any order: ``sin.vmap.vjp.jvp`` is an op too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .ops.spec import Attribute, OpDef, Operand
from .specs import Spec, spec_of
from .types import TensorType, tensor_type

JVP: Final = ".jvp"
VMAP: Final = ".vmap"
_derived: Final[dict[str, OpDef]] = {}
# specs are interned and live as long as the process, so these do
_jvp_specs: Final[dict[tuple[Spec, tuple[int, ...]], Spec]] = {}
_vmap_specs: Final[dict[tuple[Spec, tuple[int, ...]], Spec]] = {}


def jvp_of(base: OpDef) -> OpDef:
    """The op that computes tangents of the results of ``base``, those that are inexact.

    Operands: those of ``base`` (absent ones too), then tangents. Attributes: those of ``base``,
    and ``moving``: positions of the operands that have a tangent; others do not move.
    """
    name = base.name + JVP
    found = _derived.get(name)
    if found is None:
        found = _derived.setdefault(name, _make_jvp(base, name))
    return found


def vmap_of(base: OpDef) -> OpDef:
    """The op ``base`` for every element of an axis, the first of the mapped operands and of
    all results.

    Operands: those of ``base``. Attributes: those of ``base``, and ``mapped``: positions of the
    operands with that axis; the others are the same for every element.
    """
    name = base.name + VMAP
    found = _derived.get(name)
    if found is None:
        found = _derived.setdefault(name, _make_vmap(base, name))
    return found


def jvp_spec(spec: Spec, moving: tuple[int, ...]) -> Spec:
    """The spec of an op's jvp."""
    found = _jvp_specs.get((spec, moving))
    if found is None:
        op = jvp_of(spec.op)
        attrs = {**spec.attrs, _own_jvp(op.name): moving}
        found = _jvp_specs[(spec, moving)] = spec_of(op, attrs, spec.arity + len(moving))
    return found


def vmap_spec(spec: Spec, mapped: tuple[int, ...]) -> Spec:
    """The spec of an op that is mapped."""
    found = _vmap_specs.get((spec, mapped))
    if found is None:
        op = vmap_of(spec.op)
        attrs = {**spec.attrs, _own_vmap(op.name): mapped}
        found = _vmap_specs[(spec, mapped)] = spec_of(op, attrs, spec.arity)
    return found


def _own_jvp(name: str) -> str:
    return f"moving{name.count(JVP)}"


def _own_vmap(name: str) -> str:
    return f"mapped{name.count(VMAP)}"


def _as_tuple(results: Any) -> tuple[Any, ...]:
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)


def _with(operands: Sequence[Any], positions: Sequence[int], chosen: Sequence[Any]) -> list[Any]:
    full = list(operands)
    for position, x in zip(positions, chosen, strict=True):
        full[position] = x
    return full


def _make_jvp(base: OpDef, name: str) -> OpDef:
    own = _own_jvp(name)

    def rule(
        op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
    ) -> tuple[TensorType, ...]:
        count = len(types) - len(attrs[own])
        results = base.infer(types[:count], {k: v for k, v in attrs.items() if k != own})
        return tuple([t for t in results if t.dtype.is_inexact])

    def fn(*operands: Any, **attrs: Any) -> Any:
        moving = attrs.pop(own)
        count = len(operands) - len(moving)
        primals = operands[:count]

        def primal(*chosen: Any) -> tuple[Any, ...]:
            return _as_tuple(base.fn(*_with(primals, moving, chosen), **attrs))

        found = _tangents(primal, [primals[m] for m in moving], operands[count:])
        return found[0] if len(found) == 1 else found

    return OpDef(
        name, (Operand("operands", "any", True, True),),
        (*base.attributes, Attribute(own, "ints", False, ())), rule, fn,
        f"Tangents of the results of {base.name}.", "jax.jvp of the table's definition", None,
        "any", base.heavy, False, base.fallible, False, True, base.version, None, base.tolerance,
        ("result",))  # fmt: skip


def _tangents(primal: Any, at: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
    """The tangents of the inexact results of a function."""
    from .ops._jax import jax, jnp

    try:
        results, found = jax.jvp(primal, tuple(at), tuple(tangents))
    except TypeError as error:
        if "custom_vjp" not in str(error):
            raise
    else:
        return tuple([
            t for r, t in zip(results, found, strict=True) if jnp.issubdtype(r.dtype, jnp.inexact)])

    # A definition that says only how cotangents are pulled back: that is linear in them, and
    # its transpose pushes tangents forward.
    def inexact(*chosen: Any) -> tuple[Any, ...]:
        return tuple([r for r in primal(*chosen) if jnp.issubdtype(r.dtype, jnp.inexact)])

    results, pull = jax.vjp(inexact, *at)
    (pushed,) = jax.linear_transpose(pull, results)(tuple(tangents))
    return tuple(pushed)


def _make_vmap(base: OpDef, name: str) -> OpDef:
    own = _own_vmap(name)

    def rule(
        op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
    ) -> tuple[TensorType, ...]:
        mapped = attrs[own]
        size = types[mapped[0]].shape[0]
        one = list(types)
        for position in mapped:
            t = types[position]
            one[position] = tensor_type(t.shape[1:], t.dtype, t.placement)
        results = base.infer(one, {k: v for k, v in attrs.items() if k != own})
        return tuple([tensor_type((size, *t.shape), t.dtype, t.placement) for t in results])

    def fn(*operands: Any, **attrs: Any) -> Any:
        from .ops._jax import jax

        mapped = attrs.pop(own)

        def one(*chosen: Any) -> Any:
            return base.fn(*_with(operands, mapped, chosen), **attrs)

        return jax.vmap(one)(*[operands[m] for m in mapped])

    return OpDef(
        name, base.operands, (*base.attributes, Attribute(own, "ints", False, ())), rule, fn,
        f"{base.name} for every element of a leading axis.", "jax.vmap of the table's definition",
        None, base.T, base.heavy, base.residuals, base.fallible, base.effect,
        base.differentiable, base.version, None, base.tolerance, base.outputs)  # fmt: skip
