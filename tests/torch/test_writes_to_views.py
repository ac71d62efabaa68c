"""Writes in place to views made under ``no_grad``, and to views that a function gave together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lazyloom_torch as torch

pytestmark = pytest.mark.usefixtures("quick_compiler")

VIEWS: dict[str, Callable[[Any], Any]] = {
    "index": lambda x: x[0], "view": lambda x: x.view(6), "t": lambda x: x.t(),
    "narrow": lambda x: x.narrow(0, 0, 1), "unbind": lambda x: x.unbind(0)[0],
    "chunk": lambda x: x.chunk(2)[0], "diagonal": lambda x: x.diagonal(),
    "reshape": lambda x: x.reshape(6), "view of a view": lambda x: x[0][1:],
    "iteration": lambda x: next(iter(x)), "as_strided": lambda x: x.as_strided((2,), (1,)),
}  # fmt: skip
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "add_": lambda t, v: v.add_(1), "+=": lambda t, v: v.__iadd__(1),
    "zero_": lambda t, v: v.zero_(), "assignment": lambda t, v: v.__setitem__(0, 1.0),
    "copy_": lambda t, v: v.copy_(t.ones(v.shape)),
    "masked_fill_": lambda t, v: v.masked_fill_(t.ones(v.shape) > 0, 1.0),
    "with a gradient": lambda t, v: v.mul_(t.ones((), requires_grad=True)),
    "under no_grad": lambda t, v: _without(t, lambda: v.add_(1)),
    "to a detached one": lambda t, v: v.detach().add_(1),
}  # fmt: skip
#: writes that are no error, and those that are none to a leaf's view
ALLOWED = ("under no_grad", "to a detached one")


def _without(t: Any, call: Callable[[], Any]) -> Any:
    with t.no_grad():
        return call()


def written(t: Any, view: str, write: str, leaf: bool) -> Any:
    """What a write gives: the contents, whether gradients flow, or that it is refused."""
    x = t.arange(6.0).reshape(2, 3).requires_grad_()
    y = x if leaf else x * 1
    v = _without(t, lambda: VIEWS[view](y))
    try:
        WRITES[write](t, v)
    except RuntimeError as error:
        return "refused" if "no_grad mode" in str(error) else str(error)
    return y.tolist(), y.requires_grad


@pytest.mark.parametrize("leaf", [False, True])
@pytest.mark.parametrize("view", VIEWS)
def test_views_made_without_gradients(view: str, leaf: bool) -> None:
    for write in WRITES:
        found = written(torch, view, write, leaf)
        allowed = write in ALLOWED or leaf and write != "with a gradient"
        assert (found == "refused") is not allowed, (write, found)
        assert not allowed or found[1]


@pytest.mark.parametrize("leaf", [False, True])
@pytest.mark.parametrize("view", VIEWS)
def test_pytorch_does_the_same(view: str, leaf: bool) -> None:
    theirs = pytest.importorskip("torch")
    for write in WRITES:
        assert written(torch, view, write, leaf) == written(theirs, view, write, leaf), write


def test_views_of_what_requires_no_gradient_are_written_as_ever() -> None:
    x = torch.zeros(2, 3)
    v = _without(torch, lambda: x[0])
    v.add_(1)
    p = torch.nn.Parameter(torch.zeros(2, 3))
    _without(torch, lambda: p[0].fill_(2))
    _without(torch, lambda: p.data[1].fill_(3))
    p.data[1, 0] = 4
    assert x.tolist() == [[1] * 3, [0] * 3] and p.tolist() == [[2] * 3, [4, 3, 3]]
    assert p.requires_grad and p.is_leaf


@pytest.mark.parametrize("name", ["chunk", "split", "unbind", "iteration"])
def test_parts_that_a_function_gave_together(name: str) -> None:
    y = torch.arange(6.0).reshape(2, 3).requires_grad_() * 1
    parts = {"chunk": y.chunk(2), "split": y.split(1), "unbind": y.unbind(), "iteration": list(y)}
    for write in ("add_", "zero_", "assignment", "copy_", "masked_fill_"):
        with pytest.raises(RuntimeError, match="multiple views"):
            WRITES[write](torch, parts[name][0])
