"""The first training step of a process that loads a file of the disk cache."""

from __future__ import annotations

import importlib
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

from suite import Case, Contender, Limit, Turn, Workload
from suite.common import in_new_process, since_the_process_started

from .transformer import SMALL

NOTHING = "lazyloom, empty folder"
FILLED = "lazyloom, filled folder"
LOADED = "lazyloom, empty folder, file loaded"
AFTER_IMPORTS, WHOLE = "after imports", "from the start of the process"
COUNTS = "programs compiled"
#: programs are compiled before they run, so that the file and the folder have all of them
COMPILED = {"LAZYLOOM_REPRODUCIBLE": "1"}


def first_step(workload: str, arguments: dict[str, Any], load: str, save: str) -> dict[str, float]:
    """In a new process: import, load a file if there is one, build the model, do one step."""
    lazyloom = importlib.import_module("lazyloom")
    importlib.import_module("lazyloom_torch")
    started = time.perf_counter()
    if load:
        refused = lazyloom.cache.load(load).refused
        if refused:
            raise RuntimeError(f"{load}: {len(refused)} entries were refused: {refused[0].reason}")
    importlib.import_module(f"workloads.{workload}").lazyloom_torch(**arguments)(1)
    found = {AFTER_IMPORTS: time.perf_counter() - started, WHOLE: since_the_process_started(),
             COUNTS: lazyloom.stats()["programs_compiled"]}  # fmt: skip
    if save:
        lazyloom.cache.save(save)
    return found


def stepping(how: str) -> Callable[..., Turn]:
    """A contender's maker; ``how`` is one of the rows' names."""

    def make(workload: str, arguments: dict[str, Any]) -> Turn:
        own = os.path.join(os.environ["LAZYLOOM_CACHE_DIR"], f"{workload}-{how}".replace(" ", "-"))
        os.makedirs(own, mode=0o700)
        filled, file = os.path.join(own, "filled"), os.path.join(own, "saved.cache")
        given = {"workload": workload, "arguments": arguments, "load": "", "save": ""}

        def step(folder: str, **files: str) -> dict[str, float]:
            environment = {"LAZYLOOM_CACHE_DIR": folder, **COMPILED}
            return in_new_process("saved_cache", "first_step", {**given, **files}, environment)

        if how != NOTHING:
            step(filled, save=file)

        def turn(units: int) -> dict[str, float]:
            if how == FILLED:
                return step(filled)
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as empty:
                return step(empty, load=file if how == LOADED else "")

        return turn

    return make


TRANSFORMER = "transformer, width 256"

WORKLOAD = Workload(
    name="saved_cache",
    title="First step with a saved cache",
    about=(
        "A new process builds the model and does one training step, its loss read: with an empty "
        "cache folder, with the folder that a run before it has filled, and with an empty folder "
        "after `lazyloom.cache.load` of the file that such a run has saved. *After imports* counts "
        "from the moment when the torch-like frontend is imported, and includes loading the file "
        "and importing JAX. Programs are compiled before they run (`LAZYLOOM_REPRODUCIBLE=1`)."
    ),
    cases=[
        Case(TRANSFORMER, {"workload": "transformer", "arguments": SMALL}, units=1, warm=0,
             rounds=7, budget=120, per="process", quick=False),
        Case("MLP", {"workload": "mlp", "arguments": {"read": True}}, units=1, warm=0,
             rounds=7, budget=60, per="process"),
    ],
    contenders=[Contender(how, "lazyloom", stepping(how)) for how in (NOTHING, FILLED, LOADED)],
    base=FILLED,
    measures={COUNTS: ""},
    limits=[
        Limit("first step with a loaded file beside a filled folder",
              [f"{TRANSFORMER}: {AFTER_IMPORTS}", f"{TRANSFORMER}: {WHOLE}"], [LOADED], 1.25,
              [FILLED]),
        Limit("nothing is compiled after a file was loaded",
              [f"{TRANSFORMER}: {COUNTS}", f"MLP: {COUNTS}"], [LOADED], 0),
    ],
    headline=[f"{TRANSFORMER}: {AFTER_IMPORTS}", f"{TRANSFORMER}: {WHOLE}",
              f"MLP: {AFTER_IMPORTS}", f"MLP: {WHOLE}"],
)  # fmt: skip
