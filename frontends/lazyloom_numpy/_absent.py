"""Names that are NumPy's own here, since no device has what they are about."""

from __future__ import annotations

from typing import Any, Final

_OBJECTS: Final = (
    "only numbers and bools have a place on a device; use numpy for arrays of strings, bytes, "
    "objects, records and dates, and numpy.asarray(x) to get there")
_EXTENDED: Final = (
    "extended precision is not available in XLA, the widest types are float64 and complex128; use "
    "numpy where more is needed")
_CALENDAR: Final = "dates have no place on a device; use numpy for dates and times"

_DTYPES: Final = "NumPy's own, as are the arrays that it makes: no device has these dtypes"
_CLASSES: Final = "NumPy's own: its arrays live in the host's memory and compute there"
_NUMPY_ITSELF: Final = "NumPy's own: it is about the installed NumPy, not about arrays"

#: what is NumPy's own here, and why
NUMPYS_OWN: Final[dict[str, str]] = {
    **dict.fromkeys((
        "bytes_", "str_", "object_", "void", "character", "flexible", "char", "strings", "rec",
        "recarray", "record", "ScalarType", "sctypeDict", "typecodes", "fromregex", "float128",
        "complex256", "longdouble", "clongdouble", "datetime64", "timedelta64",
        "datetime_as_string", "datetime_data", "isnat", "busday_count", "busday_offset",
        "busdaycalendar", "is_busday"), _DTYPES),
    **dict.fromkeys(("matrix", "asmatrix", "ma", "memmap"), _CLASSES),
    "polynomial": "NumPy's own classes and functions, which take arrays of ours",
    "nested_iters": "NumPy's own: it reads what it iterates over",
    **dict.fromkeys((
        "ctypeslib", "core", "f2py", "get_include", "info", "show_config", "show_runtime",
        "test", "dtypes", "getbufsize", "setbufsize", "mintypecode", "version"),
        _NUMPY_ITSELF),
}  # fmt: skip


def numpys_own(name: str) -> Any:
    """What NumPy has under a name of :data:`NUMPYS_OWN`; AttributeError for another."""
    if name not in NUMPYS_OWN:
        raise AttributeError(f"module 'lazyloom_numpy' has no attribute {name!r}")
    import numpy as onp

    return getattr(onp, name)


def why_no_dtype(given: object) -> str:
    """Why there is no array of a dtype that NumPy has."""
    import numpy as onp

    try:
        d = onp.dtype(given)  # type: ignore[call-overload]
    except TypeError:
        return f"{given!r} is not a dtype"
    if d.kind in "fc":
        return f"dtype {d.name} is out of scope: {_EXTENDED}"
    if d.kind in "mM":
        return f"dtype {d} is out of scope: {_CALENDAR}"
    name = "object" if d.kind == "O" else str(d)
    return f"dtype {name} is out of scope: {_OBJECTS}"
