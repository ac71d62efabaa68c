"""Random functions, mapped, captured and in loops: see :mod:`tests.codegen.random_frontends`."""

from __future__ import annotations

import pytest

from lazyloom.backends.xla.regions import engines
from tests.codegen.random_frontends import through

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
    pytest.mark.usefixtures("fresh_cache"),
]


@pytest.mark.parametrize(("start", "count"), [
    (0, 6), pytest.param(1000, 60, marks=pytest.mark.slow)])
def test_regions_change_no_result(start: int, count: int, thorough: bool) -> None:
    if count > 20 and not thorough:
        count = 20
    total = through(start, count)
    assert total["programs"] == count and total["ran"] > count
    # of each kind there are some, which have regions
    assert sum(key.endswith("in regions") for key in total) >= (3 if count <= 20 else 6)
    assert total["regions in loops"] and total["gradients"] and total["with faults"]
