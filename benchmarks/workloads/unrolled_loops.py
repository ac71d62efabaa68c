"""Equal pieces in a row: LSTM cells called by hand, and stacks of equal layers."""

from __future__ import annotations

from typing import Any

from suite import Case, Contender, Limit, Workload
from suite.programs import FIRST_STEP, LATER_STEP, running

LIMIT = 90.0
CELL_64 = "lazyloom, nn.LSTMCell, 64 steps"
CELLS, LAYERS = "LSTM cells by hand", "equal transformer layers"


def cells(library: str, layer: str, length: int) -> Any:
    return running(library, "empty", {"layer": layer, "length": length},
                   {"layer": layer, "length": length // 16})  # fmt: skip


def layers(library: str, count: int) -> Any:
    return running(library, "empty", {"layers": count}, {"layers": count // 6})


def contenders() -> list[Contender]:
    found = []
    for peer, name in (("lazyloom", "lazyloom"), ("torch", "PyTorch")):
        for length in (64, 256):
            for layer, title in (("cell", "nn.LSTMCell"), ("module", "nn.LSTM")):
                found.append(Contender(
                    f"{name}, {title}, {length} steps", peer, cells(peer, layer, length),
                    only=[CELLS, f"{CELLS}, tiny"], threads=2))  # fmt: skip
        for count in (6, 24):
            found.append(Contender(
                f"{name}, {count} layers", peer, layers(peer, count),
                only=[LAYERS, f"{LAYERS}, tiny"], threads=2))  # fmt: skip
    return found


WORKLOAD = Workload(
    name="unrolled_loops",
    title="Recurrences and stacks, unrolled",
    about=(
        "Training steps with Adam, the loss read each time, from an empty disk cache. An LSTM of "
        "64 states and batch 16, written with `nn.LSTMCell` in a loop of the host over 64 or 256 "
        "steps, beside `nn.LSTM`; 6 and 24 equal transformer layers of width 64, batch 4, length "
        "32, each a module of its own. The first step compiles; a later one is the median of the "
        "rest of the run. Ratios are to our row with 64 steps by hand, and to 6 layers."
    ),
    cases=[
        Case(title if size == "full" else f"{title}, tiny",
             {"program": program, "size": size, "limit": LIMIT, "arguments": {},
              "figures": [FIRST_STEP, LATER_STEP]},
             warm=0, units=1, rounds=3, budget=120, limit=LIMIT, full=size == "full",
             quick=size == "small", base=base)
        for size in ("full", "small")
        for title, program, base in (
            (CELLS, "lstm_steps", CELL_64), (LAYERS, "layer_stack", "lazyloom, 6 layers"))
    ],
    contenders=contenders(),
    base=CELL_64,
    limits=[
        Limit("later steps by hand beside nn.LSTM's", [f"{CELLS}: {LATER_STEP}"],
              [CELL_64], 1.3, ["lazyloom, nn.LSTM, 64 steps"]),
        Limit("first step by hand, empty cache", [f"{CELLS}: {FIRST_STEP}"],
              [CELL_64], 2.0),
        Limit("first step over 256 steps beside 64", [f"{CELLS}: {FIRST_STEP}"],
              ["lazyloom, nn.LSTMCell, 256 steps"], 1.5, [CELL_64]),
        Limit("first step, empty cache", [f"{LAYERS}: {FIRST_STEP}"], ["lazyloom, 6 layers"], 2.0),
        Limit("first step of 24 layers beside 6", [f"{LAYERS}: {FIRST_STEP}"],
              ["lazyloom, 24 layers"], 1.5, ["lazyloom, 6 layers"]),
    ],
)  # fmt: skip
