"""``FullyShardedDataParallel``: a wrapper whose parameters are divided among processes."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import lazyloom

from ... import _dtypes
from ..._dtensor.mesh import DeviceMesh
from ..._fsdp import modules as sharding
from ..._fsdp.gradients import clip_by_norm
from ..._fsdp.parameters import Meshes
from ..._fsdp.policies import MixedPrecisionPolicy
from ..._processes import calls, groups
from ..._processes.arguments import launched, ready
from ..._processes.buckets import LARGE, together
from ..._tensor import Tensor
from ...nn.modules.container import ModuleDict, ModuleList
from ...nn.modules.module import Module
from ._states import OptimizerStates, StateDicts
from .api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    OptimStateKeyType,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from .wrap import wrap_children

_HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)
FSDP_WRAPPED_MODULE = "_fsdp_wrapped_module"
FSDP_PREFIX = FSDP_WRAPPED_MODULE + "."


class FullyShardedDataParallel(Module, StateDicts, OptimizerStates):
    """A module whose parameters are divided among processes, and whole in its forward pass.

    Parameters keep their names and are DTensors, whatever ``use_orig_params`` says; all that
    :func:`fully_shard` says of passes holds here.

    Args:
        module: what is wrapped; ``module`` gives it.
        process_group: the processes; None for all. A pair for hybrid strategies: those that divide,
            and those that repeat.
        sharding_strategy: None for ``FULL_SHARD``.
        cpu_offload, backward_prefetch, forward_prefetch, limit_all_gathers, device_id: of no
            effect: modules are on CPUs, and XLA orders what is gathered.
        auto_wrap_policy: which modules below are wrapped too, see ``torch.distributed.fsdp.wrap``.
        mixed_precision: in which dtypes it computes.
        ignored_modules, ignored_states: modules and parameters that stay as they are.
        param_init_fn: called with each module below that has parameters on the meta device.
        sync_module_states: whether parameters and buffers are those of rank 0.
        use_orig_params: of no effect.
        device_mesh: the processes in place of ``process_group``; of two dimensions for hybrid
            strategies.

    Raises ValueError for a strategy that the processes do not fit.
    """

    def __init__(
        self, module: Module, process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None, cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None, ignored_modules: Any = None,
        param_init_fn: Callable[[Module], None] | None = None, device_id: Any = None,
        sync_module_states: bool = False, forward_prefetch: bool = False,
        limit_all_gathers: bool = True, use_orig_params: bool = False, ignored_states: Any = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__()
        if isinstance(module, (ModuleList, ModuleDict)):
            warnings.warn("FSDP will not all-gather parameters for containers that do not "
                          f"implement forward: {module}", stacklevel=2)
        skipped, left_out = _ignored(module, ignored_modules, ignored_states)
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        mesh, repeats = _mesh_of(process_group, strategy, device_mesh)
        self.sharding_strategy = strategy
        self.mixed_precision = mixed_precision or MixedPrecision()
        self.cpu_offload = cpu_offload or CPUOffload()
        self._settings = StateDictSettings(
            StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig())
        if sync_module_states:
            _from_first(module)
        if auto_wrap_policy is not None:
            kwargs = {
                "process_group": process_group, "sharding_strategy": sharding_strategy,
                "mixed_precision": mixed_precision, "cpu_offload": cpu_offload,
                "use_orig_params": use_orig_params, "ignored_states": left_out,
                "device_mesh": mesh}
            if mixed_precision is not None and mixed_precision.param_dtype is not None:
                skipped |= _in_full_precision(module, type(self), mixed_precision, kwargs)
            wrap_children(module, auto_wrap_policy, type(self), skipped, kwargs)
        self._fsdp_wrapped_module = module
        self.process_group = mesh.get_group(0 if repeats else mesh.ndim - 1)
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        self._make_state(mesh, repeats, strategy, left_out)
        self._add_state_hooks()

    def _make_state(
        self, mesh: DeviceMesh, repeats: bool, strategy: ShardingStrategy, left_out: list[Any]
    ) -> None:
        mixed = self.mixed_precision
        policy = MixedPrecisionPolicy(
            mixed.param_dtype, mixed.reduce_dtype, None, mixed.cast_forward_inputs)
        reshards = strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD)
        state = sharding.shard_modules(
            [self], Meshes(mesh, repeats), policy, None if reshards else False, None, left_out,
            lambda m: isinstance(m, FullyShardedDataParallel))
        state.casts_root_inputs = mixed.cast_root_forward_inputs
        if mixed.buffer_dtype is not None:
            kind: _dtypes.dtype = mixed.buffer_dtype
            for m in self._fsdp_wrapped_module.modules():
                for name, b in m._buffers.items():
                    if b is not None and b.is_floating_point():
                        m._buffers[name] = b.to(kind)

    # -- the module ------------------------------------------------------------------------

    @property
    def module(self) -> Module:
        """What is wrapped."""
        found: Module = self._fsdp_wrapped_module
        return found

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == FSDP_WRAPPED_MODULE:
                raise
            return getattr(self._fsdp_wrapped_module, name)

    def __getitem__(self, key: Any) -> Any:
        wrapped: Any = self._fsdp_wrapped_module
        return wrapped[key]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        state = self.__dict__["_fsdp_state"]
        with state.running((args, kwargs)) as outermost:
            args, kwargs = sharding._cast_inputs(state, args, kwargs, outermost)
            found = self._fsdp_wrapped_module(*args, **kwargs)
            found = sharding._cast_all(found, state.policy.output_dtype)
        if outermost:
            sharding._hand_over(state, found)
        return found

    def check_is_root(self) -> bool:
        """Whether there are wrapped modules of this one, and it is in no other; True here for any
        that is asked."""
        return True

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The wrapped modules in a module; with ``root_only`` the outermost ones."""
        if not root_only:
            return [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        if isinstance(module, FullyShardedDataParallel):
            return [module]
        return [m for child in module.children()
                for m in FullyShardedDataParallel.fsdp_modules(child, True)]

    def apply(self, fn: Callable[[Module], None]) -> FullyShardedDataParallel:
        """Call ``fn`` on every module below and on this one, with whole parameters."""
        with self.summon_full_params(self):
            return super().apply(fn)

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Parameters by their names; inside of :meth:`summon_full_params` without the wrappers'."""
        clean = any(s._asked for s in sharding.states_of(self))
        for name, p in super().named_parameters(prefix, recurse, remove_duplicate):
            yield (name.replace(FSDP_PREFIX, "") if clean else name), p

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Buffers by their names; inside of :meth:`summon_full_params` without the wrappers'."""
        clean = any(s._asked for s in sharding.states_of(self))
        for name, b in super().named_buffers(prefix, recurse, remove_duplicate):
            yield (name.replace(FSDP_PREFIX, "") if clean else name), b

    # -- passes ----------------------------------------------------------------------------

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backward passes that keep gradients, to be averaged with those of a later one."""
        plans = [s.plan for s in sharding.states_of(self)]
        before = [(p.reduces, p.reduces_copies) for p in plans]
        for p in plans:
            p.reduces = p.reduces_copies = False
        try:
            yield
        finally:
            for p, (reduces, copies) in zip(plans, before, strict=True):
                p.reduces, p.reduces_copies = reduces, copies

    def clip_grad_norm_(self, max_norm: float | int, norm_type: float | int = 2.0) -> Tensor:
        """Scale gradients so that the norm of all, in all processes, is at most ``max_norm``.

        Returns the norm before. All processes call it. Raises RuntimeError for gradients of no
        parameter.
        """
        return clip_by_norm(self, float(max_norm), float(norm_type))

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: Module, recurse: bool = True, writeback: bool = True, rank0_only: bool = False,
        offload_to_cpu: bool = False, with_grads: bool = False,
    ) -> Iterator[None]:
        """Let wrapped modules have whole parameters in a ``with`` block.

        Args:
            module: the module, wrapped or with wrapped ones below it.
            recurse: whether modules below have them too.
            writeback: whether what is written to them is kept, each process its part.
            rank0_only, offload_to_cpu: accepted; all processes have them.
            with_grads: whether gradients are whole too.
        """
        chosen = sharding.states_of(module, recurse)
        with lazyloom.grad_mode(False):
            for state in chosen:
                state.summon(with_grads)
        try:
            yield
        finally:
            with lazyloom.grad_mode(False):
                for state in chosen:
                    state.dismiss(writeback)

    def register_comm_hook(self, state: object, hook: Any) -> None:
        """Raises NotImplementedError: the average of gradients is a part of the program."""
        raise NotImplementedError(
            "FullyShardedDataParallel.register_comm_hook is not supported: the average of "
            "gradients is a part of the program; give MixedPrecision(reduce_dtype=...)")


def _in_full_precision(
    module: Module, wrapper: Any, mixed: MixedPrecision, kwargs: dict[str, Any]
) -> set[Module]:
    """Wrap modules such as batch norms so that they compute in float32; what was wrapped."""
    kinds = tuple(mixed._module_classes_to_ignore)
    found: set[Module] = set()
    for parent in list(module.modules()):
        for name, child in list(parent._modules.items()):
            if child is None or not isinstance(child, kinds):
                continue
            own = MixedPrecision(_dtypes.float32, _dtypes.float32, cast_forward_inputs=True)
            made = wrapper(child, **{**kwargs, "mixed_precision": own})
            state = made.__dict__["_fsdp_state"]
            state.policy = dataclasses.replace(state.policy, output_dtype=mixed.param_dtype)
            setattr(parent, name, made)
            found |= {made, child}
    return found


def _ignored(module: Module, modules: Any, states: Any) -> tuple[set[Module], list[Any]]:
    """The modules that stay as they are, with those below, and the parameters that do."""
    given = list(states or ())
    skipped = {m for top in (*(modules or ()), *(s for s in given if isinstance(s, Module)))
               for m in top.modules()}
    params = [s for s in given if not isinstance(s, Module)]
    return skipped, [*params, *(p for m in skipped for p in m.parameters(recurse=False))]


def _mesh_of(
    group: Any, strategy: ShardingStrategy, mesh: DeviceMesh | None
) -> tuple[DeviceMesh, bool]:
    """The processes as a mesh, and whether its only dimension repeats."""
    repeats = strategy is ShardingStrategy.NO_SHARD
    if mesh is not None:
        if strategy in _HYBRID and mesh.ndim != 2:
            raise ValueError(
                "Expected device_mesh to have ndim=2 but got "
                f"{mesh.ndim}: {strategy.name} divides along its second dimension")
        return mesh, repeats
    kind = "cuda" if groups.get_backend() == "nccl" else "cpu"
    if strategy in _HYBRID:
        if group is None:
            # as within one machine: all processes divide
            return DeviceMesh(kind, [list(range(groups.world_size()))],
                              mesh_dim_names=("replicate", "shard")), False
        if not isinstance(group, tuple) or len(group) != 2:
            raise ValueError(
                f"Expected process_group to be passed in as either None or a tuple of process "
                f"groups for {strategy.name}, but got {group}")
        return _mesh_of_pair(kind, *group), False
    found = groups.resolved(group)
    if found is None:
        raise ValueError("this process is not in the process group")
    if found is groups.default_group():
        return DeviceMesh(kind, list(found.ranks)), repeats
    return DeviceMesh.from_group(found, kind), repeats


def _mesh_of_pair(kind: str, shards: Any, copies: Any) -> DeviceMesh:
    from ..._processes.objects import exchanged

    rows = exchanged(tuple(shards.ranks), copies)
    return DeviceMesh.from_group(
        [copies, shards], kind, mesh=[list(r) for r in rows],
        mesh_dim_names=("replicate", "shard"))


def _from_first(module: Module) -> None:
    """Set parameters and buffers to those of rank 0."""
    group = groups.default_group()
    tensors = [t for t in (*module.parameters(), *module.buffers()) if not t._is_dtensor]
    if group.size() == 1 or not tensors:
        return
    with lazyloom.grad_mode(False):
        found = together(ready(*tensors), LARGE, lambda whole: calls.broadcast(whole, 0, group))
        launched(*found)
        for tensor, value in zip(tensors, found, strict=True):
            tensor._update(value)


__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig",
    "FullyShardedDataParallel", "LocalOptimStateDictConfig", "LocalStateDictConfig",
    "MixedPrecision", "OptimStateDictConfig", "OptimStateKeyType", "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig", "StateDictSettings",
    "StateDictType",
]  # fmt: skip
