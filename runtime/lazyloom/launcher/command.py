"""The command line of ``run``, and the commands of the processes that it names."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .environment import LaunchError, environments, free_port, own_address
from .processes import Launch

DESCRIPTION = """\
Run a script or module in several processes of this interpreter, as torchrun does: RANK,
WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT and their kin are set for each. SIGINT and SIGTERM
are passed on to all of them. When one dies, the launcher says which and how, ends the others and
exits with its code (128 and the signal's number for one that a signal killed)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``run`` to a parser."""
    parser.description = DESCRIPTION
    parser.add_argument(
        "-n", "--nproc-per-node", "--nproc_per_node", dest="processes", type=int, default=1,
        metavar="N", help="processes to start on this machine (default: %(default)s)")
    parser.add_argument(
        "--nnodes", type=int, default=1, metavar="N",
        help="machines that take part, on each of which the launcher runs (default: %(default)s)")
    parser.add_argument(
        "--node-rank", "--node_rank", type=int, default=0, metavar="I",
        help="which of these machines this is, from 0 (default: %(default)s)")
    parser.add_argument(
        "--master-addr", "--master_addr", default=None, metavar="ADDRESS",
        help="the machine of rank 0 (default: 127.0.0.1; needed where there are several)")
    parser.add_argument(
        "--master-port", "--master_port", type=int, default=None, metavar="PORT",
        help="a TCP port there (default: a free one; needed where there are several machines)")
    parser.add_argument(
        "--tag-output", action="store_true",
        help='begin each line of output with its rank, as in "[rank 1] "')
    parser.add_argument(
        "--grace", type=float, default=30.0, metavar="SECONDS",
        help="how long processes that were asked to end by a signal may take until they are killed "
        "(default: %(default)g)")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "-m", "--module", action="store_true", help="what follows is a module's name")
    kind.add_argument(
        "--no-python", action="store_true",
        help="what follows is a command, not a script of Python")
    parser.add_argument("program", help="the script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its own arguments")


def run(options: argparse.Namespace, through: Sequence[str] = ()) -> int:
    """Run what the options say; the exit status.

    Args:
        options: of a parser with :func:`add_arguments`.
        through: arguments of the interpreter by which scripts and modules are run, such as
            ``["-m", "lazyloom_torch"]``.
    """
    try:
        return Launch(
            command(options, through), environments(*_checked(options)), tag=options.tag_output,
            grace=options.grace).run()
    except LaunchError as error:
        print(f"lazyloom run: {error}", file=sys.stderr)
        return 2


def main(
    arguments: list[str], prog: str = "python -m lazyloom run", through: Sequence[str] = ()
) -> int:
    """Parse arguments and :func:`run` them; the exit status.

    Raises SystemExit as argparse does, for arguments that do not fit and for ``--help``.
    """
    parser = argparse.ArgumentParser(prog=prog)
    add_arguments(parser)
    return run(parser.parse_args(arguments), through)


def command(options: argparse.Namespace, through: Sequence[str] = ()) -> list[str]:
    """The command of each process.

    Raises LaunchError if there is no such script.
    """
    own = [*([options.program] if not options.module else ["-m", options.program]),
           *options.arguments]
    if options.no_python:
        return own
    if not options.module and not os.path.exists(options.program):
        raise LaunchError(
            f"there is no file {options.program!r}; name a script, or a module after -m")
    return [sys.executable, *_interpreter_options(), *through, *own]


def _interpreter_options() -> list[str]:
    """What this interpreter itself was given (``-X dev``, ``-W error``), up to ``-m``."""
    given = sys.orig_argv[1:]
    return given[: given.index("-m")] if "-m" in given else []


def _checked(options: argparse.Namespace) -> tuple[int, int, int, str, int]:
    """Processes here, machines, this machine, address and port."""
    processes, nodes, node = options.processes, options.nnodes, options.node_rank
    address, port = options.master_addr, options.master_port
    if processes < 1:
        raise LaunchError(f"-n is {processes}, expected at least 1 process")
    if options.grace < 0:
        raise LaunchError(f"--grace is {options.grace:g}, expected seconds, 0 or more")
    if nodes < 1:
        raise LaunchError(f"--nnodes is {nodes}, expected at least 1 machine")
    if not 0 <= node < nodes:
        raise LaunchError(f"--node-rank is {node}, expected 0 to {nodes - 1} of --nnodes {nodes}")
    if nodes > 1 and (address is None or port is None):
        raise LaunchError(
            f"--nnodes is {nodes}: give --master-addr and --master-port, the same on each machine")
    if port is not None and not 0 < port < 65536:
        raise LaunchError(f"--master-port is {port}, expected 1 to 65535")
    address = address or "127.0.0.1"
    if node == 0 and own_address(address):
        port = free_port(address, port or 0)
    elif port is None:
        raise LaunchError(
            f"--master-addr {address} is not an address of this machine, so that no free port can "
            "be found there: give --master-port as well")
    return processes, nodes, node, address, port
