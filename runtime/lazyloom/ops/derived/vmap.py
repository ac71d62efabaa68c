"""Every op mapped over an axis, itself an op.

``matmul.vmap`` does for every element of a leading axis of some operands what ``matmul`` does;
it is defined by ``jax.vmap`` of the table's function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...types import TensorType
from .._jax import jax
from ..spec import Attribute, OpDef, derivation
from ..traits import Access, Dependence, Derivative, Execution, Signature
from .vjp import replaced

VMAP: Final = "vmap"


@derivation(VMAP)
def vmap_of(base: OpDef) -> OpDef:
    """The op ``base`` for every element of an axis, the first of the mapped operands and of
    all results.

    Operands: those of ``base``. Attributes: those of ``base``, and ``mapped``: positions of the
    operands with that axis; the others are the same for every element.
    """
    # one that is mapped twice has two such attributes
    name = f"mapped{base.times(VMAP) + 1}"

    def rule(
        op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
    ) -> tuple[TensorType, ...]:
        mapped = attrs[name]
        size = types[mapped[0]].shape[0]
        element_types = list(types)
        for position in mapped:
            t = types[position]
            element_types[position] = t.like(t.shape[1:], t.dtype)
        results = base.infer(element_types, {k: v for k, v in attrs.items() if k != name})
        return tuple([t.like((size, *t.shape), t.dtype) for t in results])

    def fn(*operands: Any, **attrs: Any) -> Any:
        mapped = attrs.pop(name)

        def of_element(*chosen: Any) -> Any:
            return base.fn(*replaced(operands, mapped, chosen), **attrs)

        return jax.vmap(of_element)(*[operands[m] for m in mapped])

    def dependence(
        op: OpDef, attrs: Mapping[str, Any], arity: int, complex_operands: bool
    ) -> Dependence:
        rest = {k: v for k, v in attrs.items() if k != name}
        return base.dependences(rest, arity, complex_operands)

    return OpDef(
        f"{base.name}.{VMAP}", base.operands,
        (*base.attributes, Attribute(name, "ints", False, ())), rule, fn,
        f"{base.name} for every element of a leading axis.", "jax.vmap of the table's definition",
        T=base.T, version=base.version, tolerance=base.tolerance, kind=VMAP, base=base, own=(name,),
        signature=Signature(outputs=base.signature.outputs),
        derivative=Derivative(
            differentiable=base.derivative.differentiable,
            residuals=base.derivative.residuals is not False, dependence=dependence),
        execution=Execution(
            heavy=base.execution.heavy, fallible=base.execution.fallible,
            effect=base.execution.effect, collective=base.execution.collective,
            aliases=base.execution.aliases),
        access=Access(offset_reads=base.access.offset_reads, spreads=base.access.spreads))
