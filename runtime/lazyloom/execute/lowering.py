"""One op, lowered once: its StableHLO function, cached in memory and on disk."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from typing import Any, Final, NamedTuple

from ..cache import disk
from ..dtypes import dtype_named
from ..specs import Spec
from ..observe import counters
from ..types import TensorType, tensor_type
from . import jax_compat

_FUNCTION: Final = re.compile(r"func\.func (?:public |private )?@([\w.$-]+)")
#: a call whose target lives only as long as the JAX function that was lowered
_CALLBACK: Final = re.compile(r"custom_call @xla_\w*python\w*callback")
_ATTRIBUTES: Final = re.compile(r' \{jax\.result_info = "[^"]*"\}')


class Lowered(NamedTuple):
    """The functions that one op lowers to; ``name`` is the one to call."""

    name: str
    text: str
    results: tuple[str, ...]


class NotLowered(Exception):
    """The op of instruction ``number`` could not be lowered; the cause says why."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number: Final = number


_memory: dict[tuple[Spec, tuple[TensorType | None, ...]], Lowered] = {}
_lock = threading.RLock()


def lower(spec: Spec, types: tuple[TensorType | None, ...]) -> Lowered:
    """The lowering of an op at operand types, from memory, disk or JAX."""
    lowered = lower_untyped(spec, types)
    inferred = tuple(t.mlir for t in spec.infer(types))
    if lowered.results != inferred:
        raise AssertionError(
            f"{spec.op.name}: the definition gives {lowered.results}, the shape rule says "
            f"{inferred}; one of the two is wrong")
    return lowered


def lower_untyped(spec: Spec, types: tuple[TensorType | None, ...]) -> Lowered:
    """:func:`lower` without a look at the op's shape rule, which may itself ask this."""
    key = (spec, types)
    found = _memory.get(key)
    if found is not None:
        return found
    with _lock:
        found = _memory.get(key)
        if found is None:
            found = _memory[key] = _from_disk_or_jax(spec, types)
    return found


def _description(spec: Spec, types: tuple[TensorType | None, ...]) -> bytes:
    attrs = json.dumps([[k, repr(b)] for k, b in zip(spec.attrs, spec.bits, strict=True)])
    operands = ",".join("_" if t is None else f"{t.text}@{t.placement}" for t in types)
    return f"{spec.op.name}\n{spec.op.version}\n{attrs}\n{operands}".encode()


def _from_disk_or_jax(spec: Spec, types: tuple[TensorType | None, ...]) -> Lowered:
    description = _description(spec, types)
    storable = spec.op.version is not None
    if storable:
        data = disk.load("lowering", description)
        found = _unpack(data) if data is not None else None
        if found is not None:
            return found
    name = f"{re.sub(r'[^A-Za-z0-9_]', '_', spec.op.name)}_" + (
        hashlib.sha256(description).hexdigest()[:16] if storable else f"local{spec.id}")
    text, results = _lower_with_jax(spec, types, name)
    lowered = Lowered(name, text, results)
    if storable:
        disk.store("lowering", description, json.dumps([name, results, text]).encode())
    return lowered


def _unpack(data: bytes) -> Lowered | None:
    try:
        name, results, text = json.loads(data)
        return Lowered(str(name), str(text), tuple(map(str, results)))
    except (ValueError, TypeError):
        counters["disk_errors"] += 1
        return None


def _lower_with_jax(
    spec: Spec, types: tuple[TensorType | None, ...], name: str
) -> tuple[str, tuple[str, ...]]:
    present = [i for i, t in enumerate(types) if t is not None]
    arity = len(types)
    attrs = spec.attrs

    def fn(*arguments: Any) -> Any:
        operands: list[Any] = [None] * arity
        for i, x in zip(present, arguments, strict=True):
            operands[i] = x
        return spec.op.fn(*operands, **attrs)

    counters["jax_traces"] += 1
    shaped = [(t.shape, t.dtype.numpy) for t in types if t is not None]
    text, results = jax_compat.lower_text(fn, shaped)
    if _CALLBACK.search(text):
        raise TypeError(
            "its definition calls back into Python (jax.pure_callback, jax.debug.print or their "
            "kind), which a compiled program cannot; register a foreign function with XLA instead")
    body = _ATTRIBUTES.sub("", text[text.index("{\n", text.index("module @")) + 2 :])
    body = body.rstrip().removesuffix("}")
    for symbol in _FUNCTION.findall(body):
        new = name if symbol == "main" else f"{name}.{symbol}"
        body = re.sub(rf"@{re.escape(symbol)}(?![\w.$-])", f"@{new}", body)
    body = body.replace("func.func public", "func.func private")
    return body, tuple(
        tensor_type(shape, dtype_named(dtype)).mlir for shape, dtype in results)
