"""A saved program in both forms, and what is wrong with it."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ..backends.backend import NotLowered, Request
from ..backends.data import given, scalar_of, scalar_vector
from ..backends.selection import backend
from ..codegen import registry, verdicts
from ..dtypes import DType
from ..errors import printable
from ..execute.compiling.programs import compiled as compile_program
from ..execute.op_by_op.executor import OpFailed, op_kernel_of, run_op
from ..interrupts import reraise_from_handler
from ..program.donation import match_donations
from ..program.evaluations import Evaluation
from ..program.reasons import COMPILE, LOWER
from ..program.stream import Leaf, Result, ScalarSlot
from ..trace.source import UNKNOWN
from ..types import TensorType
from .saved import SavedProgram

OP_BY_OP: Final = "op by op"
COMPILED: Final = "compiled"
BOTH: Final = "in both forms"
#: how often each form is run to be timed
RUNS: Final = 3
#: programs of at most so many ops are compiled op after op, where it is not plain which one differs
PREFIXES: Final = 64

# kinds of faults

ERROR: Final = "error"
CHECK: Final = "check"
DIFFERS: Final = "differs"


class FormRun(NamedTuple):
    """What came of one form of a program.

    Attributes:
        form: :data:`OP_BY_OP` or :data:`COMPILED`.
        results: a NumPy array for each result, where it ran.
        error: why it did not.
        op: the instruction at which it failed, if that is known.
        seconds: the fastest run.
        lowering, compiling: what these took; lowering includes the start of JAX.
    """

    form: str
    results: tuple[Any, ...] | None
    error: Exception | None = None
    op: int | None = None
    seconds: float = 0.0
    lowering: float = 0.0
    compiling: float = 0.0


class ValueDifference(NamedTuple):
    """How two arrays differ.

    Attributes:
        differing, size: how many of how many elements.
        place: the index of the element that differs most.
        a, b: what is there: op by op, compiled.
        is_class: one is a NaN, an infinity or a signed zero where the other is not.
        largest: the largest difference, beside the largest magnitude in the arrays.
    """

    differing: int
    size: int
    place: tuple[int, ...]
    a: Any
    b: Any
    is_class: bool
    largest: float

    def text(self) -> str:
        """For people to read."""
        at = f" at [{', '.join(map(str, self.place))}]" if self.place else ""
        what = "other kinds of numbers" if self.is_class else f"relatively {self.largest:.2g}"
        return (f"{self.differing} of {self.size} elements differ, {what}, most{at}: "
                f"{self.a!s} op by op, {self.b!s} compiled")


class Fault(NamedTuple):
    """What is wrong with a program.

    Attributes:
        kind: :data:`ERROR`, :data:`CHECK` or :data:`DIFFERS`.
        form: the form in which it fails.
        mark: by what the same fault is known in another program.
        text: for people to read.
        op: the instruction that it is about, if that is known.
    """

    kind: str
    form: str
    mark: str
    text: str
    op: int | None = None

    def is_same(self, other: Fault | None) -> bool:
        """Whether another program's fault is this one."""
        return other is not None and (self.kind, self.form, self.mark) == (
            other.kind, other.form, other.mark)


def tolerance_of(dtype: DType) -> float:
    """Return by how much the forms of a program may differ: the root of the dtype's precision."""
    bits = {"float64": 52, "complex128": 52, "float32": 23, "complex64": 23, "float16": 10,
            "bfloat16": 7}.get(dtype.name, 2)
    return math.pow(2.0, -bits / 2)


# Op by op.

def values_so_far(saved: SavedProgram) -> list[list[Any]]:
    """Return the results of each instruction, up to the first that fails op by op."""
    values: list[list[Any]] = []
    try:
        all_values(saved, values)
    except (OpFailed, NotLowered):
        pass
    return values


def all_values(saved: SavedProgram, into: list[list[Any]] | None = None) -> list[list[Any]]:
    """Return the results of each instruction, run op by op; they are added to ``into``.

    Raises OpFailed and NotLowered, which say at which instruction.
    """
    leaves: list[Any] = [x[()] if x.ndim == 0 else x for x in saved.inputs]
    record = Evaluation(0, "repro", UNKNOWN)
    values: list[list[Any]] = [] if into is None else into
    for number, instruction in enumerate(saved.program.structure.instructions):
        arguments: list[Any] = []
        for item in instruction.operands:
            if isinstance(item, Result):
                found = values[item.instruction][item.number]
                arguments.append(found[()] if found.ndim == 0 else found)
            elif isinstance(item, Leaf):
                arguments.append(leaves[item.number])
            elif isinstance(item, ScalarSlot):
                arguments.append(scalar_of(saved.scalars[item.dtype][item.ordinal], item.dtype))
            else:
                arguments.append(None if item is None else scalar_of(item.number, item.dtype))
        op = op_kernel_of(instruction.spec, instruction.operand_types)
        try:
            # what it gives may be memory of an operand's, or of the kernel's
            values.append([np.array(r) for r in run_op(op, arguments, record)])
        except OpFailed as error:
            cause = error.__cause__
            assert isinstance(cause, Exception)
            raise OpFailed(number, cause) from cause
        except NotLowered as error:
            cause = error.__cause__
            assert isinstance(cause, Exception)
            raise NotLowered(number, cause) from cause
    return values


def op_by_op(saved: SavedProgram, runs: int = 1) -> FormRun:
    """Run a program op by op."""
    best = math.inf
    values: list[list[Any]] = []
    try:
        for _ in range(runs):
            began = time.perf_counter()
            values = all_values(saved)
            best = min(best, time.perf_counter() - began)
    except (OpFailed, NotLowered) as error:
        cause = error.__cause__
        assert isinstance(cause, Exception)
        return FormRun(OP_BY_OP, None, cause, error.number)
    return FormRun(OP_BY_OP, tuple([values[n][r] for n, r in saved.program.outputs]), seconds=best)


# Compiled.

def compiled(
    saved: SavedProgram, outputs: Sequence[tuple[int, int]] | None = None, runs: int = 1
) -> FormRun:
    """Compile a program as a whole and run it; ``outputs`` are other results than its own."""
    program = saved.program
    structure = program.structure
    wanted = tuple(program.outputs if outputs is None else outputs)
    # one program returns a result once
    own = tuple(dict.fromkeys(wanted))
    donated = match_donations(structure, own, list(program.donated)) if outputs is None else {}
    try:
        executable = compile_program(Request(
            structure, own, donated, registry.at_first(), verdicts=verdicts.in_force()))
        timings = executable.timings
        best = math.inf
        results: list[Any] = []
        for _ in range(runs):
            # of copies: a run writes over what it is given
            arguments = [given(backend().upload(np.array(x)), "upload") for x in saved.inputs]
            arguments += [
                given(backend().upload(scalar_vector(list(saved.scalars[d]), d.numpy)), "upload")
                for d in structure.scalar_counts]
            if executable.further is not None:
                arguments += executable.further(arguments, [True] * len(saved.inputs))
            began = time.perf_counter()
            arrays = executable.run(*arguments)
            for array in arrays:
                backend().wait(array)
            best = min(best, time.perf_counter() - began)
            results = [np.array(backend().download(array)) for array in arrays]
    except NotLowered as error:
        cause = error.__cause__
        assert isinstance(cause, Exception)
        return FormRun(COMPILED, None, cause, error.number)
    except Exception as error:
        reraise_from_handler(error)
        return FormRun(COMPILED, None, error)
    by_output = dict(zip(own, results, strict=True))
    return FormRun(COMPILED, tuple([by_output[o] for o in wanted]), seconds=best,
               lowering=timings.get(LOWER, 0.0), compiling=timings.get(COMPILE, 0.0))


# Comparison.

def _floats(x: Any, dtype: DType) -> Any:
    """An array's elements as float64, complex ones as pairs."""
    if dtype.kind == "c":
        x = np.ascontiguousarray(x)
        return np.stack([x.real, x.imag], axis=-1).astype(np.float64)
    return np.asarray(x).astype(np.float64)


def difference(a: Any, b: Any, t: TensorType, tolerance: float | None) -> ValueDifference | None:
    """Return how an array that was computed op by op differs from the compiled program's.

    Integers and bools have to be equal. Floats have to be of the same kind, NaN, an infinity or a
    zero of the same sign, and may otherwise differ by ``tolerance`` times the largest magnitude in
    both arrays; None takes :func:`tolerance_of`, 0 allows nothing.
    """
    dtype = t.dtype
    if not t.size:
        return None
    if dtype.kind not in "fc":
        off = np.asarray(a != b)
        if not off.any():
            return None
        first = tuple(int(i) for i in np.argwhere(off)[0])
        return ValueDifference(int(off.sum()), t.size, first, a[first], b[first], False, 1.0)
    x, y = _floats(a, dtype), _floats(b, dtype)
    with np.errstate(all="ignore"):
        finite = np.isfinite(x) & np.isfinite(y)
        kinds = (np.isnan(x) != np.isnan(y)) | ((np.isinf(x) | np.isinf(y)) & (x != y) & ~(
            np.isnan(x) | np.isnan(y)))
        kinds |= (x == 0) & (y == 0) & (np.signbit(x) != np.signbit(y))
        apart = np.where(finite, np.abs(x - y), 0.0)
        scale = max(float(np.abs(np.where(finite, x, 0.0)).max()),
                    float(np.abs(np.where(finite, y, 0.0)).max()))
        limit = (tolerance_of(dtype) if tolerance is None else tolerance) * scale
        off = kinds | (apart > limit)
    if not off.any():
        return None
    ranked = np.where(kinds, np.inf, np.where(off, apart, -1.0))
    place = tuple(int(i) for i in np.unravel_index(int(ranked.argmax()), ranked.shape))
    index = place[: len(t.shape)]
    return ValueDifference(
        int(off.reshape(t.size, -1).any(axis=1).sum()), t.size, index, a[index], b[index],
        bool(kinds.any()), float(apart.max() / scale) if scale else 0.0)


def _message(error: Exception) -> str:
    """The first line of an error with its class."""
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _mark(error: Exception) -> str:
    """By what an error is known in a smaller program: its message without numbers."""
    return re.sub(r"%?\d+", "#", _message(error))[:120]


def _failed_check(saved: SavedProgram, values: list[list[Any]]) -> tuple[int, str] | None:
    """The first instruction whose condition does not hold, and what it is of."""
    for number, instruction in enumerate(saved.program.structure.instructions):
        if instruction.spec.checked and bool(np.any(values[number][1])):
            attrs = instruction.spec.attrs
            return number, f"{attrs['kind']} of {attrs['of']}"
    return None


class Findings(NamedTuple):
    """Both forms of a program, and what is wrong with it.

    Attributes:
        forms: what came of each form.
        fault: what is wrong; None if nothing is.
    """

    forms: tuple[FormRun, ...]
    fault: Fault | None


def findings_of(
    saved: SavedProgram, tolerance: float | None = None, runs: int = 1, locate: bool = True
) -> Findings:
    """Run a program in both forms and compare them.

    Args:
        tolerance: as in :func:`difference`.
        runs: how often each form runs.
        locate: find out which op it is that differs, which compiles more programs.
    """
    loose = op_by_op(saved, runs)
    whole = compiled(saved, None, runs)
    forms = (loose, whole)
    bad = [ran for ran in forms if ran.error is not None]
    if bad:
        ran = bad[-1]
        assert ran.error is not None
        form = BOTH if len(bad) == 2 else ran.form
        at = next((r.op for r in bad if r.op is not None), None)
        name = "" if at is None else op_name(saved, at)
        return Findings(forms, Fault(
            ERROR, form, f"{name} {_mark(ran.error)}", f"it fails {form}: {_message(ran.error)}",
            at))
    assert loose.results is not None and whole.results is not None
    structure = saved.program.structure
    for k, (n, r) in enumerate(saved.program.outputs):
        found = difference(loose.results[k], whole.results[k],
                           structure.instructions[n].types[r], tolerance)
        if found is not None:
            at = first_that_differs(saved, tolerance) if locate else None
            mark = "class" if found.is_class else "values"
            return Findings(forms, Fault(
                DIFFERS, BOTH, mark, f"result {k} differs: {found.text()}", at))
    check = _failed_check(saved, all_values(saved)) if any(
        i.spec.checked for i in structure.instructions) else None
    if check is not None:
        return Findings(forms, Fault(
            CHECK, BOTH, check[1], f"a condition does not hold: {check[1]}", check[0]))
    return Findings(forms, None)


def first_that_differs(saved: SavedProgram, tolerance: float | None = None) -> int | None:
    """Return the first instruction whose result is not what it is op by op, None if unknown.

    All its operands agree. What a program returns changes how XLA compiles it, so that it is looked
    for in the program that returns everything, then in those that return one result each.
    """
    values = all_values(saved)
    instructions = saved.program.structure.instructions
    everything = [(n, r) for n, i in enumerate(instructions) for r in range(len(i.types))]

    def differs(outputs: Sequence[tuple[int, int]]) -> int | None:
        ran = compiled(saved, outputs)
        if ran.results is None:
            return None
        for (n, r), array in zip(outputs, ran.results, strict=True):
            if difference(values[n][r], array, instructions[n].types[r], tolerance) is not None:
                return n
        return None

    found = differs(everything)
    if found is None and len(instructions) <= PREFIXES:
        for n, i in enumerate(instructions):
            found = differs([(n, r) for r in range(len(i.types))])
            if found is not None:
                return found
    return found


def op_name(saved: SavedProgram, number: int) -> str:
    """Return the name of an instruction's op."""
    return saved.program.structure.instructions[number].spec.op.name


def described(saved: SavedProgram, number: int) -> str:
    """Return an instruction as the program's text has it, with its line."""
    line = next((text for text in saved.program.text().split("\n")
                 if text.startswith(f"  %{number} = ")), "").strip()
    site = printable(saved.sites[number])
    return f"{line}{f', recorded at {site}' if site else ''}"


