"""``torch.distributed._tensor.api``: where PyTorch had DTensor."""

from __future__ import annotations

from ..tensor._api import *  # noqa: F403
from ..tensor._api import __all__ as __all__
