"""Results of host kernels in the memory of operands that end with the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom.host import reuse
from lazyloom.host.kernels import kernel_text
from lazyloom.host.loading import load
from lazyloom.jaxprs.tracing import trace

pytestmark = pytest.mark.xla
SHAPE = (400, 500)


def kernel_of(function: Callable[..., Any], count: int) -> Any:
    run, _ = load(kernel_text(trace(function, [(SHAPE, np.float32)] * count)))
    return run


def operands(count: int) -> list[Any]:
    random = np.random.default_rng(3)
    return [random.random(SHAPE, np.float32) for _ in range(count)]


def test_results_take_operands_that_are_not_used_again() -> None:
    run = kernel_of(lambda a, b: (a * 2 + b, jnp.sqrt(b) - a), 2)
    assert run.over == (0, 1)
    a, b = operands(2)
    expected = run(a, b)
    found = reuse.call(run, [a, b], [a, b])
    assert found[0] is a and found[1] is b
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y)


def test_operands_that_are_used_again_are_left_alone() -> None:
    def function(a: Any, b: Any) -> Any:
        c = jnp.exp(a) * b
        return c @ c.T, a @ b.T

    run = kernel_of(function, 2)
    a, b = operands(2)
    before = a.copy(), b.copy()
    expected = run(a, b)
    found = reuse.call(run, [a, b], [x for k, x in enumerate((a, b)) if k in run.over])
    for x, y in zip((a, b, *found), (*before, *expected), strict=True):
        np.testing.assert_array_equal(x, y)


def test_nothing_is_written_over_that_somebody_else_has() -> None:
    holder = operands(2)
    assert reuse.exclusive(holder, 0, 0)
    view = holder[0][1:]
    assert not reuse.exclusive(holder, 0, 0)
    del view
    assert reuse.exclusive(holder, 0, 0)
    other = holder[0]
    assert not reuse.exclusive(holder, 0, 0) and reuse.exclusive(holder, 0, 1)
    del other
    holder[0].flags.writeable = False
    assert not reuse.exclusive(holder, 0, 0)
    assert not reuse.exclusive([holder[1][:200]], 0, 0)
    assert not reuse.exclusive([np.zeros(3)], 0, 0)
    assert not reuse.exclusive([np.float32(3)], 0, 0)


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.1),
}


@pytest.mark.parametrize("written_over", [True, False])
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_what_others_see_of_parameters_stays(
    name: str, count: int, written_over: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of an optimizer op by op beside what the compiled program gives."""
    seen = []
    monkeypatch.setattr(reuse, "may_write", lambda: written_over)
    monkeypatch.setattr("lazyloom.execute.op_by_op.executor.may_write", lambda: written_over)
    start = operands(count)
    for reproducible in (False, True):
        with lazyloom.options(reproducible=reproducible):
            parameters = [torch.nn.Parameter(torch.from_numpy(x.copy())) for x in start]
            optimizer = OPTIMIZERS[name](parameters)
            kept, history = [], []
            for _ in range(3):
                kept += [(p * 1).detach() for p in parameters]
                history += [p.detach().clone() for p in parameters]
                shown = [p.detach().numpy().copy() for p in parameters]
                aliases = [p.detach() for p in parameters]
                optimizer.zero_grad()
                loss = sum((p * p).sum() * k for k, p in enumerate(parameters, 1))
                loss.backward()
                optimizer.step()
                loss.item()
                history += map(torch.from_numpy, shown)
                for alias, p in zip(aliases, parameters, strict=True):
                    np.testing.assert_array_equal(alias.numpy(), p.detach().numpy())
            seen.append([x.numpy() for x in (*kept, *history, *(p.detach() for p in parameters))])
    np.testing.assert_array_equal(seen[0][0], start[0])
    for x, y in zip(*seen, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


class Fails:
    """In place of a kernel: one that may write over its operands, and fails."""

    over = tuple(range(7))

    def __call__(self, *_: Any) -> Any:
        raise ValueError("told to fail")


@pytest.mark.op_by_op
def test_what_was_written_over_is_lost_where_a_later_op_fails() -> None:
    n = 1 << 18

    def training() -> tuple[list[torch.Tensor], Callable[[], None]]:
        x, y = parameters = [torch.nn.Parameter(torch.full((n,), v)) for v in (3.0, 5.0)]
        optimizers = [torch.optim.SGD([x], lr=0.1, momentum=0.9),
                      torch.optim.SGD([y], lr=0.1, momentum=0.9, nesterov=True)]

        def step() -> None:
            for optimizer in optimizers:
                optimizer.zero_grad()
            (x * y).sum().backward()
            for optimizer in optimizers:
                optimizer.step()
            lazyloom.sync()

        return parameters, step

    _, step = training()
    step()
    step()
    record = lazyloom.last_evaluation()
    assert record is not None and record.form == "op_by_op" and record.program is not None
    assert record.ops == 5 and record.program.ops[-2:] == ["step_sgd", "step_sgd"]
    (kernel,) = record.program.structure.instructions[-1].spec.kernels.values()
    (x, y), step = training()
    step()
    before = y.detach().numpy().copy()
    usual, kernel.kernel = kernel.kernel, Fails()
    try:
        step()
    finally:
        kernel.kernel = usual
    with pytest.raises(lazyloom.errors.ExecutionError, match="told to fail"):
        y.detach().numpy()
    for _ in range(2):  # its memory has the first op's result in it, not the contents from before
        with pytest.raises(lazyloom.errors.ExecutionError, match="told to fail"):
            x.detach().numpy()
    np.testing.assert_array_equal(y.detach().numpy(), before)
