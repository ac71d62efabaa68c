"""Calls of a module with other parameters, by their older name."""

from __future__ import annotations

import warnings
from typing import Any

from ...func import functional_call as call


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


__all__ = ["functional_call"]
