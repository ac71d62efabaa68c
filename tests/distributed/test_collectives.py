"""Every collective, dtype, group and gradient beside a computation on one device."""

from __future__ import annotations

import pytest

from .launch import run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("what, world", [
    ("forward", 2), ("forward", 4), ("gradients", 2), ("gradients", 4)])
def test_collectives_beside_numpy(
    what: str, world: int, request: pytest.FixtureRequest
) -> None:
    if (what, world) in (("forward", 4), ("gradients", 2)) and not (
        request.config.getoption("--thorough")
    ):
        pytest.skip("with --thorough: the other number of processes")
    for ended in run("programs_collectives.py", [what], world, limit=100):
        assert ended.code == 0, ended.output
        assert "passed" in ended.output
