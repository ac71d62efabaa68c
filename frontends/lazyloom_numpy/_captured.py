"""What of this frontend the calls rest on that :func:`lazyloom.jit` captures."""

from __future__ import annotations

from typing import Any

from lazyloom import capture

from ._errstate import current_state
from .random._bits import BitGenerator


def _settings() -> tuple[Any, ...]:
    return (current_state(),)


capture.register(_settings)
capture.register_generators(capture.Generators(
    BitGenerator, BitGenerator.following_key, BitGenerator.following_number,
    BitGenerator.advance_by, list))
