"""The vjp of every op, itself an op.

``add.vjp`` takes the operands of ``add`` and the cotangents of its results, and gives
the cotangents of the operands named by its attribute ``wrt``. It is defined by
``jax.vjp`` of the table's function, so it can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...types import TensorType
from .._jax import jax, jnp
from ..spec import Attribute, OpDef, Operand

VJP: Final = ".vjp"
_derived: Final[dict[str, OpDef]] = {}


def vjp_of(base: OpDef) -> OpDef:
    """The op that computes the vector-Jacobian product of ``base``.

    Operands: those of ``base`` (absent ones too), then the cotangents of the results
    listed in ``given``. Attributes: those of ``base``, and

    - ``primals``: how many operands of ``base`` come first,
    - ``wrt``: positions of the operands whose cotangents are the results,
    - ``given``: numbers of the results of ``base`` that have a cotangent; others are zero.
    """
    name = base.name + VJP
    found = _derived.get(name)
    if found is None:
        found = _derived.setdefault(name, _make(base, name))
    return found


def _make(base: OpDef, name: str) -> OpDef:
    level = name.count(VJP)
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
    outputs, pull = pull_of(base, operands, wrt, attrs)
    known = dict(zip(given, cotangents, strict=True))
    result = pull(type(outputs)(all_cotangents(outputs, known)))
    return result[0] if len(result) == 1 else tuple(result)


def replaced(operands: Sequence[Any], positions: Sequence[int], chosen: Sequence[Any]) -> list[Any]:
    """The operands with those at some positions replaced."""
    full = list(operands)
    for position, x in zip(positions, chosen, strict=True):
        full[position] = x
    return full


def pull_of(
    base: OpDef, operands: Sequence[Any], wrt: Sequence[int], attrs: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Results of ``base`` as a sequence, and the function that pulls cotangents back."""

    def primal(*chosen: Any) -> Any:
        out = base.fn(*replaced(operands, wrt, chosen), **attrs)
        return out if isinstance(out, (tuple, list)) else (out,)

    return jax.vjp(primal, *[operands[w] for w in wrt])  # type: ignore[no-any-return]


def all_cotangents(outputs: Sequence[Any], known: Mapping[int, Any]) -> list[Any]:
    """A cotangent for every result: the known ones, and zeros of the right kind."""
    result = []
    for i, out in enumerate(outputs):
        if not jnp.issubdtype(out.dtype, jnp.inexact):
            result.append(_float0(out.shape))
        elif i in known:
            result.append(known[i])
        else:
            result.append(jnp.zeros(out.shape, out.dtype))
    return result


def _float0(shape: tuple[int, ...]) -> Any:
    return np.zeros(shape, dtype=jax.dtypes.float0)
