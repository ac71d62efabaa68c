"""Small NumPy programs from their first run on, where nothing is compiled yet."""

from __future__ import annotations

from suite import Case, Contender, Limit, Workload
from suite.programs import FIRST, LATER, running

EMPTY = "lazyloom, empty cache"
FILLED = "lazyloom, filled cache"
PEER = "NumPy"
LIMIT = 40.0

#: by title: the program and its arguments
PROGRAMS = {
    "extended Kalman filter": ("ekf", {}),
    "particle filter": ("particle_filter", {}),
    "character RNN": ("char_rnn", {}),
    "growing cache": ("growing_cache", {}),
    **{name: ("numpy_examples", {"name": name})
       for name in ("heat", "kmeans", "kalman", "image", "nbody")},
}  # fmt: skip

WORKLOAD = Workload(
    name="numpy_first_runs",
    title="First runs of NumPy programs",
    about=(
        "The same text for NumPy and for the NumPy-like frontend, from the first run of a process "
        "on, importing not counted. An extended Kalman filter of 200 steps with 4 states; a "
        "particle filter of 100 particles and 200 steps, which branches on the host and draws by "
        "the library's own generator; 200 windows of 25 characters of an RNN with derivatives by "
        "hand, 64 states, its loss read for each; attention of one block over a cache that grows "
        "by a row for each of 200 tokens, a number read for each; and the five programs of "
        "examples/numpy_programs at the small sizes. A later epoch is the last of a process: for "
        "the filters with other data."
    ),
    cases=[
        Case(title if size == "full" else f"{title}, tiny",
             {"program": program, "size": size, "limit": LIMIT, "figures": [FIRST, LATER],
              "arguments": arguments},
             warm=0, units=1, rounds=3, per="run", limit=LIMIT, full=size == "full",
             quick=size == "small" and title in ("extended Kalman filter", "particle filter"))
        for size in ("full", "small") for title, (program, arguments) in PROGRAMS.items()
    ],
    contenders=[
        Contender(EMPTY, "lazyloom", running("lazyloom", "empty"), threads=2),
        Contender(FILLED, "lazyloom", running("lazyloom", "filled"), threads=2),
        Contender(PEER, "numpy", running("numpy"), threads=2),
    ],
    base=PEER,
    columns=3,
    limits=[
        Limit("first run, empty cache, beside NumPy", [f"{t}: {FIRST}" for t in PROGRAMS],
              [EMPTY], 3.0, [PEER], plus=5.0),
        Limit("first run, filled cache, beside NumPy", [f"{t}: {FIRST}" for t in PROGRAMS],
              [FILLED], 3.0, [PEER], plus=0.3),
    ],
    headline=[f"{t}{tiny}: {FIRST}" for t in PROGRAMS for tiny in ("", ", tiny")],
)  # fmt: skip
