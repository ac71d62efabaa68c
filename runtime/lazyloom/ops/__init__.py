"""The op table: every operation of every frontend, each defined once.

See :mod:`lazyloom.ops.spec` for what an entry is. Importing this package fills
the table and does not import JAX.
"""

from . import spec
from .spec import OpDef, lookup, names, op, table

__all__ = ["OpDef", "lookup", "names", "op", "spec", "table"]
