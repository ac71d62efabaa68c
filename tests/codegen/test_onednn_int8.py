"""Groups around int8 convolutions and products by oneDNN, beside XLA's op by op."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.codegen.onednn import convolution, library, made, quantized
from lazyloom.dtypes import int8, uint8
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
    "same": ((3, 8, 15, 17), (24, 8, 3, 5), {"padding_low": (1, 2), "padding_high": (1, 2)}),
    "strides": ((4, 16, 26, 25), (24, 16, 3, 3), {
        "strides": (2, 3), "padding_low": (1, 1), "padding_high": (0, 2)}),
    "dilated": ((2, 16, 16, 16), (8, 16, 3, 3), {
        "dilation": (2, 2), "padding_low": (2, 2), "padding_high": (2, 2)}),
    "point": ((2, 64, 12, 12), (32, 64, 1, 1), {}),
    "groups": ((2, 32, 14, 14), (64, 8, 3, 3), {
        "groups": 4, "padding_low": (1, 1), "padding_high": (1, 1)}),
    "depthwise": ((2, 96, 28, 28), (96, 1, 3, 3), {
        "groups": 96, "padding_low": (1, 1), "padding_high": (1, 1)}),
    "three channels": ((2, 3, 32, 32), (17, 3, 7, 7), {
        "strides": (2, 2), "padding_low": (3, 3), "padding_high": (3, 3)}),
    "one image": ((1, 32, 30, 30), (48, 32, 3, 3), {
        "strides": (2, 2), "padding_low": (1, 1), "padding_high": (1, 1)}),
    "one axis": ((2, 16, 90), (32, 16, 9), {"padding_low": (4,), "padding_high": (4,)}),
    "three axes": ((1, 8, 7, 8, 9), (16, 8, 3, 3, 3), {
        "padding_low": (1, 1, 1), "padding_high": (1, 1, 1)}),
}


def _quantize(x: Any, scale: Any, dtype: Any) -> Any:
    return lazyloom.apply("quantize", [x, scale], {"dtype": dtype})


def _dequantize(x: Any, scale: Any, axis: int | None = None) -> Any:
    return lazyloom.apply("dequantize", [x, scale], {"axis": axis})


def _number(value: float) -> Any:
    return torch.tensor(numpy.float32(value))


class Operands:
    """Random operands of a convolution with all that a group has."""

    def __init__(self, case: str, images: Any, other: Any = int8, seed: int = 3) -> None:
        shape, window, self.options = CASES[case]
        random = numpy.random.default_rng(seed)
        limits = numpy.iinfo(images.numpy)
        self.x = torch.tensor(
            random.integers(limits.min, limits.max + 1, shape).astype(images.numpy))
        self.w = torch.tensor(random.integers(-127, 128, window).astype("int8"))
        self.x_scale = _number(0.02)
        self.w_scale = torch.tensor(random.uniform(1e-4, 6e-4, window[0]).astype("float32"))
        self.bias = torch.tensor(
            random.standard_normal((window[0], *(1,) * (len(shape) - 2))).astype("float32"))
        limits = numpy.iinfo(other.numpy)
        out = tuple(lazyloom.apply("conv", [self.x.float(), self.w.float()], self.options).shape)
        self.other = torch.tensor(
            random.integers(limits.min, limits.max + 1, out).astype(other.numpy))
        self.other_scale, self.scale = _number(0.013), _number(0.021)

    def made(self, parts: str, result: Any) -> Any:
        """The group with those of "bias", "other", "relu" and "relu6", quantised to a dtype."""
        y = lazyloom.apply("conv", [
            _dequantize(self.x, self.x_scale), _dequantize(self.w, self.w_scale, 0)], self.options)
        for part in parts.split():
            if part == "bias":
                y = y + self.bias
            elif part == "other":
                y = y + _dequantize(self.other, self.other_scale)
            else:
                y = lazyloom.apply(part, [y])
        return y if result is None else _quantize(y, self.scale, result)


def both(make: Any, regions: int = 1) -> tuple[numpy.ndarray, numpy.ndarray]:
    """What oneDNN and what XLA gives; oneDNN does all but ``regions - 1`` ops."""
    skip_without(_generator, "int8")
    assert _generator is not None
    codegen.register(_generator)
    with codegen.use("xla"):
        expected = make().numpy()
    with codegen.use("onednn"):
        result = make()
        report = codegen.explain(lazyloom.program_of(result))
        ours = {report.generator(n) for n in range(len(report.program.ops))}
        found = result.numpy()
    assert ours == {"onednn"}, report.text()
    assert len(report.partition.parts) == regions
    assert not codegen.failures()
    assert found.dtype == expected.dtype
    return found, expected


def close(found: numpy.ndarray, expected: numpy.ndarray) -> None:
    """Integers differ by one where sums were nearly halfway, floats by the last bits."""
    apart = numpy.abs(found.astype("float64") - expected.astype("float64"))
    if expected.dtype == numpy.float32:
        assert apart.max() <= 64 * 2.0**-23 * numpy.abs(expected).max()
        return
    assert apart.max() <= 1 and (apart != 0).mean() < 0.002
    assert expected.std() > 10, "nothing to tell apart"


@pytest.mark.parametrize("case", CASES)
def test_convolutions_with_all_around_them(case: str) -> None:
    given = Operands(case, uint8)
    close(*both(lambda: given.made("bias other relu", uint8)))


@pytest.mark.parametrize("parts", ["", "bias", "relu", "bias relu", "bias relu6", "other",
                                   "bias other", "other relu"])
@pytest.mark.parametrize("result", [int8, uint8])
def test_groups_with_less(parts: str, result: Any) -> None:
    given = Operands("plain", int8 if "relu6" in parts else uint8)
    close(*both(lambda: given.made(parts, result)))


@pytest.mark.parametrize("parts", ["", "bias", "relu", "bias relu", "bias relu6"])
def test_groups_with_a_result_of_float32(parts: str) -> None:
    given = Operands("same", uint8)
    close(*both(lambda: given.made(parts, None)))


@pytest.mark.parametrize("images", [int8, uint8])
@pytest.mark.parametrize("other", [int8, uint8])
def test_signs(images: Any, other: Any) -> None:
    given = Operands("strides", images, other)
    close(*both(lambda: given.made("bias other", int8)))


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("case", ["plain", "one image", "groups", "one axis", "three axes"])
def test_whatever_the_number_of_threads(
    case: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = made()
    assert generator is not None
    generator.version = f"{generator.version}, {threads} threads"
    monkeypatch.setattr(library.opened(generator.path), "threads", threads)
    monkeypatch.setattr(convolution, "SPLIT", 1)
    monkeypatch.setattr("tests.codegen.test_onednn_int8._generator", generator)
    given = Operands(case, uint8)
    try:
        close(*both(lambda: given.made("bias other relu", uint8)))
    finally:
        codegen.register(made())  # type: ignore[arg-type]


def test_weights_are_bound_and_other_weights_are_others() -> None:
    """The plan that is bound keeps weights in its own order; those of another call are others."""
    before = lazyloom.stats()["constants_bound"]
    one, two = Operands("plain", int8, seed=3), Operands("plain", int8, seed=4)
    for given in (one, two, one, two, two, one):
        close(*both(lambda g=given: g.made("bias relu", uint8)))
    assert lazyloom.stats()["constants_bound"] == before + 2
    with torch.no_grad():
        one.w[5] = 1 - one.w[5]
    for _ in range(3):
        close(*both(lambda: one.made("bias relu", uint8)))
    assert lazyloom.stats()["constants_bound"] == before + 3


def test_a_value_that_is_image_and_what_is_added() -> None:
    given = Operands("same", int8)
    square = torch.tensor(
        numpy.random.default_rng(0).integers(-127, 128, (8, 8, 3, 5)).astype("int8"))
    given.w, given.w_scale, given.bias = square, given.w_scale[:8], given.bias[:8]
    given.other, given.other_scale = given.x, given.x_scale
    close(*both(lambda: given.made("bias other", int8)))


@pytest.mark.parametrize("shape, turned", [
    ((300, 64), False), ((300, 64), True), ((2, 128, 64), True), ((4, 512), True),
    ((3, 512), False)])
@pytest.mark.parametrize("result", [int8, None])
def test_products(shape: tuple[int, ...], turned: bool, result: Any) -> None:
    random = numpy.random.default_rng(0)
    inner, outer = shape[-1], 160
    x = torch.tensor(random.integers(0, 256, shape).astype("uint8"))
    w = torch.tensor(random.integers(
        -127, 128, (outer, inner) if turned else (inner, outer)).astype("int8"))
    w_scale = torch.tensor(random.uniform(1e-4, 6e-4, outer).astype("float32"))
    bias = torch.tensor(random.standard_normal(outer).astype("float32"))

    def make() -> Any:
        a, b = _dequantize(x, _number(0.02)), _dequantize(w, w_scale, 0 if turned else 1)
        y = lazyloom.apply("dot_general", [a, b], {
            "lhs_contract": (len(shape) - 1,), "rhs_contract": (1,)}) if turned else a @ b
        y = y + bias
        return y if result is None else _quantize(y, _number(0.02), result)

    close(*both(make))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("batch", [1, 5])
def test_maxima_over_windows(dtype: str, batch: int) -> None:
    limits = numpy.iinfo(dtype)
    x = torch.tensor(numpy.random.default_rng(0).integers(
        limits.min, limits.max + 1, (batch, 40, 57, 50)).astype(dtype))
    found, expected = both(lambda: lazyloom.apply("max_pool", [x], {
        "window": (3, 3), "strides": (2, 2), "padding_low": (1, 1), "padding_high": (0, 1)}))
    numpy.testing.assert_array_equal(found, expected)


def test_what_is_no_group_is_done_op_by_op() -> None:
    given = Operands("plain", uint8)
    scales = torch.tensor(numpy.linspace(1e-4, 2e-4, 16).astype("float32"))
    shifted = lazyloom.apply("dequantize", [
        given.x, given.x_scale, torch.tensor(numpy.uint8(3))])
    image, weight = _dequantize(given.x, given.x_scale), _dequantize(given.w, given.w_scale, 0)
    cases: dict[str, tuple[Any, Any]] = {
        "a zero point": (shifted, weight),
        "a scale for each input": (image, _dequantize(given.w, scales, 1)),
        "weights that are uint8": (
            image, _dequantize(given.w.to(torch.uint8), given.w_scale, 0)),
    }
    for name, (x, w) in cases.items():
        with codegen.use("onednn"):
            y = torch.relu(lazyloom.apply("conv", [x, w]))
            report = codegen.explain(lazyloom.program_of(y))
            assert not [c for p in report.partition.parts for c, _ in p.region.composites
                        if c.startswith(quantized.PREFIX)], name
            found = y.numpy()
        with codegen.use("xla"):
            y = torch.relu(lazyloom.apply("conv", [x, w]))
            numpy.testing.assert_allclose(y.numpy(), found, rtol=1e-4, atol=1e-5, err_msg=name)


def test_of_a_sum_in_another_order_only_the_convolution_is_a_group() -> None:
    skip_without(_generator, "int8")
    given = Operands("plain", uint8)
    with codegen.use("onednn"):
        y = given.made("other bias relu", uint8)
        report = codegen.explain(lazyloom.program_of(y))
        names = [name for p in report.partition.parts for name, _ in p.region.composites]
        assert names == ["int8_conv"]
        found = y.numpy()
    with codegen.use("xla"):
        close(found, given.made("other bias relu", uint8).numpy())


@pytest.mark.parametrize(
    ("instructions", "narrow", "half"),
    [(0x7, "without VNNI", "AVX-512"), (0xF, "", "AVX-512"), (0x1F, "", ""),
     (0x27, "without VNNI", ""), (0xE7, "", "")],
    ids=["AVX2", "AVX-VNNI", "AVX-NE-CONVERT", "AVX-512", "AVX-512 BF16"])
def test_a_processor_without_the_instructions(
    instructions: int, narrow: str, half: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told that XLA runs them: sums would saturate, and bfloat16 would fail."""
    generator = made()
    assert generator is not None
    generator.version = f"{generator.version}, {instructions}"
    monkeypatch.setattr(library.opened(generator.path), "instructions", instructions)
    try:
        codegen.register(generator)
        with codegen.use("onednn"):
            group = Operands("plain", uint8).made("bias relu", uint8)
            x, w = (torch.ones(2, 64, 28, 28).bfloat16(), torch.ones(64, 64, 3, 3).bfloat16())
            conv = torch.conv2d(x, w)
            for result, why in ((group, narrow), (conv, half)):
                report = codegen.explain(lazyloom.program_of(result))
                ours = "onednn" in {report.generator(n) for n in range(len(report.program.ops))}
                assert ours is not bool(why) and why in report.text()
    finally:
        codegen.register(_generator)


@pytest.mark.parametrize("kind, parts, changed", [
    (int8, "other", "other_scale"), (int8, "", "x_scale"), (uint8, "bias relu6", "w_scale"),
    (int8, "bias", "bias"), (uint8, "bias", "scale")])
@pytest.mark.parametrize("value", [0.0, numpy.nan, numpy.inf, 1e38, 1e-40])
@pytest.mark.usefixtures("fresh_cache")  # or programs without the region are there
def test_scales_of_which_onednn_makes_other_integers(
    kind: Any, parts: str, changed: str, value: float
) -> None:
    skip_without(_generator, "int8")
    assert _generator is not None
    operands = Operands("plain", kind)
    given = getattr(operands, changed).numpy().copy()
    given.reshape(-1)[-1] = value
    setattr(operands, changed, torch.tensor(given))
    # of weights alone, of images alone, and a bias it takes what is small
    fails = not value < 1 or changed in ("other_scale", "scale")
    with codegen.use("xla"), lazyloom.options(reproducible=True):
        expected = operands.made(parts, kind).numpy()
    codegen.register(_generator)
    with codegen.use("onednn"), lazyloom.options(reproducible=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [operands.made(parts, kind).numpy() for _ in range(2)]
    assert [f.error for f in codegen.failures()] == [
        "oneDNN: a scale or bias is 0, not finite, or too large or small for integers"] * fails
    for each in found:
        assert abs(each.astype(int) - expected.astype(int)).max() <= 1
