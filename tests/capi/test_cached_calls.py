"""Calls met before take a short way; it must not be told from the long one."""

from __future__ import annotations

import gc
import math
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom import errors
from lazyloom_capi.client import Client, Tensor

X = np.arange(6, dtype=np.float32).reshape(2, 3)


class General:
    """Counts the calls that go the general way."""

    def __init__(self) -> None:
        self.count = 0


@pytest.fixture
def general(client: Client, monkeypatch: pytest.MonkeyPatch) -> General:
    from lazyloom_capi import calls

    found = General()
    named = calls.op_named

    def counted(name: Any) -> Any:
        found.count += 1
        return named(name)

    monkeypatch.setattr(calls, "op_named", counted)
    return found


def key_in_python(op: str, attributes: dict[str, Any]) -> str:
    x = ll.from_host(X)  # alive, as its handle is in C: it is not donated
    return ll.program_of(ll.record(op, [x], attributes)).key


def float_of_bits(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


#: attributes that are equal to each other in one way or another, and yet are not the same
ALIKE: list[tuple[str, list[dict[str, Any]]]] = [
    ("leaky_relu", [{"negative_slope": v} for v in (
        1.0, 1, 0.0, -0.0, 0, math.nan, -math.nan, float_of_bits(0x7FF8000000000001), math.inf,
        -math.inf, 5e-324, 0.1, float(np.float32(0.1)))]),
    ("sum", [{"keepdims": False}, {"keepdims": True}, {"axes": (0,)}, {"axes": (1,)},
             {"axes": (0, 1)}, {"axes": ()}, {"axes": None}, {"axes": (0,), "keepdims": True},
             {"keepdims": True, "axes": (0,)}, {"axes": (-1,)}, {"dtype": ll.dtypes.float64},
             {"dtype": ll.dtypes.float32}, {"dtype": None}, {}]),
    ("cumsum", [{"axis": 0}, {"axis": 1}, {"axis": -1}, {"axis": 1, "reverse": True},
                {"axis": 1, "reverse": False}]),
    ("reshape", [{"shape": s} for s in (
        (6,), (6, 1), (1, 6), (2, 3), (3, 2), (1, 2, 3), (1,) * 60 + (6,), (6,) + (1,) * 60)]),
    ("gelu", [{"approximate": "none"}, {"approximate": "tanh"}]),
    ("nan_to_num", [{"nan": 1.0}, {"nan": 1.0, "posinf": None}, {"posinf": 1.0},
                    {"neginf": 1.0}, {"posinf": 1.0, "neginf": 1.0}]),
]  # fmt: skip


@pytest.mark.parametrize("op, all_attributes", ALIKE, ids=[op for op, _ in ALIKE])
def test_attributes_by_type_and_bits(
    client: Client, general: General, op: str, all_attributes: list[dict[str, Any]]
) -> None:
    x = client.from_numpy(X)
    expected = [key_in_python(op, a) for a in all_attributes]
    for attributes, key in zip(all_attributes, expected):
        assert client.program_of(client.apply(op, [x], attributes))[0] == key
    met = general.count
    for order in (range(len(expected)), reversed(range(len(expected)))):
        for i in order:
            found = client.program_of(client.apply(op, [x], all_attributes[i]))[0]
            assert found == expected[i], all_attributes[i]
    assert general.count == met


#: values that an attribute of another kind does not take, though some equal one that it takes
WRONG: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("sum", {"keepdims": True}, {"keepdims": 1}),
    ("sum", {"keepdims": False}, {"keepdims": 0}),
    ("sum", {"keepdims": True}, {"keepdims": 1.0}),
    ("cumsum", {"axis": 1}, {"axis": True}),
    ("cumsum", {"axis": 1}, {"axis": 1.0}),
    ("sum", {"axes": (1,)}, {"axes": (1.0,)}),
    ("leaky_relu", {"negative_slope": 1.0}, {"negative_slope": True}),
    ("leaky_relu", {"negative_slope": 1.0}, {"negative_slop": 1.0}),
    ("leaky_relu", {"negative_slope": 1.0}, {"negative_slopes": 1.0}),
]


@pytest.mark.parametrize("op, right, wrong", WRONG)
def test_wrong_attributes_stay_wrong(
    client: Client, op: str, right: dict[str, Any], wrong: dict[str, Any]
) -> None:
    x = client.from_numpy(X)
    key = client.program_of(client.apply(op, [x], right))[0]
    for _ in range(3):
        with pytest.raises(errors.ArgumentError) as in_c:
            client.apply(op, [x], wrong)
        with pytest.raises(errors.ArgumentError) as in_python:
            ll.record(op, [ll.from_host(X)], wrong)
        assert str(in_c.value) == str(in_python.value)
        assert client.program_of(client.apply(op, [x], right))[0] == key


def apply_raw(client: Client, name: Any, x: Tensor, attribute: Any) -> Tensor:
    ffi = client.ffi
    operand = ffi.new("loom_operand *", {"kind": 1, "tensor": x.handle.bits})
    result = ffi.new("loom_tensor *")
    client.check(client.lib.loom_apply(
        name, operand, 1, attribute, int(attribute != ffi.NULL), result, 1, ffi.NULL))
    return Tensor(client, ffi.new("loom_tensor *", [result.bits])[0])


def test_pointers_whose_contents_change(client: Client) -> None:
    """What a call names is what its pointers point to at that call."""
    ffi = client.ffi
    x = client.from_numpy(X)
    name = ffi.new("char[]", 20)
    for _ in range(3):
        for op in ("exp", "exp2", "expm1", "sin", "sinh"):
            name[0 : len(op) + 1] = op.encode() + b"\0"
            assert client.program_of(apply_raw(client, name, x, ffi.NULL))[0] == key_in_python(
                op, {})
    attribute = ffi.new("loom_attr *")
    attribute_name = ffi.new("char[]", b"axes")
    numbers = ffi.new("int64_t[]", [0, 0])
    attribute.name, attribute.kind, attribute.value.integers = attribute_name, 6, numbers
    for _ in range(3):
        for axes in ((0,), (1,), (0, 1), (1, 0), ()):
            attribute.count = len(axes)
            for i, a in enumerate(axes):
                numbers[i] = a
            found = client.program_of(apply_raw(client, b"sum", x, attribute))[0]
            assert found == key_in_python("sum", {"axes": axes})
    text = ffi.new("char[]", 8)
    text_name = ffi.new("char[]", b"approximate")
    attribute.name, attribute.kind, attribute.value.text = text_name, 4, text
    for _ in range(3):
        for value in ("none", "tanh"):
            text[0:5] = value.encode() + b"\0"
            found = client.program_of(apply_raw(client, b"gelu", x, attribute))[0]
            assert found == key_in_python("gelu", {"approximate": value})


def test_more_calls_than_are_kept(client: Client, general: General) -> None:
    """Forgotten calls are met anew."""
    x = client.from_numpy(X)
    count = 9000
    for i in range(count):
        client.apply("leaky_relu", [x], {"negative_slope": i + 0.25})
    assert general.count == count
    for i in (0, 5000, count - 1):
        found = client.apply("leaky_relu", [x], {"negative_slope": i + 0.25})
        expected = key_in_python("leaky_relu", {"negative_slope": i + 0.25})
        assert client.program_of(found)[0] == expected


def test_many_operands(client: Client, general: General) -> None:
    parts = [client.from_numpy(X + i) for i in range(100)]
    for _ in range(2):
        for n in (2, 16, 17, 64, 65, 100):
            found = client.apply("concatenate", parts[:n], {"axis": 0})
            assert np.array_equal(found.read(), np.concatenate([X + i for i in range(n)]))
    assert general.count <= 6


NUMBERS: list[Any] = [
    0, 1, -1, 2, 127, 128, -128, -129, 255, 256, 2**31 - 1, 2**31, 2**32, 2**63 - 1, -(2**63), 0.0,
    -0.0, 0.5, 1.0, -1.0, math.nan, math.inf, 1e300, True, False, 1j, complex(1, -0.0),
]  # fmt: skip


def described(value: ll.Value) -> list[Any]:
    """What a node is, down to the bits of its numbers."""
    node = value.node
    assert node.spec is not None
    found: list[Any] = [repr(node.spec), value.type.text]
    for given in node.inputs:
        if isinstance(given, ll.Scalar):
            n = given.number
            bits = struct.pack("<dd", n.real, n.imag) if isinstance(n, (float, complex)) else n
            found.append((type(n), bits, given.type.text, repr(given.baked and (
                given.baked.number, given.baked.dtype))))
        else:
            found.append(given)
    return found


def outcome(client: Client, op: str, operands: list[Any], general: bool) -> list[Any]:
    """What a call records, or its error; ``general``: as a call never met before."""
    from lazyloom_capi import entries, handles

    ffi = client.ffi
    array = ffi.new("loom_operand[]", [client.operand(x) for x in operands])
    try:
        if general:
            name = ffi.new("char[]", op.encode())
            recorded, _ = entries.apply(
                0, int(ffi.cast("uintptr_t", name)), int(ffi.cast("uintptr_t", array)),
                len(operands), 0, 0)
            return described(recorded)
        made = client.apply(op, operands)
        return described(handles.find(1, made.handle.bits))
    except errors.LoomError as error:
        return [type(error), str(error), error.op]


@pytest.mark.parametrize("dtype", ll.dtypes.ALL, ids=str)
def test_numbers_as_operands(client: Client, general: General, dtype: Any) -> None:
    x = client.from_numpy(np.ones((3,), dtype.numpy))
    numbers = NUMBERS + [
        ll.Scalar(n, d) for n in (0, 1, 7) for d in (ll.dtypes.float16, ll.dtypes.int64, dtype)]
    # met, so that what follows takes the short way where that can be taken
    for operands in ([x, x], [x, None, x]):
        outcome(client, "add" if len(operands) == 2 else "clip", operands, False)
    met = general.count
    short = 0
    for n in numbers:
        for operands in ([x, n], [n, x], [n, n], [x, n, n], [x, None, n], [n, 0.5], [n, True]):
            op = "add" if operands[-1] is not None and len(operands) == 2 else "clip"
            expected = outcome(client, op, operands, True)
            before = general.count
            found = outcome(client, op, operands, False)
            assert found == expected, operands
            short += general.count == before
            # an error is the general way's
            assert general.count == before or isinstance(found[0], type)
    assert met < general.count
    assert short >= len(numbers)


def test_positions_are_not_structure(client: Client, general: General) -> None:
    x = client.from_numpy(X)
    keys = set()
    for _ in range(2):
        for i in (0, 1, 2, -1):
            for operands in ([x, i, 0], [x, ll.Scalar(i, ll.dtypes.int64, bake=False), 0]):
                found = client.apply("dynamic_slice", operands, {"sizes": (1, 2)})
                keys.add(client.program_of(found)[0])
    assert len(keys) == 1
    assert general.count <= 1


def test_operands_left_out_at_the_end(client: Client, general: General) -> None:
    x, y = client.from_numpy(X), client.from_numpy(X)
    keys = []
    for _ in range(2):
        for operands in ([x], [x, None], [x, None, None], [x, y], [x, y, None], [x, None, y],
                         [x, y, y]):  # fmt: skip
            keys.append(client.program_of(client.apply("clip", operands))[0])
    assert keys[:7] == keys[7:]
    assert keys[0] == keys[1] == keys[2] and keys[3] == keys[4]
    assert len(set(keys)) == 4
    for _ in range(2):
        with pytest.raises(errors.ArgumentError):
            client.apply("add", [x, None])


def test_sources_and_recorded_ops_are_apart(client: Client) -> None:
    """loom_source() and loom_apply() of one call share what is kept of it, and nothing else."""
    from lazyloom_capi import handles

    for _ in range(3):
        for source in (True, False):
            made = client.apply("full", [1.5], {"shape": (2,)}, source=source)
            assert handles.find(1, made.handle.bits).node.boundary is source


def test_several_results_each_time(client: Client) -> None:
    x = client.from_numpy(np.eye(3))
    for _ in range(3):
        values, vectors = client.apply("eigh", [x])
        assert values.shape == (3,) and vectors.shape == (3, 3)
        first, second = client.apply("split", [x], {"sizes": (1, 2)})
        assert first.shape == (1, 3) and second.shape == (2, 3)
        (whole,) = client.apply("split", [x], {"sizes": (3,)})
        assert whole.shape == (3, 3)
    operand = client.ffi.new("loom_operand *", client.operand(x))
    results = client.ffi.new("loom_tensor[2]")
    count = client.ffi.new("size_t *")
    for _ in range(2):
        before = client.out("size_t *", client.lib.loom_live_handles)
        with pytest.raises(errors.ArgumentError, match="capacity is 1, expected 2") as caught:
            client.check(client.lib.loom_apply(
                b"eigh", operand, 1, client.ffi.NULL, 0, results, 1, count))
        assert caught.value.op == "eigh" and count[0] == 2 and results[0].bits == 0
        assert client.out("size_t *", client.lib.loom_live_handles) == before


def test_tensors_that_were_written(client: Client, general: General) -> None:
    """A handle stands for what it holds now, also where a call was met before."""
    x, y = client.from_numpy(X), client.from_numpy(X + 1)
    for i in range(3):
        total = client.apply("add", [x, y])
        client.check(client.lib.loom_tensor_assign(x.handle, total.handle))
        assert np.array_equal(x.read(), X + (i + 1) * (X + 1))
    client.check(client.lib.loom_tensor_require_grad(y.handle, True))
    [g] = client.gradients([client.apply("sum", [client.apply("multiply", [x, y])])], [y])
    assert np.array_equal(g.read(), x.read())


def test_errors_are_at_the_line_of_their_call(client: Client) -> None:
    x = client.from_numpy(X)
    narrow = client.from_numpy(X[:, :2])
    file = client.ffi.new("char[]", b"program.c")
    sites = []
    try:
        for line in (12, 13, 12):
            client.lib.loom_set_source_location(file, line)
            client.apply("add", [x, x])
            for operands in ([x, narrow], [x, None], [x, 1j]):
                with pytest.raises(errors.LoomError) as caught:
                    client.apply("add", operands)
                sites.append(caught.value.site)
    finally:
        client.lib.loom_set_source_location(client.ffi.NULL, 0)
    assert sites == ["program.c:12"] * 3 + ["program.c:13"] * 3 + ["program.c:12"] * 3


def test_nodes_know_their_line(client: Client) -> None:
    """More lines than places are kept of, from two files, in turn."""
    from lazyloom_capi import handles

    x = client.from_numpy(X)
    files = [client.ffi.new("char[]", name) for name in (b"one.c", b"\xfftwo.c")]
    names = ["one.c", "\ufffdtwo.c"]
    try:
        for line in [*range(1, 600), *range(1, 600)]:
            which = line % 2
            client.lib.loom_set_source_location(files[which], line)
            made = client.apply("negative", [x])
            site = handles.find(1, made.handle.bits).node.site
            assert str(site) == f"{names[which]}:{line}"
        many = [client.ffi.new("char[]", b"%d.c" % i) for i in range(600)]
        for i in [*range(600), *range(600)]:
            client.lib.loom_set_source_location(many[i], 7)
            made = client.apply("negative", [x])
            assert str(handles.find(1, made.handle.bits).node.site) == f"{i}.c:7"
    finally:
        client.lib.loom_set_source_location(client.ffi.NULL, 0)
    made = client.apply("negative", [x])
    here = handles.find(1, made.handle.bits).node.site
    assert here.file == __file__


def test_handles_are_never_given_out_twice(client: Client) -> None:
    x = client.from_numpy(X)
    seen: set[int] = set()
    for i in range(5000):
        made = client.apply("negative", [x])
        assert made.handle.bits not in seen
        seen.add(made.handle.bits)
        if i % 100 == 0:
            stale = client.ffi.new("loom_tensor *", [made.handle.bits])[0]
            del made
            with pytest.raises(errors.HandleError, match="stale"):
                client.check(client.lib.loom_tensor_retain(stale))
            with pytest.raises(errors.HandleError, match="stale"):
                client.check(client.lib.loom_tensor_release(stale))
            operand = client.ffi.new("loom_operand *", {"kind": 1, "tensor": stale.bits})
            result = client.ffi.new("loom_tensor *")
            with pytest.raises(errors.HandleError, match="negative: operand 'x': the loom_tensor"):
                client.check(client.lib.loom_apply(
                    b"negative", operand, 1, client.ffi.NULL, 0, result, 1, client.ffi.NULL))


def test_arbitrary_bits_are_no_handles(client: Client) -> None:
    x = client.from_numpy(X)
    live = {x.handle.bits}
    made = client.apply("negative", [x])
    live.add(made.handle.bits)
    program = client.out(
        "loom_program *", client.lib.loom_program_of, client._array([made]), 1)
    words = {"never given out", "stale", "the null handle", "a loom_program was given"}
    met = set()
    changed = [x.handle.bits ^ 1 << i for i in range(64)]
    changed += [x.handle.bits + (1 << 26) * i for i in (1, 2, 1000)]
    for bits in [0, 1, 2**64 - 1, 2**56, 3 << 56, program.bits, *changed]:
        given = client.ffi.new("loom_tensor *", [bits])[0]
        if bits in live:
            continue
        with pytest.raises(errors.HandleError) as caught:
            client.check(client.lib.loom_tensor_retain(given))
        met |= {w for w in words if w in str(caught.value)}
        assert any(w in str(caught.value) for w in words), str(caught.value)
    assert met >= {"never given out", "the null handle", "a loom_program was given"}
    client.check(client.lib.loom_program_release(program))
    assert np.array_equal(x.read(), X)


def test_owners(client: Client) -> None:
    given = client.from_numpy(X)
    handle = client.ffi.new("loom_tensor *", [given.handle.bits])[0]
    for _ in range(1000):
        client.check(client.lib.loom_tensor_retain(handle))
    del given
    for _ in range(999):
        client.check(client.lib.loom_tensor_release(handle))
    assert client.out("size_t *", client.lib.loom_tensor_ndim, handle) == 2
    client.check(client.lib.loom_tensor_release(handle))
    with pytest.raises(errors.HandleError):
        client.out("size_t *", client.lib.loom_tensor_ndim, handle)


def values_alive() -> int:
    gc.collect()
    return sum(type(o) is ll.Value for o in gc.get_objects())


def test_nothing_is_kept_of_what_was_released(client: Client) -> None:
    x = client.from_numpy(X)
    client.apply("clip", [x, 1, x])
    before = values_alive()
    for _ in range(3):
        kept = [client.apply("clip", [x, i, x]) for i in range(50)]
        client.apply("sum", kept[:1], {"axes": (1,)}).read()
        with pytest.raises(errors.LoomError):
            client.apply("add", [x, None])
        del kept
    # other tests' values may go meanwhile; none may come
    assert values_alive() <= before


SPENT = """
import sys
from lazyloom_capi.client import Client
import numpy as np
client = Client(sys.argv[1])
x = client.from_numpy(np.ones(3, np.float32))
seen = set()
for i in range(20_000):
    made = client.apply("negative", [x])
    assert made.handle.bits not in seen
    seen.add(made.handle.bits)
assert client.out("size_t *", client.lib.loom_live_handles) == 2
assert made.read().tolist() == [-1, -1, -1]
keys = {}
for turn in range(2):
    for n in range(200):
        made = client.apply("leaky_relu", [x], {"negative_slope": n / 8})
        key = client.program_of(made)[0]
        assert keys.setdefault(n, key) == key
assert len(set(keys.values())) == 200
print("as it should be")
"""


@pytest.mark.slow
def test_when_numbers_run_out(tmp_path: Path) -> None:
    """Built with three generations a slot goes once they are spent; with two hashes, calls of
    one hash are told apart by all their bytes."""
    program = (
        "import os, sys; os.environ['CC'] = 'cc -DGENERATION_BITS=2 -DHASH_MASK=1'\n"
        "from lazyloom_capi import build\n"
        "print(build.build(sys.argv[1], force=True))\n")
    built = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True,
                           text=True, timeout=300)  # fmt: skip
    assert built.returncode == 0, built.stderr
    done = subprocess.run([sys.executable, "-c", SPENT, built.stdout.strip()],
                          capture_output=True, text=True, timeout=300)  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, "as it should be"), done.stderr


def test_a_tensor_assigned_by_a_run_out_of_memory_holds_what_it_did(client: Client) -> None:
    x = client.apply("add", [np.array([1, 2], np.float32), 1])
    x.read()
    wide = client.apply("broadcast_to", [client.apply("sum", [x])], {"shape": (1 << 41,)})
    total = client.apply("add", [x, client.apply("sum", [wide])])
    client.check(client.lib.loom_tensor_assign(x.handle, total.handle))
    with pytest.raises(errors.OutOfMemoryError, match="out of memory") as caught:
        x.read()
    assert caught.value.code == 14
    # C has no notes
    assert "; to save the program for a report, set LAZYLOOM_REPRO=DIR" in str(caught.value)
    assert x.read().tolist() == [2, 3]
    assert client.apply("add", [x, 1]).read().tolist() == [3, 4]
