"""Ctrl-C while the first program of a process starts JAX."""

import subprocess
import sys

PROGRAM = """
import signal, sys, threading, time
import numpy as np
import lazyloom

x = lazyloom.Tensor(lazyloom.from_host(np.float32([1, 2])))
y = lazyloom.apply("add", [x, 1.0])

def interrupt():
    while "jax" not in sys.modules:
        time.sleep(0.001)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    y.read()
    raise SystemExit("not interrupted")
except KeyboardInterrupt:
    pass
print(y.read().tolist())
"""


def test_the_interrupted_read_can_be_repeated():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.strip() == "[2.0, 3.0]", done.stderr
