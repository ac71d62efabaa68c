"""What is out of scope says so and what to do; files are exchanged with NumPy both ways."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as onp
import pytest

import lazyloom_numpy as np
from lazyloom_numpy._absent import REASONS


@pytest.mark.parametrize("make", [
    lambda: np.array(["a", "b"]), lambda: np.zeros(2, object), lambda: np.array([1, None]),
    lambda: np.array({1: 2}), lambda: np.zeros(2, [("x", int)]), lambda: np.zeros(2, "S3"),
    lambda: np.zeros(2, "datetime64[D]"), lambda: np.ones(2).astype("m8[s]"),
    lambda: np.asarray(onp.zeros(2, object)), lambda: np.zeros(2, onp.longdouble),
    lambda: np.asarray(onp.ma.masked_array([1, 2], [True, False])), lambda: np.sin("a"),
    lambda: np.result_type("U3", int), lambda: np.full(2, "x"),
])  # fmt: skip
def test_dtypes_out_of_scope(make: Callable[[], Any]) -> None:
    with pytest.raises(TypeError, match="out of scope.*use "):
        make()


@pytest.mark.parametrize("name", sorted(REASONS))
def test_absent_names_have_a_reason(name: str) -> None:
    assert hasattr(onp, name)
    assert not hasattr(np, name)
    with pytest.raises(AttributeError, match=f"lazyloom_numpy.{name} does not exist: .*use"):
        getattr(np, name)


def test_all_of_numpys_namespace_is_here_or_explained() -> None:
    public = {n for n in dir(onp) if not n.startswith("_")}
    assert not {n for n in public if not hasattr(np, n) and n not in REASONS}


def test_an_unknown_name_is_a_plain_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = np.nothing


def test_memory_maps_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(3))
    with pytest.raises(NotImplementedError, match="memory maps are out of scope"):
        np.load(tmp_path / "a.npy", mmap_mode="r")


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


def test_pickled_objects_in_files_are_refused(tmp_path: Path) -> None:
    onp.save(tmp_path / "o.npy", onp.array([None, 1], object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle"):
        np.load(tmp_path / "o.npy")
    with pytest.raises(TypeError, match="out of scope"):
        np.load(tmp_path / "o.npy", allow_pickle=True)


class Runs:
    """Leaves a folder behind if it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_nothing_is_unpickled_before_it_is_refused(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    objects = onp.array([Runs(trace)], object)
    onp.save(tmp_path / "o.npy", objects, allow_pickle=True)
    onp.savez(tmp_path / "o.npz", a=objects, b=onp.arange(2))
    (tmp_path / "bare").write_bytes(pickle.dumps(Runs(trace)))
    for pickles, error in ((True, TypeError), (False, ValueError)):
        for name in ("o.npy", "bare"):
            with pytest.raises(error):
                np.load(tmp_path / name, allow_pickle=pickles)
        with np.load(tmp_path / "o.npz", allow_pickle=pickles) as archive:
            assert archive["b"].tolist() == [0, 1]
            with pytest.raises(error):
                archive["a"]
    assert not trace.exists()


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
