"""The start of a process that is no child of this one.

What a program says of its children would otherwise be about that process, too: ``os.wait()``
returns it, a handler of SIGCHLD is called for it, and it stays a zombie until somebody asks for it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from typing import Any, Final

#: flags of Linux's clone(): in the same memory, and this thread goes on once it has ended
_VM, _VFORK = 0x100, 0x4000
#: flag of waitpid(): those that send no signal when they end, which no other call waits for
_CLONES: Final = -0x80000000
_STACK: Final = 1 << 18
_SHELL: Final = "/bin/sh"


def start(command: str) -> None:
    """Start a command of the shell, without input or output, and leave it to the system.

    It is adopted by the system's first process, or by what has said that it adopts orphans
    (``PR_SET_CHILD_SUBREAPER``), which may be this one.

    Raises OSError where there is no shell.
    """
    if not os.access(_SHELL, os.X_OK):
        raise OSError(f"there is no {_SHELL}")
    text = f"{command} </dev/null >/dev/null 2>&1 &"
    if not _cloned(os.fsencode(text)):
        # for as long as the shell takes to start the command it is a child
        subprocess.run([_SHELL, "-c", text], check=False)


def _cloned(text: bytes) -> bool:
    """Have a process that sends no signal when it ends call system(); False where none can be."""
    if sys.platform != "linux":
        return False
    try:
        library: Any = ctypes.CDLL(None, use_errno=True)
        clone, system = library.clone, ctypes.cast(library.system, ctypes.c_void_p)
    except (OSError, AttributeError):
        return False
    stack = ctypes.create_string_buffer(_STACK)
    top = (ctypes.addressof(stack) + _STACK) & ~15
    # no handler of the program's runs in it, which would be in this process's memory
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = clone(system, ctypes.c_void_p(top), _VM | _VFORK, text)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if pid <= 0:
        return False
    try:
        os.waitpid(pid, _CLONES)
    except OSError:
        pass  # the program has waited for all kinds of processes
    return True
