"""What the frontends make public is pickled by name, and what holds it can be saved and copied."""

from __future__ import annotations

import copy
import functools
import importlib
import io
import pickle
import pkgutil
import types
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom_torch import nn
from lazyloom_torch.nn import functional as F  # noqa: N812


def modules(package: Any) -> Iterator[Any]:
    yield package
    def without_it(name: str) -> None:
        assert name.endswith(".tensorboard"), name  # that package need not be installed

    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.", without_it):
        if any(part.startswith("_") for part in found.name.split(".")):
            continue
        try:
            yield importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            if error.name != "tensorboard":
                raise


def lost(namespace: dict[str, Any], package: str) -> list[str]:
    """The public functions and classes that are not what their pickles lead to."""
    kinds = (types.FunctionType, type, np.ufunc, torch.dtype)
    found = []
    for name, value in namespace.items():
        if name.startswith("_") or not isinstance(value, kinds):
            continue
        if isinstance(value, (types.FunctionType, type)) and (
            not (value.__module__ or "").startswith(package)
        ):
            continue
        try:
            if pickle.loads(pickle.dumps(value)) is not value:
                found.append(name)
        except Exception:
            found.append(name)
    return found


@pytest.mark.parametrize("package", [np, torch], ids=["numpy", "torch"])
def test_public_names_are_pickled_by_name(package: Any) -> None:
    wrong = {m.__name__: lost(vars(m), package.__name__) for m in modules(package)}
    assert {m: names for m, names in wrong.items() if names} == {}


@pytest.mark.parametrize("kind", [np.ndarray, torch.Tensor], ids=["ndarray", "Tensor"])
def test_methods_are_pickled_by_name(kind: Any) -> None:
    class Derived(np.ndarray):  # from the first one on, methods look for derived classes
        pass

    assert type(np.ones(2).view(Derived)) is Derived
    assert lost(dict(vars(kind)), "lazyloom") == []
    bound = pickle.loads(pickle.dumps((torch.ones(2).where, np.ones(2).sum, np.add.reduce)))
    assert bound[1]() == 2.0 and bound[2]([1, 2]) == 3


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, activation=F.gelu, batch_first=True)
        self.first = functools.partial(F.leaky_relu, negative_slope=0.1)
        self.functions = [torch.sin, torch.add, torch.Tensor.exp, F.relu, torch.linalg.det,
                          F.mse_loss, torch.special.entr]  # fmt: skip
        self.dtype, self.dimension = torch.float32, torch.Size([2, 3])

    def forward(self, x: Any) -> Any:
        return self.functions[0](self.first(self.encoder(x)))


def test_modules_that_hold_functions_are_saved_and_copied() -> None:
    torch.manual_seed(0)
    net = Net().eval()
    x = torch.randn(1, 3, 8)
    wanted = net(x).detach().numpy()
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net)), copy.copy(net),
                  torch.load(file, weights_only=False)):  # fmt: skip
        numpy.testing.assert_allclose(other(x).detach().numpy(), wanted, rtol=1e-6)
        assert other.functions[3] is F.relu and other.dtype is torch.float32
    nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, activation=F.relu), 2)


def test_what_is_neither_a_function_nor_a_module() -> None:
    for x in (torch.default_generator, np.random.default_rng(0), np.random.RandomState(0),
              np.vectorize(len), np.errstate(all="ignore"), torch.finfo(torch.float32),
              torch.strided, torch.distributions.Normal(0.0, 1.0), np.add, np.poly1d([1, 2]),
              torch.optim.Adam(nn.Linear(2, 2).parameters())):  # fmt: skip
        pickle.loads(pickle.dumps(x))
        copy.deepcopy(x)
    assert pickle.loads(pickle.dumps(np.vectorize(abs)))([-1.0]).tolist() == [1.0]


def test_arrays_that_earlier_versions_pickled() -> None:
    # protocol 2, written by version 0.1.0
    data = (
        b"\x80\x02clazyloom_numpy._interop\nrebuild\ncnumpy._core.multiarray\n_reconstruct\ncnumpy\n"
        b"ndarray\nK\x00\x85c_codecs\nencode\nX\x01\x00\x00\x00bX\x06\x00\x00\x00latin1\x86R\x87R"
        b"(K\x01K\x03\x85cnumpy\ndtype\nX\x02\x00\x00\x00i4\x89\x88\x87R(K\x03X\x01\x00\x00\x00<NNN"
        b"J\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89c_codecs\nencode\nX\x0c\x00\x00\x00\x00\x00"
        b"\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00X\x06\x00\x00\x00latin1\x86Rtb\x89\x86R.")
    found = pickle.loads(data)
    assert type(found) is np.ndarray and found.dtype == np.int32 and found.tolist() == [0, 1, 2]
    assert b"clazyloom_numpy._interop\nrebuild\n" in pickle.dumps(found, 2)
