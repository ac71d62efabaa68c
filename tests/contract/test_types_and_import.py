"""64-bit types mean 64 bits, JAX's configuration is untouched, and importing does nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from tests.contract.helpers import host, script


def rec(op: str, *operands: Any, **attributes: Any) -> Any:
    return ll.record(op, operands, attributes)


WIDE = [
    (np.float64, 1 / 3, ll.dtypes.float64), (np.int64, 2**62 + 1, ll.dtypes.int64),
    (np.uint64, 2**64 - 1, ll.dtypes.uint64), (np.complex128, 1 / 3 + 1j / 7, ll.dtypes.complex128),
]  # fmt: skip


@pytest.mark.parametrize("kind,number,dtype", WIDE, ids=lambda x: str(getattr(x, "__name__", "")))
def test_64_bits_survive_each_way_in_and_out(kind: Any, number: Any, dtype: ll.DType) -> None:
    a = np.array([number, number], kind)
    v = host(a, kind)
    for out in (
        v.read(), rec("identity", v).read(), rec("multiply", v, ll.Scalar(1, dtype)).read(),
        rec("full", ll.Scalar(number, dtype), shape=(2,)).read(), ll.from_dlpack(a).read(),
        rec("identity", ll.from_dlpack(a)).read(),
    ):  # fmt: skip
        assert out.dtype == kind
        np.testing.assert_array_equal(out, a)


def test_a_gradient_in_64_bits() -> None:
    x = host([0.1, 0.2], np.float64).as_leaf("x")
    loss = rec("sum", rec("sin", x), axes=None, keepdims=False)
    (g,) = ll.gradients([loss], [x])
    assert g is not None and g.read().dtype == np.float64
    np.testing.assert_allclose(g.read(), np.cos([0.1, 0.2]), rtol=1e-15)


@pytest.mark.parametrize("enabled", ["0", "1"])
def test_jax_keeps_its_configuration(enabled: str) -> None:
    done = script(
        """
        import threading
        import jax, numpy as np, lazyloom as ll
        before = dict(jax.config.values)
        def work():
            x = ll.from_host(np.array([1 / 3], np.float64)).as_leaf("x")
            y = ll.record("sum", [ll.record("exp", [x])], {"axes": None, "keepdims": False})
            (g,) = ll.gradients([y], [x])
            assert g.read().dtype == np.float64
            expected = "float64" if before["jax_enable_x64"] else "float32"
            assert jax.numpy.ones(2).dtype == expected
        thread = threading.Thread(target=work)
        thread.start(); thread.join()
        work()
        assert dict(jax.config.values) == before
        print(jax.config.jax_enable_x64)
        """, JAX_ENABLE_X64=enabled)
    assert done.stdout.strip() == str(enabled == "1")


def test_importing_starts_nothing() -> None:
    done = script(
        """
        import sys, threading, warnings
        import numpy
        before = set(threading.enumerate()), dict(warnings.__dict__.get("_filters", {}) or {})
        import os
        tasks = len(os.listdir("/proc/self/task"))
        import lazyloom as ll
        assert len(ll.ops.names()) > 100
        x = ll.from_host(numpy.ones(3, numpy.float32))
        y = ll.record("add", [x, x]).as_leaf("y")
        ll.program_of(ll.record("sin", [y])).key
        print([m for m in sys.modules if m.split(".")[0] in ("jax", "jaxlib")])
        print(len(threading.enumerate()), len(os.listdir("/proc/self/task")) - tasks)
        """)
    modules, threads = done.stdout.splitlines()
    assert modules == "[]", modules
    assert threads == "1 0"


def test_importing_in_a_process_that_uses_jax_changes_nothing() -> None:
    done = script(
        """
        import jax
        before = dict(jax.config.values)
        import lazyloom
        from jax._src import xla_bridge
        print(dict(jax.config.values) == before, xla_bridge.backends_are_initialized())
        """)
    assert done.stdout.split() == ["True", "False"]


@pytest.mark.parametrize("thread", [False, True])
def test_the_first_run_draws_nothing_from_numpys_generator(thread: bool) -> None:
    done = script(
        f"""
        import random, threading
        import numpy
        import lazyloom as ll
        random.seed(5)
        numpy.random.seed(5)
        before = random.getstate(), repr(numpy.random.get_state(legacy=False))
        def run():
            print(ll.record("sin", [ll.from_host(numpy.zeros(2))]).read().sum())
        if {thread}:
            worker = threading.Thread(target=run)
            worker.start()
            worker.join()
        else:
            run()
        print((random.getstate(), repr(numpy.random.get_state(legacy=False))) == before)
        """)
    assert done.stdout.split() == ["0.0", "True"]


def test_python_without_docstrings() -> None:
    found = script("""
        import sys
        import lazyloom_numpy as np

        assert sys.flags.optimize == 2
        print(float(np.arange(4.0).sum()))
        """, PYTHONOPTIMIZE="2")
    assert found.stdout.split() == ["6.0"]
