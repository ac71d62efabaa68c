"""Line 3: equal structure never compiles twice; different structure never shares a program."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.errors import ArgumentError
from lazyloom.program.program import Program, Structure
from tests.contract.helpers import counted, host, number, script, tensor

X = np.array([1.0, -2.0, 3.5], np.float32)
Y = np.array([0.5, 4.0, -1.0], np.float32)
Z = np.array([2.0, 2.0, 8.0], np.float32)


def rec(op: str, *operands: Any, **attributes: Any) -> Any:
    return ll.record(op, operands, attributes)


def key(make: Callable[[], Any]) -> str:
    made = make()
    return ll.program_of(*(made if isinstance(made, (list, tuple)) else [made])).key


def abc() -> tuple[ll.Value, ll.Value, ll.Value]:
    return host(X), host(Y), host(Z)


def product_sum(first: int, second: int, third: int) -> ll.Value:
    v = abc()
    return rec("add", rec("multiply", v[first], v[second]), v[third])  # type: ignore[no-any-return]


def test_which_operand_is_added_is_part_of_the_key() -> None:
    def left() -> list[ll.Value]:
        a, b, c = abc()
        return [rec("add", rec("multiply", a, b), c), a, b, c]

    def right() -> list[ll.Value]:
        a, b, c = abc()
        # all three are used in the same order first, so only the wiring differs
        rec("add", a, b)
        return [rec("add", rec("multiply", a, c), b), a, b, c]

    p, q = left(), right()
    np.testing.assert_array_equal(p[0].read(), X * Y + Z)
    np.testing.assert_array_equal(q[0].read(), X * Z + Y)


def test_wiring_differs_where_the_leaves_are_pinned() -> None:
    def make(swap: bool) -> ll.Value:
        a, b, c = abc()
        pin = rec("add", rec("add", a, b), c)
        d, e = (c, b) if swap else (b, c)
        return rec("subtract", rec("add", rec("multiply", a, d), e), pin)  # type: ignore[no-any-return]

    assert key(lambda: make(False)) == key(lambda: make(False))
    assert key(lambda: make(False)) != key(lambda: make(True))
    np.testing.assert_array_equal(make(False).read(), X * Y + Z - (X + Y + Z))
    np.testing.assert_array_equal(make(True).read(), X * Z + Y - (X + Y + Z))


def test_in_place_add_differs_from_out_of_place_add_and_a_read_of_the_old_value() -> None:
    def in_place() -> tuple[ll.Tensor, np.ndarray]:
        x = tensor(X)
        x._write(ll.apply("add", [x, tensor(Y)]).value)
        return x, X + Y

    def out_of_place() -> tuple[ll.Tensor, np.ndarray]:
        x = tensor(X)
        ll.apply("add", [x, tensor(Y)])
        return ll.apply("multiply", [x, 2.0]), X * 2

    def out_of_place_kept() -> tuple[ll.Tensor, np.ndarray]:
        x = tensor(X)
        y = ll.apply("add", [x, tensor(Y)])
        result = ll.apply("multiply", [x, 2.0])
        y.read()
        return result, X * 2

    def in_place_then_use() -> tuple[ll.Tensor, np.ndarray]:
        x = tensor(X)
        x._write(ll.apply("add", [x, tensor(Y)]).value)
        return ll.apply("multiply", [x, 2.0]), (X + Y) * 2

    makers = [in_place, out_of_place, out_of_place_kept, in_place_then_use]
    for make, _ in itertools.product(makers, range(2)):
        result, expected = make()
        np.testing.assert_array_equal(result.read(), expected)

    def program(write: bool) -> tuple[str, Any]:
        x = tensor(X)
        old = x.value
        new = ll.apply("add", [x, tensor(Y)]).value
        if write:
            x._write(new)
            del old
        result = ll.apply("multiply", [x, 2.0])
        both = ll.apply("add", [ll.Tensor(new), result])
        return ll.program_of(both).key, new

    assert program(True)[0] != program(False)[0]


def attribute_op() -> str:
    """An op that takes attributes of each kind and gives them back as data."""
    from lazyloom.ops.kinds import Array, T
    from lazyloom.ops.rules import elementwise

    name = "test_attributes"
    if name not in ll.ops.names():

        def body(x: T, *, f: float = 0.0, i: int = 0, b: bool = False) -> Array:
            """The float attribute's sign bit and value, the integer and the bool, told apart."""
            from jax import lax

            sign = 1.0 if struct.pack("<d", f)[7] & 0x80 else 0.0
            known = f if f == f else 77.0
            code = known + 10 * i + 100 * b + 1000 * sign
            return lax.add(x, lax.full_like(x, code))

        # annotations as written, not as the postponed strings of other modules
        ll.register_op(elementwise, T="floating", source="the tests", name=name, version="1")(body)
    return name


def with_attributes(**attributes: Any) -> tuple[str, list[float]]:
    y = ll.record(attribute_op(), [host([0.0])], attributes)
    k = ll.program_of(y).key
    return k, y.read().tolist()


def test_attributes_differ_by_bits() -> None:
    plus, minus = with_attributes(f=0.0), with_attributes(f=-0.0)
    assert plus == (plus[0], [0.0]) and minus == (minus[0], [1000.0])
    assert plus[0] != minus[0]


def test_attributes_given_as_numpy_floats_differ_by_bits() -> None:
    for kind in (np.float64, np.float32, np.float16):
        plus, minus = with_attributes(f=kind(0.0)), with_attributes(f=kind(-0.0))
        assert plus == with_attributes(f=0.0)
        assert minus == with_attributes(f=-0.0)
        assert plus[0] != minus[0]


def test_attributes_differ_by_type() -> None:
    integer, boolean, real = with_attributes(i=1), with_attributes(b=True), with_attributes(f=1.0)
    assert [integer[1], boolean[1], real[1]] == [[10.0], [100.0], [1.0]]
    assert len({integer[0], boolean[0], real[0]}) == 3


def test_an_attribute_of_a_wrong_type_is_refused_even_after_an_equal_one_was_taken() -> None:
    with_attributes(i=1, b=True, f=1.0)
    for wrong in ({"i": 1.0}, {"i": True}, {"b": 1}, {"b": 1.0}, {"f": True}):
        with pytest.raises(ArgumentError, match="test_attributes: attribute"):
            with_attributes(**wrong)
    # an integer is a real number; it is the same attribute then, and never the reverse
    assert with_attributes(f=1) == with_attributes(f=1.0)


def test_a_nan_attribute_hits() -> None:
    nan = float("nan")
    first = with_attributes(f=nan)
    with counted() as delta:
        again = with_attributes(f=nan), with_attributes(f=np.float64("nan"))
    assert first == again[0] == again[1] == (first[0], [77.0])
    assert delta.programs_compiled == 0 and delta.program_hits == 2


def test_the_same_tensor_twice_differs_from_two_equal_tensors() -> None:
    def same() -> ll.Value:
        a = host(X)
        return rec("multiply", a, a)  # type: ignore[no-any-return]

    def two() -> ll.Value:
        return rec("multiply", host(X), host(X))  # type: ignore[no-any-return]

    assert key(same) != key(two)
    a, b = host(X), host(Y)
    # in both orders, so that neither may take the other's program
    for _ in range(2):
        np.testing.assert_array_equal(rec("multiply", a, a).read(), X * X)
        np.testing.assert_array_equal(rec("multiply", a, b).read(), X * Y)
        np.testing.assert_array_equal(rec("multiply", b, a).read(), X * Y)
    y = same()
    assert len(ll.program_of(y).structure.leaf_types) == 1


def test_a_leaf_that_appears_twice_is_passed_once() -> None:
    a = host(X)
    y = rec("add", rec("multiply", a, a), a)
    p = ll.program_of(y)
    assert len(p.structure.leaf_types) == 1
    y.read()
    record = ll.last_evaluation()
    assert record is not None and record.bytes_in == X.nbytes


def test_two_values_of_one_buffer_are_one_leaf() -> None:
    # a detached value and a leaf of the tape share their data with the value they come from
    a = host(X)
    leaf = a.as_leaf("a")
    y = rec("add", rec("multiply", a, leaf), leaf.detach())
    assert len(ll.program_of(y).structure.leaf_types) == 1
    np.testing.assert_array_equal(y.read(), X * X + X)


def test_commuted_operands_keep_their_meaning() -> None:
    for op, f in (("subtract", np.subtract), ("divide", np.divide), ("power", np.power)):
        a, b = host(np.abs(X)), host(np.abs(Y))
        ab, ba = rec(op, a, b), rec(op, b, a)
        np.testing.assert_allclose(ab.read(), f(np.abs(X), np.abs(Y)), rtol=1e-6)
        np.testing.assert_allclose(ba.read(), f(np.abs(Y), np.abs(X)), rtol=1e-6)
    pinned = [host(X), host(Y)]

    def with_pin(swap: bool) -> ll.Value:
        p = rec("add", *pinned)
        q = rec("subtract", *(reversed(pinned) if swap else pinned))
        return rec("multiply", p, q)  # type: ignore[no-any-return]

    assert key(lambda: with_pin(False)) != key(lambda: with_pin(True))


@pytest.mark.parametrize("other", [
    np.ones(3, np.float64), np.ones(4, np.float32), np.ones((3, 1), np.float32),
    np.ones((1, 3), np.float32), np.ones(3, np.float16), np.ones(3, np.int32),
], ids=lambda a: f"{a.dtype}{a.shape}")  # fmt: skip
def test_dtype_and_shape_are_part_of_the_key(other: np.ndarray) -> None:
    def make(a: np.ndarray) -> ll.Value:
        v = host(a, a.dtype)
        return rec("add", v, v)  # type: ignore[no-any-return]

    assert key(lambda: make(np.ones(3, np.float32))) != key(lambda: make(other))
    result = make(other).read()
    assert result.dtype == other.dtype and result.shape == other.shape


def test_scalars_baked_in_differ_from_those_that_are_not() -> None:
    def make(x: float) -> ll.Value:
        return rec("multiply", host(X), number(x))  # type: ignore[no-any-return]

    keys = {x: key(lambda x=x: make(x)) for x in (0.0, 1.0, -1.0, 0.5)}  # type: ignore[misc]
    assert len(set(keys.values())) == 4
    assert key(lambda: make(0.25)) == keys[0.5] == key(lambda: make(float("nan")))
    # minus zero is no constant: it goes with the parameters
    assert key(lambda: make(-0.0)) == keys[0.5]
    assert not np.signbit(rec("multiply", host([1.0]), number(0.0)).read()).any()
    assert np.signbit(rec("multiply", host([1.0]), number(-0.0)).read()).all()


def test_scalars_of_different_dtypes_never_share() -> None:
    def make(dtype: ll.DType, np_dtype: Any) -> Any:
        return rec("add", host([1], np_dtype), ll.Scalar(5, dtype))

    d = ll.dtypes
    pairs = [(d.int32, np.int32), (d.uint32, np.uint32), (d.int64, np.int64), (d.float32, X.dtype)]
    assert len({key(lambda p=p: make(*p)) for p in pairs}) == 4  # type: ignore[misc]
    for p in pairs:
        assert make(*p).read().tolist() == [6]


@pytest.mark.parametrize("name", [
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128",
])  # fmt: skip
@pytest.mark.parametrize("constant", [0, 1, -1])
def test_baked_constants_of_every_dtype(name: str, constant: int) -> None:
    dtype = getattr(ll.dtypes, name)
    x = np.array([3, 5]).astype(dtype.numpy)
    result = rec("add", ll.from_host(x), ll.Scalar(constant, dtype)).read()
    np.testing.assert_array_equal(result, x + np.array(constant).astype(dtype.numpy))


def test_results_of_an_op_with_several_are_told_apart() -> None:
    def make(index: int) -> Any:
        parts = rec("split", host([1.0, 2.0, 3.0]), axis=0, sizes=(1, 1, 1))
        return rec("add", parts[index], parts[0])

    assert len({key(lambda i=i: make(i)) for i in range(3)}) == 3  # type: ignore[misc]
    assert [make(i).read().tolist() for i in range(3)] == [[2], [3], [4]]


def test_what_is_wanted_is_part_of_the_key_but_costs_one_compile_at_most(fresh_cache: Any) -> None:
    def make(keep: bool) -> list[ll.Value]:
        a = rec("exp", host(X))
        b = rec("add", a, host(Y))
        return [b, a] if keep else [b]

    assert key(lambda: make(False)) != key(lambda: make(True))
    with counted() as delta:
        for keep in (False, True, False, True, False):
            kept = make(keep)
            kept[0].read()
    assert delta.programs_compiled == 2


def test_equal_structure_never_compiles_twice(fresh_cache: Any) -> None:
    def make(a: np.ndarray) -> Any:
        v = host(a)
        return rec("sum", rec("multiply", rec("exp", v), v), axes=None, keepdims=False)

    make(X).read()
    with counted() as delta:
        for k in range(20):
            make(X * k).read()
    assert delta.programs_compiled == delta.jax_traces == 0 and delta.program_hits == 20


# Texts and bytes


def rich() -> tuple[list[ll.Value], list[ll.Value]]:
    a, b, i = host(X), host(Y).as_leaf("b"), host([2, 0, 1], np.int32)
    parts = rec("split", rec("multiply", a, b), axis=0, sizes=(1, 2))
    clipped = rec("clip", b, None, number(3.0))
    total = rec("sum", rec("concatenate", parts[1], clipped, axis=0), axes=None, keepdims=False,
                dtype=None)
    (grad,) = ll.gradients([total], [b])
    leaky = rec("leaky_relu", grad, negative_slope=float("nan"))
    cast = rec("cast", rec("take", leaky, i, axis=0), dtype=ll.dtypes.float64)
    return [total, cast, rec("add", total, number(1.0))], [a, b, i]


def test_programs_survive_a_round_trip() -> None:
    outputs, _keep = rich()
    p = ll.program_of(*outputs)
    q = Program.parse(p.serialized)
    assert q == p and hash(q) == hash(p) and q.key == p.key and q.serialized == p.serialized
    assert q.text() == p.text() and q.ops == p.ops
    assert Structure.parse(p.structure.serialized) == p.structure


@pytest.mark.parametrize("bad", [
    b"", b"\n", b"{}", b'{"format": 1, "leaves": []}', b"\xff\xfe\n{}", b"[]\n[]", b"null\nnull",
    b'{"format": 99, "leaves": []}\n{"outputs": [], "donated": []}',
    b'{"format": 1, "leaves": []}\n["no_such_op", {}, []]\n{"outputs": [], "donated": []}',
    b'{"format": 1, "leaves": [["float32"]]}\n{"outputs": [], "donated": []}',
    b'{"format": 1, "leaves": [["float99", [], ""]]}\n{"outputs": [], "donated": []}',
    b'{"format": 1, "leaves": []}\n["add", {}]\n{"outputs": [], "donated": []}',
])  # fmt: skip
def test_what_is_no_program_is_an_error(bad: bytes) -> None:
    with pytest.raises(ll.LoomError):
        Program.parse(bad)


def test_the_text_shows_everything_that_is_in_the_key() -> None:
    outputs, _keep = rich()
    p = ll.program_of(*outputs)
    text = p.text()
    for op in p.ops:
        assert f"= {op}(" in text
    assert "float32[3]" in text and "int32[3]" in text and "nan" in text and "1:float32" in text
    assert "$float32.0" in text and "return" in text and "_" in text
    assert len(text.splitlines()) == len(p.ops) + 3


def test_keys_agree_between_processes() -> None:
    code = """
        import numpy as np, lazyloom as ll
        x = ll.from_host(np.ones(3, np.float32))
        y = ll.record("multiply", [ll.record("add", [x, x]), ll.Scalar(0.5, ll.dtypes.float32)])
        print(ll.program_of(y).key)
    """
    a = script(code, PYTHONHASHSEED="1").stdout
    b = script(code, PYTHONHASHSEED="2").stdout
    assert a == b and len(a.strip()) == 64
    x = ll.from_host(np.ones(3, np.float32))
    y = rec("multiply", rec("add", x, x), number(0.25))
    assert ll.program_of(y).key == a.strip()


def test_program_of_changes_nothing() -> None:
    y = rec("add", host(X), host(Y))
    keys = [ll.program_of(y).key for _ in range(3)]
    assert y.is_pending and len(set(keys)) == 1
    y.read()
    record = ll.last_evaluation()
    assert record is not None and record.key == keys[0]
    with pytest.raises(ArgumentError, match="none of the given values is pending"):
        ll.program_of(y)
