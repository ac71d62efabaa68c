"""Averages of parameters over processes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import lazyloom

from ...._processes import calls
from ...._processes.arguments import launched, ready
from ...._processes.buckets import LARGE, together
from ...._processes.groups import ProcessGroup, resolved
from ...._tensor import Tensor
from ....nn.parameter import Parameter


def average_parameters(params: Iterable[Tensor], process_group: ProcessGroup | None) -> None:
    """Replace parameters by their averages over a group; nothing in processes outside of it."""
    group = resolved(process_group)
    tensors = list(params)
    if group is None or not tensors or group.size() == 1:
        return
    with lazyloom.grad_mode(False):
        found = together(ready(*tensors), LARGE, lambda whole: calls.all_reduce(
            whole, "mean", group))
        launched(*found)
        for p, value in zip(tensors, found, strict=True):
            p._update(value)


def get_params_to_average(params: Iterable[Any]) -> list[Tensor]:
    """The parameters that have a gradient, of parameters or of an optimizer's groups.

    Raises NotImplementedError for anything else.
    """
    found: list[Tensor] = []
    for given in params:
        if isinstance(given, Parameter):
            own: list[Tensor] = [given]
        elif isinstance(given, dict):
            own = list(given["params"])
        else:
            raise NotImplementedError(f"Parameter input of type {type(given)} is not supported")
        found += [p for p in own if p.grad is not None]
    return found


def average_parameters_or_parameter_groups(
    params: Iterable[Any], process_group: ProcessGroup | None
) -> None:
    """Average the parameters that have a gradient, of a model or of an optimizer's groups."""
    average_parameters(get_params_to_average(params), process_group)


__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]
