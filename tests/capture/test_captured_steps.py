"""Captured steps of training give what recorded ones do, bit for bit, and run without recording."""

from __future__ import annotations

import copy

import numpy
import pytest

import lazyloom
import lazyloom_torch as torch

pytestmark = pytest.mark.usefixtures("quick_compiler")

nn, F = torch.nn, torch.nn.functional


@pytest.fixture(autouse=True)
def reproducible():
    with lazyloom.options(reproducible=True):
        yield


def batches(count, features=6, classes=3, size=5):
    random = numpy.random.default_rng(0)
    return [(torch.tensor(random.normal(size=(size, features)).astype(numpy.float32)),
             torch.tensor(random.integers(0, classes, size))) for _ in range(count)]


def state_of(model, optimizer=None):
    found = {k: v.detach().numpy().copy() for k, v in model.state_dict().items()}
    for k, p in model.named_parameters():
        found[f"{k}.grad"] = None if p.grad is None else p.grad.numpy().copy()
    if optimizer is not None:
        for i, own in optimizer.state_dict()["state"].items():
            for k, v in own.items():
                found[f"{i}.{k}"] = v.detach().numpy().copy() if isinstance(v, torch.Tensor) else v
    return found


def assert_equal(a, b):
    assert a.keys() == b.keys()
    for k in a:
        if a[k] is None or b[k] is None:
            assert a[k] is None and b[k] is None, k
        else:
            numpy.testing.assert_array_equal(a[k], b[k], err_msg=k)


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x):
        return self.b(F.relu(self.a(x)))


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b = nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 3)

    def forward(self, x):
        return self.b(torch.relu(self.norm(self.a(x))))


class Dropped(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.3), nn.LayerNorm(8), nn.Linear(8, 3))

    def forward(self, x):
        return self.layers(x)


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
}


def train(make, optimizer, captured, zero="last", steps=8):
    torch.manual_seed(3)
    model = make()
    opt = OPTIMIZERS[optimizer](model.parameters())

    def step(x, y):
        if zero == "first":
            opt.zero_grad()
        if zero == "zeros":
            opt.zero_grad(set_to_none=False)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        if zero == "last":
            opt.zero_grad()
        return loss.detach()

    run = torch.compile(step) if captured else step
    losses = [float(run(x, y)) for x, y in batches(steps)]
    if captured:
        explanation = run.explain()
        assert explanation.captures == 1 and explanation.runs >= steps - 4, explanation
    return losses, state_of(model, opt)


@pytest.mark.parametrize("make", [Plain, Normed, Dropped])
@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_a_whole_step(make, optimizer):
    recorded, before = train(make, optimizer, False)
    captured, after = train(make, optimizer, True)
    assert recorded == captured
    assert_equal(before, after)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer(optimizer):
    recorded, before = train(Plain, optimizer, False)
    captured, after = train(Plain, optimizer, True)
    assert recorded == captured
    assert_equal(before, after)


@pytest.mark.parametrize("zero", ["first", "zeros", "never"])
def test_gradients_that_are_left(zero):
    recorded, before = train(Plain, "momentum", False, zero)
    captured, after = train(Plain, "momentum", True, zero)
    assert recorded == captured
    assert_equal(before, after)


@pytest.mark.parametrize("make", [Plain, Normed, Dropped])
def test_a_compiled_module(make):
    def run(compiled):
        torch.manual_seed(3)
        model = make()
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        called = torch.compile(model) if compiled else model
        losses = []
        for x, y in batches(8):
            loss = F.cross_entropy(called(x), y)
            loss.backward()
            opt.step()
            opt.zero_grad()
            losses.append(loss.item())
        if compiled:
            assert torch._dynamo.explain(called).runs >= 4
        model.eval()
        with torch.no_grad():
            for x, _ in batches(5):
                losses += called(x).tolist()
        return losses, state_of(model)

    recorded, before = run(False)
    captured, after = run(True)
    assert recorded == captured
    assert_equal(before, after)


def test_two_shapes_are_two_captures():
    model = torch.compile(Plain())
    small, large = batches(1)[0][0], batches(1, size=9)[0][0]
    with torch.no_grad():
        expected = [model._orig_mod(x).tolist() for x in (small, large)]
        for _ in range(4):
            for x, e in zip((small, large), expected):
                assert model(x).tolist() == e
    assert torch._dynamo.explain(model).captures == 2


def test_the_module_that_stands_for_a_compiled_one():
    torch.manual_seed(0)
    model = Normed()
    compiled = torch.compile(model)
    assert list(compiled.state_dict()) == [f"_orig_mod.{k}" for k in model.state_dict()]
    assert list(compiled.parameters()) == list(model.parameters())
    assert compiled.norm is model.norm and isinstance(compiled, nn.Module)
    compiled.eval()
    assert not model.training and not model.norm.training
    compiled.train()
    assert model.training and compiled.training
    compiled.extra = 3
    assert model.extra == 3
    other = copy.deepcopy(compiled)
    assert other._orig_mod is not model and other.extra == 3
    x = batches(1)[0][0]
    model.eval()
    other.eval()
    assert other(x).tolist() == compiled(x).tolist() == model(x).tolist()
    assert torch.compile(compiled) is compiled


def test_loss_that_requires_a_gradient_is_freed():
    model = Plain()

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss

    run = torch.compile(step)
    for x, y in batches(5):
        loss = run(x, y)
        assert loss.requires_grad
        with pytest.raises(RuntimeError, match="second time|freed"):
            loss.backward()
    assert run.explain().runs >= 1


def test_the_same_program_as_a_recorded_one():
    model = Plain()
    x = batches(1)[0][0]

    def forward(x):
        return F.relu(model(x)) * 2.5

    run = torch.compile(forward)
    with torch.no_grad():
        key = lazyloom.program_of(forward(x).value).key
        forward(x).tolist()
        compiled = lazyloom.stats()["programs_compiled"]
        for _ in range(5):
            run(x).tolist()
            assert lazyloom.last_evaluation().key == key
    assert lazyloom.last_evaluation().reason == "captured call"
    assert lazyloom.stats()["programs_compiled"] == compiled


def test_a_captured_call_records_nothing():
    model = Plain()
    run = torch.compile(model)
    x = batches(1)[0][0]
    with torch.no_grad():
        for _ in range(5):
            run(x)
        before = lazyloom.stats()["ops_traced"]
        run(x).tolist()
        assert lazyloom.stats()["ops_traced"] == before
