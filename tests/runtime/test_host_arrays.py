"""Which arrays from the host are taken over, and which values give their memory to their reader.

Whoever else has an array, or a view of it, must not see what becomes of the other; what nobody else
has is not copied. Where it lies is compared by address.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom import frontend
from lazyloom.backends.data import device_array
from lazyloom.host import host_arrays
from tests.contract.ffi import Handlers, compiler, loaded

#: elements: large enough for a result to be given out
N = 20_000
counts = pytest.mark.skipif(
    not host_arrays.COUNTED, reason="this Python's counts do not show that nobody has an array")


def address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def buffer_of(value: ll.Value) -> Any:
    buffers = value.node.buffers
    assert buffers is not None
    return buffers[value.index]


def record(op: str, *operands: Any) -> Any:
    return ll.record(op, operands, {})


class Made:
    """Arrays that are made where they are given, and where their memory is."""

    at = 0

    def array(self, dtype: Any = np.float32) -> np.ndarray:
        found = np.arange(N).astype(dtype)
        self.at = address(found)
        return found


# -- in: temporaries ----------------------------------------------------------------------


@counts
@pytest.mark.parametrize("form", [
    lambda a: a, lambda a: a.reshape(100, -1), lambda a: a[None], lambda a: a[:],
    lambda a: a.reshape(4, -1)[..., None], lambda a: a.view(np.int32), lambda a: a.ravel(),
])  # fmt: skip
def test_a_temporary_is_taken_over(form: Callable[[Any], Any]) -> None:
    made = Made()
    before = ll.stats()["bytes_taken_over"]
    value = ll.from_host(form(made.array()))
    assert address(buffer_of(value).host) == made.at
    assert ll.stats()["bytes_taken_over"] - before == 4 * N
    np.testing.assert_array_equal(value.read(), form(np.arange(N, dtype=np.float32)))


@counts
def test_what_numpy_makes_of_a_list_is_taken_over() -> None:
    before = ll.stats()["bytes_taken_over"]
    ll.from_host([1.0, 2.0, 3.0])
    assert ll.stats()["bytes_taken_over"] - before == 24


class Derived(np.ndarray):
    pass


def _mapped(a: np.ndarray) -> tuple[np.ndarray, Any]:
    memory = mmap.mmap(-1, a.nbytes)
    found = np.frombuffer(memory, a.dtype)
    found[:] = a
    return found, memory


def _holds_weakly(a: np.ndarray) -> tuple[np.ndarray, Any]:
    return a, weakref.ref(a)


def _base_weakly(a: np.ndarray) -> tuple[np.ndarray, Any]:
    return a[:], weakref.ref(a)


#: of an array, what is given and what somebody keeps, through which it can be written to
HELD: dict[str, Callable[[np.ndarray], tuple[Any, Any]]] = {
    "the array": lambda a: (a, a),
    "a view": lambda a: (a, a[3:]),
    "a view of a view": lambda a: (a, a[3:].reshape(-1)[::2]),
    "its owner": lambda a: (a[:], a),
    "its owner, of a read-only view": lambda a: (np.broadcast_to(a, a.shape), a),
    "another view": lambda a: (a[:], a[::2]),
    "a memoryview": lambda a: (a, memoryview(a)),
    "a memoryview of a view": lambda a: (a[:], memoryview(a[1:])),
    "a pointer": lambda a: (a, a.ctypes.data_as(ctypes.POINTER(ctypes.c_float))),
    "a DLPack capsule": lambda a: (a, a.__dlpack__()),
    "an array by DLPack": lambda a: (a, np.from_dlpack(a)),
    "an array of other strides": lambda a: (a, np.lib.stride_tricks.as_strided(a, (5,), (8,))),
    "an iterator": lambda a: (a, a.flat),
    "a weak reference": _holds_weakly,
    "a weak reference to the owner": _base_weakly,
    "a derived class": lambda a: (a.view(Derived), None),
    "a list": lambda a: (a, [a]),
    "foreign memory": _mapped,
    "bytes": lambda a: (np.frombuffer(a.tobytes(), a.dtype), None),
    "a bytearray": lambda a: (np.frombuffer(bytearray(a.tobytes()), a.dtype), None),
    "a field": lambda a: (a.view([("x", "f4")])["x"], a),
    "a part": lambda a: (a[: N // 2], None),
    "other strides": lambda a: (a[::2], None),
    "backwards": lambda a: (a[::-1], None),
    "other bytes": lambda a: (a.astype(">f4"), None),
    "another name": lambda a: (a.astype(np.longlong), None),
}


@pytest.mark.parametrize("how", HELD)
def test_what_anybody_else_has_is_copied(how: str) -> None:
    """Or what the device cannot use as it is. The copy lies where it can."""
    given = list(HELD[how](np.arange(N, dtype=np.float32)))
    before = ll.stats()["bytes_taken_over"]
    expected = np.array(given[0])
    at, size = address(given[0]), given[0].nbytes
    # taken from the list, so that the call has the only reference beside what is kept
    value = ll.from_host(given.pop(0))
    assert ll.stats()["bytes_taken_over"] == before
    host = buffer_of(value).host
    if how not in (
        "a part", "other strides", "backwards", "other bytes", "another name", "a derived class"
    ):
        assert not at <= address(host) < at + size
    assert address(host) % host_arrays.ALIGNMENT == 0
    np.testing.assert_array_equal(value.read(), expected)


def _write(kept: Any) -> None:
    """Write to what somebody kept of an array, whatever it is."""
    if isinstance(kept, weakref.ref):
        kept = kept()
        if kept is None:
            return
    if isinstance(kept, memoryview):
        kept = np.frombuffer(kept, np.float32)
    if isinstance(kept, list):
        kept = kept[0]
    if isinstance(kept, np.ndarray) and not kept.flags.writeable:
        kept = kept.base  # an array by DLPack
    if isinstance(kept, (np.ndarray, np.flatiter)):
        kept[:] = -1
    elif isinstance(kept, ctypes._Pointer):
        ctypes.memset(kept, 0xFF, 4 * N)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("how", [k for k in HELD if k not in (
    "a derived class", "bytes", "a bytearray", "a part", "other strides", "backwards",
    "other bytes", "another name", "foreign memory", "a DLPack capsule",
    "an array by DLPack")])  # fmt: skip
def test_writing_afterwards_changes_neither_the_value_nor_pending_work(
    how: str, whole: bool
) -> None:
    with ll.options(reproducible=whole):
        given = list(HELD[how](np.arange(N, dtype=np.float32)))
        expected = np.array(given[0])
        value = ll.from_host(given.pop(0))
        pending = record("add", value, value)
        _write(given[0])
        np.testing.assert_array_equal(pending.read(), expected + expected)
        _write(given[0])
        np.testing.assert_array_equal(value.read(), expected)


def test_a_variable_of_the_caller_is_no_temporary() -> None:
    """Wherever it is one: a local, a closure's, a global, an attribute, a generator's."""
    class Holder:
        array = np.zeros(N, np.float32)

    closed = np.zeros(N, np.float32)

    def inner() -> ll.Value:
        return ll.from_host(closed)

    def generated() -> Any:
        own = np.zeros(N, np.float32)
        yield ll.from_host(own)
        own[:] = 1
        yield None

    before = ll.stats()["bytes_taken_over"]
    values = [inner(), ll.from_host(Holder.array), ll.from_host(array=closed),
              ll.from_host(*[closed]), *map(ll.from_host, [closed])]
    steps = generated()
    values.append(next(steps))
    next(steps)
    closed[:] = 1
    Holder.array[:] = 1
    assert ll.stats()["bytes_taken_over"] == before
    for value in values:
        assert not value.read().any()


def test_a_python_whose_counts_show_nothing_copies_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_arrays, "COUNTED", False)
    made = Made()
    before = ll.stats()
    value = ll.from_host(made.array())
    assert address(buffer_of(value).host) != made.at
    np.testing.assert_array_equal(Plain.from_value(value).numpy(), np.arange(N))
    np.testing.assert_array_equal(computed().numpy(), EXPECTED)
    after = ll.stats()
    assert after["bytes_taken_over"] == before["bytes_taken_over"]
    assert after["bytes_given_up"] == before["bytes_given_up"]
    assert after["reads"] - before["reads"] == 2


def test_shared_memory_is_used_as_it_is() -> None:
    a = np.ones(N, np.float32)
    value = ll.from_host(a, share=True)
    assert buffer_of(value).host is a and buffer_of(value).shared


@pytest.mark.xla
def test_a_copy_is_not_copied_again_when_it_is_uploaded() -> None:
    for shape in ((N,), (64, 64), (0, 3), (), (3,)):
        a = np.ones(shape, np.float32)
        value = ll.from_host(a)
        buffer = buffer_of(value)
        at, size = address(buffer.host), buffer.host.nbytes
        array = device_array(buffer)
        array.block_until_ready()
        if size and (size >= host_arrays.WORTHWHILE or host_arrays.copied is not (
            host_arrays._copied
        )):  # fmt: skip
            assert array.unsafe_buffer_pointer() == at


@pytest.mark.parametrize("copied", [host_arrays.copied, host_arrays._copied])
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float16, np.float64, np.complex64])
def test_copies_of_any_order_and_size(copied: Any, dtype: Any) -> None:
    for shape in ((), (0,), (3,), (4, 5), (200, 300), (2, 3, 4), (70, 50, 20)):
        given = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
        kind = np.dtype(dtype)
        for a in (given, given.T, given[..., ::-1] if shape else given, np.asfortranarray(given),
                  given.astype(kind.newbyteorder(">"))):  # fmt: skip
            made = copied(a, kind)
            np.testing.assert_array_equal(made, a)
            assert made.dtype == kind and made.flags.c_contiguous and made.flags.writeable
            assert not np.shares_memory(made, a)
            if made.nbytes >= host_arrays.WORTHWHILE:
                assert address(made) % host_arrays.ALIGNMENT == 0
    np.testing.assert_array_equal(copied(np.array([1.5, -2.5]), np.dtype(np.int8)), [1, -2])


def test_a_copy_can_be_resized_and_freed() -> None:
    """Its memory is of an allocator of our own, which NumPy calls as long as the array lives."""
    made = host_arrays.copied(np.arange(10.0), np.dtype(np.float64))
    if not made.flags.owndata:
        pytest.skip("the extension in C was not compiled")
    made.resize(100_000, refcheck=False)
    np.testing.assert_array_equal(made[:12], [*range(10), 0, 0])
    made.resize(4, refcheck=False)
    np.testing.assert_array_equal(made, range(4))
    made.resize(0, refcheck=False)
    made.resize(3, refcheck=False)
    assert made.shape == (3,)


def test_copies_that_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="expected a NumPy array and a dtype"):
        if host_arrays.copied is host_arrays._copied:
            raise TypeError("expected a NumPy array and a dtype")
        host_arrays.copied([1.0], np.dtype(np.float64))
    with pytest.raises(MemoryError):
        host_arrays.copied(np.broadcast_to(np.float32(0), (1 << 50,)), np.dtype(np.float32))
    # the allocator of others is theirs again
    assert np.zeros(3).tolist() == [0, 0, 0]


# -- out ------------------------------------------------------------------------------------


class Plain(ll.Tensor):
    """A frontend's class."""

    def numpy(self) -> np.ndarray:
        references = host_arrays.getrefcount(self)
        found: np.ndarray = frontend.to_host(self, references)
        return found


def memory(buffer: Any) -> int:
    """Where the data of a computed value is."""
    if buffer.host is not None:
        return address(buffer.host)
    return int(buffer.array.unsafe_buffer_pointer())


def computed() -> Plain:
    given = ll.from_host(np.arange(N, dtype=np.float32))
    made: Plain = Plain.from_value(record("add", given, given))
    ll.sync(made, wait=True)
    return made


EXPECTED = 2 * np.arange(N, dtype=np.float32)
both = pytest.mark.parametrize("whole", [True, False])


@counts
@pytest.mark.xla
@both
def test_a_temporary_gives_its_memory(whole: bool) -> None:
    with ll.options(reproducible=whole):
        held = [computed()]
        at = memory(buffer_of(held[0].value))
        before = ll.stats()
        found = held.pop().numpy()
        after = ll.stats()
        assert address(found) == at and found.flags.writeable
        assert after["bytes_given_up"] - before["bytes_given_up"] == 4 * N
        assert after["reads"] - before["reads"] == 1
        np.testing.assert_array_equal(found, EXPECTED)
        # it stays the reader's, whatever runs next
        found[:] = 7
        others = [computed().numpy() for _ in range(4)]
        gc.collect()
        assert (found == 7).all()
        for each in others:
            np.testing.assert_array_equal(each, EXPECTED)
        # never computed before it is read
        given = ll.from_host(np.arange(N, dtype=np.float32))
        np.testing.assert_array_equal(
            Plain.from_value(record("add", given, given)).numpy(), EXPECTED)


def _seen_tensor(t: Plain) -> tuple[Plain, Any]:
    return t, t


def _seen_value(t: Plain) -> tuple[Plain, Any]:
    return t, t.value


def _seen_by_alias(t: Plain) -> tuple[Plain, Any]:
    return frontend.detached_view(t), t


def _seen_by_view(t: Plain) -> tuple[Plain, Any]:
    return t, frontend.view(t, frontend.Reshape((2, -1)))


def _seen_weakly(t: Plain) -> tuple[Plain, Any]:
    return t, weakref.ref(t)


def _seen_by_dlpack(t: Plain) -> tuple[Plain, Any]:
    class Capsule:
        def __init__(self, value: ll.Value) -> None:
            self.capsule = ll.to_dlpack(value)

        def __dlpack__(self, **_: Any) -> Any:
            return self.capsule

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    return t, np.from_dlpack(Capsule(t.value))


def _seen_by_pending(t: Plain) -> tuple[Plain, Any]:
    return t, record("add", t.value, ll.Scalar(0.0, ll.dtypes.float32))


SEEN = {f.__name__.removeprefix("_seen_"): f for f in (
    _seen_tensor, _seen_value, _seen_by_alias, _seen_weakly, _seen_by_dlpack,
    _seen_by_pending)}  # fmt: skip


@pytest.mark.xla
@both
@pytest.mark.parametrize("how", SEEN)
def test_what_anybody_else_can_see_is_read_as_a_copy(how: str, whole: bool) -> None:
    with ll.options(reproducible=whole):
        tensor, kept = SEEN[how](computed())
        held = [tensor]
        del tensor
        before = ll.stats()
        found = held.pop().numpy()
        after = ll.stats()
        assert after["bytes_given_up"] == before["bytes_given_up"]
        assert after["reads"] - before["reads"] == 1
        found[:] = -1
        if isinstance(kept, weakref.ref):
            return
        seen = kept.numpy() if isinstance(kept, Plain) else (
            kept if isinstance(kept, np.ndarray) else kept.read())
        np.testing.assert_array_equal(np.asarray(seen), EXPECTED)


@pytest.mark.xla
def test_memory_that_was_shared_is_never_given() -> None:
    a = np.arange(N, dtype=np.float32)
    held = [Plain.from_value(ll.from_host(a, share=True))]
    found = held.pop().numpy()
    found[:] = -1
    np.testing.assert_array_equal(a, np.arange(N))


@counts
def test_what_was_given_is_given_back_without_another_copy() -> None:
    before = ll.stats()["bytes_given_up"]
    a = np.arange(N, dtype=np.float32)
    found = Plain.from_value(ll.from_host(a)).numpy()
    assert ll.stats()["bytes_given_up"] - before == 4 * N
    found[:] = -1
    np.testing.assert_array_equal(a, np.arange(N))


def test_small_values_are_copied() -> None:
    before = ll.stats()["bytes_given_up"]
    assert Plain.from_value(ll.from_host(np.ones(3))).numpy().tolist() == [1, 1, 1]
    assert ll.stats()["bytes_given_up"] == before


def test_a_failed_run_is_told_of_and_leaves_the_tensor() -> None:
    with ll.options(reads="error"), pytest.raises(ll.errors.ReadForbiddenError):
        computed().numpy()


@pytest.fixture(scope="module")
def handlers(tmp_path_factory: pytest.TempPathFactory) -> Handlers:
    if compiler() is None:
        pytest.skip("no C++ compiler: an op that waits inside XLA cannot be built")
    return loaded(tmp_path_factory.mktemp("handlers"))


def step(x: ll.Value) -> ll.Value:
    """What waits for the gate: in a thread of XLA's, which runs what is very quick in ours."""
    found: ll.Value = record("test_gate", record("exp", record("negative", x)))
    return found


@pytest.mark.xla
def test_memory_that_a_run_may_be_reading_is_not_given(handlers: Handlers) -> None:
    """The run has it, and the last reference to the value is gone: only the run reads it yet."""
    with ll.options(reproducible=True):
        held = [computed()]
        gate = record("test_gate", ll.from_host(np.ones(1, np.float32)))
        wanted = record("add", held[0].value, gate)
        with handlers.closed_gate():
            ll.sync(wanted)
            before = ll.stats()["bytes_given_up"]
            found = held.pop().numpy()
            found[:] = -1
            assert ll.stats()["bytes_given_up"] == before
            assert not buffer_of(wanted).array.is_ready()
        np.testing.assert_array_equal(wanted.read(), EXPECTED + 1)


@pytest.mark.xla
def test_a_batch_is_uploaded_beside_the_running_step(handlers: Handlers) -> None:
    """Given, recorded and handed over while the step before it has not ended."""
    batch = np.arange(300 * 100, dtype=np.float32).reshape(300, 100)
    with ll.options(reproducible=True):
        for _ in range(2):
            step(ll.from_host(batch)).read()
        with handlers.closed_gate():
            running = step(ll.from_host(batch))
            ll.sync(running)
            given = ll.from_host(batch)
            following = step(given)
            # once uploaded it is as if the host had never had it
            batch[:] = -1
            ll.sync(following)
            uploaded = buffer_of(given).array
            uploaded.block_until_ready()
            assert not buffer_of(running).array.is_ready()
            assert not buffer_of(following).array.is_ready()
        np.testing.assert_array_equal(running.read(), following.read())


@pytest.mark.xla
def test_a_batch_is_uploaded_while_another_thread_reads_the_step(handlers: Handlers) -> None:
    batch = np.arange(N, dtype=np.float32)
    with ll.options(reproducible=True):
        expected = step(ll.from_host(batch)).read()
        with handlers.closed_gate():
            running = step(ll.from_host(batch))
            ll.sync(running)
            read: list[np.ndarray] = []
            reader = threading.Thread(target=lambda: read.append(running.read()), daemon=True)
            reader.start()
            given = ll.from_host(batch)
            array = device_array(buffer_of(given))
            array.block_until_ready()
            assert reader.is_alive() and not read
        reader.join(60)
        np.testing.assert_array_equal(read[0], expected)


@both
def test_threads_that_give_and_read(whole: bool) -> None:
    wrong: list[Any] = []

    def work(seed: int) -> None:
        with ll.options(reproducible=whole):
            for k in range(20):
                a = np.full(N, seed * 100 + k, np.float32)
                expected = float(2 * a[0])
                value = ll.from_host(a)
                made = Plain.from_value(record("add", value, value))
                a[:] = -1
                held = [made]
                del made
                found = held.pop().numpy()
                taken = Plain.from_value(ll.from_host(np.full(N, k, np.float32))).numpy()
                if not (found == expected).all() or not (taken == k).all():
                    wrong.append((seed, k))
                found[:] = taken[:] = -5

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
