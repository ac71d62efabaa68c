"""Ops derived from the table: the vjp of every op is itself an op.

``add.vjp`` takes the operands of ``add`` and the cotangents of its results, and gives
the cotangents of the operands named by its attribute ``wrt``. It is defined by
``jax.vjp`` of the table's function, so it can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .ops.spec import Attribute, OpDef, Operand, lookup
from .types import TensorType

SUFFIX: Final = ".vjp"
_derived: dict[str, OpDef] = {}


def vjp_of(base: OpDef) -> OpDef:
    """The op that computes the vector-Jacobian product of ``base``.

    Operands: those of ``base`` (absent ones too), then the cotangents of the results
    listed in ``given``. Attributes: those of ``base``, and

    - ``primals``: how many operands of ``base`` come first,
    - ``wrt``: positions of the operands whose cotangents are the results,
    - ``given``: numbers of the results of ``base`` that have a cotangent; others are zero.
    """
    name = base.name + SUFFIX
    found = _derived.get(name)
    if found is None:
        found = _derived.setdefault(name, _make(base, name))
    return found


def derived_op(name: str) -> OpDef | None:
    """The derived op of that name, or None if the name is not of that form."""
    if not name.endswith(SUFFIX):
        return None
    inner = name[: -len(SUFFIX)]
    return vjp_of(derived_op(inner) or lookup(inner))


def _make(base: OpDef, name: str) -> OpDef:
    level = name.count(SUFFIX)
    own = [f"{key}{level}" for key in ("primals", "wrt", "given")]
    attributes = (
        *base.attributes,
        Attribute(own[0], "int", False, 0),
        Attribute(own[1], "ints", False, ()),
        Attribute(own[2], "ints", False, ()),
    )

    def rule(
        op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
    ) -> tuple[TensorType, ...]:
        return tuple(types[w] for w in attrs[own[1]])

    def fn(*operands: Any, **attrs: Any) -> Any:
        count, wrt, given = (attrs.pop(key) for key in own)
        return _vjp(base, operands[:count], operands[count:], wrt, given, attrs)

    return OpDef(
        name, (Operand("operands", "any", True, True),), attributes, rule, fn,
        f"Vector-Jacobian product of {base.name}.", "jax.vjp of the table's definition", None,
        "any", base.heavy, False, base.fallible, False, True, base.version, None, 1.0,
        ("result",))  # fmt: skip


def _vjp(
    base: OpDef, operands: Sequence[Any], cotangents: Sequence[Any], wrt: Sequence[int],
    given: Sequence[int], attrs: dict[str, Any],
) -> Any:  # fmt: skip
    from .ops._jax import jax, jnp

    def primal(*chosen: Any) -> Any:
        full = list(operands)
        for position, x in zip(wrt, chosen, strict=True):
            full[position] = x
        out = base.fn(*full, **attrs)
        return out if isinstance(out, (tuple, list)) else (out,)

    outputs, pull = jax.vjp(primal, *[operands[w] for w in wrt])
    known = dict(zip(given, cotangents, strict=True))
    full_cotangents = []
    for i, out in enumerate(outputs):
        if not jnp.issubdtype(out.dtype, jnp.inexact):
            full_cotangents.append(_float0(out.shape))
        elif i in known:
            full_cotangents.append(known[i])
        else:
            full_cotangents.append(jnp.zeros_like(out))
    result = pull(type(outputs)(full_cotangents))
    return result[0] if len(result) == 1 else tuple(result)


def _float0(shape: tuple[int, ...]) -> Any:
    import numpy as np

    from .ops._jax import jax

    return np.zeros(shape, dtype=jax.dtypes.float0)
