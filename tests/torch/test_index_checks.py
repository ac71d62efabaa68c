"""Indices that are data: checked, and not read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lazyloom
import lazyloom_torch as torch

Call = Callable[[Any, Any], Any]

#: functions of a (3, 4) tensor and an index; a vector where they take one
TAKING: dict[str, Call] = {
    "getitem": lambda x, i: x[i], "two": lambda x, i: x[i, i + 1],
    "index_select": lambda x, i: x.index_select(0, i),
    "gather": lambda x, i: x.gather(0, i[:, None]),
    "index_put": lambda x, i: x.index_put((i,), torch.tensor(1.0)),
    "scatter": lambda x, i: x.scatter(0, i[:, None], 1.0),
    "scatter_add": lambda x, i: x.scatter_add(0, i[:, None], torch.ones(2, 4)),
    "index_add": lambda x, i: x.index_add(0, i, torch.ones(2, 4)),
    "index_copy": lambda x, i: x.index_copy(0, i, torch.ones(2, 4)),
    "index_fill": lambda x, i: x.index_fill(0, i, 2.0),
    "index_reduce": lambda x, i: x.index_reduce(0, i, torch.ones(2, 4), "amax"),
    "take": lambda x, i: x[:, 0].take(i), "put": lambda x, i: x[:, 0].put(i, torch.ones(2)),
    "element": lambda x, i: x[i[0]],
}
#: those to which a negative index is out of range
UNSIGNED = ("index_select", "gather", "scatter", "scatter_add", "index_add", "index_copy",
            "index_reduce")


def _x() -> Any:
    return torch.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("name", TAKING)
def test_an_index_out_of_range_raises(name: str) -> None:
    call = TAKING[name]
    with pytest.raises(IndexError):
        call(_x(), torch.tensor([3, 0])).tolist()
    x, good = _x(), _x() * 2
    found = call(x, torch.tensor([2, 0]) + torch.tensor([1, 0]))
    for error in (IndexError, RuntimeError):
        with pytest.raises(error, match="3 is out of bounds"):
            found.sum().item()
    assert good.sum().item() == 132


@pytest.mark.parametrize("name", TAKING)
def test_negative_indices_are_in_range_where_pytorch_has_them(name: str) -> None:
    call = TAKING[name]
    index = torch.tensor([0, 0]) - torch.tensor([1, 0])
    if name in UNSIGNED:
        with pytest.raises(IndexError):
            call(_x(), torch.tensor([-1, 0])).tolist()
        with pytest.raises(IndexError):
            call(_x(), index).tolist()
    elif name != "two":
        assert call(_x(), index).tolist() == call(_x(), torch.tensor([2, 0])).tolist()


def test_a_known_index_out_of_range_raises_at_the_call() -> None:
    with pytest.raises(IndexError, match="3 is out of bounds for dimension 0 with size 3"):
        _x()[torch.tensor([3, 0])]
    with pytest.raises(IndexError, match="-1 is out of bounds"):
        _x().index_select(0, torch.tensor([-1]))


def test_what_was_chosen_from_known_indices_is_not_all_of_them() -> None:
    known, x = torch.tensor([3, 1, 2]), _x()
    chosen = known.take(torch.tensor([1, 2]))
    assert x[chosen, 0].tolist() == [4.0, 8.0]  # 3, out of range, is not among them
    assert x[known[torch.tensor(1)]].tolist() == [4.0, 5.0, 6.0, 7.0]
    assert torch.nn.functional.one_hot(chosen).shape == (2, 3)
    labels = torch.tensor([-100, 3, 1]).take(torch.tensor([0, 2]))
    loss = torch.nn.functional.cross_entropy(torch.zeros(2, 3), labels)
    assert loss.item() == pytest.approx(1.0986, rel=1e-4)
    with pytest.raises(IndexError, match="3 is out of bounds"):
        x[known.take(torch.tensor([0]))].tolist()


def test_a_gradient_through_a_wrong_index_raises() -> None:
    x = _x().requires_grad_()
    x[torch.tensor([1, 0]) + torch.tensor([2, 0])].sum().backward()
    with pytest.raises(IndexError):
        x.grad.tolist()


def test_an_element_that_is_written_through_a_computed_index_aliases() -> None:
    x = _x()
    i = torch.tensor(0) + torch.tensor(1)
    row = x[i]
    x[i] = 5
    row[0] = 7
    x[2, i] = 9
    assert x.tolist() == [[0, 1, 2, 3], [7, 5, 5, 5], [8, 9, 10, 11]]
    assert row.tolist() == [7, 5, 5, 5]


def test_nothing_is_read_to_record() -> None:
    x, i = _x() + 0, torch.tensor([2, 0]) + torch.tensor([0, 0])
    mask = x > 3
    with lazyloom.options(reads="error"):
        found = [call(x, i) for call in TAKING.values()]
        found += [
            torch.where(mask, x, 0.0), x.masked_fill(mask, 1.0), x.masked_scatter(mask, x * 2),
            x.sort(1)[0], x.topk(2)[0], x.median(), x.median(1)[0], x.mode(1)[0],
            torch.quantile(x, torch.tensor([0.2, 0.4]) * 2, 1), torch.histc(x, 4),
            *torch.histogram(x, 3), torch.nonzero_static(mask, size=2),
            torch.searchsorted(x, x), torch.isin(x, x[0] * 2), x.unfold(1, 2, 1),
            x.as_strided((2, 2), (1, 3)), torch.masked.mean(x, 1, mask=mask),
            x.take_along_dim(i[:1, None], 1), x.scatter_reduce(0, i[None], x, "mean"),
            x.repeat_interleave(2), torch.repeat_interleave(i, output_size=2)]
        x[mask] = 0.0
        x[i] = 1.0
    assert all(len(f.tolist()) >= 0 if f.ndim else f.item() >= 0 for f in found)


def test_what_data_forbids_raises_when_it_is_read() -> None:
    x = _x()
    for wrong in (
        x.masked_scatter(x >= 0, x[0] * 2), torch.quantile(x, torch.tensor(2.0) + 0),
        torch.histc(x / 0, 3), torch.repeat_interleave(
            x[0], torch.tensor([1, 1, 1, 1]) - 2, output_size=3),
    ):  # fmt: skip
        with pytest.raises(RuntimeError):
            wrong.tolist()


def test_counts_are_read_and_told() -> None:
    before = lazyloom.stats()["host_reads_of_data_dependent_shapes"]
    reads = lazyloom.stats()["reads"]
    x = _x()
    shapes = [x[x > 3].shape, x.masked_select(x > 3).shape, (x > 3).nonzero().shape,
              torch.unique(x.long() // 2).shape, torch.bincount(x.reshape(-1).long()).shape]
    assert shapes == [(8,), (8,), (8, 2), (6,), (12,)]
    assert lazyloom.stats()["host_reads_of_data_dependent_shapes"] == before + 5
    assert lazyloom.stats()["reads"] == reads + 5


def test_a_mask_from_the_host_needs_no_read() -> None:
    with lazyloom.options(reads="error"):
        found = _x()[[True, False, True]]
    assert found.shape == (2, 4)


def test_printing_a_tensor_is_as_wide_as_asked() -> None:
    torch.set_printoptions(linewidth=40, precision=2)
    try:
        assert repr(torch.arange(6.0, dtype=torch.float64) / 4) == (
            "tensor([0.00, 0.25, 0.50, 0.75, 1.00,\n        1.25], dtype=torch.float64)")
        assert repr(torch.ones(3, requires_grad=True)) == (
            "tensor([1., 1., 1.],\n       requires_grad=True)")
    finally:
        torch.set_printoptions(profile="default")
