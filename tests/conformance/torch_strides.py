"""Strides of the results of PyTorch's table of operators, for operands in several memory orders.

``python -m tests.conformance.torch_strides`` prints each entry of which a result has other
strides than PyTorch's. Nothing is computed. Needs PyTorch 2.13.
"""

from __future__ import annotations

import argparse
import fnmatch
import itertools
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

import lazyloom_torch
from tests.conformance.torch_db import entries, full_name, ours
from tests.conformance.torch_values import Converter, tensors

#: samples of an entry
MOST = 4

#: entries, or patterns of them, whose results have other strides here, and what PyTorch's are
OTHERS = {
    **dict.fromkeys((
        "cholesky*", "linalg.*", "lu", "lu_solve", "qr", "triangular_solve", "svd", "svd_lowrank",
        "pca_lowrank"), "LAPACK's, column by column"),
    **dict.fromkeys(("fft.*", "stft"), "those that the FFT's plan left"),
    **dict.fromkeys((
        "cat", "nn.functional.adaptive_max_pool2d", "nn.functional.avg_pool1d",
        "nn.functional.conv1d", "nn.functional.conv2d", "nn.functional.interpolate|*",
        "nn.functional.max_pool2d", "nn.functional.max_unpool2d*", "nn.functional.pad|*"),
        "channels last, for images that have them so"),
    **dict.fromkeys((
        "to", "bfloat16", "bool", "byte", "char", "double", "float", "half", "int", "long", "short",
        "cdouble", "cfloat"), "channels last, where asked for"),
    **dict.fromkeys((
        "addr", "argwhere", "einsum", "kron", "ldexp", "masked.logaddexp", "nonzero", "rot90",
        "unravel_index", "nn.functional.glu"), "those of the last step of a composition"),
    **dict.fromkeys((
        "nn.functional.binary_cross_entropy*", "nn.functional.huber_loss",
        "nn.functional.kl_div"), "those of the input, for reduction='none'"),
    **dict.fromkeys(("__radd__", "__rmul__", "__rand__", "__ror__", "__rxor__"),
                    "those of the operands the other way round"),
}


def _reversed(t: torch.Tensor, rng: random.Random) -> torch.Tensor:
    order = list(reversed(range(t.ndim)))
    return t.permute(order).contiguous().permute(order)


def _shuffled(t: torch.Tensor, rng: random.Random) -> torch.Tensor:
    order = list(range(t.ndim))
    rng.shuffle(order)
    return t.permute(order).contiguous().permute([order.index(d) for d in range(t.ndim)])


def _mixed(t: torch.Tensor, rng: random.Random) -> torch.Tensor:
    return rng.choice([lambda t, rng: t, _reversed, _shuffled])(t, rng)


#: how the operands of a call lie in memory
ORDERS: dict[str, Callable[[torch.Tensor, random.Random], torch.Tensor]] = {
    "reversed": _reversed, "shuffled": _shuffled, "mixed": _mixed,
}


def _laid(x: Any, order: str, rng: random.Random) -> Any:
    if isinstance(x, torch.Tensor):
        return ORDERS[order](x.detach(), rng) if x.ndim > 1 else x
    if type(x) in (list, tuple):
        return type(x)(_laid(y, order, rng) for y in x)
    return x


def _calls(op: Any, dtype: torch.dtype, order: str) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    torch.manual_seed(7)
    rng = random.Random(full_name(op))
    for sample in itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), MOST):
        yield ([_laid(x, order, rng) for x in (sample.input, *sample.args)],
               {k: _laid(v, order, rng) for k, v in sample.kwargs.items()})


def _shares(view: Any, of: Any) -> bool:
    return bool(view.untyped_storage().data_ptr() == of.untyped_storage().data_ptr())


def _facts(x: Any) -> Any:
    """The strides, but for dimensions in which there is no step, and what is a view."""
    shape = tuple(x.shape)
    return (shape, tuple(s for d, s in zip(shape, x.stride()) if d > 1), x.is_contiguous(),
            _shares(x.reshape(-1), x))


def difference(op: Any, dtype: torch.dtype, order: str) -> str | None:
    """How a result differs from PyTorch's in its strides; None if none does."""
    function = ours(op)
    if function is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for args, kwargs in _calls(op, dtype, order):
            convert = Converter()
            mine_args = [convert(a) for a in args]
            mine_kwargs = {k: convert(v) for k, v in kwargs.items()}
            given = [(tuple(t.shape), t.stride()) for t in tensors(
                (args, list(kwargs.values())), torch.Tensor)]
            try:
                theirs = op.op(*args, **kwargs)
                mine = function(*mine_args, **mine_kwargs)
            except Exception:
                continue  # that is told by the walk of values
            pairs = zip(tensors(mine, lazyloom_torch.Tensor), tensors(theirs, torch.Tensor))
            for a, b in pairs:
                if b.numel() == 0 or b.layout is not torch.strided or tuple(a.shape) != b.shape:
                    continue
                found, expected = _facts(a), _facts(b)
                if found != expected:
                    return f"of {given}: {a.stride()}, expected {b.stride()}"
    return None


def table() -> Iterator[tuple[Any, torch.dtype]]:
    """The entries that are not among ``OTHERS``, each with a dtype that it has."""
    for op in entries(["*"]):
        dtypes = op.supported_dtypes("cpu")
        if dtypes and not any(fnmatch.fnmatchcase(full_name(op), p) for p in OTHERS):
            yield op, torch.float32 if torch.float32 in dtypes else sorted(dtypes, key=str)[0]


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--orders", default=",".join(ORDERS))
    given = ask.parse_args()
    count = 0
    for op, dtype in table():
        for order in given.orders.split(","):
            wrong = difference(op, dtype, order)
            if wrong is not None:
                count += 1
                print(f"{full_name(op)} {order}: {wrong}", flush=True)
    print(f"{count} differ")


if __name__ == "__main__":
    main()
