"""Every guarded field is written under its lock, which a mode of the runtime checks."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from textwrap import dedent

import pytest

from lazyloom.locks import GUARDED
from tests.contract.helpers import ROOT, script

#: the checkout's core, which is interpreted whatever is installed
START = f"""
    import sys
    sys.path.insert(0, {str(ROOT / "runtime")!r})
    import threading
    import numpy as np
    import lazyloom as ll
    from lazyloom import locks
    from lazyloom.trace.graph import trace
    from lazyloom.trace.switches import switches
    from lazyloom.cache import memory
"""


def run(body: str, cache: Path, **environment: str) -> list[str]:
    checked = {"LAZYLOOM_DEBUG_LOCKS": "1", **environment}
    done = script(dedent(START) + body, cache=cache, **checked)
    return done.stdout.splitlines()


THREADS = """
failures = []

def work(seed):
    try:
        w = ll.Tensor(ll.from_host(np.full(3, 2.0, np.float32)))
        for step in range(25):
            x = ll.Tensor(ll.from_host(np.arange(3, dtype=np.float32) + seed))
            value, gradient = ll.value_and_grad(
                lambda w: ll.apply("sum", [ll.apply("multiply", [w, x])]))(w)
            shared.append(value)
            w = ll.apply("subtract", [w, ll.apply("multiply", [gradient, 0.125])])
            w._write(ll.apply("add", [w, 1.0]).value)
            mapped = ll.vmap(lambda v: ll.apply("sin", [v]))(x)
            if step % 5 == seed % 5:
                w.value.read()
                shared.pop().value.read()
            with ll.grad_mode(False):
                ll.apply("exp", [mapped])
    except BaseException as error:
        failures.append(repr(error))

shared = [ll.Tensor(ll.from_host(np.ones(()))) for _ in range(8)]
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
for t in threads: t.start()
for t in threads: t.join()
with ll.options(cut_ops=20, cut_depth=30, repeated_ops=10):
    v = ll.from_host(np.ones(3))
    for k in range(150):
        v = ll.record("sin" if k % 2 else "cos", [v])
    v.read()
print(len(failures), failures[:1], len(locks.violations), locks.violations[:1])
print(ll.stats()["executions"] >= 10, ll.stats()["cuts"] >= 1)
"""


@pytest.mark.slow
def test_threads_write_nothing_without_its_lock(tmp_path: Path) -> None:
    assert run(THREADS, tmp_path) == ["0 [] 0 []", "True True"]


VIOLATION = """
value = ll.record("sin", [ll.from_host(np.ones(2))])
other = ll.record("add", [value, value])
other.read()

def attempt(change):
    try:
        change()
        print("nothing noticed")
    except AssertionError as error:
        print(error)

entry = memory.entries()[-1]
attempt(lambda: setattr(value.node, "refs", 3))
attempt(lambda: setattr(trace, "recorded", 3))
attempt(lambda: setattr(switches, "without_grad", 3))
attempt(lambda: setattr(entry, "outputs", ()))
attempt(lambda: setattr(value.node.buffers[0] or other.node.buffers[0], "owners", 1))

# another thread holds it, which is not enough
with trace.lock:
    thread = threading.Thread(target=attempt, args=(lambda: setattr(value.node, "refs", 3),))
    thread.start()
    thread.join()
    value.node.refs = value.node.refs
print(len(locks.violations), entry.outputs != ())
"""


def test_a_write_without_its_lock_is_found(tmp_path: Path) -> None:
    lines = run(VIOLATION, tmp_path)
    fields = ["Node.refs", "Trace.recorded", "Switches.without_grad", "Entry.outputs",
              "Buffer.owners", "Node.refs"]
    assert [line.split(" was written by thread ")[0] for line in lines[:-1]] == fields
    assert "does not hold lazyloom.trace.switches._counting" in lines[2]
    assert "does not hold Entry.lock" in lines[3]
    assert lines[-1] == "6 True"


def test_without_the_variable_locks_are_pythons_own(tmp_path: Path) -> None:
    lines = run("print(type(trace.lock) is type(threading.Lock()))", tmp_path,
                LAZYLOOM_DEBUG_LOCKS="0")
    assert lines == ["True"]


@pytest.mark.parametrize("path", sorted({c for classes in GUARDED.values() for c in classes}))
def test_the_table_names_fields_that_there_are(path: str) -> None:
    module, _, name = path.rpartition(".")
    cls = getattr(import_module(f"lazyloom.{module}"), name)
    fields = [f for classes in GUARDED.values() for f in classes.get(path, ())]
    assert len(fields) == len(set(fields))
    for field in fields:
        assert hasattr(cls, field) or field in getattr(cls, "__slots__", ()), field
