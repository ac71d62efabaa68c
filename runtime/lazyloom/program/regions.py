"""What other code generators run of a compiled program: its record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple


def counted(names: Iterable[str], most: int | None = None) -> str:
    """Names, the frequent ones first and at most so many: "3 add, tanh"."""
    return ", ".join(
        name if n == 1 else f"{n} {name}" for name, n in Counter(names).most_common(most))


class ProgramRegion(NamedTuple):
    """A region of a program.

    Attributes:
        generator: the name of the code generator.
        ops: the names of its ops, in order.
        key: the key of the region's own program; "" where it never became one.
        measured: the seconds of a run and of one by the backend, where they were measured.
    """

    generator: str
    ops: tuple[str, ...]
    key: str
    measured: tuple[float, float] | None = None


class PartRun(NamedTuple):
    """A run of a part of a program whose parts run one by one.

    Attributes:
        generator: the name of the code generator, "xla" for XLA.
        ops: the names of its ops, in order.
        seconds: what the run took, until its results were there.
    """

    generator: str
    ops: tuple[str, ...]
    seconds: float

    def text(self) -> str:
        """For the record of an evaluation: "12.3 us  xla: 3 add, tanh"."""
        return f"{1e6 * self.seconds:.1f} us  {self.generator}: {counted(self.ops, 6)}"


class ProgramRegions(NamedTuple):
    """The regions of a compiled program.

    Attributes:
        run: those that their generators run, in order.
        failed: those that XLA does since their generator failed in this process. A program that
            has some is kept in no cache that other processes look into.
        verified: each run of those is compared with what XLA gives.
        left: the names of heavy ops that no generator does though there are regions, and that no
            generator leaves to XLA on purpose.
        changed: which generator takes what since a measurement beside the program changed that,
            in words; "" where none did in this process.
    """

    run: tuple[ProgramRegion, ...] = ()
    failed: tuple[ProgramRegion, ...] = ()
    verified: bool = False
    left: tuple[str, ...] = ()
    changed: str = ""

    def text(self) -> str:
        """For the record of an evaluation: "2 by onednn"; "" where there is nothing to say."""
        how = ", verified" if self.verified else ""
        parts = [f"{n} by {name}{how}" for name, n in _counted(self.run)]
        times = [region.measured for region in self.run if region.measured is not None]
        if times:
            mine, other = (1e3 * sum(seconds) for seconds in zip(*times, strict=True))
            parts[-1] += f" ({len(times)} measured: {mine:.3g} ms, without {other:.3g} ms)"
        parts += [f"{n} that {name} failed at by XLA" for name, n in _counted(self.failed)]
        text = ", ".join(parts)
        if self.left:
            text += f"; heavy ops that no generator does: {counted(self.left)}"
        if self.changed:
            text += f"; a measurement changed which generator takes {self.changed}"
        return text


def _counted(regions: tuple[ProgramRegion, ...]) -> list[tuple[str, int]]:
    return sorted(Counter(region.generator for region in regions).items())


#: of a program that no other generator has a part of
NO_REGIONS = ProgramRegions()
