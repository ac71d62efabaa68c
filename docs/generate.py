"""Write the reference pages that come from the op table: ops.md and op_dtypes.md.

``make docs`` runs it; ``python docs/generate.py --check`` only tells whether the
pages are as it would write them, and the tests do that.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

from lazyloom import ops
from lazyloom.dtypes import ALL, CLASSES, DType, as_dtype
from lazyloom.ops.samples import samples
from lazyloom.ops.spec import Attribute, OpDef, Operand, describe_class

HERE = Path(__file__).resolve().parent
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
    results = "" if op.outputs == ("result",) else f" -> {', '.join(op.outputs)}"
    return f"{op.name}({inside}){results}"


def gradient_text(op: OpDef) -> str:
    if op.differentiable is True:
        return "for every floating-point or complex operand"
    if op.differentiable is False:
        return "none"
    return "for " + ", ".join(op.differentiable)


def entry(op: OpDef) -> str:
    lines = [f"### `{op.name}`", "", "```text", signature(op), "```", "", op.doc, ""]
    facts = []
    if any(o.classes == "T" for o in op.operands):
        facts.append(f"`T` is {describe_class(op.T)}")
    facts.append(f"gradient: {gradient_text(op)}")
    facts.append(f"defined by: {op.source}")
    if op.reference:
        facts.append(f"the same in Python: `{op.reference}`")
    if op.effect:
        facts.append("has an effect: never removed or merged")
    if op.fallible:
        facts.append("can fail while it runs")
    return "\n".join([*lines, *(f"- {fact}" for fact in facts), ""])


def reference() -> str:
    families: dict[str, list[OpDef]] = defaultdict(list)
    for op in ops.table().values():
        families[op.family].append(op)
    count = sum(len(members) for members in families.values())
    lines = [
        NOTICE,
        "# The ops",
        "",
        f"{count} ops in {len(families)} families. A family is a rule for shapes and dtypes. "
        "Before the semicolon stand operands (tensors), after it attributes (constants that are "
        "part of a program's structure). `T` is one dtype that all operands so marked share: ops "
        "never promote, frontends cast. Every op is reached by `lazyloom.apply(name, operands, "
        "attributes)`, by `loom_apply` in C and by its own inline wrapper in `lazyloom_ops.h`.",
        "",
    ]
    for family in sorted(families):
        members = ", ".join(f"[{op.name}](#{op.name})" for op in families[family])
        lines.append(f"- **{family}**: {members}")
    for family in sorted(families):
        lines += ["", f"## {family}", ""]
        lines += [entry(op) for op in sorted(families[family], key=lambda op: op.name)]
    return "\n".join(lines).rstrip() + "\n"


def first_class(op: OpDef) -> str:
    """The dtype class of the first operand; of the result, for ops without operands."""
    classes = op.operands[0].classes if op.operands else "T"
    return op.T if classes == "T" else classes


def exercised(op: OpDef) -> set[DType]:
    """The dtypes that the op's samples bring as first operand (as result, without one)."""
    found: set[DType] = set()
    for sample in samples(op):
        given = next((x for x in sample.operands if x is not None), None)
        if given is not None:
            found.add(as_dtype(given.dtype))
        else:
            attributes = op.canonical_attributes(sample.attributes)
            found.update(t.dtype for t in op.infer((), attributes))
    return found


def pairs() -> str:
    short = {"bool": "bool", "bfloat16": "bf16"}
    heads = [
        short.get(d.name, re.sub("uint|int|float|complex", lambda m: m[0][0], d.name)) for d in ALL
    ]
    table = sorted(ops.table().values(), key=lambda op: op.name)
    rows, total, untried = [], 0, 0
    for op in table:
        taken, tried = CLASSES[first_class(op)], exercised(op)
        total += len(tried)
        untried += len(taken - tried)
        marks = ["+" if d in tried else "o" if d in taken else " " for d in ALL]
        rows.append(f"| `{op.name}` | {' | '.join(marks)} | {describe_class(first_class(op))} |")
    lines = [
        NOTICE,
        "# Ops and dtypes",
        "",
        f"{total} pairs of {len(table)} ops and {len(ALL)} dtypes are exercised by the samples "
        "that the tests run (`runtime/lazyloom/ops/samples.py`). The dtype is that of the first "
        "operand, or of the result where an op has none.",
        "",
        "- `+`: exercised.",
        f"- `o`: taken, but no sample brings it as first operand ({untried} pairs).",
        "- empty: refused, with a `DTypeError` that says what the op takes. The reason stands in "
        "the last column.",
        "",
        "| op | " + " | ".join(heads) + " | takes |",
        "|---|" + ":-:|" * len(heads) + "---|",
    ]
    return "\n".join([*lines, *rows]) + "\n"


def pages() -> dict[Path, str]:
    return {HERE / "ops.md": reference(), HERE / "op_dtypes.md": pairs()}


def main() -> int:
    stale = []
    for path, text in pages().items():
        if path.exists() and path.read_text() == text:
            continue
        stale.append(path.name)
        if "--check" not in sys.argv:
            path.write_text(text)
    if "--check" in sys.argv and stale:
        print(f"out of date: {', '.join(stale)}; run `make docs`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
