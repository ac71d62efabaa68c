"""``python -m lazyloom_capi``: flags for compilers, the build, and the generated header."""

from __future__ import annotations

import argparse
import shlex
import sys


def main() -> int:
    """Run the command line; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m lazyloom_capi", description=__doc__)
    parser.add_argument("--cflags", action="store_true", help="print the compiler's flags")
    parser.add_argument(
        "--libs", action="store_true", help="print the linker's flags; builds if needed")
    parser.add_argument(
        "--prefix", action="store_true", help="print a folder with include and lib")
    parser.add_argument(
        "--cmake-dir", action="store_true",
        help="print the folder of the CMake package, for lazyloom_DIR")  # fmt: skip
    parser.add_argument(
        "--pkg-config-dir", action="store_true",
        help="print the folder of lazyloom.pc, for PKG_CONFIG_PATH")  # fmt: skip
    parser.add_argument("--build", action="store_true", help="build the library if needed")
    parser.add_argument("--force", action="store_true", help="with --build: in any case")
    parser.add_argument("--output", metavar="DIR", help="with --build: the folder to build in")
    parser.add_argument(
        "--relocatable", action="store_true",
        help="with --build: for a package that is installed elsewhere")  # fmt: skip
    parser.add_argument(
        "--declarations", action="store_true",
        help="print lazyloom.h's types and functions without preprocessor, as foreign function "
        "interfaces read them")  # fmt: skip
    parser.add_argument(
        "--generate", nargs="?", const="", metavar="FILE",
        help="write lazyloom_ops.h and lazyloom_api.json again from the op table and lazyloom.h; "
        "with FILE the first alone, there")  # fmt: skip
    given = parser.parse_args()

    from . import build, development

    if given.generate is not None:
        from . import api, generate

        print(generate.write(given.generate or None))
        if not given.generate:
            print(api.write())
    try:
        if given.build:
            print(build.build(
                given.output, force=given.force, relocatable=given.relocatable))
        if given.prefix:
            print(development.prefix(build.build().parent))
        if given.cmake_dir:
            print(build.build().parent / development.CMAKE)
        if given.pkg_config_dir:
            print(build.build().parent / development.PKG_CONFIG)
        flags = []
        if given.cflags:
            flags += build.cflags()
        if given.libs:
            flags += build.libs()
    except build.BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if flags:
        print(shlex.join(flags))
    if given.declarations:
        from . import header

        print(header.declarations(header.text()))
    printed = (given.build, given.prefix, given.cmake_dir, given.pkg_config_dir, flags,
               given.declarations)  # fmt: skip
    if given.generate is None and not any(printed):
        parser.print_help()
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
