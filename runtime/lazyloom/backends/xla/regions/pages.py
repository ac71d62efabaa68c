"""Large pages for the values of a large program.

XLA takes new memory for every run. The system provides it in pages of 4 KiB at their first write,
which takes a good part of the time of a program of some hundred megabytes. Where Linux gives large
pages on request, such a program begins with a call that requests them.
"""

from __future__ import annotations

import functools
import sys
from typing import Final

from ..jax_compat import know_call
from . import engines

#: the custom call
TARGET: Final = "lazyloom_pages"
#: the bytes of all values of a program from which on the call is worthwhile
LARGE: Final = 32 << 20
#: elements of the unused result: so large that XLA gives it no memory of its own
_ELEMENTS: Final = 1 << 14

STATEMENT: Final = (
    f"    %pages = stablehlo.custom_call @{TARGET}() {{api_version = 4 : i32, "
    f"has_side_effect = true, backend_config = {{}}}} : () -> tensor<{_ELEMENTS}xf32>")


def asks_for_pages(size: int) -> bool:
    """Return True if a program with ``size`` bytes of values begins with the call, which is then
    registered with XLA."""
    if size < LARGE or not _on_request() or engines.available():
        return False
    know()
    return True


def know() -> None:
    """Register the call with XLA."""
    know_call(TARGET, engines.pages_handler())


@functools.lru_cache(maxsize=1)
def _on_request() -> bool:
    """Return True if the system gives large pages on request and only then."""
    if sys.platform != "linux":
        return False
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="ascii") as file:
            return "[madvise]" in file.read()
    except OSError:
        return False
