"""What rules take for a fault and what not: cases that programs of others showed."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom.profiling.findings import Finding
from lazyloom.profiling.rules import found_in


def findings_of(watched: Any, rule: str) -> list[Finding]:
    return [f for f in found_in(watched.events, 0.0) if str(f.rule) == rule]


def first_line(function: Any) -> int:
    return int(function.__code__.co_firstlineno)


def one_by_one(x: Any) -> float:
    total = 0.0
    for n in range(len(x)):
        total += float((x[n] * 2).sum())
    return total


X = numpy.linspace(-1, 1, 64 * 48, dtype=numpy.float32).reshape(64, 48)


def trained(how: str) -> None:
    ours, y = np.asarray(X), np.asarray(X[:, :16])
    w1 = np.asarray(X[:48].T.copy() / 8)
    w2 = np.asarray(X[:48, :16] / 8)
    for _ in range(12):
        hidden = np.tanh(X.dot(w1)) if how == "first" else np.tanh(ours @ w1)
        error = (hidden @ w2 - y) / 64
        back = (error @ w2.T) * (1 - hidden * hidden)
        if how == "method":
            slope = X.T.dot(back)
        elif how == "asarray":
            slope = numpy.tanh(numpy.asarray(back)).T @ X
            slope = np.asarray(slope).T
        else:
            slope = ours.T @ back
        w2 = w2 - 0.1 * (hidden.T @ error)
        if how == "expression":
            w1 = w1 - 0.1 * X.T.dot(back)
        else:
            w1 = w1 - 0.1 * slope
    float(w1.sum())


@pytest.mark.parametrize("how, line", [
    ("first", 5), ("method", 9), ("asarray", 11), ("expression", 17), ("", 0)])
def test_a_step_of_which_the_host_computes_a_part(how: str, line: int) -> None:
    with lazyloom.options(reproducible=True), lazyloom.profile() as watched:
        trained(how)
    found = findings_of(watched, "LL01")
    assert [f.line.line for f in found] == ([first_line(trained) + line] if line else [])
    for f in found:
        assert f.text.startswith("an array is read in the middle of a step, and what the host")
        assert "kB read here" in f.evidence[0] and f.seconds > 0
        assert f.line.file == __file__


def simulated(how: str) -> None:
    """Steps that begin with data of the host and end with an array that is read."""
    rng = numpy.random.default_rng(0)
    frames = []
    field = np.asarray(rng.random((64, 64), dtype=numpy.float32))
    field = field * 0.5
    for _ in range(12):
        if how == "read first":
            frames.append(numpy.asarray(field))
        force = np.asarray(rng.random((64, 64), dtype=numpy.float32))
        field = field * 0.9 + force
        field = field - field.mean()
        if how == "read last":
            frames.append(numpy.asarray(field))
        if how == "number":
            frames.append(float(field.sum()))
            force = np.asarray(rng.random((64, 64), dtype=numpy.float32))
            field = field + force


@pytest.mark.parametrize("how", ["read first", "read last", "number"])
def test_reads_between_steps_are_in_the_middle_of_none(how: str) -> None:
    with lazyloom.options(reproducible=True), lazyloom.profile() as watched:
        simulated(how)
    assert [f for f in findings_of(watched, "LL01") if "what the host makes" in f.text] == []


def test_numbers_that_are_computed_and_read_one_by_one_are_found() -> None:
    x = np.array(numpy.ones((450, 4), numpy.float32))
    with lazyloom.profile() as watched:
        assert one_by_one(x) == 450 * 8
    (found,) = findings_of(watched, "LL09")
    assert found.line.line == first_line(one_by_one) + 3
    assert found.text.startswith("450 numbers are computed and read one by one")


def test_steps_that_need_each_other_are_no_reads_by_element() -> None:
    w = np.ones(4, dtype=np.float32)
    rng = np.random.default_rng(0)
    with lazyloom.profile() as watched:
        for _ in range(450):
            w = w * 0.99 + rng.random(4, dtype=np.float32)
            float(w.sum())
    assert findings_of(watched, "LL09") == []


def test_a_run_before_many_reads_is_no_cost_of_theirs() -> None:
    x = np.array(numpy.random.default_rng(0).random((800, 800), dtype=numpy.float32))
    with lazyloom.profile() as watched:
        y = x
        for _ in range(6):
            y = np.tanh(y @ x / 800)
        total = y.sum()
        for _ in range(400):
            float(total)
    (found,) = findings_of(watched, "LL09")
    (run,) = watched.events.runs
    reads = watched.events.reads[found.line]
    assert found.seconds <= reads.seconds + watched.events.at(found.line)
    assert watched.events.recording(found.line) <= max(
        0.0, watched.events.at(found.line) - run.seconds)


def masked(x: Any) -> float:
    for _ in range(6):
        x[x > 2] = x[x > 2] ** 0.5
        x = x * 1.5
    return float(x.sum())


def test_runs_are_no_cost_of_a_function_captured_anew() -> None:
    x = np.array(numpy.random.default_rng(0).random((600, 600), dtype=numpy.float32))

    def total_of(y: Any) -> float:
        for _ in range(6):
            y = np.tanh(y @ y / 600)
        return float(y.sum())  # runs inside the call that is recorded

    with lazyloom.profile() as watched:
        for _ in range(6):
            lazyloom.jit(lambda y: total_of(y))(x)
    (found,) = findings_of(watched, "LL07")
    assert "6 calls at this line" in found.text and found.seconds > 0
    ran = sum(run.seconds for run in watched.events.runs)
    assert found.seconds + ran <= watched.events.seconds


def test_a_boolean_index_is_a_read_in_a_step() -> None:
    x = np.array(numpy.arange(64.0))
    with lazyloom.profile() as watched:
        masked(x)
    found = [f for f in findings_of(watched, "LL01") if f.text.startswith("the shape of a result")]
    assert [f.line.line for f in found] == [first_line(masked) + 2]


def test_a_call_over_many_parameters_is_no_loop() -> None:
    parameters = [torch.nn.Parameter(torch.ones(8)) for _ in range(90)]
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    with lazyloom.profile() as watched:
        for _ in range(3):
            optimizer.zero_grad()
            torch.stack(list(parameters)).square().sum().backward()
            norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            norm.item()
    assert max(len(p.structure.specs) for p in watched.events.programs) > 90
    assert findings_of(watched, "LL10") == []


def recurrent(x: Any, w: Any) -> Any:
    h = x
    for _ in range(100):
        h = torch.tanh(h @ w)
    return h.sum()


def test_a_backward_pass_is_told_with_its_loop() -> None:
    x = torch.ones(2, 8)
    w: Any = torch.full((8, 8), 0.1, requires_grad=True)
    with lazyloom.profile() as watched:
        for _ in range(3):
            w.grad = None
            loss = recurrent(x, w)
            loss.item()
            loss.backward()
            w.grad.sum().item()
    (found,) = findings_of(watched, "LL10")
    assert found.line.line == first_line(recurrent) + 3
    # the programs of the loss alone, and of the gradient
    texts = [found.text, *found.evidence]
    assert len([text for text in texts if text.startswith("a loop around this line")]) >= 2


def items() -> Any:
    rows = []
    for n in range(420):
        row = torch.zeros(6)
        row[:2] = n
        rows.append(row)
    return torch.stack(rows)


def test_small_arrays_that_are_made_one_by_one_are_found() -> None:
    with lazyloom.profile() as watched:
        items().sum().item()
    (found,) = findings_of(watched, "LL13")
    assert found.line.line in (first_line(items) + 3, first_line(items) + 4)
    assert found.text.startswith("420 small arrays are made of")


def test_batches_are_no_pieces() -> None:
    with lazyloom.profile() as watched:
        for _ in range(420):
            (torch.randn(4, 3) * 2).sum().item()
    assert findings_of(watched, "LL13") == []
