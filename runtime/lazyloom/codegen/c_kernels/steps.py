"""Steps of SGD and of Adam in one pass over the parameters, by ``native/c_kernels/steps.h``."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ...program.stream import Leaf, Result
from ...trace.scalars import Baked
from ...types import TensorType
from ..answers import YES, Answer, Call, No
from ..generator import NativeCode, Region
from ..patterns import Pattern, match
from ..worth import at_least
from .rows import code

#: the number of elements of all parameters from which on a step is worth a call
FEWEST: Final = 65536
#: elements of a piece, as the C function has them
_PIECE: Final = 16384
_TYPES: Final = {"float32": 0, "bfloat16": 1, "float64": 2}
_NUMBERS: Final = {**_TYPES, "float16": 3}
#: bits of the choices, by the attribute that makes them
_CHOICES: Final = {"decays": 1, "decoupled": 2, "maximize": 4, "nesterov": 8}
#: seconds per element of a parameter, for estimates
_EACH: Final = 1e-9


class _Optimizer(NamedTuple):
    """An optimizer as the C function has it.

    Attributes:
        code: its number.
        numbers: how many operands are numbers, before the tensors.
        counted: 1 if the first result is the new count, 0 if it has none.
        states: the most kinds of state.
        stateful: the attribute without which there is no state, or "".
        lacks: an attribute that it does not do, or "".
    """

    code: int
    numbers: int
    counted: int
    states: int
    stateful: str
    lacks: str


_OPTIMIZERS: Final = {
    "step_sgd": _Optimizer(0, 4, 0, 1, "momentous", ""),
    "step_adam": _Optimizer(1, 6, 1, 2, "", "amsgrad"),
}


def known(op: str) -> bool:
    """Return True if an op is one of these steps."""
    return op in _OPTIMIZERS


def _states(call: Call) -> int:
    """Return the number of kinds of state."""
    optimizer = _OPTIMIZERS[call.op]
    kept = not optimizer.stateful or call.attributes[optimizer.stateful]
    return optimizer.states if kept else 0


def _parameters(call: Call) -> list[TensorType]:
    """Return the types of the parameters."""
    optimizer = _OPTIMIZERS[call.op]
    count = (len(call.operands) - optimizer.numbers) // (2 + _states(call))
    found = call.operands[optimizer.numbers : optimizer.numbers + count]
    return [t for t in found if t is not None]


def supports(call: Call) -> Answer:
    """Return YES if a step is supported, or why not."""
    optimizer = _OPTIMIZERS[call.op]
    if optimizer.lacks and call.attributes[optimizer.lacks]:
        return No(f"a step with {optimizer.lacks}")
    for k, t in enumerate(call.operands):
        assert t is not None
        known_types = _NUMBERS if k < optimizer.numbers else _TYPES
        if t.dtype.name not in known_types:
            return No(f"dtype {t.dtype.name}, expected one of {', '.join(known_types)}")
    tensors = {t.dtype.name for t in call.operands[optimizer.numbers :] if t is not None}
    if len(tensors) > 1:
        return No(f"tensors of {' and '.join(sorted(tensors))}, expected one dtype")
    if optimizer.counted and call.results[0].dtype.name not in ("float32", "float64"):
        return No(f"a count of {call.results[0].dtype.name}, expected float32 or float64")
    return at_least(sum(t.size for t in _parameters(call)), FEWEST, "elements")


def patterns() -> list[Pattern]:
    """Return the group of a step and the casts of its gradients, which would be a pass each."""
    return [Pattern("step", match(" ".join(_OPTIMIZERS)), _check, gathers="cast cast.vjp")]


def _check(calls: Sequence[Call]) -> Answer:
    """Return YES if the casts before a step are of its gradients to float32, or why not."""
    *casts, call = calls
    answer = supports(call)
    if not answer:
        return answer
    for cast in casts:
        source, result = cast.operands[-1], cast.results[0]
        assert source is not None
        if (source.dtype.name, result.dtype.name) != ("bfloat16", "float32"):
            return No(f"a cast from {source.dtype.name} to {result.dtype.name}, expected one from "
                      "bfloat16 to float32")
    start, count = _OPTIMIZERS[call.op].numbers, len(_parameters(call))
    given = {Result(cast.number, 0) for cast in casts}
    if given & {*call.wired[: start + count], *call.wired[start + 2 * count :]}:
        return No("a cast of what is no gradient")
    return YES


def seconds(call: Call) -> float:
    """Estimate by the elements of all parameters."""
    return _EACH * sum(t.size for t in _parameters(call)) * (1 + _states(call))


def aliases(region: Region) -> dict[int, int]:
    """Return for each result the operand that it is the new value of, where nothing else reads it.
    """
    call = region.calls[-1]
    items = region.program.structure.instructions[-1].operands
    uses = Counter(item for item in items if isinstance(item, Leaf))
    found = {}
    for number, (_, r) in enumerate(region.program.outputs):
        item = items[_before(call, r)]
        if isinstance(item, Leaf) and uses[item] == 1:
            found[number] = item.number
    return found


def _before(call: Call, result: int) -> int:
    """Return the operand that a result is the new value of."""
    optimizer = _OPTIMIZERS[call.op]
    if result < optimizer.counted:
        return result
    kind, number = divmod(result - optimizer.counted, len(_parameters(call)))
    # gradients stand between parameters and states
    return optimizer.numbers + (kind + (kind > 0)) * len(_parameters(call)) + number


def build(region: Region) -> NativeCode:
    """Return the function with the numbers that it takes."""
    native: Any = importlib.import_module("lazyloom._c_kernels")
    call = region.calls[-1]
    optimizer, states = _OPTIMIZERS[call.op], _states(call)
    parameters = _parameters(call)
    *casts, step = region.program.structure.instructions
    items = step.operands
    # a result that nothing uses is not a result of the region
    written = {r: len(region.operands) + k for k, (_, r) in enumerate(region.program.outputs)}
    pieces = [-(-t.size // _PIECE) for t in parameters]
    numbers = [
        optimizer.code, sum(bit for name, bit in _CHOICES.items() if call.attributes.get(name)),
        _TYPES[parameters[0].dtype.name], len(parameters), sum(pieces), optimizer.numbers, states,
        written.get(0, -1) if optimizer.counted else -1, _NUMBERS[call.results[0].dtype.name]]
    for item in items[: optimizer.numbers]:
        numbers += _number(item, region.operands)
    first = 0
    for p, t in enumerate(parameters):
        tensors = [items[optimizer.numbers + k * len(parameters) + p] for k in range(2 + states)]
        narrow = isinstance(tensors[1], Result)
        if isinstance(tensors[1], Result):
            # the cotangent is the last operand of a gradient of a cast
            tensors[1] = casts[tensors[1].instruction].operands[-1]
        numbers += [t.size, first, narrow]
        for item in tensors:
            assert isinstance(item, Leaf)
            numbers.append(item.number)
        numbers += [written.get(optimizer.counted + k * len(parameters) + p, -1)
                    for k in range(1 + states)]
        first += pieces[p]
    return code(native.optimizing(), numbers)


def _number(item: Any, operands: Sequence[TensorType]) -> list[int]:
    """Return where a number lies, or its bits."""
    if isinstance(item, Leaf):
        return [item.number, _NUMBERS[operands[item.number].dtype.name], 0]
    assert isinstance(item, Baked)
    return [-1, 0, int(np.float64(item.number).view(np.int64))]
