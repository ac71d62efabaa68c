"""What is not captured keeps being recorded, and says why; nothing is skipped."""

from __future__ import annotations

import random
import time

import pytest

import lazyloom
import lazyloom_torch as torch

CALLS = 8
COUNT = 0
STORE: list = []


@pytest.fixture
def reproducible():
    with lazyloom.options(reproducible=True):
        yield


def refused(function, *args, calls=CALLS):
    """A function whose calls are never captured, and why not."""
    run = torch.compile(function)
    for _ in range(calls):
        run(*args)
    explanation = run.explain()
    assert explanation.runs == 0, explanation
    return explanation.refused


def test_reads():
    x = torch.ones(2)
    assert "reads a tensor" in refused(lambda x: x * x.sum().item(), x)
    assert "reads a tensor" in refused(lambda x: x * float(x[0]), x)
    assert "reads a tensor" in refused(lambda x: x + 1 if x.sum() > 1 else x, x)
    why = refused(lambda x: x.numpy().sum(), x)
    assert "reads a tensor" in why and "test_refusals.py" in why


def test_a_branch_on_data_is_taken_anew():
    run = torch.compile(lambda x: x + 1 if x.sum() > 0 else x - 1)
    for _ in range(4):
        assert run(torch.ones(2)).tolist() == [2.0, 2.0]
        assert run(-torch.ones(2)).tolist() == [-2.0, -2.0]


def test_prints(capsys):
    def f(x):
        print("called")
        return x * 2

    assert "print" in refused(f, torch.ones(2))
    assert capsys.readouterr().out == "called\n" * CALLS


def test_lists_that_outlive_the_call():
    kept = []

    def f(x):
        kept.append(x * 2)
        return x + 1

    refused(f, torch.ones(2))
    assert len(kept) == CALLS


def test_lists_that_do_not():
    def f(x):
        parts = []
        for k in range(3):
            parts.append(x * k)
        return torch.stack(parts)

    run = torch.compile(f)
    for _ in range(4):
        assert run(torch.ones(2)).tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    assert run.explain().runs > 0


def test_counters():
    class Counted:
        n = 0

        def __call__(self, x):
            self.n += 1
            return x * self.n

    counted = Counted()
    run = torch.compile(counted)
    assert [run(torch.ones(1)).item() for _ in range(CALLS)] == list(range(1, CALLS + 1))
    assert run.explain().runs == 0 and "n was" in str(run.explain())


def test_globals_and_closures_that_are_stored():
    n = 0

    def f(x):
        global COUNT
        nonlocal n
        COUNT += 1
        n += 1
        return x * n

    before = COUNT
    run = torch.compile(f)
    assert [run(torch.ones(1)).item() for _ in range(CALLS)] == list(range(1, CALLS + 1))
    assert n == CALLS and before + CALLS == COUNT


def test_time_and_random_numbers_of_the_host():
    assert "time" in refused(lambda x: x * time.time(), torch.ones(1))
    assert refused(lambda x: x * random.random(), torch.ones(1))
    assert refused(lambda x: x * random.randint(1, 100), torch.ones(1))


def test_generators():
    numbers = iter(range(100))

    def draw():
        yield from range(3)

    assert refused(lambda x: x * next(numbers), torch.ones(1))
    assert refused(lambda x: x * sum(draw()), torch.ones(1))


def test_iterators_that_are_closed_over():
    numbers = iter(range(100))

    def f(x):
        for n in numbers:
            return x * n

    run = torch.compile(f)
    assert [run(torch.ones(1)).item() for _ in range(CALLS)] == list(range(CALLS))


def test_errors():
    def f(x, n):
        if n > 3:
            raise ValueError("too many")
        return x * n

    run = torch.compile(f)
    for n in (1, 1, 1, 1):
        run(torch.ones(1), n)
    with pytest.raises(ValueError, match="too many"):
        run(torch.ones(1), 4)
    assert run(torch.ones(1), 1).item() == 1


def test_arguments_that_are_changed():
    def f(items):
        items.append(items[0] * 2)
        return items[0] + 1

    run = torch.compile(f)
    for _ in range(CALLS):
        items = [torch.ones(1)]
        run(items)
        assert items[1].item() == 2.0


def test_fullgraph_raises_with_the_line():
    @torch.compile(fullgraph=True)
    def f(x):
        return x * x.sum().item()

    with pytest.raises(lazyloom.capture.CaptureError, match=r"reads a tensor.*test_refusals\.py"):
        for _ in range(CALLS):
            f(torch.ones(2))


def test_hooks_on_tensors():
    seen = []
    w = torch.ones(2, requires_grad=True)
    w.register_hook(lambda g: seen.append(1))

    def step(x):
        w.grad = None
        (w * x).sum().backward()

    run = torch.compile(step)
    for _ in range(CALLS):
        run(torch.ones(2))
    assert len(seen) == CALLS


def test_custom_derivatives():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 10

    w = torch.ones(2, requires_grad=True)
    run = torch.compile(lambda x: Twice.apply(x * w).sum())
    for _ in range(CALLS):
        w.grad = None
        run(torch.ones(2)).backward()
        assert w.grad.tolist() == [10.0, 10.0]


def test_settings_that_are_changed():
    def f(x):
        torch.set_grad_enabled(False)
        return x * 2

    try:
        run = torch.compile(f)
        for _ in range(CALLS):
            torch.set_grad_enabled(True)
            run(torch.ones(2))
            assert not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)


def test_seeding_inside(reproducible):
    def f(x):
        torch.manual_seed(3)
        return x + torch.rand(2)

    run = torch.compile(f)
    assert len({tuple(run(torch.ones(2)).tolist()) for _ in range(CALLS)}) == 1


def test_draws_differ_and_agree_with_those_recorded(reproducible):
    def f(x):
        return x + torch.rand(2) * torch.randn(2)

    torch.manual_seed(5)
    recorded = [f(torch.ones(2)).tolist() for _ in range(CALLS)]
    torch.manual_seed(5)
    run = torch.compile(f)
    captured = [run(torch.ones(2)).tolist() for _ in range(CALLS)]
    assert run.explain().runs >= CALLS - 3
    assert recorded == captured
    torch.manual_seed(5)
    assert [run(torch.ones(2)).tolist() for _ in range(CALLS)] == recorded
    generator = torch.Generator().manual_seed(1)
    drawn = torch.compile(lambda x: x * torch.rand(2, generator=generator))
    first = [drawn(torch.ones(2)).tolist() for _ in range(CALLS)]
    generator.manual_seed(1)
    assert [drawn(torch.ones(2)).tolist() for _ in range(CALLS)] == first


def test_disabled():
    run = torch.compile(lambda x: x * 2, disable=True)
    for _ in range(4):
        run(torch.ones(1))
    assert run.explain().runs == 0


def test_nested_and_recursive():
    inner = torch.compile(lambda x: x * 2)
    outer = torch.compile(lambda x: inner(x) + 1)
    for _ in range(5):
        assert outer(torch.ones(1)).item() == 3.0

    def power(x, n):
        return x if n == 0 else x * run(x, n - 1)

    run = torch.compile(power)
    for _ in range(5):
        assert run(torch.full((1,), 2.0), 3).item() == 16.0


def test_what_is_returned():
    w = torch.ones(2)
    Pair = __import__("collections").namedtuple("Pair", "a b")

    def f(x):
        y = x * 2
        return {"y": y, "again": y, "w": w, "x": x, "n": 3, "pair": Pair(x + 1, [x - 1, None])}

    run = torch.compile(f)
    for _ in range(5):
        x = torch.ones(2)
        found = run(x)
        assert found["w"] is w and found["x"] is x and found["n"] == 3
        assert found["y"] is found["again"] and found["y"].tolist() == [2.0, 2.0]
        assert type(found["pair"]) is Pair and found["pair"].b[1] is None
        assert found["pair"].a.tolist() == [2.0, 2.0]
    assert run.explain().runs > 0


def test_views_of_inputs_are_views():
    run = torch.compile(lambda x: x[0])
    for _ in range(5):
        x = torch.ones(2, 2)
        run(x).fill_(7.0)
        assert x.tolist() == [[7.0, 7.0], [1.0, 1.0]]


def test_inputs_that_are_written():
    run = torch.compile(lambda x: x.mul_(2))
    x = torch.ones(2)
    for _ in range(6):
        assert run(x) is x
    assert x.tolist() == [64.0, 64.0] and run.explain().runs > 0


def test_state_that_is_replaced():
    class Average(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = torch.zeros(2)

        def forward(self, x):
            self.mean = self.mean * 0.5 + x * 0.5
            return self.mean + 1

    a, b = Average(), Average()
    run = torch.compile(b)
    for k in range(8):
        x = torch.full((2,), float(k))
        assert a(x).tolist() == run(x).tolist()
        assert a.mean.tolist() == b.mean.tolist()
    kept = b.mean
    held = kept.tolist()
    run(x)
    assert kept.tolist() == held and kept is not b.mean
    assert torch._dynamo.explain(run).runs > 0


def test_threads():
    import threading

    w = torch.ones(2)
    run = torch.compile(lambda x: (x * w + 1).sum())
    errors = []

    def work(k):
        try:
            for _ in range(20):
                assert run(torch.full((2,), float(k))).item() == 2 * k + 2
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_failures_of_a_run_are_those_of_its_values():
    table = torch.arange(4.0)
    run = torch.compile(lambda i: table[i] * 2)
    for _ in range(5):
        assert run(torch.tensor([1, 2])).tolist() == [2.0, 4.0]
    bad = run(torch.tensor([1, 8]) + 1)
    with pytest.raises(IndexError):
        bad.tolist()
    # the host knows these, as where the call is recorded
    for wrong in ([1, 9], [-5, 0]):
        with pytest.raises(IndexError, match="out of bounds for dimension 0 with size 4"):
            run(torch.tensor(wrong))
    assert run(torch.tensor([3])).tolist() == [6.0]
    assert run(torch.tensor([-4, 3])).tolist() == [0.0, 6.0]
    assert run(torch.tensor([1, 2])).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("part", [lambda y: y, lambda y: y.reshape(1, 3).T.view(-1)])
def test_a_label_out_of_range_leaves_a_captured_step_as_it_was(part):
    """The call raises, and nothing was written."""
    F = torch.nn.functional
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.compile
    def step(x, y):
        y = part(y)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x)[: len(y)], y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    x = torch.ones(3, 4)
    for _ in range(5):
        step(x, torch.tensor([0, 1, 2])).item()
    runs = step.explain().runs
    assert runs > 0
    for wrong in ([0, 1, 3], [0, -1, 1], [1, 2, -200]):
        before = model.weight.tolist()
        with pytest.raises(IndexError, match="cross_entropy: index .* is out of bounds"):
            step(x, torch.tensor(wrong))
        assert model.weight.tolist() == before
        for right in ([0, -100, 2], [1, 1, 1]):
            assert step(x, torch.tensor(right)).item() > 0
    assert step.explain().runs > runs and not step.explain().refused
