"""``torch.utils._pytree``: nested containers taken apart into their leaves, and put together.

Containers are tuples, lists, dicts and their kin of the standard library, named tuples, and what
:func:`register_pytree_node` adds. None is a leaf, as in PyTorch.
"""

from __future__ import annotations

import operator
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

Context = Any
PyTree = Any
FlattenFunc = Callable[[Any], tuple[list[Any], Any]]
UnflattenFunc = Callable[[Iterable[Any], Any], Any]


class NodeDef(NamedTuple):
    """How a class of containers is taken apart and put together."""

    type: type[Any]
    flatten_fn: FlattenFunc
    unflatten_fn: UnflattenFunc
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None


#: the classes of containers
SUPPORTED_NODES: dict[type[Any], NodeDef] = {}


def register_pytree_node(
    cls: type[Any], flatten_fn: FlattenFunc, unflatten_fn: UnflattenFunc, *,
    serialized_type_name: str | None = None, to_dumpable_context: Any = None,
    from_dumpable_context: Any = None, flatten_with_keys_fn: Any = None,
) -> None:
    """Make a class a container: ``flatten_fn(x)`` gives its children and a context, from which
    ``unflatten_fn(children, context)`` makes one. ValueError if it is one already."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as a pytree node")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


def _register_pytree_node(cls: type[Any], flatten_fn: FlattenFunc, unflatten_fn: UnflattenFunc,
                          **kwargs: Any) -> None:
    """The older name; a second registration replaces the first."""
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn)


def register_dataclass(cls: type[Any], *, field_names: list[str] | None = None,
                       drop_field_names: list[str] | None = None,
                       serialized_type_name: str | None = None) -> None:
    """Make a dataclass a container of its fields."""
    names = field_names or [n for n in getattr(cls, "__dataclass_fields__", {})
                            if n not in (drop_field_names or ())]
    register_pytree_node(
        cls, lambda x: ([getattr(x, n) for n in names], None),
        lambda children, context: cls(**dict(zip(names, children))),
        flatten_with_keys_fn=lambda x: ([(GetAttrKey(n), getattr(x, n)) for n in names], None))


# -- keys of a path -------------------------------------------------------------------------


class _Key:
    """A step of a path: one field, which is written in ``text`` and read by ``read``."""

    text: ClassVar[str] = "[{!r}]"
    read: ClassVar[Any] = staticmethod(operator.getitem)

    def _field(self) -> Any:
        (only,) = vars(self).values()
        return only

    def __str__(self) -> str:
        return self.text.format(self._field())

    def get(self, tree: Any) -> Any:
        """What the step leads to."""
        return self.read(tree, self._field())


@dataclass(frozen=True)
class SequenceKey(_Key):
    """A place in a list or tuple."""

    idx: int


@dataclass(frozen=True)
class MappingKey(_Key):
    """A key of a dict."""

    key: Any


@dataclass(frozen=True)
class GetAttrKey(_Key):
    """An attribute."""

    name: str
    text = ".{}"
    read = staticmethod(getattr)


KeyPath = tuple[Any, ...]


def keystr(kp: KeyPath) -> str:
    """A path as Python would write it."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What a path leads to."""
    for key in kp:
        obj = key.get(obj)
    return obj


# -- structure ------------------------------------------------------------------------------


@dataclass(frozen=True)
class TreeSpec:
    """The nesting of a tree: the class of its root, what that needs beside its children, and
    theirs. A leaf has the type None."""

    type: Any
    context: Any = None
    children_specs: list[TreeSpec] = field(default_factory=list)

    @property
    def num_leaves(self) -> int:
        return 1 if self.type is None else sum(c.num_leaves for c in self.children_specs)

    @property
    def num_children(self) -> int:
        return len(self.children_specs)

    @property
    def num_nodes(self) -> int:
        return 1 + sum(c.num_nodes for c in self.children_specs)

    def is_leaf(self) -> bool:
        return self.type is None

    def children(self) -> list[TreeSpec]:
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        return self.children_specs[index]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with other leaves. ValueError unless there are as many."""
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of a tree that stand where this one has leaves.

        ValueError if it is nested in another way.
        """
        if self.type is None:
            return [tree]
        node = _node(tree)
        if node is None or node.type is not self.type:
            raise ValueError(f"expected a {self.type.__name__}, got {type(tree).__name__}")
        children, context = node.flatten_fn(tree)
        children = list(children)
        if len(children) != len(self.children_specs) or (
                context != self.context and not isinstance(tree, (defaultdict, deque))):
            raise ValueError(f"expected {len(self.children_specs)} children with {self.context!r}, "
                             f"got {len(children)} with {context!r}")
        return [part for spec, child in zip(self.children_specs, children)
                for part in spec.flatten_up_to(child)]


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    def __init__(self) -> None:
        super().__init__(None)


_LEAF = TreeSpec(None)


def _is_namedtuple(cls: type[Any]) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def _flatten_namedtuple(x: Any) -> tuple[list[Any], Any]:
    return list(x), type(x)


_NAMED = NodeDef(
    tuple, _flatten_namedtuple, lambda children, cls: cls(*children),
    lambda x: ([(GetAttrKey(n), getattr(x, n)) for n in x._fields], type(x)))


def _node(tree: Any) -> NodeDef | None:
    found = SUPPORTED_NODES.get(type(tree))
    if found is None and _is_namedtuple(type(tree)):
        return _NAMED._replace(type=type(tree))
    return found


def _get_node_type(tree: Any) -> Any:
    """The class by which a tree is taken apart; ``namedtuple`` for named tuples."""
    return namedtuple if _is_namedtuple(type(tree)) else type(tree)


def _sequence(make: Callable[[Iterable[Any]], Any]) -> tuple[Any, Any, Any]:
    return (lambda x: (list(x), None), lambda children, context: make(children),
            lambda x: ([(SequenceKey(i), v) for i, v in enumerate(x)], None))


def _mapping(make: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    return (lambda x: (list(x.values()), list(x)),
            lambda children, keys: make(zip(keys, children)),
            lambda x: ([(MappingKey(k), v) for k, v in x.items()], list(x)))


for _cls, (_apart, _together, _keyed) in {
    tuple: _sequence(tuple), list: _sequence(list), dict: _mapping(dict),
    OrderedDict: _mapping(OrderedDict),
    deque: (lambda x: (list(x), x.maxlen), lambda children, n: deque(children, maxlen=n),
            lambda x: ([(SequenceKey(i), v) for i, v in enumerate(x)], x.maxlen)),
    defaultdict: (
        lambda x: (list(x.values()), [x.default_factory, list(x)]),
        lambda children, context: defaultdict(context[0], zip(context[1], children)),
        lambda x: ([(MappingKey(k), v) for k, v in x.items()], [x.default_factory, list(x)])),
}.items():
    register_pytree_node(_cls, _apart, _together, flatten_with_keys_fn=_keyed)


_dict_flatten, _dict_unflatten, _dict_flatten_with_keys = _mapping(dict)
_list_flatten, _list_unflatten, _list_flatten_with_keys = _sequence(list)


def is_namedtuple(obj: Any) -> bool:
    """Whether something is a named tuple."""
    return _is_namedtuple(obj if isinstance(obj, type) else type(obj))


def tree_is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether a tree is no container, or is said to be none."""
    return (is_leaf is not None and is_leaf(tree)) or _node(tree) is None


_is_leaf = tree_is_leaf


def _walk(tree: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeSpec:
    node = None if is_leaf is not None and is_leaf(tree) else _node(tree)
    if node is None:
        leaves.append(tree)
        return _LEAF
    children, context = node.flatten_fn(tree)
    return TreeSpec(node.type, context, [_walk(c, leaves, is_leaf) for c in children])


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None
                 ) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree in order, and its structure."""
    leaves: list[Any] = []
    spec = _walk(tree, leaves, is_leaf)
    return leaves, spec


def _build(spec: TreeSpec, leaves: Iterator[Any]) -> Any:
    if spec.type is None:
        return next(leaves)
    children = [_build(c, leaves) for c in spec.children_specs]
    node = SUPPORTED_NODES.get(spec.type) or _NAMED
    return node.unflatten_fn(children, spec.context)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of this structure with these leaves. ValueError unless there are as many."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"tree_unflatten: expected a TreeSpec, not {type(treespec).__name__}")
    given = list(leaves)
    if len(given) != treespec.num_leaves:
        raise ValueError(f"tree_unflatten: {len(given)} leaves for a structure of "
                         f"{treespec.num_leaves}")
    return _build(treespec, iter(given))


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of a tree in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """An iterator over the leaves of a tree in order."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any,
             is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """``func`` of every leaf, with what stands at its place in the other trees."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return tree_unflatten([func(*parts) for parts in zip(leaves, *others)], spec)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any,
              is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """``func`` of every leaf for what it does; the tree itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for parts in zip(leaves, *[spec.flatten_up_to(r) for r in rests]):
        func(*parts)
    return tree


def _chosen(which: Any) -> Callable[[Any], bool]:
    return (lambda x: isinstance(x, which)) if isinstance(which, (type, tuple)) or hasattr(
        which, "__args__") else which


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Any]:
    """Makes of a function one that leaves other things than those of a type as they are."""
    chosen = _chosen(type_or_types_or_pred)
    return lambda func: lambda x: func(x) if chosen(x) else x


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any,
                  is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """``func`` of the leaves of a type, or of those that a predicate holds for."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any,
                   is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """As :func:`tree_map_only`, for what ``func`` does; the tree itself."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any,
             is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether a predicate holds for every leaf."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any,
             is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether a predicate holds for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any,
                  is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether a predicate holds for every leaf of a type."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any,
                  is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether a predicate holds for a leaf of a type."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _walk_paths(tree: Any, path: KeyPath, found: list[tuple[KeyPath, Any]], is_leaf: Any) -> None:
    node = None if is_leaf is not None and is_leaf(tree) else _node(tree)
    if node is None:
        found.append((path, tree))
    elif node.flatten_with_keys_fn is None:
        raise ValueError(f"{node.type} was registered without flatten_with_keys_fn")
    else:
        for key, child in node.flatten_with_keys_fn(tree)[0]:
            _walk_paths(child, (*path, key), found, is_leaf)


def tree_flatten_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None
                           ) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves of a tree, each with the path to it; and the structure."""
    found: list[tuple[KeyPath, Any]] = []
    _walk_paths(tree, (), found, is_leaf)
    return found, tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None
                          ) -> list[tuple[KeyPath, Any]]:
    """The leaves of a tree, each with the path to it."""
    return tree_flatten_with_path(tree, is_leaf)[0]


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any,
                       is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """``func`` of the path of every leaf, the leaf, and what stands there in the other trees."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return tree_unflatten(
        [func(path, leaf, *more) for (path, leaf), *more in zip(found, *others)], spec)
