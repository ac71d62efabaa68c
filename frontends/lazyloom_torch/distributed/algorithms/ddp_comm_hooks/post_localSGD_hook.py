"""Averages over all processes at first, over those of one machine later; see
:mod:`torch.distributed.algorithms.model_averaging` for what follows each step then."""

from __future__ import annotations

from ...._processes.groups import ProcessGroup, new_subgroups
from ...._processes.reducer import GradBucket
from ....futures import Future
from .debugging_hooks import noop_hook
from .default_hooks import allreduce_hook


class PostLocalSGDState:
    """The state of :func:`post_localSGD_hook`.

    Args:
        process_group: whose average it is at first; None for all processes.
        subgroup: whose average it is later; None for those of this machine.
        start_localSGD_iter: the number of passes before that.
        post_local_gradient_allreduce: False if gradients are not averaged at all later.
    """

    __slots__ = ("iter", "post_local_gradient_allreduce", "process_group", "start_localSGD_iter",
                 "subgroup")

    def __init__(
        self, process_group: ProcessGroup | None, subgroup: ProcessGroup | None,
        start_localSGD_iter: int,  # noqa: N803
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a pass with its last bucket."""
        self.iter += bucket.is_last()


def post_localSGD_hook(  # noqa: N802
    state: PostLocalSGDState, bucket: GradBucket
) -> Future:
    """The average over all processes, from a pass on that of a subgroup."""
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    if state.subgroup is None:
        state.subgroup, _ = new_subgroups()
    return allreduce_hook(state.subgroup, bucket)
