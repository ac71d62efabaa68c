"""Functions and errors against PyTorch itself; skipped where it is not installed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.torch import (
    cases,
    cases_index,
    cases_math,
    cases_modules,
    cases_nn,
    cases_printing_indices_operators,
    cases_recurrent,
    cases_training,
    cases_views,
)
from tests.torch.oracle import same

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("quick_compiler")

TOPICS = {
    "pointwise": cases.POINTWISE, "promotion": cases.PROMOTION, "reductions": cases.REDUCTIONS,
    "linear": cases.LINEAR, "shapes": cases.SHAPES, "creation": cases.CREATION,
    "indexing": cases_index.INDEXING, "aliasing": cases_index.ALIASING,
    "gradients": cases_index.GRADIENTS, "nn": cases_nn.FUNCTIONAL, "modules": cases_nn.MODULES,
    "optim": cases_nn.OPTIM, "views": cases_views.VIEWS, "copies": cases_views.COPIES,
    "sorting": cases_views.SORTING, "counting": cases_views.COUNTING, "masked": cases_views.MASKED,
    "gradients of views": cases_views.GRADIENTS, "machinery": cases_modules.MACHINERY,
    "special": cases_math.SPECIAL, "edges": cases_math.EDGES, "out": cases_math.OUT,
    "ranges": cases_math.RANGES, "refused": cases_math.REFUSED,
    "quantizing": cases_math.QUANTIZING,
    "printing, indices, operators": cases_printing_indices_operators.CASES,
    "training": cases_training.TRAINING,
    "recurrent": cases_recurrent.RECURRENT, "parametrize": cases_recurrent.PARAMETRIZATIONS,
}
#: several layers, or several steps
LOOSE = ("optim", "modules", "recurrent", "parametrize")


@pytest.mark.parametrize(
    ("topic", "name"), [(topic, name) for topic, found in TOPICS.items() for name in found])
def test_it_does_what_pytorch_does(topic: str, name: str) -> None:
    case: Any = TOPICS[topic][name]
    same(case, torch, rtol=1e-4 if topic in LOOSE else 2e-5,
         atol=2e-5 if topic in LOOSE else 5e-6)
