"""``python -m tests.export.third_version`` wrote ``version_3.loom``, which later versions read.

It refuses to write over it; a later version of the format has a file of its own.
"""

from __future__ import annotations

from typing import Any

import lazyloom
import lazyloom_torch as torch

from .test_derivatives import THIRD


def write() -> None:
    weight = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    shift = torch.tensor(0.5)

    def third(x: Any) -> Any:
        return (x * x) @ weight + shift

    if THIRD.exists():
        raise SystemExit(f"{THIRD} is there, and is kept as it is")
    lazyloom.export(
        third, THIRD, torch.zeros(2, 3), parameters={"weight": weight, "shift": shift},
        dynamic={"x": {0: "n"}}, extents={"n": (1, 2)}, vjp_order=2)


if __name__ == "__main__":
    write()
