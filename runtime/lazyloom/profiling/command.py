"""``python -m lazyloom profile SCRIPT``: a program in a profile."""

from __future__ import annotations

import argparse
import os
import runpy
import sys

from ..cache import disk
from .machine import measure_peaks
from .reports import machine_text
from .watching import Profile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "--output", "-o", default="profile.html",
        help="a page for .html, data for .json, a timeline for Perfetto for .trace.json "
        "(default: %(default)s)")
    parser.add_argument("--no-sources", action="store_true",
                        help="leave the program's source lines out of the report")
    parser.add_argument("-m", dest="module", action="store_true",
                        help="the program is a module's name")
    parser.add_argument(
        "--measure-machine", action="store_true",
        help="measure what this machine can do at best, for the bounds in reports, and keep it in "
        "the cache's folder; without a program, that alone")
    parser.add_argument("program", nargs="?", help="the program's file, or with -m a module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what is passed on to it")


def run(options: argparse.Namespace) -> int:
    """Run the program, write the report and print its findings; return the exit status."""
    if options.measure_machine:
        try:
            print(machine_text(measure_peaks()), file=sys.stderr)
            if not disk.enabled():
                raise OSError("LAZYLOOM_CACHE=0 keeps nothing on disk")
        except OSError as error:
            print(f"lazyloom profile: what was measured cannot be kept: {error}; set "
                  "LAZYLOOM_CACHE to 1, and LAZYLOOM_CACHE_DIR to a folder of yours",
                  file=sys.stderr)
            return 1
        if options.program is None:
            return 0
    if options.program is None:
        print("lazyloom profile: no program was given; give its file, or -m and a module's name",
              file=sys.stderr)
        return 2
    sys.argv = [options.program, *options.arguments]
    if options.module:
        sys.path[0] = os.getcwd()
    elif not os.path.isfile(options.program):
        print(f"lazyloom profile: {options.program} is no file; give the program's file, or -m "
              "and a module's name", file=sys.stderr)
        return 2
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(options.program))
    status = 0
    watched = Profile(None, not options.no_sources)
    try:
        with watched:
            try:
                if options.module:
                    runpy.run_module(options.program, run_name="__main__", alter_sys=True)
                else:
                    runpy.run_path(options.program, run_name="__main__")
            except SystemExit as ended:
                status = _status(ended.code)
    finally:
        print(watched.report.text(), file=sys.stderr)
        try:
            watched.report.save(options.output)
            print(f"\nwritten to {options.output}", file=sys.stderr)
        except OSError as error:
            print(f"\nlazyloom profile: the report could not be written: {error}; name another "
                  "file after --output", file=sys.stderr)
            status = status or 1
    return status


def _status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code
    print(code, file=sys.stderr)
    return 1
