"""Views, sorting, counting and selecting: what each function gives, aliases and refuses.

A case is a function of the library, run under PyTorch and under the frontend.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.torch.cases import A, I, M, Z, a

Case = Callable[[Any], Any]

NAN = float("nan")


def x(t: Any) -> Any:
    return t.arange(12.0).reshape(3, 4)


def _changed(view: Callable[[Any, Any], Any]) -> Case:
    """A tensor and a view of it, after the view was doubled."""

    def case(t: Any) -> Any:
        base = t.arange(24.0).reshape(2, 3, 4)
        v = view(t, base)
        v.mul_(2)
        base[0, 1, 2] = 50
        return base, v, list(v.stride()), v.storage_offset()

    return case


def _changed_complex(view: Callable[[Any, Any], Any]) -> Case:
    def case(t: Any) -> Any:
        z = t.tensor(Z)
        v = view(t, z)
        v.mul_(3)
        return z, v.resolve_conj(), list(v.stride()), v.storage_offset()

    return case


def _graded(f: Callable[[Any, Any], Any], start: Any = A) -> Case:
    """The gradient of the weighted sum of ``f(library, leaf)``."""

    def case(t: Any) -> Any:
        leaf = t.tensor(start, requires_grad=True)
        y = f(t, leaf)
        weight = t.arange(float(y.numel())).reshape(y.shape) + 1
        ((y if not y.is_complex() else y.real + 2 * y.imag) * weight).sum().backward()
        return leaf.grad

    return case


VIEWS: dict[str, Case] = {
    "as_strided": _changed(lambda t, x: x.as_strided((2, 3), (1, 5), 3)),
    "as_strided of a view": _changed(lambda t, x: x[1].as_strided((2, 2), (1, 2))),
    "as_strided of a transpose": _changed(lambda t, x: x.transpose(0, 2).as_strided((3,), (2,))),
    "unfold step": _changed(lambda t, x: x.unfold(2, 2, 2)),
    "unfold first": _changed(lambda t, x: x.transpose(0, 1).unfold(1, 1, 1)),
    "view dtype": _changed(lambda t, x: x.view(t.int32)),
    "hsplit": _changed(lambda t, x: x.hsplit(3)[1]),
    "dsplit": _changed(lambda t, x: x.dsplit([1, 3])[1]),
    "vsplit": _changed(lambda t, x: x.vsplit(2)[0]),
    "tensor_split": _changed(lambda t, x: x.tensor_split(3, 2)[1]),
    "split_with_sizes": _changed(lambda t, x: x.split_with_sizes([1, 3], 2)[1]),
    "index by a tensor": _changed(lambda t, x: x[t.tensor(1)]),
    "index by two tensors": _changed(lambda t, x: x[:, t.tensor(-1), t.tensor(2)]),
    "index by a computed one": lambda t: (lambda y: (
        y[:, (t.tensor(1) + 1).clamp(max=2)].mul_(2), y))(x(t)),
    "mT": _changed(lambda t, x: x.mT), "adjoint": _changed(lambda t, x: x.adjoint()),
    "squeeze_": _changed(lambda t, x: x[:1].squeeze_(0)),
    "swapaxes_": _changed(lambda t, x: x[0].swapaxes_(0, 1)),
    "resize_": _changed(lambda t, x: x.view(-1)[2:].resize_(2, 3)),
    "set_": _changed(lambda t, x: t.zeros(1).set_(x[1])),
    "view_as_real": _changed_complex(lambda t, z: t.view_as_real(z)),
    "view_as_real of a transpose": _changed_complex(
        lambda t, z: t.view_as_real(z.reshape(1, -1).T)),
    "conj": _changed_complex(lambda t, z: z.conj()),
    "conj of a row": _changed_complex(lambda t, z: z.reshape(1, -1).conj()[0]),
    "H": _changed_complex(lambda t, z: z.reshape(1, -1).H),
    "imag of conj": lambda t: t.tensor(Z).conj().imag.resolve_neg(),
    "view_as_complex": _changed(lambda t, x: t.view_as_complex(x.view(2, 3, 2, 2)).real),
    "overlapping windows": lambda t: (x(t).unfold(1, 2, 1), list(x(t).unfold(1, 2, 1).stride())),
    "write to overlapping windows": lambda t: (lambda y: (y.unfold(0, 2, 1)[0].fill_(9), y)[1])(
        t.arange(4.0)),
    "conjugates": lambda t: (lambda z: (z.conj().is_conj(), z.conj().conj().is_conj(),
                                        z.conj().resolve_conj().is_conj(), z.conj_physical()))(
        t.tensor(Z)),
    "view dtype wider": lambda t: t.arange(8, dtype=t.int32).reshape(2, 4).view(t.int64),
    "view dtype narrower": lambda t: t.arange(4, dtype=t.int32).view(t.int16),
    "view dtype complex": lambda t: t.tensor(Z).view(t.float64 if Z.itemsize == 16 else t.float32),
    "view dtype bad": lambda t: t.ones(3).view(t.float64),
    "view dtype of a transpose": lambda t: x(t).T.view(t.int16),
    "view dtype 0d": lambda t: t.tensor(1.0).view(t.int16),
    "resize_ larger": lambda t: t.ones(2).resize_(1).resize_(2),
    "resize_ of a leaf": lambda t: t.ones(2, requires_grad=True).resize_(3),
    "same place": lambda t: (lambda y: (
        y.data_ptr() == y.view(-1).data_ptr(), y[1].data_ptr() == y.data_ptr(),
        y[1].data_ptr() - y.data_ptr(), y.is_set_to(y[:]), y.is_set_to(y.T),
        y.untyped_storage().data_ptr() == y[1].untyped_storage().data_ptr(),
        y.untyped_storage().nbytes()))(x(t)),
    "fill_diagonal_": lambda t: (
        t.zeros(5, 3).fill_diagonal_(1, wrap=True), t.zeros(2, 3).fill_diagonal_(2),
        t.zeros(2, 2, 2).fill_diagonal_(3)),
    **{f"refused {name}": (lambda f: lambda t: f(t, x(t)))(f) for name, f in {
        "as_strided beyond": lambda t, x: x.as_strided((20, 2), (1, 2)),
        "as_strided backwards": lambda t, x: x.as_strided((2,), (-1,), 5),
        "as_strided lengths": lambda t, x: x.as_strided((2, 2), (1,)),
        "unfold size": lambda t, x: x.unfold(1, 5, 1),
        "unfold step": lambda t, x: x.unfold(1, 2, 0),
        "view_as_complex": lambda t, x: t.view_as_complex(x),
        "view_as_complex dtype": lambda t, x: t.view_as_complex(t.ones(2, 2, dtype=t.int32)),
        "view_as_real": lambda t, x: t.view_as_real(x),
        "view_as_real conj": lambda t, x: t.view_as_real(t.tensor(Z).conj()),
        "hsplit": lambda t, x: x.hsplit(3), "hsplit 0d": lambda t, x: t.tensor(1.0).hsplit(1),
        "vsplit 1d": lambda t, x: x[0].vsplit(2), "dsplit 2d": lambda t, x: x.dsplit(2),
        "tensor_split 0": lambda t, x: x.tensor_split(0),
        "split 0d": lambda t, x: t.tensor(1.0).split(1),
        "unbind 0d": lambda t, x: t.tensor(1.0).unbind(), "mT 1d": lambda t, x: x[0].mT,
        "H 1d": lambda t, x: x[0].H, "narrow": lambda t, x: x.narrow(0, 2, 2),
        "sum_to_size": lambda t, x: x.sum_to_size(2, 4), "roll": lambda t, x: t.roll(x, (1, 1)),
        "select_scatter": lambda t, x: x.select_scatter(t.ones(3), 0, 0),
        "slice_scatter": lambda t, x: x.slice_scatter(t.ones(1, 4), 0, 1),
        "fill_diagonal_": lambda t, x: t.zeros(2).fill_diagonal_(1),
        "meshgrid dtypes": lambda t, x: t.meshgrid(t.tensor(1), t.ones(2)),
        "contains": lambda t, x: "a" in x, "del": lambda t, x: x.__delitem__(0),
    }.items()},
}  # fmt: skip

COPIES: dict[str, Case] = {
    "scatters": lambda t: (
        x(t).select_scatter(t.ones(4, dtype=t.int64), 0, 1),
        x(t).slice_scatter(t.ones(3, 2), 1, 0, 4, 2), x(t).diagonal_scatter(t.ones(3), 1),
        t.as_strided_scatter(x(t), t.ones(2, 2), (2, 2), (1, 5), 1)),
    "copies": lambda t: (
        t.permute_copy(x(t), (1, 0)), t.unbind_copy(x(t)), t.narrow_copy(x(t), 1, 1, 2),
        t.slice_copy(x(t), 0, 1, None), t.view_copy(x(t), (4, 3)), t.alias_copy(x(t)),
        t.unfold_copy(x(t), 1, 2, 1)),
    "pads": lambda t: (t.constant_pad_nd(x(t), (1, -1, 0, 2), 7), t.diagflat(x(t)[:2, :2], 1)),
    "at least": lambda t: [t.atleast_3d(v) for v in (t.tensor(1.0), t.ones(2), t.ones(2, 3))],
    "triangles": lambda t: [f(r, c, k) for f in (t.tril_indices, t.triu_indices)
                            for r, c, k in ((3, 4, 1), (2, 2, -5), (0, 2, 0), (3, 2, 5))],
    "rotations": lambda t: [t.rot90(x(t), k) for k in range(-1, 4)],
    "unravel_index": lambda t: t.unravel_index(t.tensor([[0, 5], [11, 7]]), (3, 4)),
    "repeat_interleave": lambda t: (
        x(t).repeat_interleave(t.tensor([1, 0, 2]), 0), t.repeat_interleave(t.tensor([2, 0, 1])),
        x(t).repeat_interleave(2), x(t).repeat_interleave(t.tensor([2]), 1),
        t.tensor(3).repeat_interleave(2)),
    "repeat_interleave size": lambda t: x(t).repeat_interleave(
        t.tensor([1, 0, 2]), 0, output_size=3),
    "repeat_interleave negative": lambda t: t.repeat_interleave(t.tensor([2, -1])),
    "sum_to_size": lambda t: (x(t).sum_to_size(1, 4), x(t).sum_to_size(4), x(t).sum_to_size(3, 4)),
    "meshgrid xy": lambda t: t.meshgrid(t.ones(2), t.arange(3.0), indexing="xy"),
    "types": lambda t: (x(t).type(), x(t).type("torch.DoubleTensor"), x(t).new(2).shape),
    "reversed": lambda t: reversed(t.arange(3)),
    "frombuffer": lambda t: t.frombuffer(bytearray(b"12345678"), dtype=t.int32, offset=4),
}  # fmt: skip

_ROWS = [[1.0, NAN, 3.0, 2.0], [3.0, 1.0, 2.0, 2.0], [NAN, NAN, 1.0, 1.0]]

SORTING: dict[str, Case] = {
    "medians": lambda t: [f(t.tensor(_ROWS), d, k) for f in (t.median, t.nanmedian)
                          for d, k in ((0, False), (1, True))],
    "medians of all": lambda t: (t.tensor(_ROWS).median(), t.tensor(_ROWS).nanmedian(),
                                 t.tensor([3, 1, 2, 2]).median(), t.ones(0).median()),
    "median of nothing": lambda t: t.ones(0, 2).median(0),
    "mode": lambda t: (t.tensor([[1, 2, 2, 1, 3], [3, 3, 3, 1, 2], [5, 4, 3, 2, 1]]).mode(1),
                       t.tensor(_ROWS).mode(1), t.tensor([True, False]).mode(), t.tensor(1).mode()),
    "kthvalue": lambda t: (t.tensor([1.0, NAN, 3.0]).kthvalue(3), t.tensor(1.0).kthvalue(1)),
    "kthvalue 0": lambda t: t.ones(2).kthvalue(0),
    "quantiles": lambda t: [t.quantile(x(t), q, d, interpolation=m) for q, d, m in (
        (0.3, None, "linear"), (0.3, 1, "lower"), (t.tensor([0.1, 0.9]), 0, "higher"),
        (t.tensor(0.6), -1, "nearest"), (0.7, 0, "midpoint"))],
    "nanquantiles": lambda t: (t.nanquantile(t.tensor(_ROWS), t.tensor([0.2, 0.5]), 1, True),
                               t.quantile(t.tensor(_ROWS), 0.5, 1)),
    "quantile above 1": lambda t: t.quantile(x(t), 1.5),
    "quantile of ints": lambda t: t.quantile(t.tensor([1, 2]), 0.5),
    "quantile dtypes": lambda t: t.quantile(x(t), t.tensor(0.5, dtype=t.float64)),
    "topk": lambda t: (t.tensor([[1.0, NAN, 2.0]]).topk(2), t.tensor(3).topk(1),
                       t.tensor([3, 1, 2]).topk(2, largest=False)),
    "topk of bools": lambda t: t.tensor([True]).topk(1),
    "sort of complex": lambda t: t.tensor([1j]).sort(),
    "searchsorted": lambda t: (
        t.searchsorted(x(t), x(t) + 0.5, right=True), t.searchsorted(x(t)[0], 2),
        t.searchsorted(t.tensor([3.0, 1.0, 2.0]), t.tensor([1.5]), sorter=t.tensor([1, 2, 0])),
        t.bucketize(t.tensor([1, 5]), t.tensor([1.0, 3.0]), out_int32=True)),
    "searchsorted sides": lambda t: t.searchsorted(x(t), x(t), side="left", right=True),
    "searchsorted rows": lambda t: t.searchsorted(x(t), x(t)[:2]),
    "searchsorted sorter": lambda t: t.searchsorted(
        t.tensor([2.0, 1.0]), t.tensor([1.5]), sorter=t.tensor([1, 2])),
    "isin": lambda t: (t.isin(x(t), 1), t.isin(2.0, x(t)), t.isin(x(t), x(t)[0] * 2, invert=True),
                       t.isin(t.arange(40), t.arange(0, 60, 3)), t.isin(
                           t.tensor([NAN]), t.tensor([NAN]))),
    "isin of numbers": lambda t: t.isin(1, 2),
}  # fmt: skip

COUNTING: dict[str, Case] = {
    "nonzero": lambda t: (t.tensor(M).nonzero(), t.tensor(1).nonzero(), t.nonzero(
        t.tensor(1), as_tuple=True), t.zeros(0, 3).nonzero(), t.argwhere(t.tensor(0))),
    "nonzero_static": lambda t: (
        t.nonzero_static(t.tensor(M), size=3), t.nonzero_static(t.tensor([0, 5]), size=3),
        t.nonzero_static(t.tensor(1), size=2, fill_value=7)),
    "bincount": lambda t: (t.bincount(t.tensor([1, 3, 1]), minlength=6), t.bincount(
        t.tensor([1, 3, 1]), t.tensor([1, 2, 3])), t.bincount(t.ones(0, dtype=t.int64))),
    "bincount negative": lambda t: t.bincount(t.tensor([-1, 2])),
    "histc": lambda t: (t.histc(t.tensor([1.0, 2, 2, NAN]), 4, 0, 4), t.histc(x(t), 5),
                        t.histc(t.ones(3), 3), t.histc(t.ones(0), 2)),
    "histc of NaN": lambda t: t.histc(t.tensor([1.0, NAN]), 4).tolist(),
    "histc of ints": lambda t: t.histc(t.tensor([1, 2]), 4),
    "histogram": lambda t: (
        t.histogram(t.tensor([1.0, 2, 2, 3]), 4),
        t.histogram(t.tensor([1.0, 2, 2, 3]), t.tensor([0.0, 2, 3]), density=True),
        t.histogram(x(t), 3, range=(2.0, 9.0), weight=x(t))),
    "histogramdd": lambda t: (t.histogramdd(x(t).reshape(6, 2), [2, 3]), t.histogramdd(
        x(t).reshape(6, 2), 2, range=[0.0, 12.0, 0.0, 6.0], density=True)),
    "unique": lambda t: (
        t.unique(t.tensor([[3, 1], [1, 2]]), return_inverse=True, return_counts=True),
        t.unique(t.tensor([NAN, 1, NAN]), return_inverse=True), t.unique(t.tensor(M)),
        t.unique(t.tensor(3), return_counts=True), t.unique(t.ones(0, 2), return_inverse=True)),
    "unique slices": lambda t: [t.unique(
        t.tensor([[3, 1, 1], [1, 2, 0], [3, 1, 1]]), return_inverse=True, return_counts=True, dim=d)
        for d in (0, 1)],
    "unique of empty slices": lambda t: t.unique(t.ones(0, 2), dim=1),
    "unique_consecutive": lambda t: (
        t.unique_consecutive(t.tensor([1, 1, 2, 2, 1]), return_inverse=True, return_counts=True),
        t.unique_consecutive(t.tensor([[1, 1], [1, 1], [2, 1]]), return_counts=True, dim=0)),
}  # fmt: skip


def _each(t: Any, name: str, *args: Any, **kwargs: Any) -> list[Any]:
    """A function of torch.masked with a mask, without one, and of what has nothing left."""
    f = getattr(t.masked, name)
    rows = t.tensor(M) & t.tensor([[True], [True], [False]])
    return [f(a(t), *args, mask=m, **kwargs) for m in (None, t.tensor(M), rows)]


MASKED: dict[str, Case] = {
    **{name: (lambda n: lambda t: _each(t, n, 1))(name) for name in (
        "sum", "prod", "amax", "amin", "mean", "median", "logsumexp", "var", "std", "cumsum",
        "cumprod")},
    **{name: (lambda n: lambda t: _each(t, n, 1)[:2])(name) for name in (
        "softmax", "log_softmax", "softmin", "argmax", "argmin")},
    "norm": lambda t: _each(t, "norm", 3, 1), "normalize": lambda t: _each(t, "normalize", 2, 1),
    "all dimensions": lambda t: (_each(t, "sum"), _each(t, "mean", keepdim=True), _each(
        t, "var", correction=0)),
    "ints": lambda t: (t.masked.sum(t.tensor(I), 0, mask=t.tensor(I) > 0), t.masked.amax(
        t.tensor(I), 0, mask=t.tensor(I) > 100)),
    "mean of ints": lambda t: t.masked.mean(t.tensor(I)),
    "logaddexp": lambda t: t.masked.logaddexp(a(t), a(t), input_mask=t.tensor(M)),
}  # fmt: skip

_W = np.array([[0, 2], [1, 0], [2, 2]])

GRADIENTS: dict[str, Case] = {
    "as_strided": _graded(lambda t, x: x.as_strided((3, 3), (1, 2), 1)),
    "unfold": _graded(lambda t, x: x.unfold(1, 3, 1)),
    "unfold step": _graded(lambda t, x: x.unfold(1, 2, 2)),
    "view_as_real": _graded(lambda t, z: t.view_as_real(z), Z),
    "view_as_complex": _graded(lambda t, x: t.view_as_complex(x.view(3, 2, 2))),
    "conj": _graded(lambda t, z: z.conj() * t.tensor(Z), Z),
    "median of ties": _graded(lambda t, x: (x * 0).median().reshape(1)),
    "medians": _graded(lambda t, x: x.median(1)[0] + x.nanmedian(1)[0]),
    "mode": _graded(lambda t, x: x.mode(1)[0]), "kthvalue": _graded(lambda t, x: x.kthvalue(2)[0]),
    "quantile": _graded(lambda t, x: t.quantile(x, 0.3, 1)),
    "select_scatter": _graded(lambda t, x: x.select_scatter(x[0] * 2, 0, 1)),
    "index by a computed one": _graded(lambda t, x: x[(t.tensor(1) + 1).clamp(max=2)] * 2),
    "put": _graded(lambda t, x: x.put(t.tensor([0, -1, 5]), x[0, :3] * 3, accumulate=True)),
    "masked_scatter": _graded(lambda t, x: x.masked_scatter(t.tensor(M), x * 2)),
    **{f"scatter_reduce {r} {s}": (lambda r, s: _graded(lambda t, x: x.scatter_reduce(
        1, t.tensor(_W), x[:, :2] * 2, r, include_self=s)))(r, s)
        for r in ("sum", "prod", "mean", "amax", "amin") for s in (True, False)},
    **{f"index_reduce {r}": (lambda r: _graded(lambda t, x: x.index_reduce(
        0, t.tensor([1, 1]), x[:2] + 1, r)))(r) for r in ("prod", "mean", "amax", "amin")},
    "scatter_reduce of ties": _graded(lambda t, x: (x * 0).scatter_reduce(
        1, t.tensor(_W), x[:, :2] * 0, "amax")),
    **{f"segment_reduce {r}": (lambda r: _graded(lambda t, x: t.segment_reduce(
        x, r, lengths=t.tensor([[1, 0, 3], [2, 2, 0], [0, 4, 0]]), axis=1, initial=0.5)))(r)
        for r in ("sum", "mean", "max", "min", "prod")},
    **{f"segment_reduce {r} by offsets": (lambda r: lambda t: t.segment_reduce(
        t.tensor(A), r, offsets=t.tensor([0, 2, 2, 3])))(r)
        for r in ("sum", "mean", "max", "min", "prod")},
    "segment_reduce of ties": _graded(lambda t, x: t.segment_reduce(
        x * 0, "max", lengths=t.tensor([2, 1]))),
    "segment_reduce of no lengths": lambda t: t.segment_reduce(t.tensor(A), "sum"),
    "segment_reduce of wrong lengths": lambda t: t.segment_reduce(
        t.tensor(A), "sum", lengths=t.tensor([1, 1])).tolist(),
    "segment_reduce of another axis": lambda t: t.segment_reduce(
        t.tensor(A), "sum", lengths=t.tensor([1, 2]), axis=1),
    "take_along_dim": _graded(lambda t, x: x.take_along_dim(t.tensor([[5, -1]]), 1)),
}  # fmt: skip
