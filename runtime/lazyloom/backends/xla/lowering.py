"""One op, lowered once: its StableHLO function, cached in memory and on disk."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ...counters import counters
from ...dtypes import ALL, dtype_named
from ...jaxprs.op_definitions import description_of, function_of
from ...ops.spec import OpDef
from ...trace.specs import Spec, spec_of
from ...types import TensorType, tensor_type
from .. import fingerprint
from . import jax_compat
from .kept_values import kept_inside
from .layouts import Layout
from .long_products import in_blocks
from .lowered import Lowered, Placed
from .physical import Replayed, replay
from .regions.region_op import called, lowered_region, placed_region

_FUNCTION: Final = re.compile(r"func\.func (?:public |private )?@([\w.$-]+)")
#: a call whose target lives only as long as the JAX function that was lowered
_CALLBACK: Final = re.compile(r"custom_call @xla_\w*python\w*callback")
#: a mesh, which the module of the program states
_MESH: Final = re.compile(r"^\s*sdy\.mesh @mesh = .*\n", re.MULTILINE)
_ATTRIBUTES: Final = re.compile(r' \{jax\.result_info = "[^"]*"\}')


_FROM_MLIR: Final = {d.mlir: d for d in ALL}

_memory: dict[tuple[Spec, tuple[TensorType | None, ...]], Lowered] = {}
_placed: dict[tuple[Spec, tuple[TensorType | None, ...], tuple[Layout | None, ...]], Placed] = {}
_lock = threading.RLock()


def lower(spec: Spec, types: tuple[TensorType | None, ...]) -> Lowered:
    """Return the lowering of an op at operand types, from memory, disk or JAX."""
    lowered = lower_untyped(spec, types)
    inferred = tuple(t.mlir for t in spec.infer(types))
    if lowered.results != inferred:
        raise AssertionError(
            f"{spec.op.name}: the definition gives {lowered.results}, the shape rule says "
            f"{inferred}; one of the two is wrong")
    return lowered


def lower_untyped(spec: Spec, types: tuple[TensorType | None, ...]) -> Lowered:
    """Do :func:`lower` without the op's type rule, which may itself call this."""
    key = (spec, types)
    lowered = _memory.get(key)
    if lowered is not None:
        return lowered
    with _lock:
        lowered = _memory.get(key)
        if lowered is None:
            lowered = _memory[key] = (
                lowered_region(spec) if called(spec) else _from_disk_or_jax(spec, types))
    return lowered


def lowered_types(
    op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
) -> tuple[TensorType, ...]:
    """Return the types of an op's results by its lowering, which is on disk in a warm process."""
    lowered = lower_untyped(spec_of(op, attrs, len(types)), tuple(types))
    return tuple(_type_from_mlir(t) for t in lowered.results)


def _type_from_mlir(text: str) -> TensorType:
    inner = text.removeprefix("tensor<").removesuffix(">")
    *dims, element = inner.split("x") if not inner.endswith(">") else [
        *inner[: inner.index("complex")].split("x")[:-1], inner[inner.index("complex") :]]
    return tensor_type(tuple(int(d) for d in dims), _FROM_MLIR[element])


def lower_placed(
    spec: Spec, types: tuple[TensorType | None, ...], layouts: tuple[Layout | None, ...]
) -> Placed:
    """Return the lowering of an op at operands of logical types in layouts."""
    key = (spec, types, layouts)
    placed = _placed.get(key)
    if placed is not None:
        return placed
    with _lock:
        placed = _placed.get(key)
        if placed is None:
            placed = _placed[key] = (
                placed_region(spec, layouts) if called(spec)
                else _placed_from_disk_or_jax(spec, types, layouts))
    return placed


def _placed_from_disk_or_jax(
    spec: Spec, types: tuple[TensorType | None, ...], layouts: tuple[Layout | None, ...]
) -> Placed:
    description = description_of(spec, types) + f"\n{layouts}".encode()
    storable = spec.versioned
    if storable:
        data = fingerprint.load("lowering", description)
        stored = _unpack_placed(data) if data is not None else None
        if stored is not None:
            return stored
    name = name_of(spec, description)
    replayed = Replayed()
    present = [(n, t, f) for n, (t, f) in enumerate(zip(types, layouts, strict=True))
               if t is not None and f is not None]
    fn = replay(function_of(spec, types), [(t.shape, t.dtype.numpy) for _, t, _ in present],
                [f for _, _, f in present], replayed)
    shaped = [(tuple(t.shape[d] for d in f), t.dtype.numpy) for _, t, f in present]
    text, results = text_of(fn, shaped, name)
    placed = Placed(
        Lowered(name, text, results), replayed.layouts, replayed.moved,
        tuple(sorted((present[k][0], layout) for k, layout in replayed.wanted.items())))
    if storable:
        fingerprint.store("lowering", description, json.dumps(placed).encode())
    return placed


def _unpack_placed(data: bytes) -> Placed | None:
    try:
        lowered, layouts, moved, wanted = json.loads(data)
        return Placed(
            Lowered.of_json(lowered),
            tuple(tuple(map(int, f)) for f in layouts), int(moved),
            tuple((int(n), tuple(map(int, f))) for n, f in wanted))
    except (ValueError, TypeError):
        counters["disk_errors"] += 1
        return None


def name_of(spec: Spec, description: bytes) -> str:
    """Return the name of an op's function, from the description that it is stored under."""
    kind = re.sub(r"[^A-Za-z0-9_]", "_", spec.op.name)
    if not spec.versioned:
        # nothing in the description distinguishes it from another op of that name
        description += str(spec.id).encode()
    return f"{kind}_{hashlib.sha256(description).hexdigest()[:16]}"


def _from_disk_or_jax(spec: Spec, types: tuple[TensorType | None, ...]) -> Lowered:
    description = description_of(spec, types)
    storable = spec.versioned
    if storable:
        data = fingerprint.load("lowering", description)
        stored = _unpack(data) if data is not None else None
        if stored is not None:
            return stored
    name = name_of(spec, description)
    shaped = [(t.shape, t.dtype.numpy) for t in types if t is not None]
    text, results = text_of(function_of(spec, types), shaped, name)
    lowered = Lowered(name, text, results)
    if storable:
        fingerprint.store("lowering", description, json.dumps(lowered).encode())
    return lowered


def _unpack(data: bytes) -> Lowered | None:
    try:
        return Lowered.of_json(json.loads(data))
    except (ValueError, TypeError):
        counters["disk_errors"] += 1
        return None


def text_of(
    fn: Callable[..., Any], shaped: Sequence[tuple[tuple[int, ...], Any]], name: str
) -> tuple[str, tuple[str, ...]]:
    """Return the functions that JAX lowers ``fn`` to, the first one named ``name``, and the result
    types."""
    # slow to import, and not needed for ops that were lowered before
    from .expansions import expanded

    counters["jax_traces"] += 1
    text, results = jax_compat.lower_text(fn, shaped)
    if _CALLBACK.search(text):
        raise TypeError(
            "its definition calls back into Python (jax.pure_callback, jax.debug.print or their "
            "kind), which a compiled program cannot; register a foreign function with XLA instead")
    text = _MESH.sub("", text)
    body = _ATTRIBUTES.sub("", text[text.index("{\n", text.index("module @")) + 2 :])
    body = body.rstrip().removesuffix("}")
    for symbol in _FUNCTION.findall(body):
        new = name if symbol == "main" else f"{name}.{symbol}"
        body = re.sub(rf"@{re.escape(symbol)}(?![\w.$-])", f"@{new}", body)
    body = body.replace("func.func public", "func.func private")
    return kept_inside(expanded(in_blocks(body))), tuple(
        tensor_type(shape, dtype_named(dtype)).mlir for shape, dtype in results)
