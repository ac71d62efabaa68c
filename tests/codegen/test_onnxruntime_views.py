"""Models in which reshapes and transposes are views, beside NumPy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.codegen.onnxruntime import OnnxRuntime, made, session, views
from tests.codegen.test_onnxruntime import All, region_of

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


def shape_of(random: numpy.random.Generator, size: int) -> tuple[int, ...]:
    """A shape of some elements, with a 1 now and then."""
    shape: list[int] = []
    while size > 1:
        divisors = [d for d in range(1, size + 1) if size % d == 0]
        shape.append(int(random.choice(divisors)))
        size //= shape[-1]
    return tuple(shape) or (1,)


@pytest.mark.parametrize("seed", range(40))
def test_views_are_what_numpy_makes_of_the_same_steps(seed: int) -> None:
    random = numpy.random.default_rng(seed)
    array = numpy.arange(72.0).reshape(shape_of(random, 72))
    base, view = array, views.whole("x", array.shape)
    for _ in range(6):
        if random.random() < 0.5:
            axes = random.permutation(array.ndim)
            array, view = array.transpose(axes), view.transposed([int(d) for d in axes])
        else:
            shape = shape_of(random, 72)
            found = view.reshaped(shape)
            if found is None:
                continue
            array, view = array.reshape(shape), found
        assert view.shape == array.shape and math.prod(view.factors) == 72
        factored = base.reshape(view.factors).transpose(view.order).reshape(view.shape)
        numpy.testing.assert_array_equal(factored, array)
        if view.rows:
            assert numpy.ptp(array, axis=-1).max() == array.shape[-1] - 1


def test_shapes_that_divide_no_factors_are_no_views() -> None:
    view = views.whole("x", (4, 6))
    assert view.reshaped((6, 4)) is None
    turned = view.transposed((1, 0))
    assert turned.reshaped((24,)) is not None and turned.reshaped((8, 3)) is None
    there = turned.reshaped((2, 12))
    assert there is not None and not there.rows


def fields(message: bytes, number: int) -> list[bytes]:
    """The fields of a number that are messages or strings, of a message without fixed-size ones."""
    at, found = 0, []

    def varint() -> int:
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        size = varint()
        if key & 7 == 2:
            if key >> 3 == number:
                found.append(message[at:at + size])
            at += size
    return found


def added(region: codegen.Region, values: Mapping[int, Any]) -> list[str]:
    """The operators of a region's model, without the last Identity."""
    text, _ = session.model(region, values)
    (graph,) = fields(text, 7)
    found = [fields(node, 4)[0].decode() for node in fields(graph, 1)]
    assert found.pop() == "Identity"
    return found


def nodes(value: Any) -> list[str]:
    """The operators of the model of a pending value's program."""
    return added(region_of(value), {})


def run(value: Any, *arrays: numpy.ndarray) -> numpy.ndarray:
    """What a session gives for the program of a pending value, on its operands."""
    region = region_of(value)
    assert [t.shape for t in region.operands] == [a.shape for a in arrays]
    out = numpy.empty(region.results[0].shape, region.results[0].dtype.numpy)
    session.Session(region, {})(*arrays, out)
    return out


#: ops by row of 6 numbers, each for torch-like tensors and for NumPy's arrays
STEPS: dict[str, tuple[Any, Any]] = {
    "tanh": (torch.tanh, numpy.tanh),
    "double": (lambda x: x + x, lambda x: x + x),
    "softmax": (lambda x: torch.softmax(x, -1),
                lambda x: numpy.exp(x) / numpy.exp(x).sum(-1, keepdims=True)),
    "norm": (lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]),
             lambda x: (x - x.mean(-1, keepdims=True)) / numpy.sqrt(
                 x.var(-1, keepdims=True) + 1e-5)),
    "head": (lambda x: torch.cat([x[..., : x.shape[-1] // 2 + 1]] * 2, -1)[..., : x.shape[-1]],
             lambda x: numpy.concatenate(
                 [x[..., : x.shape[-1] // 2 + 1]] * 2, -1)[..., : x.shape[-1]]),
    "sum of rows": (lambda x: x + x.sum(-1, keepdim=True), lambda x: x + x.sum(-1, keepdims=True)),
}  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_of_moves_and_rows(seed: int) -> None:
    random = numpy.random.default_rng(seed)
    array = random.standard_normal(shape_of(random, 96)).astype("float32")
    x = torch.tensor(array)
    lazyloom.sync(x)
    given, tensor = array, x
    for _ in range(9):
        kind = random.integers(3)
        if kind == 0:
            axes = [int(d) for d in random.permutation(array.ndim)]
            array, tensor = array.transpose(axes), tensor.permute(axes)
        elif kind == 1:
            shape = shape_of(random, 96)
            array, tensor = array.reshape(shape), tensor.reshape(shape)
        else:
            ours, theirs = STEPS[str(random.choice(list(STEPS)))]
            array, tensor = theirs(array), ours(tensor)
    tensor = tensor + 0
    region = region_of(tensor)
    operands = [given if t.ndim else numpy.zeros((), t.dtype.numpy) for t in region.operands]
    out = numpy.empty(region.results[0].shape, "float32")
    session.Session(region, {})(*operands, out)
    numpy.testing.assert_allclose(out, array, rtol=2e-4, atol=2e-5)


def ready(*shapes: Sequence[int]) -> tuple[list[Any], list[numpy.ndarray]]:
    random = numpy.random.default_rng(5)
    arrays = [random.standard_normal(shape).astype("float32") for shape in shapes]
    tensors = [torch.tensor(a) for a in arrays]
    lazyloom.sync(*tensors)
    return tensors, arrays


def test_a_product_with_a_bias_and_a_norm_stay_in_the_order_of_the_operand() -> None:
    (x, w, b), (ax, aw, ab) = ready((4, 6, 8), (10, 8), (10,))
    y = torch.tanh(torch.nn.functional.linear(x.transpose(0, 1), w, b).transpose(0, 1))
    assert nodes(y) == ["Transpose", "MatMul", "Add", "Tanh"]  # the first is of the weights
    numpy.testing.assert_allclose(run(y, ax, aw, ab), numpy.tanh(ax @ aw.T + ab), atol=1e-5)


def test_rows_that_a_view_has_cut_are_moved() -> None:
    (x, w), (ax, aw) = ready((4, 6, 8), (5, 6))
    y = torch.nn.functional.linear(x.transpose(1, 2), w)
    assert nodes(y).count("Transpose") == 2
    numpy.testing.assert_allclose(run(y, ax, aw), ax.transpose(0, 2, 1) @ aw.T, atol=1e-5)


def attended(q: Any, k: Any, v: Any, causal: bool) -> Any:
    scores = q @ numpy.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5
    if causal:
        scores = numpy.where(numpy.tri(*scores.shape[-2:], dtype=bool), scores, -numpy.inf)
    scores = numpy.exp(scores - scores.max(-1, keepdims=True))
    return scores / scores.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", [(7, 7), (5, 9), (150, 150)])
def test_heads_side_by_side_are_one_operator(causal: bool, lengths: tuple[int, int]) -> None:
    (q, k, v), arrays = ready((2, lengths[0], 24), (2, lengths[1], 24), (2, lengths[1], 12))
    # nothing between is held, or it would be a result of the program
    y = torch.tanh(torch.nn.functional.scaled_dot_product_attention(
        *[x.reshape(2, x.shape[1], 3, x.shape[2] // 3).transpose(1, 2) for x in (q, k, v)],
        is_causal=causal).transpose(1, 2).reshape(2, lengths[0], 12))
    # the operator would add -inf to what is hidden, and so show NaN
    assert (nodes(y) == ["MultiHeadAttention", "Tanh"]) == (not causal)
    by_head = [a.reshape(2, a.shape[1], 3, -1).swapaxes(1, 2) for a in arrays]
    expected = attended(*by_head, causal).swapaxes(1, 2).reshape(2, lengths[0], 12)
    numpy.testing.assert_allclose(run(y, *arrays), numpy.tanh(expected), atol=2e-6)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("value", [numpy.nan, numpy.inf, -numpy.inf])
@pytest.mark.parametrize("which", range(3))
def test_attention_keeps_nan_and_infinities_and_hides_them(
    causal: bool, value: float, which: int
) -> None:
    _, arrays = ready((2, 6, 8), (2, 6, 8), (2, 6, 8))
    arrays[which][1, 4, 3] = value
    q, k, v = map(torch.tensor, arrays)
    lazyloom.sync(q, k, v)

    def attend() -> Any:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    assert (nodes(attend()) == ["MultiHeadAttention"]) == (not causal)
    found = run(attend(), *arrays)
    with codegen.use("xla"):
        expected = attend().numpy()
    numpy.testing.assert_array_equal(numpy.isnan(found), numpy.isnan(expected))
    finite = numpy.isfinite(expected)
    numpy.testing.assert_array_equal(found[~finite], expected[~finite])
    numpy.testing.assert_allclose(found[finite], expected[finite], rtol=1e-5, atol=1e-6)


def test_a_layer_of_a_transformer_moves_nothing() -> None:
    layer = torch.nn.TransformerEncoderLayer(
        24, 3, 32, dropout=0.0, activation="gelu", batch_first=True).eval()
    x = torch.randn(2, 5, 24)
    with torch.no_grad(), lazyloom.options(reproducible=True):
        lazyloom.sync(x, *layer.parameters())
        with codegen.use(All.name):
            found = layer(x).numpy()
            model = lazyloom.last_evaluation().program
        (part,) = codegen.partition(
            model.structure, model.outputs, [codegen.available()[All.name]]).parts
        with codegen.use("xla"):
            expected = layer(x).numpy()
    region = part.region
    assert all(t.ndim for t in region.operands), "where slices begin is known"
    found_nodes = added(region, {
        k: numpy.ones(region.operands[k].shape, "float32") for k in range(1, 3)})
    # those of weights, which are folded where these are bound
    assert found_nodes.count("Transpose") == found_nodes.count("MatMul") == 4
    assert "MultiHeadAttention" in found_nodes and "Where" not in found_nodes
    assert abs(found - expected).max() <= OnnxRuntime.tolerance * 1.2e-7 * abs(expected).max()
