"""Training where processes have different numbers of batches: who is done shadows the others.

A process that has no more batches takes part in the collectives of those that have some, with
nothing of its own, until all are done.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, Final, NamedTuple

from .._dtypes import float32
from .._functions.creation import full_value, ones, zeros
from .._tensor import Tensor
from . import calls
from .collectives import all_reduce
from .groups import get_rank
from .pending import pending
from .work import Work

#: shadowed steps after which a process says that the others have many more batches
_MANY: Final = 1000


class JoinHook:
    """What a :class:`Joinable` does in a process that has no more batches."""

    def main_hook(self) -> None:
        """Take part in the collectives of one step; called as long as others have batches."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called once all processes are done.

        Args:
            is_last_joiner: whether this process is one of those that had the most batches.
        """


class _JoinConfig(NamedTuple):
    """What a :class:`Join` has told a :class:`Joinable`."""

    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool

    @staticmethod
    def construct_disabled_join_config() -> _JoinConfig:
        """That of an object that no ``Join`` has."""
        return _JoinConfig(False, False, False)


class Joinable(ABC):
    """Something with collectives in each step, which :class:`Join` lets others shadow.

    A subclass calls ``Join.notify_join_context(self)`` before the collectives of each step.
    """

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig.construct_disabled_join_config()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook for a process that is done, by the keyword arguments of ``Join``."""
        ...

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of what the context manager sends."""
        ...

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The processes."""
        ...


class Join:
    """A context manager for steps of which processes have different numbers.

    Args:
        joinables: what has collectives in each step; their hooks are called in this order.
        enable: False if all processes have as many: then it does nothing.
        throw_on_early_termination: raise RuntimeError in all processes once one is done.
        kwargs: passed on to each ``join_hook``.

    Raises ValueError for no joinables, or for some of different process groups.
    """

    def __init__(self, joinables: list[Joinable], enable: bool = True,
                 throw_on_early_termination: bool = False, **kwargs: Any) -> None:  # fmt: skip
        if len(joinables) == 0:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = joinables
        self._join_hooks = [j.join_hook(**kwargs) for j in joinables]
        self._enable = enable
        self._throw_on_early_termination = throw_on_early_termination
        for j in joinables:
            j._join_config = _JoinConfig(enable, throw_on_early_termination, j is joinables[0])
        self._process_group = joinables[0].join_process_group
        if any(j.join_process_group != self._process_group for j in joinables):
            raise ValueError("Using join context manager with multiple process groups")
        self._rank = get_rank(self._process_group)
        self._device = joinables[0].join_device

    def __enter__(self) -> None:
        return None

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        """Shadow the others until all are done. RuntimeError if that is to be an error."""
        if not self._enable or type:
            return
        shadowed = 0
        while self._left():
            if shadowed == _MANY + 1:
                warnings.warn(
                    f"Detected uneven input skew of greater than {_MANY}. This means that rank "
                    f"{self._rank} has at least {_MANY} fewer inputs than other currently-active "
                    "ranks. This level of skew could lead to performance degradation during "
                    "training.", stacklevel=2)
            if self._throw_on_early_termination:
                all_reduce(ones(1, device=self._device), group=self._process_group)
                raise RuntimeError(f"Rank {self._rank} exhausted all inputs.")
            for hook in self._join_hooks:
                hook.main_hook()
            shadowed += 1
        for hook in self._join_hooks:
            hook.post_hook(shadowed == 0)

    def _left(self) -> int:
        """How many processes go on with a step."""
        count = zeros(1, device=self._device)
        all_reduce(count, group=self._process_group)
        return int(count.item())

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Say that this process has another step; called before the collectives of each.

        Returns work whose result is the number of such processes, None if another joinable says
        it. It is handed over with the step. Raises RuntimeError if one is done and that is an
        error.
        """
        if not hasattr(joinable, "_join_config"):
            raise AssertionError(
                f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor")
        config = joinable._join_config
        if not config.is_first_joinable or not config.enable:
            return None
        group = joinable.join_process_group
        count = Tensor.from_value(calls.all_reduce(full_value((1,), 1, float32), "sum", group))
        pending.add([count])
        if config.throw_on_early_termination:
            done = zeros(1, device=joinable.join_device)
            all_reduce(done, group=group)
            if done.item():
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing "
                                   "across all ranks.")
        return Work([count])
