"""The library loaded into a Python process: one interpreter, one runtime, the same errors."""

from __future__ import annotations

import gc
import json
import math
import threading
import time
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lazyloom as ll
from lazyloom import errors
from lazyloom_capi.client import Client

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_same_runtime_as_the_process(client: Client) -> None:
    before = ll.stats()["ops_traced"]
    client.apply("add", [X, X])
    assert ll.stats()["ops_traced"] == before + 1
    assert client.out("int64_t *", client.lib.loom_stat, b"ops_traced") == before + 1


def test_same_program_as_python(client: Client) -> None:
    x = client.from_numpy(X)
    total = client.apply("sum", [client.apply("multiply", [x, 2.5])], {"axes": (1,)})
    kept = ll.from_host(X)
    doubled = ll.record("multiply", [kept, ll.Scalar(2.5, ll.dtypes.float32)])
    in_python = ll.record("sum", [doubled], {"axes": (1,)})
    del doubled
    assert client.program_of(total)[0] == ll.program_of(in_python).key
    compiled = ll.stats()["programs_compiled"]
    assert np.array_equal(total.read(), in_python.read())
    assert ll.stats()["programs_compiled"] <= compiled + 1


@pytest.mark.parametrize("dtype", ll.dtypes.ALL, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3)], ids=str)
def test_round_trip(client: Client, dtype: Any, shape: tuple[int, ...]) -> None:
    array = np.arange(math.prod(shape)).reshape(shape).astype(dtype.numpy)
    tensor = client.from_numpy(array)
    assert tensor.shape == shape and tensor.dtype is dtype
    back = tensor.read()
    assert back.dtype == array.dtype and back.tobytes() == array.tobytes()


@pytest.mark.parametrize("whole", [True, False])
def test_mapped_memory_is_the_tensor_s_own_and_never_changes(client: Client, whole: bool) -> None:
    """Whatever is written into the tensor, or runs, as long as it is mapped."""
    lib, ffi = client.lib, client.ffi
    x = np.arange(20_000, dtype=np.float32)

    def mapped(tensor: Any) -> tuple[Any, np.ndarray]:
        buffer, data, size = ffi.new("loom_buffer *"), ffi.new("void **"), ffi.new("size_t *")
        client.check(lib.loom_tensor_map(tensor.handle, buffer, data, size))
        return buffer[0], np.frombuffer(ffi.buffer(data[0], size[0]), np.float32)

    with ll.options(reproducible=whole):
        tensor = client.apply("add", [client.from_numpy(x), 1.0])
        first, data = mapped(tensor)
        second, again = mapped(tensor)
        assert np.shares_memory(data, again)
        for k in range(4):
            more = client.apply("add", [tensor, 1.0])
            client.check(lib.loom_tensor_assign(tensor.handle, more.handle))
            del more
            np.testing.assert_array_equal(tensor.read(), x + 2 + k)
            np.testing.assert_array_equal(data, x + 1)
        client.check(lib.loom_buffer_release(first))
        del tensor
        gc.collect()
        others = [client.apply("add", [client.from_numpy(x), float(k)]) for k in range(4)]
        for k, other in enumerate(others):
            np.testing.assert_array_equal(other.read(), x + k)
        np.testing.assert_array_equal(again, x + 1)
        client.check(lib.loom_buffer_release(second))


def test_bool_bytes_are_made_zero_or_one(client: Client) -> None:
    raw = np.array([0, 1, 2, 255], np.uint8)
    tensor = client.from_numpy(raw.view(np.bool_))
    assert tensor.read().view(np.uint8).tolist() == [0, 1, 1, 1]


def test_several_results(client: Client) -> None:
    parts = client.apply("split", [X], {"sizes": (1, 2), "axis": 1})
    assert [p.shape for p in parts] == [(2, 1), (2, 2)]
    assert np.array_equal(parts[1].read(), X[:, 1:])


def test_numbers_take_the_dtype_beside_them(client: Client) -> None:
    for dtype in (np.float16, ml_dtypes.bfloat16, np.float64, np.int8, np.uint64, np.complex64):
        x = client.from_numpy(np.array([1, 2], dtype))
        assert client.apply("add", [x, 1]).read().tolist() == np.array([2, 3], dtype).tolist()
    assert client.apply("full", [1.5], {"shape": (2,)}).dtype.name == "float64"
    typed = ll.Scalar(1.5, ll.dtypes.float16)
    assert client.apply("full", [typed], {"shape": ()}, source=True).dtype.name == "float16"


def test_large_integers_stay_exact(client: Client) -> None:
    big = 2**62 + 1
    x = client.from_numpy(np.array([0], np.int64))
    assert client.apply("add", [x, big]).read().tolist() == [big]


def test_number_that_changes_compiles_nothing(client: Client) -> None:
    x = client.from_numpy(X)
    client.apply("multiply", [x, 0.5]).read()
    compiled = ll.stats()["programs_compiled"]
    assert np.array_equal(client.apply("multiply", [x, 0.25]).read(), X * 0.25)
    assert ll.stats()["programs_compiled"] == compiled


def test_absent_operands_at_the_end_do_not_change_the_program(client: Client) -> None:
    x = client.from_numpy(X)
    a = client.apply("clip", [x, 1])
    b = client.apply("clip", [x, 1, None])
    assert client.program_of(a) == client.program_of(b)


WRONG: list[tuple[type[errors.LoomError], str, list[Any], dict[str, Any], str]] = [
    (errors.UnknownOpError, "addd", [X, X], {}, "near names: add"),
    (errors.ArgumentError, "add", [X], {}, "1 operands were given, expected 2"),
    (errors.ArgumentError, "add", [X, None], {}, "operand 'y' is missing"),
    (errors.ShapeError, "add", [X, X[:, :2]], {}, "(2, 3)"),
    (errors.DTypeError, "add", [X, X.astype(np.int32)], {}, "cast"),
    (errors.DTypeError, "add", [X.astype(np.int8), 0.5], {}, "0.5"),
    (errors.ArgumentError, "add", [X.astype(np.int8), 300], {}, "-128 to 127"),
    (errors.ArgumentError, "sum", [X], {"axes": (7,)}, "7"),
    (errors.ArgumentError, "sum", [X], {"axis": 0}, "'axis' is not known"),
    (errors.ArgumentError, "sum", [X], {"keepdims": 1}, "keepdims"),
    (errors.ArgumentError, "reshape", [X], {"shape": "wide"}, "shape"),
    (errors.ArgumentError, "reshape", [X], {}, "shape"),
]


@pytest.mark.parametrize("kind, op, operands, attributes, words", WRONG)
def test_errors(
    client: Client, kind: type[errors.LoomError], op: str, operands: list[Any],
    attributes: dict[str, Any], words: str,
) -> None:  # fmt: skip
    with pytest.raises(kind) as caught:
        client.apply(op, operands, attributes)
    assert type(caught.value) is kind
    assert words in str(caught.value)
    assert caught.value.op == op


# in Python numbers come with a dtype
WITHOUT_NUMBERS = [w for w in WRONG if not any(isinstance(x, (int, float)) for x in w[2])]


@pytest.mark.parametrize("kind, op, operands, attributes, words", WITHOUT_NUMBERS)
def test_errors_are_those_of_python(
    client: Client, kind: type[errors.LoomError], op: str, operands: list[Any],
    attributes: dict[str, Any], words: str,
) -> None:  # fmt: skip
    with pytest.raises(kind) as in_c:
        client.apply(op, operands, attributes)
    with pytest.raises(kind) as in_python:
        ll.record(op, [None if x is None else ll.from_host(x) for x in operands], attributes)
    assert str(in_c.value) == str(in_python.value)


def test_ill_formed_structures_are_errors(client: Client) -> None:
    ffi, lib = client.ffi, client.lib
    x = client.from_numpy(X)
    result = ffi.new("loom_tensor *")
    operand = ffi.new("loom_operand *", {"kind": 9, "tensor": x.handle.bits})
    attribute = ffi.new("loom_attr *")

    def apply() -> None:
        client.check(lib.loom_apply(b"relu", operand, 1, attribute, count, result, 1, ffi.NULL))

    count = 0
    with pytest.raises(errors.ArgumentError, match="kind 9"):
        apply()
    operand.kind, operand.dtype = 3, 77
    with pytest.raises(errors.DTypeError, match="77"):
        apply()
    operand.kind = 1
    count = 1
    with pytest.raises(errors.ArgumentError, match="no name"):
        apply()
    name = ffi.new("char[]", b"axes")
    attribute.name, attribute.kind = name, 12
    with pytest.raises(errors.ArgumentError, match="kind 12"):
        apply()
    attribute.kind, attribute.count = 6, 3
    with pytest.raises(errors.ArgumentError, match="NULL"):
        apply()
    broken = ffi.new("char[]", b"ax\xff")
    attribute.name, attribute.kind = broken, 0
    with pytest.raises(errors.ArgumentError, match="is not known"):
        apply()
    assert result.bits == 0


def test_gradients(client: Client) -> None:
    x = client.from_numpy(np.array([1.0, 2.0]))
    client.check(client.lib.loom_tensor_require_grad(x.handle, True))
    y = client.apply("sum", [client.apply("exp", [x])])
    [g] = client.gradients([y], [x])
    assert np.allclose(g.read(), np.exp([1.0, 2.0]))


def test_error_site_is_the_python_line_without_a_c_one(client: Client) -> None:
    with pytest.raises(errors.ShapeError) as caught:
        client.apply("add", [X, X[:, :2]])
    assert caught.value.site is not None and "test_in_process.py:" in caught.value.site


def test_c_line_does_not_leak_into_python(client: Client) -> None:
    file = client.ffi.new("char[]", b"program.c")
    client.lib.loom_set_source_location(file, 12)
    try:
        with pytest.raises(errors.ShapeError) as caught:
            client.apply("add", [X, X[:, :2]])
        assert caught.value.site == "program.c:12"
        with pytest.raises(errors.ShapeError) as in_python:
            ll.record("add", [ll.from_host(X), ll.from_host(X[:, :2])])
        assert "test_in_process.py:" in str(in_python.value.site)
    finally:
        client.lib.loom_set_source_location(client.ffi.NULL, 0)


def test_error_belongs_to_its_thread(client: Client) -> None:
    client.lib.loom_error_clear()
    seen: list[int] = []

    def fail() -> None:
        with pytest.raises(errors.UnknownOpError):
            client.apply("nothing", [])
        seen.append(client.lib.loom_error_status())

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    assert seen == [errors.UnknownOpError.code]
    assert client.lib.loom_error_status() == 0


def test_shared_memory_is_given_back_once(client: Client) -> None:
    ffi, lib = client.ffi, client.lib
    given_back: list[int] = []

    @ffi.callback("void(void *)")
    def done(context: Any) -> None:
        given_back.append(int(ffi.cast("uintptr_t", context)))

    data = np.arange(1024, dtype=np.float32)
    memory, shape = ffi.from_buffer(data), ffi.new("int64_t[]", [1024])
    result = ffi.new("loom_tensor *")
    client.check(lib.loom_tensor_share_host(
        memory, data.nbytes, ll.dtypes.float32.index, shape, 1, done, ffi.cast("void *", 7),
        result))  # fmt: skip
    doubled = ffi.new("loom_tensor *")
    operand = ffi.new("loom_operand[]", 2)
    operand[0].kind, operand[0].tensor = 1, result.bits
    operand[1].kind, operand[1].integer = 3, 2
    client.check(lib.loom_apply(b"multiply", operand, 2, ffi.NULL, 0, doubled, 1, ffi.NULL))
    assert given_back == []
    client.check(lib.loom_sync(doubled, 1, True))
    client.check(lib.loom_tensor_release(result[0]))
    client.check(lib.loom_tensor_release(doubled[0]))
    gc.collect()
    ll.sync(wait=True)
    until = time.monotonic() + 30  # XLA's thread may hold it a little longer than it computes
    while not given_back and time.monotonic() < until:
        time.sleep(0.01)
        gc.collect()
    assert given_back == [7]
    assert data[5] == 5
    # an early failure gives it back too
    assert lib.loom_tensor_share_host(
        memory, 3, ll.dtypes.float32.index, shape, 1, done, ffi.cast("void *", 8), result) != 0
    gc.collect()
    assert given_back == [7, 8]


def test_no_handle_is_left(client: Client) -> None:
    gc.collect()
    before = client.out("size_t *", client.lib.loom_live_handles)
    x = client.from_numpy(X)
    for _ in range(100):
        x = client.apply("add", [x, 1])
    x.read()
    del x
    gc.collect()
    assert client.out("size_t *", client.lib.loom_live_handles) == before


def test_descriptions_of_ops(client: Client) -> None:
    names = ll.ops.names()
    assert client.out("size_t *", client.lib.loom_op_count) == len(names)
    for i, name in enumerate(names):
        given = client.out("const char **", client.lib.loom_op_name, i)
        assert client.ffi.string(given).decode() == name
        described = json.loads(client.text(client.lib.loom_op_describe, name.encode()))
        op = ll.ops.lookup(name)
        assert described["name"] == name and described["doc"]
        assert [o["name"] for o in described["operands"]] == [o.name for o in op.operands]
        assert [a["name"] for a in described["attributes"]] == [a.name for a in op.attributes]
        assert described["outputs"] == list(op.signature.outputs)


def test_evaluation_record(client: Client) -> None:
    client.apply("tanh", [X]).read()
    last = ll.last_evaluation()
    assert last is not None
    assert client.text(client.lib.loom_last_evaluation) == last.text()
    assert json.loads(client.text(client.lib.loom_stats_json))["executions"] > 0


def test_shutdown_leaves_python_alone_and_can_be_undone(client: Client) -> None:
    value = ll.record("add", [ll.from_host(X), ll.from_host(X)])
    client.check(client.lib.loom_shutdown())
    assert not client.lib.loom_is_initialized()
    assert np.array_equal(value.read(), X + X)
    with pytest.raises(errors.LoomError, match="loom_shutdown"):
        client.apply("add", [])
    client.check(client.lib.loom_initialize())
    assert np.array_equal(client.apply("add", [X, X]).read(), X + X)
