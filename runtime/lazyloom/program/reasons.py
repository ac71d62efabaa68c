"""Codes of what records say: why a program ran, in which form, and what took the time."""

from __future__ import annotations

from typing import Final

# causes of an evaluation (:attr:`~lazyloom.program.evaluations.Evaluation.cause`)

#: a value was read
READ: Final = "read"
#: a function read for the shape of its result
SHAPE: Final = "shape"
#: pending work was handed over
SYNC: Final = "sync"
#: a trace had grown long
CUT: Final = "cut"
#: a captured call
CAPTURED: Final = "captured"
#: the data went to another library
DLPACK: Final = "dlpack"
#: another evaluation, of the same batch, needs its results
PREPARATION: Final = "preparation"
#: a write in place, to elements or after a failure
WRITE: Final = "write"
#: ops run at their lines (`options(eager=True)`)
EAGER: Final = "eager"

#: the causes by what :attr:`~lazyloom.program.evaluations.Evaluation.reason` begins with
CAUSES: Final[dict[str, str]] = {
    "read": READ, "shape of ": SHAPE, "sync": SYNC, "cut": CUT, "captured call": CAPTURED,
    "dlpack": DLPACK, "preparation of ": PREPARATION, "write in place": WRITE,
    "a loop writes elements": WRITE, "use after a failure": WRITE,
    "eager op": EAGER,
}  # fmt: skip

# reasons for a form (:attr:`~lazyloom.program.evaluations.Evaluation.choice`)

# compiled
OPTION: Final = "option"
WATCHED: Final = "watched"
COMPILED_ONLY: Final = "compiled_only"
READY: Final = "ready"
LOADED: Final = "loaded"
LONG_RUN: Final = "long_run"
NOT_BESIDE: Final = "not_beside"
# op by op
SLOWER: Final = "slower"
AGAIN: Final = "again"
LOOK: Final = "look"
NOTHING_TO_SAVE: Final = "nothing_to_save"
QUEUED: Final = "queued"
FAILED: Final = "failed"
FEW_RUNS: Final = "few_runs"
WAITS: Final = "waits"
QUEUE_FULL: Final = "queue_full"
EARNED: Final = "earned"
EARLY: Final = "early"
TURN: Final = "turn"

#: the reasons for people to read
CHOICES: Final[dict[str, str]] = {
    OPTION: "the options ask for compiled programs (reproducible, or without op_by_op)",
    WATCHED: "its regions are verified or run one by one",
    COMPILED_ONLY: "it has effects, or the backend runs nothing op by op",
    READY: "its compiled program is there",
    LOADED: "its compiled program was on disk",
    LONG_RUN: "one run op by op is estimated to take longer than compiling",
    NOT_BESIDE: "it has earned compiling, and nothing compiles beside the program",
    SLOWER: "the compiled program was slower",
    AGAIN: "the compiled program is compared anew",
    LOOK: "the compiled program may be on disk",
    NOTHING_TO_SAVE: "a compiled program would take as long",
    QUEUED: "it is being compiled beside the program",
    FAILED: "compiling failed",
    FEW_RUNS: "the first two runs have nothing compiled, as a program may not come back",
    WAITS: "its runs could not have saved what compiling takes",
    QUEUE_FULL: "programs that have cost more wait for the compiler",
    EARNED: "it has cost what compiling would",
    EARLY: "it comes back, and the compiler is idle",
    TURN: "it has its turn in a comparison",
}  # fmt: skip

# phases of an evaluation (:attr:`~lazyloom.program.evaluations.Evaluation.timings`), in order

#: modules were imported, JAX among them, and its client started: once in a process
START: Final = "start"
#: recorded work was made a program
COLLECT: Final = "collect"
#: the program was looked for, in memory and on disk, and its form chosen
LOOKUP: Final = "lookup"
LOAD: Final = "load"
LOWER: Final = "lower"
COMPILE: Final = "compile"
#: a compiled program was handed to XLA; of a run that is short, it has that run in it
DISPATCH: Final = "dispatch"
#: op by op: what its ops run as was found or made
PREPARE: Final = "prepare"
#: its ops ran
OP_BY_OP: Final = "op_by_op"
#: readers waited for the results of a compiled program, and copied them
WAIT: Final = "wait"

PHASES: Final = (
    START, COLLECT, LOOKUP, LOAD, LOWER, COMPILE, DISPATCH, PREPARE, OP_BY_OP, WAIT,
)  # fmt: skip
