"""Checkpoints as safetensors files: PyTorch reads them, and writes such that are read here."""

from __future__ import annotations

import importlib.util
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyloom_torch as ours
import lazyloom_torch.distributed.checkpoint as dcp
from lazyloom_torch.distributed.checkpoint._consolidate_hf_safetensors import (
    consolidate_safetensors_files,
    consolidate_safetensors_files_on_every_rank,
)
from tests.distributed.launches import launch, script

PYTORCH = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None or importlib.util.find_spec("safetensors") is None,
    reason="PyTorch or safetensors is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def state(torch: Any) -> dict[str, Any]:
    """Tensors of several dtypes and shapes: a view, one of no elements, one of no dimensions."""
    whole = torch.arange(24.0).reshape(4, 6) / 7
    return {
        "layer.weight": whole, "layer.bias": whole[:, 1], "half": whole.to(torch.bfloat16),
        "count": torch.tensor(7), "mask": torch.tensor([True, False, True]),
        "none": torch.zeros(0, 3), "nested": {"codes": torch.arange(5, dtype=torch.uint8)}}


def emptied(given: dict[str, Any]) -> dict[str, Any]:
    return {k: emptied(v) if isinstance(v, dict) else v.new_zeros(v.shape)
            for k, v in given.items()}


def same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        if isinstance(value, dict):
            same(found[name], value)
        else:
            assert str(found[name].dtype).split(".")[1] == str(value.dtype).split(".")[1]
            assert found[name].tolist() == value.tolist()
            assert tuple(found[name].shape) == tuple(value.shape)


@PYTORCH
@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("writer", ["ours", "theirs"])
def test_each_reads_what_the_other_wrote(tmp_path: Path, writer: str, mapped: bool) -> None:
    import torch as theirs
    import torch.distributed.checkpoint as their_dcp

    both = {"ours": (ours, dcp), "theirs": (theirs, their_dcp)}
    numbers = {"layer.weight": 1, "layer.bias": 1, "half": 2, "count": 2, "mask": 1, "none": 2,
               "nested.codes": 3} if mapped else None
    torch, checkpoint = both.pop(writer)
    checkpoint.save(state(torch), storage_writer=checkpoint.HuggingFaceStorageWriter(
        str(tmp_path), numbers, thread_count=2), no_dist=True)
    count = 3 if mapped else 1
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        *(f"model-0000{i}-of-0000{count}.safetensors" for i in range(1, count + 1)),
        "model.safetensors.index.json"]
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == 96 + 16 + 48 + 8 + 3 + 5
    assert index["weight_map"]["half"] == (
        f"model-0000{2 if mapped else 1}-of-0000{count}.safetensors")
    for torch, checkpoint in [both.popitem()[1], (ours, dcp)]:
        found = emptied(state(torch))
        checkpoint.load(found, storage_reader=checkpoint.HuggingFaceStorageReader(
            str(tmp_path), thread_count=2), no_dist=True)
        same(found, state(torch))


def parts(folder: Path) -> Path:
    """A folder with parts of a tensor, as two processes write them."""
    from lazyloom_torch import safetensors
    from lazyloom_torch.distributed.checkpoint._hf_files import file_name, strings

    folder.mkdir()
    whole = np.arange(30, dtype=np.float32).reshape(6, 5)
    for shard, begin, end in ((1, 0, 4), (2, 4, 6)):
        given = {"w": ours.tensor(whole[begin:end])}
        at = {"w": (begin, 0)}
        if shard == 2:
            given["v"], at["v"] = ours.arange(3).to(ours.bfloat16), (0,)
        safetensors.save_file(given, folder / file_name(1, 1, shard), strings(at))
    return folder


@pytest.mark.parametrize("together", [consolidate_safetensors_files,
                                      consolidate_safetensors_files_on_every_rank])
def test_parts_are_put_together(tmp_path: Path, together: Any) -> None:
    from lazyloom_torch import safetensors

    folder, out = parts(tmp_path / "parts"), tmp_path / "whole"
    found = {"w": ours.zeros(6, 5), "v": ours.zeros(3)}
    dcp.load(found, storage_reader=dcp.HuggingFaceStorageReader(folder), no_dist=True)
    together(folder, out, {"w": 1, "v": 2}, num_threads=2)
    first, second = (out / f"model-0000{i}-of-00002.safetensors" for i in (1, 2))
    whole = {**safetensors.load_file(first), **safetensors.load_file(second)}
    for read in (found, whole):
        np.testing.assert_array_equal(read["w"].numpy(), np.arange(30).reshape(6, 5))
        assert read["v"].tolist() == [0, 1, 2]
    assert whole["v"].dtype == ours.bfloat16
    assert json.loads((out / "model.safetensors.index.json").read_text()) == {
        "metadata": {"total_size": 126}, "weight_map": {"v": second.name, "w": first.name}}


def test_parts_that_are_missing_are_an_error(tmp_path: Path) -> None:
    folder = parts(tmp_path / "parts")
    with pytest.raises(ValueError, match="has no part of 'x': leave these out"):
        consolidate_safetensors_files(folder, tmp_path / "whole", {"w": 1, "x": 1})
    (folder / "shard-00001-model-00001-of-00001.safetensors").unlink()
    with pytest.raises(ValueError, match=r"'w' in .* have 10 elements of float32, expected 30"):
        consolidate_safetensors_files(folder, tmp_path / "whole", {"w": 1})
    with pytest.raises(FileNotFoundError, match="give the folder that has them itself"):
        dcp.HuggingFaceStorageReader(tmp_path).read_metadata()


def test_what_files_cannot_hold_is_an_error(tmp_path: Path) -> None:
    def said(given: dict[str, Any], numbers: Any = None) -> str:
        with pytest.raises(dcp.CheckpointException) as error:
            dcp.save(given, storage_writer=dcp.HuggingFaceStorageWriter(tmp_path, numbers),
                     no_dist=True)
        return str(error.value)

    assert "'step' is no tensor" in said({"step": 3})
    assert "no number for 'w'" in said({"w": ours.ones(2)}, {"v": 1})
    assert not list(tmp_path.iterdir())


def test_another_save_takes_the_place_of_the_last(tmp_path: Path) -> None:
    for count in (2, 1):
        dcp.save({"a": ours.ones(2) * count, "b": ours.ones(3)}, no_dist=True,
                 storage_writer=dcp.HuggingFaceStorageWriter(tmp_path, {"a": 1, "b": count}))
    (tmp_path / "other.txt").write_text("")
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".json", ".safetensors", ".txt"]
    found = {"a": ours.zeros(2)}
    dcp.load(found, storage_reader=dcp.HuggingFaceStorageReader(tmp_path), no_dist=True)
    assert found["a"].tolist() == [1, 1]


SAVING = """
import os
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter
from torch.distributed.tensor import Shard, distribute_tensor
from torch.distributed.device_mesh import init_device_mesh
dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2,))
whole = torch.arange(35.).reshape(7, 5)
state = {"rows": distribute_tensor(whole, mesh, [Shard(0)]),
         "columns": distribute_tensor(whole, mesh, [Shard(1)]), "all": torch.ones(3)}
for together in (False, True):
    dcp.save(state, storage_writer=HuggingFaceStorageWriter(
        sys.argv[1] + str(together), save_distributed=True, enable_consolidation=together))
said = ""
try:
    dcp.save(state, storage_writer=HuggingFaceStorageWriter(sys.argv[1]))
except dcp.CheckpointException as error:
    said = str(error)
leave(said)
dist.destroy_process_group()
"""


@PYTORCH
@pytest.mark.slow
@pytest.mark.parametrize("pytorch", [False, True])
def test_processes_write_their_parts(tmp_path: Path, pytorch: bool) -> None:
    import torch as theirs
    import torch.distributed.checkpoint as their_dcp

    folder = str(tmp_path / "checkpoint")
    said = launch(script(tmp_path, SAVING), tmp_path, 2, folder, pytorch=pytorch)
    if not pytorch:
        assert "processes 0, 1 have parts of the state" in said[0]
    for at in ("False", "True/sharded", "True"):
        there = Path(folder + at)
        files = sorted(p.name for p in there.glob("*.safetensors"))
        assert files == (["model-00001-of-00001.safetensors"] if at == "True" else [
            f"shard-0000{i}-model-00001-of-00001.safetensors" for i in (1, 2)])
        for torch, checkpoint in ((ours, dcp), (theirs, their_dcp)):
            found = {"rows": torch.zeros(7, 5), "columns": torch.zeros(7, 5), "all": torch.zeros(3)}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                checkpoint.load(found, no_dist=True, storage_reader=(
                    checkpoint.HuggingFaceStorageReader(str(there))))
            for name in ("rows", "columns"):
                assert found[name].reshape(-1).tolist() == list(range(35))
            assert found["all"].tolist() == [1, 1, 1]
