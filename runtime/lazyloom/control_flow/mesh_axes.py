"""The axes of the mesh over which the function is mapped that this thread records."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from ..errors import ArgumentError
from ..tensor.wrapping import wrap_as
from ..trace.recording import record

_here: Final = threading.local()


@contextmanager
def mapped_over(sizes: Mapping[str, int], like: Any) -> Iterator[None]:
    """A ``with`` block that records the function of a ``shard_map`` over axes of these sizes.

    ``like`` is one of the tensors that it is given.
    """
    if getattr(_here, "sizes", None) is not None:
        raise ArgumentError(
            "lazyloom.shard_map: it was called in a function that is mapped over a mesh already; "
            "call the inner function itself")
    _here.sizes, _here.like = sizes, like
    try:
        yield
    finally:
        _here.sizes = _here.like = None


def axis_index(axes: str | Sequence[str]) -> Any:
    """The position of a device along axes of the mesh, an int32 tensor without dimensions.

    In a function that :func:`lazyloom.shard_map` maps over a mesh. Several axes count as one, the
    first of them outermost. Raises ArgumentError elsewhere, and for axes that the mesh lacks.

    Example:

        >>> mesh = lazyloom.make_mesh({"data": 1})
        >>> add_index = lazyloom.shard_map(
        ...     lambda x: x + lazyloom.axis_index("data"), mesh=mesh, in_specs=("data",),
        ...     out_specs=("data",))
        >>> add_index(np.arange(3.0))
        array([0., 1., 2.])
    """
    value = record("axis_index", [], attributes_of("axis_index", axes))
    return wrap_as(_here.like, value)


def is_mapped() -> bool:
    """Return True while this thread records the function of a ``shard_map``."""
    return getattr(_here, "sizes", None) is not None


def attributes_of(function: str, axes: str | Sequence[str]) -> dict[str, Any]:
    """The attributes of a collective along axes. Raises ArgumentError for axes that are not there.
    """
    sizes: Mapping[str, int] | None = getattr(_here, "sizes", None)
    names = (axes,) if isinstance(axes, str) else tuple(axes)
    if sizes is None:
        raise ArgumentError(
            f"{function}: axes of a mesh ({', '.join(map(repr, names))}) were given outside a "
            "function that lazyloom.shard_map maps over it")
    size = 1
    if not names:
        raise ArgumentError(
            f"{function}: no axis was given, expected some of the mesh's: {', '.join(sizes)}")
    for name in names:
        if name not in sizes or names.count(name) > 1:
            raise ArgumentError(
                f"{function}: the axes {', '.join(map(repr, names))} were given, expected "
                f"different ones of the mesh's: {', '.join(sizes)}")
        size *= sizes[name]
    return {"group": tuple(range(size)), "world": size, "axes": ",".join(names)}
