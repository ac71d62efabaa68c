"""The figures of the first page, taken from the page of the benchmarks; generate.py writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
OURS: Final = "lazyloom, torch-like"
COLUMNS: Final = ("`jax.jit` by hand", "PyTorch eager", "`torch.compile`", "MLX")
#: what a row is called, its section and table, our row in it, and those of the columns
STEPS: Final = (
    ("small network (MLP 64-128-128-10)", "MLP training step", "loss read every step", OURS,
     ("jax.jit, donated", "PyTorch eager", "torch.compile", "MLX")),
    ("the same, its loss not read", "MLP training step", "loss not read", OURS,
     ("jax.jit, donated", "PyTorch eager", "torch.compile", "MLX")),
    ("transformer, width 256", "Transformer training step", "width 256, 4 x 128 tokens", OURS,
     ("jax.jit, donated", "PyTorch eager", "torch.compile", "")),
    ("transformer, width 768", "Transformer training step", "width 768, 4 x 64 tokens", OURS,
     ("jax.jit, donated", "PyTorch eager", "", "")),
    ("ResNet-50, batch 4, in the layout that suits each", "ResNet-50 training step",
     "batch 4, 224 x 224", OURS,
     ("jax.jit, NHWC, donated", "PyTorch eager, channels last", "", "")),
    ("LSTM, 64 steps in a Python loop", "LSTM training step", "64 steps", OURS,
     ("jax.jit, unrolled, donated", "PyTorch eager", "", "MLX")),
    ("the same, in JAX by `lax.scan`", "LSTM training step", "64 steps", OURS,
     ("jax.jit, lax.scan, donated", "", "", "")),
    ("first step of a process, from an empty cache, after imports; transformer, width 256",
     "First step of a process", "transformer, width 256: after imports", f"{OURS}, empty cache",
     ("jax.jit", "PyTorch eager", "", "")),
)  # fmt: skip
PROGRAMS: Final = ("Black-Scholes", "n-body", "Jacobi stencil", "k-means", "Mandelbrot")
EXTENTS: Final = ("1,000", "100,000", "1,000,000")


def ratios() -> dict[tuple[str, str], dict[str, float]]:
    """The ratio of each contender, by section and table."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    section = table = ""
    for line in (HERE / "benchmarks" / "README.md").read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif line.startswith("### "):
            table = line[4:]
        elif m := re.match(r"\| (\*\*)?(.+?)(\*\*)? \| [^|]+ \| ([\d.]+) \|", line):
            found.setdefault((section, table), {})[m[2]] = float(m[4])
    return found


def shown(ratio: float | None) -> str:
    """A figure of three digits at most; nothing where nothing was measured."""
    if ratio is None:
        return ""
    return f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.2f}"


def lines() -> Iterator[str]:
    """Both tables."""
    measured = ratios()
    yield f"| one training step | {' | '.join(COLUMNS)} |"
    yield f"|---|{'--:|' * len(COLUMNS)}"
    for name, section, table, ours, others in STEPS:
        of = measured[section, table]
        cells = [shown(of[other] / of[ours] if other in of else None) for other in others]
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""
    yield "NumPy, beside the NumPy-like frontend, by the size of the arrays:"
    yield ""
    yield f"| program | {' | '.join(f'{e} elements' for e in EXTENTS)} |"
    yield f"|---|{'--:|' * len(EXTENTS)}"
    for name in PROGRAMS:
        of_all = [measured["NumPy-style programs", f"{name}, {extent}"] for extent in EXTENTS]
        yield f"| {name} | {' | '.join(shown(of.get('NumPy')) for of in of_all)} |"


def page() -> str:
    """The first page with the figures of today's benchmarks."""
    start, end = "<!-- generated: figures -->\n", "<!-- end: figures -->\n"
    before, rest = (HERE / "start.md").read_text().split(start)
    text = "\n".join(lines())
    return f"{before}{start}\n{text}\n\n{end}{rest.split(end)[1]}"
