"""Functions quantised to int8: folding, calibration, pruning, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom.dtypes import float32, int8, uint8
from lazyloom.errors import ArgumentError, ReadForbiddenError
from lazyloom.evaluate.reading import read
from lazyloom.quantization import quantize
from lazyloom.quantization.folding import constant, fold_batch_norms
from lazyloom.quantization.graph import Given, OpGraph, OpOutput, Source, made_by
from lazyloom.quantization.placing import scale_of
from lazyloom.quantization.pruning import pruned
from lazyloom.tensor.host import from_host
from lazyloom.types import tensor_type

nn = torch.nn
SHAPE = (2, 3, 6, 6)


def images(*shape: int, seed: int = 0) -> Any:
    random = numpy.random.default_rng(seed)
    return torch.tensor(random.standard_normal(shape).astype("float32"))


class Block(nn.Module):  # type: ignore[misc]
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.a = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs))
        self.b = nn.Sequential(nn.Conv2d(outputs, outputs, 3, 1, 1), nn.BatchNorm2d(outputs))
        self.short = nn.Identity() if inputs == outputs else nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Any) -> Any:
        return torch.relu(self.b(torch.relu(self.a(x))) + self.short(x))


def network() -> Any:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        Block(16, 16, 1), Block(16, 32, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(32, 10))
    # moments that are not those of a new network
    model.train()
    for seed in range(3):
        model(images(8, 3, 16, 16, seed=seed) * 2 + 1)
    return model.eval()


def names(text: str) -> list[str]:
    return [line.split(" = ")[1].split("(")[0] for line in text.splitlines() if " = " in line]


def test_a_network_with_sums_is_near_to_the_one_in_float32() -> None:
    model = network()
    fast = quantize(model, [(images(4, 3, 16, 16, seed=seed),) for seed in range(4)])
    x = images(4, 3, 16, 16, seed=9)
    with torch.no_grad():
        expected = model(x).numpy()
    found = fast(x)
    assert type(found) is type(x) and not found.requires_grad
    apart = numpy.abs(found.numpy() - expected)
    assert apart.max() < 0.05 * expected.std()
    assert apart.max() > 0, "nothing was rounded"
    ops = names(fast.text(x))
    assert "batch_norm_infer" not in ops and "relu" not in ops
    assert ops.count("conv") == 6 and ops.count("quantize") == 8
    assert [v.made_by for v in fast.values] == [
        "", "max_pool", "relu", "relu", "relu", "add", "relu", "reshape"]
    assert [v.dtype for v in fast.values] == [int8, *[uint8] * 4, int8, uint8, uint8]


def test_each_convolution_takes_integers_and_gives_them() -> None:
    model = network()
    x = images(4, 3, 16, 16)
    lines = quantize(model, [x]).text(x).splitlines()
    made = {line.split(" = ")[0]: line.split(" = ")[1] for line in lines if " = " in line}
    for line in made.values():
        if line.startswith("conv("):
            first, second = line[5:].split(")")[0].split(", ")
            assert made[first].startswith("dequantize(")
            assert made[second].startswith("dequantize(constant int8[")
        if line.startswith("max_pool("):
            assert line.endswith(": uint8[4,16,8,8]")


def test_other_batches_use_the_same_scales() -> None:
    model = network()
    x = images(4, 3, 16, 16)
    fast = quantize(model, [x])
    whole = fast(x).numpy()
    numpy.testing.assert_allclose(fast(x[:1]).numpy(), whole[:1], atol=1e-5)
    numpy.testing.assert_allclose(fast(x[1:]).numpy(), whole[1:], atol=1e-5)


def test_the_function_is_taken_as_it_was() -> None:
    model = network()
    x = images(4, 3, 16, 16)
    fast = quantize(model, [x])
    before = fast(x).numpy()
    with torch.no_grad():
        model[-1].bias += 100
    numpy.testing.assert_array_equal(fast(x).numpy(), before)


def test_functions_of_several_arrays_and_frontends() -> None:
    random = numpy.random.default_rng(0)
    w = np.array(random.standard_normal((8, 5)).astype("float32"))

    def function(given: Any) -> Any:
        a, b = given["a"], given["b"]
        return {"product": np.matmul(a, w), "sum": (a + 1, b)}

    given = {"a": np.array(numpy.linspace(-2, 2, 24, dtype="float32").reshape(3, 8)),
             "b": np.arange(3)}
    found = quantize(function, [given])(given)
    numpy.testing.assert_allclose(found["product"], function(given)["product"], atol=0.1)
    assert type(found["product"]) is type(w)
    assert found["sum"][0].tolist() == (given["a"] + 1).tolist()
    assert found["sum"][1].tolist() == [0, 1, 2]


def test_what_is_skipped_stays_as_it_is() -> None:
    model = network()
    x = images(4, 3, 16, 16)
    fast = quantize(model, [x], skip=(0, -1))
    text = fast.text(x)
    assert "conv(argument 0, constant float32[16,3,3,3])" in text
    assert "dot_general(" in text and "constant float32[10,32])" in text
    assert len(fast.values) == 6


def test_a_percentile_ignores_what_lies_far_out() -> None:
    w = images(4, 8)
    x = images(200, 8)
    x[0, 0] = 1000.0
    y = torch.abs(x)
    linear = torch.nn.functional.linear
    (whole,) = quantize(lambda x: linear(x, w), [x]).values
    (most,) = quantize(lambda x: linear(x, w), [x], percentile=99.5).values
    (least,) = quantize(lambda x: linear(x, w), [y], percentile=99.5).values
    assert whole.scale == pytest.approx(1000 / 127)
    assert 2 / 127 < most.scale < 4 / 127 and most.dtype is int8
    assert 2 / 255 < least.scale < 4 / 255 and least.dtype is uint8


def test_scales() -> None:
    assert scale_of(0, 510) == (2, uint8)
    assert scale_of(-254, 100) == (2, int8)
    assert scale_of(-1, 127) == (1, int8)
    assert scale_of(0, 0) == (1, uint8)


# Rewriting


def graph(*results: Source) -> OpGraph:
    """The graph that leads to some results."""
    ops: dict[Any, None] = {}

    def visit(x: Any) -> None:
        if isinstance(x, OpOutput) and x.op not in ops:
            for y in x.op.operands:
                visit(y)
            ops[x.op] = None

    for x in results:
        visit(x)
    return OpGraph(list(ops), list(results))


def op(name: str, *operands: Source | None, **attributes: Any) -> OpOutput:
    return OpOutput(made_by(name, operands, **attributes), 0)


def shown(found: OpGraph) -> list[str]:
    return [o.kind.name for o in found.ops]


X = Given(0, tensor_type(SHAPE, float32))
ONE, TWO = constant(0.5), constant(0.25)


def round_(x: Source, scale: Source = ONE, dtype: Any = uint8, **more: Any) -> OpOutput:
    return op("quantize", x, scale, dtype=dtype, **more)


def back(x: Source, scale: Source = ONE, **more: Any) -> OpOutput:
    return op("dequantize", x, scale, **more)


def test_pairs_with_equal_parameters_go() -> None:
    first = round_(X)
    again = round_(back(round_(back(first))))
    found = pruned(graph(op("negative", back(again))))
    assert shown(found) == ["quantize", "dequantize", "negative"]


def test_pairs_with_other_parameters_stay() -> None:
    zero = constant(3, numpy.uint8)
    for last in (
        round_(back(round_(X)), TWO), round_(back(round_(X)), dtype=int8),
        op("quantize", back(round_(X)), ONE, zero, dtype=uint8),
        round_(op("dequantize", round_(X), ONE, zero)),
        round_(back(round_(X)), constant(0.5)),
    ):
        assert shown(pruned(graph(last))) == ["quantize", "dequantize", "quantize"]
    each = constant([0.5, 0.5, 0.5])
    whole = graph(round_(back(round_(X, each, axis=1), each, axis=1), each, axis=1))
    assert shown(pruned(whole)) == ["quantize"]
    mixed = graph(round_(back(round_(X, each, axis=1), each, axis=1), ONE))
    assert shown(pruned(mixed)) == ["quantize", "dequantize", "quantize"]


def test_equal_quantisations_become_one() -> None:
    y = op("negative", X)
    found = pruned(graph(op("add", back(round_(y)), back(round_(y))), round_(y)))
    assert shown(found) == ["negative", "quantize", "dequantize", "dequantize", "add"]


def test_a_limit_at_zero_is_that_of_unsigned_numbers() -> None:
    assert shown(pruned(graph(round_(op("relu", X))))) == ["quantize"]
    assert shown(pruned(graph(round_(op("relu", X), dtype=int8)))) == ["relu", "quantize"]
    zero = constant(3, numpy.uint8)
    shifted = op("quantize", op("relu", X), ONE, zero, dtype=uint8)
    assert shown(pruned(graph(shifted))) == ["relu", "quantize"]
    y = op("relu", X)
    assert shown(pruned(graph(round_(y), y))) == ["relu", "quantize"]


def test_what_selects_elements_selects_integers() -> None:
    first = back(round_(X))
    pool = op("max_pool", op("relu", first), window=(2, 2), padding_low=(1, 1))
    flat = op("reshape", op("transpose", pool, axes=(0, 2, 3, 1)), shape=(2, -1))
    found = pruned(graph(round_(flat)))
    assert shown(found) == ["quantize", "max_pool", "transpose", "reshape"]
    assert found.results[0].type.text == "uint8[2,108]"
    flat = op("reshape", X, shape=(6, 36))
    found = pruned(graph(round_(flat, constant(numpy.ones(6)), axis=0)))
    assert shown(found) == ["reshape", "quantize"]


def test_pruning_changes_no_result() -> None:
    y = op("relu", op("subtract", X, TWO))
    pool = op("max_pool", y, window=(3, 3), padding_low=(1, 0), padding_high=(2, 1))
    flat = op("reshape", pool, shape=(2, -1))
    integers = round_(flat, TWO)
    whole = graph(round_(back(integers, TWO), TWO), op("negative", back(integers, TWO)))
    short = pruned(whole)
    assert len(short.ops) < len(whole.ops) and "relu" not in shown(short)
    data = numpy.random.default_rng(0).normal(0, 30, SHAPE).astype("float32")
    given = from_host(data)
    for a, b in zip(whole.run([given]), short.run([given]), strict=True):
        numpy.testing.assert_array_equal(read(a), read(b))


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("given", ["weight bias", "weight", "bias", ""])
def test_batch_norms_become_part_of_convolutions(biased: bool, given: str) -> None:
    random = numpy.random.default_rng(0)

    def numbers(*shape: int) -> Any:
        return constant(random.uniform(0.5, 2, shape))

    y = op("conv", X, numbers(4, 3, 3, 3), padding_low=(1, 1), strides=(2, 1))
    if biased:
        y = op("add", y, numbers(4, 1, 1))
    weight, bias = (numbers(4) if name in given else None for name in ("weight", "bias"))
    y = op("batch_norm_infer", y, numbers(4), numbers(4), weight, bias, eps=0.1)
    whole = graph(y)
    short = fold_batch_norms(whole)
    assert shown(short) == ["conv", "add"]
    x = from_host(random.standard_normal(SHAPE).astype("float32"))
    (a,), (b,) = whole.run([x]), short.run([x])
    numpy.testing.assert_allclose(read(b), read(a), rtol=1e-4, atol=1e-4)


def test_batch_norms_of_what_others_use_stay() -> None:
    each = constant([1.0, 2, 3, 4])
    y = op("conv", X, constant(numpy.ones((4, 3, 3, 3))))
    normal = op("batch_norm_infer", y, each, each, eps=0.1)
    assert shown(fold_batch_norms(graph(normal, y))) == ["conv", "batch_norm_infer"]
    moment = op("reshape", op("slice", X, starts=(0, 0, 0, 0), stops=(1, 1, 1, 4)), shape=(4,))
    normal = op("batch_norm_infer", y, moment, each, eps=0.1)
    assert "batch_norm_infer" in shown(fold_batch_norms(graph(normal)))


# Errors


def _linear(x: Any) -> Any:
    return torch.nn.functional.linear(x, torch.ones(4, 8))


def _reads(x: Any) -> Any:
    return x * float(x.sum())


@pytest.mark.parametrize("function, batches, error, text", [
    (_linear, [], ArgumentError, "no batch was given, expected one or more to find scales"),
    (_linear, [3.0], ArgumentError, "an argument has a float, expected tensors"),
    (_linear, [torch.ones(2, 8), torch.ones(3, 8)], ArgumentError,
     "a batch is of float32[3,8], expected float32[2,8] as the first"),
    (_linear, [torch.full((2, 8), float("inf"))], ArgumentError,
     "a float32[2,8] has numbers from inf to inf in a batch, expected finite ones"),
    (torch.tanh, [torch.ones(2)], ArgumentError,
     "no convolution or product of float32 with weights that depend on no argument"),
    (lambda x: x @ x, [torch.ones(2, 2)], ArgumentError, "no convolution or product"),
    (lambda x: 3, [torch.ones(2, 2)], ArgumentError, "the function gave a int, expected tensors"),
    (_reads, [torch.ones(2)], ReadForbiddenError, "there is no data yet"),
    (3, [torch.ones(2)], ArgumentError, "a int was given to quantise, expected a function"),
])
def test_errors(
    function: Any, batches: list[Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as caught:
        quantize(function, batches)
    assert text in str(caught.value)


def test_errors_of_arguments() -> None:
    with pytest.raises(ArgumentError, match="percentile is 30, expected more than 50"):
        quantize(_linear, [torch.ones(2, 8)], percentile=30)
    fast = quantize(lambda x: _linear(x) if x.shape[0] < 9 else torch.tanh(_linear(x)),
                    [torch.ones(2, 8)])
    assert fast(torch.ones(3, 8)).shape == (3, 4)
    with pytest.raises(ArgumentError, match="records 2 ops .* expected the 1 of the batches"):
        fast(torch.ones(9, 8))
    with pytest.raises(ArgumentError, match="an argument has a int, expected tensors"):
        fast(3)
