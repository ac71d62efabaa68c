"""The memory of a program over the order of its ops, from its structure alone."""

from __future__ import annotations

import heapq
from typing import Any, Final

from ..program.program import Program
from ..program.stream import Leaf, Result

#: so many of the largest values are told
LARGEST: Final = 8
#: the curve over the ops has at most so many points
POINTS: Final = 200


def memory_plan(program: Program) -> dict[str, Any]:
    """What lies in memory after which op, if each runs by itself and values go when last used.

    Inputs lie there from the beginning, those that are donated until their last use; results from
    their op to the end. A fused program needs less for temporaries, op by op is like this, but for
    results that are views of operands.

    Returns a dict: ``peak``, in bytes; ``peak_op``, the op's number there, -1 for the beginning;
    ``live``, bytes after each op, or the most in each of POINTS parts of a longer program;
    ``largest``, of what lies there at the peak the largest, each with ``name``, ``type``,
    ``bytes``, ``op`` (-1 for an input) and ``kind``, "input", "result" or "temporary".
    """
    structure = program.structure
    instructions = structure.instructions
    ops = len(instructions)
    donated, results = set(program.donated), set(program.outputs)
    #: for each value: bytes, the op that makes it, the op after which it goes, if it goes
    begins: dict[Leaf | tuple[int, int], int] = {}
    ends: dict[Leaf | tuple[int, int], int] = {}
    sizes: dict[Leaf | tuple[int, int], int] = {}
    for number, t in enumerate(structure.leaf_types):
        leaf = Leaf(number)
        begins[leaf], sizes[leaf] = -1, t.nbytes
        ends[leaf] = -1 if number in donated else ops
    for number, i in enumerate(instructions):
        for index, t in enumerate(i.types):
            begins[number, index], sizes[number, index] = number, t.nbytes
            ends[number, index] = ops if (number, index) in results else number
        for operand in i.operands:
            value = _value(operand)
            if value is not None:
                ends[value] = max(ends[value], number)
    change = [0] * (ops + 2)
    for value, size in sizes.items():
        change[begins[value] + 1] += size
        # it still lies there while the op of its last use writes
        change[min(ends[value] + 2, ops + 1)] -= size
    live, now = [], 0
    for step in range(ops + 1):
        now += change[step]
        live.append(now)
    peak = max(live, default=0)
    step = live.index(peak) - 1 if live else -1
    there = [v for v in sizes if begins[v] <= step <= ends[v]]
    largest = heapq.nlargest(LARGEST, there, key=lambda v: sizes[v])
    return {
        "peak": peak, "peak_op": step, "live": _shortened(live),
        "largest": [_told(program, v, sizes[v]) for v in largest if sizes[v]],
    }


def _value(operand: Any) -> Leaf | tuple[int, int] | None:
    if isinstance(operand, Leaf):
        return operand
    if isinstance(operand, Result):
        return operand.instruction, operand.number
    return None


def _told(program: Program, value: Leaf | tuple[int, int], size: int) -> dict[str, Any]:
    structure = program.structure
    if isinstance(value, Leaf):
        t, name, op, kind = structure.leaf_types[value.number], f"%in{value.number}", -1, "input"
    else:
        op, index = value
        i = structure.instructions[op]
        t = i.types[index]
        name = f"%{op} {i.spec.op.name}" if not index else f"%{op}.{index} {i.spec.op.name}"
        kind = "result" if value in program.outputs else "temporary"
    return {"name": name, "type": t.text, "bytes": size, "op": op, "kind": kind}


def _shortened(live: list[int]) -> list[int]:
    if len(live) <= POINTS:
        return live
    bounds = [k * len(live) // POINTS for k in range(POINTS + 1)]
    return [max(live[a:b]) for a, b in zip(bounds, bounds[1:], strict=False)]
