"""An op in two: one that gives residuals beside its results, and the vjp that takes them.

Where XLA would not merge an op's forward work with what its vjp repeats, the op asks for
residuals: ``sort.fwd`` gives the results of ``sort`` and then the residuals, the leaves of the
function that ``jax.vjp`` returns, which ``sort.bwd`` takes in place of the operands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...dtypes import dtype_named
from ...hooks import hooks
from ...types import TensorType, tensor_type
from .._jax import jax
from ..spec import Attribute, Dependence, OpDef, Operand, derivation
from .vjp import all_cotangents, vjp_fun_of

FORWARD: Final = "fwd"
BACKWARD: Final = "bwd"


@derivation(FORWARD)
def forward_of(base: OpDef) -> OpDef:
    """The op that gives the results of ``base`` and then residuals for :func:`backward_of`.

    Attributes: those of ``base``, and ``forward_argnums``, the operands to differentiate by.
    """

    def rule(
        op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
    ) -> tuple[TensorType, ...]:
        # what the residuals are only JAX knows
        return hooks.lowered_types(op, types, attrs)

    def fn(*operands: Any, forward_argnums: tuple[int, ...], **attrs: Any) -> Any:
        def forward(*operands: Any) -> tuple[Any, ...]:
            outputs, vjp_fun = vjp_fun_of(base, operands, forward_argnums, attrs)
            return (*outputs, *jax.tree_util.tree_leaves(vjp_fun))

        # traced apart, since under another derivative JAX may order the residuals otherwise
        found: tuple[Any, ...] = jax.jit(forward, inline=True)(*operands)
        return found

    return OpDef(
        f"{base.name}.{FORWARD}", (Operand("operands", "any", True, True),),
        (*base.attributes, Attribute("forward_argnums", "ints", False, ())), rule, fn,
        f"{base.name}, with the residuals of its vjp.", "jax.vjp of the table's definition",
        heavy=base.heavy, fallible=base.fallible, version=base.version, kind=FORWARD, base=base,
        own=("forward_argnums",), offset_reads=base.offset_reads, spreads=base.offset_reads,
        dependence=unknown)


@derivation(BACKWARD)
def backward_of(base: OpDef) -> OpDef:
    """The op that computes the vjp of ``base`` from the residuals of :func:`forward_of`.

    Operands: the residuals, then the cotangents of the results listed in ``backward_outnums``.
    Attributes: those of ``base``, and

    - ``backward_types``: the types of the operands of ``base``, as text,
    - ``backward_argnums``: the operands that the forward op differentiated by; the results are
      their cotangents,
    - ``backward_outnums``: numbers of the results of ``base`` that have a cotangent.
    """

    def rule(
        op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
    ) -> tuple[TensorType, ...]:
        operands = _types_of(attrs["backward_types"])
        result = []
        for w in attrs["backward_argnums"]:
            t = operands[w]
            assert t is not None
            result.append(t)
        return tuple(result)

    def fn(
        *operands: Any, backward_types: str, backward_argnums: tuple[int, ...],
        backward_outnums: tuple[int, ...], **attrs: Any,
    ) -> Any:  # fmt: skip
        kept: dict[str, Any] = {}

        def forward(*primals: Any) -> Any:
            given = iter(primals)
            full = [None if t is None else next(given) for t in types]
            outputs, vjp_fun = vjp_fun_of(base, full, backward_argnums, attrs)
            leaves, kept["tree"] = jax.tree_util.tree_flatten(vjp_fun)
            return outputs, leaves

        types = _types_of(backward_types)
        shaped = [
            jax.ShapeDtypeStruct(t.shape, t.dtype.numpy) for t in types if t is not None]
        outputs, leaves = jax.eval_shape(forward, *shaped)
        vjp_fun = jax.tree_util.tree_unflatten(kept["tree"], operands[: len(leaves)])
        known = dict(zip(backward_outnums, operands[len(leaves) :], strict=True))
        result = vjp_fun(type(outputs)(all_cotangents(outputs, known)))
        return result[0] if len(result) == 1 else tuple(result)

    return OpDef(
        f"{base.name}.{BACKWARD}", (Operand("operands", "any", True, True),),
        (*base.attributes, Attribute("backward_types", "str", False, ""),
         Attribute("backward_argnums", "ints", False, ()),
         Attribute("backward_outnums", "ints", False, ())), rule, fn,
        f"Vector-Jacobian product of {base.name}, from residuals.",
        "jax.vjp of the table's definition", heavy=base.heavy, fallible=base.fallible,
        version=base.version, kind=BACKWARD, base=base,
        own=("backward_types", "backward_argnums", "backward_outnums"),
        offset_reads=base.offset_reads, spreads=base.offset_reads, dependence=unknown)


def unknown(
    op: OpDef, attrs: Mapping[str, Any], arity: int, complex_operands: bool
) -> Dependence:
    """Each derivative may depend on each operand: what the residuals are only JAX knows."""
    return ((1 << arity) - 1,) * arity


def types_text(types: Sequence[TensorType | None]) -> str:
    """Operand types as one attribute: ``float32[3,4];_;int64[]``."""
    return ";".join("_" if t is None else t.text for t in types)


def _types_of(text: str) -> list[TensorType | None]:
    result: list[TensorType | None] = []
    for part in text.split(";"):
        if part == "_":
            result.append(None)
            continue
        name, _, dims = part.rstrip("]").partition("[")
        shape = tuple(int(d) for d in dims.split(",")) if dims else ()
        result.append(tensor_type(shape, dtype_named(name)))
    return result
