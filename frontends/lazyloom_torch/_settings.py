"""Settings of PyTorch that programs make at their start, and what they mean here.

What is recorded is compiled by XLA anyway, and the same program gives the same results each
time: such settings are accepted, kept and given back, and change nothing but for ``compile``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ._registry import declare

_kept: dict[str, Any] = {
    "deterministic": False, "warn_only": False, "precision": "highest",
    "threads": os.cpu_count() or 1, "interop_threads": 1, "warn_always": False,
}


def compile(
    model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: Any = None,
    mode: str | None = None, options: Any = None, disable: bool = False,
) -> Any:  # fmt: skip
    """A function or module whose calls run without being recorded, once they have been.

    See :func:`lazyloom.jit` and ``docs/capture.md``. As a decorator with options it gives a
    decorator.

    Args:
        model: a module or function.
        fullgraph: raise an error for what is not captured, saying where and why.
        dynamic, backend, mode, options: accepted; a capture is for the shapes it was recorded
            with, and everything is compiled by XLA.
        disable: record every call.

    Raises:
        TypeError: ``model`` cannot be called.
        RuntimeError: PyTorch's, for a mode that is none, or a mode and options both.
    """
    # it needs modules and optimizers, which need what stands here
    from . import _captured

    return _captured.compile(
        model, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options,
        disable=disable)


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Kept only: results are deterministic."""
    _kept.update(deterministic=bool(mode), warn_only=bool(warn_only))


def are_deterministic_algorithms_enabled() -> bool:
    """What :func:`use_deterministic_algorithms` was told."""
    return bool(_kept["deterministic"])


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """What :func:`use_deterministic_algorithms` was told."""
    return bool(_kept["warn_only"])


def set_float32_matmul_precision(precision: str) -> None:
    """Kept only: float32 products are computed in float32. ValueError for another word."""
    if precision not in ("highest", "high", "medium"):
        raise ValueError(f"precision must be 'highest', 'high' or 'medium', not {precision!r}")
    _kept["precision"] = precision


def get_float32_matmul_precision() -> str:
    """What :func:`set_float32_matmul_precision` was told."""
    return str(_kept["precision"])


def _threads(name: str) -> tuple[Callable[[int], None], Callable[[], int]]:
    def put(num: int) -> None:
        if isinstance(num, bool) or not isinstance(num, int) or num < 1:
            raise RuntimeError(f"a number of threads must be a positive int, not {num!r}")
        _kept[name] = num

    def get() -> int:
        return int(_kept[name])

    put.__doc__ = "Kept only: XLA has one pool of threads. RuntimeError for less than 1."
    get.__doc__ = "The number that was set; at first the number of processors."
    return put, get


set_num_threads, get_num_threads = _threads("threads")
set_num_interop_threads, get_num_interop_threads = _threads("interop_threads")


def set_flush_denormal(mode: bool) -> bool:
    """False: XLA decides (on CPUs it flushes subnormal numbers to zero)."""
    return False


def set_warn_always(b: bool) -> None:
    """Kept only."""
    _kept["warn_always"] = bool(b)


def is_warn_always_enabled() -> bool:
    """What :func:`set_warn_always` was told."""
    return bool(_kept["warn_always"])


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Kept only: results are deterministic. RuntimeError for an unknown mode."""
    modes: tuple[int | str, ...] = (0, 1, 2, "default", "warn", "error")
    if debug_mode not in modes:
        raise RuntimeError(f"debug_mode must be one of {modes}, not {debug_mode!r}")
    mode = modes.index(debug_mode) % 3
    _kept.update(deterministic=mode > 0, warn_only=mode == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2: what was set."""
    return int(_kept["deterministic"]) * (1 if _kept["warn_only"] else 2)


declare({"function as-is": [
    compile, use_deterministic_algorithms, are_deterministic_algorithms_enabled,
    is_deterministic_algorithms_warn_only_enabled, set_float32_matmul_precision,
    get_float32_matmul_precision, set_flush_denormal, set_warn_always, is_warn_always_enabled,
    set_deterministic_debug_mode, get_deterministic_debug_mode,
    ("set_num_threads", set_num_threads), ("get_num_threads", get_num_threads),
    ("set_num_interop_threads", set_num_interop_threads),
    ("get_num_interop_threads", get_num_interop_threads)]})
