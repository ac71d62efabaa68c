"""Train one classifier from three languages, and compare what ran.

Runs ``digits_numpy.py``, ``digits_torch.py`` and the compiled ``digits.c`` one after
the other, each as a process of its own, on the same disk cache (the default one, or
``LAZYLOOM_CACHE_DIR``). Prints one table, draws the loss curves into ``digits.png`` and
exits with 1 if the three did not run the same program.

``python demo.py [FOLDER]``: what it makes goes into FOLDER, ``out`` beside this one if
none is given.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
DATA = HERE / "data" / "digits"

ACCURACY = 0.95
AGREEMENT = 1e-5
OPS_PER_STEP = 30
STEPS_PER_EPOCH = 1437 // 32

Report = dict[str, Any]


class DemoError(Exception):
    """A step of the demo failed; the message says which and why."""


def run(command: list[str]) -> None:
    """Run a program with its output shown; DemoError if it fails."""
    print(f"\n$ {shlex.join(command)}", flush=True)
    done = subprocess.run(command, cwd=ROOT)
    if done.returncode != 0:
        raise DemoError(f"{command[0]} ended with status {done.returncode}")


def build_c_program(out: Path) -> Path:
    """Compile digits.c, strictly, with the flags that lazyloom_capi prints."""
    flags = subprocess.run(
        [sys.executable, "-m", "lazyloom_capi", "--cflags", "--libs"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    program = out / "digits"
    run([
        os.environ.get("CC", "cc"), "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2",
        str(HERE / "digits.c"), "-o", str(program), *shlex.split(flags),
    ])  # fmt: skip
    return program


def train(frontend: str, command: list[str], out: Path) -> Report:
    """Run one training program; the report that it wrote, with the process's duration."""
    path = out / f"digits-{frontend}.json"
    path.unlink(missing_ok=True)
    start = time.perf_counter()
    run([*command, str(DATA), str(path)])
    seconds = time.perf_counter() - start
    if not path.exists():
        raise DemoError(f"the {frontend} program wrote no {path.name}")
    report: Report = json.loads(path.read_text())
    report["process_seconds"] = seconds
    return report


def table(reports: list[Report]) -> str:
    """The comparison, one row a frontend."""
    header = ["frontend", "compiled", "from disk", "step program", "ops/step", "runs/step",
              "final loss", "test accuracy", "ms/step", "process s"]  # fmt: skip
    rows = [
        [
            r["frontend"], str(r["programs_compiled"]), str(r["programs_from_disk"]),
            r["step_key"][:16], f"{r['ops_per_step']:g}", f"{r['executions_per_step']:g}",
            f"{r['final_loss']:.8f}", f"{100 * r['test_accuracy']:.2f} %",
            f"{1e3 * r['seconds_per_step']:.3f}", f"{r['process_seconds']:.2f}",
        ]
        for r in reports
    ]  # fmt: skip
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [
        "  ".join(cell.ljust(w) if i in (0, 3) else cell.rjust(w)
                  for i, (cell, w) in enumerate(zip(row, widths)))
        for row in [header, *rows]
    ]  # fmt: skip
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(line.rstrip() for line in lines)


def complaints(reports: list[Report]) -> list[str]:
    """What is wrong, in words; empty if the three agree."""
    wrong = []
    keys = {r["step_key"] for r in reports}
    if len(keys) != 1:
        listed = ", ".join(f"{r['frontend']} {r['step_key']}" for r in reports)
        wrong.append(f"the training steps are different programs: {listed}")
    for r in reports:
        name = r["frontend"]
        if r["test_accuracy"] < ACCURACY:
            wrong.append(f"{name}: test accuracy {r['test_accuracy']:.4f}, expected {ACCURACY}")
        if r["executions_per_step"] != 1:
            wrong.append(f"{name}: {r['executions_per_step']} executions a step, expected 1")
        if r["ops_per_step"] < OPS_PER_STEP:
            wrong.append(f"{name}: {r['ops_per_step']} ops a step, expected {OPS_PER_STEP} or more")
    first = reports[0]
    for r in reports[1:]:
        if r["programs_compiled"]:
            wrong.append(f"{r['frontend']}: compiled {r['programs_compiled']} programs, "
                         f"expected none after {first['frontend']} had run")  # fmt: skip
        apart = abs(r["final_loss"] - first["final_loss"]) / abs(first["final_loss"])
        if not apart <= AGREEMENT:
            wrong.append(f"{r['frontend']}: final loss {r['final_loss']!r} is {apart:.1e} from "
                         f"{first['frontend']}'s, expected {AGREEMENT:g} at most")  # fmt: skip
    return wrong


def draw(reports: list[Report], path: Path) -> None:
    """The losses of the three, averaged over an epoch, and how far each step's are apart."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    figure, (above, below) = plt.subplots(
        2, 1, figsize=(8, 6), sharex=True, height_ratios=(3, 1), layout="constrained"
    )
    styles = [(7.0, "-", "#9ecae1"), (3.0, "--", "#e6550d"), (1.2, "-", "#252525")]
    first = np.asarray(reports[0]["losses"])
    furthest = 0.0
    above.plot(first, color="#dddddd", linewidth=0.6, label=f"{reports[0]['frontend']}, each step")
    for r, (width, line, colour) in zip(reports, styles):
        losses = np.asarray(r["losses"])
        smooth = np.convolve(losses, np.ones(STEPS_PER_EPOCH) / STEPS_PER_EPOCH, "valid")
        steps = np.arange(len(smooth)) + STEPS_PER_EPOCH / 2
        look = {"linestyle": line, "linewidth": width, "color": colour}
        above.plot(steps, smooth, label=f"{r['frontend']}, mean of {STEPS_PER_EPOCH} steps", **look)
        if r is not reports[0]:
            apart = np.abs(losses - first) / np.abs(first)
            furthest = max(furthest, float(apart.max()))
            below.plot(apart, label=r["frontend"], **look)
    above.set_yscale("log")
    above.set_ylabel("training loss (cross-entropy)")
    above.set_title("One program, three frontends: handwritten digits")
    above.legend()
    below.axhline(AGREEMENT, color="#888888", linestyle=":", label="accepted")
    below.set_ylim(-0.1 * AGREEMENT, max(1.2 * AGREEMENT, 1.1 * furthest))
    below.set_ylabel(f"relative difference\nfrom {reports[0]['frontend']}")
    below.set_xlabel("step")
    below.legend(loc="center right")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> int:
    # what is compared is compiled programs, and results to the last bit
    os.environ["LAZYLOOM_REPRODUCIBLE"] = "1"
    out = (Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "out").resolve()
    out.mkdir(parents=True, exist_ok=True)
    try:
        program = build_c_program(out)
        reports = [
            train("numpy", [sys.executable, str(HERE / "digits_numpy.py")], out),
            train("torch", [sys.executable, str(HERE / "digits_torch.py")], out),
            train("c", [str(program)], out),
        ]
    except (DemoError, subprocess.CalledProcessError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    print(f"\n{table(reports)}\n")
    draw(reports, out / "digits.png")
    print(f"loss curves: {os.path.relpath(out / 'digits.png')}")
    wrong = complaints(reports)
    if wrong:
        for line in wrong:
            print(f"demo: {line}", file=sys.stderr)
        return 1
    compiled = sum(r["programs_compiled"] for r in reports)
    if compiled:
        print(f"The {reports[0]['frontend']} program compiled {compiled} programs; the others "
              "loaded them from the disk cache and compiled nothing.")  # fmt: skip
    else:
        print("Nothing was compiled: every program came from the disk cache.")
    print("The three training steps are one program.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
