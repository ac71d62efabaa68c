"""Calls that go to the core without an entry in Python; they must not be told from those by one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom import errors
from lazyloom_capi.client import Client, Tensor

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2


class General:
    """Counts what the entries in Python do for these calls."""

    def __init__(self) -> None:
        self.count = 0

    def since(self, before: int) -> int:
        return self.count - before


@pytest.fixture
def general(client: Client, monkeypatch: pytest.MonkeyPatch) -> General:
    from lazyloom_capi import capture, entries, gradients

    found = General()

    def watch(module: Any, name: str) -> None:
        known = getattr(module, name)

        def counted(*arguments: Any) -> Any:
            found.count += 1
            return known(*arguments)

        monkeypatch.setattr(module, name, counted)

    for module, name in (
        (entries, "value_of"), (entries, "_assign"), (capture, "values_of"),
        (gradients, "values_of"),
    ):  # fmt: skip
        watch(module, name)
    return found


@pytest.fixture(params=[True, False], ids=["direct", "general"])
def direct(request: pytest.FixtureRequest, client: Client) -> Iterator[bool]:
    """Both ways: no call is direct while a thread records by rules of the entries' own."""
    from lazyloom_capi import handles

    if not request.param:
        handles.apart(1)
    yield request.param
    if not request.param:
        handles.apart(-1)


def leaf(client: Client, array: Any) -> Tensor:
    made = client.from_numpy(np.asarray(array))
    client.check(client.lib.loom_tensor_require_grad(made.handle, True))
    return made


def assign(client: Client, targets: list[Tensor], values: list[Tensor]) -> None:
    client.check(client.lib.loom_tensors_assign(
        client._array(targets), client._array(values), len(targets)))


def read(client: Client, tensor: Tensor, shape: tuple[int, ...] = X.shape) -> Any:
    """What a tensor of float32 holds, by one call."""
    found = np.empty(shape, np.float32)
    client.check(client.lib.loom_tensor_read(
        tensor.handle, client.ffi.from_buffer(found), found.nbytes))
    return found


def requires_grad(client: Client, tensor: Tensor) -> bool:
    return bool(client.out("bool *", client.lib.loom_tensor_requires_grad, tensor.handle))


def detach(client: Client, tensor: Tensor) -> Tensor:
    return Tensor(client, client.out(
        "loom_tensor *", client.lib.loom_tensor_detach, tensor.handle))


def step(client: Client, w: Tensor, state: Tensor) -> Tensor:
    loss = client.apply("sum", [client.apply("multiply", [client.apply("sin", [w]), w])])
    (gradient,) = client.gradients([loss], [w])
    client.check(client.lib.loom_set_grad_enabled(False, client.ffi.NULL))
    moved = client.apply("add", [client.apply("multiply", [state, 0.5]), gradient])
    assign(client, [w, state],
           [client.apply("subtract", [w, client.apply("multiply", [moved, 0.1])]), moved])
    client.check(client.lib.loom_set_grad_enabled(True, client.ffi.NULL))
    return detach(client, loss)


def train(client: Client, steps: int) -> list[bytes]:
    w, state = leaf(client, X), client.from_numpy(np.zeros_like(X))
    found = [read(client, step(client, w, state), ()).tobytes() for _ in range(steps)]
    assert requires_grad(client, w) and not requires_grad(client, state)
    return [*found, read(client, w).tobytes(), read(client, state).tobytes()]


def test_a_training_step_calls_no_entry(client: Client, general: General) -> None:
    w, state = leaf(client, X), client.from_numpy(np.zeros_like(X))
    # an entry makes what stands behind a handle one that can be written, once
    read(client, step(client, w, state), ())
    before = general.count
    losses = [read(client, step(client, w, state), ()) for _ in range(3)]
    assert general.since(before) == 0
    assert len({loss.tobytes() for loss in losses}) == 3


def test_both_ways_train_alike(client: Client, direct: bool, general: General) -> None:
    w = X.copy()
    momentum = np.zeros_like(X)
    for _ in range(4):
        momentum = momentum * np.float32(0.5) + (np.cos(w) * w + np.sin(w))
        w = w - momentum * np.float32(0.1)
    before = general.count
    *_, last, state = train(client, 4)
    # what stands behind the handles is made for the first step by entries
    assert (general.since(before) < 10) == direct
    np.testing.assert_allclose(np.frombuffer(last, np.float32).reshape(2, 3), w, rtol=1e-5)
    np.testing.assert_allclose(np.frombuffer(state, np.float32).reshape(2, 3), momentum, rtol=1e-5)


def test_a_capture_runs_directly(client: Client, general: General) -> None:
    def both(client: Client) -> tuple[Tensor, Tensor]:
        return leaf(client, X), client.from_numpy(np.zeros_like(X))

    w, state = both(client)
    once, (first,) = client.capture([w, state], lambda: [step(client, w, state)])
    losses = [read(client, first, ()).tobytes()]
    before = general.count
    for _ in range(4):
        losses.append(read(client, once.run([w, state])[0], ()).tobytes())
    assert general.since(before) == 0
    assert [*losses, read(client, w).tobytes(), read(client, state).tobytes()] == train(client, 5)
    assert requires_grad(client, w) and not requires_grad(client, state)


@pytest.mark.parametrize("dtype", [
    "bool", "int8", "uint16", "int64", "float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("shape", [(), (0, 3), (4,), (3, 2)], ids=str)
def test_reads_of_every_dtype(
    client: Client, direct: bool, dtype: str, shape: tuple[int, ...]
) -> None:
    element = ll.dtypes.as_dtype(dtype).numpy
    data = np.arange(int(np.prod(shape))).reshape(shape).astype(element)
    found = client.apply("copy", [client.from_numpy(data)]).read()
    assert found.dtype == element and found.tobytes() == data.tobytes()


@pytest.mark.parametrize("dtype", [d.name for d in ll.dtypes.ALL])
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0, 4), (1,) * 20])
def test_memory_at_any_address_is_copied(
    client: Client, dtype: str, shape: tuple[int, ...]
) -> None:
    ffi, element = client.ffi, ll.dtypes.as_dtype(dtype)
    data = (np.arange(max(int(np.prod(shape)), 0)).reshape(shape) % 2).astype(element.numpy)
    memory = ffi.new("char[]", b"\xff" + data.tobytes() + b"\xff")
    result = ffi.new("loom_tensor *")

    def given(nbytes: int, extents: tuple[int, ...] = shape) -> int:
        return client.lib.loom_tensor_from_host(
            memory + 1, nbytes, element.index, ffi.new("int64_t[]", list(extents) or [0]),
            len(extents), result)

    client.check(given(data.nbytes))
    tensor = Tensor(client, result[0])
    ffi.buffer(memory)[1:-1] = b"\x01" * (len(memory) - 2)
    assert tensor.read().tobytes() == data.tobytes() and tensor.read().shape == shape
    for wrong, extents in ((data.nbytes + 1, shape), (data.nbytes, (*shape, 2**62, 2**62)),
                           (data.nbytes, (*shape, -1)), (data.nbytes + 1, (*shape, 0))):
        assert given(wrong, extents) in (2, 3) and not result.bits


def test_a_result_in_another_order_is_read_row_by_row(client: Client, direct: bool) -> None:
    x = client.apply("transpose", [client.from_numpy(X)], {"axes": (1, 0)})
    assert x.read().tobytes() == np.ascontiguousarray(X.T).tobytes()


def message(client: Client, status: int) -> str:
    with pytest.raises(errors.LoomError) as caught:
        client.check(status)
    return str(caught.value)


def test_errors_are_the_same(client: Client, direct: bool) -> None:
    lib, ffi = client.lib, client.ffi
    x, w = client.from_numpy(X), leaf(client, X)
    buffer = ffi.new("float[6]")
    runs = ll.stats()["executions"]
    pending = client.apply("sin", [x])
    assert "nbytes is 8, expected 24" in message(
        client, lib.loom_tensor_read(pending.handle, buffer, 8))
    assert ll.stats()["executions"] == runs, "nothing is computed for it"
    results = ffi.new("loom_tensor[2]")
    total = client.apply("sum", [client.apply("sin", [w])])
    other = leaf(client, X)
    assert "input 1, a float32[2,3], is not used by the outputs" in message(client, lib.loom_grad(
        client._array([total]), 1, client._array([w, other]), 2, ffi.NULL, False, results))
    assert results[0].bits == 0 == results[1].bits
    assert "it depends on nothing that requires one" in message(client, lib.loom_grad(
        client._array([x]), 1, client._array([w]), 1, ffi.NULL, False, results))
    assert lib.loom_error_status() == lib.LOOM_ERROR_GRADIENT
    stale = ffi.new("loom_tensor *", {"bits": 1})[0]
    for status in (
        lib.loom_tensor_read(stale, buffer, 24), lib.loom_tensor_detach(stale, results),
        lib.loom_tensor_assign(w.handle, stale), lib.loom_tensor_assign(stale, w.handle),
    ):
        assert status == lib.LOOM_ERROR_HANDLE
        message(client, status)
    assert np.array_equal(w.read(), X)


def test_what_stands_before_a_wrong_assignment_is_written(client: Client, direct: bool) -> None:
    a, b = client.from_numpy(X), client.from_numpy(X)
    assign(client, [a, b], [b, a])
    right, wrong = client.from_numpy(X + 1), client.from_numpy(X[0])
    text = message(client, client.lib.loom_tensors_assign(
        client._array([a, b]), client._array([right, wrong]), 2))
    assert text == ("loom_tensors_assign: value is float32[3], expected float32[2,3] as target is; "
                    "cast and broadcast it first")
    assert np.array_equal(a.read(), X + 1) and np.array_equal(b.read(), X)


def test_a_tensor_that_is_assigned_twice_holds_the_last(client: Client, direct: bool) -> None:
    a, other = client.from_numpy(X), client.from_numpy(X)
    values = [client.from_numpy(X + 1), client.from_numpy(X * 2), a]
    for _ in range(2):
        assign(client, [a, a, other], values)
        assert np.array_equal(a.read(), X * 2)
    # the values are those from before the call
    assert np.array_equal(other.read(), X * 2)


def test_cotangents_and_higher_orders(client: Client, direct: bool) -> None:
    w = leaf(client, X)
    y, z = client.apply("sin", [w]), client.apply("sum", [client.apply("exp", [w])])
    seed = client.from_numpy(X * 3)
    (found,) = client.gradients([y, z], [w], [seed, None], create_graph=True)
    np.testing.assert_allclose(found.read(), np.cos(X) * X * 3 + np.exp(X), rtol=1e-5)
    (second,) = client.gradients([client.apply("sum", [found])], [w])
    np.testing.assert_allclose(second.read(), -np.sin(X) * X * 3 + np.exp(X), rtol=1e-5)


def test_errors_of_a_run_are_at_the_line_that_recorded(client: Client, direct: bool) -> None:
    lib, ffi = client.lib, client.ffi
    file = ffi.new("char[]", b"somewhere.c")
    x = client.from_numpy(np.array([[1, 2], [2, 4]], np.float32))
    try:
        lib.loom_set_source_location(file, 31)
        bad = client.apply("cholesky", [client.apply("subtract", [x, 9.0])])
        lib.loom_set_source_location(file, 32)
        read = ffi.new("float[4]")
        status = lib.loom_tensor_read(bad.handle, read, 16)
        if status == lib.LOOM_OK:
            assert str(ll.last_evaluation().site) == "somewhere.c:32"
        value = lib.loom_grad(
            client._array([x]), 1, client._array([x]), 1, ffi.NULL, False,
            ffi.new("loom_tensor[1]"))
        assert value == lib.LOOM_ERROR_GRADIENT
        assert ffi.string(lib.loom_error_site()) == b"somewhere.c:32"
    finally:
        lib.loom_set_source_location(ffi.NULL, 0)
    message(client, value)


def test_no_call_is_direct_where_another_thread_has_begun_a_capture(
    client: Client, general: General
) -> None:
    a, b = client.from_numpy(X), client.from_numpy(X + 1)
    assign(client, [a], [b])
    begun, done = threading.Event(), threading.Event()

    def other() -> None:
        client.check(client.lib.loom_capture_begin(client._array([b]), 1))
        begun.set()
        done.wait(60)
        client.check(client.lib.loom_capture_cancel())

    thread = threading.Thread(target=other)
    thread.start()
    assert begun.wait(60)
    before = general.count
    assign(client, [a], [client.from_numpy(X * 2)])
    assert np.array_equal(read(client, a), X * 2)
    assert general.since(before) > 0
    done.set()
    thread.join()
    before = general.count
    assign(client, [a], [b])
    assert np.array_equal(read(client, a), X + 1)
    assert general.since(before) == 0


def test_a_failed_beginning_and_an_abandoned_capture_count_no_more(
    client: Client, general: General
) -> None:
    x = client.from_numpy(X)
    assert client.lib.loom_capture_begin(client._array([x, x]), 2) != 0

    def abandoned() -> None:
        client.check(client.lib.loom_capture_begin(client._array([x]), 1))

    thread = threading.Thread(target=abandoned)
    thread.start()
    thread.join()
    before = general.count
    assert np.array_equal(read(client, x), X)
    assert general.since(before) == 0


def test_a_package_that_does_not_give_what_is_called_directly(
    client: Client, general: General, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lazyloom_capi import entries

    given: dict[str, Any] = {}

    class Shims:
        setup = staticmethod(given.update)

    known = entries._lazyloom_shims.setup
    monkeypatch.setattr(entries, "_lazyloom_shims", Shims)
    entries.start(False)
    expected = train(client, 3)
    try:
        known({name: what for name, what in given.items() if name != "name_site"})
        before = general.count
        assert train(client, 3) == expected
        assert general.since(before) > 10
    finally:
        known(given)
