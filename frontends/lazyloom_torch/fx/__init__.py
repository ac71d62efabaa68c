"""``torch.fx``: nothing is traced, so that only what libraries say at their import is here."""

from __future__ import annotations

from typing import Any

from .. import _absent
from .._absent_names import MODULES


def wrap(fn_or_name: Any) -> Any:
    """The function or name itself: nothing is traced, so nothing has to stay a leaf."""
    return fn_or_name


__getattr__ = _absent.missing(__name__, reason=MODULES["fx"])
