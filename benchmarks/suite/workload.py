"""How a workload is described: its cases, who takes part, and what it should reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: what is added to a row's name where an earlier build of ours does the same work
EARLIER = ", earlier"

#: Does that many units of work, to their end. Gives nothing (its wall time counts), or what one
#: unit took by name of the measure, if it measures itself; None for what was not known when a
#: limit of time ended the work.
Turn = Callable[[int], Mapping[str, float | None] | None]


@dataclass(frozen=True)
class Case:
    """One measurement that all contenders take part in.

    Attributes:
        name: names the table; a measure's name is added where there are several.
        parameters: what the makers are called with.
        warm: units of work before anything is measured, at least.
        seconds: roughly how long one turn takes; makes turns of many units where they are short.
        rounds: turns of each contender, fewer where ``budget`` ends first.
        budget: seconds after which no further round begins.
        per: what one unit is called.
        note: a line under the table.
        units: units of work of every turn; chosen by ``seconds`` if None.
        quick: whether ``--quick`` includes the case.
        full: whether a full run does; a small case may be there for ``--quick`` alone.
        limit: seconds after which its makers' turns end the work by themselves, for the page.
        base: the row that ratios are taken against, if not the workload's.
    """

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    warm: int = 3
    seconds: float = 0.05
    rounds: int = 25
    budget: float = 15.0
    per: str = "step"
    note: str = ""
    units: int | None = None
    quick: bool = True
    full: bool = True
    limit: float | None = None
    base: str = ""


@dataclass(frozen=True)
class Contender:
    """Someone who does the work.

    Attributes:
        name: the row's name.
        peer: key of :data:`suite.peers.PEERS`.
        make: called once per case with its parameters, in a process of its own; gives a Turn.
        only: cases it takes part in, by name; all if empty.
        threads: fixes the number of threads; None tries several.
        environment: variables of its process.
        note: said beside the row.
        needs: gives why it cannot run here, or "".
    """

    name: str
    peer: str
    make: Callable[..., Turn]
    only: Sequence[str] = ()
    threads: int | None = None
    environment: dict[str, str] = field(default_factory=dict)
    note: str = ""
    needs: Callable[[], str] = lambda: ""


@dataclass(frozen=True)
class Limit:
    """A target: a row of ours at most so much, alone or as a multiple of the best of others.

    Attributes:
        what: for the page.
        tables: the tables it is checked in; those whose name begins so.
        ours: our rows, each of which has to reach it.
        at_most: the bound of the median in the table's unit, or of the ratio.
        against: rows of others; the best of those present is compared with. Empty: the bound
            is absolute.
        plus: so many seconds are allowed on top of the multiple of the best of others.
    """

    what: str
    tables: Sequence[str]
    ours: Sequence[str]
    at_most: float
    against: Sequence[str] = ()
    plus: float = 0.0


@dataclass(frozen=True)
class Workload:
    """A file of ``benchmarks/workloads``.

    Attributes:
        name: the file's name.
        title: heading of its section.
        about: what is done and what is counted.
        base: the row that ratios are taken against.
        try_threads: whether each contender is tried with one thread and with all.
        needs: gives why the workload cannot run here, or "".
        measures: unit of each measure that a turn gives, "s" (the default), "B" or "".
        columns: panels beside each other in the picture.
        headline: tables that the picture shows, by beginning of name; all if empty.
    """

    name: str
    title: str
    about: str
    cases: Sequence[Case]
    contenders: Sequence[Contender]
    base: str
    limits: Sequence[Limit] = ()
    try_threads: bool = False
    needs: Callable[[], str] = lambda: ""
    measures: dict[str, str] = field(default_factory=dict)
    headline: Sequence[str] = ()
    columns: int = 2
