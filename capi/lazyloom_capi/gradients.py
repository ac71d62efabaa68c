"""The entries of gradients."""

from __future__ import annotations

from typing import Any

from _lazyloom_abi import ffi  # type: ignore[import-not-found]

import lazyloom
from lazyloom.errors import GradientError, HandleError
from lazyloom.frontend import write, write_lock

from . import capture, handles
from .handles import TENSOR
from .serving import Collected, Leaf, entry, give, located, tensor_of, value_of, values_of


@located
def loomp_require_grad(tensor: int, required: int) -> int:
    found = tensor_of(tensor)
    capture.refuse_outside("loom_tensor_require_grad", tensor, found)
    with write_lock(found):
        if not required:
            if found.leaf is not None or found.value.requires_grad:
                write(found, found.value.detach())
                found.leaf = found.collected = None
        elif found.leaf is None:
            collected = Collected()
            leaf = Leaf(collected)
            write(found, found.value.detach().as_leaf(leaf))
            found.leaf, found.collected = leaf, collected
    return 1


@entry
def loomp_set_grad_enabled(enabled: int, previous: Any) -> int:
    previous[0] = lazyloom.set_grad_enabled(bool(enabled))
    return 1


def _cotangents(array: Any, count: int, call: str) -> list[Any] | None:
    if array == ffi.NULL:
        return None
    found: list[Any] = []
    try:
        for bits in ffi.unpack(array, count):
            found.append(value_of(bits) if bits else None)
    except HandleError as error:
        raise HandleError(f"{call}: cotangents[{len(found)}]: {error}") from None
    return found


@located
def loomp_grad(
    outputs: Any, output_count: int, inputs: Any, input_count: int, cotangents: Any,
    create_graph: int, gradients: Any,
) -> int:  # fmt: skip
    found = lazyloom.gradients(
        values_of(outputs, output_count, "loom_grad: outputs"),
        values_of(inputs, input_count, "loom_grad: inputs"),
        _cotangents(cotangents, output_count, "loom_grad"), create_graph=bool(create_graph))
    for i, value in enumerate(found):
        if value is None:
            raise GradientError(f"loom_grad: inputs[{i}] does not reach an output")
    for i, value in enumerate(found):
        gradients[i] = give(value)  # type: ignore[arg-type]
    return 1


@located
def loomp_backward(outputs: Any, output_count: int, cotangents: Any) -> int:
    reached = lazyloom.backward(
        values_of(outputs, output_count, "loom_backward: outputs"),
        _cotangents(cotangents, output_count, "loom_backward"))
    for leaf, gradient in reached:
        if isinstance(leaf, Leaf):
            capture.refuse_gradient(leaf)
            collected = leaf.collected
            if collected is None:
                continue  # its tensor is gone
            with collected.lock:
                before = collected.gradient
                collected.gradient = (
                    gradient if before is None else lazyloom.record("add", [before, gradient]))
    return 1


def _collected(call: str, tensor: int) -> Collected:
    found: Collected | None = getattr(handles.find(TENSOR, tensor), "collected", None)
    if found is None:
        raise GradientError(
            f"{call}: the tensor is no leaf and collects no gradient; call "
            "loom_tensor_require_grad() first")
    return found


@entry
def loomp_gradient(tensor: int, result: Any) -> int:
    gradient = _collected("loom_tensor_gradient", tensor).gradient
    result[0] = 0 if gradient is None else give(gradient)
    return 1


@entry
def loomp_clear_gradient(tensor: int) -> int:
    _collected("loom_tensor_clear_gradient", tensor).gradient = None
    return 1
