"""What XLA says of a compiled program: memory, work, and the kernels of its optimised HLO."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ..analysis import KernelWork, MemoryUse, ProgramAnalysis

#: the first line of a computation
_BEGINS: Final = re.compile(r"^(ENTRY )?%([\w.\-]+) \(.*\{$")
#: an instruction: whether it is the root, its name, its type, its opcode, and what follows
_INSTRUCTION: Final = re.compile(
    r"^\s+(ROOT )?%([\w.\-]+) = (\([^=]*?\)|\S+) ([a-z][\w\-]*)\((.*)$")
_TYPE: Final = re.compile(r"\b([a-z]+\d*(?:e\d+m\d+\w*)?)\[([\d,<=]*)\]")
_NAME: Final = re.compile(r"%([\w.\-]+)")
#: names of instructions as the assembly of programs gives them, such as "12:matmul"
_OP: Final = re.compile(r'op_name="([^"]*)"')
_NUMBER: Final = re.compile(r"\b(\d+):[\w.]+")
_TRIPS: Final = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_CONTRACTED: Final = re.compile(r"lhs_contracting_dims=\{([\d,]*)\}")
_WINDOW: Final = re.compile(r"window=\{size=([\dx]+)")
_LABELS: Final = re.compile(r"dim_labels=\w+_(\w+)->")
_CALLED: Final = re.compile(r"\b(calls|to_apply|condition|body)=%([\w.\-]+)")
_BRANCHES: Final = re.compile(
    r"\b(?:branch_computations=\{([^}]*)\}|(?:true|false)_computation=(%[\w.\-]+))")

#: bits of an element where the name of the type does not end with them
_BITS: Final = {"pred": 8, "token": 0, "opaque": 0}
#: instructions that run nothing
_NOTHING: Final = frozenset((
    "parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all",
    "partition-id", "replica-id", "opt-barrier", "add-dependency"))  # fmt: skip
#: those that compute a number from each element, one operation for each element of the result
_ARITHMETIC: Final = frozenset((
    "abs", "add", "and", "ceil", "clamp", "compare", "complex", "count-leading-zeros", "divide",
    "floor", "imag", "is-finite", "maximum", "minimum", "multiply", "negate", "not", "or",
    "popcnt", "real", "remainder", "round-nearest-afz", "round-nearest-even", "select",
    "shift-left", "shift-right-arithmetic", "shift-right-logical", "sign", "subtract",
    "xor"))  # fmt: skip
_TRANSCENDENTAL: Final = frozenset((
    "acos", "acosh", "asin", "asinh", "atan2", "atanh", "cbrt", "cosine", "cosh", "erf",
    "exponential", "exponential-minus-one", "log", "log-plus-one", "logistic", "power", "rsqrt",
    "sine", "sinh", "sqrt", "tan", "tanh"))  # fmt: skip
#: those that read as much of their first operand as their result has
_SELECTING: Final = frozenset(("slice", "dynamic-slice", "gather"))


class _Type(NamedTuple):
    dtype: str
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        bits = _BITS.get(self.dtype)
        if bits is None:
            digits = re.search(r"\d+", self.dtype)
            bits = 8 if digits is None else int(digits[0])
        return -(-self.elements * bits // 8)


class _Instruction(NamedTuple):
    name: str
    types: tuple[_Type, ...]
    opcode: str
    operands: tuple[str, ...]
    rest: str

    @property
    def nbytes(self) -> int:
        return sum([t.nbytes for t in self.types])


class _Computation:
    """The instructions of a computation, by name, in order."""

    def __init__(self) -> None:
        self.instructions: Final[dict[str, _Instruction]] = {}
        self.root = ""

    def type_of(self, name: str) -> _Type:
        """The first type of an instruction's results."""
        i = self.instructions.get(name)
        return i.types[0] if i is not None and i.types else _Type("token", ())


class _Work:
    """Sums of work."""

    def __init__(self) -> None:
        self.flops = 0.0
        self.transcendentals = 0.0


def analysed(executable: Any) -> ProgramAnalysis:
    """Return what XLA says of an executable; what this jaxlib does not say is None."""
    flops, transcendentals, nbytes = _whole(executable)
    kernels: list[KernelWork] = []
    for module in executable.hlo_modules():
        kernels += kernels_in(module.to_string())
    return ProgramAnalysis(_memory(executable), flops, transcendentals, nbytes, tuple(kernels))


def _memory(executable: Any) -> MemoryUse | None:
    try:
        stats = executable.get_compiled_memory_stats()
        arguments, outputs = stats.argument_size_in_bytes, stats.output_size_in_bytes
        aliased, temporaries = stats.alias_size_in_bytes, stats.temp_size_in_bytes
    except Exception:
        # not every platform keeps them
        return None
    # the temporaries are one block for all of the run; jaxlib's own peak leaves them out on CPUs
    return MemoryUse(int(arguments), int(outputs), int(aliased), int(temporaries),
                     int(arguments + outputs - aliased + temporaries))


def _whole(executable: Any) -> tuple[float | None, float | None, float | None]:
    try:
        found: Mapping[str, float] = executable.cost_analysis()
    except Exception:
        return None, None, None
    # what there is none of is left out
    return (float(found.get("flops", 0.0)), float(found.get("transcendentals", 0.0)),
            float(found.get("bytes accessed", 0.0)))


def kernels_in(text: str) -> list[KernelWork]:
    """Return the kernels of an optimised module's text, in the order in which they run."""
    computations, entry = _parsed(text)
    found: list[KernelWork] = []
    if entry in computations:
        _collect(computations, entry, 1, found)
    return found


def _parsed(text: str) -> tuple[dict[str, _Computation], str]:
    computations: dict[str, _Computation] = {}
    entry = ""
    current = _Computation()
    for line in text.splitlines():
        begins = _BEGINS.match(line)
        if begins is not None:
            current = computations[begins[2]] = _Computation()
            if begins[1]:
                entry = begins[2]
            continue
        found = _INSTRUCTION.match(line)
        if found is None:
            continue
        root, name, types, opcode, rest = found.groups()
        operands = tuple(_NAME.findall(_arguments(rest)))
        current.instructions[name] = _Instruction(
            name, tuple([_Type(dtype, tuple(_numbers(shape)))
                         for dtype, shape in _TYPE.findall(types)]), opcode, operands, rest)
        if root:
            current.root = name
    return computations, entry


def _arguments(rest: str) -> str:
    """What stands before the parenthesis that ends the operands."""
    depth = 1
    for place, letter in enumerate(rest):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return rest[:place]
    return rest


def _numbers(text: str) -> list[int]:
    return [int(n) for n in text.replace("<=", "").split(",") if n]


def _collect(
    computations: dict[str, _Computation], name: str, times: int, found: list[KernelWork]
) -> None:
    """Add the kernels of a computation that runs so often."""
    computation = computations.get(name)
    if computation is None:
        return
    for i in computation.instructions.values():
        if i.opcode in _NOTHING:
            continue
        called = dict(_CALLED.findall(i.rest))
        if i.opcode == "while":
            trips = _TRIPS.search(i.rest)
            inner = times * int(trips[1]) if trips is not None else 0
            _collect(computations, called.get("body", ""), inner, found)
        elif i.opcode == "conditional":
            for several, one in _BRANCHES.findall(i.rest):
                for branch in _NAME.findall(several or one):
                    # one of them runs
                    _collect(computations, branch, 0, found)
        elif i.opcode == "call":
            _collect(computations, called.get("to_apply", ""), times, found)
        else:
            found.append(_kernel(computations, computation, i, times))


def _kernel(
    computations: dict[str, _Computation], computation: _Computation, i: _Instruction, times: int
) -> KernelWork:
    work = _Work()
    within = computations.get(dict(_CALLED.findall(i.rest)).get("calls", ""))
    sources = i.rest
    if i.opcode == "fusion" and within is not None:
        _add_all(computations, within, work)
        nbytes = _moved(computation, i, within)
        sources += " ".join([inner.rest for inner in within.instructions.values()])
    else:
        _add(computations, computation, i, work)
        nbytes = _moved_alone(computation, i)
    numbers = {int(n) for name in _OP.findall(sources) for n in _NUMBER.findall(name)[-1:]}
    often = times or 1
    return KernelWork(
        i.name, i.opcode, tuple(sorted(numbers)), i.types[0].dtype if i.types else "",
        work.flops * often, work.transcendentals * often, float(nbytes * often), times)


def _moved_alone(computation: _Computation, i: _Instruction) -> int:
    """Bytes that an instruction reads and writes that stands alone."""
    operands = [computation.instructions[n].nbytes for n in i.operands
                if n in computation.instructions]
    if i.opcode in _SELECTING and operands:
        operands[0] = min(operands[0], i.nbytes)
    elif i.opcode == "dynamic-update-slice" and len(operands) > 1:
        # written in place
        return 2 * operands[1]
    return sum(operands) + i.nbytes


def _moved(computation: _Computation, i: _Instruction, within: _Computation) -> int:
    """Bytes that a fusion reads and writes: of what it only selects from, what it selects."""
    users: dict[str, list[_Instruction]] = {}
    for inner in within.instructions.values():
        for n in inner.operands:
            users.setdefault(n, []).append(inner)
    root = within.instructions.get(within.root)
    written = i.nbytes
    in_place = ""
    if root is not None and root.opcode == "dynamic-update-slice" and len(root.operands) > 1:
        update = within.instructions.get(root.operands[1])
        if update is not None:
            written, in_place = update.nbytes, root.operands[0]
    read = 0
    for inner in within.instructions.values():
        if inner.opcode != "parameter":
            continue
        its = users.get(inner.name, [])
        if inner.name == in_place and len(its) == 1:
            continue
        if its and all(u.opcode in _SELECTING and u.operands[0] == inner.name for u in its):
            read += min(inner.nbytes, sum([u.nbytes for u in its]))
        else:
            read += inner.nbytes
    return read + written


def _add_all(
    computations: dict[str, _Computation], computation: _Computation, work: _Work
) -> None:
    for i in computation.instructions.values():
        _add(computations, computation, i, work)


def _add(
    computations: dict[str, _Computation], computation: _Computation, i: _Instruction, work: _Work
) -> None:
    """Add the work of an instruction, as XLA's own analysis counts it."""
    elements = i.types[0].elements if i.types else 0
    if i.opcode in _ARITHMETIC:
        work.flops += elements
    elif i.opcode in _TRANSCENDENTAL:
        work.transcendentals += elements
    elif i.opcode == "dot":
        contracted = _CONTRACTED.search(i.rest)
        of_left = computation.type_of(i.operands[0]).shape
        work.flops += 2.0 * elements * math.prod(
            [of_left[n] for n in _numbers(contracted[1] if contracted else "")])
    elif i.opcode == "convolution":
        labels = _LABELS.search(i.rest)
        kernel = computation.type_of(i.operands[1]).shape
        features = kernel[labels[1].index("o")] if labels is not None else 1
        work.flops += 2.0 * elements * math.prod(kernel) / max(1, features)
    elif i.opcode == "reduce" and i.operands:
        work.flops += max(0, computation.type_of(i.operands[0]).elements - elements)
    elif i.opcode in ("reduce-window", "select-and-scatter"):
        window = _WINDOW.search(i.rest)
        size = math.prod([int(n) for n in window[1].split("x")]) if window else 1
        work.flops += elements * max(0, size - 1)
    elif i.opcode == "scatter" and len(i.operands) > 2:
        work.flops += computation.type_of(i.operands[2]).elements
    elif i.opcode == "sort":
        work.flops += elements * max(1.0, math.log2(max(2, elements)))
    elif i.opcode == "fusion":
        within = computations.get(dict(_CALLED.findall(i.rest)).get("calls", ""))
        if within is not None:
            _add_all(computations, within, work)
