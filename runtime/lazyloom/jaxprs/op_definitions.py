"""The definition of an op as a JAX function, and its key on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ..ops.spec import TABLE
from ..trace.specs import Spec
from ..types import TensorType


def description_of(spec: Spec, types: tuple[TensorType | None, ...]) -> bytes:
    """Return the key of what is stored on disk for an op at operand types."""
    attrs = json.dumps([[k, repr(b)] for k, b in zip(spec.attrs, spec.bits, strict=True)])
    operands = ",".join("_" if t is None else f"{t.text}@{t.placement}" for t in types)
    versions = " ".join(sorted([
        f"{op.name} {op.version}" for op in spec.ops if op.version != TABLE and op is not spec.op]))
    return f"{spec.op.name}\n{spec.op.version}\n{attrs}\n{operands}\n{versions}".encode()


def function_of(
    spec: Spec, types: tuple[TensorType | None, ...], attributes: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """Return the op's definition as a function of the present operands.

    ``attributes`` replace the spec's.
    """
    present = [i for i, t in enumerate(types) if t is not None]
    arity = len(types)
    attrs = spec.attrs if attributes is None else attributes

    def fn(*arguments: Any) -> Any:
        operands: list[Any] = [None] * arity
        for i, x in zip(present, arguments, strict=True):
            operands[i] = x
        return spec.op.fn(*operands, **attrs)

    return fn
