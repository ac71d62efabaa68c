"""Data parallelism: there is one device, so a module runs on it as it is."""

from __future__ import annotations

from typing import Any

from ..modules.module import Module


class DataParallel(Module):
    """A module, called ``module``, to which inputs are passed on."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None,
                 dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []
        self.output_device, self.dim = output_device, dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(module: Module, inputs: Any, device_ids: Any = None, output_device: Any = None,
                  dim: int = 0, module_kwargs: Any = None) -> Any:
    """The module's result for ``inputs``, a tuple of arguments or one argument."""
    arguments = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return module(*arguments, **(module_kwargs or {}))


__all__ = ["DataParallel", "data_parallel"]
