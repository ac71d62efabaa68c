"""``torch.__config__``: how the library was built, as text."""

from __future__ import annotations

import platform

import lazyloom

from .version import __version__


def show() -> str:
    """A text that names lazyloom and the Python that runs it."""
    return (f"lazyloom_torch, which follows PyTorch {__version__}\n"
            f"  - lazyloom {lazyloom.__version__}\n  - Python {platform.python_version()}\n")


def parallel_info() -> str:
    """A text on threads: XLA's are its own affair."""
    return "threads are those of XLA's CPU client\n"
