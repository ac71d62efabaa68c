"""What processes tell each other while they save or load a checkpoint.

It goes through the store, with keys of its own, and hands nothing over that is recorded: a thread
beside the program can do it.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from typing import Any

from ..._processes import groups
from ..._processes.calls import store as store_of
from ..._processes.groups import ProcessGroup
from ..._processes.objects import _PART, erase, leave
from ..._processes.pending import pending
from .api import CheckpointException


class Together:
    """The processes of one save or load.

    Args:
        group: the processes; None for this one alone.
        coordinator: the rank in the group of the one that plans for all.
    """

    def __init__(self, group: ProcessGroup | None, coordinator: int = 0) -> None:
        self.group = group
        self.rank = 0 if group is None else group.rank()
        self.size = 1 if group is None else group.size()
        self.coordinator = coordinator
        self._step = 0
        self._left: list[tuple[str, int]] = []
        if group is not None:
            # counted here, by the thread that runs the program, so that all count alike
            self._start = group.key("checkpoint")
            # others may wait for collectives of this process before they come here
            pending.hand_over_all()
            self._store = store_of(group.world, group.timeout)
            self._store.set_timeout(group.timeout)

    @property
    def is_coordinator(self) -> bool:
        """Whether this process plans for all."""
        return self.rank == self.coordinator

    def _leave(self, name: str, obj: Any) -> None:
        data = pickle.dumps(obj)
        key = f"{self._start}/{self._step}/{name}"
        leave(self._store, key, data)
        self._left.append((key, max(1, -(-len(data) // _PART))))

    def _take(self, name: str) -> Any:
        key = f"{self._start}/{self._step}/{name}"
        count, _, first = self._store.get(f"{key}/0").partition(b" ")
        rest = [self._store.get(f"{key}/{i}") for i in range(1, int(count))]
        return pickle.loads(b"".join([first, *rest]))

    def step(
        self, what: str, each: Callable[[], Any], all_of: Callable[[list[Any]], list[Any]]
    ) -> Any:
        """What ``all_of``, called by the coordinator with what ``each`` gave by rank, has for this.

        Raises CheckpointException in all processes if any of these calls raises.
        """
        mine = _tried(each)
        if self.size == 1:
            every = [mine]
        else:
            self._leave(f"from{self.rank}", mine)
            every = [self._take(f"from{r}") if r != self.rank else mine
                     for r in range(self.size)] if self.is_coordinator else []
        found: dict[str, Any] | None = None
        if self.is_coordinator:
            failed = {r: x["error"] for r, x in enumerate(every) if "error" in x}
            if not failed:
                for_all = _tried(lambda: all_of([x["found"] for x in every]))
                if "error" in for_all:
                    failed = {self.rank: for_all["error"]}
            if self.size == 1:
                found = {"failed": failed} if failed else {"found": for_all["found"][0]}
            else:
                for r in range(self.size):
                    given = {"failed": failed} if failed else {"found": for_all["found"][r]}
                    self._leave(f"to{r}", given)
                    if r == self.rank:
                        found = given
        else:
            found = self._take(f"to{self.rank}")
        assert found is not None
        self._step += 1
        self._forget()
        if "failed" in found:
            raise CheckpointException(what, found["failed"])
        return found["found"]

    def _forget(self) -> None:
        """Remove what this process left for steps that all have come out of."""
        if self._step < 2:
            return
        # a process that is in this step has read all of the step before the last
        old = [(k, n) for k, n in self._left if int(k.rsplit("/", 2)[1]) < self._step - 1]
        for key, count in old:
            erase(self._store, key, count)
        self._left = [entry for entry in self._left if entry not in old]


def _tried(call: Callable[[], Any]) -> dict[str, Any]:
    """What a call gives, or its exception, in a form that can be sent."""
    try:
        return {"found": call()}
    except Exception as error:
        trace = traceback.extract_tb(error.__traceback__)
        plain = traceback.StackSummary.from_list(
            [(f.filename, f.lineno or 0, f.name, f.line) for f in trace])
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            error = RuntimeError(f"{type(error).__name__}: {error}")
        return {"error": (error, plain)}


def together(group: Any, no_dist: bool, coordinator: int = 0) -> Together:
    """The processes that save or load: those of a group, or this one alone."""
    if no_dist or not groups.is_initialized():
        return Together(None)
    found = groups.resolved(group)
    if found is None:
        raise ValueError(
            "this process is not in the group that saves or loads the checkpoint: only its "
            "members call save and load")
    return Together(found if found.size() > 1 else None, coordinator)
