"""Random programs inside XLA, with regions and without: see :mod:`tests.codegen.random_in_xla`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lazyloom.backends.xla.regions import engines
from lazyloom.codegen import PythonCode, Region
from tests.codegen.random_in_xla import InPython, through

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
]


@pytest.mark.parametrize(("start", "count"), [
    (10_000_000, 20), pytest.param(20_000_000, 500, marks=pytest.mark.slow)])
def test_regions_change_no_result(start: int, count: int, thorough: bool) -> None:
    if count > 75 and not thorough:
        count = 75
    total = through(start, count)
    assert total["programs"] == count
    # all that there is to get wrong is there
    assert total["with several regions"] > count // 3 and total["ran"] > count
    assert total["groups"] > count // 5 and total["inexact"] < max(count // 10, 3)
    assert 0 < total["in_regions"] < total["ops"]


def test_a_region_that_is_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = InPython.build

    def build(self: InPython, region: Region) -> PythonCode:
        code = right(self, region)
        assert isinstance(code, PythonCode)

        def run(*arrays: Any) -> tuple[Any, ...]:
            return tuple(~x if x.dtype == np.bool_ else x + x.dtype.type(1)
                         for x in code.function(*arrays))

        return PythonCode(run)

    monkeypatch.setattr(InPython, "build", build)
    with pytest.raises(AssertionError, match="result"):
        through(0, 20)
