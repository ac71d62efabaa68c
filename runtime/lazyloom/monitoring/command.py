"""``python -m lazyloom top``: what a running process does, refreshed each second."""

from __future__ import annotations

import argparse
import io
import json
import sys
import time
from collections.abc import Mapping
from typing import Any, Final

from ..errors import printable
from . import sockets
from .server import FORMAT

NAME: Final = "python -m lazyloom top"
#: seconds for which an answer is waited for
PATIENCE: Final = 5.0
#: seconds between the two looks of which ``--once`` tells rates
SHORT: Final = 0.5
#: seconds between two looks, at least
LEAST: Final = 0.1
#: and at most: no system waits for any number of seconds
MOST: Final = 86400.0
#: counters of which rates are told, with what they are called
RATES: Final[dict[str, str]] = {
    "programs": "programs", "ops_traced": "ops recorded", "reads": "reads",
    "programs_compiled": "compiles",
}
#: counters of runs
_RUNS: Final = ("executions", "runs_op_by_op", "runs_padded")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = (
        "Shows what a process of yours that runs Lazyloom does: the state of its threads, rates, "
        "compilations, cache hits, memory. The process answers if it was started with "
        "LAZYLOOM_TOP=1, or has called lazyloom.monitor(). The exit status is 1 if it does not.")
    parser.add_argument(
        "process", nargs="?", type=int, metavar="PID",
        help="the process; without it the only one that answers, or a list of them")
    parser.add_argument("--once", action="store_true", help="show it once")
    parser.add_argument(
        "--json", action="store_true", help="print JSON, one object a line for each look")
    parser.add_argument(
        "--interval", type=float, default=1.0, metavar="SECONDS",
        help="seconds between two looks (default: %(default)s)")


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    # NaN is not at least anything
    if not LEAST <= options.interval <= MOST:
        print(f"{NAME}: --interval is {options.interval}, expected at least {LEAST} seconds, and "
              f"at most {MOST:.0f}", file=sys.stderr)
        return 2
    if isinstance(sys.stdout, io.TextIOWrapper):
        # a program's name may have what the terminal's encoding has not
        sys.stdout.reconfigure(errors="backslashreplace")
    process = options.process
    if process is None:
        found = sockets.processes()
        if len(found) != 1:
            return _listed(found, options.json)
        process = found[0]
    elif process <= 0:
        print(f"{NAME}: PID is {process}, expected the number of a process", file=sys.stderr)
        return 2
    try:
        return _watch(process, options.once, options.json, options.interval)
    except KeyboardInterrupt:
        return 0
    except (OSError, ValueError) as error:
        print(f"{NAME}: {error}", file=sys.stderr)
        return 1


def _listed(found: list[int], as_json: bool) -> int:
    if as_json:
        print(json.dumps({"format": FORMAT, "processes": found}))
        return 0 if found else 1
    if not found:
        print(f"{NAME}: no process of yours answers; start one with LAZYLOOM_TOP=1 in the "
              "environment, or have it call lazyloom.monitor()", file=sys.stderr)
        return 1
    for number in found:
        try:
            program = printable(ask(number)["program"])
        except (OSError, ValueError) as error:
            program = f"does not answer: {error}"
        print(f"{number:>8}  {program}")
    return 0


def ask(process: int) -> dict[str, Any]:
    """Return a snapshot of a process.

    Raises NoProcessError (an OSError) if it does not answer, ValueError for an answer that is none.
    """
    data = b""
    with sockets.connect(process, PATIENCE) as connection:
        try:
            while part := connection.recv(1 << 16):
                data += part
        except TimeoutError as error:
            raise sockets.NoProcessError(
                f"process {process} has not answered for {PATIENCE:.0f} s: it is stopped, or one "
                "of its threads keeps the interpreter's lock") from error
    if not data:
        raise sockets.NoProcessError(f"process {process} has ended")
    told = json.loads(data)
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise ValueError(
            f"process {process} answers in the format {told.get('format')!r:.40}, expected "
            f"{FORMAT}; use the Lazyloom that it runs")
    if "error" in told:
        raise ValueError(f"process {process} could not tell: {told['error']}")
    return told


def rates(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, float]:
    """Return how much counters of a snapshot grew a second since another one, by name."""
    seconds = max(now["seconds"] - before["seconds"], 1e-6)
    a, b = before["counters"], now["counters"]
    grown = {name: b[name] - a[name] for name in RATES if name in b}
    grown["programs"] = sum(b[name] - a[name] for name in _RUNS)
    return {name: grown[name] / seconds for name in RATES}


def _watch(process: int, once: bool, as_json: bool, interval: float) -> int:
    before = ask(process)
    clears = sys.stdout.isatty() and not as_json and not once
    while True:
        time.sleep(SHORT if once else interval)
        try:
            now = ask(process)
        except sockets.NoProcessError:
            if sockets.exists(process):
                raise
            print(f"{NAME}: process {process} has ended", file=sys.stderr)
            return 1 if once else 0
        told = {**now, "rates": rates(before, now)}
        text = json.dumps(told) if as_json else shown(told)
        print(f"\x1b[H\x1b[J{text}" if clears else text, flush=True)
        if once:
            return 0
        if not clears and not as_json:
            print()
        before = now


def shown(told: Mapping[str, Any]) -> str:
    """Return a snapshot with its rates, for people to read."""
    counters = told["counters"]
    runs = sum(counters[name] for name in _RUNS)
    compiled, loaded = counters["programs_compiled"], counters["programs_from_disk"]
    hits = counters["program_hits"]
    memory = told["memory"]
    lines = [
        f"process {told['process']}: {printable(told['program'])}, watched for "
        f"{told['seconds']:.0f} s",
        "",
        "per second " + ", ".join([
            f"{told['rates'][name]:.1f} {text}" for name, text in RATES.items()]),
        f"in all     {runs} programs ({counters['runs_op_by_op']} op by op), {hits} hits in "
        f"memory, {loaded} from disk, {compiled} compiled "
        f"({counters['background_compiles']} beside the program), {counters['reads']} reads",
    ]
    if memory:
        lines.append("memory     " + ", ".join([
            f"{size / (1 << 20):.0f} MiB {name}" for name, size in memory.items()]))
    rows = [("thread", "state", "for", "line", "")]
    for t in told["threads"]:
        since = "" if t["seconds"] is None else f"{t['seconds']:.1f} s"
        rows.append((
            printable(t["name"]), t["state"], since, printable(t["line"]), printable(t["what"])))
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    lines.append("")
    lines += ["  ".join([cell.ljust(width) for cell, width in zip(row[:4], widths, strict=True)]
                        + [row[4]]).rstrip() for row in rows]
    lines.append("")
    newest = told["newest_run"]
    if newest is not None:
        form = newest["form"].replace("_", " ") or "not run yet"
        lines.append(f"newest run      {newest['number']}: {newest['reason']} at "
                     f"{printable(newest['line'])}, "
                     f"{newest['ops']} ops, {form}, {newest['seconds'] * 1e3:.2f} ms"
                     + (f", failed: {printable(newest['error'])}" if newest["error"] else ""))
    newest = told["newest_compile"]
    if newest is not None:
        lines.append(f"newest compile  {newest['seconds_ago']:.0f} s ago: "
                     f"{printable(newest['text'])}")
    beside = told["beside"]
    if beside["compiling"] or beside["queued"]:
        lines.append(f"beside it       {'compiling' if beside['compiling'] else 'nothing'}, "
                     f"{beside['queued']} programs wait")
    return "\n".join(lines)
