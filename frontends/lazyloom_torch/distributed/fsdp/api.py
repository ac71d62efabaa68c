"""What ``FullyShardedDataParallel`` is told: strategies, dtypes, and kinds of state dicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ...nn.modules.batchnorm import _BatchNorm
from ...nn.modules.module import Module


class ShardingStrategy(Enum):
    """Which parts of the state each process has.

    ``FULL_SHARD`` and ``SHARD_GRAD_OP``: a part of parameters, gradients and optimizer's state;
    ``NO_SHARD``: all of it; ``HYBRID_SHARD`` and ``_HYBRID_SHARD_ZERO2``: a part, divided among
    the processes of a group (a dimension of a mesh), and repeated in the other groups.
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When parameters of the next module are gathered; of no effect: XLA orders a program."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


@dataclass
class MixedPrecision:
    """In which dtypes a module computes and gradients are averaged; parameters keep their own.

    Attributes:
        param_dtype: of gathered parameters; None for theirs.
        reduce_dtype: in which gradients are averaged; None for ``param_dtype``.
        buffer_dtype: of floating-point buffers, which are cast; None for theirs.
        keep_low_precision_grads: of no effect: gradients have the dtype of parameters.
        cast_forward_inputs: whether floating-point arguments of each wrapped module are cast.
        cast_root_forward_inputs: whether those of the outermost one are.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type[Module]] = (_BatchNorm,)


@dataclass
class CPUOffload:
    """Whether parameters are kept on the CPU, where they are."""

    offload_params: bool = False


class StateDictType(Enum):
    """What state dicts have of parameters.

    ``FULL_STATE_DICT``: whole tensors; ``SHARDED_STATE_DICT`` and ``LOCAL_STATE_DICT``: DTensors.
    """

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class StateDictConfig:
    """Whether tensors of state dicts come to the CPU, where they are."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """``rank0_only``: whether only rank 0 gets the state, the others an empty one."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Of ``LOCAL_STATE_DICT``."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Of ``SHARDED_STATE_DICT``."""

    _use_dtensor: bool = True


@dataclass
class OptimStateDictConfig:
    """Whether tensors of optimizers' state dicts come to the CPU, where they are."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """``rank0_only``: whether only rank 0 gets the state, the others an empty one."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Of ``LOCAL_STATE_DICT``."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Of ``SHARDED_STATE_DICT``."""

    _use_dtensor: bool = True


@dataclass
class StateDictSettings:
    """The kind of state dicts that a module gives."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig


class OptimStateKeyType(Enum):
    """How an optimizer's state dict names parameters."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig",
    "LocalOptimStateDictConfig", "LocalStateDictConfig", "MixedPrecision", "OptimStateDictConfig",
    "OptimStateKeyType", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
    "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType",
]  # fmt: skip
