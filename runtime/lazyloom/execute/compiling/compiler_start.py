"""The start of the compiler process: its interpreter, paths and connection."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import struct
import sys
import tempfile
import time
from importlib.util import find_spec
from typing import Final, NamedTuple

from ...installed import find_python
from ...settings import switched_on
from . import detached
from .connection import Connection, SilentError
from .process_errors import NoCompilerError

#: the environment variable that says 0 for no such process, or which interpreter is one
VARIABLE: Final = "LAZYLOOM_COMPILER"
#: seconds within which it has to have begun
START = 60.0
_CREDENTIALS: Final = struct.Struct("3i")
#: packages that it needs
_PACKAGES: Final = ("lazyloom", "jax", "jaxlib", "numpy")

#: What it runs first. Until the paths are set, only modules of the interpreter's own are found.
_FIRST: Final = """
import json, socket, sys
link = socket.socket(socket.AF_UNIX)
link.connect(bytes.fromhex(sys.argv[1]))
try:
    paths, sys.prefix, sys.exec_prefix = json.loads(sys.argv[2])
    sys.path.extend(paths)
    from lazyloom.execute.compiling.service import serve
except BaseException as error:
    text = json.dumps({"error": f"{type(error).__name__}: {error}"}).encode()
    link.sendall(len(text).to_bytes(8, "little") + text)
    raise SystemExit(1)
serve(link)
"""


class Started(NamedTuple):
    """A process that has begun.

    Attributes:
        pid: its number.
        hello: what it says of itself.
    """

    connection: Connection
    pid: int
    hello: dict[str, object]


def interpreter() -> str:
    """The path of a Python that can compile for this process. Raises NoCompilerError."""
    if not switched_on(VARIABLE):
        raise NoCompilerError(f"{VARIABLE} says so")
    given = os.environ.get(VARIABLE, "")
    if os.sep in given:
        if not os.access(given, os.X_OK):
            raise NoCompilerError(f"{VARIABLE} is {given}, which cannot be executed")
        return os.path.abspath(given)
    if getattr(sys, "frozen", False):
        raise NoCompilerError(
            f"the program is frozen and comes without a Python of its own; {VARIABLE} may name one")
    found = find_python()
    if found is not None:
        return found
    raise NoCompilerError(
        f"no Python was found, sys.executable is {sys.executable!r}; {VARIABLE} may name one")


def paths() -> list[str]:
    """Where the process finds packages, after the interpreter's own modules.

    First the folders of those that it needs, so that no module of the program takes the place of
    one of theirs; then what else there is in ``sys.path``, for plugins, but for what depends on the
    current folder.
    """
    found: list[str] = []
    for name in _PACKAGES:
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            found.append(os.path.dirname(os.path.abspath(next(iter(
                spec.submodule_search_locations)))))
    for entry in list(sys.path):
        try:
            path = os.fsdecode(entry)
        except TypeError:
            continue  # not a path: an importer's own business
        if os.path.isabs(path):
            found.append(path)
    return list(dict.fromkeys(found))


def _flags() -> list[str]:
    """Without Python's environment variables, the current folder, the user's packages, or code
    that an environment runs at each start; what is written as in this process."""
    found = ["-I", "-S"]
    if sys.dont_write_bytecode:
        found.append("-B")
    if sys.pycache_prefix:
        found += ["-X", f"pycache_prefix={os.path.abspath(sys.pycache_prefix)}"]
    if sys.flags.utf8_mode:
        found += ["-X", "utf8"]
    if sys.flags.optimize:
        found.append("-" + "O" * sys.flags.optimize)
    return found


def begin() -> Started:
    """Start one. Raises NoCompilerError."""
    python = interpreter()
    folder = ""
    try:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    except (AttributeError, OSError) as error:
        raise NoCompilerError(f"there are no local sockets: {error}") from error
    with listening:
        try:
            if sys.platform == "linux":
                listening.bind(b"")  # a name that no file has, chosen by the system
            else:
                folder = tempfile.mkdtemp(prefix="lazyloom-")
                listening.bind(os.path.join(folder, "compiler"))
            listening.listen(1)
            name = listening.getsockname()
            address = name if isinstance(name, bytes) else os.fsencode(name)
            # the prefixes are where libraries of an environment's packages are looked for
            given = json.dumps([paths(), sys.prefix, sys.exec_prefix])
            words = [python, *_flags(), "-c", _FIRST, address.hex(), given]
            # what a program asks for that looks at itself is not for its compiler
            environment = "LAZYLOOM_REPRODUCIBLE=1 LAZYLOOM_TOP=0 LAZYLOOM_REPRO="
            detached.start(f"{environment} {shlex.join(words)}")
            connection, pid = _accepted(listening, time.monotonic() + START)
        except (OSError, ValueError) as error:
            raise NoCompilerError(f"{python} could not be started: {error}") from error
        finally:
            if folder:
                shutil.rmtree(folder, ignore_errors=True)
    try:
        hello = json.loads(connection.receive(START, time.monotonic() + START))
        if "error" in hello:
            raise NoCompilerError(f"{python} could not import lazyloom: {hello['error']}")
        return Started(connection, pid or int(hello["pid"]), hello)
    except (OSError, EOFError, ValueError, KeyError, SilentError) as error:
        connection.close()
        raise NoCompilerError(f"{python} did not get as far as compiling: {error!r}") from error
    except NoCompilerError:
        connection.close()
        raise


def _accepted(listening: socket.socket, until: float) -> tuple[Connection, int]:
    """The connection that this user's process makes, and its number, if the system says it."""
    while True:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"nothing was heard of it for {START:.0f} s")
        listening.settimeout(left)
        try:
            link, _ = listening.accept()
        except TimeoutError:
            continue
        pid, user = peer(link)
        if user == os.geteuid():
            return Connection(link), pid
        link.close()


def peer(link: socket.socket) -> tuple[int, int]:
    """The process at the other end, 0 where the system does not say it, and its user."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        # the address lies in a folder of this user alone
        return 0, os.geteuid()
    pid, user, _ = _CREDENTIALS.unpack(
        link.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    return int(pid), int(user)
