"""Datasets, samplers and loaders; worker processes."""

from __future__ import annotations

import collections
import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom_torch import nn
from lazyloom_torch.utils import data
from tests.torch.datasets import Seeds, Squares, Stream, note_start
from tests.torch.oracle import same

real = pytest.importorskip("torch")

Point = collections.namedtuple("Point", "x y")


def test_batches_are_collated_as_pytorchs() -> None:
    def f(t: Any) -> Any:
        tensor, array = t.tensor([1.0, 2.0]), np.array([1, 2], np.int32)
        collate, convert = t.utils.data.default_collate, t.utils.data.default_convert
        found = collate([(1, 2.0, tensor, array, np.float32(3), "a", True, Point(1, tensor),
                          {"k": [1, tensor]}, collections.OrderedDict(z=1))] * 2)
        assert type(found[7]).__name__ == "Point" and isinstance(found[8]["k"], list)
        wrong = []
        for bad in ([object()], [np.array(["a"])], [[1, 2], [1]], [t.ones(2), t.ones(3)]):
            try:
                collate(bad)
            except (TypeError, RuntimeError) as error:
                wrong.append(type(error).__name__)
        return (list(found[:7]), list(found[7]), found[8], dict(found[9]), wrong,
                convert([array, "a", (np.float64(2), 1), {"k": array}]))

    same(f, real)


def test_datasets_and_samplers_are_pytorchs() -> None:
    def f(t: Any) -> Any:
        d = t.utils.data
        whole = d.TensorDataset(t.arange(6), t.arange(6) * 10)
        joined = whole + d.Subset(whole, [5, 0])
        stacked = d.StackDataset(a=whole, b=d.Subset(whole, range(6)))
        order = list(d.BatchSampler(d.SequentialSampler(joined), 3, False))
        own = [list(d.DistributedSampler(joined, 3, r, shuffle=False, drop_last=drop))
               for r in range(3) for drop in (False, True)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parts = [len(p) for p in d.random_split(range(10), [0.55, 0.44, 0.01])]
        told = []
        for call in (
            lambda: joined[8], lambda: joined[-9], lambda: d.TensorDataset(t.ones(2), t.ones(3)),
            lambda: d.StackDataset(), lambda: d.random_split(whole, [1, 2]),
            lambda: d.BatchSampler([1], 0, False), lambda: d.RandomSampler([], True),
            lambda: d.WeightedRandomSampler([[1.0]], 2),
            lambda: d.DataLoader(whole, num_workers=-1), lambda: d.DataLoader(whole, timeout=-1),
            lambda: d.DataLoader(whole, prefetch_factor=2),
            lambda: d.DataLoader(whole, persistent_workers=True),
            lambda: d.DataLoader(whole, shuffle=True, sampler=[1]),
            lambda: d.DataLoader(whole, batch_size=2, batch_sampler=[[1]]),
            lambda: d.DataLoader(whole, batch_size=None, drop_last=True),
            lambda: setattr(d.DataLoader(whole), "batch_size", 3),
        ):
            try:
                told.append(repr(call()))
            except Exception as error:
                told.append(type(error).__name__)
        return [joined[-1], joined[6], stacked[2], order, own, parts, len(joined), told]

    same(f, real)


def test_samplers_visit_what_they_should() -> None:
    generator = torch.Generator().manual_seed(3)
    once = list(data.RandomSampler(range(20), generator=generator))
    more = list(data.RandomSampler(range(5), num_samples=12, generator=generator))
    drawn = list(data.RandomSampler(range(5), True, 50, generator=generator))
    assert sorted(once) == list(range(20)) and once != sorted(once)
    assert sorted(more[:5]) == sorted(more[5:10]) == list(range(5)) and len(more) == 12
    assert set(drawn) == set(range(5)) and len(drawn) == 50
    assert any(len(set(drawn[i:i + 5])) < 5 for i in range(0, 50, 5))  # with replacement
    weighted = list(data.WeightedRandomSampler([0.0, 1.0, 0.0, 3.0], 40, generator=generator))
    assert set(weighted) == {1, 3} and weighted.count(3) > weighted.count(1)
    assert sorted(data.SubsetRandomSampler([4, 2, 9], generator=generator)) == [2, 4, 9]
    again = list(data.RandomSampler(range(20), generator=torch.Generator().manual_seed(3)))
    assert again == once
    shared = [list(data.DistributedSampler(range(10), 2, r, seed=1)) for r in range(2)]
    assert sorted(shared[0] + shared[1]) == list(range(10))
    parts = data.random_split(range(9), [4, 5], generator=torch.Generator().manual_seed(1))
    assert sorted(i for p in parts for i in p) == list(range(9))


@pytest.fixture(scope="module")
def plain() -> Any:
    """Some batches, as made without workers, on the host."""
    return [[x.numpy(), y.tolist(), d["name"], d["half"].tolist()]
            for x, y, d in data.DataLoader(Squares(10), batch_size=4)]


def test_workers_make_the_same_batches_in_order_again_and_again(plain: Any) -> None:
    loader = data.DataLoader(
        Squares(10), batch_size=4, num_workers=2, persistent_workers=True, pin_memory=True)
    found = iter(loader)
    next(found)  # an epoch that is left early
    del found
    for _ in range(2):
        for mine, expected in zip(loader, plain, strict=True):
            x, y, d = mine
            assert isinstance(x, torch.Tensor) and d["half"].dtype is torch.float64
            np.testing.assert_array_equal(x.numpy(), expected[0])
            assert [y.tolist(), d["name"], d["half"].tolist()] == expected[1:]
    assert len(loader) == 3


def test_workers_share_a_stream_and_know_who_they_are() -> None:
    loader = data.DataLoader(Stream(7), batch_size=2, num_workers=2)
    assert [b.flatten().tolist() for b in loader] == [[0, 2], [1, 3], [4, 6], [5]]
    single = data.DataLoader(Stream(5), batch_size=2, drop_last=True)
    assert [b.flatten().tolist() for b in single] == [[0, 1], [2, 3]]
    torch.manual_seed(5)
    loader = data.DataLoader(Seeds(), batch_size=None, num_workers=2, worker_init_fn=note_start)
    first = list(loader)
    assert [row[0] for row in first] == [0, 1, 0, 1]
    assert first[0][1] + 1 == first[1][1] and first[0][2] != first[1][2]
    assert {row[3] for row in first} == {"worker 0", "worker 1"}
    torch.manual_seed(5)
    assert list(loader) == first


@pytest.mark.parametrize(("dataset", "kind", "text"), [
    (Squares(8, fails=5), LookupError, r"Caught LookupError in DataLoader worker process 1"),
    (Squares(8, ends=5), RuntimeError, r"exited unexpectedly.*\n?.*__main__"),
])
def test_what_goes_wrong_in_a_worker_is_told(dataset: Any, kind: Any, text: str) -> None:
    with pytest.raises(kind, match=text):
        list(data.DataLoader(dataset, batch_size=4, num_workers=2))
    with pytest.raises(ValueError, match="fork"):
        data.DataLoader(dataset, num_workers=1, multiprocessing_context="fork")


def test_what_cannot_go_to_a_worker_is_used_here() -> None:
    def doubled(batch: list[Any]) -> list[int]:
        return [2 * y for _, y, _ in batch]

    loader = data.DataLoader(Squares(3), batch_size=2, num_workers=2, collate_fn=doubled)
    with pytest.warns(UserWarning, match="batches in this process"):
        assert list(loader) == [[0, 2], [8]]


def test_generators_copy_travel_and_repeat() -> None:
    source = torch.Generator().manual_seed(-5)
    assert source.initial_seed() == real.Generator().manual_seed(-5).initial_seed()
    torch.rand(3, generator=source)
    copies = [copy.deepcopy(source), pickle.loads(pickle.dumps(source)), source.clone_state(),
              torch.Generator().set_state(source.get_state())]
    expected = torch.rand(4, generator=source).tolist()
    assert all(torch.rand(4, generator=g).tolist() == expected for g in copies)
    for seed, error in ((1 << 64, ValueError), ("a", ValueError)):
        with pytest.raises(error):
            source.manual_seed(seed)
    with pytest.raises(TypeError):
        source.set_state(torch.zeros(16))
    torch.manual_seed(3)
    with torch.random.fork_rng():
        torch.rand(2)
    first = torch.rand(2).tolist()
    torch.manual_seed(3)
    assert torch.rand(2).tolist() == first


@pytest.mark.slow
@pytest.mark.compiled
def test_which_samples_a_batch_is_made_of_compiles_nothing() -> None:
    weight = torch.ones(2, requires_grad=True)
    states = [torch.tensor([float(i), 1.0]) for i in range(12)]
    memory = [(a.unsqueeze(0), b.unsqueeze(0)) for a, b in zip(states, states[1:])]
    memory[3][0].sum().item()  # computed already, others not

    def replay(picked: list[int]) -> None:
        state, after = (torch.cat([memory[i][j] for i in picked]) for j in (0, 1))
        loss = ((state - after) * weight).square().sum()
        loss.backward()
        assert loss.item() == len(picked)

    def padded(lengths: list[int], side: str) -> None:
        rows = [torch.arange(n) + 1 for n in lengths]
        batch = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_side=side)
        assert batch.shape == (len(lengths), 6) and batch.is_contiguous()
        assert batch.tolist() == [
            [0] * (6 - n) * (side == "left") + list(range(1, n + 1))
            + [0] * (6 - n) * (side == "right") for n in lengths]
        (batch * weight.sum()).sum().item()

    def flipped(which: list[bool]) -> None:
        rows = [x.flip(0) if yes else x for x, yes in zip(states, which)]
        [batch] = data.DataLoader(rows, len(which), collate_fn=data.default_collate)
        assert ((batch - 1) * weight).sum().item() == sum(range(len(which))) - len(which)

    for run, first, later in (
        (replay, [[0, 1, 3, 5], [4, 9, 10, 7]], [[3, 2, 4, 6], [8, 7, 6, 5]]),
        (lambda n: padded(n, "right"), [[6, 1, 2], [3, 4, 6]], [[2, 6, 3], [6, 6, 4]]),
        (lambda n: padded(n, "left"), [[6, 1, 2], [3, 4, 6]], [[2, 6, 3], [6, 6, 4]]),
        (flipped, [[True, False, False]], [[False, True, True], [False, False, True]]),
    ):
        for samples in first:
            run(samples)
        compiled = lazyloom.stats()["programs_compiled"] + lazyloom.stats()["programs_from_disk"]
        for samples in later:
            run(samples)
        stats = lazyloom.stats()
        assert stats["programs_compiled"] + stats["programs_from_disk"] == compiled
