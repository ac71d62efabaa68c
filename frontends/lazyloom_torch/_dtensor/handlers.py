"""Functions of DTensors that look after parts themselves: embeddings, random numbers, writes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import lazyloom
from lazyloom.frontend import storage_of

from .._core import record, shape_of
from .._dtypes import int64
from .._functions import creation
from .._tensor import Tensor
from .calling import HANDLERS, REPLICATE, RULES, Call, Way, call, mesh_of, replicated, tensors_in
from .moves import varying
from .placements import Partial, Placement, Shard
from .spec import local_shape_and_offset
from .tensors import DTensor, dtensor, laid


def rank_number(number: int) -> Tensor:
    """A number that differs between processes whose programs do not."""
    made = record("full", [lazyloom.Scalar(number, int64.lazy, bake=False)], {"shape": ()})
    found: Tensor = Tensor.from_value(made)
    return found


# -- embeddings of divided words ------------------------------------------------------------------


def _embedding(function: Any, args: Any, kwargs: Any) -> Any:
    """Rows that a process does not have are zeros in its term of the result."""
    mesh = mesh_of(tensors_in([*args, *kwargs.values()]), "embedding")
    made = Call(function, "embedding", args, kwargs, mesh)
    bound = made.bound()
    indices, weight = bound["input"].tensor, bound["weight"].tensor
    if not weight._is_dtensor or bound.get("max_norm") is not None or bound.get(
            "scale_grad_by_freq"):
        return NotImplemented
    rows = [isinstance(p, Shard) and p.dim == 0 for p in weight.placements]
    if not any(rows) or mesh.get_coordinate() is None:
        return NotImplemented
    if not indices._is_dtensor:
        indices = dtensor(indices, mesh, (REPLICATE,) * mesh.ndim, tuple(indices.shape))
    at: list[Placement] = []
    of_weight: list[Placement] = []
    result: list[Placement] = []
    for i, (p, w) in enumerate(zip(indices.placements, weight.placements, strict=True)):
        if rows[i]:
            at.append(REPLICATE)
            of_weight.append(w)
            result.append(Partial())
        elif isinstance(w, Shard):
            at.append(REPLICATE)
            of_weight.append(w)
            result.append(Shard(indices.ndim))
        else:
            at.append(p if isinstance(p, Shard) else REPLICATE)
            of_weight.append(REPLICATE)
            result.append(at[-1])
    given = laid(indices, at)._local_tensor
    table = laid(weight, of_weight)._local_tensor
    for d, (w, r) in enumerate(zip(of_weight, result, strict=True)):
        if w.is_replicate() and not r.is_replicate():
            table = varying(table, mesh, d)
    shape, offset = local_shape_and_offset(weight.shape, mesh, of_weight)
    padding = bound.get("padding_idx")
    if shape[0] == 0:
        made_zero = table.new_zeros((*given.shape, shape[1])) + table.sum()
        return dtensor(made_zero, mesh, result, (*indices.shape, weight.shape[1]))
    own = given - rank_number(offset[0])
    inside = (own >= 0) & (own < shape[0])
    if padding is not None:
        # its row gets no gradient, whoever has it
        padding = padding % weight.shape[0]
        kept = table[own.clamp(0, shape[0] - 1)]
        found = kept.masked_fill(~inside.unsqueeze(-1), 0)
        found = found.detach().where((given == padding).unsqueeze(-1), found)
    else:
        found = function(own.clamp(0, shape[0] - 1), table)
        found = found.masked_fill(~inside.unsqueeze(-1), 0)
    return dtensor(found, mesh, result, (*indices.shape, weight.shape[1]))


HANDLERS["embedding"] = _embedding


# -- random numbers -------------------------------------------------------------------------------


def part_of_whole(whole: Tensor, like: DTensor) -> Tensor:
    """This process's part of what all have drawn alike, divided as a tensor is."""
    mesh = like.device_mesh
    where = [p if isinstance(p, Shard) else REPLICATE for p in like.placements]
    with lazyloom.grad_mode(False):
        return laid(dtensor(whole, mesh, (REPLICATE,) * mesh.ndim, tuple(whole.shape)),
                    where)._local_tensor


def _dropout(function: Any, args: Any, kwargs: Any) -> Any:
    """The elements are dropped that one process would drop of the whole tensor."""
    x = args[0] if args else kwargs["input"]
    bound = Call(function, function.__name__, args, kwargs, x.device_mesh).bound()
    if not isinstance(x, DTensor):
        return NotImplemented
    if bound.get("inplace"):
        made = _dropout(function, (x, bound.get("p", 0.5), bound.get("training", True)), {})
        return x.copy_(made)
    p, training = bound.get("p", 0.5), bound.get("training", True)
    if not training or p == 0:
        return x.clone() if any(q.is_partial() for q in x.placements) else x
    x = laid(x, [REPLICATE if q.is_partial() else q for q in x.placements])
    if all(q.is_replicate() for q in x.placements):
        return NotImplemented
    with lazyloom.grad_mode(False):
        ones = creation.ones(tuple(x.shape), dtype=x.dtype)
        scale = part_of_whole(function(ones, p, training), x)
    return x._with(x._local_tensor * scale)


for _name in ("dropout", "alpha_dropout", "dropout1d", "dropout2d", "dropout3d"):
    if _name in ("dropout", "dropout1d", "dropout2d", "dropout3d"):
        HANDLERS[_name] = _dropout


def _drawn_like(function: Any, args: Any, kwargs: Any) -> Any:
    """``rand_like`` and its kin."""
    x = args[0] if args else kwargs["input"]
    if not isinstance(x, DTensor):
        return NotImplemented
    whole = creation.empty(tuple(x.shape), dtype=x.dtype)
    found = function(whole, *args[1:], **{k: v for k, v in kwargs.items() if k != "input"})
    where = [p if isinstance(p, Shard) else REPLICATE for p in x.placements]
    made = dtensor(part_of_whole(found, x), x.device_mesh, where, tuple(x.shape))
    return made


for _name in ("rand_like", "randn_like", "randint_like", "bernoulli"):
    HANDLERS[_name] = _drawn_like


def _bernoulli(function: Any, args: Any, kwargs: Any) -> Any:
    return NotImplemented  # its elements are probabilities


HANDLERS["bernoulli"] = _bernoulli

#: methods that fill a tensor with random numbers
FILLING = ("uniform_", "normal_", "exponential_", "cauchy_", "log_normal_", "geometric_",
           "random_", "bernoulli_")


def fills(name: str) -> Any:
    """A method that fills a DTensor with the numbers that one process would draw for it."""
    def method(self: DTensor, *args: Any, **kwargs: Any) -> DTensor:
        # gradients have no part in it, and nothing is seen of it but the numbers
        with lazyloom.grad_mode(False):
            whole = creation.empty(tuple(self.shape), dtype=self.dtype)
            getattr(whole, name)(*args, **kwargs)
            found = part_of_whole(whole, self)
        self._local_tensor.copy_(found)
        return self

    method.__name__ = method.__qualname__ = name
    return method


def filled_as_one(tensor: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """Fill a DTensor as a function fills a whole tensor, by the same numbers."""
    whole = creation.empty(tuple(tensor.shape), dtype=tensor.dtype)
    function(whole, *args, **kwargs)
    local = tensor._local_tensor
    local.copy_(part_of_whole(whole, tensor))
    lazyloom.boundary(storage_of(local).value)
    return tensor


# -- new tensors of other sizes -------------------------------------------------------------------


def new(name: str) -> Any:
    """``new_zeros`` and its kin: divided as the tensor is if the size is its own, else whole."""
    plain = getattr(Tensor, name)

    def method(self: DTensor, *args: Any, **kwargs: Any) -> DTensor:
        mesh = self.device_mesh
        if name == "new_full":
            size, rest = shape_of((args[0] if args else kwargs.pop("size"),)), args[1:]
        else:
            size, rest = shape_of(args or (kwargs.pop("size"),)), ()
        where = ([p if isinstance(p, Shard) else REPLICATE for p in self.placements]
                 if tuple(size) == tuple(self.shape) else [REPLICATE] * mesh.ndim)
        local = plain(self._local_tensor, local_shape_and_offset(size, mesh, where)[0], *rest,
                      **kwargs)
        return dtensor(local, mesh, where, size)

    method.__name__ = method.__qualname__ = name
    return method


# -- in place -------------------------------------------------------------------------------------


def writes(name: str, plain: Any) -> Any:
    """A method in place, ``plain`` of Tensor, for DTensors: they stay where they are."""
    base = name[:-1] if not name.startswith("__") else f"{name[3:-2]}"
    base = {"truediv": "div", "floordiv": "floor_divide", "mod": "remainder"}.get(base, base)

    def method(self: DTensor, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("__") and not _is_operand(args[0]):
            return NotImplemented
        mesh = mesh_of(tensors_in([self, *args, *kwargs.values()]), name)
        if mesh.get_coordinate() is None:
            return self
        made = Call(plain, base, (self, *args), kwargs, mesh)
        ways = _staying(made)
        if ways is not None:
            from .calling import prepared

            results = [way.results for way in ways]
            local = [self._local_tensor if o.i == 0 else prepared(
                o.tensor, [way.operands[o.i] for way in ways], results, mesh)
                for o in made.operands]
            given, named = made.with_tensors(local)
            plain(*given, **named)
            return self
        return _written_whole(self, plain, args, kwargs)

    method.__name__ = method.__qualname__ = name
    return method


def _is_operand(x: Any) -> bool:
    return isinstance(x, (Tensor, int, float, complex, bool)) or hasattr(x, "__float__")


def _staying(made: Call) -> list[Way] | None:
    """Ways in which the first operand, and the result, lie as it does; None if there are none."""
    rule = RULES.get(made.name) or _WRITES.get(made.name)
    ways = list(rule(made) or ()) if rule is not None else []
    whole = Way([REPLICATE] * len(made.operands), REPLICATE)
    found = []
    for d, p in enumerate(made.operands[0].placements):
        from .calling import _cheapest, _late

        fit = [w for w in (_late(w, made, d) for w in (*ways, whole))
               if w.operands[0] == p and (w.results == p or (
                   isinstance(p, Shard) and isinstance(w.results, Shard)
                   and w.results.dim == p.dim))]
        if not fit:
            return None
        best = _cheapest(made, fit, d)
        found.append(best if best in fit else fit[0])
    return found


def _written_whole(self: DTensor, plain: Any, args: Any, kwargs: Any) -> DTensor:
    """The method of the whole tensor, of which each process keeps its part."""
    mesh = self.device_mesh
    whole = (REPLICATE,) * mesh.ndim

    def gathered(x: Any) -> Any:
        if isinstance(x, DTensor):
            return laid(x, whole)._local_tensor
        if type(x) in (list, tuple):
            return type(x)([gathered(y) for y in x])
        return x

    copy = laid(self, whole)._local_tensor.clone()
    plain(copy, *[gathered(a) for a in args], **{k: gathered(v) for k, v in kwargs.items()})
    if tuple(copy.shape) != tuple(self.shape):
        raise RuntimeError("an in-place function gave a DTensor another shape; use the function "
                           "that is not in place")
    found = laid(dtensor(copy, mesh, whole, tuple(self.shape)), self.placements)
    self._local_tensor.copy_(found._local_tensor)
    return self


def _copied(made: Call) -> Sequence[Way]:
    from .rules import aligned, by_labels, of_terms

    shape = made.operands[0].shape
    return by_labels([aligned(o, shape) for o in made.operands], range(len(shape))) + of_terms(
        made, any_kind=True)


def _filled(made: Call) -> Sequence[Way]:
    o = made.operands[0]
    others = [REPLICATE] * (len(made.operands) - 1)
    ways = [Way([Shard(d), *others], Shard(d)) for d in range(o.ndim)]
    return ways + [Way([p, *others], p) for p in o.placements if isinstance(p, Partial)
                   and made.name == "zero"]


_WRITES: dict[str, Any] = {"copy": _copied, "fill": _filled, "zero": _filled,
                           "requires_grad": _filled}


def setitem(self: DTensor, index: Any, value: Any) -> None:
    """``x[index] = value``; where parts are not divided along what is indexed, of each part."""
    from .shapes import _indexed

    order = _indexed(index, self.ndim)
    kept = set(order or ())
    if order is not None and not isinstance(value, Tensor) and all(
            not isinstance(p, Shard) or p.dim in kept for p in self.placements) and not any(
            p.is_partial() for p in self.placements):
        self._local_tensor[index] = value
        return
    if order is not None and isinstance(value, DTensor):
        target: Any = self[index]
        if all(a is b for a, b in zip(target.placements, self.placements, strict=True)) or (
                _is_view_of(target, self)):
            target.copy_(value)
            return
    if isinstance(value, Tensor) and not isinstance(value, DTensor) and value.ndim:
        mesh_of([self, value], "index_put_")
    _written_whole(self, Tensor.__setitem__, (index, value), {})


def _is_view_of(view: DTensor, x: DTensor) -> bool:
    return view._local_tensor._root() is x._local_tensor._root()


def named(function: Any, name: str) -> Any:
    """A method of DTensors that calls a function by its name."""
    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        return call(function, name, args, kwargs)

    return method


__all__ = ["FILLING", "fills", "named", "new", "replicated", "setitem", "writes"]
