"""``python -m lazyloom info``, ``run``, ``profile``, ``cache {info,clear}`` and ``kernels``."""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys

from . import __version__, launcher, ops
from .backends.returned import description
from .backends.selection import backend
from .cache import disk
from .compiled import core
from .errors import LoomError
from .host import native, shipped, storage
from .profiling import command as profiling


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
    cache = commands.add_parser("cache", help="the disk cache")
    cache.add_argument("action", choices=["info", "clear"])
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
    if options.command == "run":
        return launcher.run(options)
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
        if options.action == "clear":
            print(f"removed {disk.clear()} bytes from {disk.folder()}")
        else:
            _print(disk.info())
        return 0
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
        **{f"cache {k}": v for k, v in disk.info().items()},
    }


def _print(items: dict[str, object]) -> None:
    width = max(map(len, items))
    for key, value in items.items():
        print(f"{key:<{width}}  {value}")


if __name__ == "__main__":
    sys.exit(main())
