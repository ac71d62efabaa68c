"""A contender's process: ``python worker.py WORKLOAD CONTENDER``, with requests on standard input.

One JSON object a line each way. ``{"do": "open", "case": NAME, "quick": false}`` makes and warms
the work, ``{"do": "turn", "units": N}`` does N units and says what one took. What libraries print
goes to standard error.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from suite.common import settle  # noqa: E402
from suite.workload import EARLIER, Turn, Workload  # noqa: E402


class Worker:
    """Answers the requests."""

    def __init__(self, workload: Workload, contender: str) -> None:
        self.workload = workload
        name = contender.removesuffix(EARLIER)
        self.contender = next(c for c in workload.contenders if c.name == name)
        self.turn: Turn | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "open":
            return self.open(request["case"], request["quick"])
        return self.timed(request["units"])

    def open(self, name: str, quick: bool) -> dict[str, Any]:
        """Make and warm the work; says how long a unit takes once it is warm."""
        case = next(c for c in self.workload.cases if c.name == name)
        # the work before is dropped first: both at a time may not fit
        self.turn = None
        started = time.perf_counter()
        turn = self.turn = self.contender.make(**case.parameters)
        made = time.perf_counter() - started
        warm = min(case.warm, 3) if quick else case.warm
        warmed = 0
        unit = 0.0
        while warmed < warm or (unit == 0.0 and case.units is None):
            step = case.units or max(1, min(warm - warmed, int(0.2 / unit) if unit else 1))
            turn(step)
            warmed += step
            if case.units is None:
                unit = self._unit()
        # as many in one go as will be measured: what is cut from a long recording is new again
        settle(self.turn, case.units or max(1, round(case.seconds / unit)))
        if case.units is None:
            unit = self._unit()
        return {"made": made, "unit": unit}

    def _unit(self) -> float:
        assert self.turn is not None
        started = time.perf_counter()
        self.turn(1)
        return time.perf_counter() - started

    def timed(self, units: int) -> dict[str, Any]:
        assert self.turn is not None
        started = time.perf_counter()
        measures = self.turn(units)
        wall = time.perf_counter() - started
        return {"wall": wall, "measures": measures or {"": wall / units}, "form": self._form()}

    def _form(self) -> str:
        """In which form our program ran last, such as ``op_by_op``; "" without any."""
        lazyloom = sys.modules.get("lazyloom")
        last = getattr(lazyloom, "last_evaluation", None)
        return str(getattr(last(), "form", "")) if last is not None else ""


def main() -> int:
    # answers keep the real standard output; anything that prints is sent to standard error
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    workload = importlib.import_module(f"workloads.{sys.argv[1]}").WORKLOAD
    worker = Worker(workload, sys.argv[2])
    print(json.dumps({"ready": True}), file=answers)
    for line in sys.stdin:
        try:
            answer = worker.answer(json.loads(line))
        except Exception as error:
            traceback.print_exc()
            text = str(error).strip().split("\n")[0]
            answer = {"error": f"{type(error).__name__}: {text}"[:300]}
        print(json.dumps(answer), file=answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
