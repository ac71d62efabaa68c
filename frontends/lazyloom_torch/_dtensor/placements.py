"""How a tensor lies along one dimension of a mesh: divided, whole in each process, or as terms.

A tensor of ``mesh.ndim`` placements is divided by the first one, the parts by the second one, and
so on. Parts are those of ``torch.chunk``: as large as they can be, the last ones smaller or empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

#: what terms may be put together by
REDUCTIONS = ("sum", "avg", "product", "max", "min", "band", "bor", "bxor")


class Placement:
    """How a tensor lies along one dimension of a mesh: Shard, Replicate or Partial."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is divided, along that dimension if one is given."""
        return type(self) is Shard and (dim is None or self.dim == dim)

    def is_replicate(self) -> bool:
        """Whether each process has all of it."""
        return type(self) is Replicate

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether each process has a term, of that reduction if one is given."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)

    def __ne__(self, other: object) -> bool:
        return not self == other


class Shard(Placement):
    """Divided along a dimension of the tensor, as ``torch.chunk`` divides.

    Args:
        dim: the dimension; negative ones are counted from the last.
    """

    def __init__(self, dim: int) -> None:
        if isinstance(dim, bool) or not hasattr(dim, "__index__"):
            raise TypeError(f"Shard(): dim is {dim!r}, expected an int")
        self.dim = dim.__index__()

    @staticmethod
    def local_shard_size_and_offset(
        curr_local_size: int, num_chunks: int, rank: int
    ) -> tuple[int, int]:
        """How many of so many rows a rank has, and where they begin."""
        most = -(-curr_local_size // num_chunks)
        start = min(most * rank, curr_local_size)
        return min(most, curr_local_size - start), start

    _local_shard_size_and_offset = local_shard_size_and_offset

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.dim == self.dim

    def __hash__(self) -> int:
        return hash((Shard, self.dim))

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"

    def __str__(self) -> str:
        return f"S({self.dim})"


class _StridedShard(Shard):
    """Divided along a dimension that a later dimension of the mesh divides first.

    Args:
        dim: the dimension.
        split_factor: into how many parts it is divided before.
    """

    def __init__(self, dim: int, *, split_factor: int) -> None:
        super().__init__(dim)
        self.split_factor = split_factor

    def is_shard(self, dim: int | None = None) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, _StridedShard) and other.dim == self.dim
                and other.split_factor == self.split_factor)

    def __hash__(self) -> int:
        return hash((_StridedShard, self.dim, self.split_factor))

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


class Replicate(Placement):
    """Whole, and the same, in each process."""

    def __eq__(self, other: object) -> bool:
        return type(other) is Replicate

    def __hash__(self) -> int:
        return hash(Replicate)

    def __repr__(self) -> str:
        return "Replicate()"

    def __str__(self) -> str:
        return "R"


class Partial(Placement):
    """Each process has a term of the size of the tensor, which is their reduction.

    Args:
        reduce_op: "sum", "avg", "product", "max", "min", "band", "bor" or "bxor".
    """

    ALL_REDUCE_OPS: ClassVar[tuple[str, ...]] = REDUCTIONS
    LINEAR_REDUCE_OPS: ClassVar[tuple[str, ...]] = ("sum", "avg")

    def __init__(self, reduce_op: Any = "sum") -> None:
        self.reduce_op = reduce_op if isinstance(reduce_op, str) else str(reduce_op)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Partial) and other.reduce_op == self.reduce_op

    def __hash__(self) -> int:
        return hash((Partial, self.reduce_op))

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


def normalized(placements: Sequence[Placement], ndim: int) -> tuple[Placement, ...]:
    """Placements with dimensions of the tensor counted from the first.

    Raises RuntimeError for a dimension that the tensor does not have.
    """
    found: list[Placement] = []
    for p in placements:
        if isinstance(p, Shard):
            if not -ndim <= p.dim < ndim:
                raise RuntimeError(
                    f"{p!r} divides dimension {p.dim} of a tensor of {ndim} dimensions")
            if p.dim < 0:
                p = (_StridedShard(p.dim + ndim, split_factor=p.split_factor)
                     if isinstance(p, _StridedShard) else Shard(p.dim + ndim))
        found.append(p)
    return tuple(found)
