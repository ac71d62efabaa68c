"""The table of primitives. An op with any other step has no host kernel."""

from __future__ import annotations

from typing import Final

from .conversions import CONVERSIONS
from .elementwise import ELEMENTS
from .entry import Primitive
from .functions import FUNCTIONS
from .indexing import INDEXING
from .linalg import LINALG
from .products import PRODUCTS
from .reductions import COMBINED
from .shapes import SHAPES

PRIMITIVES: Final[dict[str, Primitive]] = {
    **ELEMENTS, **CONVERSIONS, **SHAPES, **COMBINED, **PRODUCTS, **INDEXING, **LINALG, **FUNCTIONS,
}
