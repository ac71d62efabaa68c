"""Write the reference pages: ops.md, ops/, op_dtypes.md and op_traits.md from the op table,
options.md from the settings, what of NumPy and PyTorch is covered, and the first page's figures.

``make docs`` runs it; ``python docs/generate.py --check`` only tells whether the
pages are as it would write them, and the tests do that.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections import defaultdict
from pathlib import Path

# the pages state the defaults without it, which tests set
os.environ.pop("LAZYLOOM_REPRODUCIBLE", None)

from lazyloom import ops  # noqa: E402
from lazyloom.dtypes import ALL  # noqa: E402
from lazyloom.ops import traits  # noqa: E402
from lazyloom.ops.spec import Attribute, OpDef, Operand, describe_class  # noqa: E402
from lazyloom.settings import ACCELERATORS, FLAGS, NUMBERS, STRICT  # noqa: E402, STRICT
from lazyloom_capi import coverage as c_coverage  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from docs import numpy_coverage, start_figures, torch_coverage  # noqa: E402
from tests.conformance import coverage, exclusions  # noqa: E402
from tests.conformance.names_numpy import NUMPY  # noqa: E402
from tests.conformance.names_torch import TORCH  # noqa: E402

NOTICE = "<!-- Written by docs/generate.py from the op table; do not edit. -->\n"


def operand_text(o: Operand) -> str:
    name = f"*{o.name}" if o.variadic else o.name
    return f"{name}: {o.classes}" + (" | None" if o.optional else "")


def attribute_text(a: Attribute) -> str:
    kind = f"{a.name}: {a.kind}" + (" | None" if a.nullable else "")
    return kind if a.required else f"{kind} = {a.default!r}"


def signature(op: OpDef) -> str:
    """Such as ``sum(x: T; axes: ints | None = None, keepdims: bool = False)``."""
    operands = ", ".join(operand_text(o) for o in op.operands)
    attributes = ", ".join(attribute_text(a) for a in op.attributes)
    inside = "; ".join(part for part in (operands, attributes) if part)
    outputs = op.signature.outputs
    results = "" if outputs == ("result",) else f" -> {', '.join(outputs)}"
    return f"{op.name}({inside}){results}"


def gradient_text(op: OpDef) -> str:
    named = op.derivative.differentiable
    if isinstance(named, tuple):
        return "for " + ", ".join(named)
    return "for every floating-point or complex operand" if named else "none"


def entry(op: OpDef) -> str:
    lines = [f"### `{op.name}`", "", "```text", signature(op), "```", "", op.doc, ""]
    facts = []
    if any(o.classes == "T" for o in op.operands):
        facts.append(f"`T` is {describe_class(op.T)}")
    facts.append(f"gradient: {gradient_text(op)}")
    facts.append(f"defined by: {op.source}")
    if op.reference:
        facts.append(f"the same in Python: `{op.reference}`")
    if op.execution.effect:
        facts.append("has an effect: never removed or merged")
    if op.execution.fallible:
        facts.append("can fail while it runs")
    return "\n".join([*lines, *(f"- {fact}" for fact in facts), ""])


def topics() -> dict[str, list[OpDef]]:
    """The ops by the module of ``lazyloom.ops`` that defines them."""
    found: dict[str, list[OpDef]] = defaultdict(list)
    for op in ops.table().values():
        found[op.fn.__module__].append(op)
    return dict(sorted(found.items()))


def stem(module: str) -> str:
    return module.rpartition(".")[2]


def heading(module: str) -> str:
    """The first sentence of a module's docstring, without its full stop."""
    return (sys.modules[module].__doc__ or stem(module)).partition("\n")[0].rstrip(".")


def link(op: OpDef, folder: str) -> str:
    return f"[{op.name}]({folder}{stem(op.fn.__module__)}.md#{op.name})"


def index() -> str:
    families: dict[str, list[OpDef]] = defaultdict(list)
    for op in ops.table().values():
        families[op.family].append(op)
    pages_of = topics()
    lines = [
        NOTICE,
        "# The ops",
        "",
        f"{len(ops.table())} ops on {len(pages_of)} pages. On each page an op stands under its "
        f"family, the rule that gives the shapes and dtypes of its results; there are "
        f"{len(families)}. In a signature, operands (tensors) stand before the semicolon and "
        "attributes (constants that are part of a program's structure) after it. `T` is one dtype "
        "that all operands so marked share: ops never promote, frontends cast. Every op is reached "
        "by `lazyloom.apply(name, operands, attributes)`, by `loom_apply` in C and by its own "
        "inline wrapper in `lazyloom_ops.h`. [Which op takes which dtype](op_dtypes.md), "
        "[which has traits that are not the default](op_traits.md) and "
        "[what each costs to compile](op_compile_time.md) are tables of their own.",
        "",
        "## By page",
        "",
    ]
    for module, members in pages_of.items():
        named = ", ".join(link(op, "ops/") for op in members)
        lines.append(f"- **[{heading(module)}](ops/{stem(module)}.md)**: {named}")
    lines += ["", "## By family", ""]
    for family, members in sorted(families.items()):
        lines.append(f"- **{family}**: {', '.join(link(op, 'ops/') for op in members)}")
    return "\n".join(lines) + "\n"


def page_of(module: str, members: list[OpDef]) -> str:
    families: dict[str, list[OpDef]] = defaultdict(list)
    for op in members:
        families[op.family].append(op)
    lines = [NOTICE, f"# {heading(module)}", "",
             f"Ops of `{module}`. [The index](../ops.md) says how to read a signature."]
    for family in sorted(families):
        lines += ["", f"## Family {family}", ""]
        lines += [entry(op) for op in sorted(families[family], key=lambda op: op.name)]
    return "\n".join(lines).rstrip() + "\n"


def pairs() -> str:
    short = {"bool": "bool", "bfloat16": "bf16"}
    heads = [
        short.get(d.name, re.sub("uint|int|float|complex", lambda m: m[0][0], d.name)) for d in ALL
    ]
    table = sorted(ops.table().values(), key=lambda op: op.name)
    rows, refusals, total = [], [], 0
    for op in table:
        taken, refused = coverage.exercised(op), coverage.refused(op)
        total += len(taken)
        marks = ["+" if d in taken else "r" if d in refused else " " for d in ALL]
        named = [n for n, has in (("numpy", NUMPY), ("torch", TORCH)) if op.name in has]
        rows.append(f"| `{op.name}` | {' | '.join(marks)} | "
                    f"{describe_class(coverage.dtype_class(op))} | {', '.join(named)} |")
        reasons = defaultdict(list)
        for d, reason in refused.items():
            reasons[reason].append(d.name)
        refusals += [f"- `{op.name}`, {', '.join(n)}: {why}" for why, n in reasons.items()]
    lines = [
        NOTICE,
        "# Ops and dtypes",
        "",
        f"{total} pairs of {len(table)} ops and {len(ALL)} dtypes are exercised by "
        "`tests/conformance`, each through the NumPy-like frontend, the torch-like frontend and "
        "the C ABI: the results are compared with each other bit for bit, and with NumPy's or "
        "SciPy's. The dtype is that of the operands marked `T` in [the reference](ops.md), else of "
        "the first operand, or of the result where there is none.",
        "",
        "- `+`: exercised.",
        "- `r`: refused, for a reason below.",
        "- empty: refused, with a `DTypeError` that says what the op takes, as the column "
        "*takes* does.",
        "- *by name*: the frontends whose own function is called; the others, and C, apply the op "
        f"by its name. {len(NUMPY)} ops have one in the NumPy-like and {len(TORCH)} in the "
        "torch-like frontend; it is left for `lazyloom.apply` where an attribute has no "
        "counterpart there.",
        "",
        "| op | " + " | ".join(heads) + " | takes | by name |",
        "|---|" + ":-:|" * len(heads) + "---|---|",
        *rows,
        "",
        "## Left out",
        "",
        "Dtypes that an op's class has and its rule refuses:",
        "",
        *refusals,
        "",
        "Ops without a reference, whose results are only compared among the frontends:",
        "",
        f"- `random_*`: {exclusions.RANDOM}",
        *[f"- `{name}`: {why}" for name, why in sorted(exclusions.NO_REFERENCE.items())],
        "",
        "Derivatives that are compared among the frontends, but not with a numerical one:",
        "",
        *[f"- `{name}`: {why}" for name, why in sorted(exclusions.NO_NUMERICAL.items())],
        *[f"- `{name}` of complex matrices: {why}"
          for name, why in sorted(exclusions.NO_NUMERICAL_COMPLEX.items())],
    ]
    return "\n".join(lines) + "\n"


#: the groups of traits, by the attribute of ``OpDef`` that holds each, with what it is by default
GROUPS = {"signature": traits.SIGNATURE, "derivative": traits.DERIVATIVE,
          "execution": traits.EXECUTION, "access": traits.ACCESS}


def fields_of(group: object) -> tuple[str, dict[str, str]]:
    """What the source says of a group and of each trait: compiled classes have no docstrings."""
    source = ast.parse((HERE.parent / "runtime/lazyloom/ops/traits.py").read_text())
    name = type(group).__name__
    entry = next(n for n in source.body if isinstance(n, ast.ClassDef) and n.name == name)
    about, _, fields = (ast.get_docstring(entry) or "").partition("\n\nAttributes:\n")
    text = re.sub(r":\w+:`([^`]*)`", r"``\1``", fields).replace("``", "`")
    return about.partition("\n")[0], dict(line.strip().split(": ", 1) for line in text.splitlines())


def trait_text(name: str, value: object) -> str:
    """Such as ``heavy``, ``linear="x y"`` or ``aliases: a function``."""
    if value is True:
        return f"`{name}`"
    if isinstance(value, traits.Residuals) or callable(value):
        return f"`{name}`: a function"
    return f"`{name}={value!r}`".replace("'", '"')


def op_traits() -> str:
    fields = {group: fields_of(default)[1] for group, default in GROUPS.items()}
    rows = []
    for op in sorted(ops.table().values(), key=lambda op: op.name):
        cells = [
            ", ".join(
                trait_text(name, getattr(getattr(op, group), name)) for name in fields[group]
                if getattr(getattr(op, group), name) != getattr(default, name))
            for group, default in GROUPS.items()]
        if any(cells):
            rows.append(f"| {link(op, 'ops/')} | {' | '.join(cells)} |")
    lines = [
        NOTICE,
        "# Ops with traits that are not the default",
        "",
        f"{len(rows)} of {len(ops.table())} ops. A trait is what the runtime asks of an op beside "
        "its types and its definition; an entry of the table declares it in one of four groups "
        "([add an op](adding_an_op.md)). One that only stands by its name is true.",
    ]
    for group, default in GROUPS.items():
        lines += ["", f"## {type(default).__name__}", "", fields_of(default)[0], ""]
        lines += [f"- `{name}`: {text}" for name, text in fields[group].items()]
    lines += ["", "## The table", "", f"| op | {' | '.join(GROUPS)} |", "|---" * 5 + "|", *rows]
    return "\n".join(lines) + "\n"


def options() -> str:
    rows = []
    for n in NUMBERS.values():
        upper = "" if n.maximum is None else f" to {n.maximum}"
        lower = f"{n.minimum}{upper or ' and more'}"
        rows.append(f"| `{n.name}` | {n.default:,} | {n.unit} | {lower} | {n.reason} |")
    lines = [
        NOTICE.replace("the op table", "lazyloom/settings.py"),
        "# Options",
        "",
        "`with lazyloom.options(donate=False, cut_ops=256):` sets options for a while, "
        "`lazyloom.set_option(name, value)` until it is set again, and `lazyloom.get_option(name)` "
        "reads one. A value that an option cannot have is an `ArgumentError`.",
        "",
        "## Of a thread",
        "",
        "| option | default |",
        "|---|---|",
        *[f"| `{name}` | {value} |" for name, value in FLAGS.items()],
        *[f"| `{name}` | \"allow\" |" for name in STRICT],
        "| `warmup` | 0 |",
        "",
        "`donate=False` keeps programs from reusing the memory of their inputs, and holds on to "
        "what is written over in place until the new contents are known to be good. "
        "`reproducible=True` has every "
        "program compiled before it runs, so that results depend on what was recorded only; "
        "otherwise a new program runs op by op until compiling has paid, which may change the last "
        "bits of its results. `LAZYLOOM_REPRODUCIBLE=1` in the environment is its default. "
        "`progress=False` shows no line on a terminal [while a program waits for its "
        "compiler](forms.md#how-long-a-program-waits-for-a-compiler). `eager=True` runs each op at "
        "its line, [to debug](strict.md#where-an-error-or-a-nan-comes-from).",
        "",
        "## Strict modes",
        "",
        "`with lazyloom.options(reads=\"error\", compiles=\"warn\"):` finds [what makes a program "
        "slow](strict.md). A mode is \"allow\", \"warn\" (`lazyloom.PerformanceWarning` at the "
        "line, once for each line), or \"error\". `warmup=n` lets the first n occurrences of each "
        "mode pass, counted by the thread from where a mode or `warmup` was set last.",
        "",
        "| mode | what counts |",
        "|---|---|",
        *[f"| `{name}` | {what} |" for name, what in STRICT.items()],
        "",
        "## Of the process",
        "",
        "Numbers that decide when work runs and how much is remembered. In which program an "
        "operation runs may change the last bits of its result, as XLA fuses across the program.",
        "",
        "| option | default | unit | from | what it decides |",
        "|---|--:|---|---|---|",
        *rows,
        "",
        "Numbers that change machine code (where `backends/xla/fusion_barriers.py` ends a fusion) "
        "are no options: programs on disk are told apart by the source.",
        "",
        "## In the environment",
        "",
        "| variable | meaning |",
        "|---|---|",
        "| `LAZYLOOM_CACHE` | `0` turns the disk cache off |",
        "| `LAZYLOOM_CACHE_DIR` | its folder; else `lazyloom` in the user's cache folder, or "
        "`lazyloom-UID` among temporary files for a user without a home |",
        "| `LAZYLOOM_CACHE_LIMIT` | its size in bytes, 4 GiB if not set |",
        "| `LAZYLOOM_BACKEND` | the backend: `xla`, or `module:attribute` |",
        "| `LAZYLOOM_DEVICE` | the [device](devices.md) that values are on unless they are placed "
        "elsewhere, such as `cpu:4`; else the first of JAX's default platform |",
        "| `LAZYLOOM_CODEGEN` | [code generators](codegen.md) in use, those that win first, such "
        "as `onednn,xla`; `xla` alone is the same as `LAZYLOOM_WITHOUT=code_generators`; else "
        "those installed ones that are by default |",
        "| `LAZYLOOM_CODEGEN_PLUGINS` | [code generators that are shared libraries]"
        "(codegen_plugin.md), by paths or names, separated by colons |",
        "| `LAZYLOOM_CODEGEN_VERIFY` | `1` [compares](codegen.md#verifying) what they give with "
        "what XLA gives |",
        "| `LAZYLOOM_CODEGEN_MEASURE` | `1` [measures](codegen.md#measuring) all regions while "
        "programs run, for later processes; `0` measures nothing beside programs |",
        "| `LAZYLOOM_CODEGEN_SEGMENTED` | `1` runs programs "
        "[in parts](codegen.md#what-each-part-takes), each of which is timed |",
        "| `LAZYLOOM_CODEGEN_COVERAGE` | the [least part](codegen.md#no-less-than) of each "
        "program's ops that they have to run, such as `0.9` |",
        "| `LAZYLOOM_ONEDNN` | the path of oneDNN's library, if not the wheel's or the system's |",
        "| `LAZYLOOM_DEBUG_LOCKS` | `1` checks every write of a field that a lock guards "
        "(`lazyloom/locks.py`), where the core runs interpreted |",
        "| `LAZYLOOM_KERNELS` | `0` leaves the kernels that come with the package alone; when "
        "installing, it comes without, and with `all` with "
        "[all usual ones](forms.md#kernels-of-the-host) |",
        "| `LAZYLOOM_WITHOUT` | [what makes programs fast](#what-can-be-left-out) and is left out, "
        "such as `matching,padding`, or `all` |",
        "| `LAZYLOOM_COMPILER` | the Python that "
        "[compiles beside the program](forms.md#compiling-beside-the-program), if not the "
        "program's own; `0` for none: a thread does |",
        "| `LAZYLOOM_READS`, `LAZYLOOM_COMPILES`, `LAZYLOOM_TRANSFERS`, `LAZYLOOM_FALLBACKS`, "
        "`LAZYLOOM_NAN`, `LAZYLOOM_WARMUP` | the defaults of the [strict modes](#strict-modes), in "
        "all threads |",
        "| `LAZYLOOM_EAGER` | `1` is the default `eager=True` |",
        "| `LAZYLOOM_LOG` | [what stderr hears](strict.md#what-the-runtime-logs), such as "
        "`compile,cache:info`; `0` for nothing at all, not even that a compilation takes long |",
        "| `LAZYLOOM_PROGRESS` | `0` is the default `progress=False` |",
        "| `LAZYLOOM_PROFILE` | the file for [a profile](why_slow.md) of the whole process, such "
        "as `run.html`; `%p` in it stands for the number of the process, and without it only the "
        "first process is profiled |",
        "| `LAZYLOOM_TOP` | `1` has the process answer to "
        "[`python -m lazyloom top`](debugging.md#look-at-a-process-that-runs) |",
        "| `LAZYLOOM_REPRO` | the folder for [programs that fail]"
        "(debugging.md#save-a-program-for-a-report), each with its inputs; "
        "`donate=False` is the default with it |",
        "| `LAZYLOOM_USER_PACKAGES`, `LAZYLOOM_SKIP_PACKAGES` | installed packages whose lines "
        "[records name](records.md#which-line-is-named) as the user's, and others whose lines they "
        "pass over, separated by commas |",
        "| `LAZYLOOM_MALLOC` | `0` leaves the C library's allocator "
        "[as it is](process.md#what-is-changed) |",
        "| `LAZYLOOM_BLAS_THREADS` | `0` leaves the number of threads of NumPy's products "
        "[as it is](process.md#what-is-changed) |",
        "| `LAZYLOOM_CORE` | when installing: `compiled` or `interpreted`; else what is possible |",
        "",
        "## What can be left out",
        "",
        "`LAZYLOOM_WITHOUT` in the environment of a process names what it does without. Nothing of "
        "it changes what a program means, so that a result or an error that is another one without "
        "it is a defect: the names say where. (An index that the program computes and that is out "
        "of bounds raises at the call where the number is known, and at a read elsewhere: without "
        "`host_numbers` it is known more rarely.) Programs take longer, and without `op_by_op` the "
        "bound on waiting for compilers ([the contract](contract.md), line 14) does not hold. "
        "`make test-without` runs the contract's and the conformance tests so. What each is worth "
        "on programs of several kinds is [measured](benchmarks/accelerators.md).",
        "",
        "| name | what it is |",
        "|---|---|",
        *[f"| `{name}` | {what} |" for name, what in ACCELERATORS.items()],
    ]
    return "\n".join(lines) + "\n"


def c_abi() -> str:
    """The page of the C ABI, whose table of Python's names is generated."""
    start, end = "<!-- generated: coverage -->\n", "<!-- end: coverage -->\n"
    before, rest = (HERE / "c-abi.md").read_text().split(start)
    after = rest.split(end)[1]
    return f"{before}{start}{c_coverage.table()}\n{end}{after}"


def pages() -> dict[Path, str]:
    return {HERE / "c-abi.md": c_abi(), HERE / "start.md": start_figures.page(),
            HERE / "ops.md": index(), HERE / "op_dtypes.md": pairs(),
            HERE / "op_traits.md": op_traits(), HERE / "options.md": options(),
            **{HERE / "ops" / f"{stem(m)}.md": page_of(m, o) for m, o in topics().items()},
            HERE / "numpy_coverage.md": numpy_coverage.page(),
            HERE / "torch_coverage.md": torch_coverage.page()}


def main() -> int:
    stale = []
    written = pages()
    for path in set((HERE / "ops").glob("*.md")) - set(written):
        stale.append(path.name)
        if "--check" not in sys.argv:
            path.unlink()
    for path, text in written.items():
        if path.exists() and path.read_text() == text:
            continue
        stale.append(path.name)
        if "--check" not in sys.argv:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    if "--check" in sys.argv and stale:
        print(f"out of date: {', '.join(stale)}; run `make docs`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
