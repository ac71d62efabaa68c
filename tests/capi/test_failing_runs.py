"""A run that fails inside XLA, met through the C ABI."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.ffi import compiler

ROOT = Path(__file__).resolve().parents[2]

# In a process of its own: handlers are registered with XLA for a process's whole life.
PROGRAM = """
import sys, threading
from pathlib import Path
import numpy as np
from lazyloom import errors
from lazyloom_capi.client import Client
from tests.contract.ffi import Handlers, build

Handlers(build(Path(sys.argv[1])))
client = Client()
file = client.ffi.new("char[]", b"program.c")

def at(line):
    client.lib.loom_set_source_location(file, line)

at(11)
bad = client.apply("test_check", [np.array([-1, 2], np.float32)])
at(12)
later = client.apply("add", [bad, 1])
at(13)
good = client.apply("add", [np.array([1, 2], np.float32), 1])

def fails(tensor):
    at(20)
    try:
        tensor.read()
    except errors.ExecutionError as error:
        assert type(error) is errors.ExecutionError, type(error)
        assert error.op == "test_check", error.op
        assert error.site == "program.c:11", error.site
        assert "boom" in str(error)
        return True
    return False

assert fails(later)
assert fails(later) and fails(bad)
elsewhere = []
thread = threading.Thread(target=lambda: elsewhere.append(fails(bad)))
thread.start()
thread.join()
assert elsewhere == [True]

# waits and calls that hear of it
heard, told = [], threading.Event()

@client.ffi.callback("loom_ready_function")
def hear(status, context):
    heard.append((status, client.ffi.string(client.lib.loom_error_message()).decode()))
    told.set()

again = client.apply("test_check", [np.array([-1, 3], np.float32)])
for timeout in (60, -1):
    try:
        client.check(client.lib.loom_wait(client._array([again]), 1, timeout))
        raise AssertionError
    except errors.ExecutionError as error:
        assert "boom" in str(error)
assert client.out("bool *", client.lib.loom_tensor_is_ready, again.handle)
client.check(client.lib.loom_tensor_on_ready(again.handle, hear, client.ffi.NULL))
assert told.wait(60)
assert heard[0][0] == errors.ExecutionError.code and "boom" in heard[0][1], heard
assert good.read().tolist() == [2, 3]
assert client.apply("test_check", [np.array([1], np.float32)]).read().tolist() == [1]
print("as it should be")
"""


@pytest.mark.skipif(compiler() is None, reason="no C++ compiler")
def test_failed_run_is_an_error_of_its_readers(tmp_path: Path) -> None:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, timeout=120)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == "as it should be"
