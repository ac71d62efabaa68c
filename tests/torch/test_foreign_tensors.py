"""Tensors of other libraries: converted beside ours, else refused by a name that tells."""

from __future__ import annotations

import pickle
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom.errors import type_name
from lazyloom_torch import nn
from lazyloom_torch.nn import functional as F  # noqa: N812

DATA = numpy.arange(1, 7, dtype=numpy.float32).reshape(2, 3)


def made_by(library: str) -> Any:
    if library == "torch":
        theirs = pytest.importorskip("torch", reason="PyTorch is not installed")
        return theirs.from_numpy(DATA.copy())
    if library == "jax":
        import jax.numpy

        return jax.numpy.asarray(DATA)
    return np.array(DATA)


def same(x: Any, expected: Any) -> None:
    assert type(x) is torch.Tensor
    numpy.testing.assert_allclose(x.detach().numpy(), expected, rtol=1e-6)


@pytest.fixture(params=["torch", "jax", "lazyloom_numpy"])
def theirs(request: pytest.FixtureRequest) -> Any:
    return made_by(request.param)


def test_operators_of_both_sides_give_ours(theirs: Any) -> None:
    ours = torch.from_numpy(DATA) + 1
    h, g = DATA, DATA + 1
    for got, expected in [
        (ours + theirs, g + h), (theirs + ours, h + g), (ours - theirs, g - h),
        (theirs - ours, h - g), (ours * theirs, g * h), (theirs / ours, h / g),
        (ours @ theirs.T, g @ h.T), (theirs @ ours.T, h @ g.T), (ours**theirs, g**h),
        (theirs**ours, h**g), (ours // theirs, g // h), (theirs % ours, h % g),
        (ours < theirs, g < h), (theirs < ours, h < g), (ours == theirs, g == h),
        (theirs == ours, h == g), (theirs >= ours, h >= g), (ours != theirs, g != h),
    ]:  # fmt: skip
        same(got, expected)
    kept = ours
    kept += theirs
    same(kept, g + h)
    assert kept is ours


def test_functions_and_methods_convert_what_is_beside_ours(theirs: Any) -> None:
    ours = torch.from_numpy(DATA) + 1
    h, g = DATA, DATA + 1
    for got, expected in [
        (torch.add(theirs, ours), h + g), (torch.maximum(ours, theirs), g),
        (torch.cat([ours, theirs]), numpy.concatenate([g, h])),
        (torch.stack((theirs, ours)), numpy.stack([h, g])),
        (torch.where(ours > 3, theirs, ours), numpy.where(g > 3, h, g)),
        (torch.einsum("ij,ij->i", ours, theirs), (g * h).sum(1)),
        (torch.matmul(ours, theirs.T), g @ h.T), (ours.matmul(theirs.T), g @ h.T),
        (ours.maximum(theirs), g), (ours.mul(theirs), g * h), (F.mse_loss(ours, theirs), 1.0),
        (ours.masked_fill(theirs > 3, 0.0), numpy.where(h > 3, 0, g)),
        (ours[theirs > 3], g[h > 3]), (ours.clone().copy_(theirs), h),
        (ours.clone().mul_(theirs), g * h), (F.linear(theirs, ours), h @ g.T),
        (torch.linalg.solve(torch.eye(2), theirs), h), (ours.lerp(theirs, 0.5), (g + h) / 2),
        (ours.expand_as(theirs), g), (ours.type_as(ours), g), (torch.dist(ours, ours), 0.0),
    ]:  # fmt: skip
        same(got, expected)
    written = ours.clone()
    written[0] = theirs[1]
    same(written, numpy.stack([h[1], g[1]]))
    assert torch.allclose(ours, theirs + 1)
    torch.testing.assert_close(ours, theirs + 1)
    layer = nn.Linear(3, 2)
    torch.testing.assert_close(layer(theirs), layer(torch.as_tensor(theirs)))


def test_creation_takes_them(theirs: Any) -> None:
    for make in (torch.tensor, torch.as_tensor, torch.asarray, torch.Tensor, torch.from_dlpack):
        same(make(theirs), DATA)
    same(torch.tensor([theirs[0], theirs[1]]), DATA)
    same(torch.utils.data.default_collate([theirs, theirs]), numpy.stack([DATA, DATA]))
    batch = torch.utils.data.default_collate([{"x": theirs, "y": 1}, {"x": theirs, "y": 2}])
    same(batch["x"], numpy.stack([DATA, DATA]))
    same(torch.utils.data.default_convert({"x": theirs})["x"], DATA)
    same(torch.utils.data.TensorDataset(theirs)[1][0], DATA[1])
    model = nn.Linear(3, 2, bias=False)
    model.load_state_dict({"weight": theirs})
    numpy.testing.assert_array_equal(model.weight.detach().numpy(), DATA)


def test_alone_they_are_refused_by_their_full_name(theirs: Any) -> None:
    name = type_name(theirs)
    assert name in ("torch.Tensor", "lazyloom_numpy.ndarray") or name.startswith("jaxlib")
    wanted = f"expected a lazyloom_torch.Tensor, given a {name}: convert it with " \
             r"lazyloom_torch.as_tensor\(x\)"
    for call in (F.relu, torch.sin, torch.sum, torch.zeros_like, torch.linalg.norm, torch.fft.fft,
                 nn.Parameter, torch.topk, nn.ReLU(), torch.squeeze):  # fmt: skip
        with pytest.raises(TypeError, match=wanted):
            call(theirs) if call is not torch.topk else call(theirs, 1)
    with pytest.raises(TypeError, match=wanted):
        torch.ones(2, 3, requires_grad=True).grad = theirs
    module = nn.Module()
    with pytest.raises(TypeError, match=f"{name}.*convert it with lazyloom_torch.as_tensor"):
        module.register_buffer("b", theirs)
    with pytest.raises(TypeError, match=f"params is {name}"):
        torch.optim.SGD([theirs], lr=0.1)
    with pytest.raises(TypeError, match=name):
        torch.add(torch.ones(2, 3), 1, out=theirs)


def test_type_name() -> None:
    assert type_name(torch.ones(1)) == "lazyloom_torch.Tensor"
    assert type_name(np.ones(1)) == "lazyloom_numpy.ndarray"
    assert type_name(DATA) == "numpy.ndarray"
    assert [type_name(x) for x in (1, None, [])] == ["int", "NoneType", "list"]
    with pytest.raises(TypeError, match="given a list$"):
        torch.sin([1.0])


@pytest.mark.compiled
def test_arrays_of_the_numpy_like_frontend_stay_on_the_tape_and_pending() -> None:
    w = torch.ones(2, 3, requires_grad=True)
    executions = lazyloom.stats()["executions"]
    loss = (w * np.array(DATA) + np.array(DATA) * w).sum()
    again = torch.as_tensor(np.asarray(w) * 2).sum()
    assert lazyloom.stats()["executions"] == executions
    loss.backward()
    numpy.testing.assert_array_equal(w.grad.numpy(), 2 * DATA)
    same(again, 12.0)
    picked = np.array(DATA)[torch.tensor([1])]
    numpy.testing.assert_array_equal(picked, DATA[[1]])
    numpy.testing.assert_array_equal(np.array(DATA)[w > 0], DATA.ravel())


def test_numpy_arrays_are_treated_as_pytorch_treats_them() -> None:
    ours = torch.from_numpy(DATA)
    same(ours + DATA, DATA + DATA)
    with pytest.raises(TypeError):
        DATA * ours
    with pytest.raises(TypeError, match="given a numpy.ndarray: convert it"):
        torch.sin(DATA)
    with pytest.raises(TypeError, match="numpy.ndarray"):
        torch.add(ours, DATA)


def test_the_numpy_like_frontend_takes_tensors_of_others() -> None:
    for library in ("torch", "jax"):
        theirs = made_by(library)
        a = np.array(DATA)
        for got, expected in [
            (a + theirs, 2 * DATA), (theirs + a, 2 * DATA), (a @ theirs.T, DATA @ DATA.T),
            (theirs < a, DATA < DATA), (np.add(theirs, a), 2 * DATA),
            (a[theirs > 3], DATA[DATA > 3]),
        ]:  # fmt: skip
            assert isinstance(got, np.ndarray)
            numpy.testing.assert_allclose(got, expected)


def test_pytorch_gradients_do_not_cross() -> None:
    pt = pytest.importorskip("torch", reason="PyTorch is not installed")
    ours, theirs = torch.ones(2, 3), pt.ones(2, 3, requires_grad=True)
    for call in (lambda: ours + theirs, lambda: theirs + ours, lambda: F.mse_loss(ours, theirs)):
        with pytest.raises(RuntimeError, match="no gradient flows from one library to another"):
            call()
    with torch.no_grad():
        same(ours + theirs, 2 * numpy.ones((2, 3)))
    for copied in (torch.tensor(theirs), torch.as_tensor(theirs), ours.clone().copy_(theirs)):
        assert not copied.requires_grad
    with pytest.raises(BufferError):
        torch.from_dlpack(theirs)
    plain = pt.ones(2, 3)
    leaf = torch.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="no gradient flows"):
        plain += leaf
    (leaf * plain).sum().backward()
    same(leaf.grad, numpy.ones((2, 3)))


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
def test_pytorch_functions_that_meet_ours_ask_for_ours() -> None:
    pt = pytest.importorskip("torch", reason="PyTorch is not installed")
    ours, theirs = torch.from_numpy(DATA), pt.from_numpy(DATA.copy())
    for got, expected in [
        (pt.cat([theirs, ours]), numpy.concatenate([DATA, DATA])), (pt.sin(ours), numpy.sin(DATA)),
        (pt.nn.functional.relu(ours), DATA), (pt.linalg.norm(ours), numpy.linalg.norm(DATA)),
        (pt.nn.functional.mse_loss(theirs, ours), 0.0), (theirs.add(ours), 2 * DATA),
        (pt.clamp(ours, 2, 4), DATA.clip(2, 4)), (pt.fft.fft(ours).real, numpy.fft.fft(DATA).real),
    ]:  # fmt: skip
        numpy.testing.assert_allclose(got.numpy(), expected, rtol=1e-5, atol=1e-5)
        assert type(got) is torch.Tensor
    # what writes to PyTorch's tensor stays PyTorch's
    theirs += ours
    theirs[0] = ours[1]
    assert type(theirs) is pt.Tensor
    numpy.testing.assert_array_equal(theirs.numpy(), numpy.stack([DATA[1], 2 * DATA[1]]))
    assert type(theirs[torch.tensor([1, 0])]) is pt.Tensor
    with pytest.raises(TypeError, match="lazyloom_torch"):
        pt.ops.aten.special_airy_ai(ours)


def test_bfloat16_conjugates_gaps_and_dtypes_of_pytorch() -> None:
    pt = pytest.importorskip("torch", reason="PyTorch is not installed")
    theirs = pt.from_numpy(DATA.copy())
    half = theirs.bfloat16()
    assert (torch.ones(2, 3, dtype=torch.bfloat16) + half).dtype is torch.bfloat16
    same((torch.zeros(3, 2) + half.T).float(), DATA.T)
    assert torch.tensor([half[0], half[1]]).dtype is torch.bfloat16
    assert np.array(half.T).shape == (3, 2)
    same(torch.zeros(2, 1) + theirs[:, ::2], DATA[:, ::2])
    same(torch.zeros(2, 3) + theirs[:1].expand(2, 3), DATA[[0, 0]])
    z = pt.tensor([1 + 2j]).conj()
    assert (torch.zeros(1, dtype=torch.complex64) + z).tolist() == [1 - 2j]
    assert torch.zeros(2, dtype=pt.float64, device=pt.device("cpu")).dtype is torch.float64
    assert torch.ones(2).to(half).dtype is torch.bfloat16
    assert torch.ones(2).type_as(half).dtype is torch.bfloat16


def test_pytorch_is_not_imported_by_us() -> None:
    import subprocess
    import sys

    code = ("import sys, lazyloom_torch as t, lazyloom_numpy as np\n"
            "t.ones(2) + np.ones(2)\nt.as_tensor(np.ones(2))\nassert 'torch' not in sys.modules\n")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_loader_collates_tensors_of_pytorch() -> None:
    pt = pytest.importorskip("torch", reason="PyTorch is not installed")

    class Numbers(torch.utils.data.Dataset):
        def __getitem__(self, i: int) -> Any:
            return pt.full((3,), float(i)), i

        def __len__(self) -> int:
            return 4

    x, y = next(iter(torch.utils.data.DataLoader(Numbers(), batch_size=4)))
    same(x, numpy.repeat(numpy.arange(4.0)[:, None], 3, 1))
    assert y.tolist() == [0, 1, 2, 3]
    assert pickle.loads(pickle.dumps(x)).shape == x.shape
