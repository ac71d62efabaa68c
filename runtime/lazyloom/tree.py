"""Lists, tuples and dicts of tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from .errors import ArgumentError


def tree_map(f: Callable[[Any], Any], tree: Any, leaf: type) -> Any:
    """``f`` of every leaf of nested lists, tuples and dicts, in order, in the same nesting.

    Anything that is neither of these nor None counts as a leaf.

    Example:

        >>> lazyloom.tree_map(lambda x: x * 10, {"a": [1, 2], "b": None}, np.ndarray)
        {'a': [10, 20], 'b': None}
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


class TreeDef:
    """The nesting of a tree, without its leaves.

    Attributes:
        kind: ``"leaf"``, ``"none"`` (None, which is an empty tree), ``"dict"`` or ``"sequence"``.
        type: of a dict or sequence.
        keys: of a dict, in order.
        children: of a dict or sequence.
    """

    __slots__ = ("kind", "type", "keys", "children", "count")

    def __init__(
        self, kind: str, type: Any = None, keys: tuple[Any, ...] = (),
        children: tuple[TreeDef, ...] = (),
    ) -> None:  # fmt: skip
        self.kind: Final = kind
        self.type: Final = type
        self.keys: Final = keys
        self.children: Final = children
        #: number of leaves
        self.count: Final[int] = 1 if kind == "leaf" else sum([c.count for c in children])

    def build(self, leaves: Iterable[Any]) -> Any:
        """The tree of this nesting with these leaves."""
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.kind == "leaf":
            return next(leaves)
        if self.kind == "none":
            return None
        items = [c._build(leaves) for c in self.children]
        if self.kind == "dict":
            return dict(zip(self.keys, items, strict=True))
        if hasattr(self.type, "_fields"):
            return self.type(*items)
        return (list if issubclass(self.type, list) else tuple)(items)

    def leaves_of(self, tree: Any, name: str, nothing: bool = False) -> list[Any]:
        """The leaves of another tree of this nesting.

        Args:
            name: what the tree is called in messages.
            nothing: None may stand for any part of it, and is then each leaf of that part.

        Raises ArgumentError if the nesting differs.
        """
        leaves: list[Any] = []
        self._match(tree, name, leaves, nothing, False)
        return leaves

    def broadcast(self, prefix: Any, name: str) -> list[Any]:
        """One leaf for each of this tree, from a tree whose leaves may stand for whole parts.

        Raises ArgumentError if the nesting differs.
        """
        leaves: list[Any] = []
        self._match(prefix, name, leaves, True, True)
        return leaves

    def _match(self, tree: Any, name: str, leaves: list[Any], nothing: bool, prefix: bool) -> None:
        if self.kind == "leaf" or nothing and tree is None or prefix and not isinstance(
            tree, (dict, list, tuple)
        ):
            if self.kind == "leaf" and isinstance(tree, (dict, list, tuple)):
                raise ArgumentError(f"{name} is a {type(tree).__name__}, expected a single value")
            leaves.extend([tree] * self.count)
        elif self.kind == "none":
            if tree is not None:
                raise ArgumentError(f"{name} is a {type(tree).__name__}, expected None")
        elif self.kind == "dict":
            if not isinstance(tree, dict) or set(tree) != set(self.keys):
                actual = f"has the keys {list(tree)}" if isinstance(tree, dict) else (
                    f"is a {type(tree).__name__}")
                raise ArgumentError(f"{name} {actual}, expected a dict of the keys "
                                    f"{list(self.keys)}")
            for key, child in zip(self.keys, self.children, strict=True):
                child._match(tree[key], f"{name}[{key!r}]", leaves, nothing, prefix)
        else:
            n = len(self.children)
            if not isinstance(tree, (list, tuple)) or len(tree) != n:
                actual = f"has {len(tree)} elements" if isinstance(tree, (list, tuple)) else (
                    f"is a {type(tree).__name__}")
                raise ArgumentError(f"{name} {actual}, expected a {self.type.__name__} of {n}")
            for i, child in enumerate(self.children):
                child._match(tree[i], f"{name}[{i}]", leaves, nothing, prefix)


def flatten(tree: Any, leaf: type) -> tuple[list[Any], TreeDef]:
    """The leaves of nested lists, tuples and dicts, in order, and the nesting.

    Anything that is neither of these nor None, and every ``leaf``, counts as a leaf.

    Example:

        >>> leaves, nesting = lazyloom.tree_flatten({"b": 3, "a": [1, None, 2]}, np.ndarray)
        >>> leaves
        [3, 1, 2]
        >>> nesting.build([30, 10, 20])
        {'b': 30, 'a': [10, None, 20]}
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaf, leaves)


def _flatten(tree: Any, leaf: type, leaves: list[Any]) -> TreeDef:
    if not isinstance(tree, leaf):
        if tree is None:
            return TreeDef("none")
        if isinstance(tree, dict):
            children = tuple([_flatten(v, leaf, leaves) for v in tree.values()])
            return TreeDef("dict", type(tree), tuple(tree), children)
        if isinstance(tree, (list, tuple)):
            return TreeDef(
                "sequence", type(tree), (), tuple([_flatten(v, leaf, leaves) for v in tree]))
    leaves.append(tree)
    return TreeDef("leaf")
