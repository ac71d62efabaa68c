"""``torch.compiler``: what programs ask of what captures calls (``torch.compile``)."""

from __future__ import annotations

import functools
import io
import warnings
from typing import Any

from lazyloom import cache, capture
from lazyloom.errors import ArgumentError

from . import _absent
from ._settings import compile

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin",
           "disable", "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends",
           "load_cache_artifacts", "nested_compile_region", "reset", "save_cache_artifacts",
           "set_stance", "substitute_in_graph", "wrap_numpy"]


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself, not captured, also as a decorator with arguments.

    What it does inside a captured function is part of that one's call.
    """
    if fn is None:
        return lambda f: disable(f)
    return getattr(fn, "__wrapped__", fn) if isinstance(fn, capture.Jitted) else fn


def allow_in_graph(fn: Any) -> Any:
    """The function itself."""
    return fn


assume_constant_result = wrap_numpy = nested_compile_region = allow_in_graph


def substitute_in_graph(original_fn: Any, **options: Any) -> Any:
    """A decorator that gives the function itself: nothing is substituted."""
    return lambda f: f


class set_stance:  # noqa: N801
    """Whether calls are captured, also as a context manager and a decorator.

    ``"default"`` captures; ``"force_eager"`` has every call recorded, and so has
    ``"eager_on_recompile"`` where no capture fits. Raises RuntimeError for another stance.
    """

    def __init__(self, stance: str = "default", **options: Any) -> None:
        if stance not in _STANCES:
            raise RuntimeError(f"stance must be one of {', '.join(_STANCES)}, not {stance!r}")
        self._stance = stance
        self._before = _stance(stance)

    def __enter__(self) -> None:
        _stance(self._stance)

    def __exit__(self, *exc: object) -> None:
        _stance(self._before)

    def __call__(self, fn: Any) -> Any:
        _stance(self._before)

        @functools.wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with set_stance(self._stance):
                return fn(*args, **kwargs)

        return wrapped


_STANCES = ("default", "eager_then_compile", "aot_eager_then_compile", "force_eager",
            "eager_on_recompile", "fail_on_recompile")


def _stance(stance: str) -> str:
    # it needs modules and optimizers, which need what stands here
    from . import _captured

    before, _captured.stance[0] = _captured.stance[0], stance
    return before


def is_compiling() -> bool:
    """False: programs run as they are written, and are recorded."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset() -> None:
    """Forget what was captured of everything that was compiled."""
    from . import _captured  # as above

    _captured.reset()


def cudagraph_mark_step_begin() -> None:
    """Nothing: steps are told apart by the calls."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """XLA."""
    return ["xla"]


def save_cache_artifacts() -> tuple[bytes, cache.CacheInfo] | None:
    """What this process has used of the disk cache, as bytes for :func:`load_cache_artifacts`.

    With it comes what :func:`lazyloom.cache.save` says; None if nothing was used. Programs that are
    being compiled are waited for.
    """
    file = io.BytesIO()
    info = cache.save(file)
    return (file.getvalue(), info) if info.artifacts else None


def load_cache_artifacts(serialized_artifacts: bytes) -> cache.CacheInfo | None:
    """Take what :func:`save_cache_artifacts` gave into the disk cache, before the first program.

    Returns what :func:`lazyloom.cache.load` says: of each entry whether it is of use here, and why
    not; None where they are damaged. They hold machine code, which is run: load only what you
    would run as a program.
    """
    try:
        return cache.load(io.BytesIO(serialized_artifacts))
    except ArgumentError as error:
        warnings.warn(f"torch.compiler.load_cache_artifacts: {error}", stacklevel=2)
        return None


__getattr__ = _absent.missing(__name__)
