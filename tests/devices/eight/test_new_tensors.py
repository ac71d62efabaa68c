"""New tensors of the torch-like API on a device that a call names, or that is the default one."""

from __future__ import annotations

import copy
import io
import json
import pickle
import threading
import zipfile
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch

THERE = torch.device("cpu:3")
CPU = torch.device("cpu")

MAKERS = {
    "zeros": lambda d: torch.zeros(2, 3, **d), "ones": lambda d: torch.ones((2, 3), **d),
    "empty": lambda d: torch.empty(4, **d), "full": lambda d: torch.full((300, 200), 2.5, **d),
    "full of a tensor": lambda d: torch.full((2,), torch.tensor(3), **d),
    "tensor": lambda d: torch.tensor([[1, 2], [3, 4]], **d),
    "tensor of an array": lambda d: torch.tensor(numpy.arange(5.0), **d),
    "tensor of a tensor": lambda d: torch.tensor(torch.arange(4), **d),
    "as_tensor": lambda d: torch.as_tensor([1.5, 2.5], **d),
    "asarray": lambda d: torch.asarray([1.5, 2.5], **d),
    "scalar_tensor": lambda d: torch.scalar_tensor(4, **d),
    "arange": lambda d: torch.arange(7, **d), "arange of a part": lambda d: torch.arange(
        0.5, 9, 0.25, dtype=torch.float64, **d),
    "linspace": lambda d: torch.linspace(0, 1, 9, **d),
    "logspace": lambda d: torch.logspace(0, 1, 9, **d), "eye": lambda d: torch.eye(3, 4, **d),
    "empty_strided": lambda d: torch.empty_strided((2, 3), (1, 2), **d),
    "tril_indices": lambda d: torch.tril_indices(3, 3, **d),
    "hann_window": lambda d: torch.hann_window(8, **d),
    "signal window": lambda d: torch.signal.windows.kaiser(8, beta=2.0, **d),
    "fftfreq": lambda d: torch.fft.fftfreq(8, **d),
    "rand": lambda d: torch.rand(5, 4, **d), "randn": lambda d: torch.randn(5, 4, **d),
    "randint": lambda d: torch.randint(0, 100, (50,), **d),
    "randperm": lambda d: torch.randperm(20, **d),
    "normal": lambda d: torch.normal(1.0, 2.0, (6,), **d),
    "a generator's": lambda d: torch.rand(9, generator=torch.Generator().manual_seed(5), **d),
}  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
def test_constructors_make_on_the_device_named(name: str) -> None:
    make = MAKERS[name]
    torch.manual_seed(3)
    plain = make({})
    assert plain.device == CPU
    for given in ({"device": "cpu:3"}, {"device": THERE}):
        torch.manual_seed(3)
        made = make(given)
        assert made.device == THERE and made.dtype is plain.dtype
        assert made.stride() == plain.stride()
        assert (made + made).device == THERE
        numpy.testing.assert_allclose(made.numpy(), plain.numpy(), rtol=1e-6)
    torch.manual_seed(3)
    with THERE:
        made = make({})
        assert make({"device": "cpu"}).device == CPU
    assert made.device == THERE
    numpy.testing.assert_allclose(made.numpy(), plain.numpy(), rtol=1e-6)


def test_like_and_new_are_beside_their_tensor() -> None:
    x = torch.ones(2, 3, device="cpu:3")
    for made in (torch.zeros_like(x), torch.full_like(x, 2), torch.rand_like(x),
                 torch.randint_like(x, 5), torch.empty_like(x), x.new_zeros(3), x.new_full((2,), 1),
                 x.new_tensor([1, 2]), x.new_empty(1), x.new_ones(1)):  # fmt: skip
        assert made.device == THERE
    assert torch.zeros_like(x, device="cpu:2").device.index == 2
    assert torch.ones_like(x, device="cpu").device == CPU
    assert x.new_zeros(3, device="cpu:1").device.index == 1
    with torch.device("cpu:2"):
        assert torch.zeros_like(x).device == THERE and x.new_zeros(1).device == THERE
        assert torch.zeros_like(torch.zeros(2, device="cpu")).device == CPU


@pytest.mark.parametrize("make", [
    lambda: torch.zeros(400, 300, device="cpu:3"), lambda: torch.randn(400, 300, device="cpu:3"),
    lambda: torch.arange(9000, device="cpu:3"), lambda: torch.linspace(0, 1, 9000, device="cpu:3"),
    lambda: torch.randperm(5000, device="cpu:3")])
def test_a_new_tensor_is_made_by_a_program_of_its_device(make: object) -> None:
    x = make()  # type: ignore[operator]
    text = lazyloom.program_of(x).text()
    assert "place" not in text and "cpu:3" in text
    before = lazyloom.stats()["executions"]
    assert x.isfinite().all().item()
    assert lazyloom.stats()["executions"] - before <= 2  # it is a boundary


def test_the_default_device_is_this_threads() -> None:
    assert torch.get_default_device() == CPU
    torch.set_default_device("cpu:3")
    try:
        assert torch.get_default_device() == THERE
        assert torch.zeros(2).device == THERE and torch.tensor([1]).device == THERE
        assert torch.from_numpy(numpy.ones(2)).device == CPU
        net = torch.nn.Linear(3, 4)
        assert {p.device.index for p in net.parameters()} == {3}
        with torch.device("cpu:1"):
            assert torch.get_default_device().index == 1 and torch.ones(1).device.index == 1
            with torch.device("cpu"):
                assert torch.ones(1).device == CPU
        seen: list[object] = []
        thread = threading.Thread(target=lambda: seen.append(torch.ones(1).device))
        thread.start()
        thread.join()
        assert seen == [CPU]
    finally:
        torch.set_default_device(None)
    assert torch.ones(1).device == CPU and torch.get_default_device() == CPU


MODULES = {
    "Linear": lambda d: torch.nn.Linear(4, 5, **d),
    "Conv2d": lambda d: torch.nn.Conv2d(1, 2, 3, **d),
    "BatchNorm1d": lambda d: torch.nn.BatchNorm1d(4, **d),
    "LayerNorm": lambda d: torch.nn.LayerNorm(4, **d),
    "Embedding": lambda d: torch.nn.Embedding(7, 4, **d),
    "LSTM": lambda d: torch.nn.LSTM(4, 3, **d),
    "GRUCell": lambda d: torch.nn.GRUCell(4, 3, **d), "PReLU": lambda d: torch.nn.PReLU(**d),
    "MultiheadAttention": lambda d: torch.nn.MultiheadAttention(4, 2, **d),
    "encoder": lambda d: torch.nn.TransformerEncoderLayer(4, 2, 8, **d),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_modules_make_their_parameters_on_the_device_named(name: str) -> None:
    torch.manual_seed(1)
    plain = MODULES[name]({}).state_dict()
    torch.manual_seed(1)
    there = MODULES[name]({"device": "cpu:3"}).state_dict()
    assert list(there) == list(plain)
    for key, t in there.items():
        assert t.device == THERE, key
        numpy.testing.assert_allclose(t.numpy(), plain[key].numpy(), rtol=1e-5, atol=1e-7)


def test_a_lazy_module_becomes_one_of_its_device() -> None:
    net = torch.nn.LazyLinear(3, device="cpu:3")
    net(torch.ones(2, 5, device="cpu:3"))
    assert net.weight.device == THERE and tuple(net.weight.shape) == (3, 5)


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
def test_a_model_on_a_device_trains_as_on_the_default_one(optimizer: str) -> None:
    def losses(device: str) -> list[float]:
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Linear(8, 16, device=device), torch.nn.ReLU(),
            torch.nn.Linear(16, 3, device=device))
        step = getattr(torch.optim, optimizer)(net.parameters(), lr=0.05)
        x = torch.randn(32, 8, device=device)
        y = torch.randint(0, 3, (32,), device=device)
        found = []
        for _ in range(5):
            step.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x), y)
            loss.backward()
            step.step()
            found.append(loss.item())
        for state in step.state.values():
            for t in state.values():
                assert not isinstance(t, torch.Tensor) or t.ndim == 0 or str(t.device) == device
        return found

    assert losses("cpu:3") == pytest.approx(losses("cpu"), rel=1e-6)


def test_load_puts_tensors_where_map_location_says() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    file = io.BytesIO()
    torch.save({"x": x, "row": x[0], "p": torch.nn.Parameter(torch.ones(2))}, file)
    for where in ("cpu:3", THERE, {"cpu": "cpu:3"}, lambda storage, place: storage.to("cpu:3")):
        file.seek(0)
        found = torch.load(file, map_location=where)
        assert {t.device for t in found.values()} == {THERE}
        assert found["x"].tolist() == x.tolist()
        found["x"][0, 0] = 9
        assert found["row"][0].item() == 9  # of one storage, still
    file.seek(0)
    assert torch.load(file)["x"].device == CPU
    with pytest.raises(RuntimeError, match="'cpu:44' is not available"):
        torch.load(file, map_location="cpu:44")


def test_save_keeps_the_device() -> None:
    x = torch.arange(6.0, device="cpu:3").reshape(2, 3)
    here, there = io.BytesIO(), io.BytesIO()
    for file, device in ((here, "cpu"), (there, "cpu:3")):
        y = x.to(device)
        torch.save({"x": y, "row": y[0], "b": torch.nn.BatchNorm1d(3, device="cpu").weight}, file)
    cases: list[tuple[Any, Any]] = [
        (None, THERE), ("cpu", CPU), ({"cpu:3": "cpu:1"}, torch.device("cpu:1")),
        ({"cpu:5": "cpu"}, THERE), (lambda storage, place: storage, CPU),
        (lambda storage, place: None, THERE), (lambda storage, place: storage.cpu(), CPU)]
    for where, expected in cases:
        there.seek(0)
        found = torch.load(there, map_location=where)
        assert found["x"].device == found["row"].device == expected
        assert found["x"].tolist() == x.tolist() and found["b"].device == CPU
        found["x"][0, 0] = 9
        assert found["row"][0].item() == 9
    with pytest.raises(TypeError, match="map_location returned a str, expected the storage"):
        torch.load(there, map_location=lambda storage, place: place)
    # what PyTorch reads is what it would read of tensors on its own "cpu"
    members = []
    for file in (here, there):
        with zipfile.ZipFile(file) as archive:
            members.append({name: archive.read(name) for name in archive.namelist()})
    extra = members[1].pop("archive/.lazyloom_devices")
    assert members[0] == members[1] and json.loads(extra) == {"0": "cpu:3"}


def test_load_names_a_device_that_is_not_there() -> None:
    places = []
    file = saved(torch.ones(2, device="cpu:3"))
    found = io.BytesIO()
    with zipfile.ZipFile(file) as archive, zipfile.ZipFile(found, "w") as other:
        for name in archive.namelist():
            other.writestr(name, archive.read(name).replace(b'"cpu:3"', b'"cpu:9"'))
    found.seek(0)
    with pytest.raises(RuntimeError, match="cpu:9' is not available, .*Pass map_location='cpu'"):
        torch.load(found)
    found.seek(0)

    def to(storage: Any, place: str) -> Any:
        places.append((place, storage.nbytes()))
        return storage

    assert torch.load(found, map_location=to).device == CPU and places == [("cpu:9", 8)]


def test_pickles_and_copies_keep_the_device() -> None:
    x = torch.ones(2, 3, device="cpu:3", requires_grad=True)
    net = torch.nn.Linear(3, 2, device="cpu:3")
    for copied in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)):
        assert copied.device == THERE and copied.requires_grad and copied.tolist() == x.tolist()
    for module in (pickle.loads(pickle.dumps(net)), copy.deepcopy(net)):
        assert {p.device for p in module.parameters()} == {THERE}
    assert x.untyped_storage().device == THERE
    assert torch.load(saved(THERE)) == THERE
    # NumPy's pickles are of data alone
    a = np.arange(3.0).to_device("cpu:3")
    assert copy.deepcopy(a).device == copy.copy(a).device == "cpu:3"
    loaded = pickle.loads(pickle.dumps(a))
    assert loaded.device == "cpu" and loaded.tolist() == a.tolist()


def test_files_have_the_whole_of_what_is_divided() -> None:
    mesh = lazyloom.make_mesh({"data": 8})
    t = lazyloom.shard(torch.arange(16.0), mesh, ("data",))
    a = lazyloom.shard(np.arange(16.0), mesh, ("data",))
    for loaded in (torch.load(saved(t)), pickle.loads(pickle.dumps(t)),
                   pickle.loads(pickle.dumps(a))):  # fmt: skip
        assert lazyloom.placement_of(loaded).is_default and loaded.tolist() == a.tolist()
    for x in (t, a, torch.nn.Parameter(t)):
        for copied in (copy.deepcopy(x), copy.copy(x)):
            lazyloom.sync(copied)
            assert lazyloom.placement_of(copied) is lazyloom.placement_of(x)


def saved(x: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return file


def test_generators_have_a_device() -> None:
    g = torch.Generator(device="cpu:3")
    assert g.device == THERE and torch.Generator().device == CPU
    made = torch.rand(4, generator=g.manual_seed(1), device="cpu:3")
    plain = torch.rand(4, generator=torch.Generator().manual_seed(1))
    assert made.device == THERE and made.tolist() == plain.tolist()


def test_fills_stay_where_their_tensor_is() -> None:
    x = torch.empty(5, device="cpu:3")
    for fill in (lambda: x.uniform_(), lambda: x.normal_(), lambda: x.fill_(2), lambda: x.zero_(),
                 lambda: torch.nn.init.trunc_normal_(x), lambda: x.bernoulli_(0.5)):  # fmt: skip
        fill()
        assert x.device == THERE and x.isfinite().all().item()


def test_devices_that_are_not_there_are_errors_at_the_call() -> None:
    for make in (lambda: torch.zeros(2, device="cuda"), lambda: torch.zeros(2, device="meta"),
                 lambda: torch.tensor([1], device="cpu:9"), lambda: torch.Generator("cuda"),
                 lambda: torch.nn.Linear(2, 2, device="cpu:9"),
                 lambda: torch.set_default_device("cuda"),
                 lambda: torch.device("cuda").__enter__()):  # fmt: skip
        with pytest.raises(RuntimeError, match="is not available"):
            make()
    assert torch.ones(1).device == CPU
