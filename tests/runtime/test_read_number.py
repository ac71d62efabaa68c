"""One element read as a Python number: what NumPy's ``item`` of the data gives."""

from __future__ import annotations

import threading

import ml_dtypes
import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom.backends.selection import backend
from lazyloom.backends.xla import jax_compat
from lazyloom.errors import ArgumentError, ReadForbiddenError

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "float32", "float64", "complex64", "complex128"]  # fmt: skip


def _numbers(dtype: str) -> list[onp.generic]:
    kind = onp.dtype(dtype)
    if kind.kind == "b":
        return [onp.bool_(True), onp.bool_(False)]
    if kind.kind in "iu":
        info = onp.iinfo(kind)
        return [kind.type(n) for n in (info.min, 0, 1, info.max)]
    f = onp.finfo(kind)
    found = [0.0, -0.0, 1.5, f.max, f.smallest_subnormal, onp.inf, -onp.inf, onp.nan]
    return [kind.type(complex(n, 1.5) if kind.kind == "c" else n) for n in found]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_number_of_every_dtype_is_as_numpys(dtype: str) -> None:
    """Uploaded and computed, bit for bit, and of the same class of Python's."""
    for number in _numbers(dtype):
        x = np.array(number)
        ones = np.stack([x, x])
        lazyloom.sync(ones, wait=True)
        computed = ones[1]
        lazyloom.sync(computed, wait=True)
        for each in (x, computed, computed.reshape(1, 1)):
            found = each.read_number()
            expected = number.item()
            assert type(found) is type(expected)
            assert onp.array(found, dtype).tobytes() == onp.array(expected, dtype).tobytes()


def test_bfloat16() -> None:
    x = torch.tensor(1.5, dtype=torch.bfloat16) * 3
    assert x.item() == 4.5
    assert type(x.item()) is float
    assert onp.array(x.read_number(), ml_dtypes.bfloat16) == 4.5


def test_frontends_read_by_it() -> None:
    """float(), int(), bool(), complex() and item() of what a program computed."""
    with lazyloom.options(reproducible=True):
        x = np.array([2.0, 3.0], "float32").sum()
        t = torch.tensor([2.0, 3.0]).sum()
        for each in (x, t):
            assert (float(each), int(each), bool(each), each.item()) == (5.0, 5, True, 5.0)
            assert complex(each) == 5
        assert int(np.array([1, 2]).sum()) == 3
        assert (torch.tensor([1, 2]).sum().item(), torch.tensor(True).item()) == (3, True)


def test_it_does_not_copy_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    """A float32 that a compiled program computed does not go through a NumPy array."""
    with lazyloom.options(reproducible=True):
        t = torch.tensor([1.0, 2.5]).sum()
        lazyloom.sync(t, wait=True)
    monkeypatch.setattr(jax_compat, "to_host", None)
    monkeypatch.setattr(backend(), "download", None)
    assert float(t) == 3.5


def test_where_jaxlib_lacks_the_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way by a NumPy array is taken, from then on."""
    monkeypatch.setattr(jax_compat, "fast_number", True)

    class Array:
        def block_until_ready(self) -> None:
            pass

    assert jax_compat.number(Array(), "float32") is None
    assert jax_compat.fast_number is False
    assert float(torch.tensor([1.0, 2.5]).sum()) == 3.5


def test_a_number_that_was_taken_meanwhile_is_not_returned() -> None:
    class Array:
        def block_until_ready(self) -> None:
            pass

        def unsafe_buffer_pointer(self) -> int:
            return memory.ctypes.data

        def is_deleted(self) -> bool:
            return deleted

    memory = onp.array(2.5, "float32")
    deleted = False
    assert jax_compat.number(Array(), "float32") == 2.5
    deleted = True
    assert jax_compat.number(Array(), "float32") is None


@pytest.mark.parametrize("shape", [(2,), (0,), (1, 0)])
def test_several_elements_or_none(shape: tuple[int, ...]) -> None:
    with pytest.raises(ArgumentError, match="expected one element"):
        np.zeros(shape).read_number()


def test_reads_are_counted_and_can_be_forbidden() -> None:
    x = np.array([1.0, 2.0]).sum()
    before = lazyloom.stats()
    assert x.read_number() == 3.0
    after = lazyloom.stats()
    assert after["reads"] - before["reads"] == 1
    assert after["bytes_read"] - before["bytes_read"] == 8
    with lazyloom.options(reads="error"), pytest.raises(ReadForbiddenError):
        x.read_number()


def test_a_check_that_fails_is_raised() -> None:
    x = torch.tensor([1.0, 2.0])
    with pytest.raises(IndexError):
        float(x[torch.tensor(5)])


def test_a_number_stays_while_its_tensor_is_written_to() -> None:
    """What threads read is what one of the steps wrote, whatever donates its memory."""
    with lazyloom.options(reproducible=True):
        x = torch.tensor(0.0)
        for _ in range(3):
            x += 1
            float(x)
        wrong: list[float] = []
        done = False

        def read() -> None:
            while not done:
                found = float(x)
                if found != int(found):
                    wrong.append(found)

        threads = [threading.Thread(target=read) for _ in range(2)]
        for t in threads:
            t.start()
        for _ in range(200):
            x += 1
            lazyloom.sync(x)
        done = True
        for t in threads:
            t.join()
        assert not wrong
        assert float(x) == 203
