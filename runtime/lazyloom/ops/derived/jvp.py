"""The jvp of every op, itself an op.

``sin.jvp`` takes the operands of ``sin`` and tangents of some of them, and gives the tangents
of the results; it is defined by ``jax.jvp`` of the table's function. It can be derived from like
any other op, in any order: ``sin.vmap.vjp.jvp`` is an op too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...types import TensorType
from .._jax import jax, jnp
from ..spec import Attribute, OpDef, Operand
from .vjp import replaced

JVP: Final = ".jvp"
_derived: Final[dict[str, OpDef]] = {}


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


def moving_attribute(name: str) -> str:
    """The attribute ``moving`` of the jvp of that name: a jvp of a jvp has two."""
    return f"moving{name.count(JVP)}"


def _as_tuple(results: Any) -> tuple[Any, ...]:
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)


def _make_jvp(base: OpDef, name: str) -> OpDef:
    own = moving_attribute(name)

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
            return _as_tuple(base.fn(*replaced(primals, moving, chosen), **attrs))

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
