"""What belongs to the process of a program, as far as it can be seen: :func:`state`.

Imported by what the tests run in processes of their own.
"""

from __future__ import annotations

import asyncio
import builtins
import contextvars
import copyreg
import ctypes
import decimal
import faulthandler
import gc
import locale
import logging
import multiprocessing
import os
import random
import resource
import signal
import socket
import sys
import tempfile
import threading
import time
import tracemalloc
import warnings
from typing import Any

import numpy as np

_C = ctypes.CDLL(None)
#: where Linux has the flags in its struct sigaction: after the handler and 1,024 bits of signals
_FLAGS_AT = 136
#: what the C library itself sets there
_OF_C_LIBRARY = 0x04000000
#: prctl(): whether memory can be dumped, the timer's slack, no new privileges, no huge pages
_PRCTL = (3, 30, 39, 42)


def _signal_action(number: int) -> tuple[int, int]:
    """The address of what is called at a signal, and the flags."""
    action = ctypes.create_string_buffer(512)
    _C.sigaction(number, None, action)
    flags = int.from_bytes(action.raw[_FLAGS_AT : _FLAGS_AT + 4], "little")
    return int.from_bytes(action.raw[:8], "little"), flags & ~_OF_C_LIBRARY


def _float_environment() -> tuple[str, int]:
    """The x87's control word, and rounding, traps and treatment of subnormals of SSE."""
    found = ctypes.create_string_buffer(64)
    _C.fegetenv(found)
    return found.raw[:2].hex(), int.from_bytes(found.raw[28:32], "little") & 0xFFC0


def _environment_of_c() -> list[bytes]:
    names = ctypes.POINTER(ctypes.c_char_p).in_dll(_C, "environ")
    found: list[bytes] = []
    while names[len(found)] is not None:
        found.append(names[len(found)])
    return sorted(found)


def _blas_threads() -> Any:
    if "lazyloom" not in sys.modules:
        return None
    from lazyloom.execute.op_by_op.blas_threads import _Library

    library = _Library()
    library.look()
    return library.get and library.get()


def _open_files() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[name] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            pass  # that of the listing itself
    return found


def children() -> str:
    """Numbers of the child processes, each followed by a space."""
    found = ""
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children") as file:
                found += file.read()
        except OSError:
            pass  # that of a thread that has ended since
    return found


def state() -> dict[str, Any]:
    """All of it by name, to be compared with what it was before."""
    found: dict[str, Any] = {
        "generator of NumPy": repr(np.random.get_state()[1:]), "rand of NumPy": np.random.rand,
        "generator of Python": random.getstate(),
        "error state of NumPy": (np.geterr(), np.geterrcall(), np.getbufsize()),
        "print options of NumPy": repr(np.get_printoptions()),
        "signal mask": signal.pthread_sigmask(signal.SIG_BLOCK, []),
        "timers": [signal.getitimer(which) for which in range(3)],
        "environment": dict(os.environ), "kind of environment": type(os.environ),
        "environment of C": _environment_of_c(),
        "warnings": (list(warnings.filters), warnings.showwarning, warnings.formatwarning),
        "logging": (
            list(logging.root.handlers), logging.root.level, logging.root.manager.disable,
            logging.getLoggerClass(), logging.getLogRecordFactory(), logging.lastResort),
        "threads": {t.name for t in threading.enumerate()},
        "settings of threads": (
            threading.excepthook, threading.gettrace(), threading.getprofile(),
            threading.stack_size()),
        "threads of BLAS": _blas_threads(),
        "paths of imports": (list(sys.path), list(sys.meta_path), list(sys.path_hooks)),
        "settings of the interpreter": (
            sys.flags, sys.getswitchinterval(), sys.getrecursionlimit(), sys.excepthook,
            sys.unraisablehook, sys.displayhook, sys.breakpointhook, sys.gettrace(),
            sys.getprofile(), sys.dont_write_bytecode, sys.get_int_max_str_digits(),
            sys.getdlopenflags(), sys.get_asyncgen_hooks(), list(sys.argv)),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "locale": locale.setlocale(locale.LC_ALL), "current folder": os.getcwd(),
        "time zone": (time.tzname, time.timezone),
        "limits": [resource.getrlimit(getattr(resource, name))
                   for name in sorted(dir(resource)) if name.startswith("RLIMIT")],
        "priority": (os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0),
                     os.sched_getaffinity(0)),
        "floating point": (_float_environment(), np.float32(1e-40) * np.float32(1) != 0),
        "open files": _open_files(), "children": children(),
        "collector": (gc.get_threshold(), gc.isenabled(), gc.get_freeze_count(), gc.get_debug()),
        "callbacks of the collector": len(gc.callbacks),
        "decimals": repr(decimal.getcontext()),
        "multiprocessing": multiprocessing.get_start_method(allow_none=True),
        "tools": (faulthandler.is_enabled(), tracemalloc.is_tracing()),
        "loops": asyncio.get_event_loop_policy.__module__, "sockets": socket.getdefaulttimeout(),
        "pickling": sorted(map(repr, copyreg.dispatch_table)), "builtins": sorted(vars(builtins)),
        "folder of temporary files": tempfile.tempdir,
        # NumPy's variable for its allocator is set to what holds without it (docs/process.md)
        "context": sorted(v.name for v in contextvars.copy_context()
                          if v.name != "current_allocator"),
        "process controls": [_C.prctl(which, 0, 0, 0, 0) for which in _PRCTL],
    }
    for number in signal.valid_signals():
        found[f"handler of {number}"] = signal.getsignal(number), _signal_action(number)
    found["mask of files"] = mask = os.umask(0)
    os.umask(mask)
    found["file that signals wake"] = waking = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(waking)
    return found


def changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """What differs, by name, as text."""
    return {name: (str(before[name]), str(after[name]))
            for name in before if before[name] != after[name]}
