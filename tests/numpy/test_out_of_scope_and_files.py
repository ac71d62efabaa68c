"""What is NumPy's own here; files are exchanged with NumPy both ways."""

from __future__ import annotations

import importlib
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as onp
import pytest

import lazyloom_numpy as np
from lazyloom_numpy._absent import NUMPYS_OWN


def test_all_of_numpys_namespace_is_here() -> None:
    public = {n for n in dir(onp) if not n.startswith("_")}
    assert not {n for n in public if not hasattr(np, n)}


@pytest.mark.parametrize("name", sorted(NUMPYS_OWN))
def test_what_no_device_has_is_numpys_own(name: str) -> None:
    assert getattr(np, name) is getattr(onp, name)


@pytest.mark.parametrize("name", [
    "char", "ctypeslib", "dtypes", "exceptions", "ma", "ma.extras", "polynomial",
    "polynomial.polynomial", "polynomial.legendre", "rec", "strings", "version", "lib.mixins",
    "lib.array_utils", "lib.recfunctions", "lib.format"])  # fmt: skip
def test_modules_of_numpys_are_imported_under_this_name(name: str) -> None:
    theirs = importlib.import_module(f"numpy.{name}")
    before = theirs.__spec__
    assert importlib.import_module(f"lazyloom_numpy.{name}") is theirs
    assert theirs.__spec__ is before and theirs.__name__ == f"numpy.{name}"


def test_names_of_modules() -> None:
    from lazyloom_numpy.exceptions import AxisError
    from lazyloom_numpy.lib.mixins import NDArrayOperatorsMixin
    from lazyloom_numpy.ma import masked_array
    from lazyloom_numpy.polynomial import Polynomial

    assert AxisError is onp.exceptions.AxisError
    assert NDArrayOperatorsMixin is np.lib.mixins.NDArrayOperatorsMixin
    assert masked_array is np.ma.masked_array and Polynomial is np.polynomial.Polynomial
    assert np.lib.scimath is np.emath and np.lib.NumpyVersion is onp.lib.NumpyVersion
    for name in ("lazyloom_numpy.nothing", "lazyloom_numpy.ma.nothing", "lazyloom_numpy.mad"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)


def test_an_unknown_name_is_a_plain_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = np.nothing


def test_memory_maps_are_numpys(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(3))
    loaded = np.load(tmp_path / "a.npy", mmap_mode="r")
    assert type(loaded) is onp.memmap and loaded.tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "complex64"])
def test_files_are_exchanged_with_numpy(tmp_path: Path, dtype: str) -> None:
    data = onp.arange(6).reshape(2, 3).astype(dtype)
    np.save(tmp_path / "ours.npy", np.array(data))
    onp.save(tmp_path / "theirs.npy", data.T)
    np.savez(tmp_path / "ours.npz", np.array(data), b=data)
    onp.savez_compressed(tmp_path / "theirs.npz", a=data)
    onp.testing.assert_array_equal(onp.load(tmp_path / "ours.npy"), data)
    loaded = np.load(tmp_path / "theirs.npy")
    assert loaded.dtype == dtype and loaded.flags.f_contiguous
    onp.testing.assert_array_equal(loaded.read(), data.T)
    with onp.load(tmp_path / "ours.npz") as archive:
        onp.testing.assert_array_equal(archive["arr_0"], archive["b"])
    with np.load(tmp_path / "theirs.npz") as ours:
        assert list(ours) == ["a"] and "a" in ours and len(ours) == 1
        onp.testing.assert_array_equal(ours["a"].read(), data)
    (tmp_path / "raw").write_bytes(b"")
    np.array(data).tofile(tmp_path / "raw")
    onp.testing.assert_array_equal(np.fromfile(tmp_path / "raw", dtype).read(), data.ravel())


class Runs:
    """Leaves a folder behind if it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_objects_in_files_are_unpickled_where_that_is_allowed(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    objects = onp.array([Runs(trace)], object)
    onp.save(tmp_path / "o.npy", objects, allow_pickle=True)
    onp.savez(tmp_path / "o.npz", a=objects, b=onp.arange(2))
    (tmp_path / "bare").write_bytes(pickle.dumps(Runs(trace)))
    for name in ("o.npy", "bare"):
        with pytest.raises(ValueError):
            np.load(tmp_path / name)
    with np.load(tmp_path / "o.npz") as archive:
        assert archive["b"].tolist() == [0, 1]
        with pytest.raises(ValueError):
            archive["a"]
    assert not trace.exists()
    np.save(tmp_path / "given.npy", onp.array([{"x": 1}], object))
    found = np.load(tmp_path / "given.npy", allow_pickle=True)
    assert type(found) is onp.ndarray and found[0] == {"x": 1}


def test_text_files(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "a.txt", np.arange(6.0).reshape(2, 3), header="three columns")
    onp.testing.assert_array_equal(onp.loadtxt(tmp_path / "a.txt"), [[0, 1, 2], [3, 4, 5]])
    first, last = np.loadtxt(tmp_path / "a.txt", usecols=(0, 2), unpack=True)
    assert first.tolist() == [0.0, 3.0] and last.tolist() == [2.0, 5.0]
    (tmp_path / "b.csv").write_text("1,,3\n4,5,6\n")
    holes = np.genfromtxt(tmp_path / "b.csv", delimiter=",")
    assert np.isnan(holes).tolist() == [[False, True, False], [False] * 3]


def test_data_is_a_read_only_copy() -> None:
    x = np.arange(4.0)
    memory = x.data
    assert isinstance(memory, memoryview) and memory.readonly and memory.tolist() == [0, 1, 2, 3]
    x[0] = 9
    assert memory.tolist() == [0, 1, 2, 3]
