"""``python -m lazyloom repro FILE``: a saved program is run, compared and made smaller."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import sys
from collections.abc import Callable
from typing import Any, Final

from ..errors import ArgumentError, LoomError, printable
from ..files import replace
from ..interrupts import reraise_from_handler
from . import saved as files
from .isolation import LIMIT, Isolated, isolated_findings
from .minimising import SECONDS, minimised
from .running import COMPILED, Fault, Findings, FormRun, described, findings_of
from .saved import SavedProgram
from .script import script_of
from .taking import here

NAME: Final = "python -m lazyloom repro"
#: the exit status where something is wrong with the program, and where it cannot be run
FAULTY: Final = 1
UNUSABLE: Final = 2
#: and where a smaller program was looked for and SIGINT ended that, as shells have it
INTERRUPTED: Final = 130
#: programs of more ops are shown without their text
LONGEST_TEXT: Final = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = (
        "Runs a program that lazyloom.save_repro or LAZYLOOM_REPRO=DIR saved, op by op and "
        "compiled, compares both, and says which op fails or differs. The exit status is 0 if "
        "nothing is wrong, 1 if something is, 2 if the file cannot be used, 130 if --minimise was "
        "interrupted, which writes the smallest program so far.")
    parser.add_argument("file", help="the file of the program")
    parser.add_argument(
        "--minimise", action="store_true",
        help="look for a smaller program with the same fault, and write it, and a program in "
        "Python that shows it")
    parser.add_argument(
        "--random", action="store_true",
        help="with random data of the same types and between the same bounds")
    parser.add_argument(
        "--tolerance", type=float, metavar="X",
        help="by how much floats may differ, relatively to the largest in a result; 0 for not at "
        "all (default: the root of the dtype's precision)")
    parser.add_argument(
        "--output", "-o", metavar="FILE",
        help="where the smaller program goes (default: FILE.min); the program in Python goes to "
        "the same name and .py")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS,
        help="for which a smaller program is looked for (default: %(default)s)")
    parser.add_argument(
        "--isolate", action="store_true",
        help="run it in a process of its own, which the program may end, or hang")
    parser.add_argument(
        "--limit", type=float, default=LIMIT, metavar="SECONDS",
        help="after which it hangs, with --isolate (default: %(default)s)")
    parser.add_argument(
        "--import", dest="modules", action="append", default=[], metavar="MODULE",
        help="import a module first, which registers an op")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    if options.tolerance is not None and not options.tolerance >= 0:
        print(f"{NAME}: --tolerance is {options.tolerance}, expected at least 0", file=sys.stderr)
        return UNUSABLE
    for name, given in (("--seconds", options.seconds), ("--limit", options.limit)):
        if not given > 0:
            print(f"{NAME}: {name} is {given}, expected more than 0", file=sys.stderr)
            return UNUSABLE
    folder = os.path.dirname(os.path.abspath(options.output or options.file))
    if options.minimise and not os.access(folder, os.W_OK | os.X_OK):
        print(f"{NAME}: the smaller program cannot be written to the folder {folder}, expected one "
              "of yours; name a file in another after --output", file=sys.stderr)
        return UNUSABLE
    if isinstance(sys.stdout, io.TextIOWrapper):
        # names may have what the terminal's encoding has not
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.path.insert(0, os.getcwd())
    for module in options.modules:
        try:
            importlib.import_module(module)
        except Exception as error:
            reraise_from_handler(error)
            print(f"{NAME}: the module {module!r} after --import cannot be imported: "
                  f"{type(error).__name__}: {error}", file=sys.stderr)
            return UNUSABLE
    try:
        saved = files.read(options.file)
        if options.random:
            saved = files.with_random_inputs(saved)
        with contextlib.ExitStack() as stack:
            isolated = stack.enter_context(Isolated(
                options.modules, options.tolerance, options.limit)) if options.isolate else None
            found = findings_of(saved, options.tolerance, runs=3) if isolated is None else (
                isolated_findings(saved, isolated))
            smaller: dict[str, Any] | None = None
            if not options.json:
                print(shown(options.file, saved, found), flush=True)
            if options.minimise and found.fault is not None:
                smaller = _minimise(
                    options, saved, None if isolated is None else isolated.fault_of)
    except (LoomError, OSError, ArgumentError) as error:
        text = str(error)
        print(f"{NAME}: {text.removeprefix('repro: ')}", file=sys.stderr)
        return UNUSABLE
    if options.json:
        print(json.dumps({**as_json(saved, found), "minimised": smaller}))
    if smaller is not None and smaller["interrupted"]:
        return INTERRUPTED
    return 0 if found.fault is None else FAULTY


def _minimise(
    options: argparse.Namespace, saved: SavedProgram,
    fault_of: Callable[[SavedProgram], Fault | None] | None,
) -> dict[str, Any]:
    def say(line: str) -> None:
        print(f"  {line}", file=sys.stderr, flush=True)

    found = minimised(saved, options.tolerance, options.seconds, say, fault_of)
    before = len(saved.program.ops)
    smallest = found.saved._replace(about={
        **found.saved.about, "minimised_from": before, "fault": found.fault.text})
    path = files.write(options.output or f"{options.file}.min", smallest)
    script = f"{path}.py"
    replace(script, [script_of(smallest, found.fault).encode()])
    after = len(smallest.program.ops)
    if not options.json:
        end = "" if found.complete else (
            f"; {'it was interrupted' if found.interrupted else '--seconds was over'}, so there "
            "may be a smaller one")
        print(f"\nminimised  {before} ops to {after}, {saved.nbytes} bytes of input to "
              f"{smallest.nbytes}, by {found.tried} programs{end}")
        print(f"           {found.fault.text}")
        print(f"written    {path}, and {script} in Python")
        print("\n" + smallest.program.text())
    return {"file": path, "script": script, "ops": after, "tried": found.tried,
            "complete": found.complete, "interrupted": found.interrupted,
            "fault": found.fault.text}


def shown(name: str, saved: SavedProgram, found: Findings) -> str:
    """Return what was found, for people to read."""
    about = saved.about
    program = saved.program
    ops = len(program.ops)
    now = here()
    lines = [f"{name}: {ops} op{'s' if ops != 1 else ''}, {len(saved.inputs)} inputs of "
             f"{saved.nbytes} bytes{' of random data' if about.get('data') == 'random' else ''}, "
             f"{len(program.outputs)} results"]
    if about.get("line"):
        lines.append(f"saved      {printable(about.get('reason'))} at {printable(about['line'])}"
                     + (f", which failed: {_lines(about['error'])}" if about.get("error") else ""))
    for key in ("versions", "processor", "options", "environment"):
        then, today = about.get(key) or {}, now[key]
        if then == today:
            continue
        lines.append(f"{key:<10} " + "; ".join([
            printable(f"{k} was {then.get(k, 'not set')}, is {today.get(k, 'not set')}")
            for k in dict.fromkeys([*then, *today]) if then.get(k) != today.get(k)]))
    lines += [_form(ran, saved) for ran in found.forms]
    fault = found.fault
    if fault is None:
        lines.append("found      nothing: both forms run, and agree")
    else:
        lines.append(f"found      {fault.text}")
        if fault.op is not None:
            lines.append(f"the op     {described(saved, fault.op)}")
    if ops <= LONGEST_TEXT:
        lines += ["", program.text()]
    return "\n".join(lines)


def _lines(text: object) -> str:
    """A text of several lines of which each can be shown."""
    return "\n".join(map(printable, str(text).split("\n")))


def _form(ran: FormRun, saved: SavedProgram) -> str:
    if ran.error is not None:
        text = str(ran.error).strip().split("\n")[0]
        return f"{ran.form:<10} fails: {type(ran.error).__name__}: {text}"
    text = f"{ran.form:<10} {ran.seconds * 1e3:.3f} ms"
    return text if ran.form != COMPILED else (
        f"{text}, lowered in {ran.lowering * 1e3:.0f} ms, compiled in {ran.compiling * 1e3:.0f} ms")


def as_json(saved: SavedProgram, found: Findings) -> dict[str, Any]:
    """Return what was found as JSON has it."""
    fault: Fault | None = found.fault
    return {
        "ops": len(saved.program.ops), "key": saved.program.key, "bytes": saved.nbytes,
        "about": dict(saved.about), "here": here(),
        "forms": [{
            "form": ran.form, "seconds": ran.seconds, "lowering": ran.lowering,
            "compiling": ran.compiling,
            "error": None if ran.error is None else f"{type(ran.error).__name__}: {ran.error}",
        } for ran in found.forms],
        "fault": None if fault is None else {
            "kind": fault.kind, "form": fault.form, "text": fault.text, "op": fault.op,
            "instruction": None if fault.op is None else described(saved, fault.op),
        },
    }
