"""Integers divided by 0: an error at the call where that is known, and at the read elsewhere."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

import lazyloom
import lazyloom_torch as torch

pytestmark = pytest.mark.usefixtures("quick_compiler")

DIVISIONS: dict[str, Callable[[Any, Any], Any]] = {
    "%": operator.mod, "//": operator.floordiv, "fmod": torch.fmod,
    "floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "in place": lambda x, y: x.clone().remainder_(y),
    "augmented": lambda x, y: operator.ifloordiv(x.clone(), y),
}  # fmt: skip
DTYPES = [torch.int64, torch.int32, torch.int8, torch.uint8]


def computed(values: list[int], dtype: Any) -> Any:
    """A tensor that only the device knows."""
    return (torch.tensor(values, dtype=dtype).float() * 1.0).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", DIVISIONS)
def test_a_divisor_that_is_0(name: str, dtype: Any) -> None:
    divide, x = DIVISIONS[name], torch.tensor([5, 6, 7], dtype=dtype)
    for known in (0, torch.tensor(0, dtype=dtype), torch.tensor([0, 1, 2], dtype=dtype)):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            divide(x, known)
    late = divide(x, computed([1, 0, 2], dtype))
    with pytest.raises(RuntimeError, match="ZeroDivisionError.*test_integer_division"):
        (late + 1).sum().item()
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        late.tolist()
    assert x.tolist() == [5, 6, 7]


@pytest.mark.parametrize("reproducible", [False, True])
@pytest.mark.parametrize("name", DIVISIONS)
def test_divisors_that_are_not_0(name: str, reproducible: bool) -> None:
    with lazyloom.options(reproducible=reproducible):
        x, y = torch.tensor([7, -7, 6]), computed([2, 2, -4], torch.int64)
        found = DIVISIONS[name](x, y).tolist()
    expected = {"%": [1, 1, -2], "in place": [1, 1, -2], "fmod": [1, -1, 2], "trunc": [3, -3, -1]}
    assert found == expected.get(name, [3, -4, -2])


@pytest.mark.parametrize("name", DIVISIONS)
def test_where_there_is_nothing_to_divide_0_is_no_error(name: str) -> None:
    nothing = torch.zeros(0, dtype=torch.int64)
    for divisor in (0, torch.tensor(0), nothing, computed([0], torch.int64)):
        assert DIVISIONS[name](nothing, divisor).tolist() == []


def test_a_number_divided_by_a_tensor() -> None:
    assert (5 % torch.tensor([2, -3])).tolist() == [1, -1]
    assert (5 // computed([2, -3], torch.int64)).tolist() == [2, -2]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        5 % torch.tensor([0, 1])
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        (5 // computed([0, -3], torch.int64)).tolist()
    assert (5.0 % torch.tensor([0, 2])).isnan().tolist() == [True, False]


def test_the_error_is_that_of_what_depends_on_it_alone() -> None:
    x = torch.tensor([4, 6])
    wrong, right = x // computed([0, 1], torch.int64), x // computed([2, 1], torch.int64)
    assert right.tolist() == [2, 6]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        wrong.tolist()
    assert (right + 1).tolist() == [3, 7]


@pytest.mark.parametrize("name", ["%", "//", "fmod", "trunc"])
@pytest.mark.parametrize("dtype", ["int64", "uint8"])
def test_pytorch_raises_too(name: str, dtype: str) -> None:
    theirs = pytest.importorskip("torch")
    own = {"fmod": theirs.fmod, "trunc": lambda x, y: theirs.div(x, y, rounding_mode="trunc")}
    divide = own.get(name, DIVISIONS[name])
    x = theirs.tensor([5, 6], dtype=getattr(theirs, dtype))
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        divide(x, theirs.tensor([1, 0], dtype=getattr(theirs, dtype)))
