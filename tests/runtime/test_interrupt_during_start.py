"""Ctrl-C while the first program of a process starts JAX."""

import subprocess
import sys

PROGRAM = """
import signal, sys
import numpy as np
import lazyloom

x = lazyloom.Tensor(lazyloom.from_host(np.float32([1, 2])))
y = lazyloom.apply("add", [x, 1.0])

# Asked for each module that the read imports. At other moments of an import a callback of Python's
# own, which drops exceptions, might be what is interrupted.
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "jax._src.core":
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
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
