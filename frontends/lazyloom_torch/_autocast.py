"""Autocasting: products in half precision, what needs range in float32.

The lists are those of PyTorch's CPU backend. The hot functions ask :data:`casting`, which is empty
unless some thread autocasts, and call :func:`lowered`; the operator ``@`` has a table of its own
then; all others are wrapped by :func:`apply` where a namespace is made.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, MutableMapping
from typing import Any

from lazyloom import Value

from . import _dtypes
from ._core import cast
from ._foreign import again, mixes, takes_several, together
from ._scales_first import NAMES as SCALED
from ._scales_first import reordered
from ._tensor import Tensor

#: one entry for each autocast context that is entered, of all threads
casting: list[None] = []

_FP32 = """
    adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy
    binary_cross_entropy_with_logits cdist cholesky cholesky_inverse cholesky_solve
    cosine_embedding_loss cross_entropy ctc_loss fractional_max_pool2d fractional_max_pool3d geqrf
    grid_sample grid_sampler hinge_embedding_loss huber_loss inverse kl_div l1_loss lu_solve
    margin_ranking_loss max_pool3d max_unpool2d max_unpool3d mse_loss multi_margin_loss
    multilabel_margin_loss multilabel_soft_margin_loss nanquantile nll_loss orgqr ormqr pinverse
    poisson_nll_loss polar prod qr quantile smooth_l1_loss soft_margin_loss stft svd trace
    triangular_solve triplet_margin_loss view_as_complex
"""
_LINALG_FP32 = """
    cholesky cholesky_ex cond eig eigh eigvals eigvalsh householder_product inv inv_ex lstsq
    matrix_rank qr solve svd svdvals tensorinv tensorsolve
"""
_LOWER = """
    addbmm addmm baddbmm chain_matmul conv_tbc einsum inner matrix_power tensordot
"""
#: composed of products here that PyTorch leaves as they are
_APART = "addmv dot mv vdot"

#: name -> how it is treated, in ``torch``, ``torch.nn.functional`` and of ``Tensor``
GENERAL: dict[str, str] = {
    **dict.fromkeys(_FP32.split(), "float32"), **dict.fromkeys(_LOWER.split(), "lower"),
    **dict.fromkeys(_APART.split(), "apart"), "index_copy": "widest", "index_copy_": "widest",
}  # fmt: skip
LINALG: dict[str, str] = {
    **dict.fromkeys(_LINALG_FP32.split(), "float32"), "multi_dot": "lower", "vecdot": "lower",
    "matrix_power": "lower",
}  # fmt: skip


class _State(threading.local):
    enabled = False
    cache_enabled = True
    nesting = 0

    def __init__(self) -> None:
        self.dtypes: dict[str, Any] = {"cpu": _dtypes.bfloat16, "cuda": _dtypes.float16}


state = _State()


def _cast(t: Any, to: Any) -> Any:
    """A tensor of a floating-point dtype but float64 in another one; anything else as it is."""
    if not isinstance(t, Tensor):
        return t
    kind = t.tensor_type.dtype
    if kind is to.lazy or not kind.is_floating or kind.itemsize == 8:
        return t
    return Tensor.from_value(cast(t._operand(), to.lazy))


def lowered(*tensors: Any) -> tuple[Any, ...]:
    """The tensors in this thread's lower precision, if it autocasts."""
    if not state.enabled:
        return tensors
    to = state.dtypes["cpu"]
    return tuple(_cast(t, to) for t in tensors)


def lowered_values(values: Iterable[Value | None]) -> list[Any]:
    """:func:`lowered` for values."""
    if not state.enabled:
        return list(values)
    to = state.dtypes["cpu"].lazy
    return [v if v is None or not v.dtype.is_floating or v.dtype.itemsize == 8 else cast(v, to)
            for v in values]


def _nested(x: Any, to: Any) -> Any:
    if isinstance(x, Tensor):
        return _cast(x, to)
    if type(x) in (list, tuple):
        return type(x)(_nested(v, to) for v in x)
    return x


def _widest(args: Iterable[Any]) -> Any:
    wide = any(isinstance(t, Tensor) and t.tensor_type.dtype.name == "float32" for t in args)
    return _dtypes.float32 if wide else state.dtypes["cpu"]


def treated(function: Callable[..., Any], rule: str) -> Callable[..., Any]:
    """The function with its arguments cast while this thread autocasts; what it calls is not.

    It converts other libraries' tensors that are given beside ours, as :func:`mixing` would.
    """
    several = takes_several(function) and not mixes(function)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not casting or not state.enabled or kwargs.get("out") is not None:
            try:
                return function(*args, **kwargs)
            except (TypeError, AttributeError) as error:
                if not several:
                    raise
                return again(function, function.__name__, error, args, kwargs)
        if several:
            args, found = together((args, tuple(kwargs.values())))
            kwargs = dict(zip(kwargs, found))
        if rule != "apart":
            to = (_dtypes.float32 if rule == "float32" else state.dtypes["cpu"] if rule == "lower"
                  else _widest([*args, *kwargs.values()]))
            args = tuple(_nested(a, to) for a in args)
            kwargs = {k: _nested(v, to) for k, v in kwargs.items()}
        scaled = reordered(function.__name__, args) if function.__name__ in SCALED else None
        if scaled is not None:
            args, kwargs = scaled[0], {**kwargs, **scaled[1]}
        state.enabled = False
        try:
            return function(*args, **kwargs)
        finally:
            state.enabled = True

    if several:
        wrapper.mixes = True  # type: ignore[attr-defined]
    return wrapper


def apply(
    namespace: MutableMapping[str, Any], rules: dict[str, str] | None = None
) -> None:
    """Wrap the functions of a namespace that the lists name; all by float32 without rules."""
    if rules is None:
        rules = {n: "float32" for n, f in namespace.items() if callable(f) and n[:1].isalpha()}
    for name, rule in rules.items():
        function = namespace.get(name)
        if function is not None:
            namespace[name] = treated(function, rule)


def apply_to_methods(cls: Any) -> None:
    """Wrap the methods of Tensor that the lists name."""
    for name, rule in GENERAL.items():
        method = cls.__dict__.get(name)
        if method is not None:
            setattr(cls, name, treated(method, rule))
