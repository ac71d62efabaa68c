"""Every case of the areas' modules, with NumPy and with this frontend."""

from __future__ import annotations

import pytest

from tests.numpy.coverage._areas import cases, exercised, names, ours, reason_against
from tests.numpy.coverage.case import Case, check

pytestmark = pytest.mark.usefixtures("quick_compiler")

CASES: list[Case] = cases()


@pytest.mark.parametrize("c", CASES, ids=lambda c: f"{c.place} {c.names[0]}")
def test_as_numpy(c: Case) -> None:
    check(c)


def test_every_supported_name_has_a_case() -> None:
    known = exercised(CASES)
    without = [f"{section}.{name}" for section, name in names()
               if reason_against(section, name) is None and f"{section}.{name}" not in known]
    assert not without


def test_every_other_name_has_a_reason() -> None:
    unexplained = [f"{section}.{name}" for section, name in names()
                   if reason_against(section, name) == ""]
    assert not unexplained


def test_most_of_the_list_is_supported() -> None:
    listed = names()
    supported = [n for n in listed if reason_against(*n) is None]
    assert len(listed) == 728
    assert len(supported) >= 0.95 * len(listed)


def test_cases_name_what_exists() -> None:
    for c in CASES:
        for full in c.names:
            section, _, name = full.rpartition(".")
            assert ours(section, name) is not None or name == "newaxis", full
