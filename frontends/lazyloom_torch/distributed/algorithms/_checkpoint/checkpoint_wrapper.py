"""Modules whose forward pass is computed again in the backward pass, wrapped."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Any

from ....nn.modules.module import Module
from ....utils.checkpoint import checkpoint

_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = _CHECKPOINT_WRAPPED_MODULE + "."


class CheckpointImpl(Enum):
    """The two kinds of PyTorch's, which are the same here."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(Module):
    """A wrapper whose state dict has the names of what it wraps."""

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(_without_prefix)
        self._register_load_state_dict_pre_hook(_with_prefix)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError("Subclasses should implement forward().")

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == _CHECKPOINT_WRAPPED_MODULE:
                raise
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: Any) -> Any:
        wrapped: Any = self._checkpoint_wrapped_module
        return wrapped[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Parameters by the names of what is wrapped."""
        for name, p in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), p


def _without_prefix(module: Any, state: Any, prefix: str, *rest: Any) -> Any:
    inner = prefix + _CHECKPOINT_PREFIX
    for key in [k for k in state if k.startswith(inner)]:
        state[prefix + key[len(inner):]] = state.pop(key)
    return state


def _with_prefix(state: Any, prefix: str, *rest: Any) -> None:
    inner = prefix + _CHECKPOINT_PREFIX
    for key in [k for k in state if k.startswith(prefix) and not k.startswith(inner)]:
        state[inner + key[len(prefix):]] = state.pop(key)


class CheckpointWrapper(ActivationWrapper):
    """A module whose forward pass is computed again in the backward pass.

    Args:
        mod: the module.
        checkpoint_impl: of no effect.
        checkpoint_fn: called in place of ``torch.utils.checkpoint.checkpoint``.
        checkpoint_fn_kwargs: arguments for it.
    """

    def __init__(
        self, mod: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None, **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        chosen = checkpoint_fn or functools.partial(
            checkpoint, use_reentrant=checkpoint_impl is CheckpointImpl.REENTRANT)
        self.checkpoint_fn = functools.partial(chosen, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)


def checkpoint_wrapper(
    module: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None, **checkpoint_fn_kwargs: Any,
) -> Module:
    """The module, wrapped so that its forward pass is computed again in the backward pass."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model: Module, checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True, auto_wrap_policy: Any = None,
) -> None:
    """Wrap modules below a model, in place: those that ``check_fn`` or a policy says."""
    from ...fsdp.wrap import lambda_auto_wrap_policy, wrap_children

    policy = auto_wrap_policy or functools.partial(lambda_auto_wrap_policy, lambda_fn=check_fn)
    wrap_children(model, policy, lambda m, **_: checkpoint_wrapper_fn(m), set(), {})


__all__ = [
    "ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "apply_activation_checkpointing",
    "checkpoint_wrapper",
]  # fmt: skip
