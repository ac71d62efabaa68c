"""Random programs divided among random generators: see :mod:`tests.codegen.random_partitions`."""

from __future__ import annotations

import pytest

from tests.codegen.random_partitions import through

#: programs in each of several parts
PART = 100


@pytest.mark.parametrize("part", range(5))
def test_random_programs_are_divided_soundly(part: int) -> None:
    """Each op is done once, and all results are the whole program's, bit by bit."""
    total = through(part * PART, PART)
    # all that there is to get wrong is there
    assert total["programs"] == PART and total["with several regions"] > PART // 3
    assert total["groups"] > 10 and total["wrong"] > 10 * PART
    assert 0 < total["in_regions"] < total["ops"]
    assert min(total["shown"], total["unbuilt"], total["batched"]) > 0


@pytest.mark.slow
def test_many_random_programs_are_divided_soundly(thorough: bool) -> None:
    count = 3000 if thorough else 1000
    total = through(100_000, count)
    assert total["programs"] == count
