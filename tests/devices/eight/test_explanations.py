"""``lazyloom.explain``: the collectives of a program on a mesh, by op and by axis."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom.backends.xla.device_groups import axes_of
from lazyloom.backends.xla.partitioned import collectives_in
from lazyloom.errors import ArgumentError, ForkError

MESH = lazyloom.make_mesh({"data": 4, "model": 2})


def divided(*shape: int, spec: Any = ("data",)) -> Any:
    data = numpy.random.default_rng(len(shape)).standard_normal(shape).astype("float32")
    return lazyloom.shard(np.asarray(data), MESH, spec)


def test_each_collective_stands_under_its_op_and_nothing_runs() -> None:
    x, w = divided(16, 32, spec=("data", "model")), divided(32, 8, spec=("model",))
    y = lazyloom.shard(np.roll(x @ w, 1, axis=0).sum(axis=0), MESH, ())
    before = dict(lazyloom.stats())
    text = str(lazyloom.explain(y))
    after = lazyloom.stats()
    assert after["executions"] == before["executions"]
    lines = text.splitlines()
    assert lines[0].endswith("ops on the mesh data=4, model=2")
    product = next(k for k, line in enumerate(lines) if " matmul(" in line)
    assert "%in0: float32[16,32](data;model), %in1: float32[32,8](model)" in lines[product]
    assert lines[product + 1] == "    all-reduce of f32[4,8] along model: 128 bytes"
    rolled = next(k for k, line in enumerate(lines) if " roll(" in line)
    assert lines[rolled + 1] == "    collective-permute of f32[1,8] along data: 32 bytes"
    # the run finds what was compiled, and its record has the same collectives
    known = after["programs_compiled"] + after["programs_from_disk"]
    lazyloom.sync(y, wait=True)
    after = lazyloom.stats()
    assert after["programs_compiled"] + after["programs_from_disk"] == known
    newest = lazyloom.explain()
    assert str(newest) == text
    assert newest.collectives == lazyloom.last_evaluation().collectives
    names = newest.program.ops
    assert all(names[c.number] == c.op for c in newest.collectives)


def test_a_step_of_training_averages_along_the_batch() -> None:
    torch.manual_seed(0)
    net = torch.nn.Linear(8, 4)
    for p in net.parameters():
        p.data = lazyloom.shard(p.data, MESH, ())
    x = lazyloom.shard(torch.randn(16, 8), MESH, ("data",))
    y = lazyloom.shard(torch.randint(0, 4, (16,)), MESH, ("data",))
    loss = torch.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    found = lazyloom.explain(net.weight.grad)
    assert found.collectives and all(c.axes == ("data",) for c in found.collectives)
    assert sum(c.nbytes for c in found.collectives) >= 4 * 8 * 4 + 4 * 4


def test_programs_without_collectives_and_what_is_none() -> None:
    assert str(lazyloom.explain(divided(8, 8) + 1)).endswith(
        "1 op on the mesh data=4, model=2\nno collectives")
    alone = np.ones(3) * 2 + np.arange(3.0)
    assert str(lazyloom.explain(lazyloom.program_of(alone))).endswith(
        "on one device\nno collectives")
    with pytest.raises(ArgumentError, match="explain: a list was given, expected a program"):
        lazyloom.explain([1])
    x = divided(8, 8)
    with pytest.raises(ArgumentError, match="none of the given values is pending"):
        lazyloom.explain(x)


@pytest.mark.parametrize(("attributes", "axes"), [
    ("replica_groups={{0,1},{2,3},{4,5},{6,7}}", ("model",)),
    ("replica_groups={{0,2,4,6},{1,3,5,7}}", ("data",)),
    ("replica_groups={}", ("data", "model")),
    ("replica_groups=[4,2]<=[8]", ("model",)),
    ("replica_groups=[2,4]<=[4,2]T(1,0)", ("data",)),
    ("replica_groups=[1,8]<=[8]", ("data", "model")),
    ("replica_groups=mesh['axis_0'=4,'axis_1'=2] {'axis_0'}", ("data",)),
    ("replica_groups=mesh['axis_0'=4,'axis_1'=2] {'axis_0','axis_1'}", ("data", "model")),
    ("replica_groups=mesh['axis_0'=2,'axis_1'=4], device_ids=([4,2]T(1,0)) {'axis_0'}",
     ("model",)),
    ("replica_groups=mesh['axis_0'=8] {'axis_0':(1)2}", ()),
    ("source_target_pairs={{0,2},{2,4},{4,6},{6,0}}", ("data",)),
    ("source_target_pairs={{0,1},{1,0}}", ("model",)),
    ("channel_id=3", ()),
])  # fmt: skip
def test_axes_are_read_of_every_form_that_hlo_has(attributes: str, axes: tuple[str, ...]) -> None:
    assert axes_of(f"%x), channel_id=1, {attributes}, use_global_device_ids=true", MESH) == axes


def test_loops_say_how_often() -> None:
    rows, start = divided(5, 8, 16, spec=(None, "data")), np.ones(16, dtype="float32")

    def step(carry: Any, row: Any) -> Any:
        return (row * carry).sum(axis=0) * 0.01, None

    def outer(carry: Any, row: Any) -> Any:
        return lazyloom.scan(step, carry, rows[:3])[0], None

    found = lazyloom.explain(lazyloom.scan(outer, start, rows)[0])
    assert [c.times for c in found.collectives] == [15]
    assert "all-reduce of f32[16] along data: 64 bytes, 15 times" in str(found)
    assert "1 collective, 960 bytes on each device" in str(found)

    def again(carry: Any) -> Any:
        return carry.sum() < 1000.0

    w = divided(8, 16)
    found = lazyloom.explain(
        lazyloom.while_loop(again, lambda c: c + (c * w).sum(axis=0), w * w))
    assert {c.times for c in found.collectives} == {0}
    assert "2 collectives, 68 bytes each iteration on each device" in str(found)
    assert "all-reduce of f32[16] along data: 64 bytes, each iteration" in str(found)


def test_a_computation_runs_as_often_as_all_that_call_it() -> None:
    text = """
%add (a: f32[], b: f32[]) -> f32[] {
}
%body.1 (p: f32[2]) -> f32[2] {
  %r = f32[2]{0} all-reduce(%p), replica_groups={}, to_apply=%add, metadata={op_name="3:scan"}
}
%test.1 (p: f32[2]) -> pred[] {
  %r.1 = f32[] all-reduce(%p), replica_groups={}, to_apply=%add, metadata={op_name="3:scan"}
}
%one (p: f32[2]) -> f32[2] {
  %w = f32[2] while(%p), condition=%test.1, body=%body.1, TRIPS
}
%other (p: f32[2]) -> f32[2] {
  %g = f32[4]{0} all-gather(%p), replica_groups={}, dimensions={0}
}
ENTRY %main (p: f32[2]) -> f32[2] {
  %c = f32[2] conditional(%i, %p, %p), branch_computations={%one, %other}
  %k = f32[2] call(%c), to_apply=%one
  %s = f32[2]{0} all-reduce(%k), replica_groups={}, to_apply=%add
}
"""
    found = [(c.name, c.nbytes, c.number, c.times) for c in collectives_in(
        text.replace("TRIPS", 'backend_config={"known_trip_count":{"n":"4"}}'), MESH)]
    assert found == [("all-reduce", 8, 3, 8), ("all-reduce", 4, 3, 10), ("all-gather", 16, -1, 1),
                     ("all-reduce", 8, -1, 1)]


@pytest.mark.filterwarnings("ignore:.*fork:")
def test_a_forked_child_compiles_no_program_for_it() -> None:
    program = lazyloom.program_of(np.exp(divided(8, 6)).sum())
    child = os.fork()
    if child == 0:
        said = 1
        try:
            lazyloom.explain(program)
        except ForkError:
            said = 0
        finally:
            os._exit(said)
    end = time.monotonic() + 20
    done, status = os.waitpid(child, os.WNOHANG)
    while not done and time.monotonic() < end:
        time.sleep(0.01)
        done, status = os.waitpid(child, os.WNOHANG)
    if not done:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert done and os.waitstatus_to_exitcode(status) == 0
