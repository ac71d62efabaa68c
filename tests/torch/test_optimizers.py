"""Optimizers and schedules against PyTorch's; what a step records and reads.

``python -m tests.conformance.torch_optim`` walks all configurations and dtypes.
"""

from __future__ import annotations

import copy
import gc
import importlib
import pickle
from typing import Any

import numpy as np
import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom_torch import nn
from tests.torch.oracle import same

real = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's tables of samples need it")

from tests.conformance import torch_optim  # noqa: E402

NAMES = [info.name for info in torch_optim.entries(["*"])]


def test_all_optimizers_are_there() -> None:
    assert len(NAMES) == 14
    assert all(issubclass(getattr(torch.optim, n), torch.optim.Optimizer) for n in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_steps_and_state_dicts_are_pytorchs(name: str) -> None:
    (info,) = torch_optim.entries([name])
    walk = torch_optim.Walk(info, real.float32)
    place, kwargs, grouped = list(walk.configurations())[-2 if info.supports_param_groups else -1]
    walk._attempt(place, kwargs, grouped)
    walk._errors()
    assert not walk.result.first, walk.result.line()
    assert walk.result.steps == walk.result.exchange == 1
    assert walk.result.errors == walk.result.errors_configurations > 0


def parameters(*shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(0)
    return [nn.Parameter(torch.tensor(rng.normal(size=s).astype(np.float32))) for s in shapes]


def test_gradients_flow_through_a_differentiable_step() -> None:
    def f(t: Any) -> Any:
        start = t.tensor([0.5, 1.5, 2.5], dtype=t.float64, requires_grad=True)
        found = []
        for make in (
            lambda p: t.optim.Adam([p], lr=0.1, differentiable=True),
            lambda p: t.optim.SGD([p], lr=0.1, momentum=0.9, nesterov=True, differentiable=True),
        ):
            p = start.clone()
            optimizer = make(p)
            for _ in range(2):
                p.grad = start * start
                optimizer.step()
            found += t.autograd.grad([(p * p).sum()], [start])
        return found

    same(f, real)


def test_a_rate_may_be_a_tensor_that_a_schedule_writes() -> None:
    def f(t: Any) -> Any:
        p = t.nn.Parameter(t.tensor([1.0, 2.0]))
        lr = t.tensor(0.5)
        optimizer = t.optim.SGD([p], lr=lr)
        schedule = t.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.1)
        for _ in range(3):
            p.grad = t.tensor([1.0, -1.0])
            optimizer.step()
            schedule.step()
        assert optimizer.param_groups[0]["lr"] is lr
        return p, lr, schedule.get_last_lr()[0]

    same(f, real)


def test_a_parameter_named_twice_is_updated_twice() -> None:
    def f(t: Any) -> Any:
        p = t.nn.Parameter(t.tensor([1.0, 2.0]))
        with pytest.warns(UserWarning, match="duplicate parameters"):
            optimizer = t.optim.SGD([p, p], lr=0.5)
        p.grad = t.tensor([1.0, -1.0])
        optimizer.step()
        return p

    same(f, real)


def test_hooks_run_in_pytorchs_order_and_may_change_things() -> None:
    def f(t: Any) -> Any:
        told: list[Any] = []
        p = t.nn.Parameter(t.tensor([1.0]))
        optimizer = t.optim.Adam([("weight", p)], lr=0.5)
        optimizer.register_step_pre_hook(lambda o, a, k: told.append("pre"))
        optimizer.register_step_post_hook(lambda o, a, k: told.append("post"))
        module = importlib.import_module(f"{t.__name__}.optim.optimizer")
        every = module.register_optimizer_step_pre_hook(
            lambda o, a, k: told.append("every"))
        optimizer.register_state_dict_pre_hook(lambda o: told.append("state"))
        optimizer.register_state_dict_post_hook(lambda o, d: {**d, "more": 1})
        optimizer.register_load_state_dict_pre_hook(
            lambda o, d: {k: v for k, v in d.items() if k != "more"})
        optimizer.register_load_state_dict_post_hook(lambda o: told.append("loaded"))
        p.grad = t.tensor([1.0])
        optimizer.step()
        every.remove()
        kept = optimizer.state_dict()
        told.append(sorted(kept))
        optimizer.load_state_dict(kept)
        optimizer.step()
        told.append(optimizer.param_groups[0]["param_names"])
        told.append(repr(optimizer))
        return told, p

    same(f, real)


def test_an_optimizer_of_ones_own() -> None:
    def f(t: Any) -> Any:
        class Sign(t.optim.Optimizer):  # type: ignore[misc]
            def __init__(self, params: Any, lr: float) -> None:
                super().__init__(params, {"lr": lr})

            @t.no_grad()  # type: ignore[untyped-decorator]
            def step(self, closure: Any = None) -> None:
                for group in self.param_groups:
                    for p in group["params"]:
                        state = self.state[p]
                        state["count"] = state.get("count", 0) + 1
                        p.add_(p.grad.sign(), alpha=-group["lr"] / state["count"])

        p = t.nn.Parameter(t.tensor([1.0, 2.0]))
        optimizer = Sign([p], lr=0.5)
        told: list[int] = []
        optimizer.register_step_post_hook(lambda o, a, k: told.append(1))
        for _ in range(3):
            (p * p).sum().backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
        return p, p.grad, told, optimizer.state_dict()

    same(f, real)


def test_a_module_is_no_list_of_parameters() -> None:
    for given, said in ((torch.nn.Linear(2, 1), r"got lazyloom_torch\..*Linear; pass its param"),
                        (torch.zeros(2), "got lazyloom_torch.Tensor$"), (3, "got int$")):
        with pytest.raises(TypeError, match=said):
            torch.optim.SGD(given, lr=0.1)


def test_copies_of_an_optimizer_step_alike() -> None:
    params = parameters((2, 3), (4,))
    optimizer = torch.optim.AdamW(params, lr=0.1)

    def step(o: Any) -> Any:
        for p in o.param_groups[0]["params"]:
            p.grad = torch.ones(*p.shape)
        o.step()
        return [p.detach().numpy() for p in o.param_groups[0]["params"]]

    step(optimizer)
    copies = [copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))]
    expected = step(optimizer)
    for other in copies:
        for a, b in zip(step(other), expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_gradients_add_up_over_batches_within_one_program() -> None:
    (p,) = parameters((3,))
    start = p.detach().numpy()
    optimizer = torch.optim.SGD([p], lr=0.1)
    batches = [torch.tensor(np.full(3, i, np.float32)) for i in range(1, 5)]
    keys, before = set(), lazyloom.stats()["reads"]
    for _ in range(2):
        optimizer.zero_grad()
        for x in batches:
            ((p * x).sum() / len(batches)).backward()
        optimizer.step()
        gc.collect()  # a kernel that JAX just traced may have left a cycle with who asked for it
        keys.add(lazyloom.program_of(p).key)
        lazyloom.sync(p)
    assert len(keys) == 1 and lazyloom.stats()["reads"] == before
    np.testing.assert_allclose(p.detach().numpy(), start - 2 * 0.1 * 2.5, rtol=1e-6)


@pytest.mark.compiled
def test_lbfgs_reads_twice_an_iteration_and_settles() -> None:
    (p,) = parameters((40,))
    goal = torch.tensor(np.linspace(-1, 1, 40, dtype=np.float32))
    optimizer = torch.optim.LBFGS([p], max_iter=8, max_eval=100, history_size=4)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = ((p - goal) ** 2 * (1 + goal * goal)).sum() + ((p - goal) ** 4).sum()
        loss.backward()
        return loss

    def programs() -> int:
        found = lazyloom.stats()
        return found["programs_compiled"] + found["programs_from_disk"]

    known = 0
    for _ in range(4):
        goal.neg_()
        goal.read()
        before = lazyloom.stats()["reads"]
        known = programs()
        optimizer.step(closure)
        assert lazyloom.stats()["reads"] - before <= 2 * 8 + 1
    assert programs() == known
    assert float(closure()) < 1.0


SCHEDULES: dict[str, Any] = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, [lambda e: 0.95**e, lambda e: 1 / (e + 1)]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.9),
    "StepLR": lambda s, o: s.StepLR(o, 3, gamma=0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 5, 5], gamma=0.5),
    "ConstantLR": lambda s, o: s.ConstantLR(o, factor=0.25, total_iters=4),
    "LinearLR": lambda s, o: s.LinearLR(o, start_factor=0.2, end_factor=0.8, total_iters=6),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, total_iters=7, power=2.0),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, T_max=4, eta_min=0.01),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, T_mult=2),
    "CyclicLR": lambda s, o: s.CyclicLR(
        o, 0.01, [0.1, 0.2], step_size_up=3, mode="triangular2"),
    "CyclicLR exp": lambda s, o: s.CyclicLR(
        o, 0.01, 0.1, step_size_up=2, step_size_down=4, mode="exp_range", gamma=0.9),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, max_lr=[0.1, 0.2], total_steps=14),
    "OneCycleLR three": lambda s, o: s.OneCycleLR(
        o, max_lr=0.1, epochs=2, steps_per_epoch=7, three_phase=True, anneal_strategy="linear"),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, total_iters=3), s.ExponentialLR(o, 0.8), s.StepLR(o, 2)], [4, 8]),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler(
        [s.ConstantLR(o, factor=0.5, total_iters=4), s.ExponentialLR(o, 0.9)]),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_set_pytorchs_rates_and_resume(name: str) -> None:
    make = SCHEDULES[name]

    def f(t: Any) -> Any:
        ps = [t.nn.Parameter(t.ones(2)) for _ in range(2)]
        schedules = t.optim.lr_scheduler
        optimizer = t.optim.SGD(
            [{"params": ps[:1]}, {"params": ps[1:], "lr": 0.3}], lr=0.5, momentum=0.9)
        schedule = make(schedules, optimizer)
        found = []

        def step() -> None:
            optimizer.step()
            schedule.step()
            found.append([schedule.get_last_lr(), [
                (g["lr"], g.get("momentum")) for g in optimizer.param_groups]])

        for _ in range(7):
            step()
        kept = copy.deepcopy((schedule.state_dict(), optimizer.state_dict()))
        found.append(sorted(kept[0]))
        schedule = make(schedules, optimizer)
        schedule.load_state_dict(kept[0])
        optimizer.load_state_dict(kept[1])
        for _ in range(6):
            step()
        return found

    private = {"_scale_fn_custom", "_scale_fn_ref", "_schedulers", "_milestones"}
    same(lambda t: [x if not isinstance(x[0], str) else sorted(
        k for k in x if k not in private) for x in f(t)], real, rtol=1e-12, atol=1e-15)


def test_a_schedule_by_a_metric() -> None:
    def f(t: Any) -> Any:
        p = t.nn.Parameter(t.ones(2))
        optimizer = t.optim.SGD([p], lr=0.5)
        schedule = t.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer, factor=0.5, patience=1, cooldown=1, min_lr=0.05, threshold=0.1)
        found = []
        for metric in (1.0, 0.95, 0.94, 0.93, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2):
            schedule.step(t.tensor(metric))
            found.append((schedule.get_last_lr()[0], schedule.num_bad_epochs))
        other = t.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max")
        other.load_state_dict(schedule.state_dict())
        return [list(x) for x in found], other.mode, other.best

    same(f, real)


def test_a_schedule_costs_no_compile() -> None:
    (p,) = parameters((3,))
    optimizer = torch.optim.Adam([p], lr=1.0, betas=(0.9, 0.99))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    keys = set()
    for _ in range(5):
        p.grad = torch.ones(3)
        optimizer.step()
        schedule.step()
        keys.add(lazyloom.program_of(p).key)
        lazyloom.sync(wait=True)
    assert len(keys) == 1


def test_averages_of_models_are_pytorchs() -> None:
    def f(t: Any) -> Any:
        utils = t.optim.swa_utils
        model = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.BatchNorm1d(4), t.nn.Linear(4, 2))
        batches = [t.arange(15.0).reshape(5, 3) * 0.1 + k for k in range(3)]
        averages = [
            utils.AveragedModel(model, **kwargs) for kwargs in (
                {}, {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.9)},
                {"avg_fn": utils.get_ema_avg_fn(0.9)},
                {"avg_fn": utils.get_swa_avg_fn(), "use_buffers": True})]
        for k, x in enumerate(batches):
            with t.no_grad():
                for i, p in enumerate(model.parameters()):
                    p.copy_(t.arange(float(p.numel())).reshape(p.shape) * 0.1 + i * k)
                model(x)
            for a in averages:
                a.update_parameters(model)
        utils.update_bn(batches, averages[0])
        optimizer = t.optim.SGD(model.parameters(), lr=0.5)
        schedule = utils.SWALR(optimizer, 0.05, anneal_epochs=3)
        rates = []
        for _ in range(5):
            optimizer.step()
            schedule.step()
            rates.append(schedule.get_last_lr()[0])
        return [dict(a.state_dict()) for a in averages], rates

    same(f, real)


def test_averaging_reads_nothing() -> None:
    model = nn.Linear(2, 2)
    average = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.5))
    before = lazyloom.stats()["reads"]
    for _ in range(3):
        average.update_parameters(model)
    assert lazyloom.stats()["reads"] == before
    again = copy.deepcopy(average)
    again.update_parameters(model)
    assert again.n_averaged.item() == 4 and average.n_averaged.item() == 3
