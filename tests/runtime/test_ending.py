"""The end of the interpreter while threads compute: the exit code is the program's."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

import lazyloom_numpy as np
from lazyloom import ending, foreign
from lazyloom.compiled import COMPILED
from lazyloom.trace.graph import trace

PROGRAM = """
import threading, time
import lazyloom
import lazyloom_numpy as np

def compute(n):
    k = 0
    while True:
        k += 1
        x = np.ones((8 + n, k))
        with lazyloom.options(reproducible=True):
            float(np.tanh(x * 1.5 + k).sum())
        begun.set()

begun = threading.Event()
for n in range(2):
    threading.Thread(target=compute, args=(n,), daemon=True).start()
# one that has computed and waits for something else
threading.Thread(target=lambda: (float(np.ones(3).sum()), time.sleep(60)), daemon=True).start()
begun.wait()
raise ValueError("the program fails")
"""


@pytest.mark.once("XLA's threads and the interpreter's end")
def test_threads_that_compile_do_not_abort_the_process() -> None:
    """Without what waits for them nearly every run ends by SIGABRT or SIGSEGV."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60,
        env={**os.environ, "LAZYLOOM_CACHE": "0", "LAZYLOOM_LOG": "0"})
    assert ran.returncode == 1, (ran.returncode, ran.stderr)
    assert ran.stderr.rstrip().endswith("ValueError: the program fails")


@pytest.mark.skipif(COMPILED, reason="compiled code has no frames")
def test_threads_are_waited_for_while_they_run_a_program() -> None:
    me = threading.get_ident()
    x = np.ones(3) * 2
    with trace.lock:
        thread = threading.Thread(target=lambda: x.tolist(), daemon=True)
        thread.start()
        while not ending._computing(me):
            time.sleep(0.001)
    thread.join()
    assert not ending._computing(me) and ending.launching == [0] and not foreign.ending
    waits = threading.Event()
    thread = threading.Thread(target=waits.wait, daemon=True)
    thread.start()
    assert not ending._computing(me)
    waits.set()
