"""What oneDNN does on the processor at hand."""

from __future__ import annotations

import pytest

from lazyloom.codegen.onednn import OneDnn, library


def skip_without(generator: OneDnn | None, dtype: str) -> None:
    """Skip the test where it leaves a dtype to XLA, for want of instructions."""
    why = library.lacks(generator.path, dtype) if generator is not None else ""
    if why:
        pytest.skip(why)
