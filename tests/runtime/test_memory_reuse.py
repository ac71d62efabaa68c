"""A program reuses its inputs' memory, and nothing keeps what is no longer needed."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.cache import memory
from tests.contract.helpers import host, number, script


def rec(op: str, *operands: Any, **attributes: Any) -> Any:
    return ll.record(op, operands, attributes)


N, LAYERS = 256, 4


class Model:
    """Square layers, all of one type, trained by Adam; the loss is the mean of the result."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.x = host(rng.standard_normal((N, N)) / N)
        self.p = [host(rng.standard_normal((N, N)) / 16) for _ in range(LAYERS)]
        self.m = [host(np.zeros((N, N))) for _ in range(LAYERS)]
        self.v = [host(np.zeros((N, N))) for _ in range(LAYERS)]

    def step(self) -> Any:
        leaves = [p.as_leaf(k) for k, p in enumerate(self.p)]
        h = self.x
        for p in leaves:
            h = rec("tanh", rec("matmul", h, p))
        loss = rec("mean", h)
        gradients = ll.gradients([loss], leaves, retain_graph=False)
        for k, g in enumerate(gradients):
            self.p[k], self.m[k], self.v[k] = adam(leaves[k].detach(), self.m[k], self.v[k], g)
        return loss.detach()


def adam(p: Any, m: Any, v: Any, g: Any) -> tuple[Any, Any, Any]:
    m = rec("add", rec("multiply", m, number(0.9)), rec("multiply", g, number(0.1)))
    v = rec("add", rec("multiply", v, number(0.99)), rec(
        "multiply", rec("multiply", g, g), number(0.01)))
    step = rec("divide", rec("multiply", m, number(0.01)), rec(
        "add", rec("sqrt", v), number(1e-6)))
    return rec("subtract", p, step), m, v


def planned(executable: Any) -> int:
    """Bytes of arguments, of results in no argument's place, and of temporaries."""
    s = executable.get_compiled_memory_stats()
    return int(s.argument_size_in_bytes + s.output_size_in_bytes - s.alias_size_in_bytes
               + s.temp_size_in_bytes)


def by_hand() -> int:
    """The plan of the same step written for ``jax.jit``, with donated state."""
    import jax
    import jax.numpy as jnp

    def loss_of(p: Any, x: Any) -> Any:
        for w in p:
            x = jnp.tanh(x @ w)
        return x.mean()

    def step(p: Any, m: Any, v: Any, x: Any, c: Any) -> Any:
        loss, g = jax.value_and_grad(loss_of)(p, x)
        m = [c[0] * a + c[1] * b for a, b in zip(m, g, strict=True)]
        v = [c[2] * a + c[3] * b * b for a, b in zip(v, g, strict=True)]
        p = [a - c[4] * b / (jnp.sqrt(d) + c[5]) for a, b, d in zip(p, m, v, strict=True)]
        return loss, p, m, v

    one = jax.ShapeDtypeStruct((N, N), np.float32)
    state = [[one] * LAYERS] * 3
    compiled = jax.jit(step, donate_argnums=(0, 1, 2)).lower(
        *state, one, jax.ShapeDtypeStruct((6,), np.float32)).compile()
    return planned(compiled.runtime_executable())


def test_a_step_needs_no_more_memory_than_a_donated_jit(fresh_cache: Any) -> None:
    model = Model()
    losses = [model.step().read()[()] for _ in range(3)]
    assert losses[2] < losses[1] < losses[0]
    record = ll.last_evaluation()
    assert record is not None and record.program is not None
    assert record.bytes_donated == 3 * LAYERS * 4 * N * N
    (entry,) = [e for e in memory.entries() if e.structure == record.program.structure]
    assert planned(entry.program.executable) <= 1.05 * by_hand()


def test_each_state_takes_the_place_of_its_former_self(fresh_cache: Any) -> None:
    model = Model()

    def places() -> dict[tuple[str, int], int]:
        return {
            (name, k): value.node.buffers[value.index].array.unsafe_buffer_pointer()
            for name in "pmv" for k, value in enumerate(getattr(model, name))}

    for _ in range(3):
        # host memory that XLA could take as it lay is left behind in the first steps
        model.step().read()
    before = places()
    model.step().read()
    assert places() == before


def live() -> int:
    import jax

    return sum(a.nbytes for a in jax.live_arrays())


@pytest.mark.slow
@pytest.mark.parametrize("read", [True, False])
def test_steps_keep_nothing_of_those_before(read: bool, fresh_cache: Any) -> None:
    # what other tests left goes now, not while it is counted
    gc.collect()
    ll.sync(wait=True)
    before = live()
    model = Model()
    sizes = []
    gc.disable()
    try:
        for _ in range(8):
            loss = model.step()
            if read:
                loss.read()
            else:
                ll.sync(loss)
            sizes.append(live() - before)
        state = (3 * LAYERS + 1) * 4 * N * N
        # and the scalars of the program and of the loss; scalars of before may go
        assert all(abs(size - state) <= 4096 for size in sizes[1:]), sizes
        assert ll.evaluations(4)[-1].bytes_donated
        del model, loss
        ll.sync()
        assert live() - before <= 4096
    finally:
        gc.enable()


#: In a process of its own: what other tests left behind (programs that are being freed, threads
#: that end) changes how many mappings this one has.
MANY_PROGRAMS = """
import gc

import numpy as np

import lazyloom as ll
from lazyloom.cache import memory


def run(n):
    y = ll.record("sin", [ll.from_host(np.ones(n, np.float32))], {})
    assert y.read().shape == (n,)


run(1)
start = memory.mappings()
for n in range(2, 12):
    run(n)
ten = memory.mappings() - start
assert ten >= 10, (start, ten)
ll.set_option("mappings_interval", 4)
ll.set_option("mappings_part", (start + 2 * ten) / memory.most_mappings())
for n in range(12, 70):
    run(n)
gc.collect()
assert len(memory.entries()) < 50, len(memory.entries())
assert memory.mappings() < start + 5 * ten, (start, ten, memory.mappings())
run(3)  # gone or not, it is found again
print("done")
"""


@pytest.mark.slow
@pytest.mark.skipif(not memory.mappings(), reason="the system does not tell of mappings")
def test_programs_go_before_the_process_has_no_mappings_left(tmp_path: Path) -> None:
    done = script(MANY_PROGRAMS, cache=tmp_path)
    assert done.stdout.split() == ["done"]
