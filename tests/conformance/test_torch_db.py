"""PyTorch's table of operators: the first sample of every entry that is known to agree.

The whole walk takes long; ``python -m tests.conformance.torch_db --write`` keeps its results in
``torch_results.json``, and an entry that agreed there must agree here.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("quick_compiler")

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's tables of samples need it")

import torch  # noqa: E402

from tests.conformance import torch_db, torch_walk  # noqa: E402

SAMPLES = 1
GROUPS = 40
RESULTS: dict[str, Any] = json.loads((torch_walk.HERE / "torch_results.json").read_text())


def _agrees(name: str) -> bool:
    r = RESULTS.get(f"{name} float32")
    return r is not None and not r["reads"] and r["forward"] == r["samples"] > 0 and (
        r["backward"] == r["backward_samples"])


@pytest.fixture(scope="module")
def entries() -> list[Any]:
    return [op for op in torch_db.entries(["*"]) if _agrees(torch_db.full_name(op))]


@pytest.mark.parametrize("group", range(GROUPS))
def test_what_agreed_agrees(entries: list[Any], group: int) -> None:
    found = torch_db.together(entries[group::GROUPS], torch.float32, SAMPLES)
    wrong = [r.line() for r in found if r.first]
    assert not wrong, "\n".join(wrong)


def test_most_operators_agree() -> None:
    """The shares that the project keeps itself to: 90 % forward, 85 % backward too.

    Operators that PyTorch does not have in float32 count by the dtypes that they have.
    """
    fixed = torch_walk.fixed_names("operators")
    by_name: dict[str, list[Any]] = {n: [] for n in fixed}
    for r in RESULTS.values():
        if r["dtype"] == "float32" or f"{r['name']} float32" not in RESULTS:
            by_name[r["name"]].append(r)
    forward = [n for n, rs in by_name.items() if rs and all(
        not r["reads"] and r["forward"] == r["samples"] > 0 for r in rs)]
    both = [n for n in forward if all(
        r["backward"] == r["backward_samples"] for r in by_name[n])]
    assert len(fixed) == 667
    assert len(forward) >= 0.90 * len(fixed)
    assert len(both) >= 0.85 * len(fixed)
