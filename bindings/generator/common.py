"""What the generators share: the ops of ``lazyloom_api.json``, how parameters are ordered."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
BINDINGS = ROOT / "bindings"
API: dict[str, Any] = json.loads((ROOT / "capi" / "include" / "lazyloom_api.json").read_text())
#: those that a function of tensors alone can call; the others are loops and branches
OPS: list[dict[str, Any]] = [op for op in API["ops"] if op["wrapped"]]

NOTICE = "Written by bindings/generate.py from lazyloom_api.json; do not edit."

Entry = dict[str, Any]


_NUMBERS = frozenset("""void char int bool float double size_t int8_t int16_t int32_t int64_t
                      uint8_t uint16_t uint32_t uint64_t""".split())


def unknown_types() -> list[str]:
    """The types that the file uses and does not declare: no language could declare them."""
    known = {e["name"] for k in ("enums", "handles", "structs", "callbacks") for e in API[k]}
    members = [m for s in API["structs"] for m in s["members"] or ()]
    given = [p for k in ("functions", "callbacks") for f in API[k] for p in f["parameters"]]
    inner = [m for outer in members for m in outer.get("members", ())]
    plain = [e["type"] for e in [*members, *given, *inner] if "(*)" not in e["type"]]
    words = {re.sub(r"\bconst\b|\bstruct\b|\*", "", t).strip() for t in plain}
    return sorted(words - known - _NUMBERS - {"union"})


def fixed(op: Entry) -> list[Entry]:
    return [o for o in op["operands"] if not o["variadic"]]


def variadic(op: Entry) -> Entry | None:
    """The operand of which there may be any number, always the last one."""
    found = [o for o in op["operands"] if o["variadic"]]
    return found[0] if found else None


def required(op: Entry) -> list[Entry]:
    return [a for a in op["attributes"] if a["required"]]


def optional(op: Entry) -> list[Entry]:
    return [a for a in op["attributes"] if not a["required"]]


def doc(op: Entry, width: int) -> list[str]:
    """What the op does: the first paragraph of its doc, plain, in lines."""
    paragraph = re.split(r"\n\s*\n", op["doc"])[0]
    plain = re.sub(r":\w+:`~?([^`]*)`|``([^`]*)``", r"\1\2", " ".join(paragraph.split()))
    return textwrap.wrap(plain, width)


def camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def filled(head: str, parts: list[str], tail: str, indent: str, width: int = 98) -> str:
    """``head(parts)tail``, on one line if it fits, else with its parts on lines of their own."""
    line = f"{head}({', '.join(parts)}){tail}"
    if len(line) <= width:
        return line
    body = textwrap.fill(", ".join(p.replace(" ", "\0") for p in parts), width,
                         initial_indent=indent, subsequent_indent=indent,
                         break_long_words=False, break_on_hyphens=False)  # fmt: skip
    return f"{head}(\n" + body.replace("\0", " ") + f"){tail}"


def lower_first(name: str) -> str:
    return name[:1].lower() + name[1:]
