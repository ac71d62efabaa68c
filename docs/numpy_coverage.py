"""Write numpy_coverage.md: each name of the fixed list, and the case that exercises it."""

from __future__ import annotations

from tests.numpy.coverage import _areas

NOTICE = "<!-- Written by docs/generate.py from tests/numpy/coverage; do not edit. -->\n"


def _exercised_by(cases: list) -> str:
    found = dict.fromkeys(
        (c.area, c.names[0].removeprefix("numpy.")) for c in cases)
    first = [f"`{area}`: {name}" for area, name in list(found)[:2]]
    return ", ".join(first) + (", ..." if len(found) > 2 else "")


def page() -> str:
    """The page's text."""
    names = _areas.names()
    exercised = _areas.exercised(_areas.cases())
    rows: dict[str, list[str]] = {}
    supported = 0
    for section, name in names:
        reason = _areas.reason_against(section, name)
        by = exercised.get(f"{section}.{name}", [])
        supported += reason is None
        text = _exercised_by(by) if reason is None else reason
        rows.setdefault(section, []).append(
            f"| `{name}` | {'yes' if reason is None else '**no**'} | {text} |")
    share = 100 * supported / len(names)
    lines = [
        NOTICE,
        "# What of NumPy is here",
        "",
        f"{supported} of {len(names)} names ({share:.1f} %) are supported. The names were read off "
        "NumPy 2.4 before the work began (`tests/conformance/numpy_names.txt`): functions, "
        "constants and types of `numpy`, `numpy.linalg`, `numpy.fft` and `numpy.random`, and the "
        "methods of arrays, generators and ufuncs.",
        "",
        "Each supported name has a case in `tests/numpy/coverage`: a call made with NumPy and with "
        "`lazyloom_numpy`, on several dtypes and shapes, whose results must agree in value, shape "
        "and dtype, or in the type of the exception. A case that reads data while it is recorded "
        "fails unless it says why it must. The last column names the area's file and the case by "
        "its first name; for names that are not supported it says why.",
    ]
    for section, table in rows.items():
        lines += ["", f"## {section}", "", "| name | supported | exercised by, or why not |",
                  "|---|---|---|", *table]  # fmt: skip
    return "\n".join(lines) + "\n"
