"""Datasets for worker processes, which import this module and nothing of PyTorch."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from lazyloom_torch.utils import data


class Squares(data.Dataset):
    """Position i gives an array, its square and its name; some positions fail."""

    def __init__(self, count: int, fails: int = -1, ends: int = -1) -> None:
        self.count, self.fails, self.ends = count, fails, ends

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> Any:
        if i == self.fails:
            raise LookupError(f"there is no sample {i}")
        if i == self.ends:
            os._exit(3)
        return np.full((3, 4), i, np.float32), i * i, {"name": str(i), "half": i / 2}


class Stream(data.IterableDataset):
    """Each worker's share of the numbers below ``count``."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> Any:
        info = data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        yield from (np.array([i]) for i in range(first, self.count, step))


class Seeds(data.Dataset):
    """What a worker's generators draw first, and which it is."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> Any:
        info = data.get_worker_info()
        assert info is not None and info.dataset is not None
        return info.id, info.seed, int(np.random.randint(1 << 30)), os.environ.get("STARTED", "")


def note_start(number: int) -> None:
    os.environ["STARTED"] = f"worker {number}"
