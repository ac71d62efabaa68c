"""One picture a workload: its tables as groups of bars."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .summary import digits, in_words

OURS = "#2f6db3"
PEERS = {
    "jax": "#d98c3f", "numpy": "#8a8f98", "torch": "#c8553d", "mlx": "#6a9c6f",
    "torch_xla": "#9b6fae", "tinygrad": "#c2a83e",
}  # fmt: skip
#: a panel whose longest bar is so many times its shortest has a logarithmic axis
LOGARITHMIC = 100


def draw(workload: dict[str, Any], path: Path) -> bool:
    """Write the picture; False if there is nothing to show."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    import matplotlib.pyplot as plt

    shown = {n: t for n, t in workload["tables"].items() if t["rows"] and (
        not workload["headline"] or any(n.startswith(h) for h in workload["headline"]))}
    if not shown:
        return False
    columns = min(workload["columns"], len(shown))
    count = -(-len(shown) // columns)
    names = list(shown)
    heights = [
        max(len(shown[n]["rows"]) for n in names[r * columns : (r + 1) * columns])
        for r in range(count)
    ]
    width = (5.9 if columns < 3 else 4.6) * columns + 0.8
    figure, axes = plt.subplots(
        count, columns, figsize=(width, 0.7 + sum(0.34 * h + 0.62 for h in heights)),
        layout="constrained", height_ratios=[0.34 * h + 0.3 for h in heights], squeeze=False,
    )  # fmt: skip
    flat = list(axes.flat)
    for axis, name in zip(flat, names):
        _bars(axis, name, shown[name])
    for axis in flat[len(names) :]:
        axis.set_visible(False)
    figure.suptitle(workload["title"], x=0.01, ha="left", fontsize=13, fontweight="bold")
    figure.savefig(path, dpi=110, facecolor="white")
    plt.close(figure)
    return True


def _bars(axis: Any, title: str, table: dict[str, Any]) -> None:
    rows, unit = table["rows"], table["unit"]
    names = list(rows)
    medians = [rows[n]["median"] for n in names]
    low = [max(0.0, rows[n]["median"] - rows[n]["lower_quartile"]) for n in names]
    high = [max(0.0, rows[n]["upper_quartile"] - rows[n]["median"]) for n in names]
    colours = [OURS if rows[n]["peer"] == "lazyloom" else PEERS.get(rows[n]["peer"], "#888888")
               for n in names]  # fmt: skip
    axis.barh(names, medians, color=colours, height=0.72)
    axis.errorbar(medians, range(len(names)), xerr=(low, high), fmt="none", ecolor="#333333",
                  elinewidth=0.9, capsize=2)  # fmt: skip
    # one slow contender must not squeeze the others into the axis
    logarithmic = max(medians) > LOGARITHMIC * min(medians) > 0
    ends = [m + h for m, h in zip(medians, high)]
    if logarithmic:
        axis.set_xscale("log")
        axis.set_xlim(min(medians) / 2, max(ends) * (max(ends) / min(medians)) ** 0.42)
    else:
        axis.set_xlim(0, 1.42 * max(ends))
    for place, name in enumerate(names):
        ratio = rows[name]["ratio"]
        text = in_words(rows[name]["median"], unit)
        if ratio and name != table["base"]:
            text += f"  ({digits(ratio['median'])}x)"
        axis.annotate(text, (ends[place], place), xytext=(5, 0), textcoords="offset points",
                      va="center", fontsize=8)  # fmt: skip
    axis.invert_yaxis()
    axis.set_title(title + (", log scale" if logarithmic else ""), loc="left", fontsize=10)
    axis.tick_params(axis="y", labelsize=8.5, length=0)
    axis.tick_params(axis="x", labelbottom=False, length=0, which="both")
    for side in ("top", "right", "bottom"):
        axis.spines[side].set_visible(False)
