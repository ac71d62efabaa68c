"""What the figures of the workload ``scaling`` say of more machines than there are here.

    python benchmarks/scaling_model.py [--results FILE] [--output FILE]

fits latency and bandwidth of a ring all-reduce to the all-reduces that were measured, checks them
and the time of a step on what was held out, extrapolates to clusters whose assumptions it states,
and writes a page.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from programs.scaling import RATE_OF_IMAGES, SHARE, SIZES, STEP, STRONG, WEAK  # noqa: E402
from suite.summary import digits, in_words  # noqa: E402

RESULTS = ROOT / "docs" / "benchmarks" / "results.json"
PAGE = ROOT / "docs" / "benchmarks" / "scaling.md"
#: float32 parameters of ResNet-50 with 1,000 classes, and the size of a bucket of gradients
GRADIENTS = 25_557_032 * 4
BUCKET = 25 * 2**20
#: the all-reduce that the fit does not see
HELD_OUT = "16 MB"

Json = dict[str, Any]


@dataclass(frozen=True)
class Ring:
    """An all-reduce of a ring of parts: each sends 2 (n - 1) times, a part of n at a time.

    Attributes:
        latency: seconds that a message takes however short it is.
        bandwidth: bytes a second from one to the next.
        axes: 1 for a ring; 2 for a grid with rings along both axes, one after the other.
    """

    latency: float
    bandwidth: float
    axes: int = 1

    def seconds(self, n: int, nbytes: float) -> float:
        """How long ``n`` parts take for so many bytes."""
        if n == 1:
            return 0.0
        messages = 2 * self.axes * (n ** (1 / self.axes) - 1)
        return messages * self.latency + 2 * (n - 1) / n * nbytes / self.bandwidth


@dataclass(frozen=True)
class Cluster:
    """What is assumed of machines that are not here.

    Attributes:
        name: for the page.
        speed: of a device, as a multiple of this machine with all its cores.
        images: of a step, for each device.
        ring: their network.
    """

    name: str
    speed: float
    images: int
    ring: Ring


CLUSTERS = (
    Cluster("machines like this one, Ethernet of 10 Gbit/s", 1.0, 8, Ring(50e-6, 1.25e9)),
    Cluster("a pod of accelerators, a torus of two axes", 500.0, 128, Ring(2e-6, 70e9, 2)),
)
PARTS = (1, 4, 16, 64, 256, 1024)


def fitted(points: Iterable[tuple[int, float, float]]) -> Ring:
    """The ring whose times have the least squared relative errors.

    Args:
        points: number of parts, bytes and seconds of each all-reduce.
    """
    # linear in latency and in seconds a byte: two normal equations
    a = b = c = u = v = 0.0
    for n, nbytes, seconds in points:
        x = 2 * (n - 1) / seconds
        y = 2 * (n - 1) / n * nbytes / seconds
        a, b, c, u, v = a + x * x, b + x * y, c + y * y, u + x, v + y
    determinant = a * c - b * b
    latency = max((u * c - v * b) / determinant, 0.0)
    each = max((v - b * latency) / c, 1e-15)
    return Ring(latency, 1 / each)


def buckets(nbytes: int = GRADIENTS) -> list[int]:
    """The sizes of the all-reduces of a step."""
    whole, rest = divmod(nbytes, BUCKET)
    return [BUCKET] * whole + ([rest] if rest else [])


def communication(ring: Ring, n: int) -> float:
    """Seconds of a step's all-reduces."""
    return sum(ring.seconds(n, size) for size in buckets())


class Figures:
    """The medians of the workload's tables. Raises KeyError for one that was not measured."""

    def __init__(self, results: Json) -> None:
        self.tables: Json = results["workloads"]["scaling"]["tables"]
        self.machine: Json = results["machine"]
        self.date: str = results["workloads"]["scaling"]["date"]

    def of(self, table: str, row: str) -> float:
        return float(self.tables[table]["rows"][row]["median"])

    def has(self, table: str, row: str) -> bool:
        return table in self.tables and "median" in self.tables[table]["rows"].get(row, {})

    def reduction(self, size: str, row: str) -> float:
        return self.of(f"all-reduce: {size}", row)

    def step(self, kind: str, row: str) -> float:
        return self.of(f"{kind}: {STEP}", row)

    def alone(self, kind: str, row: str) -> float:
        """A step without its all-reduces."""
        return self.step(kind, row) * (1 - self.of(f"{kind}: {SHARE}", row))


STRONG_CASE, WEAK_CASE = f"strong: {STRONG} images of all", f"weak: {WEAK} images of each"


def page(results: Json) -> str:
    figures = Figures(results)
    m = figures.machine
    lines = [
        "<!-- Written by benchmarks/scaling_model.py; do not edit. -->",
        "",
        "# Scaling: figures, and a cost model",
        "",
        f"Made of [what was measured](README.md#resnet-50-on-more-devices-and-processes) on "
        f"{m['cores']} cores of an {m['processor']}, {figures.date}. [How the programs are "
        "divided](../scaling.md).",
        "",
        "## What was measured",
        "",
        f"A step of ResNet-50, images of 64 x 64. All parts share {m['cores']} cores: more parts "
        f"than that add work and no speed, so with {WEAK} images for each of them a step of n "
        f"parts cannot be shorter than n / {m['cores']} steps of one that has a core. The column "
        "*work* has the time of a step, by images, as a multiple of the first row's: what dividing "
        "costs on this machine at the same work.",
    ]
    for kind in (STRONG_CASE, WEAK_CASE):
        lines += ["", f"### {kind}", "",
                  "| | step | images/s | work | share of communication |", "|---|--:|--:|--:|--:|"]
        rows = figures.tables[f"{kind}: {STEP}"]["rows"]
        first: dict[str, float] = {}
        for row in rows:
            if not figures.has(f"{kind}: {STEP}", row):
                continue
            rate = figures.of(f"{kind}: {RATE_OF_IMAGES}", row)
            of = row.split(" ", 1)[1].replace("devices", "device").replace("processes", "process")
            base = first.setdefault(of, rate)
            lines.append(
                f"| {row} | {in_words(figures.step(kind, row))} | {digits(rate)} | "
                f"{base / rate:.2f} | {100 * figures.of(f'{kind}: {SHARE}', row):.0f} % |")
    lines += ["", *_model(figures), "", *_clusters(figures)]
    return "\n".join(lines) + "\n"


def _rings(figures: Figures) -> dict[str, Ring]:
    found = {}
    for name, row in (("devices of one process", "2 devices"), ("processes", "2 processes"),
                      ("processes, PyTorch", "2 processes, PyTorch")):
        points = [(2, 4.0 * count, figures.reduction(size, row)) for size, count in SIZES.items()
                  if size != HELD_OUT and figures.has(f"all-reduce: {size}", row)]
        if points:
            found[name] = fitted(points)
    return found


def _model(figures: Figures) -> list[str]:
    rings = _rings(figures)
    lines = [
        "## The model",
        "",
        "A step takes the time that a device computes, and that of its all-reduces, one after the "
        "other: gradients of "
        f"{GRADIENTS / 1e6:.0f} MB in {len(buckets())} buckets. An all-reduce of B bytes in a ring "
        "of n takes 2 (n - 1) latencies, and 2 (n - 1) / n B / bandwidth. Latency and bandwidth "
        f"are fitted to all-reduces of two parts, {HELD_OUT} held out, by least squares of "
        "relative errors:",
        "",
        "| | latency | bandwidth |", "|---|--:|--:|",
    ]
    lines += [f"| {name} | {in_words(ring.latency)} | {ring.bandwidth / 1e9:.2g} GB/s |"
              for name, ring in rings.items()]
    lines += ["", "What the fit did not see:", "",
              "| | predicted | measured | error |", "|---|--:|--:|--:|"]

    def compared(what: str, predicted: float, measured: float) -> str:
        return (f"| {what} | {in_words(predicted)} | {in_words(measured)} | "
                f"{100 * (predicted / measured - 1):+.0f} % |")

    for name, ring in rings.items():
        _, _, of = name.partition(", ")
        kind = "devices" if name.startswith("devices") else "processes"
        for n in (2, 4):
            row = f"{n} {kind}" + (f", {of}" if of else "")
            for size in (HELD_OUT, "1 MB") if n == 4 else (HELD_OUT,):
                # a contender may have failed, and then has no figure
                if figures.has(f"all-reduce: {size}", row):
                    lines.append(compared(
                        f"all-reduce of {size}, {row}", ring.seconds(n, 4 * SIZES[size]),
                        figures.reduction(size, row)))
    for name in ("processes", "processes, PyTorch"):
        of = name.removeprefix("processes")
        two, four = f"2 processes{of}", f"4 processes{of}"
        steps = f"{WEAK_CASE}: {STEP}"
        if name not in rings or not (figures.has(steps, two) and figures.has(steps, four)):
            continue
        cores = int(figures.machine["cores"])
        computing = figures.alone(WEAK_CASE, two) * max(4 / cores, 1) / max(2 / cores, 1)
        lines.append(compared(
            f"step of {WEAK} images of each, {four}, from two", computing + communication(
                rings[name], 4), figures.step(WEAK_CASE, four)))
    lines += [
        "",
        "The last rows take twice the time that each of two processes computes, since four have "
        "half a core each, and the ring of two. Two processes on one machine send through its "
        "memory, which four share: that is why the errors of four are larger.",
    ]
    return lines


def _clusters(figures: Figures) -> list[str]:
    one = figures.step(STRONG_CASE, "1 process") / STRONG
    lines = [
        "## Extrapolation",
        "",
        "Nothing here was measured but the time that this machine computes: "
        f"{in_words(one)} an image. Assumed are:",
        "",
        "- *The same time to compute* whatever the number of devices, each with cores and memory "
        "of its own; the input is there in time; nobody is slower than others.",
        "- *A step's all-reduces begin when all gradients are there*, as those of a program here "
        "do; *overlapped* is the bound where they take place during the backward pass.",
        "- *Batch norms take the statistics of each device's images*: no collectives of theirs.",
        "- *The network is that of the ring*, without other traffic: latency and bandwidth below.",
    ]
    for cluster in CLUSTERS:
        ring = cluster.ring
        computing = one * cluster.images / cluster.speed
        form = "a ring" if ring.axes == 1 else "rings along both axes of a grid"
        lines += [
            "", f"### {cluster.name[0].upper()}{cluster.name[1:]}", "",
            f"Assumed: a device {cluster.speed:.0f} times as fast as this machine "
            f"({in_words(computing)} for {cluster.images} images), {form}, "
            f"{in_words(ring.latency)} a message, {ring.bandwidth / 1e9:.4g} GB/s.", "",
            "| devices | step | images/s | share of communication | efficiency | overlapped |",
            "|--:|--:|--:|--:|--:|--:|"]
        for n in PARTS:
            together = communication(ring, n)
            step = computing + together
            lines.append(
                f"| {n} | {in_words(step)} | {digits(n * cluster.images / step)} | "
                f"{100 * together / step:.0f} % | {100 * computing / step:.0f} % | "
                f"{100 * computing / max(computing, together):.0f} % |")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    results = json.loads(options.results.read_text())
    if "scaling" not in results["workloads"]:
        print(f"{options.results} has no workload scaling: python benchmarks/run.py --only scaling")
        return 1
    options.output.write_text(page(results))
    print(f"wrote {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
