"""A profile as a timeline in Chrome's trace event format, which Perfetto shows."""

from __future__ import annotations

from typing import Any


def timeline(data: dict[str, Any]) -> dict[str, Any]:
    """The runs of a profile, a track for each thread; times are in microseconds.

    The format: "Trace Event Format", complete events (``"ph": "X"``).
    """
    e = data["evaluations"]
    events: list[dict[str, Any]] = []
    for n in range(len(e["number"])):
        began = e["began"][n] * 1e6
        program = data["programs"][e["program"][n]]
        where = f"{e['file'][n]}:{e['line'][n]}"
        events.append({
            "ph": "X", "pid": 0, "tid": e["thread"][n], "ts": began, "dur": e["seconds"][n] * 1e6,
            "name": f"{e['reason'][n]} at {where}", "cat": e["form"][n] or "failed",
            "args": {"program": program["key"], "ops": program["ops"], "found": e["found"][n],
                     "error": e["error"][n]},
        })
        for phase in ("compiling", "running"):
            seconds = e[phase][n]
            if seconds > 0:
                events.append({
                    "ph": "X", "pid": 0, "tid": e["thread"][n], "ts": began,
                    "dur": min(seconds, e["seconds"][n]) * 1e6, "name": phase, "cat": phase,
                    "args": {}})
            began += max(0.0, seconds) * 1e6
    return {"traceEvents": events, "displayTimeUnit": "ms"}
