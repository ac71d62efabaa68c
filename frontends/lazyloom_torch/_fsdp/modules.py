"""Modules whose parameters are divided among processes: ``fully_shard``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import lazyloom

from .._dtensor.mesh import DeviceMesh, init_device_mesh
from .._dtensor.placements import Shard
from .._processes import groups
from .._processes.pending import pending
from .._tensor import Tensor
from ..nn.modules.container import ModuleDict, ModuleList
from ..nn.modules.module import Module
from .parameters import Meshes, Sharded, managed
from .policies import DataParallelMeshDims, MixedPrecisionPolicy, OffloadPolicy
from .state import State

_classes: dict[type, type] = {}


class UnshardHandle:
    """What ``unshard(async_op=True)`` gives."""

    def wait(self) -> None:
        """Nothing: what is recorded waits for what it needs."""


class FSDPModule:
    """A module whose parameters are divided, by :func:`fully_shard`.

    Its class is made of this one and of the module's own.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        # a part of a container is made by its class, and is a plain one
        own: Any = cls.__mro__[2] if cls.__mro__[1] is FSDPModule else cls
        made = own.__new__(own)
        made.__init__(*args, **kwargs)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        state = self._get_fsdp_state()
        with state.running((args, kwargs)) as outermost:
            args, kwargs = _cast_inputs(state, args, kwargs, outermost)
            found = super().__call__(*args, **kwargs)  # type: ignore[misc]
            found = _cast_all(found, state.policy.output_dtype)
        if outermost:
            _hand_over(state, found)
        return found

    def _get_fsdp_state(self) -> State:
        found: State = self.__dict__["_fsdp_state"]
        return found

    def _states(self, recurse: bool) -> list[State]:
        """The states of this module and of those below."""
        return states_of(self, recurse)  # type: ignore[arg-type]

    def __deepcopy__(self, memo: Any) -> NoReturn:
        raise AssertionError(
            "FSDP does not support deepcopy. Please use state dict for serialization.")

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        self.reshard()
        return super()._apply(*args, **kwargs)  # type: ignore[misc]

    # -- whole parameters ------------------------------------------------------------------

    def reshard(self) -> None:
        """Let the module have its parts of parameters, after :meth:`unshard`."""
        self._get_fsdp_state().reshard()

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Let the module have whole parameters, until :meth:`reshard` or the end of its passes.

        They are recorded, and nothing waits; ``async_op`` gives an object to wait for.
        """
        self._get_fsdp_state().unshard()
        return UnshardHandle() if async_op else None

    def reset_iter_state(self) -> None:
        """Forget what a step has left that raised: gradients that were not reduced yet."""
        for state in self._states(True):
            state.plan.kept.clear()
            state.plan.kept_parts.clear()
            state.reshard()

    # -- gradients -------------------------------------------------------------------------

    def set_requires_gradient_sync(
        self, requires_gradient_sync: bool, *, recurse: bool = True
    ) -> None:
        """Whether backward passes reduce gradients, or keep them for one that does."""
        for state in self._states(recurse):
            state.plan.reduces = state.plan.reduces_copies = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Whether gradients are reduced among copies (HSDP), or kept for a pass that does it."""
        for state in self._states(recurse):
            state.plan.reduces_copies = requires_all_reduce

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Divide sums of gradients by ``factor`` in place of the number of processes."""
        self._get_fsdp_state().plan.divides_by = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Nothing: a backward pass is over when it has been recorded."""

    def set_reshard_after_forward(
        self, reshard_after_forward: bool | int, recurse: bool = True
    ) -> None:
        """Whether whole parameters go after the forward pass; as in :func:`fully_shard`."""
        for state in self._states(recurse):
            state.reshard_after_forward(reshard_after_forward)

    # -- of no effect, since XLA orders a program -------------------------------------------

    def set_reshard_after_backward(
        self, reshard_after_backward: bool, *, recurse: bool = True
    ) -> None:
        """Nothing: whole parameters go after the backward pass."""

    def set_modules_to_forward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Nothing but a check of the modules: XLA orders what is gathered."""
        _check_modules(modules)

    def set_modules_to_backward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Nothing but a check of the modules: XLA orders what is gathered."""
        _check_modules(modules)

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Nothing: what a backward pass needs is a part of its program."""

    def set_force_sum_reduction_for_comms(self, enable: bool) -> None:
        """Nothing: gradients are summed, and divided."""

    def set_allocate_memory_from_process_group_for_comm(self, enable: bool) -> None:
        """Nothing: memory belongs to XLA."""

    def set_post_optim_event(self, event: Any) -> None:
        """Nothing: what is recorded waits for what it needs."""

    def set_custom_all_gather(self, comm: Any) -> NoReturn:
        """Raises NotImplementedError: collectives are XLA's."""
        raise NotImplementedError("FSDPModule.set_custom_all_gather: collectives are XLA's")

    def set_custom_reduce_scatter(self, comm: Any) -> NoReturn:
        """Raises NotImplementedError: collectives are XLA's."""
        raise NotImplementedError("FSDPModule.set_custom_reduce_scatter: collectives are XLA's")

    def set_all_reduce_hook(self, hook: Any, *, stream: Any = None) -> NoReturn:
        """Raises NotImplementedError: collectives are XLA's."""
        raise NotImplementedError("FSDPModule.set_all_reduce_hook: collectives are XLA's")


def states_of(module: Module, recurse: bool = True) -> list[State]:
    """The states of a module and of those below, each once."""
    found: dict[int, State] = {}
    for m in module.modules() if recurse else [module]:
        state = m.__dict__.get("_fsdp_state")
        if state is not None:
            found.setdefault(id(state), state)
    return list(found.values())


def _check_modules(modules: Any) -> None:
    for m in modules:
        if not isinstance(m, FSDPModule):
            raise ValueError(f"modules: a {type(m).__name__} is none that fully_shard was called "
                             "on")


def _cast_all(given: Any, kind: Any) -> Any:
    """Nested tensors, floating-point ones in another dtype."""
    if kind is None:
        return given
    leaves, nesting = lazyloom.tree_flatten(given, Tensor)
    if not any(isinstance(x, Tensor) and x.is_floating_point() for x in leaves):
        return given
    return nesting.build(x.to(kind) if isinstance(x, Tensor) and x.is_floating_point() else x
                         for x in leaves)


def _cast_inputs(state: State, args: Any, kwargs: Any, outermost: bool) -> tuple[Any, Any]:
    policy = state.policy
    if policy.param_dtype is None or not (
        policy.cast_forward_inputs or outermost and state.casts_root_inputs
    ):
        return args, kwargs
    found, named = _cast_all((list(args), dict(kwargs)), policy.param_dtype)
    return found, named


def _hand_over(state: State, found: Any) -> None:
    """Let a forward pass that no backward pass follows run in all processes."""
    if state.meshes.mesh.size() == 1:
        return
    leaves = [x for x in lazyloom.tree_flatten(found, Tensor)[0] if isinstance(x, Tensor)]
    if any(x.requires_grad for x in leaves) and lazyloom.grad_enabled():
        pending.add(getattr(x, "_local_tensor", x) for x in leaves)
    else:
        pending.hand_over_all()


def default_mesh() -> DeviceMesh:
    """All processes, in one dimension."""
    if not groups.is_initialized():
        groups.init_process_group()
    kind = "cuda" if groups.get_backend() == "nccl" else "cpu"
    return init_device_mesh(kind, (groups.world_size(),))


def _placed(param: Tensor, choose: Any) -> int:
    """The dimension along which a parameter is divided."""
    chosen = None if choose is None else choose(param)
    if chosen is None:
        return 0
    if not isinstance(chosen, Shard):
        raise ValueError(
            f"shard_placement_fn gave {chosen!r}, expected None or a Shard of the parameter's "
            "dimensions")
    return chosen.dim


def shard_modules(
    modules: Sequence[Module], meshes: Meshes, policy: MixedPrecisionPolicy,
    reshards: bool | int | None, choose: Any = None, ignored: Any = (),
    is_own: Callable[[Module], bool] = lambda m: "_fsdp_state" in m.__dict__,
) -> State:
    """Divide the parameters of modules that are in no other group yet, in place."""
    left_out = {id(p) for p in ignored or ()}
    for module in modules:
        if "_fsdp_state" in module.__dict__:
            raise AssertionError(
                "Each distinct composable distributed API can only be applied to a module once. "
                "The following APIs have already been applied to the following module: "
                f"fully_shard\n{module}")
    params = [Sharded(homes, p, meshes, _placed(p, choose))
              for p, homes in managed(modules, is_own, left_out)]
    state = State(modules, params, meshes, policy, reshards)
    for module in modules:
        module.__dict__["_fsdp_state"] = state
    return state


def fully_shard(
    module: Any, *, mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None, shard_placement_fn: Any = None,
    mp_policy: MixedPrecisionPolicy | None = None, offload_policy: OffloadPolicy | None = None,
    ignored_params: set[Any] | None = None, dp_mesh_dims: DataParallelMeshDims | None = None,
) -> Any:
    """Divide a module's parameters among processes, in place; returns the module.

    Parameters become DTensors of which each process has a part. In the forward pass of the module
    they are whole: gathered by one collective for all that the module has and no module below that
    this was called on before. In the backward pass their gradients are averaged by one collective,
    and each process gets its part. So call it on layers first, and on the model last.

    Args:
        module: a module, or several whose parameters are gathered together.
        mesh: the processes; all by default. Of two dimensions, the first one repeats parameters,
            and the second one divides them.
        reshard_after_forward: whether whole parameters go after the forward pass, and are gathered
            again for the backward pass; None for those of all modules but the outermost. A number
            n between: each process keeps a piece, and every n of them gather these.
        shard_placement_fn: gives for a parameter the ``Shard`` that says along which dimension it
            is divided; None for the first.
        mp_policy: in which dtypes it computes.
        offload_policy: where parts are kept: where they are.
        ignored_params: parameters that stay as they are.
        dp_mesh_dims: which dimensions of ``mesh`` divide and repeat, by name.

    Raises ValueError for a module without ``forward``, a mesh of more dimensions and a parameter
    without dimensions; AssertionError for a module that it was called on before.
    """
    given = list(module) if isinstance(module, (list, tuple)) else [module]
    if not given:
        raise ValueError("fully_shard expects at least one module")
    for m in given:
        if isinstance(m, (ModuleList, ModuleDict)) and type(m).forward is Module.forward:
            raise ValueError(
                f"fully_shard does not support containers that do not implement forward: {m}")
    chosen = default_mesh() if mesh is None else mesh
    repeats = False
    if dp_mesh_dims is not None:
        names = (*dp_mesh_dims.replicate_names, *dp_mesh_dims.shard_names)
        if chosen.mesh_dim_names is None:
            raise ValueError("mesh must have mesh_dim_names when dp_mesh_dims is provided")
        chosen = chosen[names] if names != tuple(chosen.mesh_dim_names) else chosen
        repeats = not dp_mesh_dims.shard_names
    reshards = reshard_after_forward
    shard_modules(
        given, Meshes(chosen, repeats), mp_policy or MixedPrecisionPolicy(),
        reshards, shard_placement_fn, ignored_params)
    for m in given:
        m.__class__ = _sharded_class(type(m))
    return module


def _state(module: Module) -> State | None:
    """What :func:`fully_shard` knows of a module; None if it was not called on it."""
    return module.__dict__.get("_fsdp_state")


fully_shard.state = _state  # type: ignore[attr-defined]


def _sharded_class(kind: type) -> type:
    if kind not in _classes:
        _classes[kind] = type(f"FSDP{kind.__name__}", (FSDPModule, kind), {
            "__module__": kind.__module__, "__doc__": kind.__doc__})
    return _classes[kind]


def register_fsdp_forward_method(module: Module, method_name: str) -> None:
    """Let a method gather parameters as the forward pass does.

    Nothing happens to a module that :func:`fully_shard` was not called on. Raises ValueError if
    there is no such method.
    """
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    method = getattr(module, method_name)
    state = module._get_fsdp_state()

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with state.running((args, kwargs)) as outermost:
            args, kwargs = _cast_inputs(state, args, kwargs, outermost)
            found = _cast_all(method(*args, **kwargs), state.policy.output_dtype)
        if outermost:
            _hand_over(state, found)
        return found

    object.__setattr__(module, method_name, wrapped)


def share_comm_ctx(modules: list[FSDPModule]) -> None:
    """Nothing but a check of the modules: collectives have one order in a program."""
    _check_modules(modules)
