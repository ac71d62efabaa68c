"""Programs of several processes: their order, their records, the disk cache, training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
import lazyloom.distributed as dist

from .launch import run

PROGRAM = "programs_steps.py"


def reports(what: list[str], world: int, **environment: str) -> list[dict[str, Any]]:
    """What each process says of its run."""
    ended = run(PROGRAM, what, world, 40, **environment)
    found = []
    for each in ended:
        assert each.code == 0, each.output
        (line,) = [line for line in each.output.splitlines() if line.startswith("report ")]
        found.append(json.loads(line.removeprefix("report ")))
    return found


def test_three_hundred_steps_without_a_read_and_their_programs_on_disk(tmp_path: Path) -> None:
    for attempt in range(2):
        for report in reports(["many", "store"], 2, LAZYLOOM_CACHE_DIR=str(tmp_path)):
            np.testing.assert_allclose(report["many"], np.arange(8.0) + 300.5)
            # the first step, the others, and the last, which is read
            assert report["stats"]["executions"] <= 302
            if attempt:
                assert report["end"]["programs_from_disk"] > 0
                assert report["end"]["programs_compiled"] == 0
                assert report["end"]["jax_traces"] == 0
            assert report["store"] == ["of 0", "of 1"]
            assert report["sum"] == 3
            assert report["missing"] == (
                "Store.get: the key 'nothing' was not set by any process within 0.2 s")


def test_order_and_records() -> None:
    for report in reports(["orders", "record"], 3):
        assert report["orders"]
        assert report["collectives"] == [["all_reduce", 24], ["all_gather", 24]]
        assert "together 2 collectives, 48 bytes" in report["record"]
        assert "all_gather of float32[2,3] in group 0, 1, 2: 24 bytes" in report["record"]
        assert ("all_reduce(%in0) {reduction='max', group=(0, 1, 2), world=3, axes=''}"
                in report["program"])


def test_matched_steps_keep_the_order_of_collectives() -> None:
    for report in reports(["matched"], 2):
        assert report["matched"] > 30


def test_training_on_two_processes_has_the_losses_of_one() -> None:
    for report in reports(["train"], 2):
        one, two = report["losses of 1"], report["losses of 2"]
        assert one[-1] < one[0] / 2
        np.testing.assert_allclose(two, one, rtol=1e-5)


def test_alone_nothing_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    x = ll.Tensor.from_value(ll.from_host(np.arange(4.0)))
    dist.init()
    dist.init()
    try:
        assert dist.is_initialized() and dist.rank() == 0 and dist.world_size() == 1
        before = ll.last_sequence()
        for result in (
            dist.all_reduce(x), dist.all_gather(x), dist.reduce_scatter(x, "max"),
            dist.all_to_all(x), dist.permute(x, [(0, 0)]), dist.broadcast(x),
            dist.all_reduce(x, group=dist.new_group([0])),
        ):
            assert result is x
        assert ll.last_sequence() == before
        dist.barrier()
        dist.Store().set("a", b"\x00\xff")
        assert dist.Store().get("a") == b"\x00\xff"
        assert dist.Store().add("n", 2) == 2
    finally:
        dist.shutdown()
    assert not dist.is_initialized()


def test_arguments_are_checked() -> None:
    x = ll.Tensor.from_value(ll.from_host(np.arange(4.0)))
    with pytest.raises(ll.errors.ArgumentError, match="the reduction is 'median'"):
        dist.all_reduce(x, "median")
    with pytest.raises(ll.errors.ArgumentError, match="the operand is a list"):
        dist.all_gather([1.0])
    with pytest.raises(ll.errors.ArgumentError, match="expected distinct ranks from 0 to 0"):
        dist.new_group([0, 1])
    for name, attributes, text in [
        ("all_reduce", {"reduction": "mean"}, "cast it first"),
        ("reduce_scatter", {"axis": 0}, "has size 3, expected a multiple of the group's size 2"),
        ("all_to_all", {"split_axis": 1}, "attribute 'split_axis' has 1"),
        ("collective_permute", {"sources": (0, 0), "targets": (0, 1)}, "distinct positions"),
        ("collective_broadcast", {"source": 2}, "expected a position from 0 to 1"),
        ("all_gather", {"group": (0, 2)}, "expected distinct ranks from 0 to 1"),
    ]:
        with pytest.raises(ll.errors.LoomError, match=text):
            ll.record(name, [ll.from_host(np.arange(3))], {
                "group": (0, 1), "world": 2, **attributes})


def test_a_collective_of_several_processes_needs_them() -> None:
    result = ll.record("all_reduce", [ll.from_host(np.arange(3))], {"group": (0, 1), "world": 2})
    with pytest.raises(dist.DistributedError, match=r"call lazyloom.distributed.init\(\) before"):
        result.read()
