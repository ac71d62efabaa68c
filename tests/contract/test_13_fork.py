"""Line 13: after a fork, every call in the child is a clear error, never a hang."""

from __future__ import annotations

import json
import os

import pytest

from tests.contract.helpers import script

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

PREPARE = """
    import json, os, select, sys, time, threading
    import numpy as np, lazyloom as ll
    F = ll.dtypes.float32
    x = ll.from_host(np.ones(3, np.float32))
    done = ll.record("add", [x, ll.Scalar(2.0, F)])
    done.read()
    w = ll.from_host(np.ones(3, np.float32)).as_leaf("w")
    loss = ll.record("sum", [ll.record("sin", [w])], {"axes": None, "keepdims": False})
    pending = ll.record("exp", [x])
    t = ll.Tensor(done)

    def in_child(f):
        r, wr = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                f()
                said = "returned"
            except BaseException as error:
                said = type(error).__name__ + ": " + str(error)
            os.write(wr, said.encode())
            os._exit(0)
        os.close(wr)
        ready, _, _ = select.select([r], [], [], 20)
        said = os.read(r, 4000).decode() if ready else "hang"
        if not ready:
            os.kill(child, 9)
        os.waitpid(child, 0)
        return said
"""

CALLS = """
    calls = {
        "record": lambda: ll.record("add", [x, x]),
        "read pending": pending.read, "read computed": done.read, "read host": x.read,
        "from_host": lambda: ll.from_host(np.ones(1)), "sync": ll.sync,
        "sync one": lambda: ll.sync(done, wait=True), "program_of": lambda: ll.program_of(pending),
        "gradients": lambda: ll.gradients([loss], [w]), "backward": lambda: ll.backward([loss]),
        "to_dlpack": lambda: ll.to_dlpack(done),
        "from_dlpack": lambda: ll.from_dlpack(np.ones(3, np.float32)),
        "a copy of dlpack": lambda: ll.from_dlpack(np.ones(3, np.float32), copy=True),
        "devices": ll.devices, "default_device": ll.default_device,
        "apply": lambda: ll.apply("add", [t, 1.0]), "tensor read": t.read,
        "view": lambda: t._alias(ll.frontend.Reshape((3, 1))).value,
        "as_leaf": lambda: done.as_leaf("z"), "detach": w.detach,
        "grad": lambda: ll.grad(lambda a: a)(t), "platform": ll.platform,
        "source": lambda: ll.source("full", [ll.Scalar(3.0, F)], {"shape": (3,)}),
    }
    print(json.dumps({name: in_child(f) for name, f in calls.items()}))
    print(pending.read()[0] > 2, ll.gradients([loss], [w])[0].read()[0] > 0)
"""


def test_every_call_in_the_child_is_a_clear_error_and_the_parent_goes_on() -> None:
    done = script(PREPARE + CALLS, timeout=300)
    said, parent = done.stdout.splitlines()
    for name, answer in json.loads(said).items():
        assert answer.startswith("ForkError: "), f"{name}: {answer}"
        assert "fork" in answer and "spawn" in answer
    assert parent == "True True"


def test_a_fork_while_other_threads_work_never_hangs_the_child() -> None:
    code = PREPARE + """
    stop = False
    def busy(k):
        while not stop:
            v = ll.record("multiply", [x, ll.Scalar(2.0 + k, F)])
            for i in range(20):
                v = ll.record("add", [v, x])
            v.read()
    threads = [threading.Thread(target=busy, args=(k,), daemon=True) for k in range(3)]
    for thread in threads: thread.start()
    answers = set()
    for k in range(12):
        answers.add(in_child(done.read if k % 2 else (lambda: ll.record("add", [x, x])))[:9])
    stop = True
    for thread in threads: thread.join(60)
    print(json.dumps(sorted(answers)))
    """
    assert json.loads(script(code, timeout=300).stdout.splitlines()[-1]) == ["ForkError"]


def test_releasing_values_in_the_child_is_quiet() -> None:
    code = PREPARE + """
    def release():
        global pending, done, t, loss, w
        del pending, done, t, loss, w
    print(in_child(release))
    """
    done = script(code)
    assert done.stdout.split() == ["returned"] and "Error" not in done.stderr


def test_a_fork_before_the_first_operation_works() -> None:
    code = """
    import os
    import numpy as np, lazyloom as ll
    child = os.fork()
    v = ll.from_host(np.ones(3, np.float32))
    result = ll.record("add", [v, ll.Scalar(2.0, ll.dtypes.float32)]).read()
    if child == 0:
        os._exit(0 if result[0] == 3 else 1)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), result[0])
    """
    assert script(code).stdout.split() == ["0", "3.0"]
