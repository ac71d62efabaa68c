"""What of this frontend the calls rest on that :func:`lazyloom.jit` captures."""

from __future__ import annotations

from typing import Any

from lazyloom import capture
from lazyloom.frontend import view_of_type

from .._array.layout import Hidden, ViewInfo, base_of, view_info
from .._array.ndarray import ndarray
from .._ufuncs.errstate import current_state
from ..random._bits import BitGenerator


def _settings() -> tuple[Any, ...]:
    return (current_state(),)


capture.register(_settings)


def _owner(view: Any) -> Any:
    info = view_info(view)
    return None if info is None else info.base


def _keep(view: Any, owner: Any) -> Any:
    """The strides of a view, whether it may be written through, and whether it is special."""
    info, theirs = view_info(view), view_info(owner)
    if info is None or type(info.base) is Hidden or theirs is not None and (
        not theirs.writeable or type(theirs.base) is Hidden
    ):
        return None
    if info.base is not (owner if theirs is None or theirs.base is None else theirs.base):
        return None
    return type(view), info.strides, info.writeable, view.slow_path


def _make(owner: Any, steps: Any, kind: Any, kept: Any) -> Any:
    cls, strides, writeable, special = kept
    view = view_of_type(cls, owner, steps, kind)
    base = base_of(owner)
    view._info = ViewInfo(strides, owner if base is None else base, writeable)
    view.slow_path = special
    return view


capture.register_views(capture.Views(ndarray, _owner, _keep, _make))
capture.register_generators(capture.Generators(
    BitGenerator, BitGenerator.following_key, BitGenerator.following_number,
    BitGenerator.advance_by, list))
