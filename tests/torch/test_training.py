"""What a training step records, runs and compiles."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom_torch import nn

F = nn.functional


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(8, 16) * 0.3)
        self.b1 = nn.Parameter(torch.zeros(16))
        self.w2 = nn.Parameter(torch.randn(16, 4) * 0.3)
        self.b2 = nn.Parameter(torch.zeros(4))

    def forward(self, x: Any) -> Any:
        return F.relu(x @ self.w1 + self.b1) @ self.w2 + self.b2


def batches(n: int) -> Any:
    rng = np.random.default_rng(0)
    for _ in range(n):
        yield (torch.tensor(rng.normal(size=(32, 8)).astype(np.float32)),
               torch.tensor(rng.integers(0, 4, 32)))


def ops_of(*tensors: Any) -> list[str]:
    """The names of the ops that reading these would run."""
    return [op.name if hasattr(op, "name") else str(op)
            for op in lazyloom.program_of(*tensors).ops]


def counted(names: tuple[str, ...]) -> dict[str, int]:
    found = lazyloom.stats()
    return {n: found[n] for n in names}


@pytest.mark.compiled
def test_every_step_is_one_execution_of_one_program() -> None:
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    losses, keys = [], set()
    for i, (x, y) in enumerate(batches(6)):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        keys.add(lazyloom.program_of(loss).key)
        if i == 0:
            lazyloom.sync(wait=True)  # the initial values
            continue
        before = counted(("executions", "programs_compiled", "programs_from_disk"))
        losses.append(loss.item())
        after = counted(("executions", "programs_compiled", "programs_from_disk"))
        assert after["executions"] - before["executions"] == 1
        if i > 1:
            assert after["programs_compiled"] == before["programs_compiled"]
    assert len(keys) == 1
    assert lazyloom.last_evaluation().ops >= 13
    assert np.isfinite(losses).all()


@pytest.mark.slow
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.compiled
def test_steps_between_two_reads_are_not_one_program(scaled: bool) -> None:
    """From the second step on they are handed over one by one; the numbers are the same."""
    losses, sizes = [], []
    for every in (4, 1):
        torch.manual_seed(0)
        net = Net()
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", enabled=scaled)
        largest, compiled, read = 0, [], []
        # of an earlier test, until something runs here
        before = lazyloom.last_evaluation()
        for i, (x, y) in enumerate(batches(16)):
            optimizer.zero_grad()
            loss = F.cross_entropy(F.dropout(net(x), 0.1), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            if i % every == every - 1:
                read.append(loss.item())
                found = counted(("programs_compiled", "programs_from_disk"))
                compiled.append(sum(found.values()))
            record = lazyloom.last_evaluation()
            if record is not None and record is not before:
                largest = max(largest, record.ops)
        assert compiled[-1] == compiled[len(compiled) // 2]
        losses.append(read if every == 4 else read[3::4])
        sizes.append(largest)
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
    # the first two steps are one program, as nobody knew
    assert sizes[0] < 2.5 * sizes[1]


@pytest.mark.compiled
def test_what_is_read_after_a_loop_runs_with_its_steps() -> None:
    """A chain of what every step left would hold on to all of it, and be one large program."""
    net = nn.Linear(8, 4)
    average = torch.optim.swa_utils.AveragedModel(
        net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.5))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    right, expected, sizes, compiled = torch.tensor(0), 0, [], []
    for x, y in batches(12):
        found = net(x)
        loss = F.cross_entropy(found, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        expected += int((found.detach().numpy().argmax(1) == y.numpy()).sum())  # reads
        right += (found.argmax(dim=1) == y).sum()
        average.update_parameters(net)
        sizes.append(max(len(ops_of(right)), len(ops_of(average.module.weight))))
        compiled.append(sum(counted(("programs_compiled", "programs_from_disk")).values()))
    assert max(sizes) == max(sizes[:4])
    assert compiled[-1] == compiled[5]
    assert right.item() == expected


@pytest.mark.parametrize("make", [
    lambda p: torch.optim.SGD(p, lr=1.0, momentum=0.9, dampening=0.5, weight_decay=0.1),
    lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    lambda p: torch.optim.AdamW(p, lr=1.0, amsgrad=True),
])
def test_hyperparameters_of_any_value_share_one_program(make: Any) -> None:
    p = nn.Parameter(torch.ones(3))
    optimizer = make([p])
    keys = set()
    for i in range(5):
        group = optimizer.param_groups[0]
        group["lr"] = (1.0, 0.0, 0.3, -0.0, 1e-9)[i]
        if "momentum" in group:
            group["momentum"] = (0.9, 1.0, 0.5, 0.1, 1.0)[i]
        else:
            group["betas"] = (0.0 if i == 1 else 0.9, 0.5)
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()
        gc.collect()  # a kernel that JAX just traced may have left a cycle with who asked for it
        keys.add(lazyloom.program_of(p).key)
        p.detach().read()
    assert len(keys) == 1


def test_a_step_is_one_op_for_all_parameters_of_a_group() -> None:
    params = [nn.Parameter(torch.ones(n)) for n in (3, 4, 5)]
    optimizer = torch.optim.AdamW(params, lr=0.1)
    for p in params:
        p.grad = torch.ones(p.numel())
    for _ in range(2):  # the first step makes means, squares and the step's number on the host
        before = lazyloom.stats()["ops_traced"]
        optimizer.step()
        assert lazyloom.stats()["ops_traced"] - before == 1
        assert lazyloom.program_of(*params).text().count("step_adam(") == 1
        lazyloom.sync(*params)


@pytest.mark.parametrize(("f", "expected"), [
    (lambda x, w, b: F.linear(x, w), ["dot_general"]),
    (lambda x, w, b: F.linear(x, w, b), ["dot_general", "add"]),
    (lambda x, w, b: x @ w + b, ["matmul", "add"]),
    (lambda x, w, b: F.relu(x), ["relu"]),
    (lambda x, w, b: x - 0.5 * w, ["multiply", "subtract"]),
    (lambda x, w, b: F.cross_entropy(x, torch.tensor([0, 1, 2])), ["cross_entropy"]),
    (lambda x, w, b: F.softmax(x, -1), ["softmax"]),
    (lambda x, w, b: x[torch.tensor([0, 1])], ["take"]),
])
def test_functions_record_what_they_are(f: Any, expected: list[str]) -> None:
    x, w, b = (torch.tensor(np.ones((3, 3), np.float32)), torch.tensor(np.ones((3, 3), np.float32)),
               torch.tensor(np.ones(3, np.float32)))
    before = lazyloom.stats()["ops_traced"]
    result = f(x, w, b)
    assert lazyloom.stats()["ops_traced"] - before == len(expected)
    text = lazyloom.program_of(result).text()
    at = -1
    for name in expected:
        at = text.index(name, at + 1)


def test_a_batch_takes_one_op_a_tensor() -> None:
    data = torch.utils.data.TensorDataset(
        torch.arange(100).reshape(50, 2).clone(), torch.arange(50))
    subset = torch.utils.data.Subset(data, list(range(49, -1, -1)))
    for dataset in (data, subset):
        loader = iter(torch.utils.data.DataLoader(dataset, batch_size=16))
        before = lazyloom.stats()["ops_traced"]
        x, y = next(loader)
        assert lazyloom.stats()["ops_traced"] - before == 2
        rows = np.arange(16) if dataset is data else np.arange(49, 33, -1)
        np.testing.assert_array_equal(y.numpy(), rows)
        np.testing.assert_array_equal(x.numpy(), np.stack([2 * rows, 2 * rows + 1], 1))


def test_dropout_draws_anew_within_one_program() -> None:
    torch.manual_seed(1)
    x = torch.ones(1000)
    found, keys = [], set()
    for _ in range(3):
        y = F.dropout(x, 0.25)
        keys.add(lazyloom.program_of(y).key)
        found.append(y.numpy())
    assert len(keys) == 1
    assert not np.array_equal(found[0], found[1])
    assert 0.2 < (found[2] == 0).mean() < 0.3
    assert set(np.unique(found[0])) <= {np.float32(0), np.float32(1 / 0.75)}


def test_initial_values_are_not_part_of_a_step() -> None:
    layer = nn.Linear(3, 2)
    norm = nn.BatchNorm1d(2)
    y = norm(layer(torch.ones(4, 3))).sum()
    text = lazyloom.program_of(y).text()
    assert "random" not in text


def test_a_small_problem_is_learnt() -> None:
    torch.manual_seed(3)
    x = torch.randn(256, 4)
    y = (x[:, 0] * x[:, 1] > 0).long()
    net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(x, y), batch_size=64, shuffle=True)
    for _ in range(40):
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(xb), yb)
            loss.backward()
            optimizer.step()
            loss.item()
    with torch.no_grad():
        accuracy = (net(x).argmax(1) == y).float().mean().item()
    assert accuracy > 0.95
