"""Convolutions and their gradients by oneDNN, beside XLA's."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.cache import memory
from lazyloom.codegen.answers import Call
from lazyloom.codegen.onednn import convolution, library, made, products
from lazyloom.codegen.onednn.library import OneDnnError
from lazyloom.codegen.onednn.plan import DTYPES
from lazyloom.codegen.onednn.unfolded import better, sizes_of
from tests.codegen.onednn_here import skip_without

_generator = made()
pytestmark = [
    pytest.mark.usefixtures("quick_compiler"), pytest.mark.xla,
    pytest.mark.skipif(
        _generator is None or bool(engines.available()), reason="oneDNN is not installed"),
]

#: shape of the images, of the weights, and what else a convolution is told
CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "plain": ((2, 16, 14, 14), (32, 16, 3, 3), {}),
    "same": ((3, 8, 15, 17), (24, 8, 3, 5), {"padding": (1, 2)}),
    "strides": ((4, 16, 26, 25), (24, 16, 3, 3), {"stride": (2, 3), "padding": 1}),
    "dilated": ((2, 16, 16, 16), (8, 16, 3, 3), {"dilation": 2, "padding": 2}),
    "point": ((2, 64, 12, 12), (32, 64, 1, 1), {}),
    "point, strides": ((4, 64, 18, 18), (32, 64, 1, 1), {"stride": 2}),
    "groups": ((2, 32, 14, 14), (64, 8, 3, 3), {"groups": 4, "padding": 1}),
    "depthwise": ((2, 96, 28, 28), (96, 1, 3, 3), {"groups": 96, "padding": 1}),
    "multiplied": ((2, 96, 20, 20), (192, 2, 3, 3), {"groups": 48, "padding": 1}),
    "odd channels": ((2, 3, 32, 32), (18, 3, 7, 7), {"stride": 2, "padding": 3}),
    "one image": ((1, 16, 20, 20), (16, 16, 3, 3), {}),
    "one axis": ((2, 16, 50), (32, 16, 9), {"padding": 4}),
    "three axes": ((1, 8, 7, 8, 9), (16, 8, 3, 3, 3), {"padding": 1}),
    "dilated, strides": ((8, 128, 32, 32), (64, 128, 3, 3),
                         {"stride": 2, "padding": 2, "dilation": 2}),
    "dilated, strides, groups": ((8, 64, 32, 32), (64, 16, 3, 3),
                                 {"stride": 2, "padding": 2, "dilation": 2, "groups": 4}),
    "few places": ((2, 96, 4, 4), (160, 96, 3, 3), {"padding": 1}),
    "few places, one element": ((2, 160, 8, 8), (192, 160, 1, 1), {"stride": 2}),
    "few places, strides": ((3, 64, 7, 5), (96, 64, 3, 2), {"stride": (2, 3), "padding": (1, 0)}),
    "few places, dilated": ((1, 64, 9, 9), (64, 64, 3, 3), {"padding": 2, "dilation": 2}),
    "few places, one axis": ((2, 64, 20), (96, 64, 5), {"padding": 3, "stride": 2}),
    "few places, three axes": ((1, 48, 3, 4, 3), (80, 48, 2, 3, 2), {"padding": (1, 1, 0)}),
    "a larger window": ((1, 16, 12, 12), (64, 16, 9, 9), {"padding": 1}),
    "large": ((5, 32, 30, 30), (48, 32, 3, 3), {"padding": 1}),
    "large, one image": ((1, 64, 40, 40), (32, 64, 3, 3), {}),
    "large point": ((3, 96, 20, 20), (80, 96, 1, 1), {}),
    "one place": ((4, 64, 5, 5), (64, 64, 5, 5), {}),
    "a window as wide as it gets": ((2, 16, 6, 30), (16, 16, 6, 7), {"padding": (2, 0)}),
}


def results(case: str, dtype: str, name: str) -> tuple[list[Any], list[str]]:
    """A convolution and its gradients with a generator, and where its ops ran."""
    skip_without(_generator, dtype)
    shape, window, options = CASES[case]
    random = numpy.random.default_rng(3)
    kind = getattr(torch, dtype)
    image = torch.tensor(random.standard_normal(shape).astype("float32")).to(kind)
    weight = torch.tensor(random.standard_normal(window).astype("float32") / 8).to(kind)
    image.requires_grad_()
    weight.requires_grad_()
    convolve = getattr(torch.nn.functional, f"conv{len(shape) - 2}d")
    with codegen.use(name):
        out = convolve(torch.tanh(image), weight, **options)
        (out.float() * torch.cos(out.float())).sum().backward()
        assert image.grad is not None and weight.grad is not None
        found = [out, image.grad, weight.grad]
        report = codegen.explain(lazyloom.program_of(*found))
        arrays = [t.detach().float().numpy() for t in found]
    ops = report.program.ops
    return arrays, [report.generator(n) for n, op in enumerate(ops) if op.startswith("conv")]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case: str, dtype: str) -> None:
    assert _generator is not None
    codegen.register(_generator)
    expected, xla = results(case, dtype, "xla")
    found, ours = results(case, dtype, "onednn")
    assert set(xla) == {"xla"} and set(ours) == {"onednn"}
    assert not codegen.failures()
    unit = 2.0**-23 if dtype == "float32" else 2.0**-8
    for a, b in zip(found, expected, strict=True):
        largest = numpy.abs(b).max()
        assert numpy.abs(a - b).max() <= _generator.tolerance * unit * largest
        assert a.shape == b.shape


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("case", [
    "large", "large, one image", "large point", "few places", "few places, strides", "depthwise",
    "dilated, strides, groups", "odd channels"])
def test_whatever_the_number_of_threads(
    case: str, dtype: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _generator is not None
    generator = made()
    assert generator is not None
    generator.version = f"{generator.version}, {threads} threads"
    monkeypatch.setattr(library.opened(generator.path), "threads", threads)
    monkeypatch.setattr(convolution, "SPLIT", 100_000)
    try:
        codegen.register(generator)
        expected, _ = results(case, dtype, "xla")
        found, ours = results(case, dtype, "onednn")
    finally:
        codegen.register(_generator)
    assert set(ours) == {"onednn"} and not codegen.failures()
    # of bfloat16 no more than a rounding or two: parts must not be rounded before they are added
    unit = _generator.tolerance * 2.0**-23 if dtype == "float32" else 2 * 2.0**-8
    for a, b in zip(found, expected, strict=True):
        assert numpy.abs(a - b).max() <= unit * numpy.abs(b).max()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("case", ["few places", "large point", "few places, three axes", "plain"])
def test_which_convolutions_are_products(case: str, dtype: str) -> None:
    shape, window, options = CASES[case]
    kind = getattr(torch, dtype)
    image, weight = torch.empty(*shape, dtype=kind), torch.empty(*window, dtype=kind)
    convolve = getattr(torch.nn.functional, f"conv{len(shape) - 2}d")
    program = lazyloom.program_of(convolve(image, weight, **options))
    (call,) = (Call.of(i) for i in program.structure.instructions if i.spec.op.name == "conv")
    g = convolution.geometry_of(call)
    assert better(call, g) == (case != "plain")
    assert sizes_of(call, g).direct == (case == "large point")


@pytest.mark.parametrize(("shape", "outputs", "product"), [
    ((4, 64, 56, 56), 256, True), ((32, 64, 56, 56), 256, False), ((4, 24, 24, 24), 144, False),
    ((4, 96, 24, 24), 24, False)])
def test_which_of_one_place_are_products_in_bfloat16(
    shape: tuple[int, ...], outputs: int, product: bool
) -> None:
    for dtype, expected in ((torch.float32, True), (torch.bfloat16, product)):
        image = torch.empty(*shape, dtype=dtype)
        weight = torch.empty(outputs, shape[1], 1, 1, dtype=dtype)
        program = lazyloom.program_of(torch.nn.functional.conv2d(image, weight))
        (call,) = (Call.of(i) for i in program.structure.instructions if i.spec.op.name == "conv")
        assert better(call, convolution.geometry_of(call)) == expected


#: shapes of two operands, and the pairs of axes that are summed over and of batches
PRODUCTS: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[Any, ...]]] = {
    "rows by rows": ((4, 64, 96), (160, 96), ((2,), (1,), (), ())),
    "rows by columns": ((4, 64, 96), (96, 160), ((2,), (0,), (), ())),
    "columns by columns": ((96, 200), (96, 160), ((0,), (0,), (), ())),
    "a batch": ((6, 64, 96), (6, 96, 80), ((2,), (1,), (0,), (0,))),
    "two batches": ((2, 3, 64, 96), (2, 3, 80, 96), ((3,), (3,), (0, 1), (0, 1))),
    "two axes": ((128, 12, 16), (12, 16, 129), ((1, 2), (0, 1), (), ())),
    "odd sizes": ((131, 127), (127, 137), ((1,), (0,), (), ())),
}


def product_results(case: str, dtype: str, name: str) -> tuple[list[Any], set[str]]:
    """A product and its gradients with a generator, and where they ran."""
    left, right, (lc, rc, lb, rb) = PRODUCTS[case]
    random = numpy.random.default_rng(5)
    kind = getattr(torch, dtype)
    x = torch.tensor(random.standard_normal(left).astype("float32")).to(kind)
    y = torch.tensor(random.standard_normal(right).astype("float32")).to(kind)
    x.requires_grad_()
    y.requires_grad_()
    with codegen.use(name):
        out = lazyloom.apply("dot_general", [x, y], {
            "lhs_contract": lc, "rhs_contract": rc, "lhs_batch": lb, "rhs_batch": rb})
        (out.float() / 9).tanh().sum().backward()
        assert x.grad is not None and y.grad is not None
        found = [out, x.grad, y.grad]
        report = codegen.explain(lazyloom.program_of(*found))
        ran = {report.generator(n) for n, op in enumerate(report.program.ops)
               if op.startswith("dot_general")}
        return [t.detach().float().numpy() for t in found], ran


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("case", PRODUCTS)
def test_products_and_their_gradients(
    case: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _generator is not None
    skip_without(_generator, dtype)
    # float32 goes the same ways, though XLA is as quick
    monkeypatch.setattr(products, "SMALL", 1)
    monkeypatch.setattr(products, "QUICKER", DTYPES)
    codegen.register(_generator)
    expected, xla = product_results(case, dtype, "xla")
    found, ours = product_results(case, dtype, "onednn")
    assert xla == {"xla"} and ours == {"onednn"} and not codegen.failures()
    unit = 2.0**-23 if dtype == "float32" else 2.0**-8
    for a, b in zip(found, expected, strict=True):
        assert numpy.abs(a - b).max() <= _generator.tolerance * unit * numpy.abs(b).max()


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("case", PRODUCTS)
def test_products_whatever_the_number_of_threads(
    case: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _generator is not None
    generator = made()
    assert generator is not None
    generator.version = f"{generator.version}, {threads} threads"
    monkeypatch.setattr(library.opened(generator.path), "threads", threads)
    for name, value in (("SMALL", 1), ("SPLIT", 1), ("QUICKER", DTYPES)):
        monkeypatch.setattr(products, name, value)
    try:
        codegen.register(generator)
        expected, _ = product_results(case, "float32", "xla")
        found, ours = product_results(case, "float32", "onednn")
    finally:
        codegen.register(_generator)
    assert ours == {"onednn"} and not codegen.failures()
    for a, b in zip(found, expected, strict=True):
        assert numpy.abs(a - b).max() <= _generator.tolerance * 2.0**-23 * numpy.abs(b).max()


@pytest.mark.parametrize(("left", "right", "axes", "reason"), [
    ((128, 12, 16), (16, 12, 128), ((1, 2), (1, 0), (), ()), "no single one in memory"),
    ((2048, 1024), (1024,), ((1,), (0,), (), ()), "a product with a vector"),
    ((512, 512), (512, 512), ((1,), (0,), (), ()), "dtype float32, in which it is not quicker"),
    ((8, 8), (8, 8), ((1,), (0,), (), ()), "512 multiplications")])
def test_products_that_it_leaves_have_a_reason(
    left: tuple[int, ...], right: tuple[int, ...], axes: Any, reason: str
) -> None:
    assert _generator is not None
    codegen.register(_generator)
    lc, rc, lb, rb = axes
    kind = torch.float32 if "float32" in reason else torch.bfloat16
    with codegen.use("onednn"):
        x, w = torch.ones(*left, dtype=kind), torch.ones(*right, dtype=kind)
        y = lazyloom.apply("dot_general", [x, w], {
            "lhs_contract": lc, "rhs_contract": rc, "lhs_batch": lb, "rhs_batch": rb})
        assert reason in codegen.explain(lazyloom.program_of(y)).text()


@pytest.mark.parametrize("case", ["plain", "groups", "one axis"])
def test_op_by_op_as_well(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _generator is not None
    codegen.register(_generator)
    expected, _ = results(case, "float32", "xla")
    # or the compiled program of another test would run
    monkeypatch.setenv("LAZYLOOM_CACHE", "0")
    memory.clear()
    with lazyloom.options(reproducible=False, compiled_beside=0):
        found, _ = results(case, "float32", "onednn")
        form = lazyloom.last_evaluation().form
    assert form == "op_by_op" and not codegen.failures()
    for a, b in zip(found, expected, strict=True):
        assert numpy.abs(a - b).max() <= _generator.tolerance * 2.0**-23 * numpy.abs(b).max()


@pytest.mark.parametrize("argnums", ["image", "weight", "both"])
def test_gradients_that_are_wanted_alone(argnums: str) -> None:
    assert _generator is not None
    codegen.register(_generator)
    random = numpy.random.default_rng(0)
    found = []
    for name in ("xla", "onednn"):
        image = torch.tensor(random.standard_normal((2, 16, 10, 10)).astype("float32"))
        random = numpy.random.default_rng(0)
        weight = torch.tensor(numpy.full((16, 16, 3, 3), 0.25, "float32"))
        image.requires_grad_(argnums != "weight")
        weight.requires_grad_(argnums != "image")
        with codegen.use(name):
            torch.nn.functional.conv2d(image, weight).square().sum().backward()
            found.append([t.grad.numpy() for t in (image, weight) if t.grad is not None])
        random = numpy.random.default_rng(0)
    assert len(found[0]) == (2 if argnums == "both" else 1)


def test_the_same_array_as_image_and_weight() -> None:
    assert _generator is not None
    codegen.register(_generator)
    random = numpy.random.default_rng(1)
    array = random.standard_normal((16, 16, 9, 9)).astype("float32")
    found = []
    for name in ("xla", "onednn"):
        both = torch.tensor(array, requires_grad=True)
        with codegen.use(name):
            torch.nn.functional.conv2d(both, both, padding=2).tanh().sum().backward()
            assert both.grad is not None
            found.append(both.grad.numpy())
    numpy.testing.assert_allclose(found[0], found[1], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("change", "reason"), [
    ({"dtype": "float64"}, "dtype float64"), ({"padding": -1}, "negative padding"),
    ({"small": True}, "multiplications"), ({"transposed": True}, "no op of")])
def test_what_it_does_not_do_has_a_reason(change: dict[str, Any], reason: str) -> None:
    assert _generator is not None
    codegen.register(_generator)
    kind = getattr(torch, change.get("dtype", "float32"))
    size = 3 if change.get("small") else 16
    x = torch.ones(2, size, 12, 12, dtype=kind)
    w = torch.ones(size, size, 3, 3, dtype=kind)
    with codegen.use("onednn"):
        if change.get("transposed"):
            y = torch.nn.functional.conv_transpose2d(x, w)
        elif "padding" in change:
            y = lazyloom.apply("conv", [x, w], {"padding_low": (-1, -1), "padding_high": (-1, -1)})
        else:
            y = torch.nn.functional.conv2d(x, w)
        text = codegen.explain(lazyloom.program_of(y)).text()
    assert reason in text and "-> onednn" not in text


def test_special_values_reach_the_result() -> None:
    assert _generator is not None
    codegen.register(_generator)
    x = numpy.ones((1, 16, 12, 12), "float32")
    x[0, 0, 0, 0], x[0, 1, 11, 11] = numpy.nan, numpy.inf
    with codegen.use("onednn"):
        y = torch.nn.functional.conv2d(torch.tensor(x), torch.ones(16, 16, 3, 3)).numpy()
    assert numpy.isnan(y[0, :, 0, 0]).all() and numpy.isinf(y[0, :, 9, 9]).all()
    assert (y[0, :, 5, 5] == 144).all()


@pytest.mark.parametrize(("channels", "out", "window", "groups"), [
    (5, 16, 3, 1), (33, 32, 1, 1), (1, 16, 1, 1), (3, 6, 3, 3), (3, 16, 3, 1), (3, 16, 7, 1),
    (16, 17, 3, 1), (16, 17, 1, 1), (8, 24, 3, 8), (16, 16, 3, 16), (64, 33, 1, 1)])
def test_nan_of_bfloat16_stay_in_their_windows(
    channels: int, out: int, window: int, groups: int
) -> None:
    """oneDNN multiplies pairs of channels, of which there may be an odd number."""
    assert _generator is not None
    codegen.register(_generator)
    skip_without(_generator, "bfloat16")
    found = {}
    image = numpy.zeros((1, channels, 12, 12), "float32")
    image[0, 0, 4, 4], image[0, -1, 9, 9] = numpy.nan, numpy.inf
    for name in ("xla", "onednn"):
        with codegen.use(name), codegen.whatever_the_size():
            x = torch.tensor(image).to(torch.bfloat16)
            w = torch.ones(out, channels // groups, window, window).to(torch.bfloat16)
            y = torch.nn.functional.conv2d(x, w, groups=groups)
            other = torch.ones_like(x).requires_grad_()
            gradient = torch.zeros_like(y)
            gradient[0, 0, 2, 2] = float("nan")
            torch.nn.functional.conv2d(other, w, groups=groups).backward(gradient)
            assert other.grad is not None
            found[name] = [y.float().numpy(), other.grad.float().numpy()]
    for a, b in zip(found["onednn"], found["xla"], strict=True):
        numpy.testing.assert_array_equal(numpy.isnan(a), numpy.isnan(b))


def test_threads() -> None:
    assert _generator is not None
    codegen.register(_generator)
    random = numpy.random.default_rng(1)
    x = random.standard_normal((2, 16, 16, 16)).astype("float32")
    w = random.standard_normal((16, 16, 3, 3)).astype("float32")
    wrong: list[float] = []

    def convolved() -> Any:
        with lazyloom.options(reproducible=True):
            return torch.nn.functional.conv2d(torch.tensor(x), torch.tensor(w)).numpy()

    with codegen.use("onednn"):
        expected = convolved()

        def work() -> None:
            for _ in range(20):
                if not numpy.array_equal(convolved(), expected):
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not wrong


def test_a_path_of_no_library_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """The program runs without the generator, and says why it has to."""
    monkeypatch.setenv("LAZYLOOM_ONEDNN", str(tmp_path))
    with pytest.raises(OneDnnError, match="LAZYLOOM_ONEDNN is .* no file, expected the path of"):
        made()
    process = subprocess.run(
        [sys.executable, "-c", "from lazyloom import codegen; print(sorted(codegen.available()))"],
        env={**os.environ, "LAZYLOOM_ONEDNN": str(tmp_path / "none.so")},
        capture_output=True, text=True, timeout=300, check=True)
    assert "onednn" not in process.stdout and "'c'" in process.stdout
    assert "RuntimeWarning" in process.stderr and "none.so', which is no file" in process.stderr


def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAZYLOOM_ONEDNN", raising=False)
    expected = library.find()
    monkeypatch.setenv("LAZYLOOM_ONEDNN", "")
    assert library.find() == expected


def test_work_counts_multiplications() -> None:
    call = codegen.Call("conv", {}, (), ())
    x = torch.ones(2, 16, 12, 12)
    y = torch.nn.functional.conv2d(x, torch.ones(8, 16, 3, 3))
    program = lazyloom.program_of(y)
    call = codegen.Call.of(program.structure.instructions[-1])
    assert convolution.work(call) == 2 * 8 * 10 * 10 * 16 * 9
