"""What NumPy warns of or refuses by looking at the data: said when a result is read.

A call records a condition beside its result (``lazyloom.register_check``). Reading anything that
depends on the result looks at the condition first; nothing is read before.
"""

from __future__ import annotations

import warnings
from typing import Any, Final

import lazyloom

from .._array.ndarray import ndarray, wrap

#: kind: what is warned of once, when a result is read
_WARNINGS: Final = {
    "all-NaN slice": "All-NaN slice encountered",
    "all-NaN axis": "All-NaN axis encountered",
    "empty mean": "Mean of empty slice",
    "no degrees of freedom": "Degrees of freedom <= 0 for slice.",
    "too few to vary": "Degrees of freedom <= 0 for slice",
}

#: kind: what every read of the result raises as a ValueError
_ERRORS: Final = {
    "all-NaN argument": "All-NaN slice encountered",
    "quantile": "Quantiles must be in the range [0, 1]",
    "percentile": "Percentiles must be in the range [0, 100]",
    "no weight": "Weights sum to zero, can't be normalized",
    "negative weight": "Weights must be non-negative.",
    "zero": "Geometric sequence cannot include zero",
    "range": "autodetected range is not finite",
    "bins": "`bins` must increase monotonically, when an array",
    "coordinates": "invalid entry in coordinates array",
    "choice": "invalid entry in choice array",
    "negative power": "Integers to negative integer powers are not allowed.",
}


class NoWeightError(lazyloom.errors.ArgumentError, ZeroDivisionError):
    """Weights sum to zero, so that there is no mean."""


def _warn(data: Any, check: lazyloom.Check) -> None:
    # at the line of the call, whichever line reads
    site = check.site
    warnings.warn_explicit(_WARNINGS[check.kind], RuntimeWarning, site.file, site.line)


def _refuse(data: Any, check: lazyloom.Check) -> lazyloom.LoomError:
    error = NoWeightError if check.kind == "no weight" else lazyloom.errors.ArgumentError
    return error(
        f"{check.of}: {_ERRORS[check.kind]} (recorded at {check.site})", op=check.of,
        site=str(check.site))  # fmt: skip


for _kind in _WARNINGS:
    lazyloom.register_check(_kind, _warn)
for _kind in _ERRORS:
    lazyloom.register_check(_kind, _refuse)


def unless(bad: ndarray, kind: str, of: str, result: Any) -> Any:
    """The result, whose readers hear of it if any element of ``bad`` is true.

    ``kind`` is one of the warnings and errors above, ``of`` the function's name.
    """
    flag = lazyloom.record("any", (bad.value,), {"axes": None, "keepdims": False})
    passed = lazyloom.record("checked", (result.value, flag), {"kind": kind, "of": of})[0]
    return wrap(passed)
