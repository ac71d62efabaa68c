"""Ops derived from the table: the vjp of every op is itself an op.

``add.vjp`` takes the operands of ``add`` and the cotangents of its results, and gives
the cotangents of the operands named by its attribute ``wrt``. It is defined by
``jax.vjp`` of the table's function, so it can be differentiated again.

An op whose forward work XLA would not merge with what its vjp repeats asks for residuals:
``sort.fwd`` gives the results of ``sort`` and then the residuals, the leaves of the
function that ``jax.vjp`` returns, which ``sort.bwd`` takes in place of the operands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .dtypes import ALL, dtype_named
from .ops.spec import Attribute, OpDef, Operand, lookup
from .types import TensorType, tensor_type

SUFFIX: Final = ".vjp"
FORWARD: Final = ".fwd"
BACKWARD: Final = ".bwd"
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
    from .derived_maps import JVP, VMAP, jvp_of, vmap_of

    for suffix, make in (
        (SUFFIX, vjp_of), (FORWARD, forward_of), (BACKWARD, backward_of), (JVP, jvp_of),
        (VMAP, vmap_of),
    ):  # fmt: skip
        if name.endswith(suffix):
            return make(op_named(name[: -len(suffix)]))
    return None


def op_named(name: str) -> OpDef:
    """The op of that name, of the table or derived. Raises UnknownOpError."""
    return derived_op(name) or lookup(name)


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
    outputs, pull = _pull(base, operands, wrt, attrs)
    known = dict(zip(given, cotangents, strict=True))
    result = pull(type(outputs)(_all_cotangents(outputs, known)))
    return result[0] if len(result) == 1 else tuple(result)


def _pull(
    base: OpDef, operands: Sequence[Any], wrt: Sequence[int], attrs: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Results of ``base`` as a sequence, and the function that pulls cotangents back."""
    from .ops._jax import jax

    def primal(*chosen: Any) -> Any:
        full = list(operands)
        for position, x in zip(wrt, chosen, strict=True):
            full[position] = x
        out = base.fn(*full, **attrs)
        return out if isinstance(out, (tuple, list)) else (out,)

    return jax.vjp(primal, *[operands[w] for w in wrt])  # type: ignore[no-any-return]


def _all_cotangents(outputs: Sequence[Any], known: Mapping[int, Any]) -> list[Any]:
    """A cotangent for every result: the known ones, and zeros of the right kind."""
    from .ops._jax import jnp

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
    import numpy as np

    from .ops._jax import jax

    return np.zeros(shape, dtype=jax.dtypes.float0)


def forward_of(base: OpDef) -> OpDef:
    """The op that gives the results of ``base`` and then residuals for :func:`backward_of`.

    Attributes: those of ``base``, and ``forward_wrt``, the operands to differentiate by.
    """
    name = base.name + FORWARD
    found = _derived.get(name)
    if found is None:
        found = _derived.setdefault(name, _make_forward(base, name))
    return found


def backward_of(base: OpDef) -> OpDef:
    """The op that computes the vjp of ``base`` from the residuals of :func:`forward_of`.

    Operands: the residuals, then the cotangents of the results listed in ``backward_given``.
    Attributes: those of ``base``, and

    - ``backward_types``: the types of the operands of ``base``, as text,
    - ``backward_wrt``: the operands that the forward op differentiated by; the results are
      their cotangents,
    - ``backward_given``: numbers of the results of ``base`` that have a cotangent.
    """
    name = base.name + BACKWARD
    found = _derived.get(name)
    if found is None:
        found = _derived.setdefault(name, _make_backward(base, name))
    return found


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


_FROM_MLIR: Final = {d.mlir: d for d in ALL}


def _type_from_mlir(text: str) -> TensorType:
    inner = text.removeprefix("tensor<").removesuffix(">")
    *dims, element = inner.split("x") if not inner.endswith(">") else [
        *inner[: inner.index("complex")].split("x")[:-1], inner[inner.index("complex") :]]
    return tensor_type(tuple(int(d) for d in dims), _FROM_MLIR[element])


def _make_forward(base: OpDef, name: str) -> OpDef:
    def rule(
        op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
    ) -> tuple[TensorType, ...]:
        # What the residuals are only JAX knows: read off the lowering, which is on disk in a
        # warm process.
        from .execute.lowering import lower_untyped
        from .specs import spec_of

        lowered = lower_untyped(spec_of(op, attrs, len(types)), tuple(types))
        return tuple(_type_from_mlir(t) for t in lowered.results)

    def fn(*operands: Any, forward_wrt: tuple[int, ...], **attrs: Any) -> Any:
        from .ops._jax import jax

        def forward(*operands: Any) -> tuple[Any, ...]:
            outputs, pull = _pull(base, operands, forward_wrt, attrs)
            return (*outputs, *jax.tree_util.tree_leaves(pull))

        # traced apart, since under another derivative JAX may order the residuals otherwise
        found: tuple[Any, ...] = jax.jit(forward, inline=True)(*operands)
        return found

    return OpDef(
        name, (Operand("operands", "any", True, True),),
        (*base.attributes, Attribute("forward_wrt", "ints", False, ())), rule, fn,
        f"{base.name}, with the residuals of its vjp.", "jax.vjp of the table's definition", None,
        "any", base.heavy, False, base.fallible, False, True, base.version, None, 1.0,
        ("result",))  # fmt: skip


def _make_backward(base: OpDef, name: str) -> OpDef:
    def rule(
        op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
    ) -> tuple[TensorType, ...]:
        operands = _types_of(attrs["backward_types"])
        result = []
        for w in attrs["backward_wrt"]:
            t = operands[w]
            assert t is not None
            result.append(t)
        return tuple(result)

    def fn(
        *operands: Any, backward_types: str, backward_wrt: tuple[int, ...],
        backward_given: tuple[int, ...], **attrs: Any,
    ) -> Any:  # fmt: skip
        from .ops._jax import jax

        kept: dict[str, Any] = {}

        def forward(*primals: Any) -> Any:
            given = iter(primals)
            full = [None if t is None else next(given) for t in types]
            outputs, pull = _pull(base, full, backward_wrt, attrs)
            leaves, kept["tree"] = jax.tree_util.tree_flatten(pull)
            return outputs, leaves

        types = _types_of(backward_types)
        shaped = [
            jax.ShapeDtypeStruct(t.shape, t.dtype.numpy) for t in types if t is not None]
        outputs, leaves = jax.eval_shape(forward, *shaped)
        pull = jax.tree_util.tree_unflatten(kept["tree"], operands[: len(leaves)])
        known = dict(zip(backward_given, operands[len(leaves) :], strict=True))
        result = pull(type(outputs)(_all_cotangents(outputs, known)))
        return result[0] if len(result) == 1 else tuple(result)

    return OpDef(
        name, (Operand("operands", "any", True, True),),
        (*base.attributes, Attribute("backward_types", "str", False, ""),
         Attribute("backward_wrt", "ints", False, ()),
         Attribute("backward_given", "ints", False, ())), rule, fn,
        f"Vector-Jacobian product of {base.name}, from residuals.",
        "jax.vjp of the table's definition", None,
        "any", base.heavy, False, base.fallible, False, True, base.version, None, 1.0,
        ("result",))  # fmt: skip
