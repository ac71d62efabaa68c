"""Regions of inference by ONNX Runtime, beside XLA's.

The samples of the ops that it does are in test_samples.py.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.cache import memory
from lazyloom.codegen import onnxruntime, registry
from lazyloom.codegen.onnxruntime import OnnxRuntime, made, session

_generator = made()
pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(
        _generator is None or bool(engines.available()), reason="onnxruntime is not installed"),
]
EPS = float(numpy.finfo("float32").eps)


class All(OnnxRuntime):
    """Regions of any size."""

    name = "onnxruntime_all"

    def worthwhile(self, region: codegen.Region) -> codegen.Answer:
        return codegen.YES


@pytest.fixture(autouse=True)
def known() -> None:
    assert _generator is not None
    if All.name not in codegen.available():
        codegen.register(All(_generator.version))


def assert_alike(found: Any, expected: Any, tolerance: float) -> None:
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if found.dtype.kind != "f":
        numpy.testing.assert_array_equal(found, expected)
        return
    numpy.testing.assert_array_equal(numpy.isnan(found), numpy.isnan(expected))
    numpy.testing.assert_array_equal(numpy.isinf(found), numpy.isinf(expected))
    finite = numpy.isfinite(expected)
    numpy.testing.assert_array_equal(found[~finite], expected[~finite])
    largest = float(abs(expected[finite]).max(initial=0))
    error = float(abs(found[finite].astype("f8") - expected[finite]).max(initial=0))
    assert error <= tolerance * EPS * largest, f"{error / EPS / max(largest, 1e-300)} units"


class Block(torch.nn.Module):
    """A residual block, as ResNet-18 has them."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        nn = torch.nn
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(outputs), nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs))
        self.short = nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Any) -> Any:
        return torch.relu(self.body(x) + self.short(x))


def network() -> Any:
    """A small residual network, whose statistics are no longer those at the start."""
    nn = torch.nn
    torch.manual_seed(3)
    found = nn.Sequential(
        nn.Conv2d(3, 16, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        nn.MaxPool2d(3, 2, 1), Block(16, 16, 1), Block(16, 32, 2), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(32, 10), nn.Softmax(-1))
    with torch.no_grad():
        found(torch.randn(4, 3, 48, 48))
    lazyloom.sync(*found.buffers())
    return found.eval()


def encoder() -> Any:
    """Two layers of a transformer."""
    torch.manual_seed(4)
    return torch.nn.Sequential(*[
        torch.nn.TransformerEncoderLayer(
            64, 2, 128, batch_first=True, activation="gelu", dropout=0.0) for _ in range(2)]).eval()


WHOLE = {"ResNet": (network, (2, 3, 48, 48)), "transformer": (encoder, (2, 24, 64))}


@pytest.fixture
def empty(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(tmp_path))
    memory.clear()


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_network_runs_as_one_region_with_its_weights_bound(name: str, empty: None) -> None:
    make, shape = WHOLE[name]
    model = make()
    images = [torch.randn(*shape) for _ in range(3)]
    with torch.no_grad():
        with codegen.use("xla"):
            expected = [model(x).numpy() for x in images]
        with codegen.use("onnxruntime"):
            bound = lazyloom.stats()["constants_bound"]
            for x, other in zip(images, expected, strict=True):
                y = model(x)
                report = codegen.explain(lazyloom.program_of(y))
                assert_alike(y.numpy(), other, OnnxRuntime.tolerance)
            assert report.coverage == 1 and not report.left_behind()
            assert lazyloom.last_evaluation().regions.text() == "1 by onnxruntime"
            weights = sum(1 for _ in model.parameters()) + sum(
                b.ndim > 0 for b in model.buffers())
            assert lazyloom.stats()["constants_bound"] - bound == weights
            # an update is seen at once
            for p in model.parameters():
                p.mul_(1.25)
            found = model(images[0]).numpy()
        with codegen.use("xla"):
            assert_alike(found, model(images[0]).numpy(), OnnxRuntime.tolerance)
        assert abs(found - expected[0]).max() > 1e-3
    assert not codegen.failures()


def attention(x: Any, weights: Mapping[str, Any]) -> Any:
    """A layer of a transformer in NumPy's words, by whichever module's arrays it is given."""
    def normal(v: Any, scale: Any) -> Any:
        centred = v - v.mean(axis=-1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5) * scale

    q, k, v = (x @ weights[name] for name in "qkv")
    scores = q @ np.swapaxes(k, -1, -2) / 8
    seen = np.exp(scores)
    x = normal(x + (seen / seen.sum(axis=-1, keepdims=True)) @ v, weights["s"])
    return x + np.tanh(x @ weights["a"] + weights["b"]) @ weights["c"]


def test_a_transformer_through_the_other_frontend(empty: None) -> None:
    random = numpy.random.default_rng(2)
    shapes = {"q": (64, 64), "k": (64, 64), "v": (64, 64), "s": (64,), "a": (64, 128),
              "b": (128,), "c": (128, 64)}
    weights = {name: np.asarray(random.standard_normal(shape).astype("float32") / 8)
               for name, shape in shapes.items()}
    for run in range(3):
        x = random.standard_normal((2, 40, 64)).astype("float32")
        with codegen.use("xla"):
            expected = numpy.asarray(attention(np.asarray(x), weights))
        with codegen.use("onnxruntime"):
            y = attention(np.asarray(x), weights)
            report = codegen.explain(lazyloom.program_of(y))
            bound = lazyloom.stats()["constants_bound"]
            assert_alike(numpy.asarray(y), expected, OnnxRuntime.tolerance)
            assert (lazyloom.stats()["constants_bound"] - bound == 7) == (run == 1)
    assert report.coverage > 0.9 and not report.left_behind()


def test_training_steps_agree_and_backward_ops_are_left_to_xla() -> None:
    images = torch.randn(4, 3, 48, 48)
    found = {}
    for name in ("xla", "onnxruntime"):
        with codegen.use(name):
            model = network()
            for _ in range(2):
                loss = (model(images) ** 2).sum()
                loss.backward()
                with torch.no_grad():
                    for p in model.parameters():
                        p -= 0.01 * p.grad
                        p.grad = None
            loss = (model(images) ** 2).sum()
            loss.backward()
            report = codegen.explain(lazyloom.program_of(loss, *[
                p.grad for p in model.parameters()]))
            found[name] = [loss.item(), *[p.grad.numpy() for p in model.parameters()]]
    told = str(report)
    assert "onnxruntime" in told and "a derivative, and its regions are of inference" in told
    for a, b in zip(*found.values(), strict=True):
        numpy.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_it_is_in_use_only_where_it_is_named() -> None:
    assert "onnxruntime" in codegen.available()
    assert "onnxruntime" not in registry.at_first()
    assert codegen.use("onnxruntime") and codegen.in_use() == ("onnxruntime",)
    assert _generator is not None and f"onnxruntime={_generator.version}" in registry.versions(
        ("onnxruntime",))


def test_small_regions_are_not_worth_it() -> None:
    with codegen.use("onnxruntime"):
        y = torch.tanh(torch.randn(8, 8) @ torch.randn(8, 8))
        report = codegen.explain(lazyloom.program_of(y))
        assert report.coverage == 0 and "multiplications, expected" in str(report)


def test_a_session_that_cannot_be_made_leaves_the_region_to_xla(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: Any, **more: Any) -> Any:
        raise RuntimeError("no sessions today")

    x, w = torch.randn(90, 120), torch.randn(120, 110)
    monkeypatch.setattr(session.runtime(), "InferenceSession", refuse)
    with codegen.use("onnxruntime"), pytest.warns(RuntimeWarning, match="no sessions today"):
        found = torch.tanh(x @ w).numpy()
    with codegen.use("xla"):
        assert_alike(found, torch.tanh(x @ w).numpy(), 0)
    assert codegen.failures()[0].when == "build"


def test_a_run_that_fails_is_done_by_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Any, *arrays: Any) -> None:
        raise RuntimeError("it ran away")

    # sums of order 1, of which tanh keeps the bits
    x, w = torch.randn(90, 130), torch.randn(130, 110) / 130**0.5
    monkeypatch.setattr(session.Session, "__call__", fail)
    with codegen.use("onnxruntime"), pytest.warns(RuntimeWarning, match="it ran away"):
        found = torch.tanh(x @ w).numpy()
    with codegen.use("xla"):
        assert_alike(found, torch.tanh(x @ w).numpy(), 64)


def region_of(value: Any) -> codegen.Region:
    program = lazyloom.program_of(value)
    (part,) = codegen.partition(
        program.structure, program.outputs, [codegen.available()[All.name]]).parts
    return part.region


def test_weights_are_what_is_used_as_such_alone() -> None:
    x, w, b = torch.randn(4, 8), torch.randn(6, 8), torch.randn(6)
    lazyloom.sync(x, w, b)

    def found(value: Any) -> list[tuple[int, ...]]:
        region = region_of(value)
        return [region.operands[k].shape for k in onnxruntime.weights(region)]

    assert found(torch.nn.functional.linear(x, w, b)) == [(6, 8), (6,)]
    # behind what moves it, too, but not where its values are asked for or the other operand is
    assert found(x @ w.T.reshape(8, 6)) == [(6, 8)]
    assert found(torch.tanh(w) @ x.T) == [(4, 8)]
    assert found((x @ w.T) @ (x @ w.T).T) == [(6, 8)]
    assert found((x @ w.T) + w.sum()) == []


@pytest.mark.parametrize("name", WHOLE)
def test_models_are_what_the_format_says(name: str) -> None:
    onnx = pytest.importorskip("onnx")
    make, shape = WHOLE[name]
    with torch.no_grad():
        region = region_of(make()(torch.randn(*shape)))
    values = {k: numpy.ones(region.operands[k].shape, "float32")
              for k in onnxruntime.weights(region)}
    for bound in ({}, values):
        text, outputs = session.model(region, bound)
        found = onnx.load_model_from_string(text)
        onnx.checker.check_model(found, full_check=True)
        assert len(found.graph.input) == len(region.operands) - len(bound)
        assert [each.name for each in found.graph.output] == outputs


def test_threads_may_run_one_region_at_once() -> None:
    model = encoder()
    x = [torch.randn(2, 24, 64) for _ in range(3)]
    with codegen.use("onnxruntime"), torch.no_grad():
        expected = [model(each).numpy() for each in x]
        wrong: list[int] = []

        def work(k: int) -> None:
            with lazyloom.options(reproducible=True), torch.no_grad():
                for _ in range(10):
                    if not numpy.allclose(model(x[k]).numpy(), expected[k], atol=1e-5):
                        wrong.append(k)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not wrong and not codegen.failures()


def test_the_threads_of_a_session_are_those_of_openmp_or_the_processors(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert session.threads() == 3
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert session.threads() >= 1
