"""What each accelerator is worth: programs without it, beside the same programs with all.

    python benchmarks/accelerators.py [--output FILE] [PROGRAM ...]

runs programs of :mod:`benchmarks.programs` in processes of their own, each twice from a disk cache
that starts empty, with all accelerators and with ``LAZYLOOM_WITHOUT`` naming one, and then all, of
them, in turns. It writes a page with the time without as a multiple of the time with all: of the
first process, whose cache is empty, and of the second. A run that takes too long is ended and
counts as that long, so that its figure is a lower bound.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: a program and values for its arguments
PROGRAMS = (
    ("wordseg",), ("char_rnn",), ("numpy_examples", "name=kalman"), ("lstm_steps",),
    ("layer_stack",), ("extents",), ("generation",),
)
#: seconds after which a run is ended, and rounds
LIMIT = 20
ROUNDS = 2
PAGE = ROOT / "docs" / "benchmarks" / "accelerators.md"


def seconds(program: tuple[str, ...], without: str, cache: str) -> float:
    """How long a program takes in a process, without imports."""
    name, *values = program
    command = [sys.executable, "-m", "benchmarks.programs", name, "--json", "--limit", str(LIMIT)]
    for value in values:
        command += ["--set", value]
    environment = {**os.environ, "LAZYLOOM_WITHOUT": without, "LAZYLOOM_CACHE_DIR": cache}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    try:
        found = json.loads(done.stdout)
    except json.JSONDecodeError:
        sys.exit(f"error: {' '.join(command)} failed without {without!r}:\n{done.stderr}")
    return LIMIT if found["over"] is not None else float(found["total"])


def turn(program: tuple[str, ...], without: str) -> tuple[float, float]:
    """Seconds of the first process and of the second."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        return seconds(program, without, cache), seconds(program, without, cache)


def measured(program: tuple[str, ...], names: list[str]) -> dict[str, tuple[float, float]]:
    """By what is left out, "" for nothing: the medians of the first process and of the second."""
    rows: dict[str, list[tuple[float, float]]] = {name: [] for name in ("", *names)}
    for _ in range(ROUNDS):
        for name, found in rows.items():
            found.append(turn(program, name))
    return {name: (statistics.median(a for a, _ in found), statistics.median(b for _, b in found))
            for name, found in rows.items()}


def page(results: dict[str, dict[str, tuple[float, float]]], names: list[str]) -> str:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from suite.machine import cores, processor

    lines = [
        "<!-- Written by benchmarks/accelerators.py; do not edit. -->",
        "",
        "# What each accelerator is worth",
        "",
        "The time of a program without one of [what can be left out]"
        "(../options.md#what-can-be-left-out), as a multiple of its time with all: of a first "
        "process, whose disk cache is empty / of a second one. What is below 1.1 is mostly noise; "
        f"a run of {LIMIT} s is ended, and its figure a lower bound (≥). Medians of {ROUNDS} "
        f"rounds in turns, on {cores()} cores of an {processor()}.",
        "",
        f"| program | with all, s | {' | '.join(names)} |",
        f"|---|--:|{'--:|' * len(names)}",
    ]
    for program, row in results.items():
        first, second = row[""]
        cells = [" / ".join(
            f"{'≥ ' if own >= LIMIT else ''}{own / base:.2f}"
            for own, base in zip(row[name], (first, second))) for name in names]
        lines.append(f"| {program} | {first:.2f} / {second:.2f} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", help="of these alone, by name")
    parser.add_argument("--output", default=str(PAGE))
    given = parser.parse_args()

    from lazyloom.settings import ACCELERATORS

    names = [*ACCELERATORS, "all"]
    results = {}
    for program in PROGRAMS:
        if not given.programs or program[0] in given.programs:
            title = " ".join([program[0], *(v.partition("=")[2] for v in program[1:])])
            results[title] = measured(program, names)
            print(title, results[title], flush=True)
            Path(given.output).write_text(page(results, names), encoding="utf-8")


if __name__ == "__main__":
    main()
