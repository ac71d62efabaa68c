"""Files: what we write and read, and that nothing in them is executed."""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyloom_torch as torch
from lazyloom_torch import nn, safetensors


def net() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 3))


def saved(given: Any) -> io.BytesIO:
    stream = io.BytesIO()
    torch.save(given, stream)
    stream.seek(0)
    return stream


def again(given: Any) -> Any:
    return torch.load(saved(given))


def state() -> dict[str, Any]:
    """A checkpoint with what checkpoints hold."""
    shared = torch.arange(12.0).reshape(3, 4)
    items = [1, 2.5, None, True, "é", (1, ()), b"\x00\xff", {1, 2}, 1j, 10**30, -(2**40)]
    return {
        "whole": shared, "turned": shared.t(), "row": shared[1], "tail": shared[1:, 2:],
        "empty": torch.zeros(0, 3), "number": torch.tensor(3), "scalar": torch.tensor(2.5),
        "bf16": torch.ones(3).bfloat16() / 3, "half": torch.ones(3).half(),
        "bool": torch.tensor([True, False]), "u8": torch.tensor([255], dtype=torch.uint8),
        "z": torch.tensor([1 + 2j], dtype=torch.complex128), "i32": torch.ones(2).int(),
        "u16": torch.tensor([65535, 2], dtype=torch.uint16), "leaf": torch.ones(2).requires_grad_(),
        "parameter": nn.Parameter(torch.ones(2)), "frozen": nn.Parameter(torch.ones(1), False),
        "items": items, "same": items, "dtype": torch.float16, "size": shared.shape,
        "inf": float("inf"), "ordered": OrderedDict(a=torch.ones(1), b=2), 7: "number as key",
        "device": torch.device("cpu"),
    }


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    given = state()
    path = tmp_path / "state.pt"
    torch.save(given, path)
    assert list(tmp_path.iterdir()) == [path]
    found = torch.load(path, map_location="cpu", weights_only=True)
    assert list(found) == list(given)
    for name, expected in given.items():
        if isinstance(expected, torch.Tensor):
            assert found[name].dtype is expected.dtype and found[name].shape == expected.shape
            assert found[name].requires_grad is expected.requires_grad
            assert type(found[name]) is type(expected)
            np.testing.assert_array_equal(found[name].read(), expected.read())
        elif name != "ordered":
            assert found[name] == expected and type(found[name]) is type(expected)
    assert found["items"] is found["same"] and type(found["ordered"]) is OrderedDict


def test_tensors_that_shared_memory_share_it_again() -> None:
    a = torch.zeros(4, 3)
    found = again([a, a.t(), a[1:3], a[:, 1], a.detach(), a])
    assert found[0] is found[5]
    with torch.no_grad():
        found[2][0, 1] = 5.0
    for tensor, index in zip(found[:5], [(1, 1), (1, 1), (0, 1), (1,), (1, 1)]):
        assert tensor[index].item() == 5.0 and tensor.sum().item() == 5.0
    # only the part was saved, and the whole is there
    part = again(torch.arange(10.0)[4:6])
    assert part.tolist() == [4.0, 5.0] and part.storage_offset() == 4


def test_a_part_is_saved_once_with_its_whole() -> None:
    size = len(saved(torch.zeros(10_000)).getvalue())
    a = torch.zeros(10_000)
    assert len(saved([a, a[:5000], a.view(100, 100).t()]).getvalue()) < size + 1000


def test_training_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    def step(model: nn.Module, optimizer: Any) -> float:
        optimizer.zero_grad()
        loss = (model(torch.ones(2, 1, 4, 4)) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    m = net()
    optimizer = torch.optim.AdamW(m.parameters(), lr=0.1)
    step(m, optimizer)
    torch.save({"model": m.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 1},
               tmp_path / "a.pt")
    expected = [step(m, optimizer) for _ in range(3)]
    fresh = net()
    other = torch.optim.AdamW(fresh.parameters(), lr=0.3)
    found = torch.load(tmp_path / "a.pt")
    fresh.load_state_dict(found["model"])
    other.load_state_dict(found["optimizer"])
    assert [step(fresh, other) for _ in range(3)] == expected


def test_modules_are_objects_of_their_class() -> None:
    stream = saved(net())
    with pytest.raises(pickle.UnpicklingError, match="add_safe_globals"):
        torch.load(stream)
    stream.seek(0)
    found = torch.load(stream, weights_only=False)
    assert isinstance(found, nn.Sequential) and found(torch.ones(1, 1, 4, 4)).shape == (1, 3)


class Config:
    def __init__(self, width: int) -> None:
        self.width = width


def test_the_user_allows_classes() -> None:
    stream = saved({"config": Config(3)})
    with pytest.raises(pickle.UnpicklingError, match="Config"):
        torch.load(stream)
    # objects of a class without __reduce__ are made by copyreg: the user allows that, too
    import copyreg

    allowed = [Config, (copyreg._reconstructor, "copy_reg._reconstructor"),
               (object, "__builtin__.object")]
    stream.seek(0)
    with torch.serialization.safe_globals(allowed):
        assert torch.load(stream)["config"].width == 3
    assert torch.serialization.get_safe_globals() == []


class Evil:
    def __reduce__(self) -> Any:
        return os.system, ("echo executed",)


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
@pytest.mark.parametrize("thing", [Evil(), os.system, eval, Config(1), OrderedDict],
                         ids=["reduce", "system", "eval", "class", "type"])
def test_nothing_is_executed(thing: Any, protocol: int, capfd: Any) -> None:
    text = pickle.dumps({"x": [thing]}, protocol)
    with pytest.raises((pickle.UnpicklingError, ValueError)) if thing is not OrderedDict else (
            pytest.raises(ValueError)):  # fmt: skip
        torch.load(io.BytesIO(text))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("archive/data.pkl", text)
        archive.writestr("archive/version", "3\n")
    stream.seek(0)
    if thing is OrderedDict:  # a name that is allowed; the class alone is harmless
        assert torch.load(stream) == {"x": [OrderedDict]}
    else:
        with pytest.raises(pickle.UnpicklingError, match="load: "):
            torch.load(stream)
    assert capfd.readouterr().out == ""


def hand_made(text: bytes) -> io.BytesIO:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a/data.pkl", b"\x80\x02" + text + b".")
        archive.writestr("a/data/0", b"\x00" * 16)
    stream.seek(0)
    return stream


STORAGE = (b"((X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
           b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ")


@pytest.mark.parametrize("text", [
    b"ctorch\nfloat32\n}(X\x04\x00\x00\x00nameK\x01ub",  # the state of a dtype
    b"ctorch._utils\n_rebuild_tensor_v2\n}(X\x05\x00\x00\x00__a__K\x01ub",  # ... of a function
    b"ccollections\nOrderedDict\n}(X\x05\x00\x00\x00clearK\x01ub",  # ... of a class
    b"K\x01K\x02R",  # a call of a number
    b"]K\x01(K\x02u",  # items for a list
    b"(K\x01", b"t", b"e", b"K\x05Q", b"h\x07", b"0",  # unbalanced, unknown
    b"ctorch._utils\n_rebuild_tensor_v2\n" + STORAGE + b"K\x02(K\x04t(K\x01t\x89NtR",  # too long
    b"ctorch._utils\n_rebuild_tensor_v2\n" + STORAGE + b"J\xff\xff\xff\xff(K\x01t(K\x01t\x89NtR",
    b"ctorch._utils\n_rebuild_tensor_v2\n" + STORAGE + b"K\x00(K\x02K\x02t(K\x01t\x89NtR",
    b"ctorch._utils\n_rebuild_tensor_v2\n(K\x01K\x00(K\x01t(K\x01t\x89NtR",  # no storage
    b"c__builtin__\nbytearray\n(J\xff\xff\xff\x7ftR",  # a great deal of memory
    b"cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(X\x01\x00\x00\x00OtRC\x08aaaaaaaatR",
])
def test_hand_made_pickles_are_refused(text: bytes) -> None:
    with pytest.raises((ValueError, pickle.UnpicklingError)):
        torch.load(hand_made(text))


def test_hand_made_pickles_of_data_are_read() -> None:
    good = b"ctorch._utils\n_rebuild_tensor_v2\n" + STORAGE + b"K\x01(K\x03t(K\x01t\x89NtR"
    assert torch.load(hand_made(good)).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("damage", [
    lambda d: b"", lambda d: d[:-30], lambda d: d[:20],
    lambda d: d[:len(d) // 2] + b"\x00" * 8 + d[len(d) // 2 + 8:],
    lambda d: d.replace(b"FloatStorage", b"HalfStorage\n"), lambda d: b"\x80\x02}." + d,
], ids=range(6))  # fmt: skip
def test_damaged_files_are_errors(tmp_path: Path, damage: Any) -> None:
    path = tmp_path / "a.pt"
    torch.save({"w": torch.full((100,), 3.0)}, path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises((ValueError, pickle.UnpicklingError), match="load"):
        torch.load(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_archives_with_two_files_of_one_name_are_errors() -> None:
    whole = saved({"w": torch.ones(3)})
    with zipfile.ZipFile(whole, "a", zipfile.ZIP_STORED) as archive:
        (data,) = [n for n in archive.namelist() if n.endswith("/data/0")]
        archive.writestr(data, np.zeros(3, np.float32).tobytes())
    whole.seek(0)
    with pytest.raises(ValueError, match="load: the archive is damaged: it has two files"):
        torch.load(whole)


def test_random_damage_is_an_error_or_data() -> None:
    """Whatever bytes change: a ValueError, an UnpicklingError, or something that was read."""
    random = np.random.default_rng(0)
    given = {"a": torch.arange(6.0).reshape(2, 3).t(), "p": nn.Parameter(torch.ones(2)),
             "l": [1, 2.5, "x", None, (1, 2), b"abc", {1}], "od": OrderedDict(x=1)}
    whole = np.frombuffer(saved(given).getvalue(), np.uint8)
    tensors = np.frombuffer(safetensors.save({"w": torch.ones(3)}), np.uint8)
    refused = 0
    for i in range(400):
        changed = (tensors if i % 4 == 0 else whole).copy()
        at = random.integers(0, len(changed), 1 + i % 3)
        changed[at] = random.integers(0, 256, len(at))
        try:
            torch.load(io.BytesIO(changed[:len(changed) - i % 5 % 2].tobytes()))
        except (ValueError, pickle.UnpicklingError):
            refused += 1
    assert refused > 200


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    torch.save({"w": torch.ones(1)}, path)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        torch.save({"w": torch.ones(1), "f": lambda: 1}, path)
    assert list(tmp_path.iterdir()) == [path] and torch.load(path)["w"].item() == 1.0


def test_arrays_of_numpy_are_data() -> None:
    given = {"a": np.arange(6.0).reshape(2, 3).T, "n": np.float64(2.5), "i": np.array(["é", "b"]),
             "b": np.array(3, ">i2")}
    found = again(given)
    for name, array in given.items():
        np.testing.assert_array_equal(found[name], array)
        assert np.asarray(found[name]).dtype == np.asarray(array).dtype
    with pytest.raises((ValueError, pickle.UnpicklingError)):
        again(np.array([os.system, None], dtype=object))


# -- safetensors ----------------------------------------------------------------------------


def test_safetensors_files(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    given = {"w": torch.arange(6.0).reshape(2, 3), "i": torch.tensor([1, 2]),
             "h": torch.ones(3).bfloat16(), "none": torch.zeros(0, 2), "s": torch.tensor(True)}
    safetensors.save_file(given, path, {"format": "pt"})
    for found in (safetensors.load_file(path), torch.load(path),
                  safetensors.load(safetensors.save(given))):  # fmt: skip
        assert set(found) == set(given)
        for name, tensor in found.items():
            assert tensor.dtype is given[name].dtype and tensor.shape == given[name].shape
            np.testing.assert_array_equal(tensor.read(), given[name].read())
    with safetensors.safe_open(path, framework="pt") as opened:
        assert opened.metadata() == {"format": "pt"} and set(opened.keys()) == set(given)
        part = opened.get_slice("w")
        assert part.get_shape() == [2, 3] and part[1, 1:].tolist() == [4.0, 5.0]
    library = pytest.importorskip("safetensors.numpy")
    np.testing.assert_array_equal(
        library.load(safetensors.save({"w": given["w"]}))["w"], np.arange(6.0).reshape(2, 3))
    library.save_file({"x": np.ones((2, 2), np.float16)}, path)
    assert torch.load(path)["x"].dtype is torch.float16


def test_safetensors_refuses_what_the_format_cannot_say() -> None:
    a = torch.ones(3)
    with pytest.raises(RuntimeError, match="share memory"):
        safetensors.save({"a": a, "b": a[1:]})
    with pytest.raises(ValueError, match="expected a Tensor"):
        safetensors.save({"a": {"b": a}})
    with pytest.raises(ValueError, match="complex128"):
        safetensors.save({"a": a.to(torch.complex128)})


def test_tied_parameters_of_a_model(tmp_path: Path) -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(5, 3)
            self.head = nn.Linear(3, 5, bias=False)
            self.head.weight = self.embed.weight

    m, path = Tied(), tmp_path / "m.safetensors"
    safetensors.save_model(m, path)
    other = Tied()
    assert safetensors.load_model(other, path) == ([], [])
    assert torch.equal(other.head.weight, m.embed.weight)
    assert other.head.weight is other.embed.weight


def header(text: str, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(text)) + text.encode() + data


@pytest.mark.parametrize("data", [
    b"", b"\x00" * 8, header("[]"), header("{"), header('{"a": 1}'), header("{}", b"x"),
    header('{"a": {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]}}', b"1234"),
    header('{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}', b"1234"),
    header('{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}', b"123"),
    header('{"a": {"dtype": "F32", "shape": [-1, -1], "data_offsets": [0, 4]}}', b"1234"),
    header('{"a": {"dtype": "U8", "shape": [1], "data_offsets": [1, 2]}}', b"12"),
    header('{"a": {"dtype": "U8", "shape": [1.0], "data_offsets": [0, 1]}}', b"1"),
    b"\xff" * 8 + b"{}",
    # one name twice, in the header and in what it says of a tensor or of the whole
    header('{"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},'
           ' "a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}', b"1"),
    header('{"a": {"dtype": "U8", "shape": [1], "shape": [1], "data_offsets": [0, 1]}}', b"1"),
    header('{"__metadata__": {"x": "1", "x": "2"}}'),
    header('{"__metadata__": {}, "__metadata__": {}}'),
    # overlapping, the same bytes twice, a gap, bytes that belong to nothing
    header('{"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]},'
           ' "b": {"dtype": "U8", "shape": [2], "data_offsets": [1, 3]}}', b"123"),
    header('{"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},'
           ' "b": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}', b"1"),
    header('{"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},'
           ' "b": {"dtype": "U8", "shape": [1], "data_offsets": [2, 3]}}', b"123"),
    header('{"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}', b"12"),
    header('{"a": {"dtype": "U8", "shape": [1], "data_offsets": [1, 0]}}', b"1"),
    header('{"a": {"dtype": "U8", "shape": [true], "data_offsets": [0, 1]}}', b"1"),
    header('{"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1, 1]}}', b"1"),
    header('{"a": {"dtype": "U8", "shape": 1, "data_offsets": [0, 1]}}', b"1"),
    header('{"a": {"dtype": "U8", "shape": [1]}}', b"1"),
    header('{"a": {"dtype": "F32", "shape": [4611686018427387905], "data_offsets": [0, 4]}}',
           b"1234"),
    header('{"a": {"dtype": "U8", "shape": [], "data_offsets": [0, 0]}}'),
    # metadata are strings by strings
    header('{"__metadata__": {"x": 1}}'), header('{"__metadata__": {"x": null}}'),
    header('{"__metadata__": {"x": {}}}'), header('{"__metadata__": []}'),
    header('{"__metadata__": ""}'), header('{"__metadata__": 0}'),
    # what is no JSON, or not in UTF-8
    header('{"a": NaN}'), header('{"__metadata__": {"x": Infinity}}'), header(" {}"),
    header("\ufeff{}"), struct.pack("<Q", 4) + "{}".encode("utf-16-le"),
    struct.pack("<Q", 22) + b'{"__metadata__":{"\xff":""}}'[:22],
    struct.pack("<Q", 25) + b'{"__metadata__":{"\xff":""}}',
])
def test_damaged_safetensors_are_errors(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ValueError, match="load"):
        safetensors.load(data)
    path = tmp_path / "a"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="load"):
        safetensors.load_file(path)


# -- other libraries ------------------------------------------------------------------------


def test_dlpack_both_ways() -> None:
    a = np.arange(6.0).reshape(2, 3)
    assert torch.from_dlpack(a).tolist() == a.tolist()
    assert torch.from_dlpack(np.broadcast_to(a, (2, 2, 3))).shape == (2, 2, 3)
    x = torch.arange(4.0) + 1
    np.testing.assert_array_equal(np.from_dlpack(x), [1, 2, 3, 4])
    with pytest.raises(BufferError, match="require gradient"):
        np.from_dlpack(x.requires_grad_())
    copied = x.detach().__dlpack__(copy=True)
    assert "dltensor" in repr(copied)
    with pytest.raises(ValueError, match="copy=False"):
        torch.asarray([1.0], copy=False)
    assert torch.asarray(x) is x and torch.asarray(x, requires_grad=True) is x
    assert not torch.asarray(x, requires_grad=False).requires_grad
    assert torch.Tensor(a).tolist() == a.tolist()


def test_tensors_of_one_storage_are_told_by_it() -> None:
    x = torch.zeros(4, 3)
    assert safetensors.storage_ptr(x) == safetensors.storage_ptr(x[2:])
    assert safetensors.storage_ptr(x) != safetensors.storage_ptr(x.clone())
    assert safetensors.storage_size(x[2:]) == 48
