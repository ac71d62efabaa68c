"""An op in two: one that gives residuals beside its results, and the vjp that takes them.

If XLA would not merge an op's forward work with what its vjp repeats, the op requests residuals:
``sort.fwd`` gives the results of ``sort`` and then the residuals, the leaves of the function that
``jax.vjp`` returns, which ``sort.bwd`` takes in place of the operands. An entry may itself define
what is kept, and how it is used (:class:`lazyloom.ops.spec.Residuals`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ...dtypes import DType, dtype_named
from ...types import TensorType, tensor_type
from .._jax import jax, lax
from ..spec import Attribute, OpDef, Operand, derivation
from ..traits import Dependence, Derivative, Residuals
from .vjp import access_of, all_cotangents, execution_of, vjp_fun_of

FORWARD: Final = "fwd"
BACKWARD: Final = "bwd"

#: the types of an op's results, given those of its operands and its attributes
TypesOf: TypeAlias = Callable[
    [OpDef, Sequence[TensorType], Mapping[str, Any]], tuple[TensorType, ...]]
_types_of: TypesOf | None = None


def learn_types(types_of_results: TypesOf) -> None:
    """Set the function that gives the types of residuals: only code that lowers ops knows them."""
    global _types_of
    _types_of = types_of_results


@derivation(FORWARD)
def forward_of(base: OpDef) -> OpDef:
    """The op that gives the results of ``base`` and then residuals for :func:`backward_of`.

    Attributes: those of ``base``, and ``forward_argnums``, the operands to differentiate by.
    """

    def rule(
        op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
    ) -> tuple[TensorType, ...]:
        assert _types_of is not None
        return _types_of(op, types, attrs)

    entered = base.derivative.residuals

    def fn(*operands: Any, forward_argnums: tuple[int, ...], **attrs: Any) -> Any:
        if isinstance(entered, Residuals):
            results, kept = entered.forward(*operands, argnums=forward_argnums, **attrs)
            return (*results, *kept)

        def forward(*operands: Any) -> tuple[Any, ...]:
            outputs, vjp_fun = vjp_fun_of(base, operands, forward_argnums, attrs)
            return (*outputs, *jax.tree_util.tree_leaves(vjp_fun))

        # traced separately, since under another derivative JAX may order the residuals otherwise
        results_and_residuals: tuple[Any, ...] = jax.jit(forward, inline=True)(*operands)
        return results_and_residuals

    return OpDef(
        f"{base.name}.{FORWARD}", (Operand("operands", "any", True, True),),
        (*base.attributes, Attribute("forward_argnums", "ints", False, ())), rule, fn,
        f"{base.name}, with the residuals of its vjp.", "jax.vjp of the table's definition",
        version=base.version, kind=FORWARD, base=base, own=("forward_argnums",),
        derivative=Derivative(dependence=unknown), execution=execution_of(base),
        access=access_of(base))


@derivation(BACKWARD)
def backward_of(base: OpDef) -> OpDef:
    """The op that computes the vjp of ``base`` from the residuals of :func:`forward_of`.

    Operands: the residuals, then the cotangents of the results listed in ``backward_outnums``.
    Attributes: those of ``base``, and

    - ``backward_types``, ``backward_shapes``: the types of the operands of ``base``, dtypes and
      ranks as text, and all their extents,
    - ``backward_argnums``: the operands that the forward op differentiated by; the results are
      their cotangents,
    - ``backward_outnums``: numbers of the results of ``base`` that have a cotangent.
    """

    def rule(
        op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
    ) -> tuple[TensorType, ...]:
        operands = types_of(attrs["backward_types"], attrs["backward_shapes"])
        result = []
        for w in attrs["backward_argnums"]:
            t = operands[w]
            assert t is not None
            result.append(tensor_type(*t))
        return tuple(result)

    entered = base.derivative.residuals

    def fn(
        *operands: Any, backward_types: str, backward_shapes: tuple[int, ...],
        backward_argnums: tuple[int, ...], backward_outnums: tuple[int, ...], **attrs: Any,
    ) -> Any:  # fmt: skip
        kept: dict[str, Any] = {}

        def forward(*primals: Any) -> Any:
            rest = iter(primals)
            full = [None if t is None else next(rest) for t in types]
            outputs, vjp_fun = vjp_fun_of(base, full, backward_argnums, attrs)
            leaves, kept["tree"] = jax.tree_util.tree_flatten(vjp_fun)
            return outputs, leaves

        types = types_of(backward_types, backward_shapes)
        if isinstance(entered, Residuals):
            return _by_the_entry(
                entered, len(base.signature.outputs), types, operands, backward_argnums,
                backward_outnums, attrs)
        shaped = [jax.ShapeDtypeStruct(t[0], t[1].numpy) for t in types if t is not None]
        outputs, leaves = jax.eval_shape(forward, *shaped)
        # if extents are symbols, JAX may have wider positions
        residuals = [
            x if x.dtype == leaf.dtype else lax.convert_element_type(x, leaf.dtype)
            for x, leaf in zip(operands, leaves, strict=False)]
        vjp_fun = jax.tree_util.tree_unflatten(kept["tree"], residuals)
        cotangents = dict(zip(backward_outnums, operands[len(leaves) :], strict=True))
        result = vjp_fun(all_cotangents(outputs, cotangents))
        return result[0] if len(result) == 1 else tuple(result)

    return OpDef(
        f"{base.name}.{BACKWARD}", (Operand("operands", "any", True, True),),
        (*base.attributes, Attribute("backward_types", "str", False, ""),
         Attribute("backward_shapes", "ints", False, ()),
         Attribute("backward_argnums", "ints", False, ()),
         Attribute("backward_outnums", "ints", False, ())), rule, fn,
        f"Vector-Jacobian product of {base.name}, from residuals.",
        "jax.vjp of the table's definition", version=base.version, kind=BACKWARD, base=base,
        own=("backward_types", "backward_shapes", "backward_argnums", "backward_outnums"),
        derivative=Derivative(dependence=unknown), execution=execution_of(base),
        access=access_of(base))


def _by_the_entry(
    entered: Residuals, results: int, types: Sequence[tuple[tuple[int, ...], DType] | None],
    operands: Sequence[Any], argnums: tuple[int, ...], outnums: tuple[int, ...],
    attrs: Mapping[str, Any],
) -> Any:  # fmt: skip
    count = len(operands) - len(outnums)
    cotangents: list[Any] = [None] * results
    for number, cotangent in zip(outnums, operands[count:], strict=True):
        cotangents[number] = cotangent
    pulled = entered.backward(
        [None if t is None else jax.ShapeDtypeStruct(t[0], t[1].numpy) for t in types],
        operands[:count], cotangents, argnums=argnums, **attrs)
    return pulled[0] if len(pulled) == 1 else pulled


def unknown(
    op: OpDef, attrs: Mapping[str, Any], arity: int, complex_operands: bool
) -> Dependence:
    """Each derivative may depend on each operand: only JAX knows what the residuals are."""
    return ((1 << arity) - 1,) * arity


def types_attributes(types: Sequence[TensorType | None]) -> dict[str, Any]:
    """Operand types as attributes: ``float32/2;_;int64/0``, and the extents.

    Extents are numbers, so structures that differ only in extents can be recognized.
    """
    return {
        "backward_types": ";".join(
            "_" if t is None else f"{t.dtype.name}/{t.ndim}" for t in types),
        "backward_shapes": tuple([n for t in types if t is not None for n in t.shape]),
    }


def types_of(text: str, shapes: Sequence[int]) -> list[tuple[tuple[int, ...], DType] | None]:
    """The inverse of :func:`types_attributes`: the shape and dtype of each operand, or None.

    Extents may be symbols.
    """
    result: list[tuple[tuple[int, ...], DType] | None] = []
    at = 0
    for part in text.split(";"):
        if part == "_":
            result.append(None)
            continue
        name, _, rank = part.partition("/")
        end = at + int(rank)
        result.append((tuple(shapes[at:end]), dtype_named(name)))
        at = end
    return result
