"""A process that goes on for ever grows by nothing: loops of eight kinds, and what is counted.

``--thorough`` runs 50,000 steps.
"""

from __future__ import annotations

import json

import pytest

from tests.contract.helpers import script


@pytest.mark.xla
def test_loops_grow_by_nothing(thorough: bool) -> None:
    steps = 50_000 if thorough else 1_600
    done = script(
        f"""
        import json
        from tests.runtime.steady_loops import KINDS, growth
        more, memory, increase = growth({steps}, KINDS)
        print(json.dumps(more))
        print(increase)
        """,
        timeout=1800)
    *_, text, increase = done.stdout.splitlines()
    more = json.loads(text)
    if not thorough:
        more.pop("objects", None)  # so few steps fill no cache
    assert more == {}
    if thorough:
        # pages that the allocator keeps; a hundred bytes for each step would be 2.5 MB
        assert int(increase) < 4_000_000
