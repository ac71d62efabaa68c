"""Autocasting and gradient scaling against PyTorch's CPU backend."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom_torch import nn
from tests.torch.oracle import same

real = pytest.importorskip("torch")


def test_dtypes_while_autocasting_are_pytorchs() -> None:
    def f(t: Any) -> Any:
        F = t.nn.functional  # noqa: N806
        a = t.ones(3, 3)
        low = a.bfloat16()
        image, wide = t.ones(1, 2, 4, 4), t.ones(2, 2, 3, 3)
        target = t.tensor([0, 1, 2])
        with t.autocast("cpu"):
            found = [
                a @ a, t.matmul(a, low), t.mm(a, a), t.bmm(a[None], a[None]), F.linear(a, a, a[0]),
                t.addmm(a, a, a), t.baddbmm(a[None], a[None], a[None]), t.einsum("ij,jk", a, a),
                F.conv2d(image, wide), F.conv_transpose2d(image, wide, t.ones(2)),
                F.scaled_dot_product_attention(a[None], a[None], a[None]),
                t.linalg.multi_dot([a, a]),
                t.mv(a, a[0]), t.dot(a[0], a[0]), t.tensordot(a, a, 1), t.outer(a[0], a[0]),
                F.cross_entropy(low, target), F.mse_loss(low, low), F.nll_loss(low, target),
                F.binary_cross_entropy_with_logits(low, low), F.smooth_l1_loss(low, low),
                low.prod(), low.trace(), t.cdist(low, low), t.fft.fft(low[0]),
                t.linalg.inv(t.eye(2).bfloat16()), low.sum(), F.softmax(low, -1), F.gelu(low),
                F.layer_norm(low, (3,), a[0], a[0]), F.max_pool3d(low[None, None], 1),
                t.cat([low, a]), low.index_copy(0, t.tensor([0]), a[:1]), a.double() @ a.double(),
                a + low, a.exp(), t.nn.GRU(3, 2)(a)[0][:0],
                t.nn.RNN(3, 2)(low)[0][:0], t.nn.LSTMCell(3, 2)(a)[0][:0],
            ]
            with t.autocast("cpu", enabled=False):
                found.append(a @ a)
            with t.autocast("cpu", dtype=t.float16):
                found.append(a @ a)
            found.append(a @ a)
        return [(i, str(x.dtype)) for i, x in enumerate([*found, a @ a])]

    same(f, real)


def test_an_lstm_while_autocasting_has_pytorchs_dtype() -> None:
    def f(t: Any) -> Any:
        with t.autocast("cpu"):
            out, (h, c) = t.nn.LSTM(3, 2)(t.ones(1, 3, 3))
        return [str(x.dtype).rpartition(".")[2] for x in (out, h, c)]

    assert f(torch) == ["bfloat16"] * 3
    try:
        expected = f(real)
    except RuntimeError as error:
        # oneDNN has none on processors without instructions for it
        assert "LSTM forward propagation" in str(error), error
    else:
        assert expected == ["bfloat16"] * 3


def test_gradients_of_a_model_come_in_the_parameters_dtype() -> None:
    def f(t: Any) -> Any:
        t.manual_seed(0)
        net = t.nn.Sequential(
            t.nn.Linear(4, 8), t.nn.LayerNorm(8), t.nn.ReLU(), t.nn.Linear(8, 3))
        with t.no_grad():
            for i, p in enumerate(net.parameters()):
                p.copy_(t.sin(t.arange(float(p.numel())) + i).reshape(p.shape))
        x = t.cos(t.arange(20.0)).reshape(5, 4)

        @t.autocast("cpu", dtype=t.bfloat16)  # type: ignore[untyped-decorator]
        def forward() -> Any:
            out = net(x)
            return out, t.nn.functional.cross_entropy(out, t.tensor([0, 1, 2, 0, 1]))

        out, loss = forward()
        loss.backward()
        # rounding of bfloat16 differs along the way: the dtypes exactly, the numbers about
        return out, loss, [p.grad.to(t.bfloat16) for p in net.parameters()], [
            str(p.grad.dtype) for p in net.parameters()]

    same(f, real, rtol=3e-2, atol=3e-2)


def test_the_state_of_autocasting() -> None:
    def f(t: Any) -> Any:
        found = [t.is_autocast_enabled("cpu"), str(t.get_autocast_dtype("cpu"))]
        with t.autocast("cpu", dtype=t.float16):
            found += [t.is_autocast_enabled("cpu"), str(t.get_autocast_dtype("cpu"))]
            with t.autocast("cpu", enabled=False):
                found.append(t.is_autocast_enabled("cpu"))
            found.append(t.is_autocast_enabled("cpu"))
        with pytest.warns(UserWarning), t.autocast("cpu", dtype=t.float64):
            found.append(t.is_autocast_enabled("cpu"))
        with pytest.warns(UserWarning), t.autocast("cuda"):
            found.append(str((t.ones(2, 2) @ t.ones(2, 2)).dtype))
        with pytest.raises(RuntimeError):
            t.autocast("nothing")
        with pytest.raises(ValueError):
            t.autocast(3)
        return [*found, t.is_autocast_enabled("cpu"), t.amp.is_autocast_available("cpu")]

    same(f, real)


def test_threads_autocast_for_themselves() -> None:
    found = []
    inside, done = threading.Event(), threading.Event()

    def other() -> None:
        with torch.autocast("cpu"):
            inside.set()
            done.wait(30)
            found.append((torch.ones(2, 2) @ torch.ones(2, 2)).dtype)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(30)
    a = torch.ones(2, 2)
    mine = [a @ a, nn.functional.linear(a, a), torch.einsum("ij,jk", a, a)]
    done.set()
    thread.join()
    assert {t.dtype for t in mine} == {torch.float32} and found == [torch.bfloat16]


def test_custom_functions_autocast_as_they_say() -> None:
    def f(t: Any) -> Any:
        seen: list[str] = []

        class Product(t.autograd.Function):  # type: ignore[misc]
            @staticmethod
            @t.amp.custom_fwd(device_type="cpu")  # type: ignore[untyped-decorator]
            def forward(ctx: Any, a: Any) -> Any:
                seen.append(str((a @ a).dtype))
                return a * 2

            @staticmethod
            @t.amp.custom_bwd(device_type="cpu")  # type: ignore[untyped-decorator]
            def backward(ctx: Any, g: Any) -> Any:
                seen.append(str((g @ g).dtype))
                return g * 2

        class Wide(Product):  # type: ignore[misc, valid-type]
            @staticmethod
            @t.amp.custom_fwd(  # type: ignore[untyped-decorator]
                device_type="cpu", cast_inputs=t.float32)
            def forward(ctx: Any, a: Any) -> Any:
                seen.append(str((a @ a).dtype))
                return a * 2

        x = t.ones(2, 2, requires_grad=True)
        with t.autocast("cpu"):
            y = Product.apply(x)
            z = Wide.apply(x.bfloat16())
        y.sum().backward()
        z.sum().backward()
        return seen, y, z, x.grad

    same(f, real)


def scaled(t: Any, make: Any, **options: Any) -> Any:
    """Six steps, of which the first and the fourth meet infinities."""
    p = t.nn.Parameter(t.tensor([1.0, 2.0, 3.0]))
    q = t.nn.Parameter(t.tensor(0.5))
    optimizer = make(t, [p, q])
    scaler = t.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2, **options)
    scales = []
    for i in range(6):
        optimizer.zero_grad()
        factor = t.tensor(float("inf") if i in (0, 3) else 0.1 * (i + 1))
        loss = (p * p).sum() * factor + q * q
        scaler.scale(loss).backward()
        if i == 2:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        scales.append((scaler._scale, scaler._growth_tracker))
    return p, q, scales, optimizer.state_dict()["state"], scaler.state_dict()


@pytest.mark.parametrize("make", [
    lambda t, p: t.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5),
    lambda t, p: t.optim.AdamW(p, lr=0.1, amsgrad=True),
    lambda t, p: t.optim.Rprop(p, lr=0.1),
    lambda t, p: t.optim.Adafactor(p, lr=0.1),
])
def test_scaled_steps_are_pytorchs(make: Any) -> None:
    same(lambda t: scaled(t, make)[:3], real)
    mine, theirs = scaled(torch, make), scaled(real, make)
    same(lambda t: (mine if t is torch else theirs)[3:], real)


def test_scaled_steps_read_nothing_and_are_one_program() -> None:
    # what other tests left pending is no part of it
    lazyloom.sync(wait=True)
    p = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adam([p], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    keys, before = set(), lazyloom.stats()["reads"]
    for i in range(4):
        optimizer.zero_grad()
        x = torch.tensor(np.full(3, np.inf if i == 2 else 1.0, np.float32))
        scaler.scale((p * x).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        if i:
            keys.add(lazyloom.program_of(p).key)
        lazyloom.sync(p, scaler._scale)
    assert lazyloom.stats()["reads"] == before
    assert len(keys) == 1
    assert optimizer.state[p]["step"].item() == 3 and scaler.get_scale() == 2.0


def test_a_scaler_tells_what_is_wrong() -> None:
    def f(t: Any) -> Any:
        p = t.nn.Parameter(t.ones(2))
        optimizer = t.optim.SGD([p], lr=0.1)
        scaler = t.amp.GradScaler("cpu")
        told = []

        def attempt(call: Any) -> None:
            try:
                call()
            except (RuntimeError, AssertionError, ValueError) as error:
                told.append(type(error).__name__)
            else:
                told.append("fine")

        attempt(lambda: scaler.step(optimizer))
        attempt(scaler.update)
        scaler.scale(t.ones(()))
        attempt(lambda: scaler.step(optimizer))
        p.grad = t.ones(2)
        attempt(lambda: scaler.step(optimizer, closure=lambda: None))
        attempt(lambda: scaler.unscale_(optimizer))
        attempt(lambda: scaler.unscale_(optimizer))
        attempt(lambda: scaler.step(optimizer))
        attempt(lambda: scaler.step(optimizer))
        attempt(lambda: pickle.dumps(scaler))
        scaler.update(8.0)
        again = pickle.loads(pickle.dumps(scaler))
        other = t.amp.GradScaler("cpu", enabled=False)
        assert other.scale(p) is p and other.state_dict() == {}
        attempt(lambda: scaler.load_state_dict({}))
        return told, again.state_dict(), [float(x) for x in scaler.scale([t.ones(())])]

    same(f, real)


def test_a_selection_of_many_tensors_is_numpys_where() -> None:
    rng = np.random.default_rng(0)
    a, b = ([rng.normal(size=s) for s in ((2, 3), (), (0,))] for _ in range(2))
    for condition in (True, False):
        values = [lazyloom.from_host(x) for x in (np.array(condition), *a, *b)]
        found = [v.read() for v in lazyloom.record("select_all", values)]
        for mine, x, y in zip(found, a, b, strict=True):
            np.testing.assert_array_equal(mine, np.where(condition, x, y))
