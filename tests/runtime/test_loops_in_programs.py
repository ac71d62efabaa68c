"""Loops of the host inside one program: found in its structure, compiled as ``stablehlo.while``."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
import lazyloom_numpy as lnp
from lazyloom.backends.xla.assemble import loops_of, module_text
from lazyloom.backends.xla.layout_assignment import assign_layouts
from lazyloom.program import loops
from lazyloom.program.loops import Loop
from tests.contract.helpers import counted, host, number

pytestmark = [
    pytest.mark.compiled, pytest.mark.xla, pytest.mark.usefixtures("quick_compiler")]

Value = Any


@pytest.fixture(autouse=True)
def short(fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Loops that save few ops are loops, and cost nothing: what is found rests on the program."""
    assert fresh_cache
    monkeypatch.setattr(loops, "SAVED", 8)
    monkeypatch.setattr(loops, "LIGHT", 1)
    monkeypatch.setattr(loops, "RUNS", 0)
    yield


def rec(op: str, *operands: Any, **attributes: Any) -> Value:
    return ll.record(op, operands, attributes)


def found(*values: Value) -> list[Loop]:
    """The loops of the programs of some values."""
    return [loop for program in ll.programs_of(*values) for loop in loops_in(program)]


def loops_in(program: Any) -> list[Loop]:
    structure, outputs = program.structure, program.outputs
    instructions = structure.instructions
    return loops_of(instructions, outputs, assign_layouts(instructions, outputs)).loops


def near(value: Value, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(value.read(), wanted, rtol=2e-12, atol=1e-12)


def f64(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def test_a_recurrence_is_a_loop() -> None:
    w, h, xs = f64(3, 3), f64(2, 3, seed=1), [f64(2, 3, seed=k) for k in range(2, 12)]
    value, weight, wanted = host(h, np.float64), host(w, np.float64), h
    for x in xs:
        value = rec("tanh", rec("add", rec("matmul", value, weight), host(x, np.float64)))
        wanted = np.tanh(wanted @ w + x)
    (loop,) = found(value)
    assert (loop.period, loop.times, loop.stacked) == (3, 10, ())
    assert (len(loop.carries), len(loop.rows), len(loop.fixed), len(loop.last)) == (1, 1, 1, 1)
    with counted() as delta:
        near(value, wanted)
    assert delta.executions == delta.programs_compiled == 1
    record = ll.last_evaluation()
    assert record is not None and "  loops    10 x 3 ops" in record.text()


def test_what_is_read_of_every_iteration_is_stacked() -> None:
    x = f64(4)
    value, wanted, kept = host(x, np.float64), x, []
    for _ in range(8):
        value, wanted = rec("sin", rec("add", value, value)), np.sin(wanted + wanted)
        kept.append((value, wanted))
    (loop,) = found(value)
    assert loop.times == 8 and len(loop.stacked) == 1 and not loop.last
    for value, wanted in kept:
        near(value, wanted)


def test_run_time_scalars_are_rows_of_their_vector() -> None:
    x = f64(3)
    value, wanted = host(x, np.float64), x
    for k in range(9):
        a, b = 0.5 + k / 8, 0.25 + k / 4
        value = rec("add", rec("multiply", value, number(a, ll.dtypes.float64)),
                    number(b, ll.dtypes.float64))
        wanted = wanted * a + b
    (loop,) = found(value)
    assert len(loop.rows) == 2
    near(value, wanted)


def test_a_derivative_goes_through_the_loop_backwards() -> None:
    def f(x: Any, w: Any) -> Any:
        for _ in range(12):
            x = lnp.tanh(x @ w)
        return (x * x).sum()

    x, w = f64(2, 3), f64(3, 3, seed=1)
    gradient = ll.grad(f, argnums=(0, 1))(lnp.asarray(x), lnp.asarray(w))
    program = ll.program_of(gradient[1])
    both = loops_in(program)
    assert len(both) == 2 and min(loop.times for loop in both) >= 10
    # what the first keeps for the second is one array each, and no rows are put together
    assert both[0].stacked
    text = module_text(program.structure, program.outputs, {})
    assert text.count("stablehlo.while(") == 2
    assert f"%loop{both[0].start}#" in text.split("stablehlo.while(")[2]
    made = [np.asarray(g) for g in gradient]
    eps = 1e-6
    for k, operand in enumerate((x, w)):
        for at in np.ndindex(operand.shape):
            both_sides = []
            for sign in (1, -1):
                moved = [x.copy(), w.copy()]
                moved[k][at] += sign * eps
                a, b = moved
                for _ in range(12):
                    a = np.tanh(a @ b)
                both_sides.append((a * a).sum())
            slope = (both_sides[0] - both_sides[1]) / (2 * eps)
            np.testing.assert_allclose(made[k][at], slope, rtol=1e-4, atol=1e-8)


def test_values_change_places() -> None:
    a, b = f64(3), f64(3, seed=1)
    x, y = host(a, np.float64), host(b, np.float64)
    for _ in range(10):
        x, y = rec("sin", y), rec("add", x, y)
        a, b = np.sin(b), a + b
    (loop,) = found(x, y)
    assert len(loop.carries) == 2
    near(x, a)
    near(y, b)


def test_what_goes_two_back_is_no_loop_of_one() -> None:
    a, b = f64(3), f64(3, seed=1)
    x, y = host(a, np.float64), host(b, np.float64)
    for _ in range(20):
        x, y = rec("sin", rec("subtract", y, x)), x
        a, b = np.sin(b - a), a
    for loop in found(x):
        assert loop.period % 4 == 0
    near(x, a)


def test_what_only_some_iterations_read() -> None:
    """One of them reads what the others do not."""
    x = f64(3)
    value, wanted = host(x, np.float64), x
    for k in range(24):
        other, wanted_other = (host(x, np.float64), x) if k != 13 else (value, wanted)
        value = rec("sin", rec("add", value, other))
        wanted = np.sin(wanted + wanted_other)
    assert [loop.times for loop in found(value)] == [13, 11]
    near(value, wanted)


def test_ops_that_hand_on_their_operand_are_looked_through() -> None:
    """Residuals that are a weight are the weight, and no stack of copies."""
    w, h = f64(3, 3), f64(2, 3)
    value, weight = host(h, np.float64), host(w, np.float64)
    wanted = h
    for _ in range(10):
        value = rec("tanh", rec("matmul", value, rec("identity", weight)))
        wanted = np.tanh(wanted @ w)
    (loop,) = found(value)
    assert len(loop.fixed) == 1 and not loop.rows
    near(value, wanted)


@pytest.mark.parametrize("dtype", [
    "bool", "int8", "uint32", "int64", "float16", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (1, 0, 2)])
def test_every_kind_of_dtype_and_shape(dtype: str, shape: tuple[int, ...]) -> None:
    d = getattr(ll.dtypes, "bool_" if dtype == "bool" else dtype)
    ops = ("logical_xor", "logical_or") if dtype == "bool" else ("add", "multiply")
    start = np.ones(shape).astype(d.numpy)
    rows = [(np.ones(shape) * (k % 3)).astype(d.numpy) for k in range(12)]
    value: Value = ll.from_host(start)
    kept = []
    with ll.options(reproducible=True):
        for row in rows:
            value = rec(ops[0], rec(ops[1], value, ll.from_host(row)), ll.from_host(row))
            kept.append(value)
        assert found(*kept)
    made = [v.read() for v in kept]
    wanted = start
    with np.errstate(all="ignore"):
        for row, got in zip(rows, made, strict=True):
            if dtype == "bool":
                wanted = (wanted | row) ^ row
            else:
                wanted = (wanted * row + row).astype(d.numpy)
            np.testing.assert_array_equal(got, wanted)


def test_writes_in_place_stay_apart_from_reads() -> None:
    b = np.arange(12.0).reshape(1, 12)
    x = lnp.asarray(b)
    for _ in range(10):
        x[:, 1:] = x[:, :-1] * 0.5 + x[:, 1:]
        b[:, 1:] = b[:, :-1] * 0.5 + b[:, 1:]
    np.testing.assert_allclose(np.asarray(x), b, rtol=1e-12)


def test_few_light_ops_become_one_long_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "LIGHT", 30)
    x = f64(4)
    value, wanted = host(x, np.float64), x
    for _ in range(203):
        value, wanted = rec("sin", value), np.sin(wanted)
    loop = found(value)[0]
    assert (loop.period, loop.times) == (30, 6)
    near(value, wanted)


def test_a_loop_that_copies_much_for_little_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "RUNS", 1000)
    x = host(f64(4, 256), np.float64)
    for k in range(8):
        x = rec("tanh", rec("add", rec("matmul", x, host(f64(256, 256, seed=k), np.float64)), x))
    assert not found(x)


def test_a_hundred_equal_steps_compile_no_slower_than_ten() -> None:
    """By what is compiled: the text of the body does not grow."""
    def text(steps: int) -> str:
        x = host(f64(4, 4), np.float64)
        w = host(f64(4, 4, seed=1), np.float64)
        for _ in range(steps):
            x = rec("tanh", rec("matmul", x, w))
        program = ll.program_of(x)
        return module_text(program.structure, program.outputs, {})

    assert abs(len(text(100).splitlines()) - len(text(10).splitlines())) <= 2


def test_a_loop_that_is_read_after_many_steps_is_one_program() -> None:
    data, other = np.arange(5.0), np.array([1, -1, 0, 2, 0.5])
    x, y, expected = host(data, np.float64), host(other, np.float64), data
    half, quarter = (number(n, ll.dtypes.float64) for n in (0.5, 0.25))
    with counted() as did:
        for _ in range(150):
            for k in range(4):
                x = rec("add", rec("multiply", x, half), y)
                x = rec("subtract" if k % 2 else "maximum", x, quarter)
                expected = expected * 0.5 + other
                expected = expected - 0.25 if k % 2 else np.maximum(expected, 0.25)
        near(x, expected)
    assert did.executions == 1 and did.ops_executed == 150 * 12


def test_layers_forwards_and_backwards_are_one_program_with_two_loops() -> None:
    weights = [host(np.full(3, 0.9 + k / 1000)).as_leaf("w") for k in range(40)]
    x = host(np.ones(3))
    for w in weights:
        x = rec("tanh", rec("add", rec("multiply", x, w), number(0.1)))
        x = rec("maximum", rec("sin", x), rec("multiply", x, number(0.9)))
    gradients = ll.gradients([rec("sum", x, axes=(0,))], weights)
    (program,) = ll.programs_of(*(g for g in gradients if g is not None))
    assert [loop.times for loop in loops_in(program)] in ([40, 40], [40, 39], [39, 39], [39, 40])


def test_many_equal_ops_side_by_side_are_one_program() -> None:
    x = host(np.arange(4.0))
    parts = [rec("add", x, number(float(k))) for k in range(300)]
    (program,) = ll.programs_of(rec("concatenate", *parts, axis=0))
    assert len(program.ops) == 301


UNARY = ("sin", "tanh", "negative", "abs", "cos")
BINARY = ("add", "multiply", "subtract", "maximum", "minimum")


def random_loops(seed: int) -> list[Value]:
    """Values of a program with a random host loop, or two, and what came before and after."""
    draw = random.Random(seed)
    shapes = [(2, 3), (3, 3), (), (3,)]
    outside = [host(f64(*shape, seed=seed + k) * 0.7, np.float64)
               for k, shape in enumerate(shapes * 2)]
    asked: list[Value] = []

    def combine(values: list[Value], choose: random.Random) -> Value:
        x = choose.choice(values)
        if choose.random() < 0.4:
            return rec(choose.choice(UNARY), x)
        others = [v for v in values if v.type.shape == x.type.shape]
        if choose.random() < 0.3:
            fits = [v for v in values if v.type.ndim == 2 and x.type.ndim == 2
                    and v.type.shape[0] == x.type.shape[1]]
            if fits:
                return rec("tanh", rec("matmul", x, choose.choice(fits)))
        return rec(choose.choice(BINARY), x, choose.choice(others))

    for _ in range(draw.randrange(1, 3)):
        for _ in range(draw.randrange(3)):
            outside.append(combine(outside, draw))
        carries = draw.sample(outside, draw.randrange(1, 4))
        fixed = draw.sample(outside, draw.randrange(1, 3))
        body_seed, length = draw.randrange(1 << 30), draw.randrange(3, 9)
        rows_of = [draw.choice(shapes) for _ in range(draw.randrange(3))]
        history: list[list[Value]] = []
        times = draw.randrange(4, 14)
        for k in range(times):
            body = random.Random(body_seed)
            rows = [host(f64(*shape, seed=k), np.float64) for shape in rows_of]
            values = [*carries, *fixed, *rows]
            if history and body.random() < 0.3:
                # of the first iteration, or of the one before: from the loop before, backwards
                values.append(body.choice(history[0]))
            for _ in range(length):
                values.append(combine(values, body))
            made = values[-length:]
            history.append(made)
            after = list(carries)
            for at, carry in enumerate(carries):
                fits = [v for v in made if v.type == carry.type]
                if fits and body.random() < 0.9:
                    after[at] = rec("tanh", body.choice(fits))
            if body.random() < 0.2:
                after.reverse()
            if [v.type for v in after] == [v.type for v in carries]:
                carries = after
        for made in history if draw.random() < 0.5 else history[-2:]:
            if draw.random() < 0.7:
                asked.append(draw.choice(made))
        outside += carries
        # a second loop over what the first one gave, backwards
        if draw.random() < 0.6:
            which = draw.randrange(length)
            total = rec("tanh", history[-1][which])
            for made in reversed(history[:-1]):
                if made[which].type != total.type:
                    break
                total = rec("sin", rec("add", rec("multiply", total, made[which]), made[which]))
            asked.append(total)
        asked += carries
    return asked


@pytest.mark.parametrize("begin", range(0, 60, 10))
def test_random_loops_give_what_the_ops_give(begin: int) -> None:
    loops_found = 0
    for seed in range(begin, begin + 10):
        values = random_loops(seed)
        loops_found += len(found(*values))
        whole = [v.read() for v in values]
        with ll.options(reproducible=False):
            for v, wanted in zip(random_loops(seed), whole, strict=True):
                np.testing.assert_allclose(
                    v.read(), wanted, rtol=1e-9, atol=1e-11, err_msg=f"seed {seed}")
    assert loops_found >= 5
