"""The vjp of every op, itself an op.

``add.vjp`` takes the operands of ``add`` and the cotangents of its results, and gives
the cotangents of the operands named by its attribute ``argnums``. It is defined by
``jax.vjp`` of the table's function, so it can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...types import TensorType
from .._jax import jax, jnp
from ..spec import Attribute, OpDef, Operand, derivation
from ..traits import Access, Dependence, Derivative, Execution

VJP: Final = "vjp"


@derivation(VJP)
def vjp_of(base: OpDef) -> OpDef:
    """The op that computes the vector-Jacobian product of ``base``.

    Operands: those of ``base`` (absent ones too), then the cotangents of the results
    listed in ``outnums``. Attributes: those of ``base``, and

    - ``primals``: how many operands of ``base`` come first,
    - ``argnums``: positions of the operands whose cotangents are the results,
    - ``outnums``: numbers of the results of ``base`` that have a cotangent; others are zero.
    """
    level = base.times(VJP) + 1
    names = (f"primals{level}", f"argnums{level}", f"outnums{level}")
    attributes = (
        *base.attributes,
        Attribute(names[0], "int", False, 0),
        Attribute(names[1], "ints", False, ()),
        Attribute(names[2], "ints", False, ()),
    )

    def rule(
        op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
    ) -> tuple[TensorType, ...]:
        return tuple(types[w] for w in attrs[names[1]])

    def fn(*operands: Any, **attrs: Any) -> Any:
        count, argnums, outnums = (attrs.pop(key) for key in names)
        return _vjp(base, operands[:count], operands[count:], argnums, outnums, attrs)

    def dependence(
        op: OpDef, attrs: Mapping[str, Any], arity: int, complex_operands: bool
    ) -> Dependence:
        rest = {k: v for k, v in attrs.items() if k not in names}
        count: int = attrs[names[0]]
        of_base = base.dependences(rest, count, complex_operands)
        return of_derivative(of_base, attrs[names[1]], [-1] * (arity - count))

    return OpDef(
        f"{base.name}.{VJP}", (Operand("operands", "any", True, True),), attributes, rule, fn,
        f"Vector-Jacobian product of {base.name}.", "jax.vjp of the table's definition",
        version=base.version, kind=VJP, base=base, own=names,
        derivative=Derivative(dependence=dependence), execution=execution_of(base),
        access=access_of(base))


def execution_of(base: OpDef) -> Execution:
    """How a derivative of ``base`` runs."""
    shared = base.execution.collective
    return Execution(heavy=base.execution.heavy, fallible=base.execution.fallible,
                     effect=shared, collective=shared)


def access_of(base: OpDef) -> Access:
    """How a derivative of ``base`` reads its operands: no element twice."""
    return Access(offset_reads=base.access.offset_reads, spreads=base.access.offset_reads)


def of_derivative(
    base: Dependence, by: Sequence[int], directions: Sequence[int]
) -> Dependence:
    """:meth:`OpDef.dependences` of a vjp or jvp of an op whose dependences are ``base``.

    Args:
        by: the operands of the base that it differentiates by.
        directions: for each tangent, the operand it belongs to; -1 for a cotangent.

    A derivative is linear in tangents and cotangents. Its dependence on an operand is a third
    derivative of the base, which is zero if the base is linear in any two of the three together.
    If an op declares nothing, nothing is known: a definition may have a derivative of its own that
    is not linear.
    """
    count = len(base)
    arity = count + len(directions)
    if all(bits == (1 << count) - 1 for bits in base):
        return ((1 << arity) - 1,) * arity
    chosen = 0
    for w in by:
        chosen |= 1 << w
    masks = [0] * arity
    for p in range(count):
        for q in range(count):
            if base[p] >> q & 1 and base[p] & base[q] & chosen:
                masks[p] |= 1 << q
        for d, of in enumerate(directions):
            if (base[p] & chosen) if of < 0 else base[p] >> of & 1:
                masks[p] |= 1 << count + d
                masks[count + d] |= 1 << p
    return tuple(masks)


def _vjp(
    base: OpDef, operands: Sequence[Any], cotangents: Sequence[Any], argnums: Sequence[int],
    outnums: Sequence[int], attrs: dict[str, Any],
) -> Any:  # fmt: skip
    outputs, vjp_fun = vjp_fun_of(base, operands, argnums, attrs)
    by_number = dict(zip(outnums, cotangents, strict=True))
    result = vjp_fun(all_cotangents(outputs, by_number))
    return result[0] if len(result) == 1 else tuple(result)


def replaced(operands: Sequence[Any], positions: Sequence[int], chosen: Sequence[Any]) -> list[Any]:
    """The operands with those at some positions replaced."""
    full = list(operands)
    for position, x in zip(positions, chosen, strict=True):
        full[position] = x
    return full


def vjp_fun_of(
    base: OpDef, operands: Sequence[Any], argnums: Sequence[int], attrs: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Results of ``base`` as a sequence, and the function that pulls cotangents back.

    The function takes the result of :func:`all_cotangents`.
    """

    def primal(*chosen: Any) -> Any:
        out = base.fn(*replaced(operands, argnums, chosen), **attrs)
        results = out if isinstance(out, (tuple, list)) else (out,)
        # the cotangent of an integer would be a NumPy array, whose extents are numbers
        return [x for x in results if jnp.issubdtype(x.dtype, jnp.inexact)], results

    _, vjp_fun, results = jax.vjp(primal, *[operands[w] for w in argnums], has_aux=True)
    return results, vjp_fun


def all_cotangents(outputs: Sequence[Any], cotangents: Mapping[int, Any]) -> list[Any]:
    """A cotangent for every result that may have one: those in ``cotangents``, and zeros."""
    return [
        cotangents[i] if i in cotangents else jnp.zeros(out.shape, out.dtype)
        for i, out in enumerate(outputs) if jnp.issubdtype(out.dtype, jnp.inexact)]
