"""Calls of a module with other parameters, by their older name."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...func import functional_call as call
from ...func._modules import replaced


def functional_call(
    module: Any, parameters_and_buffers: Any, args: Any = None, kwargs: Any = None, *,
    tie_weights: bool = True, strict: bool = False,
) -> Any:
    """:func:`torch.func.functional_call`."""
    warnings.warn("`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0. "
                  "Use `torch.func.functional_call` instead.", FutureWarning, stacklevel=2)
    given = () if args is None else args if isinstance(args, tuple) else (args,)
    return call(module, parameters_and_buffers, given, kwargs, tie_weights=tie_weights,
                strict=strict)


@contextmanager
def _reparametrize_module(module: Any, parameters_and_buffers: Any, *, tie_weights: bool = False,
                          strict: bool = False, stack_weights: bool = False) -> Iterator[None]:
    """A module with other tensors in place of its parameters and buffers, while this lasts."""
    with replaced(module, dict(parameters_and_buffers), tie_weights, strict):
        yield


__all__ = ["functional_call"]
