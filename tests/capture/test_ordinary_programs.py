"""Ordinary programs: captured and recorded calls agree bit for bit, and which are captured.

Each program is a function of what captures its functions; it gives arrays to compare.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import math

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch

pytestmark = pytest.mark.usefixtures("quick_compiler")

nn, F = torch.nn, torch.nn.functional
CALLS = 12
PROGRAMS = {}


def program(runs=CALLS - 3):
    """Adds a program with how many of its calls are to run without being recorded."""

    def add(function):
        PROGRAMS[function.__name__] = function, runs
        return function

    return add


def data(count=CALLS, size=5, last=0):
    random = numpy.random.default_rng(0)
    for k in range(count):
        n = last if last and k % 4 == 3 else size
        yield (torch.tensor(random.normal(size=(n, 6)).astype(numpy.float32)),
               torch.tensor(random.integers(0, 3, n)))


def arrays(x):
    if isinstance(x, (torch.Tensor, np.ndarray)):
        return [numpy.asarray(x.detach() if isinstance(x, torch.Tensor) else x).copy()]
    if dataclasses.is_dataclass(x):
        return arrays(vars(x))
    if isinstance(x, dict):
        return [a for v in x.values() for a in arrays(v)]
    if isinstance(x, (list, tuple)):
        return [a for v in x for a in arrays(v)]
    return [numpy.asarray(x)]


class Net(nn.Module):
    def __init__(self, drop=0.0, norm=False):
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 3)
        self.drop = nn.Dropout(drop)
        self.norm = nn.BatchNorm1d(8) if norm else nn.Identity()

    def forward(self, x):
        return self.b(self.drop(F.relu(self.norm(self.a(x)))))


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def train(capture, model, loss_of=None, after=None, optimizer=None, **batches):
    opt = optimizer or sgd(model)

    def step(x, y):
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y) if loss_of is None else loss_of(x, y)
        loss.backward()
        opt.step()
        if after is not None:
            after(loss)
        return loss.detach()

    run = capture(step)
    return [a for x, y in data(**batches) for a in arrays(run(x, y))] + arrays(model.state_dict())


def each(run, count=CALLS):
    return [a for x, y in data(count) for a in arrays(run(x))]


@program()
def dropout_and_batch_norm(capture):
    return train(capture, Net(0.3, True))


@program()
def tied_weights_and_embeddings(capture):
    table, out = nn.Embedding(10, 4), nn.Linear(4, 10, bias=False)
    out.weight = table.weight
    opt = torch.optim.Adam(table.parameters(), lr=0.01)

    @capture
    def step(words, targets):
        opt.zero_grad()
        loss = F.cross_entropy(out(table(words).mean(1)), targets)
        loss.backward()
        opt.step()
        return loss.detach()

    random = numpy.random.default_rng(0)
    return [a for _ in range(CALLS) for a in arrays(step(
        torch.tensor(random.integers(0, 10, (4, 3))), torch.tensor(random.integers(0, 10, 4))))]


@program()
def a_recurrent_network(capture):
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.out = nn.LSTM(6, 5, batch_first=True), nn.Linear(5, 3)

        def forward(self, x):
            found, _ = self.lstm(x[:, None, :].expand(-1, 3, -1))
            return self.out(found[:, -1])

    return train(capture, Recurrent())


@program()
def evaluation(capture):
    model = Net(0.3, True).eval()

    @capture
    def evaluate(x, y):
        with torch.no_grad():
            found = model(x)
            return F.cross_entropy(found, y), (found.argmax(1) == y).sum()

    return [a for x, y in data() for a in arrays(evaluate(x, y))]


@program()
def decorated_evaluation(capture):
    model = Net(0.3, True).eval()
    return each(capture(torch.no_grad()(lambda x: model(x))))


@program()
def autocast(capture):
    model = Net()

    def loss_of(x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return F.cross_entropy(model(x), y)

    return train(capture, model, loss_of)


@program(runs=CALLS)
def accumulation_over_calls(capture):
    model = Net()
    opt = sgd(model)

    @capture
    def part(x, y):
        loss = F.cross_entropy(model(x), y) / 2
        loss.backward()
        return loss.detach()

    @capture
    def update():
        opt.step()
        opt.zero_grad()

    found = []
    for k, (x, y) in enumerate(data(2 * CALLS)):
        found += arrays(part(x, y))
        if k % 2:
            update()
    return found + arrays(model.state_dict())


@program()
def an_average_of_weights(capture):
    model = Net()
    average = copy.deepcopy(model)

    def update(loss):
        with torch.no_grad():
            for a, p in zip(average.parameters(), model.parameters()):
                a.mul_(0.9).add_(p, alpha=0.1)

    return train(capture, model, after=update) + arrays(average.state_dict())


@program()
def modes_are_switched(capture):
    model = Net(0.3, True)
    opt, called = sgd(model), capture(model)
    found = []
    for k, (x, y) in enumerate(data(CALLS + 6)):
        if k % 4 == 3:
            model.eval()
            with torch.no_grad():
                found += arrays(called(x))
            model.train()
        else:
            opt.zero_grad()
            loss = F.cross_entropy(called(x), y)
            loss.backward()
            opt.step()
            found += arrays(loss)
    return found


@program()
def a_last_batch_of_another_size(capture):
    return train(capture, Net(), last=3, count=CALLS + 4)


@program()
def a_compiled_module_with_the_loss_outside(capture):
    model = Net()
    opt, called = torch.optim.AdamW(model.parameters(), lr=0.01), capture(model)
    found = []
    for x, y in data():
        opt.zero_grad()
        loss = F.cross_entropy(called(x), y)
        loss.backward()
        opt.step()
        found += arrays(loss)
    return found


@program()
def a_compiled_module_inside(capture):
    model = Net()
    called = torch.compile(model)
    return train(capture, model, lambda x, y: F.cross_entropy(called(x), y))


@program()
def methods(capture):
    class Trainer:
        def __init__(self):
            self.model = Net()
            self.opt = sgd(self.model)

        @capture
        def step(self, x, y):
            self.opt.zero_grad()
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()
            self.opt.step()
            return loss.detach()

    trainer = Trainer()
    return [a for x, y in data() for a in arrays(trainer.step(x, y))]


@program()
def partials(capture):
    return each(capture(functools.partial(lambda x, k, b: x * k + b, k=3.0, b=2.0)))


@program()
def arguments_by_stars(capture):
    @capture
    def f(*args, **kwargs):
        return sum(args) * kwargs["scale"]

    return each(lambda x: f(x, x + 1, scale=2.0))


@program()
def lists_of_tensors(capture):
    run = capture(lambda xs: torch.stack([x * 2 for x in xs]).sum(0))
    return each(lambda x: run([x, x + 1]))


@dataclasses.dataclass
class Found:
    logits: object
    p: object = None
    kind: str = "plain"


@program()
def data_classes(capture):
    model = Net()
    run = capture(lambda x: Found(model(x), p=model(x).softmax(1)))
    assert all(type(run(x)) is Found and run(x).kind == "plain" for x, _ in data(5))
    return each(run)


@program()
def dicts(capture):
    model = Net()
    return each(capture(lambda x: {"logits": model(x), "n": 3, "both": [x * 2, (x, None, 1.5)]}))


@program()
def views_of_results(capture):
    model = Net()

    @capture
    def f(x):
        assert x.ndim == 2, x.shape
        rows, _ = x.shape
        found = model(x).view(rows, 1, 3)
        return found.squeeze(1), found[:, 0, 1:], found.detach()

    return each(f)


@program()
def parts_of_a_result(capture):
    run = capture(lambda x: (x * 2).chunk(2))
    found = []
    for x, _ in data():
        a, b = run(x)
        a.add_(1)
        assert a._base is b._base is not None
        found += arrays([a, b, a._base])
    return found


@program()
def views_of_arguments(capture):
    run = capture(lambda x: (
        x.reshape(-1), x.T, x[1:, 2], x.detach(), x[:, None].expand(-1, 2, -1)))
    found = []
    for x, _ in data():
        y = run(x)
        y[0][3] = 7.0
        assert y[1]._base is x and y[3]._base is None
        found += arrays([*y, x, [t.stride() for t in y]])
    return found


@program()
def views_through_which_gradients_flow(capture):
    run = capture(lambda w: (w * 3, w[0], (w * 2)[1:].T))
    found = []
    for x, _ in data():
        w = x.clone().requires_grad_()
        lazyloom.sync()
        a, b, c = run(w * 1)
        (a.sum() + (b * b).sum() + (c ** 3).sum()).backward()
        found += arrays([a, b, c, w.grad])
    return found


@program()
def gradients_by_function(capture):
    model = Net()

    @capture
    def step(x):
        loss = model(x).square().mean()
        with torch.no_grad():
            for p, g in zip(model.parameters(), torch.autograd.grad(loss, [*model.parameters()])):
                p -= 0.1 * g
        return loss.detach()

    return each(step) + arrays(model.state_dict())


@program()
def derivatives_by_what_is_made_inside(capture):
    net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)

    @capture
    def step(x):
        x = x.clone().requires_grad_()
        u = net(x)
        (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        loss = (slope + u).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return each(lambda x: step(x[:, :1]))


@program()
def two_optimizers(capture):
    maker, judge = nn.Linear(4, 6), nn.Linear(6, 1)
    of_maker, of_judge = (torch.optim.Adam(m.parameters(), lr=0.01) for m in (maker, judge))

    @capture
    def step(x):
        fake = maker(torch.randn(5, 4))
        a = F.softplus(-judge(x)).mean() + F.softplus(judge(fake.detach())).mean()
        of_judge.zero_grad()
        a.backward()
        of_judge.step()
        b = F.softplus(-judge(fake)).mean()
        of_maker.zero_grad()
        b.backward()
        of_maker.step()
        return a.detach(), b.detach()

    return each(step)


@program()
def metrics_in_places(capture):
    total, last = torch.zeros(()), {"loss": torch.zeros(())}

    def note(loss):
        total.add_(loss.detach())
        last["loss"] = last["loss"] + loss.detach()

    return train(capture, Net(), after=note) + arrays([total, last])


@program()
def batches_in_a_global_place(capture):
    batch = {}
    model = Net()
    run = capture(lambda: model(batch["x"]))

    def called(x):
        batch["x"] = x
        return run()

    return each(called)


@program()
def a_state_in_a_closure(capture):
    h = torch.zeros(6)
    run = capture(lambda x: torch.tanh(x.mean(0) + h))

    def called(x):
        nonlocal h
        h = run(x)
        return h

    return each(called)


@program()
def a_hidden_state_that_is_detached(capture):
    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.out, self.h = nn.GRUCell(6, 4), nn.Linear(4, 3), torch.zeros(5, 4)

        def forward(self, x):
            self.h = self.cell(x, self.h)
            found = self.out(self.h)
            self.h = self.h.detach()
            return found

    return train(capture, Cell())


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sign(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x.abs() < 1)


@program()
def custom_functions(capture):
    model = Net()
    return train(capture, model, lambda x, y: F.cross_entropy(Sign.apply(model(x)), y))


@program()
def checkpoints_with_dropout(capture):
    model = Net(0.3)

    def loss_of(x, y):
        return F.cross_entropy(
            torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False), y)

    return train(capture, model, loss_of)


@program()
def functions_of_functions(capture):
    w = torch.ones(6)
    derivative = torch.func.grad(lambda w, x: torch.tanh(w @ x))
    return each(capture(lambda x: torch.func.vmap(derivative, (None, 0))(w, x)))


@program()
def python_numbers(capture):
    return each(capture(lambda q: torch.softmax(q @ q.T / math.sqrt(q.shape[-1]), -1)))


# -- NumPy-like -------------------------------------------------------------------------------


@program()
def jacobi_iterations(capture):
    b = np.asarray(numpy.random.default_rng(0).normal(size=(10, 10)))

    @capture
    def step(u):
        v = u.copy()
        v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
                                - b[1:-1, 1:-1])
        return v

    u, found = np.zeros((10, 10)), []
    for _ in range(CALLS):
        u = step(u)
        found += arrays(u)
    return found


@program()
def updates_through_views(capture):
    a = np.arange(12.0)

    @capture
    def step():
        a[1:-1] += 0.1 * (a[:-2] - 2 * a[1:-1] + a[2:])
        return a[::2]

    return [x for _ in range(CALLS) for x in arrays([step(), a])]


@program()
def a_simulation_in_an_object(capture):
    class Oscillator:
        def __init__(self):
            self.x, self.v, self.dt = np.linspace(0, 1, 8), np.zeros(8), 0.1

        def step(self):
            self.v = self.v - self.dt * self.x
            self.x = self.x + self.dt * self.v

    state = Oscillator()
    step = capture(state.step)
    return [x for _ in range(CALLS) for x in (step(), arrays([state.x, state.v]))[1]]


@program()
def two_buffers_that_change_places(capture):
    class Heat:
        def __init__(self):
            self.a, self.b = np.arange(8.0), np.zeros(8)

        def step(self):
            self.b[1:-1] = (self.a[2:] + self.a[:-2]) / 2
            self.a, self.b = self.b, self.a

    state = Heat()
    step = capture(state.step)
    return [x for _ in range(CALLS) for x in (step(), arrays([state.a, state.b]))[1]]


@program()
def a_history_that_is_shifted(capture):
    class Memory:
        def __init__(self):
            self.now, self.before, self.first = np.zeros(3), np.ones(3), np.ones(3)

        def step(self, x):
            self.first, self.before, self.now = self.before, self.now, 2 * self.now - self.first + x
            return self.now

    state = Memory()
    step = capture(state.step)
    return [x for k in range(CALLS) for x in arrays(
        [step(np.full(3, float(k))), state.now, state.before, state.first])]


@program()
def views_of_arrays(capture):
    step = capture(lambda x: (x[::2], x.reshape(2, 3).T, x.astype(np.float32)[1:]))
    found = []
    for _ in range(CALLS):
        x = np.arange(6.0)
        a, b, c = step(x)
        a[0] = 5.0
        assert a.base is x and not a.flags.owndata and a.strides == (16,) and b.strides == (8, 24)
        found += arrays([a, b, c, x])
    return found


@program()
def random_numbers(capture):
    generator = np.random.default_rng(0)
    step = capture(lambda x: x + generator.normal(size=4))
    return [a for _ in range(CALLS) for a in arrays(step(np.ones(4)))]


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    function, runs = PROGRAMS[name]
    kept = []

    def capture(f):
        made = torch.compile(f)
        kept.append(made)
        return made

    with lazyloom.options(reproducible=True):
        torch.manual_seed(0)
        recorded = function(lambda f: f)
        torch.manual_seed(0)
        captured = function(capture)
    explanations = [torch._dynamo.explain(made) for made in kept]
    assert len(recorded) == len(captured)
    for number, (a, b) in enumerate(zip(recorded, captured)):
        numpy.testing.assert_array_equal(a, b, err_msg=f"{number}: {explanations}")
    assert explanations[0].runs >= runs, explanations
    assert not explanations[0].refused
