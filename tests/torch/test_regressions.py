"""What programs ran into: each is the shortest program that went wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyloom_torch as torch
from lazyloom_torch import nn


def test_a_bfloat16_result_is_rounded_whether_or_not_it_is_read() -> None:
    unread = (torch.ones(1, dtype=torch.bfloat16) / 3).float()
    kept = torch.ones(1, dtype=torch.bfloat16) / 3
    kept.tolist()
    assert unread.item() == kept.float().item() == 0.333984375
    small = torch.ones(1, dtype=torch.bfloat16) + 0.001 + 0.001
    assert small.float().item() == 1


def test_a_hook_outlives_the_tensor_it_was_registered_on() -> None:
    seen: list[Any] = []

    def forward(x: Any) -> Any:
        hidden = x * 2
        hidden.register_hook(lambda g: seen.append(g.tolist()))
        return (hidden * 3).sum()

    x = torch.ones(2, requires_grad=True)
    loss = forward(x)
    loss.item()
    loss.backward()
    assert seen == [[3, 3]] and x.grad.tolist() == [6, 6]
    forward(x).backward()
    assert len(seen) == 2


def test_a_module_s_backward_hook_sees_outputs_that_nobody_kept() -> None:
    layer = nn.Linear(2, 2)
    seen: list[Any] = []
    layer.register_full_backward_hook(lambda module, before, after: seen.append(after[0].tolist()))
    layer(torch.ones(1, 2)).sum().backward()
    assert seen == [[[1, 1]]]


def test_hooks_of_graphs_that_are_gone_are_dropped() -> None:
    from lazyloom_torch.autograd import _watches

    x = torch.ones(2, requires_grad=True)
    before = set(_watches)
    for backward in (True, False):
        for _ in range(20):
            hidden = x * 2
            hidden.register_hook(lambda g: None)
            total = hidden.sum()
            if backward:
                total.backward()  # saved nothing, so that the graph lives as long as total
            else:
                total.item()
        x.grad.tolist()
        total = hidden = None
        (x * 2).register_hook(lambda g: None)
        assert len(set(_watches) - before) <= 3


@pytest.mark.parametrize("number", [np.float64(2), np.float32(2), np.int64(2), np.bool_(True)])
def test_numpy_scalars_leave_operators_to_the_tensor(number: Any) -> None:
    t = torch.full((2,), 4.0, requires_grad=True)
    for found, expected in ((number * t, number * 4), (number - t, number - np.float64(4)),
                            (number / t, number / 4), (number**t, float(number) ** 4)):
        assert isinstance(found, torch.Tensor) and found.dtype is torch.float32
        assert found.requires_grad and found.tolist() == [expected] * 2
    assert isinstance(number < t, torch.Tensor) and (number < t).tolist() == [True, True]


def test_host_arrays_as_operands() -> None:
    t, a = torch.ones(2), np.array([1.0, 2.0])
    assert isinstance(t * a, torch.Tensor) and (t * a).dtype is torch.float64
    assert (t == a).tolist() == (a == t).tolist() == [True, False]
    t += a
    assert t.tolist() == [2, 3] and t.dtype is torch.float32
    with pytest.raises(TypeError):
        a * t


@pytest.mark.parametrize("convert", [int, float, complex])
def test_several_elements_as_a_python_number(convert: Any) -> None:
    with pytest.raises(ValueError, match="only one element tensors"):
        convert(torch.ones(2))
    with pytest.raises(RuntimeError, match="2 elements"):
        torch.ones(2).item()


def test_asking_for_an_accelerator() -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    assert torch.ones(1, device=device).device.type == "cpu"
    assert not torch.accelerator.is_available() and torch.cuda.device_count() == 0
    assert torch.accelerator.current_accelerator() is None


def test_pools_show_and_hold_their_stride() -> None:
    assert nn.MaxPool2d(2).stride == 2
    assert repr(nn.MaxPool2d(2)) == (
        "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)")
    assert repr(nn.AvgPool2d(3, 1)) == "AvgPool2d(kernel_size=3, stride=1, padding=0)"
    assert repr(nn.AdaptiveAvgPool2d(1)) == "AdaptiveAvgPool2d(output_size=1)"


def test_scalars_in_f_strings_are_numbers() -> None:
    loss = (torch.full((2,), 2.75, requires_grad=True) * 2).mean()
    assert f"{loss}" == "5.5" and f"{loss:.2f}" == "5.50" and f"{torch.tensor(3)}" == "3"
    assert f"{torch.tensor(True)} {torch.ones(1)}" == "True tensor([1.])"
    assert f"{nn.Parameter(torch.tensor(1.0))}" == (
        "Parameter containing:\ntensor(1., requires_grad=True)")


def test_numpy_of_what_requires_grad_while_nothing_is_recorded() -> None:
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = torch.from_numpy(np.exp(x.numpy()))
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return ctx.saved_tensors[0] * g

    x = torch.zeros(2, requires_grad=True)
    Exp.apply(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1, 1]
    with torch.no_grad():
        assert x.numpy().tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="requires grad"):
        x.numpy()


def test_type_takes_the_old_names_of_types() -> None:
    t = torch.tensor([1.5])
    assert t.type(torch.LongTensor).dtype is torch.int64 and t.type(torch.FloatTensor) is t


def test_name_of_the_node_of_an_assignment() -> None:
    x = torch.zeros(3)
    x[0] = torch.ones(1, requires_grad=True) * 3
    assert repr(x) == "tensor([3., 0., 0.], grad_fn=<CopySlices>)"


def test_generators_run_in_the_mode_of_their_decorator() -> None:
    for mode in (torch.no_grad(), torch.no_grad, torch.inference_mode()):
        @mode
        def tokens(x: Any) -> Any:
            try:
                got = yield (x * 2).requires_grad
                yield got, (x * 2).requires_grad
                yield torch.is_grad_enabled()
            except KeyError:
                yield torch.is_grad_enabled()
            return (x * 2).requires_grad

        running = tokens(torch.ones(1, requires_grad=True))
        assert next(running) is False and torch.is_grad_enabled()
        assert running.send(7) == (7, False) and torch.is_grad_enabled()
        assert running.throw(KeyError()) is False and torch.is_grad_enabled()
        with pytest.raises(StopIteration) as end:
            next(running)
        assert end.value.value is False
        tokens(torch.ones(1)).close()
        assert list(tokens(torch.ones(1)))[-1] is False and torch.is_grad_enabled()


def test_numbers_that_an_integer_dtype_does_not_hold() -> None:
    for data, dtype in (([300], torch.uint8), ([1, -129], torch.int8), (1e10, torch.int32),
                        ([float("nan")], torch.int64), (2**63, None), (255.5, torch.uint8)):
        with pytest.raises(RuntimeError, match="without overflow"):
            torch.tensor(data, dtype=dtype)
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.full((2,), 300, dtype=torch.uint8)
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.zeros(2, dtype=torch.uint8).fill_(300)
    assert torch.tensor([-1, 255], dtype=torch.uint8).tolist() == [255, 255]
    assert torch.tensor([2**63 - 1, -(2**63)]).tolist() == [2**63 - 1, -(2**63)]
    assert torch.tensor(np.array([300]), dtype=torch.uint8).tolist() == [44]
    assert torch.tensor([2.9], dtype=torch.int32).tolist() == [2]


def test_shallow_copies_share_memory() -> None:
    import copy

    x = torch.arange(3.0)
    copy.copy(x)[0] = 9
    part = copy.copy(x[1:])
    part += 1
    assert x.tolist() == [9, 2, 3]
    p = copy.copy(nn.Parameter(torch.ones(2)))
    assert isinstance(p, nn.Parameter) and p.requires_grad and p.tolist() == [1, 1]


def test_a_product_beyond_all_memory_is_an_error_where_it_is_read() -> None:
    row = torch.ones(1, 10**7)  # the product has more bytes than a process has addresses
    with pytest.raises(RuntimeError, match="memory"):
        (row.T @ row).numpy()
    assert torch.ones(2).sum().item() == 2


@pytest.mark.parametrize("old, new", [
    ("torch.add(x, 2, y)", "torch.add(x, y, alpha=2)"),
    ("torch.add(2, 3, y)", "2 + 3 * y"),
    ("torch.sub(x, 2, y, out=torch.empty(2))", "x - 2 * y"),
    ("x.add(2, y)", "x + 2 * y"), ("x.clone().add_(2, y)", "x + 2 * y"),
    ("x.clone().sub_(0.5, y)", "x - 0.5 * y"), ("torch.addcmul(x, 0.5, y, y)", "x + 0.5 * y * y"),
    ("torch.addcmul(x, 0.5, y, y, out=torch.empty(2))", "x + 0.5 * y * y"),
    ("x.clone().addcmul_(0.5, y, y)", "x + 0.5 * y * y"),
    ("x.clone().addcdiv_(-0.5, x, y)", "x - 0.5 * x / y"),
    ("torch.addmm(0.5, m, 2.0, m, m)", "0.5 * m + 2 * m @ m"),
    ("torch.addmm(0.5, m, m, m)", "0.5 * m + m @ m"),
    ("m.clone().addmm_(0.5, 2.0, m, m)", "0.5 * m + 2 * m @ m"),
    ("x.addmv(0.5, m, y)", "0.5 * x + m @ y"),
    ("m.addr(0.5, 2.0, x, y)", "0.5 * m + 2 * torch.outer(x, y)"),
    ("torch.baddbmm(0.5, m[None], m[None], m[None])", "(0.5 * m + m @ m)[None]"),
    ("m.addbmm(0.5, 2.0, m[None], m[None])", "0.5 * m + 2 * m @ m"),
])  # fmt: skip
def test_scales_may_come_before_operands(old: str, new: str) -> None:
    given = {"torch": torch, "x": torch.tensor([1.0, 2.0]), "y": torch.tensor([3.0, 5.0]),
             "m": torch.tensor([[1.0, 2.0], [3.0, 4.0]])}  # fmt: skip
    with pytest.warns(UserWarning, match="deprecated"):
        found = eval(old, given)
    assert found.tolist() == eval(new, given).tolist()


def test_scales_after_operands_have_names() -> None:
    x = torch.ones(2)
    for call in (lambda: torch.add(x, x, 2), lambda: torch.addcmul(x, x, x, 0.5),
                 lambda: x.addcdiv(x, x, 2), lambda: torch.addmm(x, x, x, 1, 1)):  # fmt: skip
        with pytest.raises(TypeError):
            call()


def test_scales_before_operands_while_autocasting() -> None:
    m = torch.eye(2)
    with torch.autocast("cpu", dtype=torch.bfloat16), pytest.warns(UserWarning):
        assert torch.addmm(0.5, m, 2.0, m, m).float().tolist() == (2.5 * m).tolist()


def test_means_and_norms_that_half_precision_cannot_hold() -> None:
    x = torch.ones(70_001, dtype=torch.float16, requires_grad=True)
    mean = x.nanmean()
    mean.backward()
    assert mean.dtype == torch.float16 and mean.item() == 1.0
    assert abs(x.grad[0].item() * 70_001 - 1) < 0.01
    y = torch.full((1, 4096), 2000.0, dtype=torch.float16, requires_grad=True)
    found = torch.renorm(y, 2, 0, 1.0)
    found.float().sum().backward()
    assert found.dtype == torch.float16 and abs(found[0, 0].item() - 1 / 64) < 1e-4
    assert y.grad.abs().max().item() < 1e-4
