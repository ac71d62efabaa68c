"""Functions of frontends whose common calls are one op, recorded without interpreted code."""

from __future__ import annotations

from typing import Any, cast

from ..compiled import mypyc_attr
from ..trace.recording import record_number, record_one, record_two
from ..trace.scalars import Scalar
from ..trace.specs import Spec
from .contents import current
from .operators import Operators, operators_of
from .tensor import Tensor, wrapped


@mypyc_attr(allow_interpreted_subclasses=True)
class OpFunction:
    """A function whose calls with one or two plain operands may be one op.

    A class derived from it has a method ``general``, which takes all other calls.

    Attributes:
        ready: the op as a Spec, by the dtype of the one operand, or by those of the two, of which
            one may be ``float`` or ``int`` for a Python number.
    """

    __slots__ = ("ready",)

    ready: dict[Any, Spec]

    def __init__(self) -> None:
        self.ready = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            count = len(args)
            found: Any = None
            if count == 1:
                found = _of_one(self.ready, args[0])
            elif count == 2:
                found = _of_two(self.ready, args[0], args[1])
            if found is not None:
                return found
        return cast(Any, self).general(*args, **kwargs)


def _rules_of(x: Tensor) -> Operators | None:
    """The rules of a plain tensor, whose class is that of results; None for any other."""
    if x.slow_path:
        return None
    cls = type(x)
    rules = operators_of(cls)
    return rules if rules is not None and (
        cls is rules.result or cls is rules.result_0d) else None


def _of_one(ready: dict[Any, Spec], x: object) -> Any:
    if not isinstance(x, Tensor):
        return None
    rules = _rules_of(x)
    spec = None if rules is None else ready.get(x.tensor_type.dtype)
    if rules is None or spec is None:
        return None
    return wrapped(rules, record_one(spec, current(x)))


def _of_two(ready: dict[Any, Spec], x: object, y: object) -> Any:
    if isinstance(x, Tensor):
        rules = _rules_of(x)
        if rules is None:
            return None
        if not isinstance(y, Tensor):
            return _with_number(ready, rules, x, y, False)
        if _rules_of(y) is not rules:
            return None
        spec = ready.get((x.tensor_type.dtype, y.tensor_type.dtype))
        if spec is None:
            return None
        return wrapped(rules, record_two(spec, current(x), current(y)))
    if isinstance(y, Tensor):
        rules = _rules_of(y)
        return None if rules is None else _with_number(ready, rules, y, x, True)
    return None


def _with_number(
    ready: dict[Any, Spec], rules: Operators, x: Tensor, number: object, reverse: bool
) -> Any:
    kind = type(number)
    dtype = x.tensor_type.dtype
    if dtype.kind != "f" or not (kind is float or kind is int):
        return None
    spec = ready.get((kind, dtype) if reverse else (dtype, kind))
    if spec is None:
        return None
    try:
        scalar = Scalar(float(cast(Any, number)), dtype)
    except OverflowError:
        # the general function has an error for it
        return None
    return wrapped(rules, record_number(spec, current(x), scalar, reverse))


def reduced(
    ready: dict[Any, Spec], name: str, x: object, axis: object, keepdims: object, kinds: str
) -> Any:
    """A reduction of a plain tensor as one op; None where that is not ready, or not enough.

    Args:
        ready: the op as a Spec, by its name, the axis (an int from 0 on, or None for all) and
            ``keepdims``.
        kinds: the kinds of dtypes for which it is one op.
    """
    if not isinstance(x, Tensor) or x.tensor_type.dtype.kind not in kinds:
        return None
    cls = type(x)
    rules = operators_of(cls)
    if rules is None or cls is not rules.result and cls is not rules.result_0d:
        return None
    if axis is not None:
        if type(axis) is not int:
            return None
        ndim = len(x.tensor_type.shape)
        at: int = axis
        if at < 0:
            at += ndim
        if not 0 <= at < ndim:
            return None
        axis = at
    spec = ready.get((name, axis, keepdims))
    return None if spec is None else wrapped(rules, record_one(spec, current(x)))
