"""Whole parameters of their parts, and parts of the average of their gradients.

The parts that a process has of several parameters travel together: one all-gather for the forward
pass; one reduce-scatter, and one all-reduce among copies, for the backward pass. Each part is
padded to the size that the first process has, since all send as much.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import lazyloom
from lazyloom import Scalar, Value

from .._core import cast, record
from .._dtypes import bfloat16, float16
from .._processes import calls
from .._tensor import Tensor, operand
from ..autograd.function import Function


@dataclass(frozen=True)
class Divided:
    """How one parameter is divided: its shape, along which dimension, among how many."""

    shape: tuple[int, ...]
    dim: int
    count: int

    @property
    def rows(self) -> int:
        """The extent of the first process's part along the dimension."""
        return -(-self.shape[self.dim] // self.count)

    @property
    def padded(self) -> int:
        """The elements of a part, with padding."""
        return self.rows * (math.prod(self.shape) // max(1, self.shape[self.dim])
                            if self.shape[self.dim] else 0)

    def of(self, place: int) -> tuple[int, int]:
        """Where the part of the process at a place begins along the dimension, and its extent."""
        begin = min(self.rows * place, self.shape[self.dim])
        return begin, min(self.rows, self.shape[self.dim] - begin)

    def _first(self) -> tuple[int, ...]:
        """The axes, with the one that is divided first."""
        return (self.dim, *(d for d in range(len(self.shape)) if d != self.dim))

    def flat(self, part: Value) -> Value:
        """A part's elements, and zeros for those that it lacks."""
        if self.dim:
            part = record("transpose", [part], {"axes": self._first()})
        found = calls.reshaped(part, (part.type.size,))
        missing = self.padded - found.type.size
        return found if not missing else record("concatenate", [found, _zeros(missing, found)],
                                                {"axis": 0})

    def whole(self, rows: Value) -> Value:
        """The parameter, of the padded elements of all parts: a row for each process."""
        axes = self._first()
        moved = tuple(self.shape[d] for d in axes)
        found = calls.reshaped(rows, (self.count * self.rows, *moved[1:]))
        if found.shape != moved:
            found = _cut(found, 0, moved[0])
        return _back(found, axes)

    def rows_of(self, whole: Value) -> Value:
        """What :meth:`whole` was made of."""
        if self.dim:
            whole = record("transpose", [whole], {"axes": self._first()})
        found = calls.reshaped(whole, (whole.type.size,))
        missing = self.count * self.padded - found.type.size
        if missing:
            found = record("concatenate", [found, _zeros(missing, found)], {"axis": 0})
        return calls.reshaped(found, (self.count, self.padded))

    def part(self, flat: Value, place: int) -> Value:
        """What :meth:`flat` was made of, in the process at a place."""
        axes = self._first()
        moved = [self.shape[d] for d in axes]
        moved[0] = self.of(place)[1]
        size = math.prod(moved)
        found = flat if flat.type.size == size else _cut(flat, 0, size)
        return _back(calls.reshaped(found, tuple(moved)), axes)


def _back(x: Value, axes: tuple[int, ...]) -> Value:
    """The array whose axes were put into this order."""
    if not axes[0]:
        return x
    back = tuple(axes.index(d) for d in range(len(axes)))
    found: Value = record("transpose", [x], {"axes": back})
    return found


def _zeros(count: int, like: Value) -> Value:
    found: Value = record("full", [Scalar(0, like.dtype)], {"shape": (count,)})
    return found


def _cut(x: Value, axis: int, size: int) -> Value:
    """The first elements along an axis."""
    stops = list(x.shape)
    stops[axis] = size
    found: Value = record("slice", [x], {"starts": (0,) * len(stops), "stops": tuple(stops)})
    return found


def _joined(values: Sequence[Value], axis: int) -> Value:
    found: Value = values[0] if len(values) == 1 else record(
        "concatenate", list(values), {"axis": axis})
    return found


def _split(x: Value, sizes: Sequence[int], axis: int) -> list[Value]:
    if len(sizes) == 1:
        return [x]
    return list(record("split", [x], {"sizes": tuple(sizes), "axis": axis}))


class Pieces:
    """Whole parameters divided among fewer processes than the parts are, until the backward pass.

    Args:
        group: these processes, among whom each has a piece.
    """

    def __init__(self, group: Any) -> None:
        self.group = group
        self.kept: list[tuple[Value, list[int]]] = []

    def keep(self, rows: Value, numbers: list[int]) -> None:
        """Keep this process's piece of what was gathered, a row for each process."""
        count = rows.shape[0] // self.group.size()
        begin = count * self.group.rank()
        piece = record("slice", [rows], {
            "starts": (begin, 0), "stops": (begin + count, rows.shape[1])})
        self.kept.append((calls.reshaped(piece, (piece.type.size,)), numbers))


@dataclass
class Plan:
    """How the parameters of one group are gathered, and their gradients reduced.

    Attributes:
        divided: how each parameter is divided.
        shards: the processes that have the parts; None for one process.
        place: of this process among them.
        copies: the processes that have the same part; None for no other.
        param_dtype, reduce_dtype: in which parameters and gradients travel; None for their own.
        divides_by: what sums of gradients are divided by; None for the number of processes.
        sums: whether gradients are summed, and reduced further where they are used.
        reduces: whether gradients are reduced at all; else they are kept for a later pass.
        reduces_copies: whether they are reduced among copies.
        kept, kept_parts: gradients of passes without these, by the number of the parameter.
    """

    divided: list[Divided]
    shards: Any
    place: int
    copies: Any
    param_dtype: Any = None
    reduce_dtype: Any = None
    divides_by: float | None = None
    reduces: bool = True
    reduces_copies: bool = True
    kept: dict[int, Value] = field(default_factory=dict)
    kept_parts: dict[int, Value] = field(default_factory=dict)

    def gathered(
        self, parts: Sequence[Value], pieces: Pieces | None = None
    ) -> list[Value]:
        """The whole of each parameter, and what is kept of them in ``pieces``."""
        if self.param_dtype is not None:
            kind = self.param_dtype.lazy
            parts = [cast(p, kind) if p.dtype.is_floating else p for p in parts]
        if self.shards is None:
            return list(parts)
        found: list[Value | None] = [None] * len(parts)
        for numbers in _by_dtype(parts):
            flat = _joined([self.divided[i].flat(parts[i]) for i in numbers], 0)
            rows = calls.all_gather(flat, self.shards)
            self._put(found, rows, numbers)
            if pieces is not None:
                pieces.keep(rows, numbers)
        return found  # type: ignore[return-value]

    def of_pieces(self, pieces: Pieces, after: Value | None) -> list[Value]:
        """The whole of each parameter, gathered among the processes that have the pieces."""
        found: list[Value | None] = [None] * len(self.divided)
        count = self.shards.size()
        for piece, numbers in pieces.kept:
            given = piece if after is None else _awaiting([piece], after)[0]
            rows = calls.all_gather(given, pieces.group)
            self._put(found, calls.reshaped(rows, (count, rows.type.size // count)), numbers)
        return found  # type: ignore[return-value]

    def _put(self, found: list[Value | None], rows: Value, numbers: Sequence[int]) -> None:
        """Put the parameters that rows consist of, a row for each process, into a list."""
        widths = [self.divided[i].padded for i in numbers]
        for i, part in zip(numbers, _split(rows, widths, 1), strict=True):
            found[i] = self.divided[i].whole(part)

    def scattered(
        self, gradients: Sequence[Value | None], kinds: Sequence[Any]
    ) -> list[Value | None]:
        """This process's part of the average of each gradient; None for one that there is none of.

        Args:
            gradients: of the whole parameters, in this process.
            kinds: the dtype of each part.
        """
        with lazyloom.grad_mode(False):
            wanted = self._added(gradients)
            if not self.reduces:
                self.kept.update(wanted)
                return [None] * len(gradients)
            parts = self._reduced(wanted)
            return [cast(parts[i], kind) if i in parts else None for i, kind in enumerate(kinds)]

    def _added(self, gradients: Sequence[Value | None]) -> dict[int, Value]:
        """The gradients in the dtype in which they are reduced, with those of earlier passes."""
        found = {i: self._lowered(g) for i, g in enumerate(gradients) if g is not None}
        kept, self.kept = self.kept, {}
        for i, earlier in kept.items():
            found[i] = record("add", [earlier, found[i]]) if i in found else earlier
        return dict(sorted(found.items()))

    def _lowered(self, gradient: Value) -> Value:
        wanted = self.reduce_dtype or self.param_dtype
        return gradient if wanted is None else cast(gradient, wanted.lazy)

    def _reduced(self, wanted: dict[int, Value]) -> dict[int, Value]:
        found: dict[int, Value] = {}
        order = list(wanted)
        for places in _by_dtype(list(wanted.values())):
            numbers = [order[p] for p in places]
            flat = self._sum([wanted[i] for i in numbers], numbers)
            widths = [self.divided[i].padded for i in numbers]
            for i, part in zip(numbers, _split(flat, widths, 0), strict=True):
                found[i] = self.divided[i].part(part, self.place)
        return found

    def _sum(self, gradients: Sequence[Value], numbers: Sequence[int]) -> Value:
        """The average of gradients, in this process's part, all in one dimension."""
        rows = [self.divided[i].rows_of(g) for i, g in zip(numbers, gradients, strict=True)]
        flat = _joined(rows, 1)
        size = 1 if self.shards is None else self.shards.size()
        count = 1 if self.copies is None else self.copies.size()
        total = float(size * count if self.divides_by is None else self.divides_by)
        early = flat.dtype in (float16.lazy, bfloat16.lazy)  # their sums may have no room
        if early and total != 1:
            flat = _divided(flat, total)
        flat = calls.reshaped(flat, flat.shape[1:]) if self.shards is None else (
            calls.reduce_scatter(flat, "sum", self.shards))
        if not early and total != 1:
            flat = _divided(flat, total)
        if self.copies is not None:
            flat = self._among_copies(flat, numbers)
        return flat

    def _among_copies(self, flat: Value, numbers: Sequence[int]) -> Value:
        key = numbers[0]
        earlier = self.kept_parts.pop(key, None)
        if earlier is not None and earlier.type is flat.type:
            flat = record("add", [earlier, flat])
        if not self.reduces_copies:
            self.kept_parts[key] = flat
            return flat
        return calls.all_reduce(flat, "sum", self.copies)


def _awaiting(values: Sequence[Value], other: Value) -> list[Value]:
    """The values, and not before another is there as well."""
    found = record("await_all", [*values, other.detach()], {"results": len(values)})
    return list(found) if isinstance(found, tuple) else [found]


def _divided(x: Value, number: float) -> Value:
    found: Value = record("divide", [x, Scalar(number, x.dtype)])
    return found


def _by_dtype(values: Sequence[Value]) -> list[list[int]]:
    """The numbers of values of each dtype."""
    found: dict[Any, list[int]] = {}
    for i, value in enumerate(values):
        found.setdefault(value.dtype.name, []).append(i)
    return list(found.values())


class Regathering:
    """What gathers parameters once more, for the backward pass, so that they go after the forward.

    Args:
        plan: how they are gathered.
        frees: whether they go; asked when a backward pass begins.
        before: what is to be there before they are gathered for the forward pass.
        group: the processes among whom they are divided meanwhile; None for those of the parts.
    """

    def __init__(
        self, plan: Plan, frees: Callable[[], bool], before: Value | None = None,
        group: Any = None,
    ) -> None:
        self.plan, self.frees, self.before = plan, frees, before
        self.pieces = None if group is None else Pieces(group)
        self.parts: list[Value] = []
        self._found: list[Value] | None = None

    def __call__(self) -> Callable[[Value | None], list[Value]] | None:
        """What gathers; None if derivatives get what the forward pass has gathered."""
        return self.gathered if self.plan.shards is not None and self.frees() else None

    def gathered(self, after: Value | None = None) -> list[Value]:
        """The whole of each parameter: gathered once in a pass, when ``after`` is there."""
        if self._found is None:
            with lazyloom.grad_mode(False):
                if self.pieces is not None:
                    self._found = self.plan.of_pieces(self.pieces, after)
                else:
                    parts = self.parts if after is None else _awaiting(self.parts, after)
                    self._found = self.plan.gathered(parts)
        return self._found

    def forget(self) -> None:
        """The pass is through: the gradients of the whole parameters are there."""
        self._found = None


class Gathered(Function):
    """Whole parameters of their parts; the gradients of these are :meth:`Plan.scattered`."""

    @staticmethod
    def forward(
        ctx: Any, plan: Plan, reduced: Any, again: Regathering | None, *parts: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        ctx.plan, ctx.reduced, ctx._again = plan, reduced, again
        if again is not None:
            again.parts = [operand(p).detach() for p in parts]
        ctx.kinds = [p.tensor_type.dtype for p in parts]
        values = [operand(p) for p in parts]
        if again is not None and again.before is not None and again() is not None:
            # a layer's gather does not begin while those before it still need their parameters
            values = _awaiting(values, again.before)
            again.before = None
        pieces = None if again is None or plan.shards is None else again.pieces
        found = tuple(Tensor.from_value(v) for v in plan.gathered(values, pieces))
        ctx.mark_non_differentiable(
            *(w for w, p in zip(found, parts, strict=True) if not p.requires_grad))
        return found

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        if ctx._again is not None:
            ctx._again.forget()
        values = [None if g is None else operand(g) for g in gradients]
        found = ctx.plan.scattered(values, ctx.kinds)
        ctx.reduced()
        hands = ctx.plan.reduces_copies or ctx.plan.copies is None
        return (None, None, None, *(None if v is None or not hands else Tensor.from_value(v)
                              for v in found))
