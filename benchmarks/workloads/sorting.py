"""Sorts and running sums by NumPy, by PyTorch and by our frontends."""

from __future__ import annotations

from typing import Any

import numpy
from suite import Case, Contender, Limit, Turn, Workload
from suite.common import set_torch_threads

OURS, OURS_TORCH = "lazyloom, NumPy-like", "lazyloom, torch-like"


def given(size: int, dtype: str) -> Any:
    return numpy.random.default_rng(3).standard_normal(size).astype(dtype)


def numpy_itself(program: str, size: int, dtype: str) -> Turn:
    x = given(size, dtype)
    # the order of equal elements is part of what ours and PyTorch's give
    run = {"sort": numpy.sort, "argsort": lambda x: numpy.argsort(x, kind="stable"),
           "cumsum": numpy.cumsum, "argmax": numpy.argmax}[program]

    def turn(units: int) -> None:
        for _ in range(units):
            turn.results = (run(x),)  # type: ignore[attr-defined]

    return turn


def lazyloom_numpy(program: str, size: int, dtype: str) -> Turn:
    import lazyloom
    import lazyloom_numpy as np

    x = np.array(given(size, dtype))
    run = {"sort": np.sort, "argsort": lambda x: np.argsort(x, kind="stable"),
           "cumsum": np.cumsum, "argmax": np.argmax}[program]

    def turn(units: int) -> None:
        for _ in range(units):
            found = run(x)
            lazyloom.sync(found, wait=True)
            turn.results = (found,)  # type: ignore[attr-defined]

    return turn


def _in_torch(torch: Any, program: str, x: Any) -> Any:
    if program == "sort":
        return torch.sort(x, stable=True)[0]
    if program == "argsort":
        return torch.argsort(x, stable=True)
    return torch.cumsum(x, 0) if program == "cumsum" else torch.argmax(x)


def lazyloom_torch(program: str, size: int, dtype: str) -> Turn:
    import lazyloom
    import lazyloom_torch as torch

    x = torch.tensor(given(size, dtype))

    def turn(units: int) -> None:
        for _ in range(units):
            found = _in_torch(torch, program, x)
            lazyloom.sync(found, wait=True)
            turn.results = (found,)  # type: ignore[attr-defined]

    return turn


def pytorch(program: str, size: int, dtype: str) -> Turn:
    import torch

    set_torch_threads(torch)
    x = torch.tensor(given(size, dtype))

    def turn(units: int) -> None:
        for _ in range(units):
            turn.results = (_in_torch(torch, program, x),)  # type: ignore[attr-defined]

    return turn


CASES = {f"{program}, {size:,} {dtype}": {"program": program, "size": size, "dtype": dtype}
         for program in ("sort", "argsort", "cumsum", "argmax") for dtype in ("float64", "float32")
         for size in (100_000, 1_000_000)}

WORKLOAD = Workload(
    name="sorting",
    title="Sorts and running sums",
    about=(
        "One op on random numbers of a normal distribution, inputs in place beforehand, until the "
        "result is computed. Sorts are stable but for NumPy's of values, where none can tell."
    ),
    cases=[
        Case(name, parameters, warm=3, rounds=15, budget=5, seconds=0.02, per="run",
             quick=name == "sort, 100,000 float64")
        for name, parameters in CASES.items()
    ],
    contenders=[
        Contender(OURS, "lazyloom", lazyloom_numpy),
        Contender(OURS_TORCH, "lazyloom", lazyloom_torch),
        Contender("NumPy", "numpy", numpy_itself),
        Contender("PyTorch", "torch", pytorch),
    ],
    base=OURS,
    limits=[
        Limit("sort beside NumPy", ["sort, 100,000 float64"], [OURS, OURS_TORCH], 1.5, ["NumPy"]),
    ],
)
