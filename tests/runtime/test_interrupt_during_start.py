"""Ctrl-C while the first program of a process starts JAX, and twice in a row."""

import os
import subprocess
import sys

import pytest

from lazyloom.compiled import COMPILED

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


TWICE = """
import faulthandler, random, signal
import numpy as np
import lazyloom
from lazyloom.backends.selection import backend
from lazyloom.host import find

faulthandler.dump_traceback_later(60, exit=True)


def arrived(number, frame):
    raise KeyboardInterrupt


signal.signal(signal.SIGALRM, arrived)
draw = random.Random(0)
kernel = find.kernel_of


def interrupted(*arguments):
    # the second one comes while what did not run is made pending again
    signal.setitimer(signal.ITIMER_REAL, draw.random() * 2e-4)
    raise KeyboardInterrupt


interrupts = 0
for trial in range(300):
    # neither the program nor its kernels are known
    x = lazyloom.from_host(np.full((trial + 2, 1 + trial % 7), 0.5, np.float32))
    y = x
    for k in range(draw.randrange(1, 9)):
        y = lazyloom.record("add", [y, lazyloom.record("tanh", [x])])
    count, expected = 0, np.tanh(np.float32(0.5))
    find.kernel_of = interrupted
    try:
        y.read()
    except KeyboardInterrupt:
        interrupts += 1
    while True:
        try:
            # the second may be on its way
            for _ in range(2000):
                pass
            signal.setitimer(signal.ITIMER_REAL, 0)
            find.kernel_of = kernel
            found = y.read()
            break
        except KeyboardInterrupt:
            pass
    assert found.shape == x.type.shape and np.isfinite(found).all() and (found > 0.5).all(), found
    assert signal.getsignal(signal.SIGALRM) is arrived
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
print(interrupts)
"""


@pytest.mark.skipif(not COMPILED, reason="the core is interpreted: the second may come anywhere")
def test_two_interrupts_in_a_row_lose_nothing():
    done = subprocess.run(
        [sys.executable, "-c", TWICE], capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "LAZYLOOM_REPRODUCIBLE": "0"})  # the interrupt is in a run op by op
    assert done.returncode == 0 and int(done.stdout) > 250, done.stderr + done.stdout


HANDLER = """
import gc, signal, sys
import numpy as np
import lazyloom

gc.disable()
modules, busy = [], []


def compute(number, frame):
    # not in the middle of itself: a program that is being looked up is locked
    if not busy:
        busy.append(number)
        expected = np.float32([[1, 2]]) * 2 - 1
        y = lazyloom.apply("subtract", [lazyloom.apply("multiply", [handled, 2.0]), 1.0])
        np.testing.assert_array_equal(y.read(), expected)
        busy.clear()


# Asked for each module that the read imports
class Handle:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("lazyloom."):
            modules.append(name)
            signal.raise_signal(signal.SIGALRM)


x = lazyloom.Tensor(lazyloom.from_host(np.float32([1, 2])))
handled = lazyloom.Tensor(lazyloom.from_host(np.float32([[1, 2]])))
signal.signal(signal.SIGALRM, compute)
sys.meta_path.insert(0, Handle())
for _ in range(3):
    print(lazyloom.apply("add", [lazyloom.apply("negative", [x]), 1.0]).read().tolist())
print(len(modules))
"""


@pytest.mark.skipif(not COMPILED, reason="the core is interpreted: its locks may be held")
@pytest.mark.parametrize("reproducible", ["0", "1"])
def test_a_signals_handler_computes_while_modules_are_imported(tmp_path, reproducible):
    done = subprocess.run(
        [sys.executable, "-c", HANDLER], capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "LAZYLOOM_REPRODUCIBLE": reproducible,
             "LAZYLOOM_CACHE_DIR": str(tmp_path)})
    assert done.returncode == 0 and not done.stderr, done.stderr
    *results, modules = done.stdout.split("\n")[:-1]
    assert set(results) == {"[0.0, -1.0]"} and int(modules) > 20


HALF = """
import importlib.machinery, sys, types
import numpy as np
import lazyloom
from lazyloom.backends.selection import backend
from lazyloom.host import find

x = lazyloom.from_host(np.full((3, 5), 0.5, np.float32))
y = lazyloom.record("add", [x, lazyloom.record("negative", [x])])
kernel = find.kernel_of


module = sys.modules["half"] = types.ModuleType("half")
module.__spec__ = importlib.machinery.ModuleSpec("half", None)


def by_name(*arguments):
    from half import missing


def by_attribute(*arguments):
    module.missing


def failing(kernel_of):
    find.kernel_of = kernel_of
    try:
        y.read()
    except lazyloom.LoomError as error:
        print(error)
    find.kernel_of = kernel


module.__spec__._initializing = True
failing(by_name)
failing(by_attribute)
print(y.read().sum())
# as after a circular import, which has failed; of ops without kernels
y = lazyloom.record("multiply", [x, lazyloom.record("tanh", [x])])
module.__spec__._initializing = False
failing(by_name)
failing(by_name)
"""


def test_what_a_handler_finds_half_imported_is_computed_later():
    done = subprocess.run(
        [sys.executable, "-c", HALF], capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "LAZYLOOM_REPRODUCIBLE": "0"})
    assert done.returncode == 0, done.stderr
    first, second, total, *lasting = done.stdout.split("\n")[:-1]
    assert total == "0.0"
    for error in (first, second):
        assert "while the module that runs it was being imported" in error and "half" in error
    # that one is the array's own
    assert len(lasting) == 2 and lasting[0] == lasting[1] and "was being imported" not in lasting[0]
