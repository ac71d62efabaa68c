"""Lists, tuples and dicts of tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def tree_map(f: Callable[[Any], Any], tree: Any, leaf: type) -> Any:
    """``f`` of every leaf of nested lists, tuples and dicts, in order, in the same nesting.

    Whatever is neither of these nor None counts as a leaf.
    """
    if isinstance(tree, leaf):
        return f(tree)
    if isinstance(tree, dict):
        return {k: tree_map(f, v, leaf) for k, v in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*[tree_map(f, v, leaf) for v in tree])
    if isinstance(tree, (list, tuple)):
        return type(tree)([tree_map(f, v, leaf) for v in tree])
    if tree is None:
        return None
    return f(tree)


def tree_leaves(tree: Any, leaf: type) -> Iterator[Any]:
    """The instances of ``leaf`` in nested lists, tuples and dicts, in order."""
    if isinstance(tree, leaf):
        yield tree
    elif isinstance(tree, dict):
        for v in tree.values():
            yield from tree_leaves(v, leaf)
    elif isinstance(tree, (list, tuple)):
        for v in tree:
            yield from tree_leaves(v, leaf)
