"""Losses of DTensors: of elements first, then their sum or mean; classes may be divided."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import lazyloom

from .._dtypes import int64
from .._tensor import Tensor
from .calling import HANDLERS, REPLICATE, Call, Way, mesh_of, mixed, replicated, run, tensors_in
from .moves import Line, moved
from .placements import Partial, Placement, Shard
from .rules import elementwise
from .spec import extent_before, local_shape_and_offset
from .tensors import DTensor, dtensor, laid

_PARTIAL = Partial()


@contextmanager
def loss_parallel() -> Iterator[None]:
    """Let ``cross_entropy`` of DTensors divided along classes be computed where the parts are.

    That is done outside of it as well; it is here for programs that say so.
    """
    yield


#: losses whose elements come each from one element of each operand
_ELEMENTWISE = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
                "binary_cross_entropy_with_logits", "poisson_nll_loss", "soft_margin_loss")


def _reduced(x: Any, reduction: str) -> Any:
    return x.mean() if reduction == "mean" else x.sum() if reduction == "sum" else x


def _of_elements(name: str) -> Any:
    def handler(function: Any, args: Any, kwargs: Any) -> Any:
        mesh = mesh_of(tensors_in([*args, *kwargs.values()]), name)
        made = Call(function, name, args, kwargs, mesh)
        bound = made.bound()
        if bound.get("size_average") is not None or bound.get("reduce") is not None:
            return NotImplemented
        reduction = bound.get("reduction", "mean")
        # by names of parameters, since reduction may have been given in its place
        named = {k: v for k, v in bound.items() if k not in ("reduction", "size_average", "reduce")}
        tensors = [o.tensor for o in made.operands]
        again = Call(function, name, (), {
            **{k: tensors[v.i] if hasattr(v, "nbytes") and hasattr(v, "i") else v
               for k, v in named.items()}, "reduction": "none"}, mesh)
        return _reduced(run(again, elementwise(again)), reduction)

    return handler


for _name in _ELEMENTWISE:
    HANDLERS[_name] = _of_elements(_name)


def _dtensors(function: Any, name: str, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments by name, with tensors beside DTensors as whole ones if that is allowed."""
    mesh = mesh_of(tensors_in([*args, *kwargs.values()]), name)
    made = Call(function, name, args, kwargs, mesh)
    found: dict[str, Any] = {}
    for key, value in made.bound().items():
        if hasattr(value, "nbytes") and hasattr(value, "i"):
            x = value.tensor
            if not x._is_dtensor:
                x = dtensor(x, mesh, (REPLICATE,) * mesh.ndim, tuple(x.shape))
            value = x
        found[key] = value
    return found


def _class_dim(x: Any) -> int:
    return 1 if x.ndim > 1 else 0


def _nll(function: Any, args: Any, kwargs: Any, logits: bool) -> Any:
    """The negative log-likelihood of classes, of logits or of logarithms of probabilities."""
    name = function.__name__
    given = _dtensors(function, name, args, kwargs)
    x, target = given.get("input"), given.get("target")
    if (x is None or target is None or given.get("label_smoothing", 0.0) or given.get(
            "size_average") is not None or given.get("reduce") is not None
            or target.dtype.is_floating_point):
        return NotImplemented
    reduction, ignored = given.get("reduction", "mean"), given.get("ignore_index", -100)
    weight = given.get("weight")
    classes = _class_dim(x)
    divided = any(isinstance(p, Shard) and p.dim == classes for p in x.placements)
    if weight is not None and (divided or reduction == "mean"):
        return NotImplemented
    options = {"ignore_index": ignored, "reduction": "none"}
    if divided and logits:
        each = _of_divided_classes(x, target, classes, ignored)
    else:
        each = _each(function, name, x, target, weight, options, classes)
    if reduction == "none":
        return each
    total = each.sum()
    if reduction == "sum":
        return total
    count = (target != ignored).sum()
    return total / laid(count, (REPLICATE,) * x.device_mesh.ndim).to(total.dtype)


def _each(function: Any, name: str, x: DTensor, target: DTensor, weight: Any, options: Any,
          classes: int) -> Any:  # fmt: skip
    """The loss of each element, with whole classes in each process."""
    tensors = {"weight": weight} if weight is not None else {}
    made = Call(function, name, (x, target), {**tensors, **options}, x.device_mesh)
    ways = []
    for d in range(x.ndim):
        if d != classes:
            out = d if d < classes else d - 1
            ways.append(Way([Shard(d), Shard(out)] + [REPLICATE] * len(tensors), Shard(out)))
    return run(made, ways)


def _of_divided_classes(x: DTensor, target: DTensor, classes: int, ignored: int) -> DTensor:
    """The cross entropy of each element, of logits of which each process has some classes.

    As in Megatron-LM: the largest logit, the sum of exponentials and the logit of the target are
    each reduced, and no logits are sent.
    """
    mesh = x.device_mesh
    result: list[Placement] = []
    now: list[Placement] = []
    lines = []
    for i, p in enumerate(x.placements):
        if isinstance(p, Shard) and p.dim == classes:
            now.append(p)
            result.append(REPLICATE)
            lines.append(Line(mesh, i))
        elif isinstance(p, Shard):
            now.append(p)
            result.append(Shard(p.dim if p.dim < classes else p.dim - 1))
        else:
            now.append(REPLICATE)
            result.append(REPLICATE)
    logits = laid(x, now)._local_tensor
    labels = laid(target, result)._local_tensor
    _, offsets = local_shape_and_offset(x.shape, mesh, now)
    if logits.shape[classes] == 0:
        shape = list(logits.shape)
        shape[classes] = 1
        logits = logits.sum(classes, keepdim=True) + logits.new_full(tuple(shape), float("-inf"))
    with lazyloom.grad_mode(False):
        most = logits.detach().amax(classes, keepdim=True)
        for line in lines:
            most = moved(most, Partial("max"), REPLICATE, 0, line)
    shifted = logits - most
    sums = shifted.exp().sum(classes)
    start = lazyloom.Scalar(offsets[classes], int64.lazy, bake=False)
    from .._core import record

    own = labels - Tensor.from_value(record("full", [start], {"shape": ()}))
    inside = (own >= 0) & (own < logits.shape[classes])
    at = own.clamp(0, logits.shape[classes] - 1).unsqueeze(classes)
    chosen = shifted.gather(classes, at).squeeze(classes).masked_fill(~inside, 0)
    for line in lines:
        sums = moved(sums, _PARTIAL, REPLICATE, 0, line)
        chosen = moved(chosen, _PARTIAL, REPLICATE, 0, line)
    each = (sums.log() - chosen).masked_fill(labels == ignored, 0)
    return dtensor(each, mesh, result, tuple(n for d, n in enumerate(x.shape) if d != classes))


def _cross_entropy(function: Any, args: Any, kwargs: Any) -> Any:
    return _nll(function, args, kwargs, True)


def _nll_loss(function: Any, args: Any, kwargs: Any) -> Any:
    return _nll(function, args, kwargs, False)


HANDLERS["cross_entropy"] = _cross_entropy
HANDLERS["nll_loss"] = _nll_loss

__all__ = ["extent_before", "loss_parallel", "mixed", "replicated"]
