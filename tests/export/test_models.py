"""A ResNet-18 and a GPT-2 that samples: from every frontend and by JAX alone.

tests/capi/test_exported.py calls them from C.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from tests.export import models, plain_jax
from tests.export.models import Exported

pytestmark = [pytest.mark.xla, pytest.mark.usefixtures("quick_compiler")]


@pytest.fixture(scope="module")
def resnet(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return models.resnet(tmp_path_factory.mktemp("resnet"))


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return models.gpt2(tmp_path_factory.mktemp("gpt2"))


def test_a_resnet_from_every_frontend(resnet: Exported) -> None:
    path, x, expected = resnet
    with lazyloom.options(reproducible=True):
        from_numpy = lazyloom.load(path)(np.array(x))
        assert isinstance(from_numpy, np.ndarray)
        numpy.testing.assert_array_equal(numpy.asarray(from_numpy), expected[0])
        from_torch = torch.export.load(path).module()(torch.tensor(x))
        assert isinstance(from_torch, torch.Tensor)
        numpy.testing.assert_array_equal(from_torch.numpy(), expected[0])
    numpy.testing.assert_allclose(plain_jax.run(str(path), x)[0], expected[0], rtol=1e-4, atol=1e-5)


def test_a_sampling_gpt2_from_every_frontend(gpt2: Exported) -> None:
    path, tokens, expected = gpt2
    with lazyloom.options(reproducible=True):
        from_numpy = lazyloom.load(path)
        # tied weights are stored once
        assert from_numpy.aliases == {"model.lm_head.weight": "model.transformer.wte.weight"}
        module = torch.export.load(path).module()
        states = [s.state for s in from_numpy.generators]
        for each in expected:
            numpy.testing.assert_array_equal(
                numpy.asarray(from_numpy(np.array(tokens))), each)
            numpy.testing.assert_array_equal(module(torch.tensor(tokens)).numpy(), each)
    assert module.model.lm_head.weight is module.model.transformer.wte.weight
    by_jax = plain_jax.run(str(path), tokens, states=states)
    numpy.testing.assert_array_equal(by_jax[0], expected[0])


def test_an_exported_program_of_the_torch_like_frontend(tmp_path: Path) -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(3, 2)
            self.register_buffer("scale", torch.tensor(2.0))

        def forward(self, x: Any, shift: Any = None) -> Any:
            y = self.linear(x) * self.scale
            return y if shift is None else y + shift

    model = Model()
    batch = torch.export.Dim("batch", min=1, max=3)
    x, shift = torch.ones(2, 3), torch.ones(2)
    program = torch.export.export(
        model, (x,), {"shift": shift}, dynamic_shapes={"x": {0: batch}, "shift": None})
    assert sorted(program.state_dict) == ["linear.bias", "linear.weight", "scale"]
    assert [name for name, _ in program.named_buffers()] == ["scale"]
    assert len(list(program.parameters())) == 2 and program.constants == {}
    with pytest.raises(RuntimeError, match="module\\(\\)"):
        program(x)
    torch.export.save(program, tmp_path / "m.loom")
    module = torch.export.load(tmp_path / "m.loom").module()
    assert sorted(module.state_dict()) == sorted(model.state_dict())
    for n in (1, 3):
        numpy.testing.assert_allclose(
            module(torch.ones(n, 3), shift=shift).numpy(),
            model(torch.ones(n, 3), shift).detach().numpy(), rtol=1e-6)
    with pytest.raises(ValueError, match="batch=4 is called for"):
        module(torch.ones(4, 3), shift=shift)
    # its parameters are its own, and the program takes them as they are
    with torch.no_grad():
        module.linear.weight.zero_()
        module.linear.bias.fill_(1)
    numpy.testing.assert_array_equal(module(x, shift=shift).numpy(), numpy.full((2, 2), 3.0))
    with pytest.raises(NotImplementedError):
        module.train()
    with pytest.raises(ValueError, match="no largest extent"):
        torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("b")},))
    with pytest.raises(ValueError, match="once for each extent"):
        torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    with pytest.raises(NotImplementedError, match="torch.export.unflatten is out of scope"):
        torch.export.unflatten(program)
