"""``lazyloom.explain`` of a program that several processes run together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.distributed import launches

pytestmark = pytest.mark.slow


def test_recorded_collectives_stand_under_their_ops(tmp_path: Path) -> None:
    program = launches.script(tmp_path, """
import lazyloom
import lazyloom_numpy as np
import lazyloom.distributed as ll
from lazyloom.distributed import all_reduce

dist.init_process_group("gloo")
rank = dist.get_rank()
x = np.full((3,), float(rank + 1), dtype="float32")
y = all_reduce(x * 2) + 1
before = lazyloom.stats()["executions"]
text = str(lazyloom.explain(y))
ran = lazyloom.stats()["executions"] - before
leave((text, ran, np.asarray(y).tolist()))
dist.destroy_process_group()
""")
    found = launches.launch(program, tmp_path)
    for text, ran, values in found:
        assert ran == 0 and values == [7.0, 7.0, 7.0]
        lines = text.splitlines()
        assert lines[0].endswith("on one device of each process")
        assert lines[1] == "1 collective, 12 bytes on each process"
        assert " all_reduce(" in lines[2]
        assert lines[3] == "    all_reduce sum of float32[3] in group 0, 1: 12 bytes"
