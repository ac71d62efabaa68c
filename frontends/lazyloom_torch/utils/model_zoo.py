"""``torch.utils.model_zoo``: the older name of functions of ``torch.hub``."""

from __future__ import annotations

from typing import Any

from .. import hub
from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]


def __getattr__(name: str) -> Any:
    """tqdm, as :mod:`torch.hub` has it."""
    return getattr(hub, name)
