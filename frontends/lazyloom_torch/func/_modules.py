"""Modules as functions of their parameters: ``functional_call``, ``stack_module_state``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from .._functions.shaping import stack
from .._tensor import Tensor


def functional_call(
    module: Any, parameter_and_buffer_dicts: Any, args: Any = None,
    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """Call a module with other tensors in place of its parameters and buffers.

    Args:
        parameter_and_buffer_dicts: from full names to tensors, or a sequence of such.
        args: positional arguments, a single one or a tuple.
        tie_weights: what a tensor of the module is replaced by replaces it under its other names
            too.
        strict: every parameter and buffer must be given.

    The module is as it was afterwards. Raises RuntimeError for names that it does not have (with
    ``strict``, or that are given in several dicts), ValueError where tied tensors get different
    replacements.
    """
    given: dict[str, Any] = {}
    if isinstance(parameter_and_buffer_dicts, Mapping):
        given.update(parameter_and_buffer_dicts)
    else:
        if not isinstance(parameter_and_buffer_dicts, Sequence) or not all(
            isinstance(d, Mapping) for d in parameter_and_buffer_dicts
        ):
            raise ValueError(
                "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but "
                f"got {type(parameter_and_buffer_dicts)}")
        for d in parameter_and_buffer_dicts:
            for name, tensor in d.items():
                if name in given:
                    raise ValueError(f"{name} appears in multiple dictionaries; behavior of "
                                     "functional call is ambiguous")
                given[name] = tensor
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with replaced(module, given, tie_weights, strict) as written:
        try:
            return module(*args, **(kwargs or {}))
        finally:
            if isinstance(parameter_and_buffer_dicts, dict):
                for name, table, key in written:
                    # a buffer that the call replaced: the caller gets the new one, as in PyTorch
                    if name in parameter_and_buffer_dicts:
                        parameter_and_buffer_dicts[name] = table[key]


@contextmanager
def replaced(module: Any, given: dict[str, Any], tie_weights: bool, strict: bool
             ) -> Iterator[list[tuple[str, dict[str, Any], str]]]:  # fmt: skip
    """Other tensors in the places of a module's: name, table and key of each that was replaced."""
    places = _places(module)
    _check_names(given, places, strict)
    if tie_weights:
        _tie(given, places)
    swapped: list[tuple[dict[str, Any], str, Any]] = []
    written: list[tuple[str, dict[str, Any], str]] = []
    try:
        for name, tensor in given.items():
            if name in places:
                table, key = places[name]
                swapped.append((table, key, table[key]))
                table[key] = tensor
                written.append((name, table, key))
        yield written
    finally:
        for table, key, tensor in reversed(swapped):
            table[key] = tensor


def _places(module: Any) -> dict[str, tuple[dict[str, Any], str]]:
    """Where each parameter and buffer is kept, by its full name; tied ones under each name."""
    found: dict[str, tuple[dict[str, Any], str]] = {}
    for prefix, m in module.named_modules(remove_duplicate=False):
        start = f"{prefix}." if prefix else ""
        for table in (m._parameters, m._buffers):
            for key, tensor in table.items():
                if tensor is not None:
                    found[start + key] = (table, key)
    return found


def _check_names(given: dict[str, Any], places: dict[str, Any], strict: bool) -> None:
    if not strict:
        return
    unexpected = [n for n in given if n not in places]
    missing = [n for n in places if n not in given]
    if unexpected or missing:
        raise RuntimeError(
            f"functional_call with strict=True: unexpected {unexpected}, missing {missing}")


def _tie(given: dict[str, Any], places: dict[str, tuple[dict[str, Any], str]]) -> None:
    """Give every name of a replaced tensor its replacement."""
    names: dict[int, list[str]] = {}
    for name, (table, key) in places.items():
        names.setdefault(id(table[key]), []).append(name)
    for tied in names.values():
        replaced = [n for n in tied if n in given]
        if len({id(given[n]) for n in replaced}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(replaced)}, which are tied. "
                "Consider using tie_weights=False")
        if replaced:
            for n in tied:
                given.setdefault(n, given[replaced[0]])


def stack_module_state(
    models: Sequence[Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and buffers of models of one class, each stacked along a new first dimension.

    The stacked parameters are leaves that require a gradient as the models' do. Raises
    RuntimeError for no models, or models of different classes or modes.
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params = {k: _stacked(k, models, "named_parameters") for k, _ in models[0].named_parameters()}
    buffers = {k: _stacked(k, models, "named_buffers") for k, _ in models[0].named_buffers()}
    return params, buffers


def _stacked(name: str, models: Iterable[Any], which: str) -> Tensor:
    tensors = [dict(getattr(m, which)())[name] for m in models]
    needs = {t.requires_grad for t in tensors}
    if len(needs) > 1:
        raise RuntimeError(
            f"Expected {name} to have the same requires_grad in all models")
    found: Tensor = stack([t.detach() for t in tensors])
    return found.requires_grad_() if needs == {True} else found


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """``func`` without in-place operations and views.

    What the runtime records has neither, so the function itself does. Raises RuntimeError for
    another ``remove`` than "mutations" and "mutations_and_views".
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): Valid options for remove are: 'mutations' and "
            f"'mutations_and_views', got {remove!r}")
    return func


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor itself: transformed functions get plain tensors."""
    return tensor


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Let the batch normalisations of a module keep no running statistics, in place.

    So they can be mapped by ``vmap``; they always use the statistics of the batch then.
    """
    for module in root.modules():
        drop = getattr(module, "_drop_running_statistics", None)
        if drop is not None:
            drop()
    return root
