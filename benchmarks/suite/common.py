"""Small helpers of the workloads."""

from __future__ import annotations

import os
from typing import Any


def threads() -> int | None:
    """The number of threads this contender is to use, or None."""
    given = os.environ.get("LAZYLOOM_BENCH_THREADS")
    return int(given) if given else None


def set_torch_threads(torch: Any) -> None:
    count = threads()
    if count is not None:
        torch.set_num_threads(count)


def spread(count: int, kinds: int) -> int:
    """How many whole passes over so many kinds come nearest to a count, at least one."""
    return max(1, round(count / kinds))
