"""A gradient that is recorded while another thread runs all there is."""

import sys
import threading
import time

import numpy as np
import pytest

import lazyloom


@pytest.fixture
def restless():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def test_what_a_gradient_needs_is_not_dropped_by_a_run_of_another_thread(restless):
    x = lazyloom.Tensor(lazyloom.from_host(np.float64([1, 2, 3])))
    until = time.monotonic() + 2
    wrong = []

    def cube(t):
        return lazyloom.apply(
            "sum", [lazyloom.apply("multiply", [lazyloom.apply("multiply", [t, t]), t])])

    def differentiate():
        try:
            while time.monotonic() < until:
                found = lazyloom.grad(cube)(x).read()
                if found.tolist() != [3, 12, 27]:
                    wrong.append(found)
        except BaseException as error:  # shown by the assertion below
            wrong.append(error)

    def run():
        while time.monotonic() < until and not wrong:
            lazyloom.sync()

    threads = [threading.Thread(target=f) for f in (differentiate, differentiate, run, run)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
