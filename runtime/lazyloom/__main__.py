"""``python -m lazyloom info``, ``cache {info,clear}`` and ``kernels``."""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys

from . import __version__, ops
from .backends.returned import description
from .backends.selection import backend
from .cache import disk
from .compiled import core
from .errors import LoomError
from .host import native, shipped, storage


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m lazyloom", description="Look at lazyloom's installation and its cache.")
    commands = parser.add_subparsers(dest="command", required=True)
    info = commands.add_parser("info", help="versions, device, op table and cache")
    info.add_argument("--json", action="store_true", help="print JSON")
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
    given = parser.parse_args(arguments)
    if given.command == "kernels":
        folder = os.path.dirname(os.path.abspath(given.output))
        if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
            parser.error(f"--output is {given.output!r}, and {folder} is no folder that can be "
                         "written; name a file in one that can")
        if os.path.isdir(given.output):
            parser.error(f"--output is {given.output!r}, a folder; name a file in it, such as "
                         f"{os.path.join(given.output, shipped.NAME)}")
        if given.processes < 1:
            parser.error(f"--processes is {given.processes}, expected at least 1")
        if given.keep and native.made_for_here(given.output, not given.common):
            print(f"kernels are there already, in {given.output}")
            return 0
        return _kernels(given.output, given.processes, not given.common)
    if given.command == "cache":
        if given.action == "clear":
            print(f"removed {disk.clear()} bytes from {disk.folder()}")
        else:
            _print(disk.info())
        return 0
    try:
        found = _info()
    except LoomError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    if given.json:
        print(json.dumps(found, indent=2))
    else:
        _print(found)
    return 0


def _kernels(path: str, processes: int, every: bool) -> int:
    # brings the whole table and JAX
    from .host.build import build

    # ends as Ctrl-C does: with its processes, and what it has written aside
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    made = build(path, processes, every)
    print(f"{made.kernels} kernels of {made.entries} ops at types in {made.seconds:.0f} s: "
          f"{os.path.getsize(path)} bytes in {path}")
    print(f"functions in C  {made.functions}" if not made.why else
          f"functions in C  none: {made.why}")
    return 0


def _cores() -> int:
    """The cores that this process may use; where the system does not say, all of them."""
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
