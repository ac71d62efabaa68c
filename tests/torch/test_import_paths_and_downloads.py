"""Where programs import names from, and what they download."""

from __future__ import annotations

import hashlib
import importlib
from pathlib import Path
from typing import Any

import pytest

import lazyloom_torch as torch

_PLACES = {
    "optim.adamw": "AdamW", "optim.adamax": "Adamax", "optim.nadam": "NAdam",
    "optim.radam": "RAdam", "optim.adadelta": "Adadelta", "optim.adagrad": "Adagrad",
    "optim.rmsprop": "RMSprop", "optim.asgd": "ASGD", "optim.rprop": "Rprop",
    "optim.optimizer": "ParamsT", "utils.hooks": "RemovableHandle", "types": "Number",
    "utils.data.distributed": "DistributedSampler", "utils.model_zoo": "load_url",
    "cuda.amp": "custom_fwd", "jit": "Final", "nn.modules.transformer": "_get_clones",
    "nn.modules.module": "_IncompatibleKeys",
}


def test_names_stand_where_programs_look_for_them() -> None:
    for place, name in _PLACES.items():
        found = getattr(importlib.import_module(f"lazyloom_torch.{place}"), name)
        public = getattr(torch.optim, name, None)
        assert found is not None and public in (None, found)
    assert torch.nn.modules.module._addindent("a\nb", 2) == "a\n  b"
    assert torch.jit.annotate(int, 3) == 3


def test_a_checkpoint_by_its_address(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(torch.hub, "_dir", None)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    made = tmp_path / "made.pt"
    torch.save({"w": torch.arange(3)}, made)
    told = hashlib.sha256(made.read_bytes()).hexdigest()[:8]
    right, wrong = tmp_path / f"m-{told}.pt", tmp_path / "m-00000000.pt"
    for path in (right, wrong):
        path.write_bytes(made.read_bytes())
    with pytest.raises(RuntimeError, match="invalid hash"):
        torch.hub.load_state_dict_from_url(wrong.as_uri(), check_hash=True)
    for _ in range(2):
        found = torch.hub.load_state_dict_from_url(right.as_uri(), check_hash=True)
        assert found["w"].tolist() == [0, 1, 2]
        right.unlink(missing_ok=True)  # from now on there is only what was downloaded
    kept = tmp_path / "home" / "hub" / "checkpoints"
    assert [p.name for p in kept.iterdir()] == [right.name]
