"""``python -m lazyloom``: ``info``, ``run``, ``profile``, ``top``, ``repro``, ``codegen``, ..."""

from __future__ import annotations

import argparse
import json
import os
import platform
import runpy
import signal
import sys

from . import __version__, cache, launcher, ops
from .backends.returned import description
from .backends.selection import backend
from .cache import disk
from .codegen import in_use
from .compiled import core
from .errors import LoomError
from .generator_kit import command as generator_kit
from .host import native, shipped, storage
from .monitoring import command as monitoring
from .profiling import command as profiling
from .repro import command as repro


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m lazyloom", description="Look at lazyloom's installation and its "
        "cache; run a program in several processes.")
    commands = parser.add_subparsers(dest="command", required=True)
    info = commands.add_parser("info", help="versions, device, op table and cache")
    info.add_argument("--json", action="store_true", help="print JSON")
    launcher.add_arguments(commands.add_parser("run", help="a program in several processes"))
    profiling.add_arguments(commands.add_parser(
        "profile", help="a program, and a report of why it is slow"))
    monitoring.add_arguments(commands.add_parser(
        "top", help="what a running process does, refreshed each second"))
    repro.add_arguments(commands.add_parser(
        "repro", help="run a program that was saved for a report, and make it smaller"))
    _add_cache(commands.add_parser("cache", help="the disk cache, and files of it"))
    generator_kit.add_arguments(commands.add_parser(
        "codegen", help="test, list and explain code generators"))
    kernels = commands.add_parser(
        "kernels", help="make all usual kernels of ops, which takes minutes; an installation from "
        "source makes the common ones")
    kernels.add_argument(
        "--output", default=shipped.path(),
        help="another file, beside which functions in C go into kernels.so (default: %(default)s)")
    kernels.add_argument("--processes", type=int, default=_cores())
    kernels.add_argument(
        "--keep", action="store_true", help="leave a file that is right here as it is")
    kernels.add_argument("--common", action="store_true", help="the common ones alone")
    options = parser.parse_args(arguments)
    if options.command == "codegen":
        return generator_kit.run(options)
    if options.command == "run":
        return launcher.run(options)
    if options.command == "top":
        return monitoring.run(options)
    if options.command == "repro":
        return repro.run(options)
    if options.command == "profile":
        return profiling.run(options)
    if options.command == "kernels":
        folder = os.path.dirname(os.path.abspath(options.output))
        if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
            parser.error(f"--output is {options.output!r}, and {folder} is no folder that can be "
                         "written; name a file in one that can")
        if os.path.isdir(options.output):
            parser.error(f"--output is {options.output!r}, a folder; name a file in it, such as "
                         f"{os.path.join(options.output, shipped.NAME)}")
        if options.processes < 1:
            parser.error(f"--processes is {options.processes}, expected at least 1")
        if options.keep and native.made_for_here(options.output, not options.common):
            print(f"kernels are there already, in {options.output}")
            return 0
        return _kernels(options.output, options.processes, not options.common)
    if options.command == "cache":
        return _cache(options)
    try:
        info_items = _info()
    except LoomError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(info_items, indent=2))
    else:
        _print(info_items)
    return 0


def _add_cache(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("info", help="its folder, files, bytes and limit")
    actions.add_parser("clear", help="remove its programs, lowerings and verdicts")
    save = actions.add_parser(
        "save", help="write it to a file, for other machines",
        description="Write to one file what a program uses of the disk cache, once it has run; "
        "without a program, all that the cache's folder has and that is valid here.")
    save.add_argument("file", help="the file to write")
    save.add_argument(
        "-m", "--module", action="store_true", help="what follows is a module's name")
    save.add_argument("program", nargs="?", help="a script to run")
    save.add_argument("arguments", nargs=argparse.REMAINDER, help="its own arguments")
    load = actions.add_parser(
        "load", help="take a file of it",
        description="Take a file of the disk cache into its folder, as far as it is of use here, "
        "and say what is not, with the reasons. Executables are machine code and are run: load "
        "only what you would run as a program. The exit status is 1 where nothing is of use.")
    load.add_argument("file", help="the file to read")
    listed = actions.add_parser("list", help="what a file of it has, and where that is valid")
    listed.add_argument("file", help="the file to read")


def _cache(options: argparse.Namespace) -> int:
    if options.action == "info":
        _print(disk.info())
        return 0
    if options.action == "clear":
        print(f"removed {disk.clear()} bytes from {disk.folder()}")
        return 0
    if options.action == "save" and options.program is not None:
        if not options.module and not os.path.exists(options.program):
            print(f"python -m lazyloom cache save: there is no file {options.program!r}; name a "
                  "script, or a module after -m", file=sys.stderr)
            return 2
        _run(options)
    try:
        if options.action == "save":
            found = cache.save(options.file, everything=options.program is None)
            # the program's own output is left alone
            print(found, file=None if options.program is None else sys.stderr)
            return 0
        if options.action == "load":
            found = cache.load(options.file)
            print(found)
            return 0 if found.usable or not found.artifacts else 1
        found = cache.contents(options.file)
    except (LoomError, OSError) as error:
        print(f"python -m lazyloom cache {options.action}: {error}", file=sys.stderr)
        return 1
    print(found)
    for environment in found.environments:
        print(f"{environment.scope} are valid where the following is the same:")
        _print({f"  {name}": value for name, value in environment.about.items()})
    return 0


def _run(options: argparse.Namespace) -> None:
    """Run the program that was named in this process. Raises what it raises, SystemExit but for
    an exit without an error."""
    sys.argv = [options.program, *options.arguments]
    try:
        if options.module:
            runpy.run_module(options.program, run_name="__main__", alter_sys=True)
        else:
            if not sys.flags.safe_path:
                # where Python looks first: beside the script, not where the command was given
                sys.path[0] = os.path.dirname(os.path.realpath(options.program))
            runpy.run_path(options.program, run_name="__main__")
    except SystemExit as error:
        if error.code:
            raise


def _kernels(path: str, processes: int, every: bool) -> int:
    # imports the whole table and JAX
    from .host.build import build

    # end like Ctrl-C: also end its processes, and remove its temporary files
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    built = build(path, processes, every)
    print(f"{built.kernels} kernels of {built.entries} ops at types in {built.seconds:.0f} s: "
          f"{os.path.getsize(path)} bytes in {path}")
    print(f"functions in C  {built.functions}" if not built.why else
          f"functions in C  none: {built.why}")
    return 0


def _cores() -> int:
    """The number of cores that this process may use; all of them if the system does not say."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _info() -> dict[str, object]:
    return {
        "lazyloom": __version__,
        "core": core(),
        "python": f"{platform.python_version()} ({sys.executable})",
        "backend": backend().name,
        **{k: v for k, v in description().items() if k != "platform"},
        "ops": len(ops.names()),
        "kernels": shipped.described(storage.fingerprint()),
        "kernels in C": native.described(),
        "code generators": list(in_use()),
        **{f"cache {k}": v for k, v in disk.info().items()},
    }


def _print(items: dict[str, object]) -> None:
    width = max(map(len, items))
    for key, value in items.items():
        print(f"{key:<{width}}  {_text(key, value)}")


def _text(key: str, value: object) -> str:
    if isinstance(value, dict):
        return ", ".join([f"{n} {kind.replace('_', ' ')}" for kind, n in value.items()]) or "none"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and key.endswith(("bytes", "limit")):
        return f"{value} ({value / 2**20:.1f} MiB)"
    return str(value)


if __name__ == "__main__":
    sys.exit(main())
