"""Captures of the C ABI: runs equal recording bit for bit, what they write, and what is refused."""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom import errors
from lazyloom_capi.client import Client, Tensor

X = np.arange(6, dtype=np.float32).reshape(2, 3)
RANDOM = np.random.default_rng(5)
SHAPES = [(4, 8), (8,), (8, 3), (3,)]


@pytest.fixture(autouse=True)
def compiled_at_once() -> Iterator[None]:
    with ll.options(reproducible=True):
        yield


def assign(client: Client, targets: list[Tensor], values: list[Tensor]) -> None:
    client.check(client.lib.loom_tensors_assign(
        client._array(targets), client._array(values), len(targets)))  # fmt: skip


def require(client: Client, tensor: Tensor) -> Tensor:
    client.check(client.lib.loom_tensor_require_grad(tensor.handle, True))
    return tensor


def record_gradients(client: Client, on: bool) -> None:
    client.check(client.lib.loom_set_grad_enabled(on, client.ffi.NULL))


class Network:
    """Two layers, trained by SGD with momentum; every step of it is recorded through the ABI."""

    def __init__(self, client: Client, leaves: bool = True) -> None:
        self.client = client
        random = np.random.default_rng(0)
        self.parameters = [client.from_numpy(random.normal(0, 0.3, s).astype(np.float32))
                           for s in SHAPES]  # fmt: skip
        self.momenta = [client.from_numpy(np.zeros(s, np.float32)) for s in SHAPES]
        if leaves:
            for p in self.parameters:
                require(client, p)

    def inputs(self, x: Tensor, y: Tensor) -> list[Tensor]:
        return [*self.parameters, *self.momenta, x, y]

    def step(self, x: Tensor, y: Tensor) -> Tensor:
        apply = self.client.apply
        w1, b1, w2, b2 = self.parameters
        hidden = apply("relu", [apply("add", [apply("matmul", [x, w1]), b1])])
        loss = apply("cross_entropy", [apply("add", [apply("matmul", [hidden, w2]), b2]), y])
        gradients = self.client.gradients([loss], self.parameters)
        record_gradients(self.client, False)
        tensors = [*self.parameters, *gradients, *self.momenta]
        moved = apply("step_sgd", [0.05, 0.0, 0.9, 1.0, *tensors], {"momentous": True})
        assign(self.client, [*self.parameters, *self.momenta], list(moved))
        record_gradients(self.client, True)
        return Tensor(self.client, self.client.out(
            "loom_tensor *", self.client.lib.loom_tensor_detach, loss.handle))  # fmt: skip

    def contents(self) -> bytes:
        return b"".join(t.read().tobytes() for t in [*self.parameters, *self.momenta])


def batches(client: Client, count: int) -> list[tuple[Tensor, Tensor]]:
    random = np.random.default_rng(1)
    return [(client.from_numpy(random.normal(0, 1, (5, 4)).astype(np.float32)),
             client.from_numpy(random.integers(0, 3, 5))) for _ in range(count)]  # fmt: skip


@pytest.mark.parametrize("read", [True, False], ids=["read", "not read"])
def test_a_captured_step_trains_as_a_recorded_one(client: Client, read: bool) -> None:
    recorded, captured = Network(client), Network(client)
    data = batches(client, 8)
    first, (loss,) = client.capture(
        captured.inputs(*data[0]), lambda: [captured.step(*data[0])])
    losses = [(recorded.step(*data[0]), loss)]
    ll.sync()
    if read:
        assert losses[0][0].read() == losses[0][1].read()
    for x, y in data[1:]:
        losses.append((recorded.step(x, y), first.run(captured.inputs(x, y))[0]))
        # else steps that were recorded would be one program
        ll.sync()
        if read:
            assert losses[-1][0].read() == losses[-1][1].read()
    assert [a.read() for a, _ in losses] == [b.read() for _, b in losses]
    assert recorded.contents() == captured.contents()


def program_text() -> list[str]:
    """The ops of the program that ran last."""
    return str(ll.last_evaluation().program.text()).splitlines()[1:-2]


def donated() -> int:
    return str(ll.last_evaluation().program.text()).splitlines()[0].count("donated")


def test_a_run_is_one_run_of_the_program_that_recording_has(client: Client) -> None:
    network = Network(client)
    (x, y), *more = batches(client, 5)
    step, _ = client.capture(network.inputs(x, y), lambda: [network.step(x, y)])
    ll.sync(wait=True)
    recorded = program_text()
    keys, traced = set(), ll.stats()["ops_traced"]
    for k, pair in enumerate(more):
        before = ll.stats()
        step.run(network.inputs(*pair))[0].read()
        after = ll.stats()
        assert after["executions"] == before["executions"] + 1
        assert program_text() == recorded
        keys.add(ll.last_evaluation().program.key)
        if k > 0:
            assert after["ops_traced"] == before["ops_traced"], "nothing is recorded"
            assert after["programs_compiled"] == before["programs_compiled"]
    assert len(keys) == 1 and ll.stats()["ops_traced"] <= 2 * traced


def test_memory_of_what_is_overwritten_is_used_again(client: Client) -> None:
    network = Network(client)
    (x, y), *more = batches(client, 6)
    step, _ = client.capture(network.inputs(x, y), lambda: [network.step(x, y)])
    kept = expected = None
    for k, pair in enumerate(more):
        if k == 3:
            # somebody else sees the contents of before, which must then stay
            expected = network.parameters[0].read()
            kept = Tensor(client, client.out(
                "loom_tensor *", client.lib.loom_tensor_detach, network.parameters[0].handle))
        copies = ll.stats()["donated_copies"]
        step.run(network.inputs(*pair))
        ll.sync(wait=True)
        # one that is alive is not donated, but perhaps a copy of it is
        assert donated() == 2 * len(SHAPES) - (k == 3)
        assert ll.stats()["donated_copies"] - copies <= (k == 3)
    assert kept is not None and np.array_equal(kept.read(), expected)


def test_results_and_inputs_of_every_kind(client: Client) -> None:
    """An input given back, a constant made inside, two results that are one, an unused input."""
    x, y = client.from_numpy(X), client.from_numpy(X + 1)

    def record() -> list[Tensor]:
        constant = client.from_numpy(np.float32(10))
        total = client.apply("add", [client.apply("multiply", [x, constant]), 0.5])
        return [total, x, constant, total]

    step, first = client.capture([x, y], record)
    for factor in (1, 2, 3):
        given = client.from_numpy(X * factor)
        for a, expected in zip(step.run([given, y]), (X * factor * 10 + 0.5, X * factor,
                                                      np.float32(10), X * factor * 10 + 0.5)):
            assert np.array_equal(a.read(), expected)
    assert np.array_equal(first[0].read(), X * 10 + 0.5)


def test_inputs_that_are_pending_or_one_tensor(client: Client) -> None:
    x, y = client.from_numpy(X), client.from_numpy(X + 1)
    step, _ = client.capture([x, y], lambda: [client.apply("subtract", [x, y])])
    for _ in range(3):
        pending = client.apply("multiply", [client.from_numpy(X), 3.0])
        assert np.array_equal(step.run([pending, y])[0].read(), X * 3 - X - 1)
        assert np.array_equal(step.run([x, x])[0].read(), X * 0)
        assert np.array_equal(step.run([pending, pending])[0].read(), X * 0)


def test_a_run_swaps_two_inputs(client: Client) -> None:
    x, y = client.from_numpy(X), client.from_numpy(X + 1)

    def swap() -> list[Tensor]:
        a, b = client.apply("add", [x, 0.0]), client.apply("add", [y, 0.0])
        assign(client, [x, y], [b, a])
        return []

    step, _ = client.capture([x, y], swap)
    for k in range(5):
        assert np.array_equal(x.read(), X + 1 - k % 2)
        assert np.array_equal(y.read(), X + k % 2)
        assert step.run([x, y]) == []


def test_a_run_writes_one_input_to_another(client: Client) -> None:
    x, y = client.from_numpy(X), client.from_numpy(X + 1)
    step, _ = client.capture([x, y], lambda: assign(client, [x], [y]) or [])
    for k in range(2, 5):
        y = client.from_numpy(X + k)
        step.run([x, y])
        assert np.array_equal(x.read(), X + k) and np.array_equal(y.read(), X + k)


def test_leaves_stay_leaves(client: Client) -> None:
    """A leaf that a run wrote collects the gradient of its new contents, each its own."""
    tensors = [require(client, client.from_numpy(X + k)) for k in range(3)]

    def double() -> list[Tensor]:
        assign(client, [tensors[0]], [client.apply("multiply", [tensors[0], 2.0])])
        return []

    step, _ = client.capture([tensors[0]], double)
    for t in tensors[1:]:
        for _ in range(3):
            step.run([t])
    for k, t in enumerate(tensors):
        square = client.apply("sum", [client.apply("multiply", [t, t])], {})
        client.check(client.lib.loom_backward(client._array([square]), 1, client.ffi.NULL))
        found = Tensor(client, client.out(
            "loom_tensor *", client.lib.loom_tensor_gradient, t.handle))  # fmt: skip
        assert np.array_equal(found.read(), 2 * (X + k) * (2 if k == 0 else 8))


def test_results_have_no_history(client: Client) -> None:
    w = require(client, client.from_numpy(X))
    step, first = client.capture([w], lambda: [client.apply("multiply", [w, w])])
    (found,) = step.run([w])
    required = client.lib.loom_tensor_requires_grad
    assert client.out("bool *", required, first[0].handle)
    assert not client.out("bool *", required, found.handle)


def test_random_numbers_by_their_key(client: Client) -> None:
    """The key of the next draw is an input like any other, and each run draws others."""
    key = client.from_numpy(np.array([3, 4], np.uint32))

    def draw() -> list[Tensor]:
        found = client.apply("random_bits", [key], {"shape": (4,)})
        assign(client, [key], [client.apply("random_fold_in", [key, 1])])
        return [found]

    step, (first,) = client.capture([key], draw)
    drawn = [first.read(), *(step.run([key])[0].read() for _ in range(3))]
    key, expected = client.from_numpy(np.array([3, 4], np.uint32)), []
    for _ in range(4):
        expected.append(draw()[0].read())
    assert np.array_equal(drawn, expected)
    assert len({d.tobytes() for d in drawn}) == 4


WRONG = [
    (lambda c: [c.from_numpy(X)], errors.ArgumentError, "1 inputs are given, expected 2"),
    (lambda c: [c.from_numpy(X[:1]), c.from_numpy(X)], errors.ShapeError,
     r"inputs\[0\] is float32\[1, ?3\], expected float32\[2, ?3\]"),
    (lambda c: [c.from_numpy(X), c.from_numpy(X.astype(np.int64))], errors.DTypeError,
     r"inputs\[1\] is int64"),
    (lambda c: [c.from_numpy(X), require(c, c.from_numpy(X))], errors.ArgumentError,
     r"inputs\[1\] requires a gradient, expected one that requires no gradient"),
]  # fmt: skip


@pytest.mark.parametrize("make, kind, message", WRONG, ids=["count", "shape", "dtype", "leaf"])
def test_wrong_inputs_are_named(client: Client, make: Any, kind: Any, message: str) -> None:
    x, y = client.from_numpy(X), client.from_numpy(X)

    def add() -> list[Tensor]:
        total = client.apply("add", [x, y])
        assign(client, [x], [total])
        return [total]

    step, _ = client.capture([x, y], add)
    with pytest.raises(kind, match=f"loom_capture_run: {message}"):
        step.run(make(client))
    with pytest.raises(errors.ArgumentError, match=r"inputs\[0\] is assigned to"):
        step.run([x, x])
    other = Tensor(client, client.ffi.new("loom_tensor *", [7])[0])
    with pytest.raises(errors.HandleError, match=r"inputs\[1\]"):
        step.run([x, other])
    results = client.ffi.new("loom_tensor[]", 2)
    with pytest.raises(errors.ArgumentError, match="result_count is 2, expected 1"):
        client.check(client.lib.loom_capture_run(
            step.handle, client._array([x, y]), 2, results, 2))
    before = x.read()
    assert np.array_equal(before, 2 * X), "a call that is refused writes nothing"


def refused(client: Client, kind: Any, message: str, inputs: list[Tensor], record: Any) -> None:
    with pytest.raises(kind, match=message):
        client.capture(inputs, record)
    # the capture has ended
    assert np.array_equal(client.apply("add", [X, 1.0]).read(), X + 1)


def test_what_cannot_run_again_is_refused(client: Client) -> None:
    x, w = client.from_numpy(X), require(client, client.from_numpy(X))
    outside = client.from_numpy(X)
    lib, ffi = client.lib, client.ffi
    kinds = errors
    refused(client, kinds.ReadForbiddenError, "loom_tensor_read: this thread has begun a capture",
            [x], lambda: [x.read()])  # fmt: skip
    refused(client, kinds.ReadForbiddenError, "loom_sync", [x],
            lambda: client.check(lib.loom_sync(client._array([x]), 1, False)))  # fmt: skip
    refused(client, kinds.ReadForbiddenError, "loom_tensor_map", [x], lambda: client.check(
        lib.loom_tensor_map(x.handle, ffi.new("loom_buffer *"), ffi.new("void **"),
                            ffi.new("size_t *"))))  # fmt: skip
    refused(client, kinds.ArgumentError, r"float32\[2, ?3\] from before", [x],
            lambda: [client.apply("add", [x, outside])])  # fmt: skip
    refused(client, kinds.AliasError, "not among its inputs", [x],
            lambda: assign(client, [outside], [x]))  # fmt: skip
    refused(client, kinds.ArgumentError, "the switch is not what it was", [x],
            lambda: record_gradients(client, False) or [])  # fmt: skip
    record_gradients(client, True)
    refused(client, kinds.AliasError, "stays a leaf, or none", [x],
            lambda: require(client, x))  # fmt: skip

    def backward(leaf: Tensor) -> list[Tensor]:
        loss = client.apply("sum", [client.apply("multiply", [leaf, leaf])], {})
        client.check(lib.loom_backward(client._array([loss]), 1, ffi.NULL))
        return []

    refused(client, kinds.ArgumentError, r"inputs\[0\] has collected a gradient", [w],
            lambda: backward(w))  # fmt: skip
    refused(client, kinds.ArgumentError, r"inputs\[0\] has collected a gradient, expected none",
            [w], list)  # fmt: skip
    client.check(lib.loom_tensor_clear_gradient(w.handle))
    refused(client, kinds.ArgumentError, r"inputs\[0\] was assigned something with a history",
            [x, w], lambda: assign(client, [x], [client.apply("multiply", [x, w])]) or [])
    x = client.from_numpy(X)
    refused(client, kinds.GradientError, "not among its inputs", [x], lambda: backward(w))
    refused(client, kinds.ArgumentError, "has begun a capture already", [x],
            lambda: client.capture([x], list))  # fmt: skip
    step, _ = client.capture([x], lambda: [client.apply("add", [x, 1.0])])
    refused(client, kinds.ArgumentError, "a run cannot be a part of", [x], lambda: step.run([x]))


def test_an_error_of_a_run_is_its_readers(client: Client) -> None:
    x = client.from_numpy(X)
    index = client.from_numpy(np.array([0, 1]))

    def rows() -> list[Tensor]:
        flag = client.apply("first_out_of_range", [index], {"size": 2, "negative": True})
        checked = client.apply("checked", [index, flag],
                               {"kind": "index", "of": "take", "info": (0, 2)})[0]  # fmt: skip
        return [client.apply("take", [x, checked], {"axis": 0})]

    step, _ = client.capture([x, index], rows)
    for _ in range(3):
        (found,) = step.run([x, client.from_numpy(np.array([1, 5]))])
        with pytest.raises(errors.IndexRangeError, match="index 5 is out of bounds"):
            found.read()
        assert np.array_equal(step.run([x, index])[0].read(), X)


def test_captures_of_other_threads_are_their_own(client: Client) -> None:
    x = client.from_numpy(X)
    inside, go_on = threading.Event(), threading.Event()
    problems: list[BaseException] = []

    def other() -> None:
        try:
            mine = client.from_numpy(X * 2)

            def record() -> list[Tensor]:
                total = client.apply("add", [mine, 1.0])
                inside.set()
                assert go_on.wait(20)
                return [total]

            step, _ = client.capture([mine], record)
            assert np.array_equal(step.run([x])[0].read(), X + 1)
        except BaseException as problem:  # noqa: BLE001
            problems.append(problem)

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(20)
    assert np.array_equal(client.apply("multiply", [x, 3.0]).read(), X * 3)
    go_on.set()
    thread.join()
    assert not problems


@pytest.mark.parametrize("way", ["assign", "run", "require"])
def test_other_threads_cannot_write_to_the_inputs_of_a_capture(client: Client, way: str) -> None:
    """Each run would do again what they write."""
    x, one, free = (client.from_numpy(X) for _ in range(3))
    add, _ = client.capture([free, one], lambda: assign(
        client, [free], [client.apply("add", [free, one])]) or [])
    writes = {
        "assign": lambda: assign(client, [x], [one]),
        "run": lambda: add.run([x, one]),
        "require": lambda: require(client, x),
    }
    problems: list[BaseException] = []

    def write() -> None:
        try:
            writes[way]()
        except errors.AliasError as problem:
            problems.append(problem)

    def record() -> list[Tensor]:
        total = client.apply("add", [x, 1.0])
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        return [total]

    step, _ = client.capture([x], record)
    assert len(problems) == 1
    assert "inputs[0] of a capture that another thread has begun" in str(problems[0])
    for _ in range(3):
        assert np.array_equal(step.run([x])[0].read(), X + 1)
    assert np.array_equal(x.read(), X)
    write()
    assert len(problems) == 1 and (way != "run" or np.array_equal(x.read(), X * 2))


def test_nothing_is_left_of_captures(client: Client) -> None:
    def live() -> int:
        gc.collect()
        return int(client.out("size_t *", client.lib.loom_live_handles))

    def train() -> None:
        network = Network(client)
        (x, y), *more = batches(client, 4)
        step, results = client.capture(network.inputs(x, y), lambda: [network.step(x, y)])
        for pair in more:
            results = step.run(network.inputs(*pair))
        assert live() > before and len(results) == 1

    before = live()
    for _ in range(3):
        train()
        assert live() == before


def test_the_record_of_a_run_names_the_line(client: Client) -> None:
    x = client.from_numpy(X)
    step, _ = client.capture([x], lambda: [client.apply("add", [x, 1.0])])
    for _ in range(3):
        client.lib.loom_set_source_location(file := client.ffi.new("char[]", b"run.c"), 12)
        step.run([x])[0].read()
        client.lib.loom_set_source_location(client.ffi.NULL, 0)
    assert "run.c:12" in client.text(client.lib.loom_last_evaluation)
    assert json.loads(client.text(client.lib.loom_stats_json)) and file
