"""A process ends in order while regions of Python run on XLA's threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lazyloom.backends.xla.regions import engines

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
]

#: a run of many regions, each of which writes "[" and "]"; the process goes on to its end at once
_PROCESS = """
import atexit, builtins, os, sys, time
sys.path.insert(0, {root!r})
import numpy, lazyloom
import lazyloom_numpy as np
from lazyloom import codegen
from tests.codegen.generators import InNumPy

class Slow(InNumPy):
    loud = False

    def before(self, operands):
        if self.loud:
            os.write(1, b"[")
        time.sleep({seconds})
        if self.loud:
            os.write(1, b"]")

class Last:
    def __del__(self, sleep=time.sleep):
        sleep(0.2)  # the interpreter takes its time to end

def run():
    y = x
    for _ in range({regions}):
        y = np.tanh(y) @ x
    lazyloom.sync(y)
    return y

generator = Slow("tanh")
codegen.register(generator)
codegen.use("in_numpy")
builtins.last = Last()
with lazyloom.options(reproducible=True):
    x = np.asarray(numpy.ones((300, 300), "float32") / 300)
    numpy.asarray(run())
    generator.loud = True
    {first}
    y = run()
{then}
"""


def process(
    seconds: float, regions: int, then: str = "", first: str = ""
) -> tuple[str, str]:
    """What a process writes that ends at once."""
    text = _PROCESS.format(root=str(Path(__file__).resolve().parents[2]), seconds=seconds,
                           regions=regions, then=then, first=first)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True,
                          timeout=120, env={**os.environ, "LAZYLOOM_LOG": "0"})
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout, done.stderr


def test_what_is_in_python_is_waited_for() -> None:
    # until one is in it
    then = "while not generator.calls > 20: time.sleep(0.001)"
    found, errors = process(0.05, 20, then)
    assert errors == ""
    assert found.count("[") == found.count("]") < 20


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_at_any_time(number: int, thorough: bool) -> None:
    if number % 5 > 1 and not thorough:
        pytest.skip("with --thorough: every moment")
    found, errors = process((0.05, 0.0005)[number % 2], 20, f"time.sleep(0.002 * {number})")
    assert errors == "" and found.count("[") == found.count("]")


def test_handlers_of_the_program_may_still_read() -> None:
    found, errors = process(
        0.01, 5, first="""atexit.register(lambda: print("read", numpy.asarray(y).shape))""")
    assert errors == "" and "read (300, 300)" in found.replace("[", "").replace("]", "")


def test_a_read_after_the_end_is_an_error_and_no_hang() -> None:
    found, errors = process(0.05, 20, """
class Late:
    def __del__(self, read=numpy.asarray, y=y):
        read(y)
builtins.late = Late()""")
    assert "a region of Python was to run after the interpreter's end" in errors
    assert found.count("[") == found.count("]")


def test_a_child_ends_though_its_parent_was_in_python() -> None:
    found, errors = process(0.3, 3, """
while not generator.calls > 3: time.sleep(0.001)
child = os.fork()
if not child:
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
print("waited")""")
    assert "waited" in found
