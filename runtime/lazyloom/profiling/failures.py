"""What failed while a profile was made, what began again, and donations that were refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..codegen.faults import Failure
from .events import Events

#: so many runs that failed, or copied inputs, are told one by one
MOST: Final = 200
#: counters of what began again or was given up, with what happened
RESTARTS: Final[Mapping[str, str]] = {
    "compilers_lost": "processes that compile ended, or were given up, while they compiled; "
                      "another one was begun where more was to compile",
    "background_failures": "programs that could not be compiled beside the program; they go on op "
                           "by op",
    "host_kernels_failed": "kernels of ops failed, and the ops were compiled in their place",
    "regions_failed": "regions that a code generator failed to build or run were left to XLA",
    "demotions": "compiled programs were slower, and run op by op again",
    "disk_errors": "files of the disk cache could not be read or written",
}


def failures_of(events: Events, generators: list[Failure]) -> list[dict[str, Any]]:
    """What failed, in order: each with ``kind``, ``file``, ``line``, ``evaluation`` and ``text``.

    Kinds: "run", a program or its ops raised an error; "compile", a program could not be compiled
    and ran op by op; "kernel", of the host, whose op was compiled in its place; "donation", inputs
    that a program writes over were alive, and copied; "generator", whose region XLA computes
    (without line and evaluation).
    """
    found: list[dict[str, Any]] = []
    compiles: set[tuple[int, str]] = set()
    copies: set[int] = set()
    for run in events.runs:
        if len(found) >= MOST:
            break
        e = run.evaluation
        line = run.line

        def tell(kind: str, text: str, number: int = e.number, where: Any = line) -> None:
            found.append({"kind": kind, "file": where.file, "line": where.line,
                          "evaluation": number, "text": text})

        if e.error is not None:
            tell("run", f"{type(e.error).__name__}: {e.error}")
        if e.failure and (run.program, e.failure) not in compiles:
            compiles.add((run.program, e.failure))
            tell("compile", f"program {run.program} runs op by op: {e.failure}")
        if e.kernel_failure:
            tell("kernel", e.kernel_failure)
        if e.copied and run.program not in copies:
            copies.add(run.program)
            often = sum(1 for r in events.runs if r.program == run.program and r.evaluation.copied)
            types = events.programs[run.program].structure.leaf_types
            inputs = ", ".join(f"%in{k} {types[k].text}" for k in e.copied)
            tell("donation", f"program {run.program} writes over {inputs}, which something still "
                 f"referred to: copied, in {often} runs")
    found += [{
        "kind": "generator", "file": "", "line": 0, "evaluation": 0,
        "text": f"{f.generator}, {f.when} of {', '.join(f.ops[:6])}: {f.error}",
    } for f in generators]
    return found


def restarts_of(counters: Mapping[str, int]) -> list[dict[str, Any]]:
    """What began again or was given up: each with the counter's name, how often, and ``text``."""
    return [{"counter": name, "times": counters[name], "text": text}
            for name, text in RESTARTS.items() if counters.get(name)]
