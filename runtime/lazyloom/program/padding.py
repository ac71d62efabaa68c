"""Padded programs: one program for many extents, computed at the largest of them.

A structure at a bucket (batches of 48 tokens, say) with its :class:`Padding` is a program for
all extents that the bucket is for (25 to 48 tokens). It takes operands of the bucket's extents and,
as its last one, the extents that hold this time; what lies beyond these in an operand is anything,
and in a result, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Padding(NamedTuple):
    """What varies in a structure at a bucket.

    Sizes are texts: ``"16"``, ``"e0"``, ``"4*e0"``, ``"e0 - 1"``; e0, e1, ... are the symbols.

    Attributes:
        bucket: the value of each symbol in the structure, and the largest that it is for.
        lowest: the smallest value of each that it is for.
        leaves: the sizes of each leaf.
        numbers: (number of an instruction, the sizes among its attributes), where one varies.
    """

    bucket: tuple[int, ...]
    lowest: tuple[int, ...]
    leaves: tuple[tuple[str, ...], ...]
    numbers: tuple[tuple[int, tuple[str, ...]], ...]

    def serves(self, values: Sequence[int]) -> bool:
        """Whether it is for these extents."""
        bucket = self.bucket
        # a generator expression takes longer
        for k, low in enumerate(self.lowest):  # noqa: SIM110
            if not low <= values[k] <= bucket[k]:
                return False
        return True

    @staticmethod
    def unpacked(data: Any) -> Padding:
        """From the JSON of one. Raises ValueError, TypeError for anything else."""
        bucket, lowest, leaves, numbers = data
        return Padding(
            tuple(map(int, bucket)), tuple(map(int, lowest)),
            tuple([tuple(map(str, sizes)) for sizes in leaves]),
            tuple([(int(n), tuple(map(str, sizes))) for n, sizes in numbers]))
