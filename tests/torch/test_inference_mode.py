"""Tensors made in inference mode, and what is refused of them outside of it."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest

import lazyloom_torch as torch

pytestmark = pytest.mark.usefixtures("quick_compiler")

WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "add_": lambda t, i: i.add_(1), "+=": lambda t, i: i.__iadd__(1),
    "zero_": lambda t, i: i.zero_(), "set_": lambda t, i: i.set_(t.ones(3)),
    "assignment": lambda t, i: i.__setitem__(0, 2.0), "copy_": lambda t, i: i.copy_(t.ones(3)),
    "out": lambda t, i: t.add(t.ones(3), 1, out=i), "a view": lambda t, i: i[0].add_(1),
    "uniform_": lambda t, i: i.uniform_(),
    "relu_": lambda t, i: t.nn.functional.relu(i, inplace=True),
    "resize_": lambda t, i: i.resize_(2),
}  # fmt: skip


def made(t: Any) -> Any:
    with t.inference_mode():
        return t.ones(3) * 2


@pytest.mark.parametrize("library", ["ours", "theirs"])
@pytest.mark.parametrize("name", WRITES)
def test_writes_outside_of_the_mode(name: str, library: str) -> None:
    t = torch if library == "ours" else pytest.importorskip("torch")
    i = made(t)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside"):
        WRITES[name](t, i)
    if library == "theirs":
        return  # it was written all the same
    with t.no_grad(), pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        WRITES[name](t, i)
    assert i.tolist() == [2, 2, 2]
    with t.inference_mode():
        WRITES[name](t, i)
    WRITES[name](t, i.clone())


@pytest.mark.parametrize("library", ["ours", "theirs"])
def test_what_is_a_tensor_of_the_mode(library: str) -> None:
    t = torch if library == "ours" else pytest.importorskip("torch")
    i, m, a = made(t), t.ones(3), t.ones(3, requires_grad=True)
    assert i.is_inference() and t.is_inference(i) and not m.is_inference()
    assert all(x.is_inference() for x in (i[0], i.view(3), i.detach(), i.data, i.t()))
    for x in (i.clone(), i * 1, i + m, i > 0, i.double(), copy.deepcopy(i), t.cat([i, i]),
              pickle.loads(pickle.dumps(i)), t.nn.Parameter(i, False) * 1):
        assert not x.is_inference()
    with t.inference_mode():
        assert t.is_inference_mode_enabled() and not t.is_grad_enabled()
        assert (m * 2).is_inference() and m.clone().is_inference() and i.clone().is_inference()
        assert t.nn.Linear(2, 2).weight.is_inference()
        assert not m[0].is_inference() and not m.detach().is_inference()
        m.add_(1)
        assert not m.is_inference() and not a.view(3).is_inference()
        own = t.ones(2, requires_grad=True)
        assert own.requires_grad and own.is_inference()
        with t.inference_mode(False):
            assert not t.ones(1).is_inference() and not i.clone().is_inference()
            assert (a * 2).requires_grad and not t.is_inference_mode_enabled()
        assert t.is_inference_mode_enabled()
    assert not t.is_inference_mode_enabled() and m.add_(1).tolist() == [3, 3, 3]


@pytest.mark.parametrize("library", ["ours", "theirs"])
def test_gradients_and_versions(library: str) -> None:
    t = torch if library == "ours" else pytest.importorskip("torch")
    i = made(t)
    for requiring in (i.requires_grad_, lambda: t.nn.Parameter(i), lambda: i[0].requires_grad_()):
        with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor"):
            requiring()
    i.requires_grad_(False)
    with pytest.raises(RuntimeError, match="do not track version"):
        _ = i._version
    assert i.clone().requires_grad_().requires_grad
    i.detach().add_(1)
    i.data.mul_(2)
    assert i.tolist() == [6, 6, 6]
    a = t.ones(3, requires_grad=True)
    (a + i).sum().backward()
    assert a.grad.tolist() == [1, 1, 1] and (a + i).tolist() == [7, 7, 7]


def test_a_derivative_may_take_what_never_changes() -> None:
    i, a = made(torch), torch.ones(3, requires_grad=True)
    (a * i).sum().backward()
    assert a.grad.tolist() == [2, 2, 2]


def test_other_threads_make_normal_tensors() -> None:
    inside, done = threading.Event(), threading.Event()
    found: list[bool] = []

    def other() -> None:
        inside.wait(10)
        found.append(torch.ones(3).is_inference())
        found.append((torch.ones(3) * 2).add_(1).is_inference())
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    with torch.inference_mode():
        inside.set()
        assert done.wait(10)
        assert torch.ones(3).is_inference()
    thread.join()
    assert found == [False, False]


def test_functions_and_generators_in_the_mode() -> None:
    @torch.inference_mode
    def plain() -> Any:
        return torch.ones(2)

    @torch.inference_mode()
    def each() -> Any:
        yield torch.ones(2)
        yield torch.ones(2) * 2

    assert plain().is_inference() and all(x.is_inference() for x in each())
    for x in each():
        assert not torch.ones(1).is_inference() and x.is_inference()
    assert not torch.ones(1).is_inference()
