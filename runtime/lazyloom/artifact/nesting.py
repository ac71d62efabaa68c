"""Trees of arguments and results: lists, tuples and dicts as JSON, with numbered leaves.

A node is ``{"leaf": number}``, ``{"constant": value}`` for a number, a string or None that is part
of the program, ``{"list": [...]}``, ``{"tuple": [...]}`` or ``{"dict": [[key, node], ...]}``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from ..errors import ArgumentError, type_name

_CONSTANTS: Final = (bool, int, float, str)
_KINDS: Final = ("leaf", "constant", "list", "tuple", "dict")


def flatten(
    x: Any, name: str, is_leaf: Callable[[Any], bool], leaves: list[tuple[str, Any]], where: str
) -> dict[str, Any]:
    """Return the node of a tree, and add its leaves with their names to ``leaves``.

    Raises ArgumentError for anything that is no leaf, number, string, None, list, tuple or dict.
    """
    if is_leaf(x):
        leaves.append((name, x))
        return {"leaf": len(leaves) - 1}
    if x is None or type(x) in _CONSTANTS:
        if isinstance(x, float) and not math.isfinite(x):
            return {"constant": {"float": repr(x)}}
        return {"constant": x}
    if isinstance(x, dict):
        for key in x:
            if type(key) not in (str, int):
                raise ArgumentError(
                    f"{where}: a key of {name} is a {type_name(key)}, expected strings or integers")
        return {"dict": [
            [k, flatten(v, f"{name}[{k!r}]", is_leaf, leaves, where)] for k, v in x.items()]}
    if isinstance(x, (list, tuple)):
        return {"list" if isinstance(x, list) else "tuple": [
            flatten(v, f"{name}[{i}]", is_leaf, leaves, where) for i, v in enumerate(x)]}
    raise ArgumentError(
        f"{where}: {name} is a {type_name(x)}, expected tensors, numbers, strings and None, in "
        "lists, tuples and dicts")


def _constant(value: Any) -> Any:
    return float(value["float"]) if isinstance(value, dict) else value


def build(node: dict[str, Any], leaves: Sequence[Any]) -> Any:
    """Return the tree of a node with these leaves."""
    kind, inner = next(iter(node.items()))
    if kind == "leaf":
        return leaves[inner]
    if kind == "constant":
        return _constant(inner)
    if kind == "dict":
        return {k: build(v, leaves) for k, v in inner}
    items = [build(v, leaves) for v in inner]
    return items if kind == "list" else tuple(items)


def match(node: dict[str, Any], x: Any, name: str, leaves: list[Any], where: str) -> None:
    """Add the leaves of a tree of the same nesting. Raises ArgumentError, which names the part."""
    kind, inner = next(iter(node.items()))
    if kind == "leaf":
        if isinstance(x, (list, tuple, dict)) or x is None:
            raise ArgumentError(f"{where}: {name} is a {type_name(x)}, expected a tensor")
        leaves.append(x)
    elif kind == "constant":
        value = _constant(inner)
        same = type(x) is type(value) and (x == value or x != x and value != value)
        if not same:
            raise ArgumentError(
                f"{where}: {name} is {x!r:.60}, expected {value!r}, which is part of the program; "
                "pass a tensor when exporting for what is to change from call to call")
    elif kind == "dict":
        keys = [k for k, _ in inner]
        if not isinstance(x, dict) or set(x) != set(keys):
            given = f"has the keys {list(x)}" if isinstance(x, dict) else f"is a {type_name(x)}"
            raise ArgumentError(f"{where}: {name} {given}, expected a dict of the keys {keys}")
        for k, v in inner:
            match(v, x[k], f"{name}[{k!r}]", leaves, where)
    else:
        if not isinstance(x, (list, tuple)) or len(x) != len(inner):
            given = (f"has {len(x)} elements" if isinstance(x, (list, tuple))
                     else f"is a {type_name(x)}")
            raise ArgumentError(f"{where}: {name} {given}, expected a {kind} of {len(inner)}")
        for i, v in enumerate(inner):
            match(v, x[i], f"{name}[{i}]", leaves, where)


def check(node: Any, count: int, seen: list[int]) -> None:
    """Raise ValueError for JSON that is no tree of leaves below ``count``; lists those it has."""
    if not isinstance(node, dict) or len(node) != 1:
        raise ValueError(f"a tree has the part {node!r:.60}")
    kind, inner = next(iter(node.items()))
    if kind not in _KINDS:
        raise ValueError(f"a tree has a part of the kind {kind!r}, expected one of {_KINDS}")
    if kind == "leaf":
        if type(inner) is not int or not 0 <= inner < count:
            raise ValueError(f"a tree has the leaf {inner!r:.60} of {count}")
        seen.append(inner)
    elif kind == "constant":
        if isinstance(inner, dict):
            if set(inner) != {"float"} or inner["float"] not in ("nan", "inf", "-inf"):
                raise ValueError(f"a tree has the constant {inner!r:.60}")
        elif inner is not None and type(inner) not in _CONSTANTS:
            raise ValueError(f"a tree has the constant {inner!r:.60}")
    elif not isinstance(inner, list):
        raise ValueError(f"a tree has a {kind} of {inner!r:.60}")
    else:
        for item in inner:
            if kind == "dict":
                if not isinstance(item, list) or len(item) != 2 or (
                    type(item[0]) not in (str, int)
                ):
                    raise ValueError(f"a tree has a dict with the entry {item!r:.60}")
                check(item[1], count, seen)
            else:
                check(item, count, seen)
