"""``options(eager=True)`` and ``options(nan=)``: ops that run at their lines."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
import lazyloom_numpy as lnp
import lazyloom_torch as torch
from lazyloom.errors import NaNError


def train() -> list[float]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = (model(torch.ones(5, 3)) ** 2).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_each_op_runs_when_it_is_recorded() -> None:
    with ll.options(eager=True), ll.testing.counted() as counts:
        x = lnp.arange(5.0)
        y = lnp.tanh(x) * 2
        y += x
        ran = len(counts.programs)
        assert not y.value.is_pending
    assert ran >= 4 and all(c.reason.startswith("eager op of 1 op") for c in counts.programs)
    assert {c.line.rpartition(":")[0] for c in counts.programs} == {__file__}
    np.testing.assert_allclose(y.read(), np.tanh(np.arange(5.0)) * 2 + np.arange(5.0))
    # afterwards ops are recorded again
    assert (y * 2).value.is_pending


@pytest.mark.parametrize("reproducible", [True, False])
def test_results_are_those_of_recorded_programs(reproducible: bool) -> None:
    def views() -> Any:
        a = lnp.arange(12.0).reshape(3, 4)
        a[1] += a[0] * 2
        a.T[2, :2] = 7
        return a.tolist(), lnp.sort(a, axis=None)[::-1].tolist()

    def transforms() -> Any:
        return (
            ll.vmap(lambda v: (v * 2).sum())(lnp.ones((3, 2))).tolist(),
            ll.grad(lambda v: (v * v * v).sum())(lnp.arange(3.0)).tolist(),
            [r.tolist() for r in ll.scan(
                lambda c, v: (c + v, c * v), lnp.asarray(0.0), lnp.arange(4.0))],
            ll.jit(lambda v: v * 2 + 1)(lnp.arange(2.0)).tolist())

    for program in (views, transforms, train):
        with ll.options(reproducible=reproducible):
            recorded = program()
            with ll.options(eager=True):
                eager = program()
        if program is train:
            np.testing.assert_allclose(eager, recorded, rtol=1e-5)
        else:
            assert eager == recorded


def test_an_error_comes_at_its_line() -> None:
    x, i = torch.tensor([1.0, 2.0]), torch.tensor([2, 3]).sum()
    x[i]  # read by nobody
    with ll.options(eager=True), pytest.raises(IndexError, match="out of bounds") as caught:
        x[i]
    assert str(caught.value.site).startswith(__file__)


def test_a_nan_is_told_where_it_arises() -> None:
    x = lnp.arange(3.0) - 1
    with ll.options(nan="error"):
        with pytest.raises(NaNError) as caught:
            lnp.log(x)
        assert caught.value.op == "log" and str(caught.value.site).startswith(__file__)
        assert isinstance(caught.value, FloatingPointError)
        assert "the op log, whose operands have no NaN, gave 1 in a result of type float64[3], " \
            "the first at [0], at " in str(caught.value)
        # infinities, numbers and integers are none
        assert (1 / lnp.zeros(2)).tolist() == [np.inf, np.inf]
        lnp.arange(5) * 2
    with warnings.catch_warnings(record=True) as found, ll.options(nan="warn"):
        warnings.simplefilter("always")
        y = lnp.log(x)
        (y + 1).sum()
        y * float("nan")
        x * float("nan")
        lnp.asarray([np.nan, 1.0]) + 1
        z = lnp.zeros(2, np.complex64) / 0
    assert [str(w.message).split(",")[0] for w in found] == ["the op log", "the op divide"]
    assert np.isnan(z.read()).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_a_nan_of_any_dtype_in_a_backward_pass(dtype: Any) -> None:
    x = torch.tensor([0.0, 4.0], dtype=dtype, requires_grad=True)
    with ll.options(nan="error"):
        loss = (torch.sqrt(x) * torch.tensor([0.0, 1.0], dtype=dtype)).sum()
        with pytest.raises(NaNError, match="whose operands have no NaN, gave 1"):
            loss.backward()
