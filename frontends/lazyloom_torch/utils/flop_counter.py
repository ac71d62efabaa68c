"""``torch.utils.flop_counter``: counters that libraries make; none of them counts."""

from __future__ import annotations

from typing import Any

from .. import _absent
from .._absent_names import UNCOUNTED


class FlopCounterMode:
    """A counter of operations, which has counted none: entering it raises NotImplementedError."""

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True,
                 custom_mapping: Any = None) -> None:  # fmt: skip
        self.depth, self.display = depth, display

    def __enter__(self) -> FlopCounterMode:
        _absent.refuse("entering torch.utils.flop_counter.FlopCounterMode", UNCOUNTED)

    def __exit__(self, *exc: object) -> None:
        """Never reached."""

    def get_total_flops(self) -> int:
        """0: nothing was counted."""
        return 0

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Nothing was counted."""
        return {}


__all__ = ["FlopCounterMode"]

__getattr__ = _absent.missing(__name__, ["register_flop_formula"], UNCOUNTED)
