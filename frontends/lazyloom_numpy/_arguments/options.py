"""Words that functions take as arguments, in the spellings that NumPy's C functions take."""

from __future__ import annotations

from typing import Any, Final

_ORDERS: Final = ("C", "F", "A", "K")


def _text(given: Any, what: str) -> str:
    if isinstance(given, bytes):
        return given.decode("ascii", "replace")
    if not isinstance(given, str):
        raise TypeError(f"{what} must be str, not {type(given).__name__}")
    return given


def memory_order(given: Any, default: str = "C") -> str:
    """"C", "F", "A" or "K" for an ``order`` of either case; the default for None.

    Raises ValueError for another word, TypeError for what is none.
    """
    if given is None:
        return default
    if type(given) is str and given in _ORDERS:
        return given
    order = _text(given, "order").upper()
    if order not in _ORDERS:
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {given!r})")
    return order


def row_or_column(given: Any) -> str:
    """:func:`memory_order` where there is nothing whose order could be kept."""
    order = memory_order(given)
    if order in "AK":
        raise ValueError("only 'C' or 'F' order is permitted")
    return order


def sorts_stably(given: Any) -> bool:
    """Whether a ``kind`` of sort, of which the first letter counts, keeps equal elements in order.

    Raises ValueError for another word, TypeError for what is none.
    """
    first = _text(given, "sort kind")[:1].lower()
    if first not in ("q", "h", "m", "s"):
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {given!r})")
    return first in "ms"


def selection_kind(given: Any) -> None:
    """Look at the ``kind`` of a partition. Raises ValueError or TypeError."""
    if _text(given, "select kind") != "introselect":
        raise ValueError(f"select kind must be 'introselect' (got {given!r})")


def search_side(given: Any) -> str:
    """"left" or "right". Raises ValueError or TypeError for anything else."""
    side = _text(given, "search side")
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {given!r})")
    return side


_CLIP_MODES: Final = ("clip", "wrap", "raise")


def clip_mode(given: Any) -> str:
    """"raise", "wrap" or "clip", the words or NumPy's numbers of them; "raise" for None.

    Raises ValueError or TypeError for anything else.
    """
    if given is None:
        return "raise"
    if isinstance(given, (str, bytes)):
        mode = _text(given, "clipmode")
        if mode not in _CLIP_MODES:
            raise ValueError(
                f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {given!r})")
        return mode
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError("clipmode not understood")
    number = given.__index__()
    return _CLIP_MODES[number] if number in (0, 1) else "raise"


_CASTINGS: Final = ("no", "equiv", "safe", "same_kind", "unsafe")


def casting_rule(given: Any) -> str:
    """The name of a casting rule. Raises ValueError or TypeError for anything else."""
    rule = _text(given, "casting")
    if rule not in _CASTINGS:
        raise ValueError(
            "casting must be one of 'no', 'equiv', 'safe', 'same_kind', or 'unsafe' (got "
            f"{given!r})")
    return rule
