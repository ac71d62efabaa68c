"""``python -m lazyloom_torch script.py args...``: a program whose ``import torch`` means this."""

from __future__ import annotations

import os
import runpy
import sys

from lazyloom import launcher

from . import as_torch

USAGE = """\
usage: python -m lazyloom_torch script.py [argument ...]
       python -m lazyloom_torch -m module [argument ...]
       python -m lazyloom_torch run -n processes script.py [argument ...]

Run a program in which "import torch" means lazyloom_torch, its own imports and those of the
libraries that it uses. An installed PyTorch is not touched.
"run" starts it in several processes, as torchrun does (run --help has the options)."""


def main() -> None:
    """Run the script or module that the command line names."""
    given = sys.argv[1:]
    if given[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return
    if given[:1] == ["run"]:
        sys.exit(launcher.main(
            given[1:], "python -m lazyloom_torch run", ["-m", __package__]))
    module = given[:1] == ["-m"]
    if module:
        given = given[1:]
    if not given or given[0].startswith("-"):
        sys.exit(USAGE)
    as_torch()
    sys.argv = given
    if module:
        runpy.run_module(given[0], run_name="__main__", alter_sys=True)
        return
    if not os.path.exists(given[0]):
        sys.exit(f"python -m lazyloom_torch: there is no file {given[0]!r}")
    if not sys.flags.safe_path:
        # where Python looks first: beside the script, not where the command was given
        sys.path[0] = os.path.dirname(os.path.realpath(given[0]))
    runpy.run_path(given[0], run_name="__main__")


if __name__ == "__main__":
    main()
