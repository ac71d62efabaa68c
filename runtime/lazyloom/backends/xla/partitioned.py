"""What the devices of a mesh do together in a program, as the text of its HLO says."""

from __future__ import annotations

import re
from typing import Any, Final

from ...placements import Mesh
from ...program.collectives import Partitioned
from .device_groups import axes_of

#: a collective: its results, its name, and the op that it is there for
_COLLECTIVE: Final = re.compile(
    r"= (.*?) (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute|"
    r"collective-broadcast)(?:-start)?\((.*?(?:op_name=\"([^\"]*)\".*)?)$")
_HLO_TYPE: Final = re.compile(r"\b((pred|bf16|[suf]\d+|c\d+)\[([\d,]*)\])")
#: names of instructions as the assembly of programs gives them, such as "12:matmul"
_INSTRUCTION: Final = re.compile(r"(\d+):([\w.]+)")
#: the first line of a computation
_COMPUTATION: Final = re.compile(r"^(ENTRY )?%([\w.\-]+) \(.*\{$")
#: computations that an instruction calls
_CALLED: Final = re.compile(
    r"\b(to_apply|calls|condition|body|true_computation|false_computation)=%([\w.\-]+)|"
    r"\b(?:branch_computations|called_computations)=\{([^}]*)\}")
_TRIPS: Final = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')


def collectives(executable: Any, mesh: Mesh | None) -> tuple[Partitioned, ...]:
    """Return what the devices of a mesh do together in a program."""
    found: list[Partitioned] = []
    for module in executable.hlo_modules():
        found += collectives_in(module.to_string(), mesh)
    return tuple(found)


def collectives_in(text: str, mesh: Mesh | None) -> list[Partitioned]:
    """Return the collectives of a module's text, each with how often a run of it has it."""
    lines = text.splitlines()
    times: dict[str, int] | None = None
    found: list[Partitioned] = []
    within, entry = "", True
    for line in lines:
        begins = _COMPUTATION.match(line)
        if begins is not None:
            within, entry = begins[2], begins[1] is not None
            continue
        collective = _COLLECTIVE.search(line)
        if collective is None:
            continue
        results, name, attributes, source = collective.groups(default="")
        types: list[str] = []
        size = 0
        for kind_text, kind, extents in _HLO_TYPE.findall(results):
            types.append(kind_text)
            count = 1
            for n in filter(None, extents.split(",")):
                count *= int(n)
            bits = 8 if kind == "pred" else int(kind.lstrip("bsufc"))
            size += count * bits // 8
        ops = _INSTRUCTION.findall(source)
        number, op = ops[-1] if ops else (-1, "")
        axes = () if mesh is None else axes_of(attributes, mesh)
        often = 1
        if not entry:
            if times is None:
                times = _times(lines)
            often = times.get(within, 1)
        found.append(Partitioned(name, op, tuple(types), size, int(number), axes, often))
    return found


def _times(lines: list[str]) -> dict[str, int]:
    """Return how often each computation runs; 0 for one of a loop whose length is not known.

    A computation stands before those that call it.
    """
    calls: list[tuple[str, list[tuple[str, int]]]] = []
    times: dict[str, int] = {}
    for line in lines:
        begins = _COMPUTATION.match(line)
        if begins is not None:
            calls.append((begins[2], []))
            if begins[1]:
                times[begins[2]] = 1
        elif calls and "=%" in line or "={%" in line:
            trips = _TRIPS.search(line)
            for role, name, several in _CALLED.findall(line):
                looped = role in ("condition", "body")
                often = int(trips[1]) + (role == "condition") if trips is not None else 0
                for called in (name, *re.findall(r"%([\w.\-]+)", several)):
                    if called:
                        calls[-1][1].append((called, often if looped else 1))
    for caller, called_by_it in reversed(calls):
        outer = times.get(caller)
        if outer is None:
            continue
        for name, often in called_by_it:
            known = times.get(name)
            inner = outer * often
            times[name] = 0 if inner == 0 or known == 0 else inner + (known or 0)
    return times
