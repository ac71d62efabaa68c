"""``man/*.Rd``: R's help, of every op and of what the layer adds."""

from __future__ import annotations

import re
import textwrap

from .common import BINDINGS, NOTICE, OPS, doc
from .r import signature

#: the files by hand, in the order in which the package loads them
_FILES = ("lazyloom", "programs", "reports")


def _escaped(text: str) -> str:
    return re.sub(r"([\\%{}])", r"\\\1", text)


def _page(name: str, title: str, about: str, entries: list[tuple[str, str, list[str]]]) -> str:
    """A page of functions: of each its name, its call, and what is said of it."""
    lines = [f"% {NOTICE}", f"\\name{{{name}}}", f"\\title{{{title}}}", f"\\alias{{{name}}}"]
    lines += [f"\\alias{{{alias}}}" for alias, _, _ in entries if alias != name]
    lines += ["\\description{", *textwrap.wrap(about, 94), "}"]
    lines += ["\\section{Functions}{", "\\describe{"]
    for _, call, said in entries:
        lines += [f"\\item{{\\code{{{_escaped(call)}}}}}{{", *map(_escaped, said), "}"]
    return "\n".join([*lines, "}", "}", ""])


def ops_text() -> str:
    entries = [(f"loom_{op['name']}", f"loom_{op['name']}({', '.join(signature(op))})",
                doc(op, 94)) for op in OPS]  # fmt: skip
    return _page(
        "loom_ops", "Operations on tensors",
        "Each records an operation and computes nothing. Operands are tensors or numbers, NULL for "
        "one that is left out; axes count from 0. An operation of several results gives a list.",
        entries)


def _by_hand() -> list[tuple[str, str, list[str]]]:
    found = []
    for file in _FILES:
        text = (BINDINGS / "r" / "R" / f"{file}.R").read_text()
        pattern = re.compile(r"((?:^#.*\n)*)^(loom_\w+) <- function\(", flags=re.M)
        for match in pattern.finditer(text):
            depth, end = 1, match.end()
            while depth:
                depth += {"(": 1, ")": -1}.get(text[end], 0)
                end += 1
            call = " ".join(text[match.end():end - 1].split())
            said = " ".join(line.lstrip("# ") for line in match[1].splitlines())
            found.append((match[2], f"{match[2]}({call})", textwrap.wrap(
                said or match[2].removeprefix("loom_").replace("_", " ").capitalize() + ".", 94)))
    return found


def layer_text() -> str:
    return _page(
        "lazyloom", "A lazy tensor runtime",
        "Operations on tensors are recorded as they are called and compiled, as one program, when "
        "a value is needed: see loom_ops for them. What fails is a condition of the class "
        "loom_error, with status, op, argument, index, and site.", _by_hand())


def texts() -> dict[str, str]:
    """Path below bindings/ to contents."""
    return {"r/man/loom_ops.Rd": ops_text(), "r/man/lazyloom.Rd": layer_text()}
