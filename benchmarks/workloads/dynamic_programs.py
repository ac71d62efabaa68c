"""PyTorch programs that are another program at every sample, from their first epoch on."""

from __future__ import annotations

from typing import Any

from suite import Case, Contender, Limit, Workload
from suite.programs import FIRST, GROWN, LATER, LONGEST, running

EMPTY = "lazyloom, empty cache"
FILLED = "lazyloom, filled cache"
PEER = "PyTorch eager"

#: title, program, arguments, figures, and seconds after which a run is ended
EPOCHS = [FIRST, LATER, LONGEST]
PROGRAMS: list[tuple[str, str, dict[str, Any], list[str], float]] = [
    ("WordSeg", "wordseg", {}, EPOCHS, 90),
    ("tree LSTM", "tree_lstm", {}, EPOCHS, 60),
    ("REINFORCE", "reinforce", {}, EPOCHS, 60),
    ("shift-reduce parser", "spinn", {}, EPOCHS, 90),
    ("lengths 20 to 60", "lengths", {}, EPOCHS, 60),
    ("growing sequence", "generation", {}, EPOCHS, 30),
    *((f"new extents: {what}", "extents", {"what": what}, [FIRST, GROWN], 60)
      for what in ("mask", "slice", "roll", "pad", "power")),
]  # fmt: skip
#: those that --quick shows, at their tiny sizes
QUICK = ("WordSeg", "growing sequence", "new extents: mask")


def cases() -> list[Case]:
    found = []
    for size, seconds in (("full", None), ("small", 60.0)):
        for title, program, arguments, figures, limit in PROGRAMS:
            ends = seconds or limit
            found.append(Case(
                title if size == "full" else f"{title}, tiny",
                {"program": program, "size": size, "limit": ends, "figures": figures,
                 "arguments": arguments},
                warm=0, units=1, rounds=3, budget=120, per="run", limit=ends,
                quick=size == "small" and title in QUICK, full=size == "full"))  # fmt: skip
    return found


SAMPLES = ["tree LSTM", "REINFORCE", "shift-reduce parser"]


def first(*titles: str) -> list[str]:
    return [f"{title}: {FIRST}" for title in titles]


WORKLOAD = Workload(
    name="dynamic_programs",
    title="Programs that differ from sample to sample",
    about=(
        "Whole programs, the same text for PyTorch and for the torch-like frontend, from the first "
        "sample of a process on. WordSeg: a segmental language model, 60 sentences of 3 to 45 "
        "characters, hidden size 32, segments of up to 6, a lattice summed by loops of the host. "
        "200 random binary trees of 5 to 40 leaves; 200 episodes of REINFORCE of 10 to 80 steps; "
        "200 batches of 4 sentences for a shift-reduce parser; 300 batches of a transformer "
        "classifier, 20 to 60 long; a GPT that reads its growing sequence for each of 127 tokens. "
        "All are trained by Adam (but the last) and read a number for each sample. New extents: "
        "one expression with 300 values, `x[mask]` with a new count, `x[:n]`, `roll(x, i)`, "
        "`pad`, `x ** i`; what the process grows by with a thousand values more. Importing and "
        "building the model are not counted. Later epochs repeat the data."
    ),
    cases=cases(),
    contenders=[
        Contender(EMPTY, "lazyloom", running("lazyloom", "empty"), threads=2),
        Contender(FILLED, "lazyloom", running("lazyloom", "filled"), threads=2),
        Contender(PEER, "torch", running("torch"), threads=2),
    ],
    base=PEER,
    measures={GROWN: "B"},
    limits=[
        Limit("first epoch, empty cache, beside PyTorch", first("WordSeg"), [EMPTY], 3.0, [PEER]),
        Limit("first epoch, filled cache, beside PyTorch", first("WordSeg"), [FILLED], 1.2,
              [PEER]),
        Limit("later epochs beside PyTorch", [f"WordSeg: {LATER}"], [EMPTY, FILLED], 1.0, [PEER]),
        Limit("later epochs with independent fragments batched", [f"WordSeg: {LATER}"],
              [EMPTY, FILLED], 0.3, [PEER]),
        Limit("no sentence waits long", [f"WordSeg: {LONGEST}"], [EMPTY, FILLED], 2.0),
        Limit("first 200 samples, empty cache, beside PyTorch", first(*SAMPLES), [EMPTY], 3.0,
              [PEER], plus=10.0),
        Limit("first 200 samples, filled cache, beside PyTorch", first(*SAMPLES), [FILLED], 1.2,
              [PEER]),
        Limit("first 300 steps, empty cache, beside PyTorch", first("lengths 20 to 60"), [EMPTY],
              2.0, [PEER]),
        Limit("first 300 steps, filled cache, beside PyTorch", first("lengths 20 to 60"),
              [FILLED], 1.0, [PEER]),
        Limit("first run, empty cache, beside PyTorch", first("growing sequence"), [EMPTY], 5.0,
              [PEER]),
        Limit("first run, filled cache, beside PyTorch", first("growing sequence"), [FILLED], 1.2,
              [PEER]),
        Limit("300 values, empty cache",
              first(*(title for title, program, *_ in PROGRAMS if program == "extents")),
              [EMPTY], 5.0),
        Limit("a thousand values more grow the process", [
            f"{title}: {GROWN}" for title, program, *_ in PROGRAMS if program == "extents"],
            [EMPTY], 20e6),
    ],
    headline=[f"{title}: {FIRST}" for title, *_ in PROGRAMS[:6]]
    + [f"{title}, tiny: {FIRST}" for title, *_ in PROGRAMS[:6]],
)  # fmt: skip
