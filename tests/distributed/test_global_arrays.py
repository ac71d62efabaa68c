"""Meshes of all processes' devices: values, training, and what goes wrong."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from . import launches

PROGRAM = Path(__file__).parent / "program_global_arrays.py"
TWO_DEVICES = {"JAX_NUM_CPU_DEVICES": "2"}

pytestmark = pytest.mark.slow


def launched(folder: Path, what: str, processes: int = 2, *axes: str) -> list[Any]:
    return launches.launch(
        PROGRAM, folder, processes, what, *(axes or ("data=4",)), environment=TWO_DEVICES)


def test_values(tmp_path: Path) -> None:
    for rank, found in enumerate(launched(tmp_path, "values")):
        shown = "cpu:0,1 of ranks 0,1[data=4]"
        assert found["mesh"] == ("cpu*2:0,1,2,3[data=4]", f"Mesh({shown})")
        assert found["places"] == (shown, f"{shown}/(data)/row-major/device")
        divided, whole = found["picture"]
        assert [line.split("\u2502")[1].strip() for line in divided[1::2]] == [
            f"cpu:{k} of rank {r}" for r in (0, 1) for k in (0, 1)]
        assert whole[1].strip("\u2502 ") == "cpu:0,1 of ranks 0,1"
        np.testing.assert_allclose(*found["mean"], rtol=1e-12)
        assert found["z"] < 1e-12
        first, second = found["element"]
        assert first == second
        assert found["gathered"] and found["back"] and found["drawn"]
        n = 2 ** 14 + 2 ** 6
        assert found["own"] == [rank * n / 2, rank * n / 2 + 8]
        assert found["own shape"] == (n // 16, 8)
        assert found["made"] == ((12, 2), 12.0, [2.0 * rank] * 2)
        assert found["made of NumPy's"] == ((12, 2), 12.0)
        assert found["divided otherwise"] == 12.0
        assert found["written"] == 40.0
        assert found["element written"] == (7.0, 7.0)
        assert found["dlpack"] == 7.0
        assert found["own of what was just put there"] == (2,)
        assert found["divided after a read"] == [((("data",),), (4,))] * 2
        for name in ("moved", "beside a collective"):
            np.testing.assert_allclose(*found[name], rtol=1e-12)
        total, expected, firsts, rows = found["mapped"]
        np.testing.assert_allclose(total, expected, rtol=1e-12)
        assert firsts == rows
        assert found["gradient"] < 1e-5
        assert "all-reduce for mean of f64[8]: 64 bytes on each device" in found["record"]


def test_training_has_the_losses_of_one_device(tmp_path: Path, thorough: bool) -> None:
    model = "block" if thorough else "block:by_columns_then_rows"
    for found in launched(tmp_path, "training", 2, "data=2", "model=2", model):
        _assert_losses(found)


@pytest.mark.thorough
def test_training_in_four_processes_of_two_devices(tmp_path: Path) -> None:
    for model in ("block", "convolutions"):
        for found in launched(tmp_path, "training", 4, "data=4", "model=2", model):
            _assert_losses(found)


def _assert_losses(found: dict[str, Any]) -> None:
    assert found
    for name, (losses, expected) in found.items():
        np.testing.assert_allclose(losses, expected, rtol=1e-5, err_msg=name)


def test_three_hundred_programs_without_a_read(tmp_path: Path) -> None:
    assert launched(tmp_path, "flight") == [True, True]


def test_another_program_is_an_error_that_names_the_op_and_the_line(tmp_path: Path) -> None:
    for rank, text in enumerate(launched(tmp_path, "another_program")):
        assert f"rank {rank} runs" in text
        assert "= exp(" in text and "= sum(" in text
        assert text.count("program_global_arrays.py:") == 2


def test_another_value_is_an_error(tmp_path: Path) -> None:
    for text in launched(tmp_path, "another_value"):
        assert "a copy to the mesh of a float64[16] whose data have checksum" in text
        assert "lazyloom.distributed.broadcast(x)" in text
        assert text.count("program_global_arrays.py:") == 2


def test_another_run_time_scalar_is_an_error(tmp_path: Path) -> None:
    for text in launched(tmp_path, "another_number"):
        assert "the run-time scalars float64 [0.5]" in text and "float64 [1.5]" in text


def test_a_process_that_is_killed_is_named(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="rank 1 .* was killed by SIGKILL"):
        launched(tmp_path, "killed")
    (text,) = [pickle.loads(path.read_bytes()) for path in (tmp_path / "ours").iterdir()]
    assert text.startswith("rank 1 has ended, and the other processes cannot go on without it")
