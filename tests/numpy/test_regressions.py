"""What programs ran into: each is the shortest program that went wrong."""

from __future__ import annotations

import importlib
import math
import numbers
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as onp
import pytest

import lazyloom_numpy as np


@pytest.mark.parametrize("dtype", [onp.float64, onp.float32, onp.int64])
def test_results_of_no_dimension_round_as_numpy_s_scalars(dtype: Any) -> None:
    real, lazy = onp.full(3, 7, dtype).sum() / 4, np.full(3, 7, dtype).sum() / 4
    for digits in ((), (1,), (0,)):
        found, expected = round(lazy, *digits), round(real, *digits)
        assert found == expected and type(found) is type(expected)
    assert math.trunc(lazy) == 5 and math.floor(lazy) == 5 and math.ceil(lazy) == 6
    assert f"{round(np.ones(3).sum() / 7, 3)}" == "0.429"


@pytest.mark.parametrize("call", [
    lambda np: np.zeros("a"),
    lambda np: np.zeros(2.5),
    lambda np: np.ones((2, 1.5)),
    lambda np: np.ones(3)[None:2.5],
    lambda np: np.ones(3)["a":],
    lambda np: np.ones((2, 2)).sum(axis=1.0),
    lambda np: np.linspace(0, 1, 2.5),
    lambda np: np.eye(2.5),
    lambda np: np.ones(6).reshape(2.0, 3),
])  # fmt: skip
def test_what_is_no_integer(call: Callable[[Any], Any]) -> None:
    for module in (onp, np):
        with pytest.raises(TypeError):
            call(module)


def test_elements_cannot_be_deleted() -> None:
    for module in (onp, np):
        a = module.arange(3)
        with pytest.raises(ValueError, match="cannot delete array elements"):
            del a[0]


@pytest.mark.slow
@pytest.mark.parametrize("call", ["qr(a)[1]", "svd(a)[1]", "inv(a)", "cholesky(a)", "eigh(a)[0]"])
@pytest.mark.compiled
def test_a_factorization_that_another_process_compiled(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(tmp_path))
    program = (
        "import lazyloom, lazyloom_numpy as np\n"
        "a = np.eye(3) * 2 + 1\n"
        f"print(np.linalg.{call}.tolist())\n"
        "print(lazyloom.stats()['programs_compiled'])\n")
    runs = [subprocess.run([sys.executable, "-c", program], check=True, capture_output=True,
                           text=True).stdout.splitlines() for _ in range(2)]
    assert runs[0][0] == runs[1][0] and int(runs[0][1]) > 0 and int(runs[1][1]) == 0


@pytest.mark.slow
@pytest.mark.compiled
def test_a_factorization_that_another_process_lowered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(tmp_path))
    program = (
        "import lazyloom, lazyloom_numpy as np\n"
        "a = np.eye(3) * 2 + 1\n"
        "print(np.linalg.inv({}).sum().tolist(), lazyloom.stats()['programs_compiled'])\n")
    runs = [subprocess.run([sys.executable, "-c", program.format(given)], check=True,
                           capture_output=True, text=True).stdout.split()
            for given in ("a", "a + a")]  # fmt: skip
    # the second is another program, compiled from the lowering that the first left on disk
    assert float(runs[0][0]) == 2 * float(runs[1][0]) and int(runs[1][1]) > 0


def test_a_sequence_times_a_computed_count_repeats() -> None:
    for module in (onp, np):
        count = module.array([1, 2]).max()
        assert [0] * count == [0, 0] and count * (1,) == (1, 1) and [0] * (count + 1) == [0] * 3
        assert module.multiply(count, [3, 4]).tolist() == [6, 8]
        assert ([3, 4] * module.array([1, 2])).tolist() == [3, 8]


def test_split_where_groups_begin() -> None:
    for module in (onp, np):
        groups = module.array([0, 0, 1, 2, 2])
        starts = module.flatnonzero(module.diff(groups)) + 1
        for split in (module.split, module.array_split):
            parts = split(module.arange(5), starts)
            assert [part.tolist() for part in parts] == [[0, 1], [2], [3, 4]]
        assert [p.tolist() for p in module.split(module.arange(4), starts[0])] == [[0, 1], [2, 3]]
        assert [p.tolist() for p in module.split(module.arange(3), starts[:1])] == [[0, 1], [2]]
        with pytest.raises(TypeError):
            module.split(module.arange(4), [1.5])


def test_numpy_s_functions_that_write_to_numpy_s_arrays() -> None:
    results = []
    for module in (onp, np):
        x, host = module.arange(3.0), onp.full(3, 5.0)
        onp.copyto(host, x, where=module.array([True, False, True]))
        onp.add(x, x[2], out=host, where=module.array([True, False, True]))
        onp.put(host, module.array([0]), x[1])
        onp.add.at(host, module.array([1, 1]), module.array([2.0, 3.0]))
        table, total = onp.zeros((3, 3)), onp.zeros(())
        onp.fill_diagonal(table, x)
        assert onp.sum(x, out=total) is total
        results.append((host.tolist(), table.tolist(), total.tolist()))
        assert onp.lib.stride_tricks.sliding_window_view(x, 2).tolist() == [[0, 1], [1, 2]]
    assert results[0] == results[1]


def test_results_of_no_dimension_are_numbers_to_numpy() -> None:
    for module in (onp, np):
        total = module.arange(3).sum()
        assert isinstance(total, numbers.Number) and module.isscalar(total)
        assert not module.isscalar(module.arange(3)) and not module.isscalar(module.array(3))
        onp.testing.assert_equal(total, 3)


def test_an_object_that_gives_an_array_of_ours() -> None:
    for module in (onp, np):
        class Signal:
            def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
                return module.arange(3.0)  # noqa: B023

        assert module.asarray(Signal()).tolist() == [0, 1, 2] and module.sum(Signal()) == 3
        assert module.array(Signal(), dtype=module.int64).dtype == module.int64


def test_einsum_of_one_array_is_a_view() -> None:
    results = []
    for module in (onp, np):
        x = module.zeros((3, 3, 2))
        module.einsum("iij->ji", x)[1] = [1, 2, 3]
        module.einsum("ijk->kji", x)[0, 1, 2] = 7
        assert module.einsum("ijk->kji", x).tolist() == x.T.tolist()
        assert module.einsum("iij->j", x).tolist() == [0, 6]
        results.append(x.tolist())
    assert results[0] == results[1]


def test_the_diagonal_of_a_matrix_sees_later_writes() -> None:
    for module in (onp, np):
        x = module.zeros((2, 3))
        d = module.diag(x, 1)
        x[0, 1] = 4
        assert d.tolist() == [4, 0]
        with pytest.raises(ValueError, match="read-only"):
            d[0] = 1


def test_assertions_of_numpy_testing() -> None:
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(x * 2, [2.0, 4.0])
    np.testing.assert_equal({"a": [x, x.sum()]}, {"a": [onp.array([1.0, 2.0]), 3.0]})
    np.testing.assert_almost_equal(x.sum(), 3.0)
    np.testing.assert_array_less(x, np.array([2.0, 3.0]))
    with pytest.raises(AssertionError, match="Mismatched elements"):
        np.testing.assert_array_equal(x, x + np.array([0.0, 1.0]))
    with np.testing.assert_raises(ValueError):
        np.zeros(2) + np.zeros(3)


def test_names_for_annotations() -> None:
    typing = importlib.import_module("lazyloom_numpy.typing")
    assert np.typing is typing and typing.DTypeLike is onp.typing.DTypeLike
    assert typing.NDArray[np.float64].__origin__ is np.ndarray
    assert isinstance(np.zeros(2), typing.ArrayLike.__args__[0])


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_of_complex_numbers_with_nan(side: str) -> None:
    nan = onp.nan
    ordered = onp.array([1 + 1j, 1 + 2j, complex(2, nan), complex(nan, 1), complex(nan, nan)])
    given = onp.array([complex(nan, 0), complex(2, nan), complex(nan, nan), complex(1, nan),
                       1 + 1.5j, complex(nan, 1), complex(onp.inf, 0), 1 + 1j, -1])
    found = np.searchsorted(np.array(ordered), np.array(given), side=side)
    assert found.tolist() == onp.searchsorted(ordered, given, side=side).tolist()


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("equal_nan", [True, False])
def test_unique_along_the_only_axis_takes_nan_for_equal(axis: int, equal_nan: bool) -> None:
    x = onp.array([onp.nan, 2.0, onp.nan, 1.0, 2.0])
    options = {"return_index": True, "return_inverse": True, "return_counts": True,
               "equal_nan": equal_nan, "axis": axis}
    for mine, expected in zip(np.unique(np.array(x), **options), onp.unique(x, **options)):
        onp.testing.assert_array_equal(mine, expected)
    with pytest.raises(onp.exceptions.AxisError):
        np.unique(np.array(x), axis=1)
