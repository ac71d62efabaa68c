"""Names of parameters without the modules that wrap others."""

from __future__ import annotations

from typing import Any

from ...nn.modules.module import Module

#: the name under which a wrapper has what it wraps, by the name of its class
_WRAPPED = {
    "DistributedDataParallel": "module", "FullyShardedDataParallel": "_fsdp_wrapped_module",
    "OptimizedModule": "_orig_mod", "CheckpointWrapper": "_checkpoint_wrapped_module",
    "OffloadWrapper": "_checkpoint_wrapped_module",
}


def name_of(model: Module, name: str) -> str:
    """A name of the model's ``named_parameters`` or ``state_dict``, without wrappers."""
    if name.startswith("."):
        return name
    at: Any = model
    found = []
    for part in name.split("."):
        wrapped = next((_WRAPPED[k.__name__] for k in type(at).__mro__ if k.__name__ in _WRAPPED),
                       None)
        if wrapped is not None:
            inner = getattr(at, wrapped)
            at = inner
            if part == wrapped:
                continue
            # wrappers whose state dicts have names without them
            while (more := next((_WRAPPED[k.__name__] for k in type(at).__mro__
                                 if k.__name__ in _WRAPPED), None)) is not None:
                at = getattr(at, more)
        found.append(part)
        at = getattr(at, part, None) if isinstance(at, Module) else None
    return ".".join(found)


def names_of(model: Module) -> dict[int, str]:
    """The name of each parameter, by its id; of one that has several, the first."""
    found: dict[int, str] = {}
    for key, p in model.named_parameters(remove_duplicate=False):
        found.setdefault(id(p), name_of(model, key))
    return found
