"""Attention over a sequence of which each process has a part: ``context_parallel``.

Each process has the queries of its positions, and gathers keys and values of all. With load balance
the sequence is cut into twice as many chunks as there are processes, and each process has one from
the front and one from the back, so that all see as many positions before their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import lazyloom

from .._divided import divided
from .._functions.attention import scaled_dot_product_attention
from .._functions.creation import tensor as make_tensor
from .._processes.pending import pending
from .._tensor import Tensor
from .mesh import DeviceMesh
from .moves import Line, gather


class _Options:
    """How sequences are divided."""

    enable_load_balance = True


options = _Options()


def _order(length: int, count: int) -> np.ndarray:
    """The positions of a sequence in the order of the processes that have them."""
    positions = np.arange(length, dtype=np.int64)
    if not options.enable_load_balance:
        if length % count:
            raise ValueError(
                f"context_parallel: a sequence of {length} cannot be divided among {count} "
                "processes; pad it")
        return positions
    if length % (2 * count):
        raise ValueError(
            f"context_parallel: a sequence of {length} cannot be divided into two chunks for each "
            f"of {count} processes; pad it, or set "
            "experimental._attention._cp_options.enable_load_balance to False")
    chunks = positions.reshape(2 * count, -1)
    return np.stack([chunks[:count], chunks[: count - 1 : -1]], 1).reshape(-1)


def _line(mesh: DeviceMesh) -> Line:
    if mesh.ndim != 1:
        raise ValueError(
            f"context_parallel takes a mesh of one dimension, got {mesh}: take one of its "
            "dimensions, mesh[name]")
    if mesh.get_coordinate() is None:
        raise ValueError(f"this process is not in the mesh {mesh}, whose processes alone divide "
                         "the sequence")
    return Line(mesh, 0)


def _own(length: int, line: Line) -> np.ndarray:
    """The positions that this process has."""
    found: np.ndarray = _order(length, line.size).reshape(line.size, -1)[line.rank]
    return found


@contextmanager
def context_parallel(
    mesh: DeviceMesh, *, buffers: Sequence[Tensor] | None = None,
    buffer_seq_dims: Sequence[int] | None = None, no_restore_buffers: Any = None,
) -> Iterator[None]:
    """Inside, sequences are divided among processes, and attention is over all of them.

    ``scaled_dot_product_attention`` takes queries, keys and values of this process's positions,
    which lie along dimension -2, and gives the results for these.

    Args:
        mesh: the processes, of one dimension.
        buffers: tensors that each process has whole: inputs, labels, embeddings of positions.
            Inside they have this process's positions, in place.
        buffer_seq_dims: along which dimension of each the sequence lies.
        no_restore_buffers: those that keep this process's positions afterwards.

    Raises ValueError for arguments that do not fit, and for sequences that cannot be divided.
    """
    line = _line(mesh)
    given, dims = list(buffers or ()), list(buffer_seq_dims or ())
    left = list(no_restore_buffers or ())
    if len(given) != len(dims):
        raise ValueError("`seq_dims` must have the same number of elements as `buffers`: "
                         f"{len(dims)} were given for {len(given)}")
    for b in left:
        if not any(b is other for other in given):
            raise ValueError("`no_restore_buffers` must be a subset of `buffers`.")
    with lazyloom.grad_mode(False):
        parts = [_chosen(b, d, _own(b.shape[d], line)) for b, d in zip(given, dims, strict=True)]
        before = [None if any(b is x for x in left) else b.clone() for b in given]
        for b, part in zip(given, parts, strict=True):
            _put(b, part)
    outer = divided.get("attention")
    divided["attention"] = _Attention(line)
    try:
        yield
    finally:
        if outer is None:
            del divided["attention"]
        else:
            divided["attention"] = outer
        with lazyloom.grad_mode(False):
            for b, whole in zip(given, before, strict=True):
                if whole is not None:
                    _put(b, whole)


def _chosen(x: Tensor, dim: int, positions: np.ndarray) -> Tensor:
    found: Tensor = x.detach().index_select(dim, make_tensor(positions))
    return found


def _put(buffer: Any, contents: Tensor) -> None:
    buffer.resize_(contents.shape)
    buffer.copy_(contents)


class _Attention:
    """``scaled_dot_product_attention`` of this process's positions over all."""

    def __init__(self, line: Line) -> None:
        self.line = line

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None,
        dropout_p: float, is_causal: bool, scale: float | None, enable_gqa: bool,
    ) -> Tensor:
        if attn_mask is not None:
            raise NotImplementedError(
                "scaled_dot_product_attention in context_parallel takes no attn_mask; use "
                "is_causal=True, or leave it out")
        line = self.line
        here, there = query.shape[-2], key.shape[-2]
        if is_causal and here != there:
            raise NotImplementedError(
                "is_causal requires the same query and context sequence lengths, got "
                f"{here} and {there}")
        mask = None
        if line.size > 1:
            key, value = (gather(x, x.ndim - 2, there * line.size, line) for x in (key, value))
            if is_causal:
                # which positions these are is data: all processes record one program
                positions = _order(there * line.size, line.size)
                own = make_tensor(_own(len(positions), line))
                mask = own.unsqueeze(1) >= make_tensor(positions).unsqueeze(0)
                is_causal = False
        outer = divided.pop("attention")
        try:
            return scaled_dot_product_attention(
                query, key, value, mask, dropout_p, is_causal, scale, enable_gqa)
        finally:
            divided["attention"] = outer


def context_parallel_unshard(
    mesh: DeviceMesh, buffers: Sequence[Tensor], seq_dims: Sequence[int], load_balancer: Any = None,
) -> list[Tensor]:
    """The whole of tensors of which each process has its positions along a dimension.

    All processes of the mesh call it. Raises NotImplementedError for a ``load_balancer``.
    """
    if load_balancer is not None:
        raise NotImplementedError("context_parallel_unshard: positions lie as context_parallel "
                                  "divides them; leave load_balancer out")
    line = _line(mesh)
    found: list[Tensor] = []
    with lazyloom.grad_mode(False):
        for x, dim in zip(buffers, seq_dims, strict=True):
            whole = x.detach()
            if line.size > 1:
                length = x.shape[dim] * line.size
                whole = gather(whole, dim % x.ndim, length, line)
                whole = _chosen(whole, dim, np.argsort(_order(length, line.size)))
            found.append(whole)
    if line.size > 1:
        # a process that reads nothing takes part, too
        pending.hand_over()
    return found


def set_rotate_method(rotate_method: str) -> None:
    """Accepts ``"allgather"`` and ``"alltoall"``: keys and values are gathered at once in both.

    Raises NotImplementedError for another.
    """
    if rotate_method not in ("allgather", "alltoall"):
        raise NotImplementedError(f"set_rotate_method: {rotate_method!r}, expected 'allgather' or "
                                  "'alltoall'")


__all__ = ["context_parallel", "context_parallel_unshard", "options", "set_rotate_method"]
