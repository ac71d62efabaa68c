"""NumPy arrays in and out of tensors: neither sees what is written to the other afterwards.

Copied where anybody else has the memory, and not where nobody has.
"""

from __future__ import annotations

import ctypes
import pickle
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom.host import host_arrays

N = 160
counts = pytest.mark.skipif(
    not host_arrays.COUNTED, reason="this Python's counts do not show that nobody has an array")
both = pytest.mark.parametrize("whole", [True, False])
GIVEN: list[Callable[[Any], Any]] = [torch.from_numpy, torch.tensor, torch.as_tensor, torch.asarray]
DTYPES = [np.bool_, np.uint8, np.int16, np.int64, np.float16, np.float32, np.float64,
          np.complex64, np.complex128]  # fmt: skip


def address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def grown(name: str, before: dict[str, int]) -> int:
    return lazyloom.stats()[name] - before[name]


def data(dtype: Any = np.float32, shape: tuple[int, ...] = (N, N)) -> np.ndarray:
    return (np.arange(int(np.prod(shape))) % 100).reshape(shape).astype(dtype)


#: arrays of any order and place in memory
FORMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rows": lambda a: a,
    "columns": np.asfortranarray,
    "transposed": lambda a: a.T,
    "backwards": lambda a: a[::-1],
    "backwards along rows": lambda a: a[:, ::-1],
    "every other": lambda a: a[::2, 1::3],
    "repeated": lambda a: np.broadcast_to(a[0], a.shape),
    "other bytes": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "read-only": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
    "one element": lambda a: a[3, 4:5].reshape(()),
    "empty": lambda a: a[:0],
    "not aligned": lambda a: np.frombuffer(
        bytearray(b"x" + a.tobytes()), a.dtype, offset=1).reshape(a.shape),
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_arrays_of_any_form_and_dtype(form: str, dtype: Any) -> None:
    owner = data(dtype)
    given = FORMS[form](owner)
    expected = np.array(given).astype(dtype)
    tensors = [f(given) for f in GIVEN]
    pending = [torch.cat([t.reshape(-1), t.reshape(-1)]) for t in tensors]
    owner[...] = 1
    if given.flags.writeable:
        given[...] = 1
    for t, p in zip(tensors, pending, strict=True):
        assert t.numpy().dtype == dtype and t.shape == expected.shape
        np.testing.assert_array_equal(p.numpy(), np.tile(expected.reshape(-1), 2))
        np.testing.assert_array_equal(t.numpy(), expected)
    # and of temporaries of that form
    for f in GIVEN:
        np.testing.assert_array_equal(f(FORMS[form](data(dtype))).numpy(), expected)


def test_bfloat16_goes_by_float32() -> None:
    given = data()
    tensor = torch.from_numpy(given).to(torch.bfloat16)
    given[:] = -1
    with pytest.raises(TypeError, match="bfloat16"):
        tensor.numpy()
    np.testing.assert_array_equal(tensor.float().numpy(), data())
    assert tensor.tolist() == data().tolist()


@pytest.mark.parametrize("given", [
    np.array([object()]), np.array(["a"]), np.zeros(2, [("x", "f4"), ("y", "i4")]),
    np.array(["2020-01-01"], "M8[D]"), np.array([b"a"]),
], ids=lambda a: a.dtype.kind)  # fmt: skip
def test_what_is_no_number_is_refused(given: np.ndarray) -> None:
    kept = given.copy()
    for f in GIVEN:
        with pytest.raises((TypeError, ValueError, RuntimeError)):
            f(given)
        with pytest.raises((TypeError, ValueError, RuntimeError)):
            f(kept.copy())


@counts
@pytest.mark.parametrize("give", GIVEN[:3])
def test_a_temporary_is_taken_over(give: Any) -> None:
    for made in (lambda: data() + 1, lambda: data().astype(np.int32), lambda: data()[None]):
        before = lazyloom.stats()
        tensor = give(made())
        assert grown("bytes_taken_over", before) == made().nbytes
        np.testing.assert_array_equal(tensor.numpy(), made())


@both
@pytest.mark.parametrize("give", GIVEN)
def test_writing_to_what_was_given(give: Any, whole: bool) -> None:
    """Through the array itself, a view from before, a memoryview, and a pointer."""
    with lazyloom.options(reproducible=whole):
        a = data()
        view, memory, pointer = a[2:].T, memoryview(a), a.ctypes.data_as(ctypes.c_void_p)
        ways: list[Callable[[], Any]] = [
            lambda: a.fill(-1), lambda: view.fill(-1), lambda: np.asarray(memory).fill(-1),
            lambda: ctypes.memset(pointer, 0xFF, 4 * N * N)]
        for write in ways:
            a[:] = data()
            before = lazyloom.stats()
            x = give(a)
            assert grown("bytes_taken_over", before) == 0
            y = x * 2
            write()
            np.testing.assert_array_equal(y.numpy(), data() * 2)
            a[:] = data()
            x = give(a)
            y = x * 2
            lazyloom.sync(y)
            write()
            np.testing.assert_array_equal(x.numpy(), data())
            np.testing.assert_array_equal(y.numpy(), data() * 2)


@both
def test_writing_to_what_numpy_gave(whole: bool) -> None:
    with lazyloom.options(reproducible=whole):
        x = torch.from_numpy(data())
        for t in (x, x * 1, x.T, x[3:], x.reshape(-1), x.detach(), (x + 0).detach(), x.float()):
            expected = t.tolist()
            for found in (t.numpy(), np.array(t), np.asarray(t), t.__array__(), t.numpy(force=True),
                          t.detach().numpy(), t.cpu().numpy(), t.data.numpy()):  # fmt: skip
                assert found.flags.writeable
                found[...] = -1
                assert t.tolist() == expected
        np.testing.assert_array_equal(x.numpy(), data())


@counts
@both
def test_a_temporary_gives_its_memory(whole: bool) -> None:
    with lazyloom.options(reproducible=whole):
        x = torch.from_numpy(data())
        for read in (lambda: (x * 2).numpy(), lambda: (x * 2).detach().numpy(),
                     lambda: (x * 2).detach().cpu().numpy(), lambda: (x * 2).cpu().numpy(),
                     lambda: (x * 2).detach().clone().numpy(), lambda: (x * 2).data.numpy(),
                     lambda: (x + x).contiguous().numpy()):  # fmt: skip
            before = lazyloom.stats()
            found = read()
            assert grown("bytes_given_up", before) == 4 * N * N
            assert grown("reads", before) == 1
            np.testing.assert_array_equal(found, data() * 2)
            found[:] = -1
            np.testing.assert_array_equal(read(), data() * 2)
        np.testing.assert_array_equal(x.numpy(), data())


def held(tensor: torch.Tensor) -> list[Any]:
    """A list that alone has a tensor, to take it from."""
    return [tensor]


@both
def test_what_else_keeps_the_memory_of_a_temporary(whole: bool) -> None:
    """A view, an alias, a tape, a weak reference: then it is copied."""
    with lazyloom.options(reproducible=whole):
        x = torch.from_numpy(data()).requires_grad_()
        before = lazyloom.stats()

        whole_of = [x.detach() * 2]
        view = whole_of[0][:, 3:]
        whole_of.pop().numpy()[:] = -1
        np.testing.assert_array_equal(view.numpy(), data()[:, 3:] * 2)

        first = [x.detach() * 2]
        alias = first[0].detach()
        first.pop().numpy()[:] = -1
        np.testing.assert_array_equal(alias.numpy(), data() * 2)

        # the derivative of exp needs its result
        y = [(x * 0.01).exp()]
        loss = y[0].sum()
        y.pop().detach().numpy()[:] = -1
        loss.backward()
        np.testing.assert_allclose(x.grad.numpy(), np.exp(data() * 0.01) * 0.01, rtol=1e-5)

        w = [x.detach() + 1]
        again = weakref.ref(w[0])
        w.pop().numpy()[:] = -1
        assert again() is None
        assert grown("bytes_given_up", before) == 0

        # what was pending has run when the memory is given, with what it is of
        z = [x.detach() + 1]
        pending = z[0] * 2
        z.pop().numpy()[:] = -1
        np.testing.assert_array_equal(pending.numpy(), (data() + 1) * 2)


@both
def test_written_in_place_after_it_was_read(whole: bool) -> None:
    with lazyloom.options(reproducible=whole):
        x = torch.from_numpy(data()) + 0
        kept = x.numpy()
        for k in range(3):
            x.add_(1)
            np.testing.assert_array_equal(x.numpy(), data() + k + 1)
            np.testing.assert_array_equal(kept, data())
        last = [x.mul_(2)]
        del x
        found = last.pop().numpy()
        np.testing.assert_array_equal(found, (data() + 3) * 2)


@both
def test_parameters_from_temporaries_train_as_others_do(whole: bool) -> None:
    """What was taken over is donated like any other memory; nothing is left that sees it."""
    with lazyloom.options(reproducible=whole):
        results = []
        for make in (lambda: data() * np.float32(0.01), None):
            array = data() * np.float32(0.01)
            w = torch.nn.Parameter(torch.from_numpy(make() if make else array))
            opt = torch.optim.SGD([w], lr=0.1, momentum=0.9)
            seen = []
            for _ in range(5):
                opt.zero_grad()
                loss = (w * w).sum()
                loss.backward()
                opt.step()
                seen.append(w.detach().numpy())
                seen[-1].sum()
            array[:] = -1
            results.append([s.copy() for s in seen])
            for s in seen:
                s[:] = -1
            results.append([w.detach().numpy()])
        np.testing.assert_array_equal(results[0], results[2])
        np.testing.assert_array_equal(results[1], results[3])


def test_captured_calls_give_and_take_arrays() -> None:
    @torch.compile
    def step(x: torch.Tensor) -> torch.Tensor:
        return (x * 2 + 1).detach()

    kept = []
    for k in range(8):
        found = step(torch.from_numpy(data() + np.float32(k))).numpy()
        np.testing.assert_array_equal(found, (data() + k) * 2 + 1)
        kept.append(found)
    assert step.explain().runs > 0
    for k, each in enumerate(kept):
        np.testing.assert_array_equal(each, (data() + k) * 2 + 1)
        each[:] = -1


def test_pickles_and_exports() -> None:
    x = torch.from_numpy(data() + 0)
    again = pickle.loads(pickle.dumps(x))
    again.add_(1)
    np.testing.assert_array_equal(x.numpy(), data())
    shared = np.from_dlpack(x)
    last = held(x)
    del x
    found = last.pop().numpy()
    found[:] = -1
    np.testing.assert_array_equal(shared, data())
    # a tensor that shares another library's memory stays apart from what is read of it
    mine = data()
    theirs = held(torch.from_dlpack(mine))
    theirs.pop().numpy()[:] = -1
    np.testing.assert_array_equal(mine, data())


@both
def test_threads(whole: bool) -> None:
    wrong: list[Any] = []

    def work(seed: int) -> None:
        with lazyloom.options(reproducible=whole):
            for k in range(15):
                a = data() + np.float32(seed)
                x = torch.from_numpy(a)
                y = (x * 2).numpy()
                z = torch.from_numpy(a * np.float32(k)).mul_(2).numpy()
                a[:] = -1
                if not ((y == (data() + seed) * 2).all() and (
                    z == (data() + seed) * k * 2).all() and (x.numpy() == data() + seed).all()):
                    wrong.append((seed, k))
                y[:] = z[:] = -1

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_dtype_asked_for_is_made_in_one_copy() -> None:
    a = data(np.float64)
    for kind, expected in ((torch.float32, np.float32), (torch.int8, np.int8),
                           (torch.complex64, np.complex64), (torch.bool, np.bool_)):
        found = torch.tensor(a, dtype=kind)
        np.testing.assert_array_equal(found.numpy(), a.astype(expected))
    x = torch.from_numpy(a)
    assert np.asarray(x, np.float64).dtype == np.float64
    assert np.asarray(x, np.float32).dtype == np.float32


def test_batches_of_arrays_are_joined_on_the_host() -> None:
    samples = [(data(shape=(7, 3)) + np.float32(k), np.int64(k)) for k in range(5)]
    before = lazyloom.stats()
    x, y = torch.utils.data.default_collate(samples)
    assert grown("ops_traced", before) == 0
    samples[0][0][:] = -1
    np.testing.assert_array_equal(x.numpy(), [data(shape=(7, 3)) + k for k in range(5)])
    assert y.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="equal size"):
        torch.utils.data.default_collate([np.zeros(2), np.zeros(3)])
    with pytest.raises(RuntimeError):
        torch.utils.data.default_collate([np.zeros(2), np.zeros((2, 1))])
    mixed = torch.utils.data.default_collate([np.zeros(2, np.float32), np.zeros(2, np.float64)])
    assert mixed.dtype is torch.float64
