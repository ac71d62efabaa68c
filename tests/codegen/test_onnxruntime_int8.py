"""Quantised products by ONNX Runtime, beside XLA's op by op."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.codegen import Leaf, Result
from lazyloom.codegen.onnxruntime import bounds, made, session, weights
from lazyloom.dtypes import int8, uint8
from lazyloom.quantization import quantize
from tests.codegen.test_onednn_int8 import _dequantize, _number, _quantize
from tests.codegen.test_onnxruntime import All, region_of
from tests.codegen.test_onnxruntime_views import added, nodes

_generator = made()
pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(
        _generator is None or bool(engines.available()), reason="onnxruntime is not installed"),
]


@pytest.fixture(autouse=True)
def known() -> None:
    assert _generator is not None
    if All.name not in codegen.available():
        codegen.register(All(_generator.version))


class Product:
    """Random operands of a quantised product of 64 numbers each."""

    def __init__(self, kind: Any, turned: bool, channels: bool) -> None:
        random = numpy.random.default_rng(7)
        self.kind, self.turned, self.axis = kind, turned, (0 if turned else 1) if channels else None
        self.x = torch.tensor(random.standard_normal((3, 10, 64)).astype("float32"))
        if kind is uint8:
            self.x = torch.tensor(abs(self.x.numpy()))
        self.w = torch.tensor(
            random.integers(-127, 128, (48, 64) if turned else (64, 48)).astype("int8"))
        self.w_scale = torch.tensor(random.uniform(1e-3, 6e-3, 48).astype("float32")) if (
            channels) else _number(0.004)
        self.bias = torch.tensor(random.standard_normal(48).astype("float32"))
        self.scale, self.out_scale = _number(0.02), _number(0.09)
        lazyloom.sync(self.x, self.w, self.w_scale, self.bias, self.scale, self.out_scale)

    def __call__(self, back: bool = False) -> Any:
        x = _dequantize(_quantize(self.x.transpose(0, 1), self.scale, self.kind), self.scale)
        w = _dequantize(self.w, self.w_scale, self.axis)
        attributes = {"lhs_contract": (2,), "rhs_contract": (1 if self.turned else 0,)}
        y = torch.relu(lazyloom.apply("dot_general", [x, w], attributes) + self.bias)
        return _quantize(y, self.out_scale, uint8) if back else torch.tanh(y.transpose(0, 1))


@pytest.mark.parametrize("kind", [int8, uint8])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("channels", [False, True])
def test_products_of_dequantised_values_take_the_integers(
    kind: Any, turned: bool, channels: bool
) -> None:
    product = Product(kind, turned, channels)
    added = nodes(product())
    assert added.count("MatMulIntegerToFloat") == 1 and "MatMul" not in added
    results = {}
    for name in ("xla", All.name):
        with codegen.use(name), lazyloom.options(reproducible=True):
            # the third run has the weights bound
            results[name] = [product().numpy() for _ in range(3)]
            back = product(back=True).numpy()
            assert name == "xla" or lazyloom.last_evaluation().regions.text().startswith("1 by")
        results[name].append(back)
    for found, expected in zip(results[All.name][:3], results["xla"][:3], strict=True):
        numpy.testing.assert_allclose(found, expected, atol=2e-6)
    # sums that are nearly halfway may go the other way
    found, expected = (results[name][3].astype(int) for name in (All.name, "xla"))
    assert abs(found - expected).max() <= 1 and (found != expected).mean() < 0.002
    assert expected.std() > 10
    assert not codegen.failures()


def test_the_sums_are_exact() -> None:
    # sums of 16 bits would saturate, and those in float32 are rounded
    x = torch.tensor(numpy.full((2, 4096), 127.0, "float32"))
    w = torch.tensor(numpy.full((4096, 16), 127, "int8"))
    one = _number(1.0)
    lazyloom.sync(x, w, one)

    def product() -> Any:
        return torch.matmul(_dequantize(_quantize(x, one, int8), one), _dequantize(w, one))

    region = region_of(product())
    out = numpy.empty((2, 16), "float32")
    by_number = [x.numpy() if t.shape == (2, 4096) else w.numpy() if t.shape == (4096, 16) else
                 numpy.float32(1.0) for t in region.operands]
    session.Session(region, {})(*[numpy.asarray(a) for a in by_number], out)
    assert (out == 127.0 * 127 * 4096).all()


@pytest.mark.parametrize("size", [1.0, 0.0])
@pytest.mark.parametrize("kind", [int8, uint8])
def test_what_is_out_of_range_is_limited_and_nan_is_zero(kind: Any, size: float) -> None:
    values = numpy.array([numpy.nan, numpy.inf, -numpy.inf, 1e30, -1e30, -0.0, 0.0, 0.5, 1.5, -0.5,
                          126.5, 300.0, -300.0] * 6, "float32")
    x, scale = torch.tensor(values), _number(size)
    lazyloom.sync(x, scale)
    with codegen.use(All.name), lazyloom.options(reproducible=True):
        found = _quantize(x, scale, kind).numpy()
        assert lazyloom.last_evaluation().regions.text() == f"1 by {All.name}"
    with codegen.use("xla"):
        numpy.testing.assert_array_equal(found, _quantize(x, scale, kind).numpy())


def test_products_in_other_forms_are_left_to_xla() -> None:
    scale, scales = _number(0.01), torch.tensor(numpy.full(64, 0.01, "float32"))
    x = torch.tensor(numpy.ones((4, 64), "float32"))
    w = torch.tensor(numpy.ones((64, 64), "int8"))
    stacked = torch.tensor(numpy.ones((2, 64, 64), "int8"))
    image, window = (torch.tensor(numpy.ones(s, "int8")) for s in ((1, 8, 9, 9), (8, 8, 3, 3)))
    lazyloom.sync(scale, scales, x, w, stacked, image, window)
    integers = _quantize(x, scale, int8)
    cases = {
        "one operand of two": lambda: torch.matmul(x, _dequantize(w, scale)),
        "scales along an axis that is summed over": lambda: torch.matmul(
            _dequantize(integers, scale), _dequantize(w, scales, 0)),
        "not one of rows and a matrix": lambda: torch.matmul(
            _dequantize(integers, scale), _dequantize(stacked, scale)),
        "a convolution of": lambda: torch.conv2d(
            _dequantize(image, scale), _dequantize(window, scale)),
    }
    for reason, make in cases.items():
        with codegen.use(All.name):
            told = codegen.explain(lazyloom.program_of(make())).text()
        assert reason in told, told


def test_a_quantised_model_is_one_region_with_its_weights_bound() -> None:
    torch.manual_seed(2)
    model = torch.nn.Sequential(
        torch.nn.Linear(128, 256), torch.nn.GELU(), torch.nn.Linear(256, 128)).eval()
    batches = [torch.randn(40, 128) for _ in range(2)]
    fast = quantize(model, batches)
    with codegen.use("onnxruntime"), lazyloom.options(reproducible=True):
        found = [fast(batches[0]).numpy() for _ in range(3)]
        program = lazyloom.last_evaluation().program
        assert lazyloom.last_evaluation().regions.text() == "1 by onnxruntime"
    (part,) = codegen.partition(
        program.structure, program.outputs, [codegen.available()["onnxruntime"]]).parts
    # all but the batch
    assert len(weights(part.region)) == len(part.region.operands) - 1
    with codegen.use("xla"):
        expected = fast(batches[0]).numpy()
    for each in found:
        # one integer of the values between may differ
        assert abs(each - expected).max() < 0.01 * expected.std()
    assert not codegen.failures()


def test_only_what_may_be_nan_is_looked_through_for_it() -> None:
    torch.manual_seed(2)

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = torch.nn.Linear(64, 64), torch.nn.Linear(64, 32)
            self.norm = torch.nn.LayerNorm(64)

        def forward(self, x: Any) -> Any:
            return self.last(self.norm(x + torch.nn.functional.gelu(self.first(x))))

    x = torch.randn(6, 64)
    fast = quantize(Block().eval(), [x])
    region = region_of(fast(x))
    fixed = weights(region)
    stored = {k: numpy.full(region.operands[k].shape, 2, region.operands[k].dtype.numpy)
              for k in fixed}
    # the argument, and the sum that it is in
    assert [added(region, {}).count("IsNaN"), added(region, stored).count("IsNaN")] == [2, 2]
    of_integers = region_of(torch.tanh(_dequantize(_quantize(
        torch.relu(_dequantize(integers(x), _number(0.5))), _number(0.1), uint8), _number(0.1))))
    assert added(of_integers, {}).count("IsNaN") == 1
    known = {k: numpy.float32(0.5) for k in weights(of_integers)}
    assert added(of_integers, known).count("IsNaN") == 0

    values = x.numpy()
    values[2, 5] = numpy.nan
    found = {}
    for name in ("xla", All.name):
        with codegen.use(name), lazyloom.options(reproducible=True):
            found[name] = [fast(torch.tensor(values)).numpy() for _ in range(3)]
    for a, b in zip(*found.values(), strict=True):
        numpy.testing.assert_array_equal(numpy.isnan(a), numpy.isnan(b))
        assert numpy.nanmax(abs(a - b)) < 0.02


def integers(x: Any) -> Any:
    made = torch.tensor(x.numpy().astype("int8"))
    lazyloom.sync(made)
    return made


@pytest.mark.parametrize("seed", range(4))
def test_bounds_hold(seed: int) -> None:
    random = numpy.random.default_rng(seed)
    x = (random.standard_normal((5, 16)) * 10.0**random.integers(-3, 4)).astype("float32")
    w = random.standard_normal((16, 16)).astype("float32")
    row = w[0].copy()
    ops: dict[str, Any] = {
        "matmul": lambda a, b, c: a @ b, "add": lambda a, b, c: a + c,
        "multiply": lambda a, b, c: a * c, "subtract": lambda a, b, c: a - c,
        "layer_norm": lambda a, b, c: torch.nn.functional.layer_norm(a, (16,), c, c),
        "norm": lambda a, b, c: torch.nn.functional.layer_norm(a, (16,)),
        "gelu": lambda a, b, c: torch.nn.functional.gelu(a),
        "silu": lambda a, b, c: torch.nn.functional.silu(a),
        "softmax": lambda a, b, c: torch.softmax(a, -1), "tanh": lambda a, b, c: torch.tanh(a),
        "slice": lambda a, b, c: torch.tanh(a[1:4] * c),
        "attention": lambda a, b, c: torch.nn.functional.scaled_dot_product_attention(a, b, b),
    }
    for name, op in ops.items():
        a, b, c = torch.tensor(x), torch.tensor(w), torch.tensor(row)
        lazyloom.sync(a, b, c)
        y = op(a, b, c)
        region = region_of(y)
        arrays = {(5, 16): x, (16, 16): w, (16,): row}
        known: dict[Any, float | None] = {}
        for n, call in enumerate(region.calls):
            given = [known[i.instruction] if isinstance(i, Result) else 0.0
                     if not isinstance(i, Leaf) or not (shape := region.operands[i.number].shape)
                     else bounds.of_array(arrays[shape]) for i in call.wired]
            known[n] = bounds.of_result(call, given)
        found, most = abs(y.numpy()).max(), known[max(known)]
        assert most is not None and found <= most, name
    assert bounds.of_array(numpy.array([1.0, numpy.nan], "float32")) is None
    assert bounds.of_array(numpy.array([1.0, -numpy.inf], "float32")) is None
    assert bounds.of_array(numpy.array([-7], "int8")) == 7
