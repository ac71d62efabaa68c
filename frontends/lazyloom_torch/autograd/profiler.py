"""``torch.autograd.profiler``: labels do nothing, and profiles are the runtime's records."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from .. import _absent


class record_function(ContextDecorator):  # noqa: N801
    """A label for what is recorded inside, which nobody reads."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> record_function:
        return self

    def __exit__(self, *exc: Any) -> None:
        """Nothing."""


__all__ = ["record_function"]

__getattr__ = _absent.missing(__name__)
