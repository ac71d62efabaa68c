"""A program's report is the same from the NumPy-like frontend, the torch-like one and C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom import codegen, errors
from lazyloom_capi.client import Client

from .generators import InNumPy

A = numpy.linspace(-1, 1, 64, dtype="float32").reshape(8, 8)
B = numpy.cos(A)


@pytest.fixture(scope="module")
def client() -> Client:
    return Client()


def in_numpy(client: Client) -> tuple[Any, Callable[[], Any]]:
    x, y = np.asarray(A), np.asarray(B)
    z = np.tanh(x * y + x * 2.5) @ y - x
    return lazyloom.program_of(z), lambda: numpy.asarray(z)


def in_torch(client: Client) -> tuple[Any, Callable[[], Any]]:
    x, y = torch.tensor(A), torch.tensor(B)
    z = torch.tanh(x * y + x * 2.5) @ y - x
    return lazyloom.program_of(z), lambda: z.numpy()


def in_c(client: Client) -> tuple[Any, Callable[[], Any]]:
    x, y = client.from_numpy(A), client.from_numpy(B)
    scaled = client.apply("multiply", [x, 2.5])
    total = client.apply("add", [client.apply("multiply", [x, y]), scaled])
    product = client.apply("matmul", [client.apply("tanh", [total]), y])
    z = client.apply("subtract", [product, x])
    return client.out(
        "loom_program *", client.lib.loom_program_of,
        client.ffi.new("loom_tensor *", [z.handle.bits]), 1), z.read


def told(client: Client, program: Any) -> str:
    """The report of a program, or of a handle of C's."""
    if isinstance(program, lazyloom.Program):
        return codegen.explain(program).text()
    return client.text(client.lib.loom_program_explain, program)


@pytest.mark.xla
def test_the_report_is_the_same(client: Client) -> None:
    codegen.register(InNumPy("multiply", "add", "subtract"))
    reports, values = [], []
    with codegen.use("in_numpy"):
        for made in (in_numpy, in_torch, in_c):
            program, read = made(client)
            pending = told(client, program)
            values.append(read())
            last = client.out("loom_program *", client.lib.loom_last_program)
            evaluation = lazyloom.last_evaluation()
            assert evaluation is not None
            # of what is pending, and of what ran
            assert pending == told(client, last) == told(client, evaluation.program)
            reports.append(pending)
            for handle in [last] + [program] * (made is in_c):
                client.check(client.lib.loom_program_release(handle))
    assert reports[0] == reports[1] == reports[2]
    assert "in_numpy, region 0" in reports[0] and "tanh is not one of" in reports[0]
    for value in values:
        assert numpy.array_equal(value, values[0])


def text(client: Client, function: str) -> str:
    return client.text(getattr(client.lib, function))


def test_a_choice_is_of_the_process(client: Client) -> None:
    """What C chooses Python sees, and the other way round."""
    codegen.register(InNumPy("multiply"))
    codegen.register(InNumPy("multiply", name="second"))
    assert text(client, "loom_codegen_available") == ",".join(codegen.available())
    names = [client.ffi.new("char[]", n) for n in (b"second", b"xla", b"in_numpy")]
    client.check(client.lib.loom_codegen_use(client.ffi.new("char *[]", names), 3))
    assert codegen.in_use() == ("second", "in_numpy")
    assert text(client, "loom_codegen_in_use") == "second,in_numpy"
    with codegen.use("xla"):
        assert text(client, "loom_codegen_in_use") == "xla"
    assert text(client, "loom_codegen_in_use") == "second,in_numpy"
    names[0] = client.ffi.new("char[]", b"\xff,")
    with pytest.raises(errors.ArgumentError, match="is not known, expected"):
        client.check(client.lib.loom_codegen_use(client.ffi.new("char *[]", names), 1))
    assert codegen.in_use() == ("second", "in_numpy")
    client.check(client.lib.loom_codegen_use(client.ffi.NULL, 0))
    assert codegen.in_use() == ()


@pytest.mark.xla
def test_a_report_in_c_is_never_cut_without_a_word(client: Client) -> None:
    """It was LOOM_OK where the buffer was too small and nobody asked for the size."""
    x = client.from_numpy(A)
    y = x
    for _ in range(40):
        y = client.apply("tanh", [y])
    ffi, lib = client.ffi, client.lib
    program = client.out(
        "loom_program *", lib.loom_program_of, ffi.new("loom_tensor *", [y.handle.bits]), 1)
    needed = ffi.new("size_t *")
    client.check(lib.loom_program_explain(program, ffi.NULL, 0, needed))
    buffer = ffi.new("char[]", needed[0])
    client.check(lib.loom_program_explain(program, buffer, needed[0], ffi.NULL))
    whole = ffi.string(buffer).decode()
    assert len(whole) + 1 == needed[0] and "xla: 40 tanh" in whole
    assert whole.endswith("report.text() has a line for each op")
    # a part, of which the caller knows that it is one
    client.check(lib.loom_program_explain(program, buffer, 20, needed))
    assert ffi.string(buffer).decode() == whole[:19] and needed[0] == len(whole) + 1
    with pytest.raises(errors.ArgumentError, match=rf"20 bytes, expected {len(whole) + 1} for"):
        client.check(lib.loom_program_explain(program, buffer, 20, ffi.NULL))
