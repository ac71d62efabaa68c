"""Measure, and write ``docs/benchmarks/``: results.json, results.png and README.md.

Variants of a group run interleaved, round after round, so that whatever else the
machine does falls on all of them; medians and quartiles are reported.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from workloads import GROUPS  # noqa: E402

Row = dict[str, Any]


def summary(samples: list[float]) -> Row:
    ordered = sorted(samples)
    quarters = statistics.quantiles(ordered, n=4) if len(ordered) > 1 else ordered * 3
    return {
        "median": statistics.median(ordered),
        "lower_quartile": quarters[0],
        "upper_quartile": quarters[2],
        "least": ordered[0],
        "samples": len(ordered),
    }


def interleaved(unit: int, makers: dict[str, Any], rounds: int, repeat: int) -> dict[str, Row]:
    """Seconds for one unit of each variant, the variants taking turns."""
    work = {name: make() for name, make in makers.items()}
    for run in work.values():
        for _ in range(3):
            run()
    samples: dict[str, list[float]] = {name: [] for name in work}
    names = list(work)
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            run = work[name]
            start = time.perf_counter()
            for _ in range(repeat):
                run()
            samples[name].append((time.perf_counter() - start) / (repeat * unit))
    return {name: summary(values) for name, values in samples.items()}


def first_steps(rounds: int) -> dict[str, Row]:
    """Seconds from process start to the first loss; cold and warm disk cache, and JAX."""
    samples: dict[str, list[float]] = {
        "jax.jit, nothing cached": [],
        "lazyloom, empty cache": [],
        "lazyloom, filled cache": [],
    }

    def once(which: str, cache: str) -> float:
        environment = dict(os.environ, LAZYLOOM_CACHE_DIR=cache)
        start = time.perf_counter()
        subprocess.run([sys.executable, str(HERE / "first_step.py"), which], env=environment,
                       check=True, capture_output=True)  # fmt: skip
        return time.perf_counter() - start

    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            samples["jax.jit, nothing cached"].append(once("jax", cache))
            samples["lazyloom, empty cache"].append(once("lazyloom", cache))
            samples["lazyloom, filled cache"].append(once("lazyloom", cache))
    return {name: summary(values) for name, values in samples.items()}


def machine() -> Row:
    """What the figures depend on, without the machine's name."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    versions = {}
    for name in ("jax", "jaxlib", "numpy"):
        versions[name] = importlib.metadata.version(name)
    return {"cpu": model, "cores": len(os.sched_getaffinity(0)), "system": platform.system(),
            "python": platform.python_version(), "load": round(os.getloadavg()[0], 1),
            **versions}  # fmt: skip


def in_words(seconds: float) -> str:
    for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {name}"
    return f"{seconds * 1e9:.3g} ns"


def page(results: Row) -> str:
    m = results["machine"]
    lines = [
        "<!-- Written by benchmarks/run.py; do not edit. -->",
        "",
        "# Benchmarks",
        "",
        f"{m['cpu']}, {m['cores']} cores, {m['system']}, Python {m['python']}, jax {m['jax']}, "
        f"numpy {m['numpy']}. Variants of a group ran interleaved in one process; medians, with "
        f"quartiles in brackets; the load average was {m['load']} at the start. Read "
        "them as ratios. `make bench` writes this page again.",
    ]
    for group, rows in results["groups"].items():
        base = next(iter(rows))
        lines += ["", f"## {group}", "", f"| variant | time | against {base} |", "|---|--:|--:|"]
        for name, r in rows.items():
            spread = f"{in_words(r['lower_quartile'])} to {in_words(r['upper_quartile'])}"
            ratio = r["median"] / rows[base]["median"]
            lines.append(f"| {name} | {in_words(r['median'])} ({spread}) | {ratio:.2f} |")
    lines += ["", "![The same figures as bars](results.png)", ""]
    return "\n".join(lines)


def draw(results: Row, path: Path) -> None:
    os.environ.setdefault("MPLBACKEND", "Agg")
    import matplotlib.pyplot as plt

    groups = results["groups"]
    heights = [len(rows) for rows in groups.values()]
    figure, axes = plt.subplots(
        len(groups), 1, figsize=(8, 1 + 0.55 * sum(heights)), layout="constrained",
        height_ratios=heights, squeeze=False,
    )  # fmt: skip
    for axis, (group, rows) in zip(axes[:, 0], groups.items()):
        names = list(rows)
        medians = [rows[n]["median"] for n in names]
        low = [rows[n]["median"] - rows[n]["lower_quartile"] for n in names]
        high = [rows[n]["upper_quartile"] - rows[n]["median"] for n in names]
        colours = ["#de9e6a" if "jax" in n.lower() or n == "NumPy" else "#4c78a8" for n in names]
        bars = axis.barh(names, medians, xerr=(low, high), color=colours)
        axis.bar_label(bars, [in_words(s) for s in medians], padding=6)
        axis.invert_yaxis()
        axis.set_title(group, loc="left")
        axis.set_xlim(0, 1.2 * max(rows[n]["upper_quartile"] for n in names))
        axis.set_xlabel("seconds")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "benchmarks")
    parser.add_argument("--quick", action="store_true", help="few rounds, to see that it works")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rounds, repeat, starts = (3, 2, 1) if options.quick else (101, 10, 5)
    results: Row = {"machine": machine(), "groups": {}}
    for group, (unit, makers) in GROUPS.items():
        print(f"measuring: {group}", flush=True)
        results["groups"][group] = interleaved(unit, makers, rounds, repeat)
    print("measuring: first step of a process", flush=True)
    results["groups"]["first step of a process"] = first_steps(starts)
    (options.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    text = page(results)
    (options.out / "README.md").write_text(text)
    draw(results, options.out / "results.png")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
