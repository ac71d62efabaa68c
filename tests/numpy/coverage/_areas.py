"""The cases of all areas, and what they say of the names of the fixed list."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import lazyloom_numpy as np
from tests.numpy.coverage.case import Case

HERE = Path(__file__).parent
LIST = HERE.parents[1] / "conformance" / "numpy_names.txt"
AREAS = sorted(p.stem for p in HERE.glob("*.py") if not p.stem.startswith(("test_", "case", "_")))


def cases() -> list[Case]:
    """Every area's cases."""
    return [c for area in AREAS
            for c in importlib.import_module(f"tests.numpy.coverage.{area}").CASES]


def names() -> list[tuple[str, str]]:
    """The fixed list: the section (such as ``numpy.fft``) and name of each entry."""
    found, section = [], ""
    for line in LIST.read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif line and not line.startswith("#"):
            found.append((section, line))
    return found


def absent(section: str, name: str) -> bool:
    """Whether the NumPy that is installed no longer has a name of the list, 2.4's."""
    import numpy

    found: Any = numpy
    for part in section.split(".")[1:]:
        found = getattr(found, part)
    return not hasattr(found, name)


def ours(section: str, name: str) -> Any:
    """What this frontend has under a name; AttributeError if nothing."""
    found: Any = np
    for part in section.split(".")[1:]:
        found = getattr(found, part)
    return getattr(found, name)


def reason_against(section: str, name: str) -> str | None:
    """Why a name is not supported; None if it is."""
    from lazyloom_numpy._absent import NUMPYS_OWN

    if section == "numpy" and name in NUMPYS_OWN:
        return NUMPYS_OWN[name]
    try:
        ours(section, name)
    except AttributeError:
        return ""
    return None


def exercised(found: list[Case]) -> dict[str, list[Case]]:
    """The cases of each full name."""
    result: dict[str, list[Case]] = {}
    for c in found:
        for name in c.names:
            result.setdefault(name, []).append(c)
    return result
