"""Gradients of maxima over windows by functions in C, beside XLA's."""

from __future__ import annotations

import threading
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.codegen import c_kernels

_generator = c_kernels.made()
pytestmark = [
    pytest.mark.usefixtures("quick_compiler"), pytest.mark.xla,
    pytest.mark.skipif(
        _generator is None or bool(engines.available()), reason="nothing that pools was compiled"),
]

CASES: list[tuple[tuple[int, ...], Any, dict[str, Any]]] = [
    ((2, 64, 30, 29), 3, {"stride": 2, "padding": 1}),
    ((2, 70, 13, 15), 2, {}),
    ((1, 9, 9, 8), 1, {"stride": 2}),
    ((2, 8, 20, 21), (3, 2), {"stride": (1, 2), "padding": (1, 0)}),
    ((3, 16, 25, 15), 3, {"dilation": 2, "padding": 1}),
    ((3, 16, 12, 15), (2, 3), {"stride": 2, "ceil_mode": True}),
    ((2, 100, 60), 4, {"stride": 2}),
    ((1, 130, 1, 7), (1, 3), {"padding": (0, 1)}),
    ((2, 9, 16, 16), (4, 4), {"stride": 4}),
]


@pytest.fixture(autouse=True)
def in_use() -> Any:
    """The generator alone, for arrays of any size; nothing of it fails."""
    assert _generator is not None
    codegen.register(_generator)
    with codegen.use("c"), codegen.whatever_the_size():
        yield
    assert not codegen.failures()


def images(shape: tuple[int, ...], seed: int = 0) -> Any:
    """Many equal elements, zeros of both signs, infinities and NaN among them."""
    random = numpy.random.default_rng(seed)
    x = numpy.round(random.standard_normal(shape) * 3).astype("float32")
    some = random.random(shape)
    x[some < 0.02] = numpy.nan
    x[(some > 0.02) & (some < 0.1)] = -numpy.inf
    x[(some > 0.1) & (some < 0.13)] = numpy.inf
    x[(some > 0.13) & (some < 0.2)] = -0.0
    return x


def gradient(
    x: Any, window: Any, attributes: dict[str, Any], seed: int = 1, dtype: str = "float32"
) -> tuple[Any, bool]:
    """Of maxima times small integers, whose sums are exact; and whether a region does it."""
    t = torch.tensor(x, dtype=getattr(torch, dtype), requires_grad=True)
    pool = torch.nn.functional.max_pool2d if x.ndim == 4 else torch.nn.functional.max_pool1d
    found = pool(t, window, **attributes)
    weights = numpy.random.default_rng(seed).integers(-9, 10, tuple(found.shape))
    found.backward(torch.tensor(weights.astype("float32"), dtype=found.dtype))
    assert t.grad is not None
    report = codegen.explain(lazyloom.program_of(t.grad))
    names = [i.spec.op.name for i in report.program.structure.instructions]
    by_c = "max_pool.vjp" in names and report.generator(names.index("max_pool.vjp")) == "c"
    return t.grad.to(torch.float32).numpy(), by_c


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("shape, window, attributes", CASES)
def test_gradients_are_xlas(
    shape: tuple[int, ...], window: Any, attributes: Any, dtype: str
) -> None:
    x = images(shape)
    found, by_c = gradient(x, window, attributes, dtype=dtype)
    assert by_c
    with codegen.use("xla"):
        expected, by_c = gradient(x, window, attributes, dtype=dtype)
    assert not by_c
    numpy.testing.assert_array_equal(found, expected)
    if attributes.get("padding") is None:
        assert found.sum() != 0


def test_one_window_by_hand() -> None:
    x = numpy.array([[[[1, 5, 5], [2, 3, 4]]]], "float32").repeat(8, 1)
    found, by_c = gradient(x, 2, {"stride": 1})
    weights = numpy.random.default_rng(1).integers(-9, 10, (1, 8, 1, 2))
    expected = numpy.zeros_like(x)
    # both windows have their first maximum in the second column
    expected[:, :, 0, 1] = weights.sum((2, 3))
    assert by_c
    numpy.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape, window, why", [
    ((2, 8, 9, 9), 5, "windows of 25 elements"), ((2, 8, 5, 5, 5), 2, "windows of 3 axes of 5"),
])
def test_what_is_left_to_xla(shape: tuple[int, ...], window: int, why: str) -> None:
    pool = torch.nn.functional.max_pool3d if len(shape) == 5 else torch.nn.functional.max_pool2d
    x = torch.tensor(images(shape), requires_grad=True)
    pool(x, window, stride=1).sum().backward()
    assert x.grad is not None
    assert why in codegen.explain(lazyloom.program_of(x.grad)).text()


def test_sums_of_bfloat16_are_rounded_once() -> None:
    x = numpy.zeros((1, 8, 1, 5), "float32")
    x[..., 2] = 1
    t = torch.tensor(x, dtype=torch.bfloat16, requires_grad=True)
    found = torch.nn.functional.max_pool2d(t, (1, 3), stride=1)
    weights = torch.tensor([1.0, 2.0**-8, 2.0**-8], dtype=torch.bfloat16)
    found.backward(weights.expand(1, 8, 1, 3))
    assert t.grad is not None
    assert t.grad[0, 0, 0].tolist() == [0, 0, 1 + 2**-7, 0, 0]


def test_other_dtypes_are_left_to_xla() -> None:
    x = torch.tensor(images((2, 8, 9, 9)), dtype=torch.float64, requires_grad=True)
    torch.nn.functional.max_pool2d(x, 2).sum().backward()
    assert x.grad is not None
    assert "dtype float64" in codegen.explain(lazyloom.program_of(x.grad)).text()


def test_threads_at_once() -> None:
    x = images((4, 32, 40, 40))
    expected, _ = gradient(x, 3, {"stride": 2})
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(gradient(x, 3, {"stride": 2})[0]))
               for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    for each in found:
        numpy.testing.assert_array_equal(each, expected)


def test_second_derivatives() -> None:
    x = numpy.arange(2 * 8 * 6 * 6, dtype="float32").reshape(2, 8, 6, 6) % 37 / 8
    found = []
    for name in ("c", "xla"):
        with codegen.use(name):
            t = torch.tensor(x, requires_grad=True)
            y = (torch.nn.functional.max_pool2d(t, 3, stride=2, padding=1) ** 3).sum()
            (g,) = torch.autograd.grad(y, t, create_graph=True)
            (g**2).sum().backward()
            assert t.grad is not None
            found.append(t.grad.numpy())
    numpy.testing.assert_allclose(found[0], found[1], rtol=1e-5)
