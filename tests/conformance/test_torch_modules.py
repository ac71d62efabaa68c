"""PyTorch's table of modules: the first sample of every module, and the counts of the whole walk.

The whole walk takes long; ``python -m tests.conformance.torch_modules --write`` keeps its results
in ``torch_modules_results.json``.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("quick_compiler")

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's tables of samples need it")

import torch  # noqa: E402

from tests.conformance import torch_modules, torch_walk  # noqa: E402

GROUPS = 12


@pytest.fixture(scope="module")
def entries() -> list[Any]:
    return list(torch_modules.entries(["*"]))


@pytest.mark.parametrize("group", range(GROUPS))
def test_modules_agree(entries: list[Any], group: int) -> None:
    found = torch_modules.together(entries[group::GROUPS], torch.float32, 1)
    wrong = [r.line() for r in found if r.first]
    assert not wrong, "\n".join(wrong)


def test_nearly_all_modules_agree() -> None:
    """The share that the project keeps itself to: 95 % of the modules, with all samples."""
    fixed = torch_walk.fixed_names("modules")
    results = json.loads((torch_walk.HERE / "torch_modules_results.json").read_text())
    found = [results[f"{n} float32"] for n in fixed if f"{n} float32" in results]
    agree = [r for r in found if not r["reads"] and 0 < r["samples"] == r["forward"] == r["state"]
             and r["backward"] == r["backward_samples"]]
    assert len(fixed) == 114
    assert len(agree) >= 0.95 * len(fixed)
