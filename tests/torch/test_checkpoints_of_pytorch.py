"""Files and tensors that PyTorch and we give each other."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyloom_torch as torch

from .test_checkpoints import net, state

theirs = pytest.importorskip("torch", reason="PyTorch is the other side")


def array(x: Any) -> np.ndarray:
    """The data of a tensor of either library."""
    x = x.detach()
    return x.float().numpy() if "bfloat16" in str(x.dtype) else x.numpy()


def their_net() -> Any:
    nn = theirs.nn
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 3))


def test_pytorch_reads_what_we_write(tmp_path: Path) -> None:
    given = state()
    path = tmp_path / "ours.pt"
    torch.save(given, path)
    for found in (theirs.load(path, weights_only=True),
                  theirs.load(path, weights_only=True, mmap=True),
                  theirs.load(path, weights_only=False)):  # fmt: skip
        assert list(found) == list(given)
        for name, expected in given.items():
            if isinstance(expected, torch.Tensor):
                assert str(found[name].dtype) == str(expected.dtype)
                assert found[name].requires_grad is expected.requires_grad
                assert type(found[name]).__name__ == type(expected).__name__
                np.testing.assert_array_equal(array(found[name]), array(expected))
        assert found["items"] == given["items"] and found["items"] is found["same"]
        assert found["dtype"] is theirs.float16 and found["size"] == theirs.Size([3, 4])
        assert found["turned"].data_ptr() == found["whole"].data_ptr()
        assert found["tail"].stride() == (4, 1) and found["tail"].storage_offset() == 6


@pytest.mark.parametrize("new", [True, False], ids=["zip", "before 1.6"])
def test_we_read_what_pytorch_writes(new: bool) -> None:
    whole = theirs.arange(12.0).reshape(3, 4)
    given = {
        "whole": whole, "turned": whole.t(), "tail": whole[1:, 2:], "every": whole[:, ::2],
        "wide": theirs.ones(3).expand(2, 3), "empty": theirs.zeros(0, 3),
        "number": theirs.tensor(3), "bool": theirs.tensor([True, False]),
        "bf16": theirs.ones(3).bfloat16() / 3, "z": theirs.tensor([1 + 2j]),
        "u16": theirs.tensor([65535, 2], dtype=theirs.uint16),
        "parameter": theirs.nn.Parameter(theirs.ones(2)), "leaf": theirs.ones(2).requires_grad_(),
        "buffer": theirs.nn.Buffer(theirs.ones(2)), "size": whole.shape, "dtype": theirs.half,
        "nested": [1, (2.5, None), {"a": {1, 2}, 3: b"bytes"}], "device": theirs.device("cpu"),
        "array": np.arange(4.0).reshape(2, 2).T, "mean": np.float64(2.5),
    }
    stream = io.BytesIO()
    theirs.save(given, stream, _use_new_zipfile_serialization=new)
    for weights_only in (True, False):
        stream.seek(0)
        found = torch.load(stream, weights_only=weights_only)
        assert list(found) == list(given)
        for name, expected in given.items():
            if isinstance(expected, theirs.Tensor):
                assert str(found[name].dtype) == str(expected.dtype)
                assert found[name].requires_grad is expected.requires_grad
                np.testing.assert_array_equal(array(found[name]), array(expected))
        assert isinstance(found["parameter"], torch.nn.Parameter)
        assert found["nested"] == given["nested"] and found["dtype"] is torch.float16
        np.testing.assert_array_equal(found["array"], given["array"])
        found["turned"][2, 1] = 50.0
        assert found["whole"][1, 2].item() == 50.0 == found["tail"][0, 0].item()


def steps(library: Any, model: Any, optimizer: Any, count: int) -> list[float]:
    losses = []
    for i in range(count):
        x = library.from_numpy(np.linspace(-1, 1 + i, 32, dtype=np.float32).reshape(2, 1, 4, 4))
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("kind", ["AdamW", "SGD", "RMSprop"])
@pytest.mark.parametrize("from_us", [False, True], ids=["theirs to ours", "ours to theirs"])
def test_training_moves_between_the_libraries(kind: str, from_us: bool) -> None:
    """Model, optimizer and scheduler go on in the other library where they were."""
    options = {"lr": 0.05, "momentum": 0.9} if kind == "SGD" else {"lr": 0.01}
    sides = [(theirs, their_net()), (torch, net())]
    (a, model_a), (b, model_b) = sides[::-1] if from_us else sides
    optimizer_a = getattr(a.optim, kind)(model_a.parameters(), **options)
    scheduler_a = a.optim.lr_scheduler.StepLR(optimizer_a, 1, 0.5)
    steps(a, model_a, optimizer_a, 2)
    scheduler_a.step()
    stream = io.BytesIO()
    a.save({"model": model_a.state_dict(), "optimizer": optimizer_a.state_dict(),
            "scheduler": scheduler_a.state_dict()}, stream)
    stream.seek(0)
    found = b.load(stream, weights_only=True)
    optimizer_b = getattr(b.optim, kind)(model_b.parameters(), lr=1.0)
    scheduler_b = b.optim.lr_scheduler.StepLR(optimizer_b, 7)
    model_b.load_state_dict(found["model"])
    optimizer_b.load_state_dict(found["optimizer"])
    scheduler_b.load_state_dict(found["scheduler"])
    assert optimizer_b.param_groups[0]["lr"] == options["lr"] / 2
    np.testing.assert_allclose(
        steps(b, model_b, optimizer_b, 2), steps(a, model_a, optimizer_a, 2), rtol=1e-4)


MADE = {
    "plain": lambda t: t.ones(2, 3), "bfloat16": lambda t: t.ones(2).bfloat16() / 3,
    "half": lambda t: t.ones(2).half(), "turned": lambda t: t.arange(6).reshape(2, 3).t(),
    "bool": lambda t: t.tensor([True, False]), "0-d": lambda t: t.tensor(3.0),
    "empty": lambda t: t.zeros(0, 2), "complex": lambda t: t.tensor([1 + 2j]),
    "wide": lambda t: t.ones(3).expand(2, 3), "uint16": lambda t: t.tensor([3], dtype=t.uint16),
    "int8": lambda t: t.tensor([-3], dtype=t.int8), "double": lambda t: t.ones(2).double(),
}


@pytest.mark.parametrize("name", MADE)
def test_tensors_convert_both_ways(name: str) -> None:
    given, wanted = MADE[name](theirs), MADE[name](torch)
    for function in (torch.tensor, torch.as_tensor, torch.asarray, torch.from_dlpack):
        found = function(given)
        assert isinstance(found, torch.Tensor) and str(found.dtype) == str(given.dtype)
        np.testing.assert_array_equal(array(found), array(given))
    for function in (theirs.tensor, theirs.as_tensor, theirs.asarray, theirs.from_dlpack):
        back = function(wanted)
        assert isinstance(back, theirs.Tensor) and str(back.dtype) == str(given.dtype)
        np.testing.assert_array_equal(array(back), array(given))


def test_gradients_do_not_convert() -> None:
    given = theirs.ones(2).requires_grad_()
    assert not torch.tensor(given).requires_grad
    with pytest.raises(BufferError):
        torch.from_dlpack(given)
    with pytest.raises(BufferError):
        theirs.from_dlpack(torch.ones(2).requires_grad_())
    conjugate = theirs.tensor([1 + 2j]).conj()
    assert torch.as_tensor(conjugate).tolist() == [1 - 2j]


def test_shared_memory_is_never_reused() -> None:
    """What was given away by DLPack keeps its contents when we go on."""
    x = torch.arange(1000.0) + 0
    given = theirs.from_dlpack(x)
    for _ in range(3):
        x += 1
        x.sum().item()
    assert given[0].item() == 0.0 and x[0].item() == 3.0


def test_tensors_of_pytorch_in_a_state_dict_and_in_capsules() -> None:
    given, mine = theirs.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3)
    with theirs.no_grad():
        given.weight.copy_(theirs.tensor([1.0, 2.0, 3.0]))
    for assign in (False, True):
        mine.weight.data.zero_()
        mine.load_state_dict(given.state_dict(), assign=assign)
        assert isinstance(mine.weight, torch.nn.Parameter) and mine.weight.requires_grad
        assert mine.weight.tolist() == [1, 2, 3] and mine.num_batches_tracked.item() == 0
    capsule = theirs.utils.dlpack.to_dlpack(theirs.arange(6).reshape(2, 3).t())
    found = torch.utils.dlpack.from_dlpack(capsule)
    assert found.tolist() == [[0, 3], [1, 4], [2, 5]]
    back = theirs.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(found * 2))
    assert back.tolist() == [[0, 6], [2, 8], [4, 10]]
