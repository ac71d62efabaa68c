"""Line 10 where the address space is limited: running out of it is an error and not the end."""

from __future__ import annotations

import sys
import textwrap

import pytest

from tests.contract.helpers import script

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc of Linux")

COMMON = """
    import resource
    import numpy as np, lazyloom as ll
    from lazyloom.errors import OutOfMemoryError

    def limit(more):
        with open("/proc/self/status") as f:
            size = next(int(line.split()[1]) for line in f if line.startswith("VmSize")) * 1024
        resource.setrlimit(resource.RLIMIT_AS, (size + more, resource.RLIM_INFINITY))

    def unlimited():
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    def product(n, width=5):
        x = ll.from_host(np.arange(n * width, dtype=np.float32).reshape(n, width) / 10)
        t = ll.record("transpose", [x], {"axes": (1, 0)})
        return ll.record("tanh", [ll.record("matmul", [x, t])])

    def expected(n, width=5):
        x = np.arange(n * width, dtype=np.float32).reshape(n, width) / 10
        return np.tanh(x @ x.T)

    def refused(value):
        try:
            value.read()
        except OutOfMemoryError as error:
            assert "out of memory" in str(error) and isinstance(error, MemoryError)
            return True
        return False
"""


def run(code: str) -> None:
    done = script(textwrap.dedent(COMMON) + textwrap.dedent(code), LAZYLOOM_CACHE="0")
    assert done.stdout.split() == ["fine"], done.stderr


@pytest.mark.xla
def test_a_start_without_room_is_an_error_and_can_be_tried_again() -> None:
    run("""
    limit(200 << 20)
    assert refused(product(7)) and refused(product(7))
    unlimited()
    np.testing.assert_allclose(product(7).read(), expected(7), rtol=1e-5)
    print("fine")
    """)


def test_a_compilation_and_a_run_without_room_are_errors() -> None:
    run("""
    t = ll.Tensor(ll.record("add", [product(7), ll.Scalar(0.5, ll.dtypes.float32)]))
    before = t.read()
    assert not refused(product(7))
    limit(20 << 20)
    assert refused(product(8))  # a program that is new
    t._write(ll.record("multiply", [t.value, t.value]))
    assert refused(product(7)) and refused(t.value)
    np.testing.assert_array_equal(t.read(), before)
    unlimited()
    np.testing.assert_allclose(product(8).read(), expected(8), rtol=1e-5)
    np.testing.assert_allclose(product(7).read(), expected(7), rtol=1e-5)
    t._write(ll.record("multiply", [t.value, t.value]))
    np.testing.assert_array_equal(t.read(), before * before)
    print("fine")
    """)


@pytest.mark.xla
def test_a_result_that_does_not_fit_is_an_error() -> None:
    run("""
    assert not refused(product(7))
    limit(200 << 20)
    wide = ll.record("broadcast_to", [product(7)], {"shape": (1 << 20, 7, 7)})
    assert refused(wide)  # 196 MiB and the room for a run
    np.testing.assert_allclose(product(7).read(), expected(7), rtol=1e-5)
    print("fine")
    """)
