"""Parameters have NumPy's names, order, kinds and defaults."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as onp
import pytest

from tests.numpy.coverage._areas import absent, names, ours, reason_against

#: parameters that differ on purpose, and why
DIFFERENT = {
    "numpy.clip": "min and max may be positional too, as in the array API standard",
    "numpy.einsum": "NumPy's **kwargs are named",
    "numpy.ndarray.dot": "NumPy takes b= too, which its signature does not say",
    "numpy.ndarray.view": "NumPy's *args are named",
    "numpy.where": "None stands for an argument there, which would be an object array",
}  # fmt: skip
_NO_VALUE = onp._NoValue  # type: ignore[attr-defined]


def _theirs(section: str, name: str) -> Any:
    found: Any = onp
    for part in section.split(".")[1:]:
        found = getattr(found, part)
    return getattr(found, name)


def _compared() -> list[tuple[str, Any, Any]]:
    """Functions and methods for which NumPy tells the parameters."""
    found = []
    for section, name in names():
        if section not in ("numpy", "numpy.linalg", "numpy.fft", "numpy.ndarray") or (
            reason_against(section, name) is not None or name.startswith("__")
            or absent(section, name)
        ):
            continue
        theirs, here = _theirs(section, name), ours(section, name)
        if isinstance(theirs, (type, onp.ufunc)) or not callable(theirs):
            continue
        try:
            found.append((f"{section}.{name}", inspect.signature(theirs), inspect.signature(here)))
        except ValueError:
            continue  # NumPy does not tell
    return found


COMPARED = _compared()


def _same_default(theirs: Any, here: Any) -> bool:
    if theirs is _NO_VALUE or theirs is inspect.Parameter.empty:
        return True  # NumPy says nothing of it
    return repr(theirs) == repr(here) or (theirs is None and here in (float, False)) or (
        theirs == here and type(theirs) in (int, float))


@pytest.mark.parametrize("full, theirs, here", COMPARED, ids=lambda x: x if isinstance(
    x, str) else "")
def test_parameters(full: str, theirs: inspect.Signature, here: inspect.Signature) -> None:
    if full in DIFFERENT:
        return
    mine = dict(here.parameters)
    keywords = [p for p in mine.values() if p.kind is p.VAR_KEYWORD]
    positions = [p.name for p in mine.values()
                 if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    index = 0
    for p in theirs.parameters.values():
        if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
            continue
        if p.kind is p.POSITIONAL_ONLY:
            assert index < len(positions), f"{p.name} cannot be positional"
        else:
            assert p.name in mine or keywords, f"{p.name} is missing"
        if p.kind is p.POSITIONAL_OR_KEYWORD and p.name in mine:
            assert positions[index] == p.name, f"{p.name} has another position"
        if p.name in mine:
            assert _same_default(p.default, mine[p.name].default), (
                f"{p.name} is {mine[p.name].default!r}, not {p.default!r}")
        if p.kind is not p.KEYWORD_ONLY:
            index += 1
    given = {p.name for p in theirs.parameters.values()}
    for p in mine.values():
        if p.name not in given and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
            assert p.default is not p.empty or p.kind is p.POSITIONAL_ONLY, f"{p.name} is required"


def test_enough_is_compared() -> None:
    assert len(COMPARED) > 250
