"""A plan: a program about to run, with what to feed it and what waits for its results."""

from __future__ import annotations

from typing import Any, Final, final

from ..dtypes import DType
from ..trace.graph import Buffer, Node
from .program import Structure
from .stream import Decoded


@final
class Plan:
    """A program about to run, with its inputs and the nodes that wait for its results."""

    __slots__ = ("nodes", "structure", "leaves", "scalars", "wanted", "results", "donatable",
                 "evaluation", "places", "completed", "finished", "failed", "collective", "_stream")

    def __init__(
        self, nodes: list[Node], structure: Structure, leaves: list[Buffer],
        scalars: dict[DType, list[Any]], wanted: list[tuple[int, int]], results: list[Buffer],
        donatable: list[int],
    ) -> None:  # fmt: skip
        self.nodes: Final = nodes
        self.structure = structure
        self.leaves: Final = leaves
        self.scalars = scalars
        self.wanted: Final = wanted
        #: one a wanted output; filled when the program is dispatched
        self.results: Final = results
        self.donatable = donatable
        self.evaluation: Any = None
        #: (op, site) of the nodes that can fail while they run
        self.places: list[tuple[str, Any]] = []
        #: the results are attached (their data may still be computing), or every node that has no
        #: result has its error (then ``failed`` is true, too). What interrupts the plan earlier
        #: makes its nodes pending again
        self.completed = False
        #: its nodes have left the state SCHEDULED, and its leaves are not held any more
        self.finished = False
        #: some of its nodes have an error
        self.failed = False
        #: other processes run some of it together with this one
        self.collective = False
        self._stream: Decoded | None = None

    def become(self, structure: Structure, scalars: dict[DType, list[Any]]) -> None:
        """Take an equal structure, in which other numbers are constants, for a run."""
        self.structure = structure
        self.scalars = scalars
        self._stream = None

    def stream(self) -> Decoded:
        """The structure's stream, decoded once."""
        stream = self._stream
        if stream is None:
            stream = self._stream = self.structure.decode()
        return stream
