"""Gradients sent as products of two narrow matrices (Vogels et al., "PowerSGD", 2019).

A gradient M of n rows and m columns becomes P Q^T, P of n rows and Q of m, both of few columns: P
is the processes' sum of M Q, made orthonormal, and Q their mean of M^T P. What is lost is added to
the next gradient. All is recorded with the step: a program with up to three collectives a bucket.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...._draws import Generator
from ...._dtypes import bfloat16, float16
from ...._functions.creation import zeros
from ...._functions.shaping import cat, stack
from ...._processes import calls
from ...._processes.groups import ProcessGroup, default_group
from ...._processes.reducer import GradBucket
from ...._processes.work import completed
from ...._tensor import Tensor
from ....futures import Future
from ....linalg import qr
from ....random import FUNCTIONS as _RANDOM
from .default_hooks import allreduce_hook

#: up to so many columns are made orthonormal one after the other
_FEW = 2


class PowerSGDState:
    """What :func:`powerSGD_hook` keeps between passes, and how it compresses.

    Args:
        process_group: the processes; None for all.
        matrix_approximation_rank: columns of P and Q.
        start_powerSGD_iter: passes before, whose gradients are averaged as they are.
        min_compression_rate: how many times fewer numbers have to be sent for a gradient to be
            compressed.
        use_error_feedback: whether what is lost is added to the next gradient.
        warm_start: whether Q is that of the last pass, else drawn anew.
        orthogonalization_epsilon: added to norms of columns, which may be 0.
        random_seed: of the draws of Q, the same in all processes.
        compression_stats_logging_frequency: kept; see :meth:`compression_stats`.
        batch_tensors_with_same_shape: whether gradients of one shape are multiplied together.

    Raises ValueError for a start before pass 2 with ``use_error_feedback`` or ``warm_start``.
    """

    def __init__(
        self, process_group: ProcessGroup | None, matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,  # noqa: N803
        min_compression_rate: float = 2, use_error_feedback: bool = True, warm_start: bool = True,
        orthogonalization_epsilon: float = 0, random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is "
                "enabled, because PowerSGD can only be applied after the first two iterations in "
                "DDP.")
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.next_stats_report = 0
        self.rng = np.random.RandomState(random_seed)
        #: by the number of the bucket: what was lost; all P, and all Q, in one dimension
        self.error_dict: dict[int, Tensor] = {}
        self.p_memory_dict: dict[int, Tensor] = {}
        self.q_memory_dict: dict[int, Tensor] = {}
        self.iter = 0
        self.total_numel_before_compression = 0
        self.total_numel_after_compression = 0

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "process_group"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.process_group = default_group()
        self.__dict__.update(state)

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a pass with its last bucket."""
        self.iter += bucket.is_last()

    def compression_stats(self) -> tuple[float, int, int]:
        """How many times fewer numbers were sent, and how many there were before and after."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return before / after if after else 0, before, after

    def _group(self) -> ProcessGroup:
        return default_group() if self.process_group is None else self.process_group

    def _count(self, before: int, after: int) -> None:
        self.total_numel_before_compression += before
        self.total_numel_after_compression += after

    def _with_errors(self, number: int, buffer: Tensor) -> Tensor:
        lost = self.error_dict.get(number) if self.use_error_feedback else None
        return buffer if lost is None else buffer + lost

    def _drawn(self, shapes: list[tuple[int, int, int]], dtype: Any) -> list[Tensor]:
        """Normal numbers, the same in all processes."""
        generator = Generator().manual_seed(int(self.rng.randint(1_000_000_000)))
        return [_RANDOM["randn"](*s, dtype=dtype, generator=generator) for s in shapes]

    def _approximated(self, number: int, matrices: list[Tensor]) -> list[Tensor]:
        """The mean over the processes of matrices ``(batch, n, m)``, about."""
        group = self._group()
        ranks = [min(*m.shape[1:], self.matrix_approximation_rank) for m in matrices]
        q_shapes = [(m.shape[0], m.shape[2], r) for m, r in zip(matrices, ranks, strict=True)]
        p_shapes = [(m.shape[0], m.shape[1], r) for m, r in zip(matrices, ranks, strict=True)]
        kept = self.q_memory_dict.get(number) if self.warm_start else None
        qs = self._drawn(q_shapes, matrices[0].dtype) if kept is None else _parted(kept, q_shapes)
        qs = [_orthonormal(q, self.orthogonalization_epsilon) for q in qs]
        all_p = _reduced([m @ q for m, q in zip(matrices, qs, strict=True)], "sum", group)
        ps = [_orthonormal(p, self.orthogonalization_epsilon) for p in _parted(all_p, p_shapes)]
        all_q = _reduced(
            [m.transpose(1, 2) @ p for m, p in zip(matrices, ps, strict=True)], "mean", group)
        if self.warm_start:
            self.p_memory_dict[number], self.q_memory_dict[number] = _joined(ps), all_q
        return [p @ q.transpose(1, 2)
                for p, q in zip(ps, _parted(all_q, q_shapes), strict=True)]


def _joined(tensors: list[Tensor]) -> Tensor:
    made: Tensor = cat([t.reshape(-1) for t in tensors])
    return made


def _parted(whole: Tensor, shapes: list[tuple[int, ...]] | list[tuple[int, int, int]]
            ) -> list[Tensor]:  # fmt: skip
    """What :func:`_joined` was made of."""
    found, at = [], 0
    for shape in shapes:
        size = math.prod(shape)
        found.append(whole[at : at + size].view(shape))
        at += size
    return found


def _reduced(tensors: list[Tensor], reduction: str, group: ProcessGroup) -> Tensor:
    """The reduction over the processes of tensors joined."""
    whole = _joined(tensors)
    made: Tensor = Tensor.from_value(calls.all_reduce(whole.value.detach(), reduction, group))
    return made


def _orthonormal(matrices: Tensor, epsilon: float) -> Tensor:
    """Matrices ``(batch, rows, columns)`` with columns orthonormal to each other."""
    count = matrices.shape[2]
    if count > _FEW and matrices.dtype not in (float16, bfloat16):
        found: Tensor = qr(matrices)[0]
        return found
    columns: list[Tensor] = []
    for i in range(count):
        column = matrices[:, :, i]
        # twice: what is left of one that depends on those before is rounding, in any direction
        for _ in range(2 if columns else 1):
            for before in columns:
                column = column - (before * column).sum(1, keepdim=True) * before
            column = column / (column.norm(dim=1, keepdim=True) + epsilon)
        columns.append(column)
    made: Tensor = stack(columns, 2)
    return made


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:  # noqa: N802
    """The average of the gradients in a bucket, of which the large ones are approximated.

    Those whose approximation saves too little are averaged as they are.
    """
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    number = bucket.index()
    buffer = state._with_errors(number, bucket.buffer())
    bucket.set_buffer(buffer)
    gradients = bucket.gradients()
    large: dict[tuple[int, ...], list[int]] = {}
    small: list[int] = []
    for i, gradient in enumerate(gradients):
        rows = gradient.shape[0] if gradient.ndim else 1
        n, m = rows, gradient.numel() // max(rows, 1)
        narrow = (n + m) * min(n, m, state.matrix_approximation_rank)
        if narrow * state.min_compression_rate < n * m:
            large.setdefault((n, m), []).append(i)
            state._count(n * m, narrow)
        else:
            small.append(i)
            state._count(n * m, n * m)
    averages: list[Tensor] = list(gradients)
    if small:
        whole = _reduced([gradients[i] for i in small], "mean", state._group())
        shapes = [tuple(gradients[i].shape) for i in small]
        for i, part in zip(small, _parted(whole, shapes), strict=True):
            averages[i] = part
    if large:
        sets = [own for same in large.values() for own in (
            [same] if state.batch_tensors_with_same_shape else [[i] for i in same])]
        shape_of = {i: shape for shape, same in large.items() for i in same}
        matrices = [stack([gradients[i].reshape(shape_of[i]) for i in own]) for own in sets]
        for own, found in zip(sets, state._approximated(number, matrices), strict=True):
            for k, i in enumerate(own):
                averages[i] = found[k].view(gradients[i].shape)
    result = _joined(averages)
    if state.use_error_feedback:
        state.error_dict[number] = buffer - result
    state.maybe_increase_iter(bucket)
    return completed(result)


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:  # noqa: N802
    """The average of a bucket, which is approximated as one square matrix."""
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    number = bucket.index()
    buffer = bucket.buffer()
    length = buffer.shape[0]
    side = math.ceil(math.sqrt(length))
    state._count(length, side * state.matrix_approximation_rank * 2)
    square = cat([buffer, zeros(side * side - length, dtype=buffer.dtype)])
    square = state._with_errors(number, square)
    (found,) = state._approximated(number, [square.view(1, side, side)])
    if state.use_error_feedback:
        state.error_dict[number] = square - found.view(-1)
    state.maybe_increase_iter(bucket)
    return completed(found.view(-1)[:length])


__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]
