"""A caller's mistake is told as one: never a crash, a hang or LOOM_ERROR_INTERNAL."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazyloom import errors
from lazyloom_capi.client import Client

ROOT = Path(__file__).resolve().parents[2]
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("seed", [1, 2])
def test_wrong_arguments_of_every_function_and_op(seed: int) -> None:
    """In a process of its own, which a crash would end."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", "tests.capi.fuzz", str(seed), "6"], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, timeout=240)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "were refused" in done.stdout


@pytest.mark.parametrize("ndim", [65, 100, 5000])
def test_too_many_dimensions(client: Client, ndim: int) -> None:
    ffi, result = client.ffi, client.ffi.new("loom_tensor *")
    memory, shape = ffi.new("float[]", [1.0]), ffi.new("int64_t[]", [1] * ndim)
    with pytest.raises(errors.ShapeError, match=f"{ndim} dimensions, expected at most 64"):
        client.check(client.lib.loom_tensor_from_host(memory, 4, 12, shape, ndim, result))
    with pytest.raises(errors.ShapeError, match=f"{ndim} dimensions, expected at most 64"):
        client.apply("reshape", [X], {"shape": (1,) * (ndim - 1) + (6,)})
    most = client.apply("reshape", [X], {"shape": (1,) * 63 + (6,)})
    assert most.read().shape == (1,) * 63 + (6,)


@pytest.mark.parametrize("op", ["eye", "iota"])
@pytest.mark.parametrize("number", [1, 1.5, True, 2j])
def test_numbers_for_an_op_without_operands(client: Client, op: str, number: Any) -> None:
    for count in (1, 3):
        with pytest.raises(errors.ArgumentError, match=f"{count} operands were given, expected 0"):
            client.apply(op, [number] * count, {})


def test_a_bool_is_any_byte(client: Client) -> None:
    """As in C, where all but 0 is true; a call met before, and one that was not."""
    ffi, x = client.ffi, client.from_numpy(X)
    name, result = ffi.new("char[]", b"keepdims"), ffi.new("loom_tensor *")
    operand = ffi.new("loom_operand *", {"kind": 1, "tensor": x.handle.bits})
    attribute = ffi.new("loom_attr *", {"name": name, "kind": 1})
    for op in (b"sum", b"prod", b"sum", b"prod"):
        for byte in (0, 1, 2, 255):
            ffi.cast("unsigned char *", ffi.addressof(attribute, "value"))[0] = byte
            client.check(
                client.lib.loom_apply(op, operand, 1, attribute, 1, result, 1, ffi.NULL))
            ndim = client.out("size_t *", client.lib.loom_tensor_ndim, result[0])
            assert ndim == (2 if byte else 0)
            client.check(client.lib.loom_tensor_release(result[0]))


@pytest.mark.parametrize("attributes, words", [
    ({"kind": "nope"}, "'kind' is 'nope', expected one that is registered: .*index"),
    ({"kind": "index", "info": ()}, "'info' is (), expected an axis and a size"),
])  # fmt: skip
def test_a_check_that_nobody_knows(
    client: Client, attributes: dict[str, Any], words: str
) -> None:
    wrong, flag = client.apply("checked", [X, np.array(1)], attributes)
    with pytest.raises(errors.ArgumentError, match=words.replace("(", r"\(").replace(")", r"\)")):
        client.apply("add", [wrong, 1]).read()
    right, flag = client.apply("checked", [X, np.array(0)], attributes)
    assert np.array_equal(right.read(), X)


def test_memory_that_there_is_not(client: Client) -> None:
    ffi, result = client.ffi, client.ffi.new("loom_tensor *")
    shape = ffi.new("int64_t[]", [2**60])
    with pytest.raises(errors.OutOfMemoryError):
        client.check(client.lib.loom_tensor_from_host(
            ffi.new("char[]", 8), 2**62, 12, shape, 1, result))


@pytest.mark.parametrize("decimals", [309, 400, 2**62, -309, -400, -(2**62), -(2**63)])
@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_rounding_to_a_power_beyond_all(client: Client, dtype: Any, decimals: int) -> None:
    """It used to be computed as an integer, digit by digit."""
    x = np.array([0, 1, 125], dtype)
    found = client.apply("round", [x], {"decimals": decimals}).read()
    assert found.dtype == dtype
    if dtype is np.int64:
        assert found.tolist() == ([0, 1, 125] if decimals > 0 else [0, 0, 0])
