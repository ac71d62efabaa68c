"""Rules of functions that arrange elements in other shapes, or take some of them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

from .._core import axes, axis, numel, shape_of
from .._tensor import Tensor
from .calling import HANDLERS, REPLICATE, RULES, Call, Way, local_shape
from .placements import Partial, Placement, Shard
from .rules import WHOLE, by_labels
from .tensors import DTensor, dtensor, laid

# -- dimensions in another order ------------------------------------------------------------------


def _moving(order_of: Any) -> Any:
    """A rule of a view whose dimensions are an operand's: ``order_of(call)``, -1 for new ones."""

    def rule(call: Call) -> list[Way]:
        o = call.operands[0]
        order = order_of(call, o)
        if order is None:
            return []
        result: list[Hashable] = [WHOLE if d < 0 else d for d in order]
        ways = by_labels([range(o.ndim)], result)
        return ways + [Way([p], p) for p in set(o.placements) if isinstance(p, Partial)]

    return rule


def _transposed(call: Call, o: Any) -> list[int]:
    order = list(range(o.ndim))
    given = [v for k, v in call.bound().items() if k not in ("input", "self")]
    a, b = axis(given[0], o.ndim), axis(given[1], o.ndim)
    if o.ndim:
        order[a], order[b] = order[b], order[a]
    return order


def _t(call: Call, o: Any) -> list[int]:
    return list(range(o.ndim))[::-1]


def _permuted(call: Call, o: Any) -> list[int] | None:
    given = call.given("dims")
    if given is None:
        return None
    return [axis(d, o.ndim) for d in shape_of(given if isinstance(given, tuple) else (given,))]


def _movedim(call: Call, o: Any) -> list[int] | None:
    source, to = call.given("source"), call.given("destination")
    if source is None:
        return None
    a, b = axes(source, o.ndim), axes(to, o.ndim)
    order: list[int] = [-1] * o.ndim
    for s, t in zip(a, b, strict=True):
        order[t] = s
    rest = iter([d for d in range(o.ndim) if d not in a])
    return [d if d >= 0 else next(rest) for d in order]


def _unsqueezed(call: Call, o: Any) -> list[int]:
    at = axis(call.given("dim"), o.ndim + 1)
    return [*range(at), -1, *range(at, o.ndim)]


def _selected(call: Call, o: Any) -> list[int]:
    gone = axis(call.given("dim"), o.ndim)
    return [d for d in range(o.ndim) if d != gone]


def _split(call: Call, o: Any) -> list[int]:
    gone = axis(call.given("dim", default=0), o.ndim)
    return [-1 if d == gone else d for d in range(o.ndim)]


def _unbound(call: Call, o: Any) -> list[int]:
    gone = axis(call.given("dim", default=0), o.ndim)
    return [d for d in range(o.ndim) if d != gone]


def _repeated(call: Call, o: Any) -> list[int] | None:
    given = call.given("repeats", "sizes", "size")
    if given is None:
        return None
    counts = shape_of(given if isinstance(given, tuple) else (given,))
    new = len(counts) - o.ndim
    return [-1 if i < new or counts[i] != 1 else i - new for i in range(len(counts))]


def _repeated_along(call: Call, o: Any) -> list[int] | None:
    dim = call.given("dim")
    if dim is None or len(call.operands) > 1:
        return None
    gone = axis(dim, o.ndim)
    return [-1 if d == gone else d for d in range(o.ndim)]


for _name in ("transpose", "swapaxes", "swapdims"):
    RULES[_name] = _moving(_transposed)
RULES["t"] = _moving(_t)
RULES["view_as_complex"] = _moving(lambda call, o: list(range(o.ndim - 1)))
RULES["view_as_real"] = _moving(lambda call, o: [*range(o.ndim), -1])
RULES["permute"] = _moving(_permuted)
RULES["movedim"] = RULES["moveaxis"] = _moving(_movedim)
RULES["unsqueeze"] = _moving(_unsqueezed)
RULES["select"] = _moving(_selected)
for _name in ("split", "chunk", "split_with_sizes", "tensor_split", "unsafe_chunk",
              "unsafe_split"):
    RULES[_name] = _moving(_split)
RULES["unbind"] = _moving(_unbound)
RULES["repeat"] = _moving(_repeated)
RULES["repeat_interleave"] = _moving(_repeated_along)


# -- elements in other shapes ---------------------------------------------------------------------


def dims_of_view(shape: Sequence[int], to: Sequence[int], parts: Sequence[int]) -> dict[int, int]:
    """Which dimension of a view each dimension of a tensor is divided as, if it can be.

    Args:
        shape, to: of the tensor and of the view.
        parts: into how many parts each dimension of the tensor is divided.
    """
    found: dict[int, int] = {}
    i = j = 0
    while i < len(shape) or j < len(to):
        first, other = i, j
        a = b = 1
        if i < len(shape):
            a, i = shape[i], i + 1
        if j < len(to):
            b, j = to[j], j + 1
        while a != b:
            if a < b and i < len(shape):
                a, i = a * shape[i], i + 1
            elif j < len(to):
                b, j = b * to[j], j + 1
            else:
                return found
        while first < i - 1 and shape[first] == 1:
            first += 1
        while other < j - 1 and to[other] == 1:
            other += 1
        if first >= i or other >= j:
            continue
        n = parts[first]
        if shape[first] == to[other] or (shape[first] % n == 0 and to[other] % n == 0):
            found[first] = other
    return found


def viewed(x: DTensor, shape: Sequence[int], method: str) -> DTensor:
    """A view of other extents: what is divided stays so where the view has such a dimension."""
    mesh, old = x.device_mesh, tuple(x.shape)
    parts = [math.prod([mesh.size(i) for i, p in enumerate(x.placements)
                        if isinstance(p, Shard) and p.dim == d]) for d in range(len(old))]
    found = dims_of_view(old, shape, parts) if numel(shape) else {}
    now: list[Placement] = []
    result: list[Placement] = []
    for p in x.placements:
        if type(p) is Shard and p.dim in found:
            now.append(p)
            result.append(Shard(found[p.dim]))
        elif isinstance(p, Shard):
            now.append(REPLICATE)
            result.append(REPLICATE)
        else:
            now.append(p)
            result.append(p)
    local = laid(x, now)._local_tensor
    if mesh.get_coordinate() is not None:
        local = getattr(local, method)(local_shape(shape, mesh, result))
    return dtensor(local, mesh, result, shape)


def _sizes(x: DTensor, given: Any) -> tuple[int, ...]:
    """Sizes of as many elements, with one that may be -1."""
    sizes = list(shape_of(tuple(given)))
    if -1 in sizes:
        rest = -numel(sizes)
        at = sizes.index(-1)
        sizes[at] = x.numel() // rest if rest else 0
    if numel(sizes) != x.numel():
        raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {x.numel()}")
    return tuple(sizes)


def _view(function: Any, args: Any, kwargs: Any) -> Any:
    x = args[0] if args else kwargs["input"]
    given = args[1:] or tuple(v for k, v in kwargs.items() if k != "input")
    if not isinstance(x, DTensor) or (len(given) == 1 and hasattr(given[0], "is_floating_point")):
        return NotImplemented
    if len(given) == 1 and isinstance(given[0], Tensor):
        given = tuple(given[0].shape)
    return viewed(x, _sizes(x, given), "reshape" if function.__name__ == "reshape" else "view")


def _flatten(function: Any, args: Any, kwargs: Any) -> Any:
    def plan(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
        n = input.ndim
        a, b = axis(start_dim, n), axis(end_dim, n)
        shape = tuple(input.shape)
        if not n:
            return (1,)
        return (*shape[:a], numel(shape[a:b + 1]), *shape[b + 1:])

    x = args[0] if args else kwargs["input"]
    return viewed(x, plan(*args, **kwargs), "reshape")


def _unflatten(function: Any, args: Any, kwargs: Any) -> Any:
    def plan(input: Any, dim: int, sizes: Any) -> Any:
        at = axis(dim, input.ndim)
        shape, sizes = tuple(input.shape), list(shape_of((sizes,)))
        if -1 in sizes:
            sizes[sizes.index(-1)] = shape[at] // -numel(sizes)
        return (*shape[:at], *sizes, *shape[at + 1:])

    x = args[0] if args else kwargs["input"]
    return viewed(x, plan(*args, **kwargs), "view")


def _squeeze(function: Any, args: Any, kwargs: Any) -> Any:
    x = args[0] if args else kwargs["input"]
    given = args[1:] or tuple(v for k, v in kwargs.items() if k != "input")
    shape = tuple(x.shape)
    gone = (set(range(x.ndim)) if not given
            else set(axes(given[0] if len(given) == 1 else given, x.ndim)))
    return viewed(x, tuple(n for d, n in enumerate(shape) if d not in gone or n != 1), "view")


def _expand(function: Any, args: Any, kwargs: Any) -> Any:
    x = args[0] if args else kwargs["input"]
    given = args[1:] or tuple(v for k, v in kwargs.items() if k not in ("input", "implicit"))
    if not isinstance(x, DTensor):
        return NotImplemented
    if len(given) == 1 and isinstance(given[0], Tensor):
        given = tuple(given[0].shape)
    sizes = list(shape_of(tuple(given)))
    new = len(sizes) - x.ndim
    for i, n in enumerate(x.shape):
        if sizes[new + i] == -1:
            sizes[new + i] = n
    now: list[Placement] = []
    result: list[Placement] = []
    for p in x.placements:
        if isinstance(p, Shard) and sizes[new + p.dim] == x.shape[p.dim]:
            now.append(p)
            result.append(Shard(p.dim + new) if type(p) is Shard else p)
        else:
            now.append(REPLICATE if isinstance(p, Shard) else p)
            result.append(now[-1])
    local = laid(x, now)._local_tensor
    if x.device_mesh.get_coordinate() is not None:
        local = local.expand(local_shape(sizes, x.device_mesh, result))
    return dtensor(local, x.device_mesh, result, sizes)


for _name in ("view", "reshape", "view_as", "reshape_as"):
    HANDLERS[_name] = _view
HANDLERS["ravel"] = lambda function, args, kwargs: viewed(args[0], (args[0].numel(),), "reshape")
HANDLERS["flatten"] = _flatten
HANDLERS["unflatten"] = _unflatten
HANDLERS["squeeze"] = _squeeze
HANDLERS["expand"] = HANDLERS["expand_as"] = HANDLERS["broadcast_to"] = _expand


# -- indexing -------------------------------------------------------------------------------------


def _indexed(index: Any, ndim: int) -> list[int] | None:
    """Where each dimension of ``x[index]`` comes from, -1 for what is not divided; None if data
    decide."""
    parts = index if isinstance(index, tuple) else (index,)
    if any(isinstance(p, (Tensor, list)) or type(p) is bool or hasattr(p, "dtype")
           for p in parts):
        return None
    used = sum(p is not None and p is not Ellipsis for p in parts)
    if sum(p is Ellipsis for p in parts) == 0:
        parts = (*parts, Ellipsis)
    order: list[int] = []
    d = 0
    for p in parts:
        if p is None:
            order.append(-1)
        elif p is Ellipsis:
            order += range(d, d + ndim - used)
            d += ndim - used
        elif isinstance(p, slice):
            order.append(d if p == slice(None) else -1)
            d += 1
        else:
            d += 1
    return order


def _getitem_order(call: Call, o: Any) -> list[int] | None:
    return _indexed(call.args[1], o.ndim) if len(call.operands) == 1 else None


RULES["getitem"] = _moving(_getitem_order)
