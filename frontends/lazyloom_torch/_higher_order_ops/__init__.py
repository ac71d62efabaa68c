"""``torch._higher_order_ops``: loops and branches that are part of a program.

Where no loop is asked for, a Python loop or branch does as well: it is recorded as it runs.
"""

from __future__ import annotations

from .. import _absent
from .._absent_names import MODULES
from .associative_scan import associative_scan
from .cond import cond
from .scan import scan
from .while_loop import while_loop

__all__ = ["associative_scan", "cond", "scan", "while_loop"]

__getattr__ = _absent.missing(__name__, reason=MODULES["fx"])
