"""Names of NumPy's that are not here, each with the reason and what to do instead."""

from __future__ import annotations

from typing import Final, NoReturn

_OBJECTS: Final = (
    "only numbers and bools have a place on a device; use numpy for arrays of strings, bytes, "
    "objects, records and dates, and numpy.asarray(x) to get there")
_EXTENDED: Final = (
    "extended precision is not available in XLA, the widest types are float64 and complex128; use "
    "numpy where more is needed")
_MATRIX: Final = "there is no matrix class, which NumPy discourages too; use two-dimensional arrays"
_MASKED: Final = (
    "masked arrays are out of scope; use where= arguments, the nan* functions, or numpy.ma on "
    "numpy.asarray(x)")
_LOOPS: Final = (
    "element-by-element iteration would read each element; use functions of whole arrays, "
    "ndindex, ndenumerate or nditer, or numpy.nested_iters on numpy.asarray(x)")
_NUMPY_ITSELF: Final = "it is about the installed NumPy, not about arrays; use numpy's own"
_CALENDAR: Final = "dates have no place on a device; use numpy for dates and times"
_POLYNOMIAL: Final = (
    "the classes of numpy.polynomial are out of scope; polyval, polyfit, roots and their kind are "
    "here; use numpy.polynomial on numpy.asarray(x)")

#: name: why it is not here, and what to do
REASONS: Final[dict[str, str]] = {
    **dict.fromkeys(("float128", "complex256", "longdouble", "clongdouble"), _EXTENDED),
    **dict.fromkeys((
        "bytes_", "str_", "object_", "void", "character", "flexible", "char", "strings", "rec",
        "recarray", "record", "ScalarType", "sctypeDict", "typecodes"), _OBJECTS),
    **dict.fromkeys((
        "datetime64", "timedelta64", "datetime_as_string", "datetime_data", "isnat",
        "busday_count", "busday_offset", "busdaycalendar", "is_busday"), _CALENDAR),
    **dict.fromkeys(("matrix", "asmatrix", "bmat"), _MATRIX),
    "nested_iters": _LOOPS,
    **dict.fromkeys((
        "ctypeslib", "core", "f2py", "get_include", "info", "show_config", "show_runtime",
        "test", "dtypes", "getbufsize", "setbufsize", "mintypecode"),
        _NUMPY_ITSELF),
    "ma": _MASKED,
    "memmap": "memory maps are out of scope, as data lives on a device; use numpy.memmap, and "
              "asarray for what is computed with",
    "polynomial": _POLYNOMIAL,
    "fromregex": "it makes records; use numpy.fromregex and asarray for its columns",
}  # fmt: skip

#: functions that are here only to say why they cannot be
REFUSED: Final[dict[str, str]] = {
    "frompyfunc": "its results are arrays of objects; vectorize(f, otypes=[float]) gives numbers",
}


def refuse(name: str) -> NoReturn:
    """Raise AttributeError for a name that is not here, with the reason where one is known."""
    reason = REASONS.get(name)
    if reason is None:
        raise AttributeError(f"module 'lazyloom_numpy' has no attribute {name!r}")
    raise AttributeError(f"lazyloom_numpy.{name} does not exist: {reason}")


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
