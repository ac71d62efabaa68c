"""The strides of what PyTorch's table of operators gives for operands in several memory orders."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's tables of samples need it")

from tests.conformance import torch_strides  # noqa: E402
from tests.conformance.torch_db import full_name  # noqa: E402

GROUPS = 20


@pytest.mark.parametrize("group", range(GROUPS))
def test_results_have_pytorch_s_strides(group: int) -> None:
    orders = list(torch_strides.ORDERS)
    wrong = []
    for number, (op, dtype) in enumerate(list(torch_strides.table())[group::GROUPS]):
        order = orders[number % len(orders)]
        found = torch_strides.difference(op, dtype, order)
        if found is not None:
            wrong.append(f"{full_name(op)} {order}: {found}")
    assert not wrong, "\n".join(wrong)
