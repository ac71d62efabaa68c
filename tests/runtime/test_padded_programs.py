"""Programs that differ in extents alone run as one, padded to the largest of a bucket's extents."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom import memory_limits
from lazyloom.backends.selection import backend
from lazyloom.execute import costs
from lazyloom.execute.compiling import background
from lazyloom.execute.padded import members
from lazyloom.program.families import bucket_of
from lazyloom.program.program import Structure
from tests.contract.helpers import counted, host, in_threads, number, rec, script

pytestmark = [pytest.mark.op_by_op, pytest.mark.xla]

LONG = 120
WIDTH = 8
RNG = np.random.default_rng(5)
W = RNG.normal(size=(WIDTH, WIDTH)).astype(np.float32)
V = RNG.normal(size=(WIDTH,)).astype(np.float32)


@pytest.fixture(autouse=True)
def empty(fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No program is known, and what is compiled is never too slow to be used."""
    assert fresh_cache
    assert background.wait(LONG)
    members.clear()
    monkeypatch.setattr(costs, "WORTH", 0.0)
    monkeypatch.setattr(costs, "PART", 0.0)
    monkeypatch.setattr(costs, "EAGER_FACTOR", 1e9)
    monkeypatch.setattr(costs, "SLOWER", math.inf)
    with ll.options(compiled_beside=64):
        yield
        assert background.wait(LONG)


def newest() -> ll.Evaluation:
    """The record of the last run."""
    record = ll.last_evaluation()
    assert record is not None
    return record


def of_length(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(size=(2, n, WIDTH)).astype(np.float32)


def attend(x: Any, w: Any) -> Any:
    """Attention over the middle axis of [2, n, WIDTH], summed over it: [2, WIDTH]; 13 ops."""
    n = x.type.shape[1]
    h = rec("tanh", rec("matmul", x, w))
    scores = rec("matmul", h, rec("transpose", h, axes=(0, 2, 1)))
    scores = rec("multiply", scores, number(0.25))
    weights = rec("softmax", scores, axis=2)
    mixed = rec("matmul", weights, h)
    flat = rec("reshape", mixed, shape=(2 * n, WIDTH))
    flat = rec("add", rec("sin", flat), number(0.5))
    back = rec("reshape", flat, shape=(2, n, WIDTH))
    total = rec("sum", rec("add", back, x), axes=(1,), keepdims=False)
    return rec("multiply", total, number(1 / n))


def attended(x: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64)
    h = np.tanh(x @ W.astype(np.float64))
    scores = h @ h.transpose(0, 2, 1) * 0.25
    e = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = e / e.sum(-1, keepdims=True) @ h
    return (np.sin(mixed) + 0.5 + x).sum(1) / x.shape[1]


def check(n: int) -> ll.Evaluation:
    """Run at a length and compare; the record."""
    x = of_length(n)
    found = attend(host(x), host(W)).read()
    np.testing.assert_allclose(found, attended(x), rtol=2e-5, atol=2e-5)
    return newest()


def becomes_padded(lengths: list[int], run: Callable[[int], ll.Evaluation] = check) -> None:
    end = time.monotonic() + LONG
    k = 0
    while run(lengths[k % len(lengths)]).form != "padded":
        k += 1
        assert time.monotonic() < end and k < 2000, [f.refused for f in members.known()]
        if k > 8:
            background.wait(LONG)


def test_lengths_of_a_bucket_share_one_program() -> None:
    becomes_padded([17, 18, 19, 20, 21, 22])
    with counted() as delta:
        for n in (23, 17, 24, 18, 13, 12):
            record = check(n)
            assert record.form == "padded" and record.padding == [(n, 24)]
    assert delta.programs_compiled == delta.runs_op_by_op == 0
    assert delta.runs_padded == delta.executions == 6
    assert "computes extents 12 as 24" in record.text()
    # beyond the bucket it is another program
    assert check(25).form == "op_by_op"


def test_pieces_that_are_quicker_go_before_a_larger_bucket_s_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    becomes_padded([25, 26, 27, 28, 29, 30])
    while target_of(32).entry.history.to_compare:
        # its runs are yet to be timed
        check(31)
    assert check(20).padding == [(20, 32)]
    own = target_of(24).entry.history
    monkeypatch.setattr(costs, "SLOWER", 1.25)
    for seconds, form in ((1e-9, "op_by_op"), (1e9, "padded")):
        own.recent = [seconds]
        assert check(20).form == form
    # nothing is known of pieces
    own.recent = []
    assert check(20).form == "padded"


def target_of(bucket: int) -> Any:
    """The padded program of a bucket of the only family, whether it is there or not."""
    (variation,) = [f.variation for f in members.known() if f.variation is not None]
    (found,) = [t for t in variation.targets.values()
                if t is not None and t.padding.bucket == (bucket,)]
    return found


def test_garbage_beyond_the_extents_reaches_nothing() -> None:
    """exp of what is padded overflows, and its logarithm is infinite."""

    def run(n: int) -> ll.Evaluation:
        x = np.abs(of_length(n)) + 1
        value = host(x)
        for _ in range(4):
            value = rec("log", value)
            value = rec("reciprocal", value)
            value = rec("abs", value)
        found = rec("max", value, axes=(1,), keepdims=False).read()
        y = x.astype(np.float64)
        for _ in range(4):
            with np.errstate(all="ignore"):
                y = np.abs(1 / np.log(y))
        np.testing.assert_allclose(found, y.max(1), rtol=1e-3)
        return newest()

    becomes_padded([9, 10, 11], run)
    for n in (12, 9, 7):
        assert run(n).form == "padded"


def test_what_is_returned_has_the_extents_that_were_asked_for() -> None:
    def run(n: int) -> ll.Evaluation:
        x = of_length(n)
        value = host(x)
        for _ in range(12):
            value = rec("sin", value)
        last = rec("slice", value, starts=(0, n - 1, 0), stops=(2, n, WIDTH), strides=(1, 1, 1))
        tail = rec("slice", value, starts=(0, 1, 0), stops=(2, n, WIDTH), strides=(1, 1, 1))
        y = x
        for _ in range(12):
            y = np.sin(y)
        ll.sync(value, last, tail)
        for found, wanted in ((value, y), (last, y[:, -1:]), (tail, y[:, 1:])):
            got = found.read()
            assert got.shape == wanted.shape and got.flags.c_contiguous and got.flags.writeable
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
        record = ll.evaluations()[-1]
        return record

    becomes_padded([17, 18, 19, 20], run)
    with counted() as delta:
        for n in (21, 22, 13):
            run(n)
    assert delta.runs_padded == 3


def test_a_result_goes_on_as_an_operand() -> None:
    """What a padded run returns is of the asked extents for whatever takes it."""
    becomes_padded([17, 18, 19, 20])
    x = of_length(23)
    value = attend(host(x), host(W))
    ll.sync(value)
    record = ll.last_evaluation()
    assert record is not None and record.form == "padded"
    np.testing.assert_allclose(
        rec("exp", value).read(), np.exp(attended(x)), rtol=5e-5, atol=2e-5)


@pytest.mark.slow
def test_another_process_finds_it_on_disk() -> None:
    code = f"""
        import numpy as np, lazyloom as ll
        from lazyloom.execute import costs
        from lazyloom.execute.compiling import background
        costs.WORTH, costs.PART, costs.SLOWER = 0.0, 0.0, float("inf")
        costs.EAGER_FACTOR = 1e9
        w = ll.from_host(np.eye({WIDTH}, dtype=np.float32))

        def run(n):
            x = np.random.default_rng(n).normal(size=(2, n, {WIDTH})).astype(np.float32)
            x0 = ll.from_host(x)
            ll.mark_dynamic(x0, 1)
            value = ll.record("matmul", [x0, w])
            for _ in range(40):
                value = ll.record("sin", [value])
            found = ll.record("sum", [value], dict(axes=(1,), keepdims=False)).read()
            y = x
            for _ in range(40):
                y = np.sin(y)
            np.testing.assert_allclose(found, y.sum(1), rtol=1e-4, atol=1e-4)
            return ll.last_evaluation().form

        n = runs = 0
        while run(17 + n % 7) != "padded" and n < 2000:
            n += 1
            if n > 20:
                background.wait()
        s = ll.stats()
        print(run(24), s["background_compiles"] > 0, s["programs_from_disk"] > 0)
        """
    assert script(code, timeout=LONG).stdout.split() == ["padded", "True", "False"]
    assert script(code, timeout=LONG).stdout.split() == ["padded", "False", "True"]


@pytest.mark.slow
def test_a_program_that_is_there_is_not_loaded_again(fresh_cache: Path) -> None:
    """Two of a marked extent serve: for extents from 3 and from 4 on, as small ones decide."""
    code = f"""
        import numpy as np
        import lazyloom as ll
        from lazyloom.execute import costs
        from lazyloom.execute.compiling import background

        costs.WORTH, costs.PART, costs.SLOWER = 0.0, 0.0, float("inf")
        costs.EAGER_FACTOR = 1e9
        w = ll.from_host(np.eye({WIDTH}, dtype=np.float32))

        def run(n):
            x = ll.from_host(np.ones((2, n, {WIDTH}), dtype=np.float32))
            ll.mark_dynamic(x, 1, max=32)
            value = ll.record("matmul", [x, w])
            for _ in range(40):
                value = ll.record("sin", [value])
            ll.record("sum", [value], dict(axes=(1,), keepdims=False)).read()
            return ll.last_evaluation().form

        for n in (6, 3, 6, 3, 6, 3):
            run(n)
            background.wait()
        forms = [run(n) for n in range(3, 20)]
        s = ll.stats()
        print(forms[1:] == ["padded"] * 16, s["background_compiles"], s["programs_from_disk"])
        """
    padded, compiled, loaded = script(code, timeout=LONG).stdout.split()
    assert padded == "True" and int(compiled) >= 2 and loaded == "0"
    padded, compiled, loaded = script(code, timeout=LONG).stdout.split()
    # and one of a structure's own, maybe
    assert padded == "True" and compiled == "0" and 2 <= int(loaded) <= 3


def test_reproducible_runs_are_not_padded() -> None:
    becomes_padded([17, 18, 19, 20])
    with ll.options(reproducible=True):
        assert check(23).form == "compiled"
    assert check(22).form == "padded"


def test_extents_of_0_and_1_and_others_are_programs_of_their_own() -> None:
    becomes_padded([17, 18, 19, 20])
    for n in (1, 2, 3):
        assert check(n).form == "op_by_op"


def of_two_extents(op: str) -> Callable[[int], ll.Evaluation]:
    """A program of a [b, n] array, whose sum over b is read; called with 100 b + n."""

    def run(shape: int) -> ll.Evaluation:
        x = np.random.default_rng(shape).normal(size=(shape // 100, shape % 100))
        x = x.astype(np.float32)
        value = host(x)
        for _ in range(12):
            value = rec(op, value)
            x = getattr(np, op)(x)
        found = rec("sum", value, axes=(0,), keepdims=False).read()
        np.testing.assert_allclose(found, x.sum(0), rtol=1e-4, atol=1e-5)
        return newest()

    return run


def test_extents_below_a_buckets_smallest_are_not_its() -> None:
    """What a definition decides by the extent was decided for the others."""

    def run(n: int) -> ll.Evaluation:
        x = np.random.default_rng(n).normal(size=(n, 3)).astype(np.float32)
        value = rec("roll", host(x), shifts=(3,), axes=(0,))
        for _ in range(12):
            value = rec("sin", value)
            x = np.sin(x)
        np.testing.assert_allclose(value.read(), np.roll(x, 3, 0), rtol=1e-5, atol=1e-6)
        return newest()

    becomes_padded([5, 6, 7], run)
    members.clear()
    for n in (5, 6, 7, 2, 3, 2, 3):
        record = run(n)
        assert n > 3 or record.form == "op_by_op"


def test_a_bucket_ends_where_a_static_extent_does() -> None:
    table = np.random.default_rng(0).normal(size=(100, 3)).astype(np.float32)

    def run(n: int) -> ll.Evaluation:
        x = np.random.default_rng(n).normal(size=(n, 3)).astype(np.float32)
        value = rec("slice", host(table), starts=(0, 0), stops=(n, 3), strides=(1, 1))
        y = table[:n]
        for _ in range(12):
            value = rec("sin", value)
            y = np.sin(y)
        np.testing.assert_allclose(
            rec("add", value, host(x)).read(), y + x, rtol=1e-5, atol=1e-6)
        return newest()

    becomes_padded([17, 18, 19, 20], run)
    run(97)
    assert run(21).form == "padded"
    becomes_padded([97, 98, 99, 100], run)
    assert run(100).padding == [(100, 100)]


def test_what_fails_to_be_padded_where_it_would_wait_runs_at_its_extents(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(structure: Structure, *_: Any) -> Any:
        raise TypeError("a rule's mistake")

    monkeypatch.setattr("lazyloom.backends.xla.assemble.padded_ops", broken)
    x = np.random.default_rng(1).normal(size=(4, 300_000)).astype(np.float32)
    with ll.options(compiled_beside=0):
        for n in range(200_000, 200_012):
            value = host(x[:, :n])
            for _ in range(12):
                value = rec("sin", value)
            rec("sum", value, axes=(1,), keepdims=False).read()


def test_what_fails_to_be_padded_beside_the_program_is_tried_once(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is marked it is wanted at once, each time."""
    def broken(structure: Structure, *_: Any) -> Any:
        raise TypeError("a rule's mistake")

    monkeypatch.setattr("lazyloom.backends.xla.assemble.padded_ops", broken)
    monkeypatch.setattr(backend(), "compiles_elsewhere", lambda: False)
    with counted() as delta:
        for n in (5, 6, 7, 5, 6, 7, 5, 6, 7):
            x = host(of_length(n))
            ll.mark_dynamic(x, 1)
            np.testing.assert_allclose(
                attend(x, host(W)).read(), attended(of_length(n)), rtol=1e-4, atol=1e-5)
            assert background.wait(LONG)
    # that of its bucket, and none of a structure's own
    assert delta.background_failures == 1
    assert "a rule's mistake" in newest().unpadded


def test_two_extents_change_independently() -> None:
    run = of_two_extents("sin")
    becomes_padded([1719, 1820, 2118, 1917, 2020, 1821], run)
    record = run(2313)
    assert record.form == "padded" and sorted(record.padding) == [(13, 24), (23, 24)]


def test_what_seemed_one_extent_is_told_apart() -> None:
    """Three members whose two extents differ alike, and others whose do not."""
    run = of_two_extents("tanh")
    becomes_padded([1717, 1818, 1919, 2020], run)
    for shape in (1722, 2217, 1822):
        run(shape)
    becomes_padded([1719, 1820, 2118, 1917, 2020], run)


def test_marks_have_it_compiled_at_the_second_extent() -> None:
    def run(n: int, **bounds: Any) -> ll.Evaluation:
        x = host(of_length(n))
        ll.mark_dynamic(x, 1, **bounds)
        found = attend(x, host(W)).read()
        np.testing.assert_allclose(found, attended(of_length(n)), rtol=2e-5, atol=2e-5)
        return newest()

    run(5, max=30)
    run(9, max=30)
    background.wait(LONG)
    with counted() as delta:
        for n in (6, 29, 30, 17, 2 + 14):
            record = run(n, max=30)
            assert record.form == "padded" and record.padding == [(n, 30)]
    assert delta.background_compiles == 0


def test_a_static_extent_is_not_padded() -> None:
    becomes_padded([17, 18, 19, 20])
    x = host(of_length(21))
    ll.mark_static(x, 1)
    np.testing.assert_allclose(
        attend(x, host(W)).read(), attended(of_length(21)), rtol=2e-5, atol=2e-5)
    record = ll.last_evaluation()
    assert record is not None and record.form == "op_by_op"


def test_a_static_extent_keeps_what_is_made_of_it_from_padding() -> None:
    def run(n: int) -> ll.Evaluation:
        x, y = host(np.full(n, 0.5)), host(np.full(2 * n, 0.25))
        ll.mark_static(y, np.int64(0))
        for _ in range(12):
            x, y = rec("sin", x), rec("sin", y)
        rec("concatenate", x, y, axis=0).read()
        return newest()

    for n in range(17, 24):
        run(n)
    background.wait(LONG)
    assert all(run(n).form != "padded" for n in range(17, 24))


@pytest.mark.parametrize(("axis", "bounds", "text"), [
    (3, {}, "mark_dynamic: axis 3 of float32[2,5,8], expected an integer from -3 to 2"),
    (1, {"min": 6}, "has 5 elements, expected at least min=6"),
    (1, {"max": 4}, "has 5 elements, expected at most max=4"),
    (1, {"max": 0}, "max is 0, expected an integer of at least 1, or None"),
    (True, {}, "axis True"),
])  # fmt: skip
def test_marks_that_do_not_fit_are_errors(axis: Any, bounds: Any, text: str) -> None:
    with pytest.raises(ll.errors.ArgumentError) as caught:
        ll.mark_dynamic(host(of_length(5)), axis, **bounds)
    assert text in str(caught.value)


def test_what_cannot_be_padded_says_why_and_goes_on() -> None:
    def run(n: int) -> ll.Evaluation:
        x = np.random.default_rng(n).normal(size=n).astype(np.float32)
        value = host(x)
        for _ in range(12):
            value = rec("sin", value)
        found = rec("fft", rec("cast", value, dtype=ll.dtypes.complex64), axes=(0,)).read()
        y = x
        for _ in range(12):
            y = np.sin(y)
        np.testing.assert_allclose(found, np.fft.fft(y), rtol=1e-3, atol=1e-4)
        return newest()

    for n in range(17, 25):
        run(n)
    background.wait(LONG)
    for n in range(17, 25):
        record = run(n)
        assert record.form == "op_by_op"
        assert "  padding  none: " in record.text() and "fft" in record.unpadded
    assert not background.failures() or "fft" not in str(background.failures()[-1])


def test_a_structure_with_padding_is_another_one() -> None:
    becomes_padded([17, 18, 19, 20])
    (variation,) = [f.variation for f in members.known() if f.variation is not None]
    target = next(iter(variation.targets.values()))
    assert target is not None
    structure = target.structure
    plain = Structure(structure.stream, structure.leaf_types)
    assert structure.padding is not None and plain != structure
    again = Structure.parse(structure.serialized)
    assert again == structure and again.padding == structure.padding
    assert again.digest == structure.digest != plain.digest
    assert Structure.parse(plain.serialized) == plain


def test_without_donation_runs_are_waited_for() -> None:
    becomes_padded([17, 18, 19, 20])
    with ll.options(donate=False):
        becomes_padded([21, 22, 23])


def test_where_memory_is_short_it_runs_op_by_op(monkeypatch: pytest.MonkeyPatch) -> None:
    becomes_padded([17, 18, 19, 20])

    def none_left(size: int) -> None:
        raise MemoryError

    monkeypatch.setattr(memory_limits, "limited", True)
    monkeypatch.setattr(memory_limits, "to_run", none_left)
    assert check(22).form == "op_by_op"


def test_threads_share_padded_programs() -> None:
    becomes_padded([17, 18, 19, 20])

    def run(k: int) -> None:
        for n in range(12, 48, 1 + k % 3):
            check(n)

    in_threads([lambda k=k: run(k) for k in range(4)], LONG)


@pytest.mark.parametrize(("n", "size"), [
    (2, 8), (8, 8), (9, 12), (12, 12), (13, 16), (17, 24), (25, 32), (33, 48), (49, 64), (65, 96),
    (1000, 1024), (1025, 1536)])  # fmt: skip
def test_buckets_are_powers_of_two_and_half_more(n: int, size: int) -> None:
    assert bucket_of(n) == size
