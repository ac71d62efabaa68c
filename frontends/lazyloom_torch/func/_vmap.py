"""``vmap``: a function of one element becomes one of a whole dimension."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import lazyloom
from lazyloom.errors import ArgumentError, LoomError

from .._draws import mapped_draws
from .._errors import as_torch
from .._functions.shaping import cat
from .._tensor import Tensor
from ._trees import flatten, plain


def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that does for every element of a dimension of its arguments what ``func`` does
    for one.

    Args:
        func: takes and returns tensors, alone or nested. It runs once, on tensors that lack the
            dimension, and may not look at their data.
        in_dims: which dimension of the arguments is mapped: an int for all of them, or nested as
            the positional arguments, None for what is the same for every element. Keyword
            arguments are not mapped.
        out_dims: where the dimension goes in the results, likewise; None for what is the same
            for every element.
        randomness: what drawing random numbers does: ``"error"`` raises RuntimeError, ``"same"``
            draws once for all elements, ``"different"`` for each.
        chunk_size: elements that are computed at once, by default all.

    Raises (when called):
        ValueError: dimensions do not fit the arguments or results, or their sizes differ.
        RuntimeError: ``func`` draws random numbers under ``"error"``, reads data, or writes in
            place to a tensor that it did not make.
    """
    if randomness not in ("error", "same", "different"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}")
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", repr(func))

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        leaves, nesting = flatten(list(args))
        dims, size = _input_dims(name, in_dims, leaves, nesting, len(args))
        if chunk_size is None or size <= chunk_size:
            return _once(func, name, leaves, nesting, dims, size, out_dims, randomness, kwargs)
        parts: list[Any] = []
        for start in range(0, size, chunk_size):
            count = min(chunk_size, size - start)
            some = [t if d is None else t.narrow(d, start, count)
                    for t, d in zip(leaves, dims, strict=True)]
            parts.append(
                _once(func, name, some, nesting, dims, count, out_dims, randomness, kwargs))
        return _joined(parts, out_dims)

    return wrapper


def _input_dims(
    name: str, in_dims: Any, leaves: list[Any], nesting: Any, count: int
) -> tuple[list[int | None], int]:
    """The mapped dimension of each leaf of the arguments, and its size."""
    what = f"vmap({name}, in_dims={in_dims!r}, ...)(<inputs>)"
    if isinstance(in_dims, list):
        in_dims = tuple(in_dims)
    if not isinstance(in_dims, (int, tuple)) or isinstance(in_dims, bool):
        raise ValueError(
            f"{what}: expected in_dims to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}.")
    if not count:
        raise ValueError(f"{what}: got no inputs; there is nothing to map over")
    try:
        prefix = in_dims if isinstance(in_dims, int) else list(in_dims)
        dims: list[Any] = nesting.broadcast(prefix, "in_dims")
    except LoomError as error:
        raise ValueError(
            f"{what}: in_dims is not compatible with the structure of inputs: {error}") from None
    size: int | None = None
    found: list[int | None] = []
    for t, d in zip(leaves, dims, strict=True):
        if d is None:
            found.append(None)
            continue
        if not isinstance(d, int) or isinstance(d, bool):
            raise ValueError(
                f"{what}: Got in_dim={d!r} for an input but in_dim must be either an integer "
                "dimension or None.")
        if not isinstance(t, Tensor):
            raise ValueError(
                f"{what}: Got in_dim={d} for an input but the input is of type {type(t)}. We "
                "cannot vmap over non-Tensor arguments, please use None as the respective in_dim")
        shape = t.tensor_type.shape
        if not -len(shape) <= d < len(shape):
            raise ValueError(
                f"{what}: Got in_dim={d} for some input, but that input is a Tensor of "
                f"dimensionality {len(shape)} so expected in_dim to satisfy -{len(shape)} <= "
                f"in_dim < {len(shape)}.")
        found.append(d % len(shape))
        if size is None:
            size = shape[d]
        elif shape[d] != size:
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got "
                f"sizes {[size, shape[d]]} for the mapped dimension")
    if size is None:
        raise ValueError(
            f"{what}: at least one input must be mapped over; in_dims is None for all of them")
    return found, size


def _once(
    func: Callable[..., Any], name: str, leaves: list[Any], nesting: Any, dims: list[int | None],
    size: int, out_dims: Any, randomness: str, kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    """The function mapped over its whole dimension."""
    places = [i for i, d in enumerate(dims) if d is not None]
    owners, leaves = leaves, plain(leaves)
    results: list[Any] = []

    def body(number: Tensor, *given: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        full = list(leaves)
        for i, t in zip(places, given, strict=True):
            full[i] = t
        versions = [t._version for t in given]
        with mapped_draws(randomness, number.value):
            found = func(*nesting.build(full), **kwargs)
        made, structure = flatten(found)
        for t in made:
            if not isinstance(t, Tensor):
                raise ValueError(
                    f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(t)}.")
        written = [i for i, t, v in zip(places, given, versions, strict=True) if t._version != v]
        dims_out = _output_dims(name, out_dims, structure, found)
        results.append((structure, dims_out, written))
        along = [t for t, d in zip(made, dims_out, strict=True) if d is not None]
        alike = [t for t, d in zip(made, dims_out, strict=True) if d is None]
        return (*along, *[full[i] for i in written]), tuple(alike)

    numbers = Tensor.from_value(lazyloom.record("iota", [], {
        "shape": (size,), "axis": 0, "dtype": lazyloom.dtypes.int64}))
    given = [leaves[i] for i in places]
    mapping = lazyloom.vmap(body, in_axes=(0, *[dims[i] for i in places]),
                            out_axes=(0, None))
    try:
        along, alike = mapping(numbers, *given)
    except LoomError as error:
        if results and None in results[0][1] and isinstance(error, ArgumentError):
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            ) from None
        raise as_torch(error) from None
    structure, places_out, written = results[0]
    for i, t in zip(written, along[len(along) - len(written):], strict=True):
        owners[i].copy_(t.movedim(0, dims[i]))
    moved, same = iter(along), iter(alike)
    return structure.build(
        next(same) if d is None else _placed(next(moved), d, name) for d in places_out)


def _output_dims(name: str, out_dims: Any, structure: Any, found: Any) -> list[Any]:
    what = f"vmap({name}, ..., out_dims={out_dims!r})"
    if isinstance(out_dims, tuple) and isinstance(found, Tensor) and len(out_dims) == 1:
        out_dims = out_dims[0]
    try:
        dims: list[Any] = structure.broadcast(out_dims, "out_dims")
    except LoomError as error:
        raise ValueError(
            f"{what}: out_dims is not compatible with the structure of the outputs: "
            f"{error}") from None
    for d in dims:
        if d is not None and (not isinstance(d, int) or isinstance(d, bool)):
            raise ValueError(
                f"{what}: out_dims must be an int, None or nested as the outputs, got {d!r}")
    return dims


def _placed(t: Tensor, place: int, name: str) -> Tensor:
    """A result with the mapped dimension where it is wanted."""
    ndim = len(t.tensor_type.shape)
    if not -ndim <= place < ndim:
        raise IndexError(
            f"vmap({name}, ...): out_dims has {place}, expected a dimension between {-ndim} and "
            f"{ndim - 1}")
    return t if place % ndim == 0 else Tensor.from_value(t.movedim(0, place).value)


def _joined(parts: list[Any], out_dims: Any) -> Any:
    """Results of chunks as one."""
    structure = flatten(parts[0])[1]
    dims = _output_dims("function", out_dims, structure, parts[0])
    columns = zip(*[flatten(p)[0] for p in parts], strict=True)
    return structure.build(
        cat(list(column), dim=d or 0) for column, d in zip(columns, dims, strict=True))
