"""``torch.nn``."""

from __future__ import annotations

from . import functional, init, utils
from .modules import basic as _basic
from .modules import container as _container
from .modules import conv as _conv
from .modules import norm as _norm
from .modules import transformer as _transformer
from .modules.module import Module
from .parameter import Buffer, Parameter

for _module in (_basic, _container, _conv, _norm, _transformer):
    for _name, _found in vars(_module).items():
        if isinstance(_found, type) and issubclass(_found, Module) and not _name.startswith("_"):
            globals()[_name] = _found

__all__ = ["Buffer", "Module", "Parameter", "functional", "init", "utils"]
