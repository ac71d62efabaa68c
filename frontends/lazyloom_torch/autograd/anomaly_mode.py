"""``detect_anomaly``: NaN in a backward pass is an error that names the forward line."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import lazyloom
from lazyloom import Value

from .._core import record

_enabled = False
_check_nan = True


def is_enabled() -> bool:
    """Whether backward passes are looked at."""
    return _enabled


def is_check_nan_enabled() -> bool:
    """Whether NaN is looked for."""
    return _check_nan


class set_detect_anomaly:  # noqa: N801
    """Switch the search for anomalies on or off at once; as a context manager, for a block.

    While it is on, ``backward`` and ``grad`` read, once a pass, whether any op of the pass gave
    NaN, and raise RuntimeError with the op and the line of the forward computation. An error
    raised by a custom function's backward is accompanied by a warning with that line.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = (_enabled, _check_nan)
        _set(bool(mode), bool(check_nan))

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        _set(*self._before)


class detect_anomaly(set_detect_anomaly):  # noqa: N801
    """:class:`set_detect_anomaly` for a block."""

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(True, check_nan)
        _set(*self._before)
        self._check_nan = bool(check_nan)

    def __enter__(self) -> None:
        self._before = (_enabled, _check_nan)
        _set(True, self._check_nan)


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Switch the search on or off, until it is set again."""
    _set(mode, check_nan)


def _set(enabled: bool, check_nan: bool) -> None:
    global _enabled, _check_nan
    _enabled, _check_nan = enabled, check_nan


class Inspector:
    """Collects what the ops of a pass gave, and says which of it was NaN first."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, Any, int]] = []  # name, forward line, which result
        self.flags: list[Value] = []

    def __call__(self, node: Any, cotangents: Sequence[Any]) -> None:
        if not _check_nan:
            return
        from .graph import name_of

        with lazyloom.grad_mode(False):
            for i, c in enumerate(cotangents):
                if isinstance(c, Value) and c.dtype.is_inexact:
                    self.seen.append((name_of(node), node.site, i))
                    self.flags.append(record("any", [record("isnan", [c.detach()])]))

    def judge(self) -> None:
        """Raise RuntimeError if there was NaN; reads."""
        if not self.flags:
            return
        try:
            bad = record("stack", self.flags).read()
        except lazyloom.errors.ReadForbiddenError:
            return  # inside a mapped function there is nothing to look at
        if bad.any():
            name, site, i = self.seen[int(bad.argmax())]
            warnings.warn(
                f"Error detected in {name}. The forward call that caused it was recorded at "
                f"{site}.", stacklevel=4)
            raise RuntimeError(
                f"Function '{name}' returned nan values in its {i}th output; its forward was "
                f"recorded at {site}")


def inspector() -> Inspector:
    """What a pass calls with the cotangents of every op."""
    return Inspector()
