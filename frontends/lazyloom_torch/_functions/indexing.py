"""``x[...]``, ``x[...] = y``, and the named indexing functions.

Integers, slices, ``None`` and ``...`` make views. Tensors, lists, arrays and masks make
copies; as in PyTorch integers beside them count as selections, not as indices. A mask's
number of true elements is read, since it is the result's shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import lazyloom
from lazyloom.dtypes import bool_, int32, int64, uint8
from lazyloom.errors import type_name
from lazyloom.frontend import (
    Reshape,
    Select,
    index_key,
    same_view,
    write_element,
    write_lock,
)

from .._core import broadcast_shapes, cast, numel, record, record_two, scalar, spec
from .._elementwise import alike
from .._errors import not_a_tensor
from .._inference import seen as inference
from .._interchange import is_foreign, operand_of
from .._promotion import is_number
from .._registry import declare
from .._strides import of_elements, row_major
from .._tensor import Tensor, operand
from . import bounds, views
from .convert import written_over
from .creation import tensor
from .plans import element, keep, known

_wrap = Tensor.from_value


def _as_items(index: Any) -> list[Any]:
    if isinstance(index, tuple):
        return list(index)
    if isinstance(index, list) and len(index) < 32 and any(
        i is None or i is Ellipsis or isinstance(i, (slice, list, tuple, Tensor, np.ndarray))
        for i in index
    ):
        return index  # PyTorch takes such a list for a tuple
    return [index]


def _consumed(item: Any) -> int:
    """How many dimensions an item of an index stands for."""
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    if isinstance(item, (Tensor, np.ndarray)) and _is_mask(item):
        return item.ndim
    return 1


def _is_mask(item: Any) -> bool:
    """Whether a tensor or array selects where it is true; bytes do, as in PyTorch."""
    return str(item.dtype).removeprefix("torch.") in ("bool", "uint8")


def _on_host(item: Any) -> Any:
    """A sequence of an index as a tensor, or as an array if no tensor is in it."""
    if isinstance(item, np.ndarray):
        return item
    if any(isinstance(i, Tensor) for i in item):
        return tensor(list(item))
    array = np.asarray(list(item))
    return array if array.size else array.astype(np.int64)


class _Entries:
    """An index taken apart: a rectangular part, and what is selected from it by data.

    ``kept`` holds for each dimension of the part the dimension of the tensor, None for a new one;
    ``picks`` the places in it of single positions that are data, with their values; ``advanced``
    the places of indices: Values of integers, masks (Tensors), or lists of such Values.
    """

    def __init__(self, x: Tensor, items: list[Any]) -> None:
        self.x = x
        self.shape = shape = x.tensor_type.shape
        self.starts, self.sizes, self.steps = [0] * len(shape), list(shape), [1] * len(shape)
        self.kept: list[int | None] = []
        self.picks: list[tuple[int, Any]] = []
        self.advanced: list[tuple[int, Any]] = []
        self.at = 0
        used = sum(_consumed(i) for i in items)
        if used > len(shape):
            if not shape:
                raise IndexError(
                    "invalid index of a 0-dim tensor. Use tensor.item() to convert it to a number")
            raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
        for item in items:
            if item is Ellipsis:
                self._keep(len(shape) - used)
                used = len(shape)  # a second one stands for nothing
            else:
                self._add(item)
        self._keep(len(shape) - self.at)

    def _keep(self, count: int) -> None:
        self._size()
        for _ in range(count):
            self._size()
            self.kept.append(self.at)
            self.at += 1

    def _size(self) -> int:
        """The size of the dimension that is next."""
        if self.at > len(self.shape):
            raise IndexError(f"too many indices for tensor of dimension {len(self.shape)}")
        return self.shape[self.at] if self.at < len(self.shape) else 0

    def _add(self, item: Any) -> None:
        if item is None:
            self.kept.append(None)
        elif isinstance(item, (bool, np.bool_)):
            self._no_dimension(lazyloom.from_host(np.zeros(int(item), np.int64)))
        elif isinstance(item, slice):
            start, stop, step = _bounds(item, self._size())
            self.starts[self.at], self.steps[self.at] = start, step
            self.sizes[self.at] = max(-(-(stop - start) // step), 0)
            self._keep(1)
        elif isinstance(item, (list, tuple, range, np.ndarray)):
            found = _on_host(item)
            if isinstance(found, Tensor):
                self._tensor(found)
            else:
                self._array(found)
        elif isinstance(item, Tensor):
            self._tensor(item)
        elif is_foreign(item):
            self._tensor(operand_of(item))
        elif hasattr(item, "__index__"):
            self._integer(item.__index__())
        elif isinstance(item, str):
            raise TypeError(f"an index must be integers, slices or tensors, not {item!r}")
        else:
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte tensors "
                f"are valid indices (got {type_name(item)})")

    def _integer(self, i: int) -> None:
        size = self._size()
        if not -size <= i < size:
            raise IndexError(
                f"index {i} is out of bounds for dimension {self.at} with size {size}")
        self.starts[self.at], self.sizes[self.at] = i % size, 1
        self.at += 1

    def _no_dimension(self, index: Any) -> None:
        """An index into a new dimension of size 1."""
        self.advanced.append((len(self.kept), index))
        self.kept.append(None)

    def _mask_fits(self, mask: tuple[int, ...]) -> None:
        for i, d in enumerate(mask):
            if d != self.shape[self.at + i]:
                raise IndexError(
                    f"The shape of the mask {list(mask)} at index {i} does not match the shape of "
                    f"the indexed tensor {list(self.shape)} at index {self.at + i}")

    def _array(self, array: np.ndarray) -> None:
        if array.dtype.kind not in "biu":
            raise IndexError(
                "tensors used as indices must be long, int, byte or bool tensors, not of "
                f"{array.dtype}")
        if _is_mask(array):
            if not array.ndim:
                self._add(bool(array))
                return
            self._mask_fits(array.shape)
            found = [lazyloom.from_host(i) for i in np.nonzero(array)]
            self.advanced.append((len(self.kept), found))
            self._keep(array.ndim)
            return
        if not array.ndim:
            self._integer(int(array))
            return
        value = lazyloom.from_host(np.ascontiguousarray(array.astype(np.int64)))
        self._positions(value)

    def _positions(self, value: Any) -> None:
        self.advanced.append(
            (len(self.kept), bounds.checked(value, self._size(), self.at, "index")))
        self._keep(1)

    def _tensor(self, index: Tensor) -> None:
        dtype = index.tensor_type.dtype
        if _is_mask(index):
            mask = index if dtype.kind == "b" else index != 0
            if not index.ndim:
                self._no_dimension(mask.reshape(1))
                return
            self._mask_fits(index.tensor_type.shape)
            self.advanced.append((len(self.kept), mask))
            self._keep(index.ndim)
        elif dtype.kind != "i" or index.ndim and dtype.itemsize < 4:
            raise IndexError(
                "tensors used as indices must be long, int, byte or bool tensors, not of "
                f"{index.dtype!r}")
        elif index.ndim:
            self._positions(index._operand())
        else:
            value = cast(index._operand(), int64) if dtype.itemsize < 4 else index._operand()
            known = lazyloom.known_range(value)
            if known is not None:
                self._integer(known[0])
                return
            self.picks.append((len(self.kept), value))
            self._keep(1)

    def view(self) -> Tensor:
        """The part of the tensor that the index means but for what is advanced."""
        found, sizes, whole = self.x, self.sizes, list(range(len(self.shape)))
        if self.starts != [0] * len(whole) or sizes != list(self.shape) or (
            self.steps != [1] * len(whole)
        ):
            found = views.slices(found, self.starts, sizes, self.steps)
        if self.kept != whole or (found is self.x and not self.advanced and not self.picks):
            strides = found.element_strides
            if strides is None and len(self.kept) != len(whole):
                strides = found.stride()
            found = found._share(
                Reshape(tuple(1 if d is None else sizes[d] for d in self.kept)),
                None if strides is None else self._strides(strides), found.element_offset)
        for at, value in reversed(self.picks):
            dim = self.kept[at]
            assert dim is not None
            strides = found.stride()
            found = found._share(
                Select(at, value, bounds.checked(value, self.shape[dim], dim, "index")),
                (*strides[:at], *strides[at + 1:]), found.element_offset)
        return found

    def _strides(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        """The strides of the view: a new dimension steps over the one behind it."""
        found: list[int] = []
        step = 1
        for d in reversed(self.kept):
            if d is not None:
                found.append(strides[d])
                step = strides[d] * self.sizes[d]
            else:
                found.append(step)
        return tuple(reversed(found))

    def places(self) -> list[tuple[int, Any]]:
        """Dimensions of :meth:`view` and the indices or masks for them."""
        return [(at - sum(1 for p, _ in self.picks if p < at), index)
                for at, index in self.advanced]


def _bounds(item: slice, size: int) -> tuple[int, int, int]:
    parts = [None if p is None else p.__index__() for p in (item.start, item.stop, item.step)]
    if parts[2] is not None and parts[2] <= 0:
        raise ValueError("step must be greater than zero")
    start, stop, step = slice(*parts).indices(size)
    return start, max(stop, start), step


def _positions(advanced: list[tuple[int, Any]]) -> tuple[list[int], list[Any]]:
    """Axes and integer index values, masks turned into the positions that they select."""
    axes: list[int] = []
    found: list[Any] = []
    for at, index in advanced:
        if isinstance(index, Tensor):
            many = nonzero_values(index._operand(), "a mask as an index")
        else:
            many = index if isinstance(index, list) else [index]
        for i, position in enumerate(many):
            axes.append(at + i)
            found.append(position)
    try:
        broadcast_shapes(*[v.shape for v in found])
    except RuntimeError:
        raise IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            f"{', '.join(str(list(v.shape)) for v in found)}") from None
    return axes, found


def count_true(value: Any, function: str) -> int:
    """How many elements of a Value are not zero; reads that."""
    if not value.type.size:
        return 0
    count = record("count_nonzero", [value], {"axes": None, "keepdims": False})
    return int(lazyloom.read_for_shape(count, function))


def coordinates(flat: Any, shape: tuple[int, ...]) -> list[Any]:
    """For each dimension of a shape the positions (int64) that flat ones stand for."""
    if len(shape) == 1:
        return [flat]
    found = []
    rest = numel(shape)
    for i, d in enumerate(shape):
        rest //= max(d, 1)
        here = record("floor_divide", [flat, scalar(rest, int64)]) if rest != 1 else flat
        found.append(record("remainder", [here, scalar(max(d, 1), int64)]) if i else here)
    return found


def nonzero_values(v: Any, function: str) -> list[Any]:
    """For each dimension the positions (int64) of the true elements. Reads their number."""
    flat = record("flat_nonzero", [v], {"size": count_true(v, function)})
    return coordinates(flat, v.shape)


_ROWS = spec("take", 2, {"axis": 0})


def getitem(x: Tensor, index: Any) -> Tensor:
    """``x[index]``: a view, or a copy for advanced indices."""
    one = element(x, index)
    if one is not None:
        return one
    key = index_key(index)
    if key is not None:
        key = (getitem, x.tensor_type, x.element_strides, key)
        view: Tensor | None = known(key, x)
        if view is not None:
            return view
    if isinstance(index, Tensor) and index.tensor_type.shape and x.tensor_type.shape and (
        index.tensor_type.dtype in (int32, int64)
    ):
        # the commonest advanced index: rows of a table, elements of a batch
        where = bounds.checked(index._operand(), x.tensor_type.shape[0], 0, "index")
        return _picked(_wrap(record_two(_ROWS, operand(x), where)), x, [0], [where])
    entries = _Entries(x, _as_items(index))
    found = entries.view()
    if not entries.advanced:
        if key is not None:
            keep(key, x, found)
        return found
    axes, indices = _positions(entries.places())
    v = operand(found)
    if len(axes) == 1:
        made = _wrap(record("take", [v, indices[0]], {"axis": axes[0]}))
    else:
        made = _wrap(record("index", [v, *indices], {"axes": tuple(axes)}))
    return _picked(made, found, axes, indices)


def _picked(made: Tensor, x: Tensor, axes: list[int], indices: list[Any]) -> Tensor:
    """What advanced indices select, whose dimensions that are not indexed lie as those of x."""
    if not x.slow_path:
        return made
    picks = broadcast_shapes(*[i.shape for i in indices])
    kept = [s for d, s in enumerate(x.stride()) if d not in axes]
    adjacent = axes == list(range(axes[0], axes[0] + len(axes)))
    lead, rest = (axes[0], len(kept) - axes[0]) if adjacent else (0, len(kept))
    shape = made.tensor_type.shape
    return made._laid(of_elements(shape, (
        (shape, (*kept[:lead], *(0,) * len(picks), *kept[lead:])),
        (shape, (*(0,) * lead, *row_major(picks), *(0,) * rest)))))


def stored(
    x: Tensor, value: Any, what: str = "assigned value", *, keep_scalar: bool = False,
    whole: bool = False,
) -> Any:
    """A value to be stored in x, in x's dtype.

    With ``keep_scalar`` a number stays a parameter, for ops that broadcast it themselves.
    ``whole``: the value is copied over all of x, so that of complex ones the real part is.
    """
    lazy = x.tensor_type.dtype
    if not isinstance(value, Tensor) and is_foreign(value):
        value = operand_of(value)
    if isinstance(value, Tensor):
        if value.tensor_type.dtype.is_complex and not lazy.is_complex and not whole:
            raise RuntimeError(f"a complex value cannot be stored in a {x.dtype!r} tensor")
        return cast(operand(value), lazy)
    if is_number(value):
        if isinstance(value, (complex, np.complexfloating)) and not lazy.is_complex:
            raise RuntimeError("value cannot be converted to type without overflow: complex")
        number = scalar(_fit(value, lazy), lazy)
        return number if keep_scalar else record("full", [number], {"shape": ()})
    if isinstance(value, np.ndarray):
        return cast(operand(tensor(value)), lazy)
    raise TypeError(
        f"can't assign a {type_name(value)} to a {x.dtype!r} tensor; {what} must be a tensor "
        "or a number")


def _fit(number: Any, lazy: Any) -> Any:
    if lazy.kind in "iu" and isinstance(number, (float, np.floating)):
        return int(number)
    return bool(number) if lazy.kind == "b" else number


def setitem(x: Tensor, index: Any, value: Any) -> None:
    """``x[index] = value``, in place, with broadcasting."""
    if x._leaf is None and x.alias_of is None and not inference.mode and (
        write_element(x, index, value)
    ):
        return
    advanced: list[tuple[int, Any]] = []
    key = index_key(index)
    if key is not None:
        found = known((getitem, x.tensor_type, x.element_strides, key), x)
        if found is None:
            found = getitem(x, index)
    elif index is False:
        return  # nothing is selected, whatever the value
    else:
        # True selects all of it: a copy, not a selection
        entries = _Entries(x, _as_items(None if index is True else index))
        found, advanced = entries.view(), entries.places()
    if not advanced and isinstance(value, Tensor) and value.shared is found.shared and (
        same_view(found, value) and found._has_history_of(value)
    ):
        # the second half of x[index] += y: the view was written in place already
        found._check_no_leaf()
        return
    new = stored(x, value, keep_scalar=True, whole=not advanced)
    # a number stays a scalar operand, as in every frontend, so that the programs are equal
    single = isinstance(new, lazyloom.Scalar)
    if not advanced:
        shape = found.tensor_type.shape
        if single:
            new = record("full", [new], {"shape": shape})
        elif new.shape != shape:
            new = _fitted(new, shape)
        found._assign(written_over(found, new))
        return
    if len(advanced) == 1 and isinstance(advanced[0][1], Tensor) and (
        single or new.type.size == 1
    ):
        at, mask = advanced[0]
        if not single and new.shape:
            new = record("reshape", [new], {"shape": ()})
        m = mask._operand()
        rest = found.ndim - at - len(m.shape)
        if rest:
            m = record("reshape", [m], {"shape": (*m.shape, *(1,) * rest)})
        with write_lock(found):
            found._assign(record("where", [m, new, operand(found)]), True)
        return
    if isinstance(value, Tensor):
        same_dtype(x, value, "index_put_")
    with write_lock(found):
        found._assign(_put(found, advanced, new, "set"), True)


def _put(found: Tensor, advanced: list[tuple[int, Any]], new: Any, mode: str) -> Any:
    """The contents of a view with a value stored at, or added to, advanced indices."""
    axes, indices = _positions(advanced)
    v = operand(found)
    if not isinstance(new, lazyloom.Scalar):
        lead = next((i for i, d in enumerate(new.shape) if d != 1), len(new.shape))
        if lead:
            new = record("reshape", [new], {"shape": new.shape[lead:]})
    return store("index_update", v, new, indices, {"axes": tuple(axes)}, mode)


def store(op: str, v: Any, new: Any, indices: Any, attributes: dict[str, Any], mode: str) -> Any:
    """A value with another stored or combined at indices, by one of the scattering ops.

    Truth values are added by "or" and multiplied by "and".
    """
    if v.dtype.kind == "b" and mode != "set":
        if isinstance(new, lazyloom.Scalar):
            new = record("full", [new], {"shape": ()})
        v, new = cast(v, uint8), cast(new, uint8)
        mode = {"add": "max", "multiply": "min"}.get(mode, mode)
        return cast(store(op, v, new, indices, attributes, mode), bool_)
    operands = [v, new, *indices] if op == "index_update" else [v, *indices, new]
    return record(op, operands, {**attributes, "mode": mode})


def same_dtype(x: Tensor, other: Tensor, name: str) -> None:
    """Raise RuntimeError unless two tensors have one dtype."""
    if x.tensor_type.dtype is not other.tensor_type.dtype:
        raise RuntimeError(
            f"{name}(): the tensor is {x.dtype!r} and what is stored in it {other.dtype!r}; "
            "expected one dtype")


def _fitted(new: Any, shape: tuple[int, ...]) -> Any:
    extra = len(new.shape) - len(shape)
    if extra > 0 and all(d == 1 for d in new.shape[:extra]):
        new = record("reshape", [new], {"shape": new.shape[extra:]})
    lead = len(shape) - len(new.shape)
    if lead < 0 or any(d not in (1, shape[lead + i]) for i, d in enumerate(new.shape)):
        raise RuntimeError(
            f"The expanded size of the tensor {list(shape)} must match the existing size "
            f"{list(new.shape)}: the value assigned does not broadcast to the part it is "
            "assigned to")
    return record("broadcast_to", [new], {"shape": shape}) if new.shape != shape else new


def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of input with ``values`` stored, or added, at ``input[indices]``.

    ``indices`` is a tuple of tensors, one a dimension, or None for all of it. Raises IndexError,
    and RuntimeError where the dtypes differ.
    """
    if isinstance(indices, Tensor) or not all(i is None or isinstance(i, Tensor) for i in indices):
        raise TypeError("index_put(): indices must be a tuple of Tensors, or None for a dimension")
    if not isinstance(values, Tensor):
        raise not_a_tensor(values, "index_put(): values: ")
    if len(indices) > input.ndim:
        raise IndexError(
            f"too many indices for tensor of dimension {input.ndim} (got {len(indices)})")
    same_dtype(input, values, "index_put")
    one = [slice(None) if i is None else i if i.ndim or _is_mask(i) else i.reshape(1)
           for i in indices]
    copy = views.clone(input)
    entries = _Entries(copy, one)
    if not entries.advanced:
        return copy if not accumulate else copy + values
    made = _put(copy, entries.places(), operand(values), "add" if accumulate else "set")
    return alike(_wrap(made), copy)


declare({"function method inplace-function": [index_put]})
