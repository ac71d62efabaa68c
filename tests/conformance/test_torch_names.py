"""PyTorch's public names: each is here, or there is a reason why not."""

from __future__ import annotations

import pytest

from tests.conformance import torch_api

NAMES = torch_api.names()


@pytest.mark.parametrize("section", NAMES)
def test_every_name_is_here_or_out_of_scope_with_a_reason(section: str) -> None:
    missing = [n for n in NAMES[section] if not torch_api.here(section, n)]
    assert [n for n in missing if not torch_api.reason(section, n)] == []


def test_the_list_has_every_public_module_and_the_attributes_of_classes() -> None:
    assert len(NAMES) > 150 and sum(map(len, NAMES.values())) > 5000
    assert "Adam.step" in NAMES["torch.optim.adam"]
    assert torch_api.here("torch.optim.adam", "Adam.step")
    assert not torch_api.here("torch.optim.adam", "Adam.nothing")
    assert torch_api.reason("torch.optim.adam", "Adam.nothing") == ""
