"""Large pages for what a large program computes.

XLA takes new memory for every run. The system hands it out in pages of 4 KiB as they are written
first, which for a program of some hundred megabytes takes a good part of its time. Where Linux
gives large pages to who asks for them, such a program begins with a call that asks.
"""

from __future__ import annotations

import functools
import sys
from typing import Final

from ..jax_compat import know_call
from . import engines

#: the custom call
TARGET: Final = "lazyloom_pages"
#: bytes of all values of a program together from which it is worth the call
LARGE: Final = 32 << 20
#: elements of the result that nobody reads: so large that XLA gives it no memory of its own
_ELEMENTS: Final = 1 << 14

STATEMENT: Final = (
    f"    %pages = stablehlo.custom_call @{TARGET}() {{api_version = 4 : i32, "
    f"has_side_effect = true, backend_config = {{}}}} : () -> tensor<{_ELEMENTS}xf32>")


def asks_for_pages(size: int) -> bool:
    """Whether a program with so many bytes of values begins with the call; XLA knows it then."""
    if size < LARGE or not _on_request() or engines.available():
        return False
    know()
    return True


def know() -> None:
    """Let XLA know the call."""
    know_call(TARGET, engines.pages_handler())


@functools.lru_cache(maxsize=1)
def _on_request() -> bool:
    """Whether the system gives large pages to who asks, and to nobody else."""
    if sys.platform != "linux":
        return False
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="ascii") as file:
            return "[madvise]" in file.read()
    except OSError:
        return False
