"""Long reductions that are begun in blocks: which ones, and that they are right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.backends.xla import compiler_defects, jax_compat, reductions
from lazyloom.backends.xla.reductions import in_blocks
from lazyloom.jaxprs import tracing
from tests.contract.helpers import rec

pytestmark = [
    pytest.mark.xla,
    pytest.mark.once("lowerings are texts that are made outside the core")]


def reduction(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str = "f32",
              step: str = "add") -> str:  # fmt: skip
    left = [n for a, n in enumerate(shape) if a not in axes]
    whole, result = ("tensor<" + "".join(f"{n}x" for n in given) + f"{dtype}>"
                     for given in (shape, left))
    return (f"    %3 = stablehlo.reduce(%1 init: %cst) applies stablehlo.{step} across dimensions "
            f"= {list(axes)} : ({whole}, tensor<{dtype}>) -> {result}")


@pytest.mark.parametrize(
    ("shape", "axes", "blocks", "left"),
    [((4, 56, 56, 64), (0, 1, 2), "1568x8x64", "1568x64"),
     ((4, 64, 56, 56), (0, 2, 3), "4x64x14x14x16", "4x64x224"),
     ((500, 768), (1,), "500x3x16x16", "500x48"),
     ((3, 600, 100), (1,), "3x75x8x100", "3x75x100")], ids=str)  # fmt: skip
def test_what_is_cut(
    shape: tuple[int, ...], axes: tuple[int, ...], blocks: str, left: str
) -> None:
    given = reduction(shape, axes)
    found = in_blocks(given).split("\n")
    assert f"-> tensor<{blocks}xf32>" in found[0]
    assert any(f"tensor<{left}xf32>" in line for line in found)
    # what comes first is added once
    assert [line for line in found if "init: %cst)" in line] == found[-1:]
    assert "dense<-0.0>" in found[1] and "optimization_barrier" in found[3]
    assert in_blocks(reduction(shape, axes[::-1])) == "\n".join(found)  # whatever their order
    largest = in_blocks(reduction(shape, axes, step="maximum"))
    assert largest.count("init: %cst)") == 2 and "dense" not in largest


@pytest.mark.parametrize(
    ("shape", "axes", "left", "across"),
    [((20, 30, 119), (0, 1, 2), "71400", [0]), ((3, 20, 30, 7), (1, 2, 3), "3x4200", [1]),
     ((16, 8, 16, 16), (0, 2, 3), "16x8x256", [0, 2]), ((543, 119), (0, 1), "64617", [0]),
     ((20, 30, 7, 2), (0, 1, 2), "4200x2", [0])],
    ids=str)  # fmt: skip
def test_axes_that_lie_together_become_one(
    shape: tuple[int, ...], axes: tuple[int, ...], left: str, across: list[int]
) -> None:
    reshape, barrier, reduce = in_blocks(reduction(shape, axes)).split("\n")
    assert reshape.endswith(f"-> tensor<{left}xf32>") and "optimization_barrier" in barrier
    assert "init: %cst)" in reduce and f"dimensions = {across} : (tensor<{left}xf32>" in reduce
    assert in_blocks(reduction(shape, axes, step="maximum")).count("\n") == 0


@pytest.mark.parametrize(
    "text",
    [reduction((400, 400), (1,), "i32"), reduction((400, 400), (1,), step="multiply"),
     reduction((64, 64), (1,)), reduction((1 << 20,), (0,)), reduction((1000, 1001), (1,)),
     reduction((32, 4096), (0,)), reduction((1021, 100), (0,)), reduction((0, 70_000), (0,)),
     reduction((400, 400), ()), reduction((32, 16), (0, 1)), reduction((543, 16), (0, 1)),
     reduction((20, 2, 30), (0, 2)), "    %3 = stablehlo.add %1, %2 : tensor<400x400xf32>"])
def test_what_is_not(text: str) -> None:
    assert in_blocks(text) == text


@pytest.fixture
def whole() -> Iterator[None]:
    with ll.options(reproducible=True):
        yield


CASES = [((4, 56, 56, 64), (0, 1, 2)), ((4, 64, 56, 56), (0, 2, 3)), ((500, 768), (1,)),
         ((3, 600, 100), (1,)), ((16_384, 8), (0,)), ((16_385, 8), (0,)), ((9, 65_536), (1,)),
         ((9, 65_537), (1,)), ((2, 3, 1, 5, 7, 11, 4, 96), (1, 2, 6, 7)),
         ((8, 2, 300, 1, 25, 1), (2, 3, 4)), ((8, 1, 128, 1, 144), (1, 4))]  # fmt: skip


@pytest.mark.usefixtures("whole")
@pytest.mark.parametrize(("shape", "axes"), CASES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_and_extrema(shape: tuple[int, ...], axes: tuple[int, ...], dtype: Any) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal(shape).astype(dtype)
    y = rng.standard_normal(shape).astype(dtype)
    given, other = ll.from_host(x), ll.from_host(y)
    eps = np.finfo(dtype).eps
    for found, terms in (
        (rec("sum", given, axes=axes), x),
        (rec("sum", rec("multiply", given, other), axes=axes), x * y),
    ):
        wide = terms.astype(np.longdouble)
        bound = 16 * eps * np.abs(wide).sum(axes)
        assert (np.abs(found.read() - wide.sum(axes)) <= bound).all()
    for name, step in (("max", np.max), ("min", np.min)):
        found = rec(name, rec("multiply", given, other), axes=axes).read()
        assert (found == step(x * y, axes)).all()


@pytest.mark.usefixtures("whole")
@pytest.mark.parametrize(("shape", "axes"), CASES[:4], ids=str)
def test_numbers_that_are_none(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = np.full(shape, -0.0, np.float32)
    found = rec("sum", ll.from_host(x), axes=axes).read()
    assert (found == 0).all() and not np.signbit(found).any()
    for number in (np.nan, np.inf, -np.inf):
        x[(1,) * len(shape)] = number
        with np.errstate(invalid="ignore"):
            for name, step in (("sum", np.sum), ("max", np.max), ("min", np.min)):
                np.testing.assert_array_equal(
                    rec(name, ll.from_host(x), axes=axes).read(), step(x, axes), strict=True)


@pytest.mark.usefixtures("whole")
def test_it_is_in_use_where_the_guard_is(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    compiled = reductions.in_blocks
    monkeypatch.setattr(
        reductions, "in_blocks", lambda text: seen.append(text) or compiled(text))
    x = ll.from_host(np.ones((3, 700, 101), np.float32))
    assert (rec("sum", x, axes=(1,)).read() == 700).all()
    guarded = bool(compiler_defects.options(tracing.versions()["jaxlib"]))
    assert bool(seen) is (guarded and jax_compat.device().platform == "cpu")
