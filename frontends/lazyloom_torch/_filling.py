"""How a module gets names that its source does not define: from tables, or wrapped.

A module calls one of these once, with its own name. Type checkers know such names from stubs, which
``docs/stubs_torch.py`` writes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from . import _autocast
from ._out import give_out


def fill(module: str, names: Mapping[str, Any]) -> None:
    """Put what a table holds into a module."""
    vars(sys.modules[module]).update(names)


def treat(module: str, out: Iterable[str], rules: dict[str, str]) -> None:
    """Wrap functions of a module: those of ``out`` take that argument, autocast has its rules."""
    namespace = vars(sys.modules[module])
    give_out(namespace, out)
    _autocast.apply(namespace, rules)
