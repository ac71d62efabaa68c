"""Numbers that change are fed to captured calls where they are operands, and only there."""

from __future__ import annotations

import datetime
import fractions
import math

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom.capture.consumed import variable_is_operand

pytestmark = pytest.mark.usefixtures("quick_compiler")

nn, F = torch.nn, torch.nn.functional
schedules = torch.optim.lr_scheduler
CALLS = 12


@pytest.fixture(autouse=True)
def reproducible():
    with lazyloom.options(reproducible=True):
        yield


def both(program):
    """What a program gives with calls recorded, and captured with the captured function."""
    torch.manual_seed(0)
    recorded = program(lambda f: f)
    kept = []

    def compiled(function):
        kept.append(torch.compile(function))
        return kept[-1]

    torch.manual_seed(0)
    captured = program(compiled)
    assert len(recorded) == len(captured)
    for number, (a, b) in enumerate(zip(recorded, captured)):
        numpy.testing.assert_array_equal(a, b, err_msg=f"{number}: {kept[0].explain()}")
    return kept[0].explain()


def training(optimizer, change, body=None, calls=CALLS):
    """A program that trains and changes the optimizer's numbers after each step."""

    def program(compiled):
        model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
        x, y = torch.randn(6, 4), torch.randint(0, 3, (6,))
        lazyloom.sync()
        opt = optimizer(model.parameters())
        changed = change(opt)

        def step():
            opt.zero_grad()
            loss = F.cross_entropy(model(x), y)
            if body is not None:
                loss = body(loss, opt)
            loss.backward()
            opt.step()
            return loss.detach()

        run = compiled(step)
        found = []
        for k in range(calls):
            found.append(run().numpy().copy())
            changed(k)
        return found + [p.detach().numpy() for p in model.parameters()]

    return program


def scheduler(make):
    return lambda opt: (lambda made: lambda k: made.step())(make(opt))


def set_numbers(**rules):
    """A change of numbers of the first group, by functions of the step."""

    def change(opt):
        return lambda k: opt.param_groups[0].update({n: rule(k) for n, rule in rules.items()})

    return change


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.1,
                                          weight_decay=0.01),
    "sgd one by one": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, foreach=False),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01, amsgrad=True),
    "nadam": lambda p: torch.optim.NAdam(p, lr=0.01),
    "radam": lambda p: torch.optim.RAdam(p, lr=0.01),
    "adamax": lambda p: torch.optim.Adamax(p, lr=0.01),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.01),
    "adadelta": lambda p: torch.optim.Adadelta(p, lr=0.5),
    "asgd": lambda p: torch.optim.ASGD(p, lr=0.01),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.5),
}
SCHEDULERS = {
    "cosine": lambda o: schedules.CosineAnnealingLR(o, 20),
    "exponential": lambda o: schedules.ExponentialLR(o, 0.9),
    "warmup": lambda o: schedules.LambdaLR(o, lambda k: k / 8),
    "steps": lambda o: schedules.StepLR(o, 5, 0.5),
    "warm restarts": lambda o: schedules.CosineAnnealingWarmRestarts(o, 4),
    "sequence": lambda o: schedules.SequentialLR(
        o, [schedules.LinearLR(o, 0.1, total_iters=4), schedules.ExponentialLR(o, 0.9)], [4]),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_schedules_of_every_optimizer(optimizer):
    explanation = both(training(OPTIMIZERS[optimizer], scheduler(SCHEDULERS["exponential"])))
    assert explanation.captures == 2 and explanation.runs == CALLS - 3, explanation


@pytest.mark.parametrize("name", SCHEDULERS)
def test_every_schedule(name):
    explanation = both(training(OPTIMIZERS["momentum"], scheduler(SCHEDULERS[name])))
    assert explanation.captures <= 2 and explanation.runs >= CALLS - 3, explanation


@pytest.mark.parametrize("optimizer", ["momentum", "adamw"])
def test_one_cycle_changes_the_momentum_too(optimizer):
    explanation = both(training(OPTIMIZERS[optimizer], scheduler(
        lambda o: schedules.OneCycleLR(o, 0.1, total_steps=20))))
    assert explanation.captures == 2 and explanation.runs == CALLS - 3, explanation


def test_all_numbers_of_a_group_at_once():
    change = set_numbers(
        lr=lambda k: 0.1 / (k + 1), weight_decay=lambda k: 0.01 * k + 0.001,
        momentum=lambda k: 0.5 + k / 100, dampening=lambda k: k / 50 + 0.1)
    explanation = both(training(OPTIMIZERS["momentum"], change))
    assert explanation.captures == 2 and explanation.runs == CALLS - 3, explanation


def test_zero_and_one_are_learning_rates():
    rates = [0.1, 0.2, 0.0, 1.0, 0.5, 0.0, 1.0, 0.25, -0.0, 0.5, 0.1, 0.3]
    explanation = both(training(OPTIMIZERS["adam"], set_numbers(lr=lambda k: rates[k])))
    assert explanation.captures == 2 and explanation.runs == CALLS - 3, explanation


def test_numbers_of_numpy():
    change = set_numbers(lr=lambda k: numpy.float64(0.1) * numpy.cos(k / 10))
    explanation = both(training(OPTIMIZERS["sgd"], change))
    assert explanation.captures == 2 and explanation.runs == CALLS - 3, explanation


def test_a_weight_decay_that_ends_is_recorded():
    """It decides which op is recorded: a comparison that comes out otherwise is no match."""
    decays = [0.1, 0.2, 0.3, 0.4, 0.0, 0.0, 0.0, 0.5, 0.6, 0.0, 0.7, 0.8]
    explanation = both(training(OPTIMIZERS["adamw"], set_numbers(weight_decay=lambda k: decays[k])))
    assert 3 <= explanation.captures <= 4 and explanation.runs >= 6, explanation
    assert "depends on weight_decay" in str(explanation)


def test_groups_of_their_own_rates():
    def optimizer(parameters):
        a, *rest = parameters
        return torch.optim.SGD([{"params": [a], "lr": 0.3}, {"params": rest}], lr=0.1)

    explanation = both(training(optimizer, scheduler(SCHEDULERS["exponential"])))
    assert explanation.captures == 2 and explanation.runs == CALLS - 3, explanation


def test_flags_and_whole_numbers_are_constants():
    change = set_numbers(lr=lambda k: 1 + k % 3, maximize=lambda k: k > 6)
    explanation = both(training(lambda p: torch.optim.SGD(p, lr=1), change))
    assert explanation.captures >= 3, explanation


READERS = {
    "an item": lambda loss, opt: loss * opt.param_groups[0]["lr"],
    "a function in C": lambda loss, opt: loss * math.sqrt(opt.param_groups[0]["lr"]),
    "a sum": lambda loss, opt: loss * sum(
        v for v in opt.param_groups[0].values() if isinstance(v, float)),
    "a text": lambda loss, opt: loss * (len(repr(opt)) / 1000),
    "a state dict": lambda loss, opt: loss * list(
        opt.state_dict()["param_groups"][0].values())[0],
    "a branch": lambda loss, opt: loss * 2 if opt.param_groups[0]["lr"] > 0.05 else loss,
    "attributes by name": lambda loss, opt: loss * getattr(opt, "param_" + "groups")[0]["lr"],
    "the dict of attributes": lambda loss, opt: loss * opt.__dict__["param_groups"][0]["lr"],
}


@pytest.mark.parametrize("name", READERS)
def test_what_else_reads_a_rate_is_followed(name):
    both(training(OPTIMIZERS["sgd"], scheduler(SCHEDULERS["exponential"]), READERS[name]))


def test_groups_that_are_held_elsewhere():
    held = []

    def change(opt):
        held[:] = [opt.param_groups[0]]
        return scheduler(SCHEDULERS["exponential"])(opt)

    def body(loss, opt):
        return loss * sum(v for v in held[0].values() if isinstance(v, float))

    explanation = both(training(OPTIMIZERS["sgd"], change, body))
    assert "held elsewhere" in str(explanation)


def test_hooks_and_schedules_that_read_a_rate():
    class Log:
        scale = 1.0

    def change(opt):
        opt.register_step_pre_hook(lambda o, args, kwargs: [
            p.grad.mul_(1 + o.param_groups[0]["lr"]) for p in o.param_groups[0]["params"]] and None)
        return scheduler(SCHEDULERS["exponential"])(opt)

    explanation = both(training(OPTIMIZERS["sgd"], change))
    assert "the program reads param_groups" in str(explanation)

    def with_schedule(compiled):
        p = nn.Parameter(torch.ones(3))
        opt = torch.optim.SGD([p], lr=0.5)
        made = schedules.ExponentialLR(opt, 0.9)

        def step():
            (p * made.get_last_lr()[0]).sum().backward()
            opt.step()
            opt.zero_grad()

        run = compiled(step)
        found = []
        for _ in range(CALLS):
            run()
            made.step()
            found.append(p.detach().numpy().copy())
        return found

    both(with_schedule)


def test_optimizers_of_the_program():
    class Own(torch.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        def step(self):
            with torch.no_grad():
                for group in self.param_groups:
                    for p in group["params"]:
                        p.sub_(p.grad * math.sin(group["lr"]))

    class Derived(torch.optim.SGD):
        def step(self):
            with torch.no_grad():
                for p in self.param_groups[0]["params"]:
                    p.mul_(1 - self.param_groups[0]["lr"] ** 2)
            super().step()

    for cls in (Own, Derived):
        both(training(lambda p, cls=cls: cls(p, lr=0.1), scheduler(SCHEDULERS["exponential"])))


def test_an_optimizer_with_methods_of_its_own():
    def optimizer(parameters):
        made = torch.optim.SGD(parameters, lr=0.1)
        update = made._update

        def other(batch, group):
            update(batch, {**group, "lr": math.sqrt(group["lr"])})

        made._update = other
        return made

    explanation = both(training(optimizer, scheduler(SCHEDULERS["exponential"])))
    assert "methods of its own" in str(explanation)


def test_a_rate_that_is_a_tensor():
    def change(opt):
        return lambda k: opt.param_groups[0]["lr"].mul_(0.9)

    explanation = both(training(
        lambda p: torch.optim.Adam(p, lr=torch.tensor(0.1)), change))
    assert explanation.captures == 1 and explanation.runs >= CALLS - 3, explanation


# -- arguments and variables of enclosing functions ------------------------------------------


def calls(function, numbers):
    """A program that calls a function of an array and a number."""

    def program(compiled):
        x = torch.linspace(-1, 1, 6).reshape(2, 3)
        run = compiled(function)
        return [run(x, n).numpy().copy() for n in numbers]

    return program


RATES = [0.1 + 0.07 * k for k in range(CALLS)]


def branching(x, t):
    if t > 0.5:
        return x * t
    return x - t


def looping(x, t):
    for _ in range(3):
        x = x + x * -t
    return x


def nested_expression(x, t):
    return x * (1 - t) + (x + 1).mean(0) * (t * 0.5 / (2.0 - t)) - torch.tanh(x) / t


def in_place(x, t):
    y = x + 0
    y *= t
    y -= t
    return y


@pytest.mark.parametrize("function", [
    lambda x, t: x * t, lambda x, t: t * x, lambda x, t: t - x, lambda x, t: x / t,
    lambda x, t: t / (x + 3), branching, looping, nested_expression,
    lambda x, t: torch.where(x < t, x, -x), lambda x, t=1.0: x + t])
def test_arguments_in_arithmetic_are_fed(function):
    explanation = both(calls(function, RATES))
    assert explanation.captures <= 3 and explanation.runs >= CALLS - 4, explanation
    assert "cannot be fed" not in str(explanation)


class Scale:
    def __init__(self, power):
        self.power = power

    def __mul__(self, t):
        return math.exp(t * self.power)

    __sub__ = __lt__ = __mul__


class Marked(torch.Tensor):
    def __mul__(self, t):
        return super().__mul__(math.exp(t))


SCALE = Scale(0.5)


def rebound(x, t):
    t = t * 2
    return x * t


def kept_number(x, t):
    half = t / 2
    return x * math.sqrt(half)


def inner(x, t):
    return (lambda: x * math.exp(t))()


@pytest.mark.parametrize("function", [
    lambda x, t: x * math.sqrt(t), lambda x, t: torch.add(x, x, alpha=t), lambda x, t: x ** t,
    lambda x, t: x * float(format(t, ".1f")), lambda x, t: x * len(f"{t}"),
    lambda x, t: x * [t, 1][0], lambda x, t: x * (2 if type(t) is float else 3),
    lambda x, t: x * round(t, 1), lambda x, t: x if t == 0.1 else -x,
    lambda x, t: x * sum((t, t)), lambda x, t: x * int(t * 10), lambda x, t: x * max(t, 0.3),
    lambda x, *t: x * math.exp(t[0]), rebound, kept_number, inner, in_place,
    lambda x, t: x * (SCALE * t), lambda x, t: x * (SCALE - t), lambda x, t: x * (SCALE < t),
    lambda x, t: x * (1j * t).imag, lambda x, t: x * abs(1j * t - 2j),
    lambda x, t: x * (datetime.timedelta(1) * t).total_seconds(),
    lambda x, t: x * float(fractions.Fraction(1, 3) * t),
    lambda x, t: x.as_subclass(Marked) * t,
    lambda x, t: x * numpy.float64(t), lambda x, t: x * (numpy.float64(2) * t)])
def test_arguments_that_are_more_than_operands_are_constants(function):
    explanation = both(calls(function, RATES))
    assert explanation.runs == 0, explanation


def test_numbers_that_are_structure_are_recorded():
    numbers = [0.1, 0.2, 0.3, 0.4, 1.0, 0.5, 0.0, -1.0, -0.0, 0.6, 0.7, 0.8]
    found = calls(lambda x, t: x * t, numbers)
    explanation = both(found)
    assert explanation.runs >= 5, explanation
    x = torch.linspace(-1, 1, 3)
    run = torch.compile(lambda x, t: x * t)
    for n in numbers:
        signs = [math.copysign(1, v) for v in run(x, n).tolist()]
        assert signs == [math.copysign(1, v) for v in (x * n).tolist()]


def test_numbers_that_are_none():
    with numpy.errstate(all="ignore"):
        both(calls(lambda x, t: x * t, [0.1, 0.2, 0.3, math.nan, math.inf, -math.inf, 0.4, 1e300]))
    run = torch.compile(lambda x, t: x * (1 / t))
    x = torch.ones(2)
    for n in (1.5, 2.0, 2.5, 4.0):
        assert run(x, n).tolist() == (x * (1 / n)).tolist()
    assert run.explain().runs > 0
    with pytest.raises(ZeroDivisionError):
        run(x, 0.0)
    assert run(x, 5.0).tolist() == (x * (1 / 5.0)).tolist()


def test_other_types_of_numbers():
    run = torch.compile(lambda x, t: x * t)
    whole = torch.arange(3)
    for t in (0.5, 0.25, 0.75, 2, 3, True, 0.125, numpy.float64(0.375), numpy.float32(0.5)):
        for x in (whole, whole.float(), whole.double(), whole.half()):
            found, expected = run(x, t), x * t
            assert found.dtype is expected.dtype and found.tolist() == expected.tolist()


def test_numbers_of_numpy_decide_dtypes():
    run = lazyloom.jit(lambda x, t: x * t)
    x = np.ones(2, dtype=np.float32)
    for t in (0.5, 0.25, 0.75, 1.5, numpy.float64(0.375), 2.5, numpy.float64(0.625)):
        found, expected = run(x, t), x * t
        assert found.dtype == expected.dtype and found.tolist() == expected.tolist()
    assert run.explain().runs > 0
    scale = 0.5
    closed = lazyloom.jit(lambda x: x * scale)
    for t in (0.5, 0.25, 0.75, 1.5, numpy.float64(0.375), 2.5):
        scale = t
        assert closed(x).dtype == (x * t).dtype


def test_numbers_by_name_and_of_methods():
    class Holder:
        def step(self, x, t, *, by=1.0):
            return x * t + by

    run = torch.compile(Holder().step)
    x = torch.ones(2)
    for k in range(CALLS):
        assert run(x, 0.25 * k + 0.5, by=0.5 * k + 2).tolist() == [0.75 * k + 2.5] * 2
    assert run.explain().runs >= CALLS - 4, run.explain()


@pytest.mark.parametrize("like", [torch.ones, np.ones])
def test_variables_of_enclosing_functions(like):
    scale = 1.5
    offset = 0.5

    def f(x):
        return x * scale - (1 - offset)

    run = lazyloom.jit(f)
    for k in range(CALLS):
        assert run(like(2)).tolist() == [1.5 + 0.25 * k - (1 - (0.5 + 2 * k))] * 2
        assert type(scale) is float and type(offset) is float
        scale += 0.25
        offset += 2
    assert run.explain().runs == CALLS - 3, run.explain()


def test_variables_that_other_functions_read():
    scale = 1.5

    def helper(x):
        return x * math.sqrt(scale)

    def f(x):
        return helper(x) * scale

    run = torch.compile(f)
    for _ in range(CALLS):
        assert run(torch.ones(1)).tolist() == f(torch.ones(1)).tolist()
        scale += 0.25
    assert run.explain().runs == 0 and "helper does more" in str(run.explain())


def test_the_number_is_put_back_where_the_call_fails():
    scale = 1.5
    failing = False

    def f(x):
        if failing:
            raise ValueError("on purpose")
        return x * scale

    run = torch.compile(f)
    for _ in range(3):
        run(torch.ones(1))
    scale, failing = 2.5, True
    with pytest.raises(ValueError, match="on purpose"):
        run(torch.ones(1))
    assert type(scale) is float and scale == 2.5


def test_fed_calls_record_nothing_and_compile_nothing():
    run = torch.compile(lambda x, t: torch.tanh(x * t) + t)
    x = torch.ones(3)
    for k in range(4):
        run(x, 0.3 + k / 16).tolist()
    before = lazyloom.stats()
    for k in range(5):
        run(x, 2.3 + k / 16).tolist()
    after = lazyloom.stats()
    assert after["ops_traced"] == before["ops_traced"]
    assert after["programs_compiled"] == before["programs_compiled"]


def test_what_the_bytecode_says():
    def code(f):
        return f.__code__

    for fine in (lambda t, x: x * t, lambda t, x: t * x(1, 2)[0].y, lambda t, x: x - (t + 1) * -t,
                 lambda t, x: 1 if t < x else 2, lambda t, x: x):
        assert variable_is_operand(code(fine), "t")
    for more in (lambda t: t, lambda t: [t], lambda t: t.real, lambda t: print(t), lambda t: (t, 1),
                 lambda t: t if t else 1, lambda t: f"{t}", lambda t: t is None,
                 lambda t: {t: 1}, lambda t: t[0], lambda t, x: x[t], lambda t, x: x ** t,
                 lambda t, x: x @ t, lambda t: t == 1, lambda t, x: x(t) + 1,
                 lambda t, x: x(1, k=t) + 1, lambda t: t or 1, lambda t: lambda: t):
        assert not variable_is_operand(code(more), "t")


def test_every_method_of_a_float_is_noted():
    from lazyloom.trace import fed

    quiet = {"__new__", "__init__", "__class__", "__getattribute__", "__setattr__", "__delattr__",
             "__init_subclass__", "__subclasshook__", "__doc__", "__getformat__", "__setformat__",
             "fromhex", "from_number", "__getstate__", "__dir__", "__reduce__"}
    noted = {"__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "__bool__"}
    followed = {"__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__",
                "__truediv__", "__rtruediv__", "__neg__"}
    for name in sorted(set(dir(float)) - quiet):
        feeding = fed.Feeding()
        number = fed.source(0.75, feeding, 0)
        method = getattr(number, name)
        arguments = {"__format__": ("",), "__pow__": (2.0,), "__rpow__": (2.0,),
                     "__reduce_ex__": (2,), "__round__": (1,)}.get(name)
        plain = getattr(0.75, name)
        if callable(method):
            if arguments is None:
                arguments = () if name in ("__bool__", "__neg__") or not name.startswith("__") or (
                    name in _OF_ONE) else (2.0,)
            found, expected = method(*arguments), plain(*arguments)
        else:
            found, expected = method, plain
        if name in noted:
            assert feeding.conditions and not feeding.spoiled, name
            assert feeding.hold([0.75])
        elif name in followed:
            assert not feeding.spoiled and type(found) is fed.Fed, name
            assert found.derive([3.0]) == getattr(3.0, name)(*arguments)
        else:
            assert feeding.spoiled, name
        if name != "__sizeof__":
            assert str(found) == str(expected), name


_OF_ONE = {"__abs__", "__pos__", "__int__", "__float__", "__trunc__", "__floor__", "__ceil__",
           "__hash__", "__repr__", "__str__", "__reduce__", "__getnewargs__", "__sizeof__"}
