"""Small arrays that are filled with a number, made on the host at once.

The result of such an op is a program's boundary, so that a program which uses it is the same
either way; to record the op and to run a program for it takes several times as long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from .. import foreign
from ..backends.data import scalar_of
from ..evaluate.elements import is_watched
from ..settings import WITHOUT
from ..trace import graph
from ..trace.graph import Buffer, Value
from ..trace.scalars import Scalar
from ..types import TensorType, tensor_type
from .elements import SMALL

_LEFT_OUT: Final[bool] = "host_numbers" in WITHOUT


def created(
    op: object, operands: Sequence[Any], attributes: Mapping[str, Any] | None
) -> Value | None:
    """The value of a creation op, if it is made at once; None if it has to be recorded."""
    if op != "full" or attributes is None or _LEFT_OUT or is_watched() or graph.trace.mapping or (
        foreign.inside[0]
    ):
        return None
    given = operands[0]
    shape = attributes["shape"]
    if not isinstance(given, Scalar) or type(shape) is not tuple:
        return None
    number = given.number
    kind = type(number)
    if kind is not float and kind is not int and kind is not bool:
        return None
    t: TensorType = tensor_type(shape, given.type.dtype)
    if t.nbytes > SMALL:
        return None
    if number == 0 and kind is not float:
        data = np.zeros(t.shape, t.dtype.numpy)
    else:
        data = np.empty(t.shape, t.dtype.numpy)
        data.fill(scalar_of(number, t.dtype))
    return graph.leaf_value(t, Buffer(data, None, False))
