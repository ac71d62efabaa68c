"""Programs that read a value at several places: what XLA may fuse ends there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom.backends.xla import assemble, jax_compat
from lazyloom.backends.xla.assemble import module_text
from lazyloom.backends.xla.fusion_barriers import FOLDED, FUSED, FUSED_STEPS, barriers, steps_of
from lazyloom.jaxprs import tracing


def life(m: Any, x: Any) -> Any:
    count = sum(m.roll(m.roll(x, dy, 0), dx, 1) for dy in (-1, 0, 1) for dx in (-1, 0, 1)
                if dy or dx)  # fmt: skip
    return ((count == 3) | ((x == 1) & (count == 2))).astype(x.dtype)


def heat(m: Any, u: Any) -> Any:
    ring = m.pad(u, 1, mode="wrap")
    around = ring[:-2, 1:-1] + ring[2:, 1:-1] + ring[1:-1, :-2] + ring[1:-1, 2:]
    return u + 0.1 * (around - 4.0 * u)


def in_place(m: Any, u: Any) -> Any:
    u[1:-1] += 0.25 * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return u


def wave(m: Any, u: Any) -> Any:
    return u + 0.1 * (m.roll(u, 1, 0) - m.roll(u, -1, 0))


def repeated(step: Callable[[Any, Any], Any], m: Any, x: Any, steps: int) -> Any:
    x = x.copy()
    for _ in range(steps):
        x = step(m, x)
    return x


@pytest.mark.parametrize("step", [life, heat, in_place, wave])
def test_steps_of_a_stencil_are_apart(step: Callable[[Any, Any], Any]) -> None:
    rng = onp.random.default_rng(0)
    data = rng.integers(0, 2, (8, 9)) if step is life else rng.random((8, 9))
    x = np.array(data)
    lazyloom.sync(x)
    result = repeated(step, np, x, 6)
    instructions = lazyloom.program_of(result).structure.instructions
    ends = barriers(instructions, "cpu")
    assert 5 <= len(ends) <= 12  # once or twice a step
    between = onp.diff(sorted(ends))
    assert between.max() <= len(instructions) / 5 + 1
    assert not barriers(instructions, "tpu")  # elsewhere the compiler has a measure of its own
    expected = repeated(step, onp, data, 6)
    onp.testing.assert_allclose(onp.asarray(result), expected, rtol=1e-12)


def test_what_is_read_in_one_place_is_not_ended() -> None:
    x = np.array(onp.random.default_rng(1).random((4, 12)))
    lazyloom.sync(x)
    gates = np.tanh(x * 2.0 + 1.0)
    a, b, c = gates[:, :4], gates[:, 4:8], gates[:, 8:]
    result = np.exp(a) * b + c
    for _ in range(20):
        result = result * 0.5 + np.sin(result)
    instructions = lazyloom.program_of(result).structure.instructions
    assert not barriers(instructions, "cpu")


def test_a_long_chain_is_ended() -> None:
    x = np.array(onp.zeros(4))
    lazyloom.sync(x)
    result = x
    for k in range(2 * FUSED + 10):
        result = result + float(k + 2)
    instructions = lazyloom.program_of(result).structure.instructions
    for platform in ("cpu", "cuda"):
        assert barriers(instructions, platform) == {FUSED - 1, 2 * FUSED - 1}


def size_of_code(result: Any) -> int:
    """How many instructions XLA makes of the program of a pending array."""
    program = lazyloom.program_of(result)
    with tracing.x64():
        text = module_text(program.structure, program.outputs, {})
        compiled = jax_compat.compile_text(text)
    return int(sum(m.to_string().count(" = ") for m in compiled.hlo_modules()))


@pytest.mark.usefixtures("quick_compiler")
def test_random_draws_in_a_row_are_apart() -> None:
    key = lazyloom.from_host(onp.array([1, 2], onp.uint32))
    x = lazyloom.from_host(onp.ones(64, onp.float32))

    def dropped(times: int) -> Any:
        state, y = key, x
        for _ in range(times):
            keys = lazyloom.record("random_split", [state])
            state, mine = (
                lazyloom.record("take", [keys, lazyloom.from_host(onp.array(k))], {"axis": 0})
                for k in (0, 1))
            y = lazyloom.record("dropout", [y, mine], {"rate": 0.5})
        return y

    sizes = [size_of_code(dropped(times)) for times in (2, 4, 8)]
    assert sizes[2] - sizes[1] <= 2.2 * (sizes[1] - sizes[0])
    # in one loop, sixteen of them took LLVM minutes
    instructions = lazyloom.program_of(dropped(40)).structure.instructions
    ends = barriers(instructions, "cpu")
    names = [i.spec.op.name for i in instructions]
    assert all(k in ends for k, name in enumerate(names[:-2]) if name == "take")
    one = steps_of(instructions[names.index("dropout")])
    assert sum(names[k] == "dropout" for k in ends) >= 40 * one // (FUSED_STEPS + one)


@pytest.mark.usefixtures("quick_compiler")
def test_ops_of_many_steps_in_a_row_are_apart() -> None:
    x = np.array(onp.ones(4, onp.float32))
    lazyloom.sync(x)

    def repeated(times: int) -> Any:
        y = x.value
        for _ in range(times):
            y = lazyloom.record("bessel_i0", [y])
        return y

    sizes = [size_of_code(repeated(times)) for times in (4, 8, 16)]
    assert sizes[2] - sizes[1] <= 2.2 * (sizes[1] - sizes[0])


def test_the_first_of_several_results_ends_a_fusion() -> None:
    x = np.array(onp.random.default_rng(0).random((8, 3)))
    lazyloom.sync(x)
    y, ones = x.value, lazyloom.from_host(onp.ones(3))
    for _ in range(8):
        y, _, _ = lazyloom.record("batch_norm_train", [y, ones, ones], {"eps": 1e-5})
    assert len(barriers(lazyloom.program_of(y).structure.instructions, "cpu")) in (1, 2, 3)
    expected = onp.asarray(x)
    for _ in range(8):
        expected = (expected - expected.mean(0)) / onp.sqrt(expected.var(0) + 1e-5) + 1
    onp.testing.assert_allclose(y.read(), expected, rtol=1e-9)


def test_what_two_loops_read_is_computed_once() -> None:
    x = np.array(onp.ones((4, 8), onp.float32))
    lazyloom.sync(x)
    value = lazyloom.record("bessel_i0", [x.value])
    total = lazyloom.record("sum", [value], {"axes": (1,), "keepdims": True})
    instructions = lazyloom.program_of(lazyloom.record("divide", [value, total])
                                       ).structure.instructions
    assert barriers(instructions, "cpu") == {0}
    # a few steps are cheaper than a pass over memory
    value = lazyloom.record("exp", [x.value])
    total = lazyloom.record("sum", [value], {"axes": (1,), "keepdims": True})
    instructions = lazyloom.program_of(lazyloom.record("divide", [value, total])
                                       ).structure.instructions
    assert not barriers(instructions, "cpu")


def test_what_a_product_and_a_sum_read_is_computed_once() -> None:
    """The gradients of a layer: XLA would compute it while it transposes it for the product."""
    generator = onp.random.default_rng(0)
    for rows, apart in ((16384, True), (16, False)):
        x = np.array(generator.standard_normal((rows, 32)).astype(onp.float32))
        w = np.array(generator.standard_normal((8, 32)).astype(onp.float32))
        bias = np.array(onp.ones(32, onp.float32))
        lazyloom.sync(x, w, bias)

        def loss(w: Any, bias: Any, x: Any = x) -> Any:
            h = np.tanh(np.maximum(x, 0.0) @ w.T + bias[:8])
            return (h * h).sum()

        found = lazyloom.value_and_grad(loss, argnums=(0, 1))(w, bias)[1]
        instructions = lazyloom.program_of(*found).structure.instructions
        ends = barriers(instructions, "cpu")
        assert bool(ends) is apart, [i.spec.op.name for i in instructions]
        for n in ends:  # what it is, is not a product itself, and not only handed on
            assert not instructions[n].spec.heavy
        assert not barriers(instructions, "tpu")
        expected = _gradients(*(onp.asarray(a, onp.float64) for a in (x, w, bias)))
        for a, b in zip(found, expected, strict=True):
            onp.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-2)


def _gradients(x: Any, w: Any, bias: Any) -> tuple[Any, Any]:
    relu = onp.maximum(x, 0.0)
    h = onp.tanh(relu @ w.T + bias[:8])
    g = 2 * h * (1 - h * h)
    of_bias = onp.zeros_like(bias)
    of_bias[:8] = g.sum(0)
    return g.T @ relu, of_bias


def test_reshapes_of_transposed_values_compile_in_steps() -> None:
    """XLA's time to compile doubles with each that is fused: twelve did not end in 20 s."""
    host = onp.arange(10.0)
    x = np.array(host)
    lazyloom.sync(x)
    for _ in range(24):
        x = x.reshape(2, 5).T.reshape(10)[::-1]
        host = host.reshape(2, 5).T.reshape(10)[::-1]
    instructions = lazyloom.program_of(x).structure.instructions
    assert len(barriers(instructions, "cpu")) >= 24 // FOLDED
    assert not barriers(instructions, "tpu")
    onp.testing.assert_array_equal(x, host)


@pytest.mark.slow
@pytest.mark.usefixtures("fresh_cache")
def test_a_training_step_of_a_small_network_is_not_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    # an optimizer's results are as many as its parameters, and each has readers of its own
    ended: list[set[int]] = []

    def counted(instructions: Any, platform: str) -> set[int]:
        found = barriers(instructions, platform)
        if any(i.spec.op.name == "step_sgd" for i in instructions):
            ended.append(found)
        return found

    monkeypatch.setattr(assemble, "barriers", counted)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(),
                                torch.nn.Linear(128, 128),
                                torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, labels = torch.ones(64, 64), torch.zeros(64, dtype=torch.int64)
    for _ in range(3):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        loss.item()
    assert ended and not any(ended)
