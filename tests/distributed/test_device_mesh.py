"""torch.distributed.device_mesh, beside PyTorch's."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.distributed.launches import HERE, launch, script

pytestmark = pytest.mark.slow


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_meshes_say_what_pytorch_says(tmp_path: Path) -> None:
    program = HERE / "program_mesh.py"
    theirs = launch(program, tmp_path, 4, pytorch=True)
    ours = launch(program, tmp_path, 4)
    caught = {"RuntimeError", "ValueError", "KeyError", "TypeError"}
    for rank in range(4):
        assert ours[rank].keys() == theirs[rank].keys()
        for name, wanted in theirs[rank].items():
            found = ours[rank][name]
            if isinstance(wanted, set):
                assert isinstance(found, set) and found & wanted & caught, (name, found, wanted)
            else:
                assert found == wanted, (rank, name)


def test_a_mesh_of_one_process_and_wrong_ones(tmp_path: Path) -> None:
    program = script(tmp_path, """
import pickle
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

mesh = init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))  # joins the processes
assert dist.is_initialized() and mesh.size() == 1 and mesh["tp"].get_group().size() == 1
assert mesh.get_coordinate() == (0, 0) and pickle.loads(pickle.dumps(mesh)) == mesh
for wrong in (lambda: DeviceMesh("cpu", [0, 0]), lambda: DeviceMesh("cpu", [0, 1]),
              lambda: init_device_mesh("cpu", (2,))):
    try:
        wrong()
    except RuntimeError as error:
        assert "duplicate" in str(error) or "bigger than default world size" in str(error)
    else:
        raise AssertionError("no error")
leave(repr(mesh))
""")
    assert launch(program, tmp_path, 1) == ["DeviceMesh((dp=1, tp=1), 'cpu', stride=(1, 1))"]
