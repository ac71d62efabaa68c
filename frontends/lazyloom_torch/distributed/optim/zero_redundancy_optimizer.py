"""An optimizer of which each process has a part (Rajbhandari et al., "ZeRO", 2020, stage 1)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import lazyloom

from ..._processes import calls
from ..._processes.arguments import rank_in
from ..._processes.buckets import LARGE, together
from ..._processes.groups import ProcessGroup, default_group
from ..._processes.joining import Join, Joinable, JoinHook
from ..._processes.objects import exchanged
from ..._processes.pending import pending
from ..._tensor import Tensor
from ...optim.optimizer import Optimizer


class _ZeROJoinHook(JoinHook):
    """A process without batches updates its part by the gradients that it has, and sends it."""

    def __init__(self, zero: ZeroRedundancyOptimizer) -> None:
        self.zero = zero

    def main_hook(self) -> None:
        """Take a step, whose gradients were set before, as those of DDP's hook are."""
        self.zero.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """Each process updates some of the parameters, has the state of these alone, and sends them.

    The update and what is sent are a part of the program of the step.

    Args:
        params: as every optimizer takes them, the same in all processes.
        optimizer_class: what updates the parameters.
        process_group: the processes; None for all.
        parameters_as_bucket_view: taken, and of no effect.
        defaults: hyperparameters for ``optimizer_class``.

    Raises NotImplementedError for ``overlap_with_ddp``: a step is one program anyway.
    """

    def __init__(
        self, params: Any, optimizer_class: type[Optimizer],
        process_group: ProcessGroup | None = None, parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False, **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer: overlap_with_ddp is not supported; leave it out: the "
                "backward pass, the average of gradients and the update are one program")
        self.process_group = default_group() if process_group is None else process_group
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        self._class, self._options = optimizer_class, defaults
        Optimizer.__init__(self, params, dict(defaults))
        Joinable.__init__(self)
        self._all_states: list[dict[str, Any]] | None = None
        self.initialized = True
        self._divide()

    def _divide(self) -> None:
        """Give each parameter to the process that has the fewest elements, the large ones first."""
        before: Optimizer | None = self.__dict__.get("optim")
        self._owned: list[list[list[Tensor]]] = [
            [[] for _ in self.param_groups] for _ in range(self.world_size)]
        sizes = [0] * self.world_size
        for number, group in enumerate(self.param_groups):
            for p in sorted(group["params"], key=lambda p: -p.numel()):
                to = sizes.index(min(sizes))
                self._owned[to][number].append(p)
                sizes[to] += p.numel()
        self.optim = self._class(
            [{**{k: v for k, v in group.items() if k != "params"}, "params": own}
             for group, own in zip(self.param_groups, self._owned[self.rank], strict=True)],
            **self._options)
        if before is not None:
            for p, state in before.state.items():
                self.optim.state[p] = state
        self._copy_options(self.optim.param_groups, self.param_groups)

    @staticmethod
    def _copy_options(source: list[dict[str, Any]], to: list[dict[str, Any]]) -> None:
        for a, b in zip(source, to, strict=True):
            b.update({k: v for k, v in a.items() if k not in ("params", "param_names")})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, the same in all processes."""
        super().add_param_group(param_group)
        if "optim" in self.__dict__:
            self._divide()

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Update the parameters of this process, and receive the others."""
        Join.notify_join_context(self)
        self._copy_options(self.param_groups, self.optim.param_groups)
        with pending.held():
            found = self.optim.step(closure, **kwargs) if closure is not None else (
                self.optim.step(**kwargs))
        self._copy_options(self.optim.param_groups, self.param_groups)
        if self.world_size > 1:
            with lazyloom.grad_mode(False):
                for rank in range(self.world_size):
                    self._send_from(rank)
            pending.add(p for group in self.param_groups for p in group["params"])
        return found

    def _send_from(self, rank: int) -> None:
        params = [p for group in self._owned[rank] for p in group]
        group = self.process_group
        found = together([p.value.detach() for p in params], LARGE,
                         lambda whole: calls.broadcast(whole, rank, group))
        if rank != self.rank:
            for p, value in zip(params, found, strict=True):
                p._update(value)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """For :class:`~torch.distributed.algorithms.join.Join`, after that of the module."""
        return _ZeROJoinHook(self)

    @property
    def join_device(self) -> Any:
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> ProcessGroup:
        return self.process_group

    # -- state -----------------------------------------------------------------------------

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Bring the state of all processes to the one of global rank ``to``; all call it."""
        self._copy_options(self.param_groups, self.optim.param_groups)
        every = exchanged(self.optim.state_dict(), self.process_group)
        place = rank_in(self.process_group, to, None, "to")
        self._all_states = every if place == self.rank else None

    def state_dict(self) -> dict[str, Any]:
        """The whole state, as ``optimizer_class`` gives it, in the process that has it.

        Raises RuntimeError before :meth:`consolidate_state_dict`, and in other processes.
        """
        if self._all_states is None:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.process_group.ranks[self.rank]})` on all ranks "
                "beforehand if you meant to save the global state.")
        found = super().state_dict()
        numbers = self._numbers()
        state: dict[int, Any] = {}
        for owned, theirs in zip(self._owned, self._all_states, strict=True):
            own = [p for group in owned for p in group]
            places = [i for group in theirs["param_groups"] for i in group["params"]]
            for i, p in zip(places, own, strict=True):
                if i in theirs["state"]:
                    state[numbers[id(p)]] = theirs["state"][i]
        found["state"] = dict(sorted(state.items()))
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a whole state, of which each process takes its part.

        Raises ValueError if the groups do not fit.
        """
        groups = state_dict["param_groups"]
        if [len(g["params"]) for g in groups] != [len(g["params"]) for g in self.param_groups]:
            raise ValueError(
                "loaded state dict has other parameter groups than the optimizer: "
                f"{[len(g['params']) for g in groups]} parameters, expected "
                f"{[len(g['params']) for g in self.param_groups]}")
        given = [i for g in groups for i in g["params"]]
        numbers = self._numbers()
        own = self.optim.state_dict()
        mine = [p for group in self._owned[self.rank] for p in group]
        places = [i for g in own["param_groups"] for i in g["params"]]
        own["state"] = {
            i: copy.copy(state_dict["state"][given[numbers[id(p)]]])
            for i, p in zip(places, mine, strict=True)
            if given[numbers[id(p)]] in state_dict["state"]}
        self._copy_options(groups, own["param_groups"])
        self.optim.load_state_dict(own)
        self._copy_options(groups, self.param_groups)

    def _numbers(self) -> dict[int, int]:
        """Which number each parameter has in a state dict."""
        params = [p for group in self.param_groups for p in group["params"]]
        return {id(p): i for i, p in enumerate(params)}


__all__ = ["ZeroRedundancyOptimizer"]
