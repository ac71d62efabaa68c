"""The generator in ``examples/codegen_accelerator``: own memory, channels last, int8."""

from __future__ import annotations

import gc
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyloom
import lazyloom_torch as torch
from docs.pages import ROOT
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
]


@pytest.fixture(scope="module")
def module() -> Any:
    path = ROOT / "examples" / "codegen_accelerator" / "npu.py"
    spec = importlib.util.spec_from_file_location("npu_example", path)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules["npu_example"] = loaded
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture
def npu(module: Any) -> Any:
    made = module.Npu()
    codegen.register(made)
    return made


rng = np.random.default_rng(0)
IMAGES = rng.integers(-128, 128, (2, 3, 16, 16)).astype(np.int8)
WEIGHTS = rng.integers(-127, 128, (16, 3, 3, 3)).astype(np.int8)
SCALES = rng.uniform(0.001, 0.01, 16).astype(np.float32)
BIAS = rng.standard_normal((16, 1, 1)).astype(np.float32)


class Layer:
    """A quantised convolution, whose weights stay as they are."""

    def __init__(self, **attributes: Any) -> None:
        self.w, self.scales, self.bias = map(torch.tensor, (WEIGHTS, SCALES, BIAS))
        self.scale = torch.tensor(0.02)
        self.attributes = {"padding_low": (1, 1), "padding_high": (1, 1), **attributes}

    def __call__(self, images: Any, high: float | None = 6) -> Any:
        x = lazyloom.apply("dequantize", [torch.tensor(images), self.scale], {})
        w = lazyloom.apply("dequantize", [self.w, self.scales], {"axis": 0})
        y = lazyloom.apply("conv", [x, w], self.attributes)
        total = torch.Tensor.from_value(y.value) + self.bias
        return total if high is None else torch.clamp(total, 0, high)


def both(make: Callable[[], Any]) -> tuple[Any, list[str], Any]:
    """What the generator gives, who did what, and what XLA gives."""
    with codegen.use("xla"):
        expected = make().numpy()
    with codegen.use("npu"):
        found = make().numpy()
        evaluation = lazyloom.last_evaluation()
        assert evaluation is not None and evaluation.program is not None
        told = codegen.explain(evaluation.program)
        done = [told.generator(n) for n in range(len(told.partition.owner))]
    assert not codegen.failures()
    return found, done, expected


@pytest.mark.parametrize(("attributes", "high"), [
    ({}, 6), ({}, None), ({"strides": (2, 1)}, 6), ({"padding_low": (0, 2)}, 6)])
def test_layers_are_as_xlas(npu: Any, attributes: dict[str, Any], high: float | None) -> None:
    found, done, expected = both(lambda: Layer(**attributes)(IMAGES, high))
    assert set(done) == {"npu"}
    unit = 2.0**-23 * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=npu.tolerance * unit)
    assert not npu.device.memory or len(npu.device.memory) == 1


def test_what_it_does_not_do_is_xlas(npu: Any) -> None:
    # another bound: the convolution is the device's, and the clip XLA's
    found, done, expected = both(lambda: Layer()(IMAGES, 5))
    assert done.count("xla") == 1 and done[-1] == "xla"
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    _, done, _ = both(lambda: Layer(dilation=(2, 2))(IMAGES))
    assert set(done) == {"xla"}
    # reductions
    _, done, _ = both(lambda: Layer()(IMAGES).mean((2, 3)))
    assert done[-1] == "xla" and done.count("npu") == 5


def test_weights_are_moved_once(npu: Any) -> None:
    layer = Layer()
    with codegen.use("npu"), torch.no_grad():
        layer(IMAGES).numpy()
        layer(IMAGES).numpy()
        before = npu.device.uploaded
        for shift in range(3):
            layer(np.roll(IMAGES, shift, 3)).numpy()
        # images and results; no weights
        assert npu.device.uploaded - before == 3 * (IMAGES.nbytes + 2 * 16 * 16 * 16 * 4)
        assert len(npu.device.memory) == 1
    # and let go of with the layer
    del layer
    gc.collect()
    assert not npu.device.memory


def test_it_is_verified(npu: Any) -> None:
    with codegen.use("npu"), codegen.verify():
        Layer()(IMAGES).numpy()
        evaluation = lazyloom.last_evaluation()
        assert evaluation is not None and evaluation.regions.verified
    assert not codegen.failures()


def test_it_is_short() -> None:
    lines = (ROOT / "examples/codegen_accelerator/npu.py").read_text().count("\n")
    assert lines < 220


def test_the_kit_tests_it_on_a_network() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lazyloom", "codegen", "test", "npu", "--no-times", "--verbose",
         "--program", "npu_programs:layer"], text=True, capture_output=True, timeout=300,
        cwd=ROOT / "examples" / "codegen_accelerator")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "program npu_programs:layer: 14 ops: npu 10, xla 4; 2 regions" in done.stdout
    assert "fault: the run fails: npu_programs:layer: noticed at run" in done.stdout
