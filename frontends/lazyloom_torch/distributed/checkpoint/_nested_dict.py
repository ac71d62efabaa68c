"""Nested dicts and lists as a flat dict of dotted names, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from ..._tensor import Tensor

#: the keys that lead to a value: strings in dicts, ints in lists
OBJ_PATH: TypeAlias = tuple[str | int, ...]


def _is_divided(value: Any) -> bool:
    """Whether a list is taken apart: if there is a tensor or a dict in it, at any depth."""
    return isinstance(value, list) and any(
        isinstance(v, (Tensor, Mapping)) or _is_divided(v) for v in value)


def flatten_state_dict(state_dict: Any) -> tuple[dict[str, Any], dict[str, OBJ_PATH]]:
    """A flat dict, and the path of each of its names.

    Names are the keys of the path, joined by dots; tuples, and lists of plain things, stay whole.
    Raises ValueError if two paths have one name.
    """
    found: dict[str, Any] = {}
    paths: dict[str, OBJ_PATH] = {}

    def visit(path: OBJ_PATH, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, inner in value.items():
                visit((*path, str(key)), inner)
        elif _is_divided(value):
            for i, inner in enumerate(value):
                visit((*path, i), inner)
        else:
            name = ".".join(map(str, path))
            if name in found:
                raise ValueError(f"duplicated flatten key {name}")
            found[name], paths[name] = value, path

    visit((), state_dict)
    return found, paths


def set_element(root: Any, path: OBJ_PATH, value: Any) -> None:
    """Set what a path leads to, and make the dicts and lists on the way."""
    at = root
    for key, following in zip(path, (*path[1:], None), strict=True):
        if isinstance(key, int):
            at.extend([None] * (key + 1 - len(at)))
        key = _own(at, key)
        if following is None:
            at[key] = value
            return
        inner = at[key] if isinstance(at, list) or key in at else None
        if inner is None:
            inner = [] if isinstance(following, int) else {}
            at[key] = inner
        at = inner


def _own(container: Any, key: str | int) -> Any:
    """The key as the container has it: names have keys of dicts as strings, whatever they are."""
    if isinstance(container, list) or key in container:
        return key
    return next((k for k in container if not isinstance(k, str) and str(k) == key), key)


def unflatten_state_dict(state_dict: Mapping[str, Any], mapping: dict[str, OBJ_PATH]
                         ) -> dict[str, Any]:  # fmt: skip
    """The nested dict of which a flat one was made."""
    found: dict[str, Any] = {}
    for name, value in state_dict.items():
        set_element(found, mapping[name], value)
    return found
