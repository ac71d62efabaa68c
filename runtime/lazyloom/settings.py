"""Options that a program can set for a while, and the numbers that tune the runtime.

An option that is True or False, or says whether something is allowed, belongs to the thread that
sets it. A number belongs to the process: it decides when work runs and how much is remembered,
which threads share. No option changes what an op is compiled to; numbers that do
(``backends/xla/fusion_barriers.py``) stand where they are used and cannot be set, since the source
identifies programs on disk.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Any, Final, final

from .errors import ArgumentError

#: the options of a thread that are True or False, and what they are to begin with
FLAGS: Final[dict[str, bool]] = {
    # what a program that fails is saved with is there only if it gave nothing up
    "donate": not os.environ.get("LAZYLOOM_REPRO"),
    "reproducible": os.environ.get("LAZYLOOM_REPRODUCIBLE", "0") not in ("", "0"),
    "progress": os.environ.get("LAZYLOOM_PROGRESS", "1") not in ("", "0"),
    "eager": os.environ.get("LAZYLOOM_EAGER", "0") not in ("", "0"),
}

_DONATES: Final[bool] = FLAGS["donate"]

#: what a strict mode may be
MODES: Final = ("allow", "warn", "error")


def _mode_in_environment(name: str) -> str:
    """The mode that LAZYLOOM_READS and its kin ask for. Raises ArgumentError for none of them."""
    variable = f"LAZYLOOM_{name.upper()}"
    given = os.environ.get(variable) or "allow"
    if given not in MODES:
        raise ArgumentError(
            f"the environment variable {variable} is {given!r}, expected {', '.join(MODES)}")
    return given


def _warmup_in_environment() -> int:
    given = os.environ.get("LAZYLOOM_WARMUP") or "0"
    if not given.isdecimal():
        raise ArgumentError(
            f"the environment variable LAZYLOOM_WARMUP is {given!r}, expected a number of "
            "occurrences, 0 or more")
    return int(given)


#: the strict modes of a thread: what each is about
STRICT: Final[dict[str, str]] = {
    "reads": "The host reads a value: `float(x)`, `x.item()`, `if x:`, `print(x)`, `x.numpy()`, "
             "and shapes that depend on data. Whether the value is still to be computed makes no "
             "difference.",
    "compiles": "A program is new: this process has not run it, and the disk cache does not have "
                "it. It is compiled, now or once that pays; also a program that has to be compiled "
                "again for a result that it did not return before. Padded programs may serve new "
                "extents.",
    "transfers": "Data of more than one element go from the host into a tensor (a NumPy array, a "
                 "list, an array of indices), or are read.",
    "fallbacks": "Something runs in another way than asked for: a call of a captured function is "
                 "recorded, as the function cannot be captured; a code generator failed at a "
                 "region, which XLA runs; a kernel of the host failed, and its op is compiled; a "
                 "program could not be compiled, and runs op by op.",
    "nan": "An op gives a NaN where none of its operands has one. Ops run at their lines for that, "
           "as with `eager=True`.",
}

#: the options of a thread that has set none
DEFAULTS: Final[dict[str, Any]] = {
    **FLAGS, **{name: _mode_in_environment(name) for name in STRICT},
    "warmup": _warmup_in_environment(),
}

#: parts that only make programs faster; each can be left out
ACCELERATORS: Final[dict[str, str]] = {
    "matching": "a trace that is recorded again as before is compared with the past one, op by "
                "op, instead of being collected and looked up",
    "capture": "calls of a captured function run without being recorded",
    "host_numbers": "elements of arrays, what is computed of them and of Python numbers, and small "
                    "arrays that are filled with a number are computed on the host at once, and "
                    "record nothing",
    "op_by_op": "a program that is new runs op by op before it is compiled",
    "padding": "one program, compiled for many extents, runs padded",
    "c_kernels": "kernels of the host are functions in C",
    "code_generators": "parts of programs go to other code generators without being asked for",
    "loops": "what a program repeats becomes a loop in the compiled program",
    "background": "programs, and kernels in C that do not come with the installation, are compiled "
                  "beside the program that wants them",
}


def _left_out() -> frozenset[str]:
    """The accelerators that LAZYLOOM_WITHOUT names. Raises ArgumentError for any other name."""
    names = os.environ.get("LAZYLOOM_WITHOUT", "").replace(",", " ").split()
    for name in names:
        if name != "all" and name not in ACCELERATORS:
            raise ArgumentError(
                f"the environment variable LAZYLOOM_WITHOUT names {name!r}, expected "
                f"{', '.join(ACCELERATORS)}, or all")
    return frozenset(ACCELERATORS if "all" in names else names)


#: the accelerators that this process leaves out
WITHOUT: Final[frozenset[str]] = _left_out()

#: a component drops its dead nodes once there are more than this, and they are over half of all.
#: Checked for each released node, so it is no option: a larger number keeps memory, a smaller one
#: copies lists more often
DEAD_NODES: Final = 256
#: how many of the newest ops may be left out when looking for a repetition: the caller still holds
#: the values that the newest replace, and an op joins a component only when something connects it,
#: so the newest part may not be complete yet
MARGINS: Final = (2, 32, 128, 512)
#: number of texts of lowered ops for which the operands read and the length are remembered; a
#: program has some dozens
LOWERINGS_KEPT: Final = 4096


def switched_on(variable: str) -> bool:
    """Return True unless an environment variable says no."""
    return os.environ.get(variable, "1").lower() not in ("0", "off", "no", "false")


@final
class Number:
    """A number that tunes the runtime.

    Attributes:
        name: the option, and the attribute of :data:`tuning`.
        default: its initial value; a float if it is a fraction of something.
        minimum, maximum: the bounds of its value; None for no upper bound.
        unit: what it counts.
        reason: what it decides, and why it has this value.
    """

    __slots__ = ("name", "default", "minimum", "maximum", "unit", "reason")

    def __init__(
        self, name: str, unit: str, reason: str, minimum: Any = 1, maximum: Any = None
    ) -> None:
        self.name: Final[str] = name
        self.default: Final[Any] = getattr(tuning, name)
        self.minimum: Final[Any] = minimum
        self.maximum: Final[Any] = maximum
        self.unit: Final[str] = unit
        self.reason: Final[str] = reason


@final
class Tuning:
    """The current numbers, one attribute each; :data:`NUMBERS` describes them."""

    __slots__ = (
        "cut_ops", "cut_depth", "cut_size", "cut_misses", "block_ops", "longest_period",
        "repeated_ops", "programs_kept", "requests_kept", "mappings_part", "mappings_interval",
        "disk_interval", "records_kept",
        "compared_programs", "history_results", "moves_traced", "overwrites_kept",
        "overwrites_held", "array_types_kept", "memory_known_from", "memory_asked_from",
        "run_room", "compile_room", "compiled_beside", "constants_kept", "function_after",
        "build_seconds", "measuring_seconds", "measuring_after",
    )  # fmt: skip

    def __init__(self) -> None:
        self.cut_ops: int = 1024
        self.cut_depth: int = 2048
        self.cut_size: int = 50_000
        self.cut_misses: int = 8
        self.block_ops: int = 300
        self.longest_period: int = 5000
        self.repeated_ops: int = 200
        self.programs_kept: int = 4096
        self.requests_kept: int = 8
        self.mappings_part: float = 0.5
        self.mappings_interval: int = 32
        self.disk_interval: int = 64 << 20
        self.records_kept: int = 256
        self.compared_programs: int = 32
        self.history_results: int = 64
        self.moves_traced: int = 8
        self.overwrites_kept: int = 1024
        self.overwrites_held: int = 8
        self.array_types_kept: int = 4096
        self.memory_known_from: int = 1 << 16
        self.memory_asked_from: int = 1 << 24
        self.run_room: int = 32 << 20
        self.compile_room: int = 96 << 20
        self.compiled_beside: int = 64
        self.constants_kept: int = 1 << 30
        self.function_after: int = 2000
        self.build_seconds: int = 30
        self.measuring_seconds: int = 10
        self.measuring_after: int = 10


tuning: Final = Tuning()


NUMBERS: Final[dict[str, Number]] = {number.name: number for number in (
    Number("cut_ops", "ops",
           "A component of pending work that has grown to this is looked at for a cut, and a trace "
           "that repeats nothing is cut into programs of this size. XLA compiles a chain of 1,000 "
           "ops in 0.3 s, one of 3,000 in 2.3 s."),
    Number("cut_depth", "ops",
           "A component less deep than this is left alone: a wide one does not cost XLA what a "
           "deep one does, and a step of training is rather wide."),
    Number("cut_size", "ops",
           "A component of this size is cut however shallow it is: it holds memory."),
    Number("cut_misses", "programs",
           "After so many cuts that found no repetition, ops run one by one, which compiles each "
           "kind of op once.", 0),
    Number("block_ops", "ops",
           "A trace that repeats runs in blocks of the largest multiple of its period up to this: "
           "compiling 600 ops takes twice as long as 300, and a program of 300 runs for so long "
           "that handing it over does not count."),
    Number("longest_period", "ops",
           "The longest period that is looked for; twice as many specs of a trace are remembered."),
    Number("repeated_ops", "ops",
           "A repetition in a growing trace counts if it covers this many, so that a few equal ops "
           "in a row are none."),
    Number("programs_kept", "programs",
           "Programs in memory, of those that donate and of those that do not; the ones used least "
           "recently go first."),
    Number("requests_kept", "requests",
           "Different requests (results, inputs given up) that are remembered for one program; a "
           "loop has one or two."),
    Number("mappings_part", "part",
           "XLA maps the machine code of a program in 12 parts or more, and Linux lets a process "
           "have 65,530: where this part of them is in use, programs in memory go.", 0.0, 1.0),
    Number("mappings_interval", "programs",
           "Compiled programs between two counts of the mappings; a count takes a millisecond."),
    Number("disk_interval", "bytes",
           "What is written to the disk cache between two looks at its size, or an eighth of its "
           "limit if that is less; a look lists all its files."),
    Number("records_kept", "evaluations",
           "Records of evaluations that are kept, the newest."),
    Number("compared_programs", "programs",
           "Known programs, of the nearest length, that a new one is compared with to say how they "
           "differ; it takes time at every compile."),
    Number("history_results", "results",
           "How many results a frontend's question about a value's history looks through."),
    Number("moves_traced", "ops",
           "How many ops that only move data are looked through for the bounds of indices.", 0),
    Number("overwrites_kept", "values",
           "How many pending values of one tensor may be written over in a row before what it held "
           "is given up; a failed run goes back to that."),
    Number("overwrites_held", "values",
           "With donate=False, how many contents of one tensor are held before its pending work "
           "runs."),
    Number("array_types_kept", "types",
           "JAX's descriptions of arrays that are kept; making one is slow."),
    Number("memory_known_from", "bytes",
           "The size of a program's values from which the executable is asked what memory it "
           "needs; asking takes longer than loading a small one.", 0),
    Number("memory_asked_from", "bytes",
           "A run that needs this much asks the system for it first; below that, memory that is "
           "missing is missing for anything else.", 0),
    Number("run_room", "bytes",
           "Where the address space is limited, room for XLA that a run asks for beside its "
           "values.", 0),
    Number("compile_room", "bytes",
           "Where the address space is limited, room that a compilation asks for.", 0),
    Number("compiled_beside", "programs",
           "The length of the queue of programs to be compiled beside the program, which are "
           "compiled one at a time; where it is full, the one whose runs have cost least gives "
           "way. With 0 none is: the program waits for those that have paid.", 0),
    Number("function_after", "microseconds",
           "What the calls of a kernel of the host take that did not come with the installation, "
           "until it waits for the C compiler to make a function of it. That takes 15 ms a "
           "function, and a quarter of a second where a process has to be begun for it, which is "
           "done once those that wait have taken 25 times as long. With 0 it goes on calling "
           "NumPy.", 0),
    Number("constants_kept", "bytes",
           "Operands for whose values other code generators may keep something made; what was made "
           "first goes first.", 0),
    Number("build_seconds", "seconds",
           "A code generator that takes longer to build a region, or to bind its constants, is "
           "given up, and XLA does the region. A C compiler that it runs is killed."),
    Number("measuring_seconds", "seconds",
           "What measuring regions beside programs may take of a process: once it has taken "
           "this, no further one is begun. With 0 none is.", 0),
    Number("measuring_after", "seconds",
           "The heavy ops of a program are estimated to have run for so long, and so long has "
           "passed by the clock, before one of them is measured beside it, and before the next "
           "one is, each of a class that was not measured on this machine.", 0),
)}  # fmt: skip

_local = threading.local()
#: one flag: whether any thread has ever set an option; until then no lookup is needed
_ever_set: Final[list[bool]] = [False]
#: one flag: whether a strict mode was ever other than "allow", or occurrences are counted
watching: Final[list[bool]] = [any(DEFAULTS[name] != "allow" for name in STRICT)]


#: one flag: whether a thread has ever asked for ops that run at their lines
eager: Final[list[bool]] = [bool(DEFAULTS["eager"]) or DEFAULTS["nan"] != "allow"]


@final
class Occurrences:
    """What a thread has met since it set a strict mode or ``warmup``.

    Attributes:
        met: by mode, how many occurrences the warm-up has let pass.
        told: the lines about which it was warned, as (mode, line), under the current filters.
        filters: the filters of :mod:`warnings` at the last warning; others tell everything anew.
    """

    __slots__ = ("met", "told", "filters")

    def __init__(self) -> None:
        self.met: dict[str, int] = {}
        self.told: set[tuple[str, str]] = set()
        self.filters: Any = None


def get_option(name: str) -> Any:
    """An option's value: of this thread, or a number of the process.

    Raises ArgumentError for an unknown name.

    Example:

        >>> lazyloom.get_option("reads")
        'allow'
    """
    if name in NUMBERS:
        return getattr(tuning, name)
    current: dict[str, Any] = getattr(_local, "options", None) or DEFAULTS
    if name not in current:
        import difflib

        known = [*DEFAULTS, *NUMBERS]
        # there are more than sixty, which nobody reads for a letter that was mistyped
        near = difflib.get_close_matches(name, known, 3)
        raise ArgumentError(
            f"option {name!r} is not known, expected one of {', '.join(near or known)}")
    return current[name]


def thread_options() -> dict[str, Any]:
    """All options of this thread, to be set in another one that goes on with its work."""
    current: dict[str, Any] = getattr(_local, "options", None) or DEFAULTS
    return dict(current)


def option_table() -> dict[str, dict[str, Any]]:
    """What options there are: of each its scope; of a number its bounds and what it decides, of a
    strict mode its values."""
    table: dict[str, dict[str, Any]] = {name: {"scope": "thread"} for name in DEFAULTS}
    for name, what in STRICT.items():
        table[name] = {"scope": "thread", "values": list(MODES), "doc": what}
    for n in NUMBERS.values():
        table[n.name] = {
            "scope": "process", "default": n.default, "minimum": n.minimum, "maximum": n.maximum,
            "unit": n.unit, "doc": n.reason}
    return table


def forbids_reads() -> bool:
    """Whether the option ``reads`` of this thread is "error"; asked for at every read."""
    return watching[0] and bool(get_option("reads") == "error")


def runs_eagerly() -> bool:
    """Whether this thread's ops run at their lines; asked for where :data:`eager` is set."""
    return bool(get_option("eager")) or bool(get_option("nan") != "allow")


def occurrences() -> Occurrences:
    """What this thread has met since it set a strict mode or ``warmup``."""
    found: Occurrences | None = getattr(_local, "occurrences", None)
    if found is None:
        found = _local.occurrences = Occurrences()
    return found


def donates() -> bool:
    """The option ``donate`` of this thread; read at every write in place."""
    return bool(get_option("donate")) if _ever_set[0] else _DONATES


def reproducible() -> bool:
    """The option ``reproducible`` of this thread; read at every run that is not known yet."""
    return bool(DEFAULTS["reproducible"]) if not _ever_set[0] else bool(get_option("reproducible"))


def whole_only() -> bool:
    """Return True if no program may run op by op, by a setting of this thread or the process."""
    return "op_by_op" in WITHOUT or reproducible()


def set_option(name: str, value: Any) -> Any:
    """Set an option, of this thread or of the process; see :func:`options`.

    Returns its previous value. Raises ArgumentError for an unknown name, and for a value that the
    option cannot have.

    Example:

        >>> before = lazyloom.set_option("donate", True)
        >>> before
        True
    """
    before = get_option(name)
    number = NUMBERS.get(name)
    if number is not None:
        setattr(tuning, name, _checked(name, number, value))
        return before
    if name in FLAGS:
        if not isinstance(value, bool):
            raise ArgumentError(f"option {name!r} is {value!r}, expected True or False")
        if name == "eager" and value:
            eager[0] = True
    elif name == "warmup":
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise ArgumentError(
                f"option 'warmup' is {value!r}, expected a number of occurrences, 0 or more")
        _local.occurrences = Occurrences()
    else:
        if not isinstance(value, str) or value not in MODES:
            raise ArgumentError(
                f"option {name!r} is {value!r}, expected "
                f"{', '.join(repr(mode) for mode in MODES)}")
        _local.occurrences = Occurrences()
        if value != "allow":
            watching[0] = True
            if name == "nan":
                eager[0] = True
    _ever_set[0] = True
    _local.options = {**(getattr(_local, "options", None) or DEFAULTS), name: value}
    return before


def _checked(name: str, number: Number, value: Any) -> Any:
    """The new value of a number, checked. Raises ArgumentError."""
    fraction = isinstance(number.default, float)
    fits = isinstance(value, (int, float) if fraction else int) and not isinstance(value, bool)
    # written so that a NaN is out of bounds
    if not fits or not value >= number.minimum or (
        number.maximum is not None and not value <= number.maximum
    ):
        kind = "a number" if fraction else "an integer"
        upper = "" if number.maximum is None else f" and at most {number.maximum}"
        raise ArgumentError(
            f"option {name!r} is {value!r}, expected {kind} of at least {number.minimum}{upper} "
            f"({number.unit})")
    return float(value) if fraction else int(value)


@contextlib.contextmanager
def options(**changes: Any) -> Iterator[None]:
    """Set options inside a ``with`` block.

    Args:
        donate: False keeps programs from reusing the memory of their inputs, and tensors from
            releasing contents that are overwritten in place before the new contents are known to
            be good, so a failed run loses nothing; it costs memory, and every run is waited for.
            For this thread.
        reproducible: True compiles every program whole before it runs, so its results depend only
            on what was recorded. Otherwise a new program runs op by op until compiling has paid,
            which may change the last bits of its results; the record of an evaluation says how it
            ran. LAZYLOOM_REPRODUCIBLE=1 in the environment sets it for the process. For this
            thread.
        progress: True (unless LAZYLOOM_PROGRESS=0) shows a line on a terminal while a program is
            compiled that takes over two seconds. For this thread.
        eager: True runs each op at its line, by itself, so that its error comes there. For
            debugging: it is slow. LAZYLOOM_EAGER=1 sets it for the process. For this thread.
        nan: "warn" or "error" where an op gives a NaN and none of its operands has one; ops run as
            with ``eager=True``. For this thread.
        reads, compiles, transfers, fallbacks: "allow" (unless LAZYLOOM_READS and its kin say
            otherwise), "warn" (:class:`lazyloom.PerformanceWarning`, once for each line) or
            "error", where the host reads a value; where a program is new; where data of more than
            one element go from the host to a tensor or back; where something runs in another way
            than asked for. ``docs/options.md`` says what counts. For this thread.
        warmup: of each of these, so many occurrences pass before there is a warning or an error,
            counted by the thread from where one of these options or ``warmup`` is set. For this
            thread.
        **changes: the numbers that ``docs/options.md`` lists, such as ``cut_ops``. For the process.

    Example:

        >>> with lazyloom.options(reads="error"):
        ...     y = np.arange(3.0) + 1  # recorded, and not read
        >>> y
        array([1., 2., 3.])
    """
    before: dict[str, Any] = {}
    strict = any(name == "warmup" or name in STRICT for name in changes)
    met = occurrences()
    try:
        for name, value in changes.items():
            before[name] = set_option(name, value)
        yield
    finally:
        for name, value in before.items():
            set_option(name, value)
        if strict:
            # what the block around it has met
            _local.occurrences = met
