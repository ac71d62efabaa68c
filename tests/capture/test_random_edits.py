"""Random edits of what a function reads: captured and recorded calls agree, bit for bit."""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy
import pytest

import lazyloom
import lazyloom_torch as torch

nn, F = torch.nn, torch.nn.functional

GAIN = 1.0
CONFIG = {"shift": 0.0, "steps": [1.0, 2.0], "inner": {"on": True}}


def scaled(x):
    return x * GAIN + CONFIG["shift"]


class Block(nn.Module):
    offset = 0.0

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(3)
        self.drop = nn.Dropout(0.25)
        self.options = SimpleNamespace(power=1, names=("a", "b"))
        self.mean = torch.zeros(3)
        self.history = [1.0]

    def forward(self, x, keep=True):
        y = self.drop(self.norm(self.linear(x))) + self.offset
        for _ in range(self.options.power):
            y = torch.tanh(y)
        if "a" in self.options.names:
            y = y + self.history[-1]
        if keep:
            with torch.no_grad():
                self.mean = self.mean * 0.9 + y.mean(0) * 0.1
        return y


class World:
    """A program with state that can be edited: one runs captured, one as it is."""

    def __init__(self, captured):
        torch.manual_seed(0)
        self.model = Block()
        self.tied = self.model.linear.weight
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.5)
        self.factor = 2.0
        self.kept = []
        self.namespace = SimpleNamespace(t=torch.ones(3), k=1.5)
        factor = 2.0

        def step(x, n=1, train=True):
            out = self.model(x) * factor * n
            out = scaled(out) * self.namespace.k + self.namespace.t
            if CONFIG["inner"]["on"]:
                out = out * CONFIG["steps"][0]
            loss = (out ** 2).mean()
            if train:
                loss.backward()
                self.optimizer.step()
                self.optimizer.zero_grad()
            return loss.detach(), {"out": out.detach() + 0}

        def set_factor(value):
            nonlocal factor
            factor = value

        self.set_factor = set_factor
        self.step = torch.compile(step) if captured else step
        self.infer = torch.compile(self.model) if captured else self.model
        self.x = torch.linspace(-1, 1, 12).reshape(4, 3)


def edits():
    """Names with what each does to a world, given a random number."""
    def set_global(name, value):
        globals()[name] = value

    return {
        "nothing": lambda w, r: None, "again": lambda w, r: None, "and again": lambda w, r: None,
        "global": lambda w, r: set_global("GAIN", r),
        "item": lambda w, r: CONFIG.update(shift=r),
        "nested item": lambda w, r: CONFIG["inner"].update(on=r > 0.5),
        "list item": lambda w, r: CONFIG["steps"].__setitem__(0, r),
        "cell": lambda w, r: w.set_factor(r),
        "attribute": lambda w, r: setattr(w.namespace, "k", r),
        "tensor attribute": lambda w, r: setattr(w.namespace, "t", torch.full((3,), r)),
        "in place": lambda w, r: w.namespace.t.mul_(r),
        "class attribute": lambda w, r: setattr(Block, "offset", r),
        "mode": lambda w, r: w.model.train(r > 0.5),
        "dropout": lambda w, r: setattr(w.model.drop, "p", r / 2),
        "lr": lambda w, r: w.optimizer.param_groups[0].update(lr=r / 10),
        "momentum": lambda w, r: w.optimizer.param_groups[0].update(momentum=r / 2),
        "power": lambda w, r: setattr(w.model.options, "power", 1 + int(r * 3)),
        "names": lambda w, r: setattr(w.model.options, "names", ("a", "b") if r > 0.5 else ("b",)),
        "history": lambda w, r: w.model.history.append(r),
        "parameter": lambda w, r: w.model.linear.bias.data.fill_(r),
        "data": lambda w, r: setattr(w.model.linear.bias, "data", torch.full((3,), r)),
        "frozen": lambda w, r: w.model.linear.bias.requires_grad_(r > 0.5),
        "buffer": lambda w, r: w.model.norm.running_mean.fill_(r),
        "seed": lambda w, r: torch.manual_seed(int(r * 100)),
        "reset state": lambda w, r: w.optimizer.state.clear(),
        "grads": lambda w, r: setattr(w.model.linear.weight, "grad", torch.full((3, 3), r)),
        "batch": lambda w, r: setattr(w, "x", torch.linspace(-r, 1, 12).reshape(4, 3)),
        "shape": lambda w, r: setattr(
            w, "x", torch.linspace(-r, 1, 3 * (4 + int(r * 3))).reshape(-1, 3)),
        "view": lambda w, r: setattr(w, "x", torch.linspace(-r, 1, 24).reshape(8, 3)[2:6]),
        "load": lambda w, r: w.model.load_state_dict(
            {k: v * r if v.is_floating_point() else v for k, v in w.model.state_dict().items()}),
    }


def play(seed, captured, count=40):
    """What a world gives under a random sequence of edits and calls."""
    global GAIN, CONFIG
    GAIN, CONFIG = 1.0, {"shift": 0.0, "steps": [1.0, 2.0], "inner": {"on": True}}
    Block.offset = 0.0
    choose = random.Random(seed)
    world = World(captured)
    actions = edits()
    trace = []
    runs = 0
    name = ""
    for number in range(count):
        # calls are captured where nothing is edited for a while
        edited = number % 7 == 6 or number % 7 > 3 and choose.random() < 0.3
        torch.manual_seed(choose.randrange(5))
        if edited:
            name = choose.choice(list(actions))
            actions[name](world, choose.choice([0.25, 0.5, 0.75, 1.0, -0.0, 0.0]))
        # a captured call is a program of its own; what is fused with it may differ in last bits
        lazyloom.sync()
        how = choose.random() * (1 if number > 20 else 0.7)
        n = choose.choice([1, 1, 1, 2, 2.0]) if number % 7 > 3 else 1
        if how < 0.7:
            loss, found = world.step(world.x, n)
            lazyloom.sync()
            trace.append((name, loss.numpy(), found["out"].numpy()))
        elif how < 0.85:
            with torch.no_grad():
                trace.append((name, world.infer(world.x).numpy()))
        else:
            out = world.infer(world.x, keep=False)
            out.sum().backward()
            grad = world.model.linear.weight.grad.numpy()
            world.optimizer.zero_grad()
            trace.append((name, out.detach().numpy(), grad))
        trace.append(("mean", world.model.mean.numpy(), world.model.norm.running_mean.numpy()))
        if captured:
            for compiled in (world.step, world.infer):
                explanation = torch._dynamo.explain(compiled)
                if explanation.refused:
                    runs += explanation.runs
                    (compiled if compiled is world.step else compiled._captured).forget()
    if captured:
        runs += world.step.explain().runs
    return trace, runs


@pytest.mark.usefixtures("quick_compiler")
@pytest.mark.parametrize("seed", range(6))
def test_random_edits(seed):
    with lazyloom.options(reproducible=True):
        recorded, _ = play(seed, False)
        captured, runs = play(seed, True)
    assert runs > 10
    assert len(recorded) == len(captured)
    for number, (a, b) in enumerate(zip(recorded, captured)):
        assert a[0] == b[0]
        for x, y in zip(a[1:], b[1:]):
            numpy.testing.assert_array_equal(x, y, err_msg=f"step {number}, after {a[0]}")
