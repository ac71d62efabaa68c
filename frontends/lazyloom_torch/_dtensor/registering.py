"""Rules of a program's own: ``register_sharding``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..library import CustomOpDef
from .calling import HANDLERS, RULES, Call, Operand, Way, call, tensors_in
from .placements import Placement
from .spec import DTensorSpec


def register_sharding(op: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of a function that says in which ways an operator is computed of parts.

    Along one dimension of a mesh; it takes the place of the rule that the operator has. The
    function is called with the operator's arguments, tensors as objects with ``shape``, ``ndim``,
    ``dtype``, ``mesh`` and ``placements``. It returns pairs: a list of the results' placements, and
    a list of the arguments', None for what is no tensor.

    Args:
        op: an operator of ``torch.ops``, one that ``torch.library`` was told of, or a list of such.
            An operator of PyTorch's is the function of its name here, with that one's arguments.

    Raises TypeError for what is no operator. A call raises ValueError for pairs that do not fit the
    arguments, and for results that lie differently.
    """
    ops = list(op) if isinstance(op, (list, tuple)) else [op]
    names = [_name(o) for o in ops]

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for o, name in zip(ops, names, strict=True):
            RULES[name] = _rule(function, name)
            HANDLERS.pop(name, None)
            if isinstance(o, CustomOpDef):
                o._of_parts = _dispatch
        return function

    return register


def _name(op: Any) -> str:
    """Under which name calls of an operator are found."""
    if isinstance(op, CustomOpDef):
        return op._qualname
    name = getattr(op, "__name__", None)
    if name is None or not callable(op):
        raise TypeError(
            f"register_sharding takes operators such as torch.ops.aten.softmax.int, not {op!r}")
    return str(name).removeprefix("_")


def _dispatch(op: CustomOpDef, args: Any, kwargs: Any) -> Any:
    """A program's operator of DTensors; NotImplemented without any among the arguments."""
    if not any(x._is_dtensor for x in tensors_in([*args, *kwargs.values()])):
        return NotImplemented
    return call(op._plain, op._qualname, args, kwargs)


def _rule(function: Callable[..., Any], name: str) -> Callable[[Call], list[Way]]:
    def rule(made: Call) -> list[Way]:
        def shown(x: Any) -> Any:
            if isinstance(x, Operand):
                return DTensorSpec.of(made.mesh, x.placements, x.shape, x.dtype)
            return type(x)(map(shown, x)) if type(x) in (list, tuple) else x

        args, kwargs = _given(function, made)
        ways = function(*map(shown, args), **{k: shown(v) for k, v in kwargs.items()})
        return [_way(made, name, *way) for way in ways]

    return rule


def _given(function: Callable[..., Any], made: Call) -> tuple[list[Any], dict[str, Any]]:
    """The arguments for the function of an operator, which PyTorch calls with all by position.

    What the operator here has not is None.
    """
    parameters = list(inspect.signature(function).parameters.values())
    bound = {k: v for k, v in made.bound().items() if not k.startswith("_")}
    if not bound or "args" in bound or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return list(made.args), dict(made.kwargs)
    named = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    wanted = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    values = [v for k, v in bound.items() if k not in named][:len(wanted)]
    missing = sum(p.default is p.empty for p in wanted) - len(values)
    return values + [None] * missing, {k: v for k, v in bound.items() if k in named}


def _way(made: Call, name: str, results: Sequence[Any], operands: Sequence[Any]) -> Way:
    given = [p for p in operands if p is not None]
    if len(given) != len(made.operands) or not all(isinstance(p, Placement) for p in given):
        raise ValueError(
            f"register_sharding of {name}: {len(made.operands)} of the arguments are tensors, but "
            f"placements were given for {len(given)}: {list(operands)}")
    outs = [p for p in results if p is not None]
    if not outs or any(p != outs[0] for p in outs):
        raise ValueError(
            f"register_sharding of {name}: the results' placements are {list(results)}, expected "
            "the same for each")
    return Way(given, outs[0])
