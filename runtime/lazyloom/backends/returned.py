"""Checks of a backend's results against its interface.

A backend is written by others: a mistake of it is an error that names it and its method, and never
a wrong answer. Results are compared only on the first run of a program, which has time for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ExecutionError, type_name
from ..program.program import Instruction
from ..trace.graph import Node
from ..types import TensorType
from .backend import Executable, NotLowered
from .selection import backend


class WrongResult(ExecutionError):
    """A backend returned what its interface does not allow.

    It has ``op`` and ``site`` where it is about the result of one op. Readers of a value get an
    ExecutionError that names the run.
    """


def wrong(method: str, returned: str, expected: str) -> WrongResult:
    """Return the error of a method that returned ``returned``."""
    return WrongResult(
        f"{method} of the backend {backend().name} returned {returned}, expected {expected}")


def type_text(array: Any) -> str:
    """Return the type of an array for messages, such as ``float32[7,3]``, or its class if it is no
    array."""
    shape, dtype = getattr(array, "shape", None), getattr(array, "dtype", None)
    if not isinstance(shape, tuple) or dtype is None:
        return f"a {type_name(array)}"
    return f"{dtype}[{','.join(map(str, shape))}]"


def _is_of(array: Any, t: TensorType) -> bool:
    dtype = getattr(array, "dtype", None)
    # NumPy takes None for float64
    return dtype is not None and bool(t.dtype.numpy == dtype) and (
        getattr(array, "shape", None) == t.shape)


def check_results(
    returned: Any, outputs: Sequence[tuple[int, int]], instructions: Sequence[Instruction],
    nodes: Sequence[Node],
) -> None:  # fmt: skip
    """Raise WrongResult unless these are arrays for a program's outputs, each of its type."""
    name = backend().name
    if not isinstance(returned, list):
        raise WrongResult(
            f"the backend {name} returned a {type_name(returned)}, expected a list of "
            f"{len(outputs)} arrays")
    if len(returned) < len(outputs):
        raise WrongResult(f"the backend {name} returned {len(returned)} of {len(outputs)} results")
    if len(returned) > len(outputs):
        raise WrongResult(
            f"the backend {name} returned {len(returned)} results, expected {len(outputs)}")
    for array, (number, index) in zip(returned, outputs, strict=True):
        types = instructions[number].types
        t = types[index]
        if not _is_of(array, t):
            which = "its result" if len(types) == 1 else f"its result {index} of {len(types)}"
            node = nodes[number]
            raise WrongResult(
                f"the backend {name} returned {type_text(array)} for {which}, expected {t.text}",
                op=instructions[number].spec.op.name, site=str(node.site))


def check_executable(executable: Any, method: str) -> Executable:
    """Return what ``compile`` or ``load`` returned. Raises WrongResult if it cannot run a program.
    """
    if not isinstance(executable, Executable):
        raise wrong(method, f"a {type_name(executable)}", "a lazyloom.backends.backend.Executable")
    timings = getattr(executable, "timings", None)
    for attribute, fits, expected in (
        ("run", callable(getattr(executable, "run", None)), "a function"),
        ("direct", isinstance(getattr(executable, "direct", None), bool), "a bool"),
        ("needs", isinstance(getattr(executable, "needs", None), int), "a number of bytes, an int"),
        ("timings", isinstance(timings, Mapping) and all(
            isinstance(v, (int, float)) for v in timings.values()), "seconds by phase"),
    ):
        if not fits:
            value = getattr(executable, attribute, None)
            raise wrong(
                method, f"a {type_name(executable)} whose {attribute} is {value!r}", expected)
    return executable


def check_number(error: NotLowered, count: int) -> None:
    """Raise WrongResult unless the op that could not be lowered is one of the program's."""
    if not isinstance(error.number, int) or not 0 <= error.number < count:
        cause = error.__cause__
        raise WrongResult(
            f"compile of the backend {backend().name} raised NotLowered for instruction "
            f"{error.number} of {count} ({type(cause).__name__}: {cause})") from error


def description() -> Mapping[str, str]:
    """Return the backend's information for users. Raises WrongResult if it lacks ``platform``."""
    described: Any = backend().describe()
    if not isinstance(described, Mapping) or "platform" not in described:
        raise wrong("describe", repr(described), "a mapping of names to texts with 'platform'")
    return described
