"""Measure what every op costs to compile and write op_compile_time.md.

``python -m docs.compile_time`` takes some minutes of one core. The times are processor time, the
least of ``--rounds``; everything else in the tables is the same on every machine.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from lazyloom.backends.xla import jax_compat  # noqa: E402
from lazyloom.jaxprs import tracing  # noqa: E402
from lazyloom.ops.spec import TABLE, OpDef, table  # noqa: E402
from tests.conformance import compile_cost as cost  # noqa: E402

PAGE = HERE / "op_compile_time.md"
CHAINS = (4, 16, 64)
NOTICE = "<!-- Written by `python -m docs.compile_time`; do not edit. -->\n"


def milliseconds(record: Callable[[], list[Any]], rounds: int) -> float | None:
    """Processor time of compiling what ``record`` leaves pending; None if that is nothing."""
    wanted = record()
    if not wanted:
        return None
    module = cost.text(wanted)
    found = []
    for _ in range(rounds):
        started = time.process_time()
        with tracing.x64():
            jax_compat.compile_text(module)
        found.append(time.process_time() - started)
    return min(found) * 1e3


def row(op: OpDef, chains: tuple[int, ...], rounds: int) -> str | None:
    given = cost.sample(op)
    if given is None:
        return None
    cells = [f"`{op.name}`"]
    for pending in (cost.forward(op, given), cost.backward(op, given)):
        ms = milliseconds(lambda pending=pending: pending, rounds)
        cells += ["", ""] if ms is None else [str(cost.steps(pending)), f"{ms:.0f}"]
    for times in chains:
        ms = milliseconds(lambda times=times: cost.chain(op, given, times), 1)
        cells.append("" if ms is None else f"{ms:.0f}")
    return f"| {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--chains", type=int, nargs="*", default=list(CHAINS))
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args()
    chains = tuple(options.chains)
    rows = []
    for op in [op for _, op in sorted(table().items())]:
        if op.version == TABLE:
            rows.append(row(op, chains, options.rounds))
            print(rows[-1], flush=True)
    heads = [f"{n} in a row, ms" for n in chains]
    versions = ", ".join(f"{k} {v}" for k, v in tracing.versions().items())
    options.output.write_text("\n".join([
        NOTICE, "# What ops cost to compile", "",
        "Each op alone, on a small sample of its own, its vector-Jacobian product, and chains of",
        "it, each on the result before, where its first result fits. *Steps* are the instructions",
        "of its lowering that compute; `tests/runtime/test_compile_cost.py` holds them to a bound,",
        "and the code of chains to growing with their length. Times are processor time in",
        "milliseconds to compile, without a cache, on a machine that others use too: read them as",
        "ratios. An empty program takes about 25.", "",
        f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}, {_machine()}, {versions}.", "",
        f"| op | steps | ms | vjp: steps | ms | {' | '.join(heads)} |",
        f"|---|{'--:|' * (4 + len(heads))}", *[r for r in rows if r], "",
    ]))  # fmt: skip
    return 0


def _machine() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((x.partition(":")[2].strip() for x in lines if x.startswith("model name")), "")
    return f"{platform.system()} {platform.machine()}, {model or 'an unnamed processor'}"


if __name__ == "__main__":
    sys.exit(main())
