"""Operators at the edges of their short way, and what is planned once: views and optimizers."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy as np
import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom import frontend
from lazyloom.dtypes import ALL

ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.truediv)
ORDER = (operator.lt, operator.le, operator.gt, operator.ge)


def test_what_is_recorded_at_once_keeps_the_dtype_that_promotion_gives():
    rules = frontend.operators_of(torch.Tensor)
    assert rules is frontend.operators_of(torch.nn.Parameter) and rules is not None
    for number, name in enumerate(frontend.NAMES):
        for d in ALL:
            spec = rules.specs[number][d.index]
            if d.kind == "b":
                assert spec is None
            if spec is None or name == "matmul":
                continue
            types = (lazyloom.tensor_type((2,), d),) * spec.arity
            result = spec.infer(types)[0].dtype
            assert result is (d if name not in ("lt", "le", "gt", "ge") else
                              lazyloom.dtypes.bool_)
            assert not rules.numbers[number][d.index] or d.is_inexact


def test_numbers_keep_a_floating_tensor_s_dtype():
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        x = torch.tensor([1.0, 2.0], dtype=dtype)
        for number in (2, 2.5, True, np.float64(2.0), np.int64(2), float("inf"), -0.0):
            for function in ARITHMETIC:
                if number is True and function is operator.sub:
                    for pair in ((x, number), (number, x)):
                        with pytest.raises(RuntimeError, match="with a bool"):
                            function(*pair)
                    continue
                assert function(x, number).dtype is dtype
                assert function(number, x).dtype is dtype
            for function in ORDER:
                assert function(x, number).dtype is torch.bool
    assert (torch.arange(3) + 0.5).dtype is torch.float32
    assert (torch.arange(3) / 2).dtype is torch.float32
    assert (torch.arange(4) / torch.tensor(2)).tolist() == [0.0, 0.5, 1.0, 1.5]
    assert (torch.tensor([True]) + torch.tensor([True])).dtype is torch.bool
    assert (torch.ones(2) + torch.ones((), dtype=torch.float64)).dtype is torch.float32
    assert np.signbit((torch.zeros(1) * -1.0).read()[0]) and np.isnan(
        (torch.ones(1) * float("nan")).item())


def test_errors_of_the_short_way_are_pytorch_s():
    with pytest.raises(RuntimeError):
        torch.ones(2) + torch.ones(3)
    with pytest.raises(RuntimeError):
        torch.ones(2, 3) @ torch.ones(2, 3)
    with pytest.raises(RuntimeError, match="bool"):
        torch.tensor([True]) - torch.tensor([True])
    for bad in (object(), "2", None):
        with pytest.raises(TypeError):
            torch.ones(2) + bad
        with pytest.raises(TypeError):
            bad * torch.ones(2)
    with pytest.raises(TypeError):
        np.ones(2) + torch.ones(2)
    assert (torch.ones(2) + np.ones(2, np.float32)).tolist() == [2.0, 2.0]
    assert type(np.float32(2) * torch.ones(2)) is torch.Tensor


class Loud(torch.Tensor):
    def __add__(self, other):
        return "loud"

    def __radd__(self, other):
        return "reflected"


def test_subclasses_override_operators():
    loud = Loud([1.0])
    assert loud + 1 == "loud" and 1 + loud == "reflected" and torch.ones(1) + loud == "reflected"
    assert type(loud * 2) is torch.Tensor
    assert (torch.nn.Parameter(torch.ones(2)) * 2).requires_grad


def test_weights_take_the_short_way_and_aliases_with_a_history_do_not():
    w = torch.nn.Parameter(torch.ones(2))
    assert not w.slow_path and (w * 2.0).requires_grad
    alias = torch.ones(3).detach().requires_grad_()
    assert alias.slow_path and alias[1:].slow_path
    (alias * 2.0 + alias[1:].sum()).sum().backward()
    assert alias.grad.tolist() == [2.0, 5.0, 5.0]
    alias.requires_grad_(False)
    assert not alias.slow_path and not (alias * 2.0).requires_grad
    again = torch.ones(3).detach().requires_grad_()
    again.data = torch.zeros(3)
    assert (again + 1.0).tolist() == [1.0, 1.0, 1.0] and (again + 1.0).requires_grad
    again.detach_()
    assert not again.slow_path and not (again + 1.0).requires_grad


def test_copies_of_tensors_with_a_history_operate():
    alias = torch.ones(3).detach().requires_grad_()
    # a deep copy is an alias, too, of a copy of the memory; what was pickled is alone
    for made in (copy.deepcopy(alias), pickle.loads(pickle.dumps(alias))):
        (made * 3.0).sum().backward()
        assert made.grad.tolist() == [3.0, 3.0, 3.0]
    assert not made.slow_path


def test_augmented_assignment_follows_the_grad_mode():
    w = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        w += 1.0
    y = w * 2.0
    y += 1.0
    with torch.no_grad():
        y *= 3.0
        w -= 0.5
    assert y.tolist() == [9.0, 9.0] and w.tolist() == [0.5, 0.5] and w.is_leaf
    y.sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]
    x = torch.ones(2, 2)
    row, version = x[0], x._version
    row += torch.tensor([1.0])
    assert x.tolist() == [[2.0, 2.0], [1.0, 1.0]] and x._version > version
    with pytest.raises(RuntimeError, match="cast"):
        torch.arange(2).__itruediv__(2)
    with pytest.raises(RuntimeError, match="broadcast"):
        operator.iadd(torch.ones(2), torch.ones(3, 2))
    z = torch.ones(2, 2)
    z @= torch.ones(2, 2)
    assert z.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_views_are_planned_by_type_strides_and_arguments():
    x = torch.arange(24.0).view(2, 3, 4)
    y = torch.arange(24.0).view(4, 3, 2).permute(2, 1, 0)
    for _ in range(2):
        for t in (x, y):
            want = t.numpy()
            assert np.array_equal(t[1, :, 2:].numpy(), want[1, :, 2:])
            assert np.array_equal(t.transpose(0, 2).numpy(), want.transpose(2, 1, 0))
            assert [p.tolist() for p in t.unbind(1)] == [want[:, i].tolist() for i in range(3)]
            assert [p.tolist() for p in t.chunk(2, 2)] == [
                want[:, :, :2].tolist(), want[:, :, 2:].tolist()]
            assert np.array_equal(t.reshape(6, 4).numpy(), want.reshape(6, 4))
            assert t.reshape((6, 4)).stride() == t.reshape(6, 4).stride()
    with pytest.raises(RuntimeError, match="view size"):
        y.view(24)
    size = torch.tensor(6)
    assert x.view(size, 4).shape == (6, 4)
    size.fill_(4)
    assert x.view(size, 6).shape == (4, 6)
    with pytest.raises(TypeError):
        x.view(True, 24)
    part = x[1, :, 2:]
    part.zero_()
    assert x[1].tolist()[0] == [12.0, 13.0, 0.0, 0.0] and part.storage_offset() == 14


def test_planned_views_of_a_weight_follow_the_grad_mode():
    w = torch.nn.Parameter(torch.ones(2, 2))
    for _ in range(2):
        assert w[0].requires_grad and w.t().requires_grad
        with torch.no_grad():
            assert not w[0].requires_grad and not w.view(4).requires_grad
        assert not w.detach()[0].requires_grad
        alias = w.detach().requires_grad_()
        (alias[0] * 2.0).sum().backward()
        assert alias.grad.tolist() == [[2.0, 2.0], [0.0, 0.0]] and w.grad is None


def test_optimizers_update_every_kind_of_parameter():
    def built():
        a = torch.nn.Parameter(torch.ones(2))
        b = torch.ones(4, dtype=torch.float64).detach().requires_grad_()
        c = torch.ones(2, requires_grad=True)
        return [a, b, c]

    for make in (lambda p: torch.optim.SGD(p, lr=0.5, momentum=0.5),
                 lambda p: torch.optim.SGD(p, lr=0.5, momentum=0.5, nesterov=True,
                                           weight_decay=0.1),
                 lambda p: torch.optim.AdamW(p, lr=0.5)):
        values = []
        for only in (None, 0, 1, 2):
            params = built()
            opt = make(params if only is None else [params[only]])
            for _ in range(3):
                opt.zero_grad()
                sum((p * p).sum().float() for p in params).backward()
                opt.step()
            assert all(p.is_leaf and p.requires_grad for p in params)
            values.append([p.tolist() for p in params])
        assert values[0] == [values[i + 1][i] for i in range(3)]
