"""Data parallelism over processes: each has the module, and a part of each batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import lazyloom

from ..._dtypes import float16, float32
from ..._functions.creation import full_value, tensor
from ..._grad_mode import is_grad_enabled
from ..._processes import calls
from ..._processes.arguments import launched, ready
from ..._processes.buckets import LARGE, together
from ..._processes.collectives import all_reduce
from ..._processes.groups import ProcessGroup, default_group
from ..._processes.joining import Join, Joinable, JoinHook
from ..._processes.mixed import _MixedPrecision, call, reduce_in
from ..._processes.objects import exchanged
from ..._processes.pending import pending
from ..._processes.reduce_op import ReduceOp
from ..._processes.reducer import BuiltinCommHookType, Reducer
from ..._tensor import Tensor
from ..modules.module import Module
from ..parameter import UninitializedTensorMixin

_MIB = 1 << 20


class _DDPJoinHook(JoinHook):
    """What a process without batches does in the steps of the others."""

    def __init__(self, ddp: DistributedDataParallel, divide_by_initial_world_size: bool) -> None:
        self.ddp = ddp
        ddp._divide_by_initial_world_size = divide_by_initial_world_size

    def main_hook(self) -> None:
        """The collectives of a forward and a backward pass, with nothing of its own."""
        ddp = self.ddp
        if ddp.will_sync_module_buffers():
            ddp._buffers_of_last(has_batches=False)
        averaging = ddp._averaging_anywhere(False)
        ddp.require_forward_param_sync = averaging
        if averaging:
            ddp.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Parameters and buffers become those of a process that had the most batches."""
        ddp = self.ddp
        source = ddp._highest_rank(is_last_joiner)
        ddp._broadcast(ddp._all_tensors(ddp.forward_sync_buffers), False, source)


class DistributedDataParallel(Module, Joinable):
    """A module whose gradients are averaged over processes in each backward pass.

    Parameters and buffers are those of rank 0 from the beginning; buffers also at each forward
    pass. Forward and backward pass, the average and the optimizer's step are one program, which
    every process hands over after the step, also one that reads nothing.

    Args:
        module: with the same parameters in the same order in all processes. It is ``module``, so
            that names in state dicts begin with ``module.``
        device_ids, output_device: None for a module on CPUs.
        broadcast_buffers: whether buffers are those of rank 0 at each forward pass; the same as
            ``forward_sync_buffers``, but that False leaves them as they are at the beginning too.
        init_sync: whether parameters and buffers are those of rank 0 at the beginning.
        process_group: the processes; None for all.
        bucket_cap_mb: how many MiB of gradients are averaged at once; None for 25.
        find_unused_parameters: whether a pass may bring no gradients to some parameters. Those
            that no process used keep the ``.grad`` that they have.
        gradient_as_bucket_view: taken, and of no effect: nothing is copied between programs.
        static_graph: whether the parameters that are not used are the same in each pass.
        mixed_precision: a ``_MixedPrecision`` of dtypes, in which passes are computed and gradients
            averaged; parameters keep their own.

    Raises:
        RuntimeError: no parameter requires a gradient, or processes have other parameters.
        ValueError: there is no process group, or ``device_ids`` are given for a module on CPUs, or
            several of them.
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0,
        broadcast_buffers: bool | None = None, init_sync: bool = True,
        process_group: ProcessGroup | None = None, bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False, check_reduction: bool = False,
        gradient_as_bucket_view: bool = False, static_graph: bool = False,
        delay_all_reduce_named_params: Any = None, param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None, device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False, bucket_cap_mb_list: Any = None,
        batched_grad_copy: bool = False, forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        Joinable.__init__(self)
        for name, value in (
            ("delay_all_reduce_named_params", delay_all_reduce_named_params),
            ("param_to_hook_all_reduce", param_to_hook_all_reduce),
            ("device_mesh", device_mesh),
        ):
            if value is not None:
                raise NotImplementedError(
                    f"DistributedDataParallel: {name} is not supported; leave it out")
        self.module = module
        self.process_group = default_group() if process_group is None else process_group
        self.dim, self.device_ids, self.output_device = dim, None, None
        self.find_unused_parameters = find_unused_parameters
        self.static_graph = static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        if forward_sync_buffers is None:
            forward_sync_buffers = broadcast_buffers is not False
        self.forward_sync_buffers = forward_sync_buffers
        self.parameters_to_ignore = set(getattr(
            module, "_ddp_params_and_buffers_to_ignore", ()))
        names = [n for n, p in self._members(module.named_parameters()) if p.requires_grad]
        if not names:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters "
                "that require a gradient.")
        for n, p in module.named_parameters():
            if isinstance(p, UninitializedTensorMixin):
                raise RuntimeError(
                    f"Modules with uninitialized parameters can't be used with "
                    f"`DistributedDataParallel`: {n}. Run a dummy forward pass to correctly "
                    "initialize the modules")
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError(
                "device_ids can only be None or contain a single element: a process trains a "
                f"module on one device, not on {list(device_ids)}; start one for each")
        devices = {p.device.type for p in module.parameters()}
        if devices == {"cpu"} and (device_ids or output_device is not None):
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with "
                f"single-device/multiple-device GPU modules or CPU modules, but got device_ids "
                f"{device_ids}, output_device {output_device}, and module parameters on CPUs: "
                "leave both out")
        cap = 25 if bucket_cap_mb is None or bucket_cap_mb < 0 else bucket_cap_mb
        self.bucket_bytes_cap = int(cap * _MIB)
        self._init_sync = init_sync
        if init_sync:
            self._check_parameters()
            self._from_first(buffers=broadcast_buffers is not False)
        self.mixed_precision = mixed_precision
        self._divide_by_initial_world_size = True
        self._make_reducer()
        if mixed_precision is not None:
            self._set_mixed_precision(mixed_precision)

    def _set_mixed_precision(self, dtypes: _MixedPrecision) -> None:
        for _, b in self._members(self.module.named_buffers()):
            if dtypes.buffer_dtype is not None:
                b.data = b.to(dtypes.buffer_dtype)
        self.register_comm_hook((self.process_group, dtypes.reduce_dtype or dtypes.param_dtype),
                                reduce_in)

    @property
    def broadcast_buffers(self) -> bool:
        """Another name of ``forward_sync_buffers``."""
        return bool(self.forward_sync_buffers)

    @broadcast_buffers.setter
    def broadcast_buffers(self, value: bool) -> None:
        self.forward_sync_buffers = value

    def _members(self, named: Any) -> list[tuple[str, Tensor]]:
        return [(n, t) for n, t in named if n not in self.parameters_to_ignore]

    def _make_reducer(self) -> None:
        named = [(n, p) for n, p in self._members(self.module.named_parameters())
                 if p.requires_grad]
        self.__dict__["reducer"] = Reducer(
            [p for _, p in named], [n for n, _ in named], self.process_group,
            self.bucket_bytes_cap, self.find_unused_parameters, self.static_graph)

    # -- state that all processes share ----------------------------------------------------

    def _check_parameters(self) -> None:
        """Raise RuntimeError if this process has other parameters than rank 0."""
        group = self.process_group
        if group.size() == 1:
            return
        own = [(n, tuple(p.shape), p.tensor_type.dtype.name)
               for n, p in self._members(self.module.named_parameters()) if p.requires_grad]
        every = exchanged(own, group)
        first = every[0]
        for rank, theirs in enumerate(every):
            if len(theirs) != len(first):
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but Rank {rank} has {len(theirs)} "
                    f"params, while rank 0 has inconsistent {len(first)} params.")
            for i, (theirs_i, first_i) in enumerate(zip(theirs, first, strict=True)):
                if theirs_i[1:] != first_i[1:]:
                    raise RuntimeError(
                        f"DDP expects same model across all ranks, but params[{i}] "
                        f"({theirs_i[0]}) in rank {rank} with sizes {list(theirs_i[1])} and dtype "
                        f"{theirs_i[2]} appears not to match {first_i[0]} of rank 0, with sizes "
                        f"{list(first_i[1])} and dtype {first_i[2]}.")

    def _from_first(self, buffers: bool) -> None:
        """Set parameters and buffers to those of rank 0."""
        self._broadcast(self._all_tensors(buffers), lazily=False)

    def _all_tensors(self, buffers: bool) -> list[Tensor]:
        tensors = [p for _, p in self._members(self.module.named_parameters())]
        return tensors + self._buffers_here() if buffers else tensors

    def _buffers_here(self) -> list[Tensor]:
        return [b for _, b in self._members(self.module.named_buffers())]

    def _broadcast(self, tensors: list[Tensor], lazily: bool, source: int = 0) -> None:
        group = self.process_group
        if group.size() == 1 or not tensors:
            return
        with lazyloom.grad_mode(False):
            values = [t.value.detach() for t in tensors] if lazily else ready(*tensors)
            found = together(values, LARGE, lambda whole: calls.broadcast(whole, source, group))
            if not lazily:
                launched(*found)
            for tensor, value in zip(tensors, found, strict=True):
                tensor._update(value)

    def will_sync_module_buffers(self) -> bool:
        """Whether the next forward pass begins with buffers of rank 0."""
        return self.require_forward_param_sync and self.forward_sync_buffers and any(
            True for _ in self._members(self.module.named_buffers()))

    # -- passes ----------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        averaging = is_grad_enabled() and self.require_backward_grad_sync
        reducer: Reducer = self.reducer
        joining = self._join_config.enable
        if averaging:
            reducer.begin_forward()
        if joining:
            work = Join.notify_join_context(self)
            reducer.divisor = None if work is None or self._divide_by_initial_world_size else (
                work.result()[0].value)
        if self.will_sync_module_buffers() and joining:
            self._buffers_of_last(has_batches=True)
        elif self.will_sync_module_buffers():
            # a backward pass follows, whose program is to be this one; or nothing may follow
            lazily = averaging and self.training and not (
                self.find_unused_parameters or self.static_graph)
            self._broadcast(self._buffers_here(), lazily)
        if joining:
            self._averaging_anywhere(averaging, wait=False)
        if self.mixed_precision is None:
            found = self.module(*inputs, **kwargs)
        else:
            names = {n for n, _ in self._members(self.module.named_parameters())}
            found = call(self.module, names, self.mixed_precision.param_dtype, inputs, kwargs)
        if averaging:
            reducer.end_forward()
        self.require_forward_param_sync = averaging
        return found

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Forward passes whose gradients are only accumulated, to be averaged with later ones."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: object, hook: Callable[..., Any]) -> None:
        """Let ``hook(state, bucket)`` reduce gradients in place of the average.

        It returns a Future of a tensor in place of ``bucket.buffer()``.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        reducer: Reducer = self.reducer
        if reducer.hook is not None:
            raise RuntimeError("register_comm_hook can only be called once.")
        reducer.hook = (state, hook)

    def _register_builtin_comm_hook(self, comm_hook_type: BuiltinCommHookType) -> None:
        """Average gradients as they are, or in float16."""
        if not isinstance(comm_hook_type, BuiltinCommHookType):
            raise TypeError(
                f"_register_builtin_comm_hook: a {type(comm_hook_type).__name__} was given, "
                "expected one of torch.distributed.BuiltinCommHookType")
        half = comm_hook_type is BuiltinCommHookType.FP16_COMPRESS
        self.register_comm_hook((self.process_group, float16 if half else None), reduce_in)

    # -- different numbers of batches ------------------------------------------------------

    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True,
             throw_on_early_termination: bool = False) -> Join:  # fmt: skip
        """A ``with`` block of steps of which processes may have different numbers.

        A process that is done takes part in the steps of the others, with gradients of zero; they
        get what the others' average is. In the end all have what one of those has that had the
        most batches.

        Args:
            divide_by_initial_world_size: whether gradients are divided by the number of all
                processes, or of those that still have batches.
            enable: False if all have as many.
            throw_on_early_termination: raise RuntimeError in all once one is done.
        """
        return Join([self], enable, throw_on_early_termination,
                    divide_by_initial_world_size=divide_by_initial_world_size)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """For :class:`~torch.distributed.algorithms.join.Join`; takes
        ``divide_by_initial_world_size``."""
        return _DDPJoinHook(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        return next(iter(self.module.parameters())).device

    @property
    def join_process_group(self) -> ProcessGroup:
        found: ProcessGroup = self.process_group
        return found

    def _highest_rank(self, candidate: bool) -> int:
        """The highest rank of a process that is a candidate."""
        rank = tensor([self.process_group.rank() if candidate else -1])
        all_reduce(rank, ReduceOp.MAX, self.process_group)
        return int(rank.item())

    def _buffers_of_last(self, has_batches: bool) -> None:
        """Buffers become those of the highest rank that has batches."""
        self._broadcast(self._buffers_here(), False, self._highest_rank(has_batches))

    def _averaging_anywhere(self, averaging: bool, wait: bool = True) -> bool:
        """Whether a process averages gradients in this step; False unless it is waited for."""
        mine = full_value((1,), int(averaging), float32)
        count = Tensor.from_value(calls.all_reduce(mine, "sum", self.process_group))
        pending.add([count])
        return wait and bool(count.item())

    def _set_static_graph(self) -> None:
        self.static_graph = True
        self._make_reducer()

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, names: Any) -> None:
        module._ddp_params_and_buffers_to_ignore = names

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        del state["process_group"], state["reducer"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.process_group = default_group()
        self.require_forward_param_sync = self.require_backward_grad_sync = True
        self._make_reducer()


__all__ = ["DistributedDataParallel"]
