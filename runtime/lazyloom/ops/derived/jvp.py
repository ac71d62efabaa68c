"""The jvp of every op, itself an op.

``sin.jvp`` takes the operands of ``sin`` and tangents of some of them, and gives the tangents
of the results; it is defined by ``jax.jvp`` of the table's function. Ops can be derived from it as
from any other op, in any order: ``sin.vmap.vjp.jvp`` is an op too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...types import TensorType
from .._jax import jax, jnp
from ..spec import Attribute, OpDef, Operand, derivation
from ..traits import Dependence, Derivative
from .vjp import access_of, execution_of, of_derivative, replaced

JVP: Final = "jvp"


@derivation(JVP)
def jvp_of(base: OpDef) -> OpDef:
    """The op that computes tangents of the inexact results of ``base``.

    Operands: those of ``base`` (absent ones too), then tangents. Attributes: those of ``base``,
    and ``moving``: positions of the operands that have a tangent; the others do not move.
    """
    # a jvp of a jvp has two such attributes
    name = f"moving{base.times(JVP) + 1}"

    def rule(
        op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
    ) -> tuple[TensorType, ...]:
        count = len(types) - len(attrs[name])
        results = base.infer(types[:count], {k: v for k, v in attrs.items() if k != name})
        return tuple([t for t in results if t.dtype.is_inexact])

    def fn(*operands: Any, **attrs: Any) -> Any:
        moving = attrs.pop(name)
        count = len(operands) - len(moving)
        primals = operands[:count]

        def primal(*chosen: Any) -> tuple[Any, ...]:
            return _as_tuple(base.fn(*replaced(primals, moving, chosen), **attrs))

        tangents_out = _tangents(primal, [primals[m] for m in moving], operands[count:])
        return tangents_out[0] if len(tangents_out) == 1 else tangents_out

    def dependence(
        op: OpDef, attrs: Mapping[str, Any], arity: int, complex_operands: bool
    ) -> Dependence:
        rest = {k: v for k, v in attrs.items() if k != name}
        moving = attrs[name]
        of_base = base.dependences(rest, arity - len(moving), complex_operands)
        return of_derivative(of_base, moving, moving)

    return OpDef(
        f"{base.name}.{JVP}", (Operand("operands", "any", True, True),),
        (*base.attributes, Attribute(name, "ints", False, ())), rule, fn,
        f"Tangents of the results of {base.name}.", "jax.jvp of the table's definition",
        version=base.version, tolerance=base.tolerance, kind=JVP, base=base, own=(name,),
        derivative=Derivative(dependence=dependence), execution=execution_of(base),
        access=access_of(base))


def _as_tuple(results: Any) -> tuple[Any, ...]:
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)


def _tangents(primal: Any, at: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
    """The tangents of the inexact results of a function."""
    try:
        results, moved = jax.jvp(primal, tuple(at), tuple(tangents))
    except TypeError as error:
        if "custom_vjp" not in str(error):
            raise
    else:
        return tuple([
            t for r, t in zip(results, moved, strict=True) if jnp.issubdtype(r.dtype, jnp.inexact)])

    # The definition says only how cotangents are pulled back: that is linear in them, and its
    # transpose pushes tangents forward.
    def inexact(*chosen: Any) -> tuple[Any, ...]:
        return tuple([r for r in primal(*chosen) if jnp.issubdtype(r.dtype, jnp.inexact)])

    results, vjp_fun = jax.vjp(inexact, *at)
    (tangents_out,) = jax.linear_transpose(vjp_fun, results)(tuple(tangents))
    return tuple(tangents_out)
