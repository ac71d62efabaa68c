"""A check of the environment that XLA reads: where that is wrong, XLA ends the process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Final

from ...errors import ArgumentError
from ...installed import find_python

VARIABLE: Final = "XLA_FLAGS"
#: flags that are right and need no check, which takes a tenth of a second
_KNOWN: Final = re.compile(
    r"--xla_(force_host_platform_device_count=\d+|cpu_multi_thread_eigen=(true|false))")
#: what reads the flags, in a process that may end of it
_READ: Final = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from jaxlib import xla_client
xla_client.CompileOptions()
print("read")
"""
#: seconds; XLA is started unchecked where that does not suffice
_LIMIT: Final = 20.0
#: before the text of a line of XLA's log
_HEAD: Final = re.compile(r"^[IWEF]\d{4} .*?\] ")


def check_flags() -> None:
    """Have another process read ``XLA_FLAGS``, unless they are known to be right.

    Raises:
        ArgumentError: XLA does not take them; the message says why.
    """
    given = os.environ.get(VARIABLE)
    if not given or all(_KNOWN.fullmatch(flag) for flag in given.split()):
        return
    python = find_python()
    if python is None:
        return
    try:
        done = subprocess.run(
            [python, "-I", "-c", _READ, json.dumps(sys.path)], capture_output=True,
            text=True, errors="replace", timeout=_LIMIT, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return
    lines = [_HEAD.sub("", line) for line in done.stderr.splitlines() if _HEAD.match(line)]
    if done.returncode and lines and "read" not in done.stdout:
        raise ArgumentError(
            f"the environment variable {VARIABLE} is {given!r}, which XLA does not take: "
            f"{lines[0]}; correct it or unset it, and start the program again")
