"""What an observer notes while a program runs."""

from __future__ import annotations

import linecache
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ..program.stream import Result
from ..trace.source import Site


class UserLine(NamedTuple):
    """A line of the user's program."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def source(self) -> str:
        """What the line says, or ""."""
        try:
            return linecache.getline(self.file, self.line).strip()
        except ValueError:
            # a name that the system's encoding does not have, as of a program in C in LANG=C
            return ""


class Run:
    """A run of a program.

    Attributes:
        thread: the identity of the thread that ran it.
        began, ended: seconds of ``time.perf_counter``.
        evaluation: its record.
        program: number of its program in :attr:`Events.programs`.
        leaves: what the profile knows the inputs by; 0 for what is older than the profile.
        first: what it knows the first result by; the others follow.
    """

    __slots__ = ("thread", "began", "ended", "evaluation", "program", "leaves", "first")

    def __init__(
        self, thread: int, began: float, evaluation: Any, program: int, leaves: tuple[int, ...],
        first: int,
    ) -> None:
        self.thread: Final = thread
        self.began: Final = began
        self.ended = began
        self.evaluation: Final = evaluation
        self.program: Final = program
        self.leaves: Final = leaves
        self.first: Final = first

    @property
    def seconds(self) -> float:
        return self.ended - self.began

    @property
    def line(self) -> UserLine:
        """The line that made it run."""
        site = self.evaluation.site
        return UserLine(site.file, site.line)


def _line_of(place: Any) -> UserLine:
    site = place if isinstance(place, Site) else Site(*place)
    return UserLine(site.file, site.line)


def _chain(instructions: Any, begin: int, end: int) -> int:
    """Of the op that is most frequent in a part of a program, how many need each other in turn."""
    key, count = Counter([(i.spec, i.types) for i in instructions[begin:end]]).most_common(1)[0]
    if count == 1:
        return 1
    chains: list[int] = []
    for i in instructions[begin:end]:
        before = [chains[o.instruction - begin] for o in i.operands
                  if isinstance(o, Result) and o.instruction >= begin]
        chains.append(max(before, default=0) + ((i.spec, i.types) == key))
    return max(chains)


class SeenProgram:
    """A program as it ran first.

    Attributes:
        structure: its ops and the types of its inputs.
        wanted: its results, as (op, result).
        given: its inputs that nothing else needed then.
    """

    __slots__ = ("structure", "wanted", "given", "_places")

    def __init__(
        self, structure: Any, wanted: list[tuple[int, int]], places: list[Any],
        given: Sequence[int] = (),
    ) -> None:
        self.structure: Final = structure
        self.wanted: Final = wanted
        self.given: Final = given
        #: for each op the Site, or code object and offset, where it was recorded
        self._places: Final = places

    def lines_in(self, code: Any) -> set[int]:
        """The lines of a code object that recorded ops."""
        return {_line_of(place).line for place in set(self._places)
                if (place.code if isinstance(place, Site) else place[0]) is code}

    def line(self, op: int) -> UserLine:
        """The line that recorded an op."""
        return _line_of(self._places[op])

    def lines(self) -> Counter[UserLine]:
        """How many ops each line recorded."""
        lines: Counter[UserLine] = Counter()
        for place, count in Counter(self._places).items():
            lines[_line_of(place)] += count
        return lines

    def turns(self) -> list[tuple[UserLine, int]]:
        """The lines that recorded ops, with how often each ran, the most frequent first.

        A call that records many ops, such as the clipping of many gradients, ran once. Only where
        an op needs the same op of the same call was there a loop in it.
        """
        instructions = self.structure.instructions
        # what is computed again has a place of its own for each op
        places = [(p.code, p.offset, p.file, p.line) if isinstance(p, Site) and p.code is None
                  else (p.code, p.offset) if isinstance(p, Site) else p for p in self._places]
        turns: Counter[Any] = Counter()
        begin = 0
        while begin < len(places):
            place = places[begin]
            end = begin
            while end < len(places) and places[end] == place:
                end += 1
            turns[place] += _chain(instructions, begin, end)
            begin = end
        lines: Counter[UserLine] = Counter()
        for place, count in turns.items():
            # a line that has several ops recorded each of them each time that it ran
            line = UserLine(*place[2:]) if len(place) > 2 else _line_of(place)
            lines[line] = max(lines[line], count)
        return lines.most_common(16)

    def is_derivative(self, line: UserLine) -> bool:
        """Whether a line's ops are those of a derivative, or of another transform.

        Derivatives stand for the lines of what they are derivatives of.
        """
        specs = [i.spec for place, i in zip(self._places, self.structure.instructions, strict=True)
                 if _line_of(place) == line]
        return 2 * sum(s.op.root is not s.op for s in specs) >= len(specs) > 0

    def result_bytes(self) -> list[int]:
        """The size of each result in bytes."""
        instructions = self.structure.instructions
        return [instructions[slot].types[index].nbytes for slot, index in self.wanted]


class Reads:
    """The reads at one line: how many, their bytes, and seconds besides those of runs."""

    __slots__ = ("count", "nbytes", "seconds")

    def __init__(self) -> None:
        self.count = 0
        self.nbytes = 0
        self.seconds = 0.0


class Uploads:
    """Copies of the same data of the host at one line: how many, their bytes and seconds."""

    __slots__ = ("count", "nbytes", "seconds", "longest", "text")

    def __init__(self, text: str) -> None:
        self.count = 0
        self.nbytes = 0
        self.seconds = 0.0
        self.longest = 0.0
        self.text: Final = text


class RoundTrip(NamedTuple):
    """An array that was read, and the next upload, of other data, before anything ran.

    Attributes:
        read, upload: the lines.
        code: of both, if they are in one function or module; else None.
        read_bytes, nbytes: of the array that was read, and of the upload.
        seconds: that the upload took.
        number: what the profile knows the upload by.
    """

    read: UserLine
    upload: UserLine
    code: Any
    read_bytes: int
    nbytes: int
    seconds: float
    number: int


class NotedCall(NamedTuple):
    """A call of a captured function that was recorded, or a part of a program in C.

    Attributes:
        name, code: its name and its code object, or the ops of what is no function.
        first: nothing of that function object was captured before.
        line: where it was called, or began.
        seconds: that recording it took, besides those of runs.
    """

    name: str
    code: Any
    first: bool
    line: UserLine
    seconds: float


class Events:
    """All that was noted between the beginning and the end of a profile.

    Attributes:
        runs: in the order in which they began.
        programs: those of the runs, by number.
        reads: by line.
        uploads: by line and a checksum of the data.
        round_trips: uploads after a read of an array, in the order in which they were made.
        calls: of captured functions, those that were recorded.
        read_results: what was read, as the profile knows it.
        samples: seconds by line in which the program was there.
        dropped: how many runs were not noted since there were too many.
        began, ended: seconds of ``time.perf_counter``.
        processor: seconds of processor time that the process used.
        counters: by how much each of ``lazyloom.stats()`` grew.
        generator_failures: what code generators failed at meanwhile.
    """

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.programs: list[SeenProgram] = []
        self.reads: dict[UserLine, Reads] = {}
        self.uploads: dict[tuple[UserLine, int], Uploads] = {}
        self.round_trips: list[RoundTrip] = []
        self.calls: list[NotedCall] = []
        self.read_results: set[int] = set()
        self.samples: dict[UserLine, float] = {}
        self.dropped = 0
        self.began = 0.0
        self.ended = 0.0
        self.processor = 0.0
        self.counters: dict[str, int] = {}
        self.generator_failures: list[Any] = []
        #: by line, the seconds that were measured; None before somebody asks
        self._measured: dict[UserLine, float] | None = None

    @property
    def seconds(self) -> float:
        return self.ended - self.began

    def at(self, line: UserLine) -> float:
        """Seconds for which the program was at a line, as far as samples tell."""
        return self.samples.get(line, 0.0)

    def recording(self, line: UserLine) -> float:
        """Seconds at a line besides those of its runs, reads and uploads: of Python."""
        if self._measured is None:
            measured: defaultdict[UserLine, float] = defaultdict(float)
            for run in self.runs:
                measured[run.line] += run.seconds
            for place, reads in self.reads.items():
                measured[place] += reads.seconds
            for (place, _), uploads in self.uploads.items():
                measured[place] += uploads.seconds
            self._measured = dict(measured)
        return max(0.0, self.at(line) - self._measured.get(line, 0.0))
