"""Running a compiled program: jit's C++ dispatch, the way without it, and what runs reuse."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.backends.xla import jax_compat
from lazyloom.cache import disk, memory
from tests.contract.helpers import counted, host, in_threads, number, script

KINDS = ["fast", "plain"]


@pytest.fixture(params=KINDS)
def way(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, fresh_cache: Any
) -> str:
    """Each test runs by JAX's private C++ functions, and by public ones."""
    if request.param == "plain":
        for name in ("fast_dispatch", "fast_upload", "fast_read"):
            monkeypatch.setattr(jax_compat, name, False)
    kind: str = request.param
    return kind


def rec(op: str, *operands: Any, **attributes: Any) -> Any:
    return ll.record(op, operands, attributes)


def last() -> ll.Evaluation:
    found = ll.last_evaluation()
    assert found is not None
    return found


def count_slow_runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    runs = [0]
    plain = jax_compat._Slow.run

    def run(self: Any, *arguments: Any) -> list[Any]:
        runs[0] += 1
        return plain(self, *arguments)

    monkeypatch.setattr(jax_compat._Slow, "run", run)
    return runs


def test_this_jax_has_the_fast_ways(monkeypatch: pytest.MonkeyPatch, fresh_cache: Any) -> None:
    # a jax that lacks them works too; this says that one was met
    runs = count_slow_runs(monkeypatch)
    v = host(np.ones(5))
    for _ in range(6):
        v = rec("multiply", v, number(2.5))
        v.read()
    assert jax_compat.fast_dispatch and jax_compat._fast_proven
    assert jax_compat.fast_upload and jax_compat.fast_read
    assert runs[0] <= 2, "the C++ dispatch asked again for arguments that it had seen"


def test_a_training_loop_with_donation(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = count_slow_runs(monkeypatch)
    p, expected = host(np.linspace(0, 1, 64)), np.linspace(0, 1, 64).astype(np.float32)
    x = host(np.ones(64))
    losses = []
    with counted() as d:
        for _ in range(8):
            g = rec("multiply", p, x)
            loss = rec("sum", g)
            p = rec("subtract", p, rec("multiply", g, number(0.25)))
            losses.append(loss.read()[()])
            assert last().bytes_donated == 256
            assert abs(losses[-1] - expected.sum()) <= 1e-3
            expected = expected - np.float32(0.25) * expected
    np.testing.assert_allclose(p.read(), expected, rtol=1e-6)
    np.testing.assert_array_equal(x.read(), np.ones(64))
    assert d.programs_compiled + d.programs_from_disk == 1 and d.program_hits == 7
    assert runs[0] == 8 if way == "plain" else runs[0] <= 2


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint64", "complex128"])
def test_64_bit_types_whatever_jax_is_set_to(way: str, dtype: str) -> None:
    import jax

    kind = np.dtype(dtype)
    given = (2**40 + np.arange(6)).astype(kind) + kind.type(1 / 3)

    def loop() -> None:
        v = ll.from_host(given)
        total = given
        for k in range(4):
            v = rec("add", v, ll.Scalar(2**33 + k, ll.dtypes.dtype_named(dtype)))
            total = total + kind.type(2**33 + k)
            found = v.read()
            assert found.dtype == kind
            np.testing.assert_array_equal(found, total)

    loop()
    with jax.enable_x64(True):
        loop()
    in_threads([loop, loop])


@pytest.mark.slow
def test_programs_from_disk_run_the_same_way(tmp_path: Any) -> None:
    code = """
        import numpy as np, lazyloom as ll
        from lazyloom.backends.xla import jax_compat
        slow = [0]
        plain = jax_compat._Slow.run
        def run(self, *a):
            slow[0] += 1
            return plain(self, *a)
        jax_compat._Slow.run = run
        v = ll.from_host(np.arange(4.0))
        for _ in range(5):
            v = ll.record("multiply", [v, ll.Scalar(3.0, ll.dtypes.float64)])
            ll.sync(v)
        print(ll.stats()["programs_compiled"], slow[0], ll.last_evaluation().bytes_donated,
              v.read().tolist())
    """
    first = script(code, cache=tmp_path).stdout.split(maxsplit=1)
    second = script(code, cache=tmp_path).stdout.split(maxsplit=1)
    assert first[0] == "1" and second[0] == "0"
    assert first[1] == second[1]
    slow, donated, values = second[1].split(maxsplit=2)
    assert int(slow) <= 2 and donated == "32" and values.strip() == "[0.0, 243.0, 486.0, 729.0]"


@pytest.mark.parametrize("fault", ["no data", "other data", "nothing of the name", "at the call"])
def test_a_dispatch_of_another_shape_loses_nothing(
    fault: str, monkeypatch: pytest.MonkeyPatch, fresh_cache: Any
) -> None:
    """A jaxlib that changed: found out by the first run, whose donated inputs are gone by then."""
    from jax._src.interpreters import pxla
    from jaxlib import _jax

    def broken(*_: Any, **__: Any) -> Any:
        raise TypeError("another signature")

    monkeypatch.setattr(jax_compat, "_fast_proven", False)
    monkeypatch.setattr(jax_compat, "fast_dispatch", True)
    if fault == "no data":
        monkeypatch.setattr(pxla, "MeshExecutableFastpathData", broken)
    elif fault == "other data":
        monkeypatch.setattr(pxla, "MeshExecutableFastpathData", lambda **_: ("not", "this"))
    elif fault == "at the call":
        monkeypatch.setattr(_jax, "pjit", lambda *_: broken)
    else:
        monkeypatch.setattr(_jax, "pjit", broken)
    v = host(np.ones(9))
    for k in range(4):
        v = rec("multiply", v, number(1.5))
        ll.sync(v)
        assert last().bytes_donated == 36 and last().error is None, k
    np.testing.assert_array_equal(v.read(), np.full(9, np.float32(1.5**4)))
    assert not jax_compat.fast_dispatch


def test_a_failing_run_is_not_taken_for_another_jaxlib(
    monkeypatch: pytest.MonkeyPatch, fresh_cache: Any
) -> None:
    monkeypatch.setattr(jax_compat, "_fast_proven", False)

    def failing(self: Any, *arguments: Any) -> list[Any]:
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(jax_compat._Slow, "run", failing)
        v = rec("multiply", host(np.ones(3)), number(1.5))
        with pytest.raises(ll.errors.ExecutionError, match="out of memory"):
            v.read()
    assert jax_compat.fast_dispatch
    memory.clear()
    assert rec("multiply", host(np.ones(3)), number(1.5)).read().tolist() == [1.5, 1.5, 1.5]


def test_an_interrupt_while_the_dispatch_asks(
    monkeypatch: pytest.MonkeyPatch, fresh_cache: Any
) -> None:
    """The only Python inside a run of a compiled core: the results arrive, then the interrupt."""
    import jax

    v = host(np.ones(7))
    for _ in range(6):
        v = rec("multiply", v, number(1.5))
        ll.sync(v)
    plain = jax_compat._Slow._data
    asked = []

    def data(self: Any) -> Any:
        asked.append(self)
        signal.raise_signal(signal.SIGINT)
        return plain(self)

    monkeypatch.setattr(jax_compat._Slow, "_data", data)
    v = rec("multiply", v, number(1.5))
    # arguments seen under another configuration of JAX are new to the dispatch
    with jax.enable_x64(True), pytest.raises(KeyboardInterrupt):
        ll.sync(v)
    assert len(asked) == 1 and not v.is_pending
    assert last().bytes_donated == 28
    np.testing.assert_array_equal(v.read(), np.full(7, np.float32(1.5**7)))


def test_an_interrupt_inside_a_call_of_jax() -> None:
    """It waits for the end of the call, and leaves nothing behind in JAX's caches."""
    traced = []

    def twice(x: Any) -> Any:
        if not traced:
            signal.raise_signal(signal.SIGINT)
        traced.append(x)
        return x + x

    with pytest.raises(KeyboardInterrupt):
        jax_compat.lower_text(twice, [((3,), "float32")])
    assert traced
    text, results = jax_compat.lower_text(twice, [((3,), "float32")])
    assert "stablehlo.add" in text and results == [((3,), "float32")]


def test_large_integers_as_numbers_of_bfloat16() -> None:
    x = rec("cast", host(np.ones(3)), dtype="bfloat16")
    y = rec("multiply", x, ll.Scalar(2**63, ll.dtypes.bfloat16))
    assert y.read().astype(np.float64).tolist() == [2.0**63] * 3


@pytest.mark.parametrize("step", ["load", "deserialize"])
def test_an_interrupt_while_a_program_is_loaded_from_disk(
    step: str, monkeypatch: pytest.MonkeyPatch, fresh_cache: Any
) -> None:
    """The next run looks on disk again, and does not compile what is there."""

    def run() -> str:
        ll.sync(rec("multiply", host(np.ones(5)), number(2.5)))
        return last().found

    assert run() == "compiled"
    memory.clear()

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(disk if step == "load" else jax_compat, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            run()
    assert run() == "disk"


def test_with_jit_disabled(way: str) -> None:
    import jax

    with jax.disable_jit():
        v = host(np.ones(3))
        for _ in range(3):
            v = rec("multiply", v, number(1.5))
            ll.sync(v)
        assert v.read().tolist() == [3.375] * 3


def test_scalars_that_are_equal_but_not_the_same(way: str) -> None:
    def times(x: float, dtype: str = "float32") -> Any:
        v = rec("multiply", ll.from_host(np.ones(2, dtype)), ll.Scalar(
            x, ll.dtypes.dtype_named(dtype), bake=False))
        return v.read()

    for x in (2.5, 2.5, 0.0, -0.0, 0.0, 2.5, float("nan"), float("nan"), 1e300, -1e300, 3.5):
        with np.errstate(all="ignore"):
            expected = np.full(2, np.float32(x))
        assert times(x).tobytes() == expected.tobytes(), x
    for z in (complex(1, 0), complex(1, -0.0), complex(1, 0)):
        v = rec("conj", rec("broadcast_to", ll.Scalar(z, ll.dtypes.complex64), shape=(1,)))
        assert v.read().tobytes() == np.conj(np.complex64(z)).reshape(1).tobytes()


def test_demands_that_take_turns_are_remembered(way: str) -> None:
    v = host(np.ones(4))
    kept: list[Any] = []
    with counted() as d:
        for k in range(12):
            doubled = rec("add", v, v)
            v = rec("multiply", doubled, number(0.75))
            if k % 3 == 0:
                kept.append((k, doubled))
            del doubled
            ll.sync(v)
            record = last()
            assert record.program is not None
            assert len(record.program.outputs) == (2 if k % 3 == 0 else 1)
            assert record.bytes_out == 16 * len(record.program.outputs)
    assert d.programs_compiled + d.programs_from_disk <= 2
    for k, doubled in kept:
        np.testing.assert_allclose(doubled.read(), np.full(4, 2 * 1.5**k), rtol=1e-6)
    np.testing.assert_allclose(v.read(), np.full(4, 1.5**12), rtol=1e-6)


def test_the_programs_used_least_recently_are_forgotten(fresh_cache: Any) -> None:
    with ll.options(programs_kept=8):
        _use_more_than_eight_programs()


def _use_more_than_eight_programs() -> None:

    def run(n: int) -> str:
        rec("multiply", host(np.ones(n)), number(1.5)).read()
        return last().found

    for n in range(2, 10):
        run(n)
    assert run(2) == "memory"
    run(10)
    assert len(memory.entries()) == 8
    assert run(2) == "memory", "used a moment ago"
    assert run(3) != "memory", "the one that was used before all others"


def test_an_array_that_was_read_is_the_readers_own(way: str) -> None:
    v = rec("add", host(np.ones(100)), number(1.5))
    first = v.read()
    assert first.flags.writeable and first.flags.owndata
    first[:] = 7
    np.testing.assert_array_equal(v.read(), np.full(100, 2.5))
    # reading does not keep the memory from being donated, nor does donation change what was read
    second = v.read()
    v = rec("multiply", v, number(2.0))
    ll.sync(v)
    assert last().bytes_donated == 400 and last().copied == []
    np.testing.assert_array_equal(second, np.full(100, 2.5))
    np.testing.assert_array_equal(v.read(), np.full(100, 5.0))


@pytest.mark.slow
def test_steps_overlap(fresh_cache: Any) -> None:
    """A step is handed over while those before it run, although it takes over their results."""
    n = 1500
    weights = ll.Tensor(host(np.eye(n)))
    x = ll.Tensor(host(np.ones((n, n))))

    def step(x: Any) -> tuple[Any, Any]:
        for _ in range(12):
            x = ll.apply("matmul", [x, weights])
        return x, ll.apply("sum", [x])

    def is_ready(t: Any) -> bool:
        buffer = t.value.node.buffers[0]
        return bool(buffer.array.is_ready())

    x, total = step(x)
    ll.sync(x, total, wait=True)
    assert is_ready(total)
    totals = []
    for _ in range(3):
        x, total = step(x)
        ll.sync(x, total)
        assert last().bytes_donated == 4 * n * n and last().copied == []
        totals.append(total)
    # 24 products of 1500x1500 matrices are far from done: the third step did not wait for those
    # whose result it takes over
    assert not is_ready(totals[1])
    assert [t.read()[()] for t in totals] == [float(n * n)] * 3


def test_waiting_for_another_threads_run() -> None:
    from lazyloom.program.evaluations import Dispatched

    made = [Dispatched() for _ in range(50)]

    def wait() -> bool:
        for one in made:
            one.wait()
        return all(one.is_set() for one in made)

    def set_all() -> bool:
        for one in made:
            one.set()
        return True

    assert in_threads([wait, wait, set_all, wait]) == [True] * 4
