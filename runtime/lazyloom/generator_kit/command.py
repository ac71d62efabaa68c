"""``python -m lazyloom codegen test``, ``list`` and ``explain``."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import traceback
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from .. import observers
from ..codegen import faults, registry
from ..codegen.generator import Generator
from ..codegen.report import explain
from ..errors import ArgumentError, UnknownOpError
from ..interrupts import reraise_from_handler
from ..ops.spec import lookup
from ..profiling.events import Events
from ..profiling.observer import Observer
from ..program.program import Program
from .process import FAILED, PASSED, SKIPPED, Options, function_of, loaded, outcomes
from .samples import claimed

#: what an item's name begins with that is shown in the table of times
_TIME: Final = "time "


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    actions = parser.add_subparsers(dest="action", required=True)
    test = actions.add_parser(
        "test", help="check a generator",
        description="Check a code generator beside XLA: samples of every op that it claims, "
        "gradients, layouts, repeated runs, numbers, groups, injected faults, random programs, and "
        "times. The exit status is 1 where something failed.")
    test.add_argument("generator", help='its name, a module, or "module:attribute"')
    test.add_argument("--ops", default="", help="only these ops, separated by commas")
    test.add_argument("--only", default="", help='only checks whose names begin so, separated by '
                      'commas, such as "values,random"')
    test.add_argument("--program", action="append", default=[], help='a program of your own, such '
                      'as of a group: "module:function", which returns tensors; may be repeated')
    test.add_argument("--programs", type=int, default=20, help="random programs "
                      "(default: %(default)s)")
    test.add_argument("--limit", type=float, default=120.0, help="the seconds that one check may "
                      "take (default: %(default)s)")
    test.add_argument("--no-times", action="store_true", help="measure nothing")
    test.add_argument("-v", "--verbose", action="store_true", help="print what passes, too")
    listed = actions.add_parser("list", help="the generators that there are")
    listed.add_argument("--ops", action="store_true", help="name the ops that each claims")
    explained = actions.add_parser(
        "explain", help="run a script, and say what ran where",
        description="Run a script, and print for each program that it ran where its ops run, or "
        "why no code generator in use does them.")
    explained.add_argument("--all", action="store_true", help="a line for each op")
    explained.add_argument("-m", dest="module", action="store_true",
                           help="the program is a module's name")
    explained.add_argument("program", help="the script, or with -m a module")
    explained.add_argument("arguments", nargs=argparse.REMAINDER, help="its own arguments")


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    if options.action == "test":
        return _test(options)
    if options.action == "list":
        return _list(options.ops)
    return _explain(options)


def _test(options: argparse.Namespace) -> int:
    if options.programs < 0 or not options.limit > 0:
        print("lazyloom codegen test: --programs is at least 0, and --limit more than 0",
              file=sys.stderr)
        return 2
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        generator = loaded(options.generator)
        for text in options.program:
            function_of(text)
        for name in filter(None, options.ops.split(",")):
            lookup(name)
    except (ArgumentError, UnknownOpError) as error:
        print(f"lazyloom codegen test: {error}", file=sys.stderr)
        return 2
    print(f"{generator.name} {generator.version}")
    asked = Options(options.generator, tuple(filter(None, options.ops.split(","))),
                    options.programs, not options.no_times, options.limit,
                    tuple(filter(None, options.only.split(","))), tuple(options.program))
    count: Counter[str] = Counter()
    failed: list[str] = []
    times: list[str] = []
    skipped: Counter[str] = Counter()
    for outcome in outcomes(asked):
        count[outcome.state] += 1
        if outcome.state == FAILED:
            failed.append(outcome.name)
            print(f"FAILED   {outcome.name}: {outcome.detail}", flush=True)
        elif outcome.name.startswith(_TIME) and outcome.state == PASSED:
            times.append(f"  {outcome.name[len(_TIME):]:<20} {outcome.detail}")
        elif outcome.state == SKIPPED:
            skipped[outcome.detail] += 1
            if options.verbose:
                print(f"skipped  {outcome.name}: {outcome.detail}", flush=True)
        elif options.verbose or outcome.name == "claims":
            print(f"passed   {outcome.name}: {outcome.detail}".removesuffix(": "), flush=True)
    if not count:
        print(f"lazyloom codegen test: no check's name begins with {options.only!r}, expected such "
              "as values, gradients, layouts, random", file=sys.stderr)
        return 2
    if times:
        print("times of one call, of XLA for the same, and how many times faster:")
        print("\n".join(times))
    print(f"{count[PASSED]} passed, {count[SKIPPED]} skipped, {count[FAILED]} failed")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def _list(ops: bool) -> int:
    in_use = registry.in_use()
    available = registry.available()
    for name, generator in available.items():
        state = "in use" if name in in_use else (
            "available" if generator.by_default else "available, in use where it is named")
        claims = claimed(generator)
        samples = sum(map(len, claims.values()))
        print(f"{name} {generator.version}: {state}; {len(claims)} ops, {samples} samples of them"
              f"{_groups(generator)}")
        if ops and claims:
            print(f"    {', '.join(claims)}")
    for name, why in registry.unavailable().items():
        print(f"{name}: not available: {why}")
    if not available and not registry.unavailable():
        print("there are no code generators")
    return 0


def _groups(generator: Generator) -> str:
    try:
        names = sorted({p.name for p in generator.patterns()})
    except Exception as error:
        reraise_from_handler(error)
        return f"; its patterns raised {faults.told(error)}"
    return f"; groups: {', '.join(names)}" if names else ""


def _explain(options: argparse.Namespace) -> int:
    if not options.module and not os.path.isfile(options.program):
        print(f"lazyloom codegen explain: {options.program} is no file; give a script, or -m and a "
              "module's name", file=sys.stderr)
        return 2
    events = Events()
    sys.argv = [options.program, *options.arguments]
    sys.path[0] = os.getcwd() if options.module else (
        os.path.dirname(os.path.abspath(options.program)))
    status = 0
    observer = Observer(events)
    observers.add(observer)
    try:
        if options.module:
            runpy.run_module(options.program, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(options.program, run_name="__main__")
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except Exception:
        traceback.print_exc()
        status = 1
    finally:
        observers.remove(observer)
    programs: dict[str, Program] = {}
    forms: dict[str, Counter[str]] = {}
    with_regions: set[str] = set()
    for ran in events.runs:
        program = ran.evaluation.program
        if program is not None:
            programs.setdefault(program.key, program)
            forms.setdefault(program.key, Counter())[ran.evaluation.form.replace("_", " ")] += 1
            if ran.evaluation.regions.run:
                with_regions.add(program.key)
    print(f"\ngenerators in use: {', '.join(registry.in_use()) or 'none'}")
    for key, program in programs.items():
        report = explain(program)
        how = ", ".join(f"{n} {form}" for form, n in forms[key].most_common())
        print(f"\nprogram {key[:12]}: {how}")
        print(report.text() if options.all else report.grouped())
        if report.partition.parts and key not in with_regions:
            print("  no run of it had these regions: they come with the compiled program, with "
                  "lazyloom.options(reproducible=True) at the first run")
    for failure in faults.failures():
        print(f"\nfailed: {failure.generator}, {failure.when}, {', '.join(failure.ops[:6])}: "
              f"{failure.error}")
        if failure.traceback:
            print(failure.traceback.rstrip())
    if not programs:
        print("no program ran")
    return status


def main(arguments: Sequence[str] | None = None) -> Any:
    """Run the command by itself; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m lazyloom codegen")
    add_arguments(parser)
    return run(parser.parse_args(arguments))
