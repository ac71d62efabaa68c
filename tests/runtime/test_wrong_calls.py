"""Wrong calls of the runtime itself raise at the call, and say op, argument, given and expected."""

import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import lazyloom
from lazyloom import dtypes
from lazyloom.errors import ArgumentError, DTypeError, LoomError, ShapeError


def tensor(data):
    return lazyloom.Tensor(lazyloom.from_host(np.asarray(data)))


X = tensor(np.float32([1, 2, 3]))
LEAF = lazyloom.from_host(np.float32([1, 2, 3])).as_leaf("leaf")


@pytest.mark.parametrize(
    ("number", "dtype"),
    [
        (float("nan"), dtypes.int8), (float("-inf"), dtypes.uint64), (2j, dtypes.float32),
        (10**400, dtypes.float64), ("1", dtypes.float32), (None, dtypes.float32),
        (np.zeros(2), dtypes.float32), (X, dtypes.float32),
    ],
)  # fmt: skip
def test_a_scalar_that_is_no_number_of_its_dtype_is_refused_when_it_is_made(number, dtype):
    with pytest.raises(ArgumentError, match=dtype.name):
        lazyloom.Scalar(number, dtype)


@pytest.mark.parametrize(
    "number", [np.float32(2), np.float64(2), np.int8(2), np.uint64(2), np.array(2)])
def test_numpy_numbers_are_numbers(number):
    total = lazyloom.record("add", [X.value, lazyloom.Scalar(number, dtypes.float32)])
    assert total.read().tolist() == [3, 4, 5]


def test_numbers_of_the_extremes_keep_their_bits():
    for number, dtype in [
        (2**64 - 1, dtypes.uint64), (-(2**63), dtypes.int64), (-0.0, dtypes.float32),
        (float("inf"), dtypes.bfloat16), (float("nan"), dtypes.float16),
        (complex(-0.0, float("inf")), dtypes.complex64),
    ]:  # fmt: skip
        made = lazyloom.record("full", [lazyloom.Scalar(number, dtype)], {"shape": (2,)}).read()
        assert made.tobytes() == np.full(2, number, dtype.numpy).tobytes()


def test_a_number_beyond_its_float_type_is_infinite_without_a_warning():
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        assert np.isinf(lazyloom.apply("add", [X, 1e300]).read()).all()


@pytest.mark.parametrize("number", [300, -1, 2**70])
def test_apply_refuses_an_integer_that_the_dtype_does_not_hold(number):
    with pytest.raises(ArgumentError, match=r"add: operand 'y' .*uint8"):
        lazyloom.apply("add", [tensor(np.uint8([1])), number])


CALLS = {
    "an op that is no name": (lambda: lazyloom.apply(3, [X]), "int.*expected its name"),
    "operands that are one tensor": (lambda: lazyloom.apply("exp", X), "exp: .*Tensor.*sequence"),
    "attributes that are a list": (lambda: lazyloom.apply("sum", [X], ["axes"]), "sum: .*mapping"),
    "a tensor where a value is due": (lambda: lazyloom.record("exp", [X]), "exp: operand 'x'"),
    "a number too large": (lambda: lazyloom.apply("add", [X, 10**400]), "add: operand 'y'"),
    "an array": (lambda: lazyloom.apply("add", [X, np.zeros(3)]), "add: operand 'y' is a ndarray"),
    "sync of a string": (lambda: lazyloom.sync("x"), "sync: argument 0 is a str"),
    "program_of a number": (lambda: lazyloom.program_of(1), "program_of: argument 0 is a int"),
    "boundary of a number": (lambda: lazyloom.boundary(1), "boundary: argument 0 is a int"),
    "a ragged list": (lambda: lazyloom.from_host([[1], [1, 2]]), "from_host: .*list"),
    "gradients of tensors": (lambda: lazyloom.gradients([X], [X]), r"inputs\[0\] is a Tensor"),
    "gradients of a value": (lambda: lazyloom.gradients(LEAF, [LEAF]), "outputs is a Value"),
    "a cotangent that is a number": (
        lambda: lazyloom.gradients([LEAF], [LEAF], [1.0]), "cotangent is a float"),
    "argnums named twice": (lambda: lazyloom.grad(lambda x: x, (0, -1))(X), "twice"),
    "argnums of another type": (lambda: lazyloom.grad(lambda x: x, 1.0), "argnums is 1.0"),
    "no function": (lambda: lazyloom.grad(None), "NoneType.*function"),
    "no pair under has_aux": (lambda: lazyloom.grad(lambda x: x, has_aux=True)(X), "a pair"),
    "a negative size": (lambda: lazyloom.tensor_type((-1,), dtypes.int8), "negative"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_argument_is_named(name):
    call, message = CALLS[name]
    with pytest.raises(LoomError, match=message):
        call()


def test_types_are_of_plain_integers():
    assert lazyloom.tensor_type((True, np.int64(7919)), dtypes.int8).text == "int8[1,7919]"
    with pytest.raises(DTypeError):
        lazyloom.tensor_type((1,), "int8")


def test_a_shape_that_no_memory_has_is_an_error_and_not_the_end_of_the_process():
    program = """
import lazyloom
for shape in [(2**31, 2**31), (2**62,), (2**70,), (2**70, 0)]:
    try:
        lazyloom.apply("full", [0.0], {"shape": shape})
    except lazyloom.errors.ShapeError as error:
        print(error, error.site)
try:
    lazyloom.apply("full", [0.0], {"shape": (2**45,)}).read()
except lazyloom.errors.ExecutionError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 5 and all(re.match("full: .*bytes.*<string>:", n) for n in lines[:4])


def test_a_view_of_such_a_shape_is_refused_when_it_is_taken():
    with pytest.raises(ShapeError):
        X._alias(lazyloom.frontend.Broadcast((2**62, 3)))


def test_options_that_are_refused_change_nothing():
    with pytest.raises(ArgumentError), lazyloom.options(donate=False, progress=3):
        pass
    assert lazyloom.set_option("donate", True) is True
    with pytest.raises(ArgumentError, match="'donates' is not known, expected one of donate"):
        lazyloom.get_option("donates")
    with pytest.raises(ArgumentError, match="expected one of reproducible$"):
        lazyloom.set_option("reproducibel", True)
    with pytest.raises(ArgumentError, match=", records_kept, "):  # nothing is near: all of them
        lazyloom.get_option("zzz")


def test_an_option_is_read_without_being_set() -> None:
    assert lazyloom.get_option("donate") is True
    with lazyloom.options(donate=False):
        assert lazyloom.get_option("donate") is False
    assert lazyloom.get_option("donate") is True


def test_the_grad_mode_of_a_block_ends_with_it() -> None:
    with pytest.raises(KeyError), lazyloom.grad_mode(False):
        assert not lazyloom.grad_enabled()
        with lazyloom.grad_mode(True):
            assert lazyloom.grad_enabled()
        assert not lazyloom.grad_enabled()
        raise KeyError
    assert lazyloom.grad_enabled()
