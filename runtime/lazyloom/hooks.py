"""Slots that lower layers call and upper layers fill, in ``lazyloom/__init__.py``.

Nothing that runs for every recorded op goes through a slot: calling one costs as much as calling
any Python function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final


@final
class Hooks:
    """The slots. Their types name no class of an upper layer.

    Attributes:
        read: the data of a value as a fresh NumPy array (:meth:`Value.read`).
        read_number: the only element of a value (:meth:`Value.read_number`).
        as_leaf: the value as a leaf of the tape (:meth:`Value.as_leaf`).
        recorded: called, without the lock, with a node just recorded where ops run at their lines.
        grown: called, without the lock, with a component that has grown to its ``check_at``;
            may run a part of it.
        loops: the parts of a program that are compiled as loops, as (times, ops of the body).
        verdicts: the measurements of regions that are on disk, or None.
        together: the processes that run collectives with this one
            (:class:`lazyloom.distributed.together.Together`), or None.
        ran_before: the structures that ran before an evaluation, by its number, and where in the
            user's program they ran first.
        measure: measures regions beside the backend, for :func:`lazyloom.codegen.measure`.
        observer: what runs, reads, uploads and captures are told to while a profile is made, or the
            process answers to ``top``, or None (:mod:`lazyloom.observers`).
        end_profile: writes the report of a profile of the whole process, and ends what answers to
            ``top``, or None.
        carrying: the module that knows of entries of the disk cache what a file of them needs
            (:mod:`lazyloom.execute.carrying`).
        failed: saves a plan that failed with an error, and returns how it is run, or None.
        version: of the package.
    """

    __slots__ = ("read", "read_number", "as_leaf", "recorded", "grown", "loops", "verdicts",
                 "measure", "ran_before", "together", "observer", "end_profile", "carrying",
                 "failed",
                 "version")

    read: Callable[[Any], Any]
    read_number: Callable[[Any], Any]
    as_leaf: Callable[[Any, object], Any]
    recorded: Callable[[Any], None]
    grown: Callable[[Any], None]
    loops: Callable[[Any], Sequence[tuple[int, int]]]
    verdicts: Callable[[], bytes | None]
    measure: Callable[[Sequence[Any]], None]
    ran_before: Callable[[int], Sequence[tuple[Any, str]]]
    carrying: Callable[[], Any]
    version: str
    together: Any
    observer: Any
    end_profile: Callable[[], None] | None
    failed: Callable[[Any, Any], str] | None

    def __init__(self) -> None:
        self.together = None
        self.observer = None
        self.end_profile = None
        self.failed = None


hooks = Hooks()
