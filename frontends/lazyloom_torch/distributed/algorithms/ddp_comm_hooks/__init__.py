"""``torch.distributed.algorithms.ddp_comm_hooks``."""

from __future__ import annotations

import enum
from functools import partial
from typing import Any

from .... import _absent
from ...._absent_names import ALONE
from . import debugging_hooks as debugging_hooks
from . import default_hooks as default_hooks
from . import post_localSGD_hook as post_localSGD_hook
from . import powerSGD_hook as powerSGD_hook
from . import quantization_hooks as quantization_hooks


class DDPCommHookType(enum.Enum):
    """Communication hooks by name, for :func:`register_ddp_comm_hook`.

    A value is a hook, and for those with a state of their own the rank of its matrices.
    """

    ALLREDUCE = (default_hooks.allreduce_hook, None)
    FP16_COMPRESS = (default_hooks.fp16_compress_hook, None)
    BF16_COMPRESS = (default_hooks.bf16_compress_hook, None)
    QUANTIZE_PER_TENSOR = (quantization_hooks.quantization_pertensor_hook, None)
    QUANTIZE_PER_CHANNEL = (quantization_hooks.quantization_perchannel_hook, None)
    POWER_SGD = (powerSGD_hook.powerSGD_hook, 1)
    POWER_SGD_RANK2 = (powerSGD_hook.powerSGD_hook, 2)
    BATCHED_POWER_SGD = (powerSGD_hook.batched_powerSGD_hook, 1)
    BATCHED_POWER_SGD_RANK2 = (powerSGD_hook.batched_powerSGD_hook, 2)
    NOOP = (debugging_hooks.noop_hook, None)

    @property
    def value(self) -> Any:
        """A function that registers the hook, called with ``model=`` and ``state=``, the group."""
        hook, rank = self._value_
        return partial(_register, hook, rank)


def _register(hook: Any, rank: int | None, model: Any, state: Any, **options: Any) -> None:
    if rank is not None:
        state = powerSGD_hook.PowerSGDState(state, **{"matrix_approximation_rank": rank, **options})
    model.register_comm_hook(state, hook)


def register_ddp_comm_hook(
    comm_hook_type: DDPCommHookType, model: Any, state: Any = None
) -> None:
    """Register a hook by its name; ``state`` is the process group, None for all processes."""
    comm_hook_type.value(model=model, state=state)


__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]

__getattr__ = _absent.missing(__name__, reason=ALONE)
