"""Intel's MKL, which nothing here calls."""

from __future__ import annotations

from contextlib import nullcontext

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available() -> bool:
    """False: products of matrices are XLA's, or another code generator's."""
    return False


class verbose(nullcontext[None]):  # noqa: N801  (PyTorch's name)
    """Nothing: there is nothing that would tell of its calls."""

    def __init__(self, enable: int) -> None:
        super().__init__()
