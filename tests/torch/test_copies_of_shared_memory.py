"""``copy.deepcopy`` of several tensors on one memory: the copies share theirs."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import lazyloom_torch as torch

SHARING: dict[str, Callable[[Any], list[Any]]] = {
    "base and view": lambda t: _with(t, lambda b: b[:, 1:]),
    "view and base": lambda t: _with(t, lambda b: b[:, 1:])[::-1],
    "two views": lambda t: _with(t, lambda b: b[:, 2])[1:] + _with(t, lambda b: b[1:])[1:],
    "views of one": lambda t: (lambda b: [b[1], b[:, 2]])(t.arange(6.0).reshape(2, 3)),
    "transposed": lambda t: _with(t, lambda b: b.t()),
    "detached": lambda t: _with(t, lambda b: b.detach()),
    "strided": lambda t: _with(t, lambda b: b.as_strided((2, 2), (2, 1))),
    "repeated": lambda t: (lambda b: [b, b.expand(2, 3)])(t.arange(3.0)),
    "real part": lambda t: (lambda z: [z, z.real])(t.ones(3, dtype=t.complex64)),
    "leaf and its data": lambda t: (lambda x: [x, x.detach()[1:]])(t.arange(3.0).requires_grad_()),
    "twice the same": lambda t: (lambda b: [b, b])(t.arange(6.0)),
    "parameter and its data": lambda t: (lambda p: [p, p.data])(t.nn.Parameter(t.arange(3.0))),
    "nothing shared": lambda t: [t.arange(6.0), t.arange(6.0)],
}  # fmt: skip


def _with(t: Any, view: Callable[[Any], Any]) -> list[Any]:
    base = t.arange(6.0).reshape(2, 3)
    return [base, view(base)]


def seen(t: Any, name: str) -> list[Any]:
    """What copies are like, and what a write to the first does to the second and the originals."""
    given = SHARING[name](t)
    before = [x.tolist() for x in given]
    first, second = copy.deepcopy(given)
    found = [first is second, first.stride(), second.stride(), second.storage_offset(),
             first.is_leaf, second.is_leaf, first.requires_grad, second.requires_grad,
             [first.tolist(), second.tolist()] == before]
    with t.no_grad():
        first.fill_(7.0)
    return [*found, second.tolist(), [x.tolist() for x in given] == before]


@pytest.mark.parametrize("name", SHARING)
def test_deep_copies_share_what_their_originals_share(name: str) -> None:
    found = seen(torch, name)
    assert found[-1] and found[8]
    second = found[-2]
    changed = "7.0" in str(second) or "(7" in str(second)
    apart = ("nothing shared", "parameter and its data", "two views")
    assert changed == (name not in apart)


@pytest.mark.parametrize("name", SHARING)
def test_pytorch_does_the_same(name: str) -> None:
    theirs = pytest.importorskip("torch")
    assert seen(torch, name) == seen(theirs, name)


def test_gradients_of_the_copies_are_their_own() -> None:
    x = torch.arange(3.0).requires_grad_()
    (x * 2).sum().backward()
    y, part = copy.deepcopy([x, x.detach()[1:]])
    assert y.grad.tolist() == [2, 2, 2] and y.grad is not x.grad
    (y * part.sum()).sum().backward()
    assert y.grad.tolist() == [5, 5, 5] and x.grad.tolist() == [2, 2, 2]


def test_a_module_s_buffers_that_share_memory() -> None:
    class Two(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("whole", torch.zeros(2, 2))
            self.register_buffer("row", self.whole[0])

    copied = copy.deepcopy(Two())
    copied.whole.fill_(3.0)
    assert copied.row.tolist() == [3, 3]


def test_pickles_hold_each_tensor_by_itself() -> None:
    base = torch.arange(6.0).reshape(2, 3)
    first, second, again = pickle.loads(pickle.dumps([base, base[:, 1:], base]))
    first.fill_(7.0)
    assert first is again and second.tolist() == [[1, 2], [4, 5]]
