"""Programs that both libraries can run: printing, indices, operators, NumPy's functions.

A case is a function of the library, run under PyTorch and under the frontend.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Case = Callable[[Any], Any]


def _text(x: Any) -> str:
    return repr(x).replace("lazyloom_torch", "torch")


def _devices(t: Any) -> Any:
    cuda = t.device("cuda:1")
    return (cuda.type, cuda.index, _text(t.device("mps")), str(t.device("cuda", 0)),
            t.device("cpu") == cuda, t.device(cuda) == cuda, t.zeros(1).device == cuda)


def _told(t: Any) -> Any:
    """What ``asarray`` makes of tensors that do and do not require a gradient."""
    found = []
    for scale in (None, 2):
        for options in ({"requires_grad": True}, {"requires_grad": False}, {"copy": True},
                        {"copy": True, "requires_grad": True}, {"dtype": t.float64}, {}):
            leaf = t.ones(2, requires_grad=True)
            x = leaf if scale is None else leaf * scale
            y = t.asarray(x, **options)
            found.append((y is x, y.requires_grad, y.is_leaf, x.requires_grad))
    return found


def _resized_leaf(t: Any) -> Any:
    x = t.zeros(3, requires_grad=True)
    with t.no_grad():
        t.add(t.ones(1, 2), 1, out=x)
    (x[0] * 3).sum().backward()
    return x, x.requires_grad, x.is_leaf, x.grad


def _written(t: Any, index: Any, value: Any) -> Any:
    x = t.zeros(2, 3)
    x[index] = value
    return x


def _turned_leaf(t: Any) -> Any:
    """Shapes changed in place of a leaf that keeps being one."""
    x = t.arange(3.0).reshape(1, 3).requires_grad_()
    with t.no_grad():
        x.t_().unsqueeze_(0).squeeze_(-1).transpose_(0, 1)
    (x * t.arange(3.0).reshape(3, 1)).sum().backward()
    return x, x.requires_grad, x.is_leaf, x.grad


CASES: dict[str, Case] = {
    "ldexp": lambda t: [
        t.ldexp(t.tensor([0.5], dtype=d), t.tensor([e]))
        for d, e in ((t.float64, 200), (t.float64, -200), (t.bfloat16, 3), (t.float32, 3))],
    "einsum of small integers": lambda t: [
        (t.einsum("ij->", u), t.einsum("ij->i", u), t.einsum("ii", u), t.einsum("i...->...", u),
         t.einsum("ij,ik->i", u, u), t.einsum("ij->ji", u), t.einsum("ij,jk->ik", u, u))
        for u in [t.tensor([[200, 100], [3, 4]], dtype=t.uint8)]],
    "areas below few points": lambda t: [
        f(t.ones(n, dtype=d)) for f in (t.trapezoid, t.cumulative_trapezoid) for n in (0, 1)
        for d in (t.int32, t.float64)],
    "powers of bools": lambda t: [(b**True, b**False) for b in [t.tensor([True, False])]],
    "kron of two dtypes": lambda t: t.kron(t.ones(2), t.tensor(2.0, dtype=t.float64)),
    "a leaf turned": _turned_leaf,
    "a leaf turned with gradients": lambda t: t.ones(1, 3, requires_grad=True).t_(),
    "alpha of bools": lambda t: t.tensor([True, False]).add(t.tensor([True, True]), alpha=2),
    "alpha that is a bool": lambda t: t.ones(2).add(t.ones(2), alpha=True),
    "alpha and several dtypes": lambda t: [
        t.add(t.zeros(2, dtype=t.float64), x, alpha=0.1) - 0.3 > 1e-12
        for x in (t.tensor([3, 3]), t.tensor([3.0, 3.0]))],
    "addcmul of integers": lambda t: t.addcmul(
        t.tensor([1, 2]), t.tensor([3, 4]), t.tensor([5, 6]), value=1.5),
    "addcdiv of integers": lambda t: t.addcdiv(t.ones(2), t.tensor([3, 4]), t.tensor([5, 6])),
    "lerp of two dtypes": lambda t: t.lerp(t.ones(2), t.ones(2, dtype=t.float64), 0.5),
    "lerp by a number of another dtype": lambda t: t.lerp(
        t.tensor(1.0), t.tensor(2.0), t.tensor(0.5, dtype=t.float64)),
    "lerp of integers": lambda t: t.lerp(t.tensor([1]), t.tensor([2]), 0.5),
    "block_diag of two dtypes": lambda t: t.block_diag(
        t.ones(1, 2), t.tensor(2.0, dtype=t.float64), t.tensor([3])),
    "asarray of what requires a gradient": _told,
    "out is a leaf of another shape": _resized_leaf,
    "one value of another dtype at a mask": lambda t: [
        _written(t, t.tensor([True, False]), t.tensor([[2]], dtype=t.int8)),
        _written(t, (slice(None), t.tensor([True, False, True])), t.tensor([2])),
        _written(t, t.tensor([1, 0]), t.tensor([[[2.0]]]))],
    "a vector of another dtype at a mask": lambda t: _written(
        t, t.tensor([True, True]), t.tensor([1, 2, 3])),
    "a complex value at an index": lambda t: [
        _written(t, index, t.tensor(1 + 2j)) for index in (0, slice(None), (0, 1))],
    "a complex value at a mask": lambda t: _written(
        t, t.tensor([True, False]), t.tensor(1 + 2j)),
    "a complex number for a real tensor": lambda t: t.zeros(2).fill_(1 + 2j),
    "writes at bools": lambda t: [
        _written(t, True, t.ones(2, 3, dtype=t.float64)), _written(t, False, t.ones(7)),
        _written(t, True, 2)],
    "small integers as an index": lambda t: [
        (x[t.tensor(1, dtype=t.int8)], _written(t, t.tensor(-1, dtype=t.int16), 4.0))
        for x in [t.arange(3)]],
    "small integers as indices": lambda t: t.arange(3)[t.tensor([1], dtype=t.int16)],
    "is_nonzero": lambda t: (t.is_nonzero(t.ones(1)), t.is_nonzero(t.tensor(0))),
    "is_nonzero of several": lambda t: t.is_nonzero(t.ones(2)),
    "broadcast_tensors of the same shape": lambda t: [
        t.broadcast_tensors(x, t.ones(1))[0] is x for x in [t.ones(2)]],
    "signs of complex zeros": lambda t: _text(t.tensor([complex(1, -0.0), complex(-0.0, 2)])),
    "odd indices": lambda t: [(x[...], x[..., ...], x[..., 0, ...], x[np.array(1)],
                               x[np.array(1), np.array([0, 1])]) for x in [t.ones(2, 3)]],
    "strides of new dimensions": lambda t: [
        v.stride() for x in [t.ones(2, 3)] for v in (x[None], x[:, None], x[..., None])],
    "numpy's functions": lambda t: (
        np.sqrt(t.tensor([4.0])), np.isnan(t.ones(2)), np.add(t.ones(2), 1), np.exp(t.tensor(0.0)),
        np.sum(t.ones(2, 3), axis=0), isinstance(np.abs(t.ones(2)), t.Tensor)),
    "plus": lambda t: [(+x) is x for x in [t.ones(2)]],
    "plus of bool": lambda t: +t.tensor([True]),
    "floor division by 0": lambda t: t.tensor([1, 2]) // 0,
    "remainder by 0": lambda t: t.tensor([1, 2]) % 0,
    "division by 0 of floats": lambda t: (t.tensor([1.0, -1.0]) // 0, t.tensor([1.0]) % 0),
    "devices by name": _devices,
    "device of no name": lambda t: t.device("tpu"),
    "numpy's names of parameters": lambda t: [
        (x.max(axis=1).indices, x.argmax(axis=0, keepdims=True), t.cat((x, x), axis=1),
         t.stack((x, x), axis=-1), x.softmax(axis=0), t.softmax(x, axis=1), x.std(axis=0),
         x.mean(axis=1, keepdims=True), x.all(axis=0), x.cumsum(axis=1), x.unsqueeze(axis=0),
         t.amax(x, axis=(0, 1), out=t.empty(()))) for x in [t.arange(6.0).reshape(2, 3)]],
    "dtype of a list": lambda t: (
        t.tensor([np.float64(1.5), 2]), t.tensor([np.int32(1), np.int32(2)]), t.arange(end=2),
        t.tensor([t.tensor(1), t.tensor(2.5)]), t.tensor([t.tensor([1.0]), t.tensor([2.0])]),
        t.tensor([[np.array([1.5])]]), t.tensor([t.tensor(1.0, dtype=t.bfloat16)]),
        t.Tensor([t.tensor([1.0]), t.tensor([2])]), t.tensor([1, 2], dtype=float),
        t.ones(1).to(complex)),
    "list of tensors": lambda t: t.tensor([t.ones(2), t.ones(2)]),
    "no number": lambda t: t.tensor([1, None]),
    "an array instead of a tensor": lambda t: t.reshape(np.ones(4), (2, 2)),
    "lists instead of tensors": lambda t: t.cat([[1.0], [2.0]]),
    "several dimensions": lambda t: [
        (x.squeeze(0, 2), x.count_nonzero(0, 1)) for x in [t.ones(1, 2, 1)]],
    "float_power": lambda t: t.float_power(t.tensor([2]), 1j),
    "bool less a number": lambda t: 1 - t.tensor([True]),
    "number less a bool": lambda t: t.tensor([3]) - True,
    "sequences by name": lambda t: [
        (x.reshape(shape=(3, 2)), t.permute(x, dims=(1, 0)), x.view(size=(6,)), x.flip(dims=(0,)),
         x.view(dtype=t.int32), x[:1].expand(size=(2, 3)), x.repeat(repeats=(2, 1)),
         t.tile(input=x, dims=(2,)), x.split(split_size=1), x.swapdims(dim0=0, dim1=1),
         t.randn(size=(2, 3)).shape, t.randint(high=2, size=(2,)).shape,
         t.ones(2).resize_(size=(1,))) for x in [t.arange(6.0).reshape(2, 3)]],
    "writes to what expand only gave a dimension": lambda t: [
        (x.expand(1, 3).fill_(3), x) for x in [t.zeros(3)]],
    "both names": lambda t: t.ones(2).max(dim=0, axis=0),
    "sizes": lambda t: _text([t.Size([2, 3]) * 2, (4,) + t.Size([2, 3]), t.Size([1]) + (2,)]),
}
