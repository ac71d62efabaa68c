"""``SGD(foreach=False)``, the loop over parameters, gives what the op for a group gives."""

from __future__ import annotations

from typing import Any

import pytest

import lazyloom
import lazyloom_torch as torch


def _trained(options: dict[str, Any], foreach: bool) -> list[Any]:
    params = [torch.tensor(data, requires_grad=True) for data in ([1.0, -2.0], [[0.5]])]
    optimizer = torch.optim.SGD(params, 0.1, foreach=foreach, **options)
    for _ in range(3):
        optimizer.zero_grad()
        (params[0].square().sum() * params[1].exp().sum()).backward()
        optimizer.step()
    lazyloom.sync(*(p.value for p in params))
    return [p.tolist() for p in params]


@pytest.mark.parametrize("options", [
    {}, {"momentum": 0.9, "dampening": 0.5, "weight_decay": 0.01, "maximize": True},
    {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
])
def test_the_loop_gives_what_the_op_gives(options: dict[str, Any]) -> None:
    for one, all_ in zip(_trained(options, False), _trained(options, True)):
        torch.testing.assert_close(torch.tensor(one), torch.tensor(all_), rtol=1e-5, atol=1e-6)
