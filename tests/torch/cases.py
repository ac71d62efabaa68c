"""Programs that both libraries can run, as functions of the library; by topic."""
# ruff: noqa: B023 - an outer lambda, called at once, binds each loop variable

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Case = Callable[[Any], Any]

_rng = np.random.default_rng(7)
A = _rng.normal(size=(3, 4)).astype(np.float32)
B = _rng.normal(size=(3, 4)).astype(np.float32)
P = np.abs(A) + 0.5
U = (_rng.random((3, 4)) * 0.9 + 0.05).astype(np.float32)
C3 = _rng.normal(size=(2, 3, 4)).astype(np.float32)
I = _rng.integers(-5, 6, (3, 4))  # noqa: E741
J = _rng.integers(1, 6, (3, 4))
Z = (_rng.normal(size=(3, 4)) + 1j * _rng.normal(size=(3, 4))).astype(np.complex64)
M = _rng.normal(size=(3, 4)) > 0


def a(t: Any) -> Any:
    return t.tensor(A)


def b(t: Any) -> Any:
    return t.tensor(B)


POINTWISE: dict[str, Case] = {
    **{n: (lambda n: lambda t: getattr(t, n)(t.tensor(A)))(n) for n in (
        "exp", "exp2", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asinh", "atan", "erf",
        "erfc", "sigmoid", "abs", "neg", "sign", "floor", "ceil", "trunc", "round", "square",
        "relu", "frac", "signbit", "isnan", "isinf", "isfinite", "positive", "deg2rad", "logit",
        "sgn")},
    **{f"{n} positive": (lambda n: lambda t: getattr(t, n)(t.tensor(P)))(n) for n in (
        "sqrt", "rsqrt", "log", "log2", "log10", "log1p", "reciprocal", "lgamma", "digamma")},
    **{f"{n} unit": (lambda n: lambda t: getattr(t, n)(t.tensor(U)))(n) for n in (
        "asin", "acos", "atanh", "erfinv", "logit")},
    **{f"{n} int": (lambda n: lambda t: getattr(t, n)(t.tensor(J)))(n) for n in (
        "sqrt", "exp", "log", "reciprocal", "abs", "neg", "floor", "round", "sin", "sigmoid",
        "isnan", "square", "sign")},
    **{n: (lambda n: lambda t: getattr(t, n)(a(t), b(t)))(n) for n in (
        "add", "sub", "mul", "div", "maximum", "minimum", "fmax", "fmin", "remainder", "fmod",
        "floor_divide", "true_divide", "atan2", "hypot", "copysign", "logaddexp", "eq", "ne", "lt",
        "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "nextafter", "isclose")},
    **{f"{n} int": (lambda n: lambda t: getattr(t, n)(t.tensor(I), t.tensor(J)))(n) for n in (
        "add", "sub", "mul", "div", "maximum", "remainder", "fmod", "floor_divide", "gcd", "lcm",
        "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "eq", "lt", "pow",
        "logical_and", "atan2")},
    **{f"div {m} {k}": (lambda m, k: lambda t: t.div(
        t.tensor(I if k == "int" else A), t.tensor(J if k == "int" else B), rounding_mode=m))(m, k)
        for m in ("floor", "trunc", None, "up") for k in ("int", "float")},
    "bool add": lambda t: t.tensor(M) + t.tensor(M),
    "bool mul": lambda t: t.tensor(M) * t.tensor(~M),
    "bool sub": lambda t: t.tensor(M) - t.tensor(M),
    "bool and": lambda t: t.tensor(M) & t.tensor(True),
    "bool not": lambda t: ~t.tensor(M),
    "bool plus int": lambda t: t.tensor(M) + 1,
    "bool neg": lambda t: -t.tensor(M),
    "int not": lambda t: ~t.tensor(I),
    "float and": lambda t: a(t) & b(t),
    "pow 2": lambda t: a(t) ** 2,
    "pow 3.0": lambda t: a(t) ** 3.0,
    "pow 0.5": lambda t: t.tensor(P) ** 0.5,
    "pow -1": lambda t: t.tensor(P) ** -1,
    "pow int -1": lambda t: t.tensor(J) ** -1,
    "pow tensors": lambda t: t.tensor(P) ** b(t),
    "2 ** tensor": lambda t: 2 ** a(t),
    "add alpha": lambda t: t.add(a(t), b(t), alpha=3),
    "rsub": lambda t: 1 - a(t),
    "rdiv int": lambda t: 6 / t.tensor(J),
    "rfloordiv": lambda t: 7 // t.tensor(J),
    "mod negative": lambda t: t.tensor(I) % -3,
    "int clamp": lambda t: t.tensor(I).clamp(-1, 2),
    "clamp": lambda t: a(t).clamp(min=-0.5),
    "clamp tensors": lambda t: a(t).clamp(b(t), b(t) + 1),
    "clamp nothing": lambda t: a(t).clamp(),
    "where": lambda t: t.where(t.tensor(M), a(t), b(t)),
    "where scalar": lambda t: t.where(t.tensor(M), a(t), 0.0),
    "where int scalar": lambda t: t.where(t.tensor(M), t.tensor(I), 2.5),
    "where scalars": lambda t: t.where(t.tensor(M), 1, 0),
    "lerp": lambda t: t.lerp(a(t), b(t), 0.3),
    "addcmul": lambda t: t.addcmul(a(t), b(t), a(t), value=0.5),
    "addcdiv": lambda t: t.addcdiv(a(t), b(t), t.tensor(P), value=2),
    "nan_to_num": lambda t: t.nan_to_num(
        t.tensor([1.0, float("nan"), float("inf"), -float("inf")])),
    "float_power": lambda t: t.float_power(t.tensor(P), 2),
    "round decimals": lambda t: t.round(a(t), decimals=2),
    "xlogy": lambda t: t.xlogy(t.tensor(U), t.tensor(P)),
    "heaviside": lambda t: t.heaviside(a(t), t.tensor(0.5)),
    "complex mul": lambda t: t.tensor(Z) * t.tensor(Z),
    "complex abs": lambda t: t.tensor(Z).abs(),
    "complex angle": lambda t: t.angle(t.tensor(Z)),
    "complex conj": lambda t: t.tensor(Z).conj() + 0,
    "complex parts": lambda t: (t.tensor(Z).real + 0, t.tensor(Z).imag + 0),
    "complex of": lambda t: t.complex(a(t), b(t)),
    "complex less": lambda t: t.tensor(Z) < t.tensor(Z),
    "real plus complex": lambda t: a(t) + t.tensor(Z),
    "float times 1j": lambda t: a(t) * 1j,
    "shapes": lambda t: t.ones(3) + t.ones(4),
    "broadcast": lambda t: a(t) + t.arange(4),
    "comparison chain": lambda t: ((a(t) > 0) | (b(t) < 0)).sum(),
    "logical on ints": lambda t: t.logical_and(t.tensor(I), 1),
    "isclose nan": lambda t: t.isclose(t.tensor([float("nan")]), t.tensor([float("nan")]),
                                       equal_nan=True),
}

_DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
           "float64", "complex64", "complex128")


def _promoted(t: Any, left: str, right: str, form: str) -> Any:
    x = t.ones(2, dtype=getattr(t, left))
    y = t.ones(() if form == "0d" else 2, dtype=getattr(t, right))
    return str(t.result_type(x, y)), str((x * y).dtype), str((y == x).dtype)


PROMOTION: dict[str, Case] = {
    **{f"{x} {y} {form}": (lambda x, y, form: lambda t: _promoted(t, x, y, form))(x, y, form)
       for x in _DTYPES for y in _DTYPES for form in ("1d", "0d")
       # half with complex makes PyTorch's unfinished complex32
       if not ("float16" in (x, y) and ({x, y} & {"complex64", "complex128"}))},
    **{f"{x} {n!r}": (lambda x, n: lambda t: str((t.ones(2, dtype=getattr(t, x)) * n).dtype))(x, n)
       for x in _DTYPES for n in (True, 2, 1.5, 1j) if not (x == "float16" and n == 1j)
       and not (x == "bfloat16" and n == 1j)},
    **{f"{x} /": (lambda x: lambda t: t.ones(2, dtype=getattr(t, x)) / 2)(x) for x in _DTYPES},
    **{f"{x} sum": (lambda x: lambda t: t.ones(2, dtype=getattr(t, x)).sum())(x) for x in _DTYPES},
    **{f"{x} mean": (lambda x: lambda t: t.ones(2, dtype=getattr(t, x)).mean())(x)
       for x in _DTYPES},
    **{f"int {x} += float": (lambda x: lambda t: t.ones(2, dtype=getattr(t, x)).add_(1.5))(x)
       for x in _DTYPES},
    "set default": lambda t: str(t.get_default_dtype()),
}

REDUCTIONS: dict[str, Case] = {
    **{f"{n} {d} {k}": (lambda n, d, k: lambda t: getattr(t, n)(
        t.tensor(C3), d, keepdim=k))(n, d, k)
       for n in ("sum", "mean", "amax", "amin", "var", "std", "logsumexp", "all", "any")
       for d in (0, -1, (0, 2)) for k in (False, True)},
    **{f"{n} all": (lambda n: lambda t: getattr(t, n)(t.tensor(C3)))(n) for n in (
        "sum", "mean", "prod", "amax", "amin", "var", "std", "max", "min", "argmax", "argmin",
        "all", "any", "norm", "count_nonzero", "median")},
    **{f"{n} dim": (lambda n: lambda t: tuple(getattr(t, n)(t.tensor(C3), 1)))(n) for n in (
        "max", "min", "sort", "median", "cummax", "cummin")},
    **{f"{n} dim": (lambda n: lambda t: getattr(t, n)(t.tensor(C3), 2))(n) for n in (
        "cumsum", "cumprod", "logcumsumexp", "argmax", "argmin", "argsort", "prod", "softmax",
        "log_softmax", "count_nonzero")},
    "sum int": lambda t: t.tensor(I).sum(1),
    "sum bool": lambda t: t.tensor(M).sum(),
    "sum dtype": lambda t: t.tensor(I).sum(dtype=t.float32),
    "mean int": lambda t: t.tensor(I).mean(),
    "sum bad dim": lambda t: t.tensor(A).sum(5),
    "sum twice": lambda t: t.tensor(A).sum((0, 0)),
    "sum empty": lambda t: t.zeros(0, 3).sum(0),
    "max empty": lambda t: t.zeros(0, 3).max(0),
    "max of two": lambda t: t.max(a(t), b(t)),
    "max keepdim": lambda t: tuple(a(t).max(1, keepdim=True)),
    "var correction": lambda t: a(t).var(1, correction=0),
    "var unbiased": lambda t: a(t).var(unbiased=False),
    "norm 1": lambda t: a(t).norm(1, 1),
    "norm inf": lambda t: t.linalg.norm(a(t), float("inf"), 1),
    "matrix norm": lambda t: t.linalg.matrix_norm(a(t)),
    "topk": lambda t: tuple(a(t).topk(2)),
    "topk smallest": lambda t: tuple(a(t).topk(2, 0, largest=False)),
    "topk too many": lambda t: a(t).topk(9),
    "sort descending": lambda t: tuple(a(t).sort(0, descending=True)),
    "kthvalue": lambda t: tuple(a(t).kthvalue(2)),
    "nansum": lambda t: t.nansum(t.tensor([1.0, float("nan")])),
    "nanmean": lambda t: t.nanmean(t.tensor([1.0, float("nan")])),
    "std_mean": lambda t: t.std_mean(a(t), 1),
    "aminmax": lambda t: tuple(t.aminmax(a(t))),
    "unique": lambda t: t.unique(t.tensor(I), return_counts=True),
    "bincount": lambda t: t.bincount(t.tensor(J).reshape(-1)),
    "searchsorted": lambda t: t.searchsorted(t.arange(10.0), a(t)),
    "bucketize": lambda t: t.bucketize(a(t), t.tensor([-1.0, 0.0, 1.0])),
    "nonzero": lambda t: t.nonzero(t.tensor(M)),
    "nonzero tuple": lambda t: t.nonzero(t.tensor(I), as_tuple=True),
    "isin": lambda t: t.isin(t.tensor(I), t.tensor([1, 2])),
    "equal": lambda t: (t.equal(a(t), a(t)), t.equal(a(t), b(t)), t.allclose(a(t), a(t) + 1e-9)),
    "trace": lambda t: t.trace(a(t)),
    "dist": lambda t: t.dist(a(t), b(t)),
    "histc": lambda t: t.histc(a(t), 4, -2, 2),
}

LINEAR: dict[str, Case] = {
    "matmul": lambda t: a(t) @ b(t).T,
    "matmul vector": lambda t: a(t) @ t.arange(4.0),
    "matmul batch": lambda t: t.tensor(C3) @ t.tensor(C3).mT,
    "matmul broadcast": lambda t: t.tensor(C3) @ a(t).T,
    "matmul shapes": lambda t: a(t) @ b(t),
    "matmul dtypes": lambda t: a(t) @ t.ones(4, 2, dtype=t.float64),
    "matmul 0d": lambda t: a(t) @ t.tensor(1.0),
    "mm": lambda t: t.mm(a(t), b(t).t()),
    "mm wrong rank": lambda t: t.mm(t.tensor(C3), a(t)),
    "bmm": lambda t: t.bmm(t.tensor(C3), t.tensor(C3).transpose(1, 2)),
    "mv dot outer": lambda t: (t.mv(a(t), t.ones(4)), t.dot(t.ones(3), t.arange(3.0)),
                               t.outer(t.arange(3.0), t.arange(2.0))),
    "addmm": lambda t: t.addmm(t.ones(3, 3), a(t), b(t).T, beta=0.5, alpha=2),
    "baddbmm": lambda t: t.baddbmm(t.zeros(2, 3, 3), t.tensor(C3), t.tensor(C3).mT),
    "einsum": lambda t: t.einsum("bij,kj->bik", t.tensor(C3), a(t)),
    "einsum dots": lambda t: t.einsum("...ij,...ij->...i", t.tensor(C3), a(t)),
    "tensordot": lambda t: t.tensordot(t.tensor(C3), a(t), dims=([2], [1])),
    "inner kron": lambda t: (t.inner(a(t), b(t)), t.kron(a(t), b(t))),
    "cross": lambda t: t.cross(a(t)[:, :3], b(t)[:, :3], dim=1),
    "vander-free norms": lambda t: (t.linalg.vector_norm(a(t), 3), t.linalg.norm(a(t))),
    "det inv solve": lambda t: (t.linalg.det(a(t)[:, :3]), t.linalg.inv(a(t)[:, :3]),
                                t.linalg.solve(a(t)[:, :3], b(t))),
    "cholesky": lambda t: t.linalg.cholesky(a(t) @ a(t).T + t.eye(3)),
    "matrix_power": lambda t: t.linalg.matrix_power(a(t)[:, :3], 3),
    "inv shape": lambda t: t.linalg.inv(a(t)),
    "cosine": lambda t: t.cosine_similarity(a(t), b(t), dim=1),
    "cdist": lambda t: t.cdist(a(t), b(t)),
    "int matmul": lambda t: t.tensor(I) @ t.tensor(J).T,
}

SHAPES: dict[str, Case] = {
    "cat": lambda t: t.cat([a(t), b(t)], 1),
    "cat mixed": lambda t: t.cat([a(t), t.tensor(I)]),
    "cat empty": lambda t: t.cat([t.zeros(0), a(t)]),
    "cat none": lambda t: t.cat([]),
    "cat 0d": lambda t: t.cat([t.tensor(1.0)]),
    "cat shapes": lambda t: t.cat([a(t), t.ones(3, 3)]),
    "stack": lambda t: t.stack([a(t), b(t)], -1),
    "stack shapes": lambda t: t.stack([a(t), t.ones(3)]),
    "hvdstack": lambda t: (t.hstack([a(t), b(t)]), t.vstack([a(t), b(t)]), t.dstack([a(t), b(t)])),
    "split": lambda t: t.split(a(t), 3, 1),
    "split sizes": lambda t: t.split(a(t), [1, 3], 1),
    "split wrong": lambda t: t.split(a(t), [1, 1], 1),
    "chunk": lambda t: t.chunk(t.arange(10), 4),
    "tensor_split": lambda t: t.tensor_split(t.arange(10), 3),
    "unbind": lambda t: t.unbind(a(t), 1),
    "flip roll": lambda t: (t.flip(a(t), (0, 1)), t.roll(a(t), 1), t.roll(a(t), (1, 2), (0, 1))),
    "rot90": lambda t: (t.rot90(a(t)), t.rot90(a(t), 2), t.rot90(a(t), 3)),
    "tile repeat": lambda t: (t.tile(a(t), (2, 1, 2)), a(t).repeat(2, 1)),
    "repeat few": lambda t: a(t).repeat(2),
    "repeat_interleave": lambda t: (t.repeat_interleave(a(t), 2, 0),
                                    t.repeat_interleave(t.arange(3), t.tensor([1, 0, 2]))),
    "meshgrid": lambda t: t.meshgrid(t.arange(3), t.arange(2), indexing="ij"),
    "meshgrid xy": lambda t: t.meshgrid(t.arange(3), t.arange(2), indexing="xy"),
    "tril triu": lambda t: (t.tril(a(t)), t.triu(a(t), 1)),
    "diag": lambda t: (t.diag(t.arange(3)), t.diag(a(t), 1), t.diag_embed(a(t))),
    "diagonal": lambda t: t.diagonal(t.tensor(C3), 1, 1, 2),
    "permute": lambda t: t.tensor(C3).permute(2, 0, 1),
    "permute short": lambda t: t.tensor(C3).permute(1, 0),
    "movedim": lambda t: t.movedim(t.tensor(C3), 0, -1),
    "flatten": lambda t: (t.tensor(C3).flatten(1), t.tensor(1.0).flatten()),
    "unflatten": lambda t: t.tensor(C3).unflatten(2, (2, -1)),
    "squeeze": lambda t: (t.ones(1, 3, 1).squeeze(), t.ones(1, 3, 1).squeeze(0),
                          t.ones(1, 3, 1).squeeze(1)),
    "unsqueeze": lambda t: (a(t).unsqueeze(1), a(t).unsqueeze(-1)),
    "expand": lambda t: t.ones(3, 1).expand(2, -1, 4),
    "expand wrong": lambda t: t.ones(3).expand(4),
    "reshape wrong": lambda t: a(t).reshape(5, -1),
    "reshape infer": lambda t: a(t).reshape(2, -1),
    "view of transposed": lambda t: a(t).t().view(-1),
    "reshape of transposed": lambda t: a(t).t().reshape(-1),
    "strides": lambda t: (a(t).t().stride(), t.tensor(C3)[:, 1:, ::2].stride(),
                          t.tensor(C3)[:, 1:, ::2].storage_offset(),
                          t.ones(3, 1).expand(3, 4).stride(), a(t).t().is_contiguous(),
                          a(t)[1:].is_contiguous()),
    "unfold": lambda t: t.arange(7.0).unfold(0, 3, 2),
    "t of 3d": lambda t: t.tensor(C3).t(),
    "narrow select": lambda t: (a(t).narrow(1, 1, 2), a(t).select(0, -1)),
    "narrow wrong": lambda t: a(t).narrow(1, 3, 2),
    "select wrong": lambda t: a(t).select(0, 3),
    "view_as_real": lambda t: t.view_as_real(t.tensor(Z)),
    "bits": lambda t: a(t).view(t.int32),
    "broadcast_tensors": lambda t: t.broadcast_tensors(t.ones(3, 1), t.ones(4)),
    "broadcast_to": lambda t: t.broadcast_to(t.ones(3, 1), (2, 3, 4)),
    "cartesian": lambda t: t.cartesian_prod(t.arange(2), t.arange(3)),
    "triangle indices": lambda t: t.tril_indices(3, 3),
    "size": lambda t: (tuple(a(t).shape), a(t).size(-1), a(t).ndim, a(t).numel(),
                       a(t).element_size()),
    "size out of range": lambda t: a(t).size(3),
    "atleast": lambda t: (t.atleast_1d(t.tensor(1.0)), t.atleast_2d(t.ones(3))),
}

CREATION: dict[str, Case] = {
    "nested": lambda t: t.tensor([[1, 2], [3, 4]]),
    "floats": lambda t: t.tensor([1.0, 2]),
    "mixed bool": lambda t: t.tensor([True, False]),
    "complex": lambda t: t.tensor([1 + 2j]),
    "empty": lambda t: t.tensor([]),
    "scalar": lambda t: t.tensor(3),
    "ragged": lambda t: t.tensor([[1, 2], [3]]),
    "strings": lambda t: t.tensor(["a"]),
    "of tensors": lambda t: t.tensor([t.tensor(1.0), t.tensor(2.0)]),
    "float64 array": lambda t: t.tensor(np.ones(2)),
    "from_numpy": lambda t: t.from_numpy(np.arange(3, dtype=np.int32)),
    "from_numpy list": lambda t: t.from_numpy([1]),
    "Tensor": lambda t: t.Tensor([1, 2]),
    "zeros": lambda t: (t.zeros(2, 3), t.zeros((2, 3)), t.ones(2, dtype=t.int32), t.zeros([])),
    "negative": lambda t: t.zeros(-1),
    "full": lambda t: (t.full((2,), 3), t.full((2,), 2.5), t.full((2,), True)),
    "arange": lambda t: (t.arange(5), t.arange(1, 5), t.arange(0, 1, 0.25), t.arange(5, 0, -2)),
    "arange float": lambda t: t.arange(3.0),
    "arange zero step": lambda t: t.arange(0, 5, 0),
    "arange wrong sign": lambda t: t.arange(5, 0),
    "linspace": lambda t: t.linspace(0, 1, 5),
    "logspace": lambda t: t.logspace(0, 2, 3),
    "eye": lambda t: (t.eye(3), t.eye(2, 3)),
    "like": lambda t: (t.zeros_like(t.tensor(I)), t.ones_like(a(t), dtype=t.float64),
                       t.full_like(a(t), 2)),
    "new": lambda t: (a(t).new_zeros(2), a(t).new_tensor([1, 2]), a(t).new_full((2,), 3.0)),
    "to": lambda t: (a(t).to(t.int64), a(t).double(), a(t).half(), a(t).bfloat16(), a(t).bool(),
                     t.tensor(I).float(), a(t).to("cpu"), t.tensor(I).to(a(t))),
    "item": lambda t: (t.tensor(2.5).item(), t.tensor([3]).item(), t.tensor(True).item()),
    "item of many": lambda t: a(t).item(),
    "bool of many": lambda t: bool(a(t)),
    "bool of one": lambda t: bool(t.tensor([0.0])),
    "tolist": lambda t: t.tensor([[1, 2], [3, 4]]).tolist(),
    "index": lambda t: [10, 20, 30][t.tensor(1)],
    "len": lambda t: len(t.tensor(1)),
    "iterate": lambda t: [x + 0 for x in a(t)],
    "range check": lambda t: t.iinfo(t.int8).max,
    "finfo": lambda t: (t.finfo(t.float32).eps, t.finfo(t.bfloat16).max, t.finfo(t.float16).tiny),
    "finfo int": lambda t: t.finfo(t.int32),
    "one of complex": lambda t: t.ones(2, dtype=t.complex64) * 2j,
    "numpy needs detach": lambda t: t.ones(2, requires_grad=True).numpy(),
    "int requires grad": lambda t: t.ones(2, dtype=t.int64, requires_grad=True),
}
