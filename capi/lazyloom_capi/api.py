"""``lazyloom_api.json``: the header and the op table as data, from which bindings are generated.

Types, names and versions are read from the declarations. What a declaration cannot say is read from
its comment, which has a clause ``name: direction, ...`` for each parameter that needs one:

- direction: ``in``, ``out``, ``in and out``, ``new`` (an out handle that the caller owns) or
  ``kept`` (the library reads it after the call). Without a clause it is that of the type: ``in``
  for a value and for a pointer to const, ``out`` for another pointer. A pointer to handles that
  are given out needs a clause, for it says who releases them.
  A comment of a section, before an empty line, has clauses for all functions of the section.
  A comment that says "as in loom_x()", "as loom_x()" or "Like loom_x()" has its clauses, too.
- nullable: true where the clause says NULL, and of every callback's context and every text result's
  needed; "empty" of other lists, and where the clause says so: NULL may be given if the length is
  0; false where it says "not NULL".
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final, NamedTuple

import lazyloom

from . import describe, generate, header

NAME: Final = "lazyloom_api.json"

Entry = dict[str, Any]

_CLAUSE: Final = re.compile(
    r"(?:(?<=^)|(?<=[.;:] ))((?:\w+, )*\w+): "
    r"(?=(in and out|in|out|new|kept)\b)?(.*?)(?=(?:[.;] (?:\w+, )*\w+: )|$)", flags=re.S)


class _Statement(NamedTuple):
    """A declaration: its text, with the comments in it, what is said of it, and since when."""

    text: str
    comment: str
    section: str
    minor: int
    trailing: str
    of_section: str


def _words(comment: str) -> str:
    return " ".join(comment.removeprefix("/*").removesuffix("*/").split())


def _statements(text: str) -> list[_Statement]:
    """The declarations of the headers in order; those of inline functions end at their brace.

    A comment is that of the declarations that follow it without an empty line.
    """
    text = re.sub(r"^#ifdef __cplusplus$.*?^#endif$", "", text, flags=re.M | re.S)
    text = re.sub(r"^#if defined\(__GNUC__\)$.*?^#endif$", "", text, flags=re.M | re.S)
    text = text.replace("\\\n", " ")
    found: list[_Statement] = []
    comment = section = of_section = ""
    attached = False
    versions: list[int] = []
    at = 0
    end_of_last = -1
    pattern = re.compile(r"\s*(?:(/\*.*?\*/)|(#[^\n]*))", flags=re.S)
    while True:
        match = pattern.match(text, at)
        if match is not None:
            if match[1] is not None:
                if end_of_last >= 0 and "\n" not in text[end_of_last:match.start(1)]:
                    found[-1] = found[-1]._replace(trailing=_words(match[1]))
                elif match[1].startswith("/* ----"):
                    section, comment, of_section = _words(match[1]).strip("- "), "", ""
                else:
                    of_section += "" if attached else f" {comment}"
                    comment, attached = _words(match[1]), False
            else:
                _preprocess(match[2], versions)
            at, end_of_last = match.end(), -1
            continue
        statement, at = _statement(text, at)
        if not statement.strip():
            return found
        if "\n\n" in statement[:len(statement) - len(statement.lstrip())]:
            of_section += "" if attached else f" {comment}"
            comment = ""
        attached = True
        found.append(_Statement(
            statement.strip(), comment, section, max([0, *versions]), "", of_section.strip()))
        end_of_last = at


def _preprocess(line: str, versions: list[int]) -> None:
    """Follow the conditions that a line opens or closes, each by the minor version it asks for."""
    if line.startswith("#if"):
        asked = re.match(r"#if LOOM_TARGET_VERSION >= LOOM_VERSION\(1, (\d+)\)", line)
        versions.append(int(asked[1]) if asked else 0)
    elif line.startswith("#endif"):
        versions.pop()


def _statement(text: str, at: int) -> tuple[str, int]:
    """The text up to the end of the declaration that begins at a place, and that end."""
    depth = 0
    i = at
    while i < len(text):
        if text.startswith("/*", i):
            i = text.index("*/", i) + 2
            continue
        if text[i] in "'\"":
            # of characters in quotes none opens or ends anything
            quoted = re.compile(r"(['\"])(?:\\.|(?!\1).)*\1").match(text, i)
            i = quoted.end() if quoted is not None else i + 1
            continue
        if text[i] == "{":
            depth += 1
        elif text[i] == "}":
            depth -= 1
            if depth == 0 and text[at:i].lstrip().startswith("static inline"):
                return text[at:i + 1], i + 1
        elif text[i] == ";" and depth == 0:
            return text[at:i + 1], i + 1
        i += 1
    return text[at:], len(text)


def _bare(text: str) -> str:
    """A declaration without comments and macros, on one line."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return " ".join(re.sub(r"\b(LOOM_API|LOOM_CHECK|static inline)\b", " ", text).split())


# ---- what comments say ----------------------------------------------------------------------


def _clauses(comment: str) -> dict[str, tuple[str | None, str]]:
    """Of each parameter that a comment has clauses for: its direction, if said, and the clauses."""
    found: dict[str, tuple[str | None, str]] = {}
    for match in _CLAUSE.finditer(comment):
        for name in match[1].split(", "):
            direction, said = found.get(name, (None, ""))
            found[name] = (match[2] or direction, f"{said} {match[3]}")
    return found


def _changes(text: str) -> dict[str, int]:
    """The minor version that each name came with, as the list of changes has it."""
    listed = text.split("ABI changes, newest first")[1].split("*/")[0]
    found: dict[str, int] = {}
    for minor, names in re.findall(r"\n +1\.(\d+)  (.*?)(?=\n +1\.\d+  |$)", listed, flags=re.S):
        for name in re.findall(r"\b(?:loom|LOOM)_\w+", names):
            found[name] = int(minor)
    return found


# ---- declarations ---------------------------------------------------------------------------


def _split(text: str) -> list[str]:
    """Parameters, at the commas outside parentheses."""
    parts, depth, current = [], 0, ""
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += c
    return [p for p in [*parts, current.strip()] if p and p != "void"]


def _typed(declaration: str) -> tuple[str, str]:
    """Name and type of a parameter or member."""
    pointer = re.match(r"(.*)\(\*(\w+)\)(\(.*\))$", declaration)
    if pointer is not None:
        return pointer[2], f"{pointer[1].strip()} (*){pointer[3]}"
    found = re.match(r"(.*?)(\w+)$", declaration)
    assert found is not None, declaration
    return found[2], found[1].strip()


def _parameters(text: str, comment: str, function: str, handles: set[str]) -> list[Entry]:
    clauses = _clauses(comment)
    found: list[Entry] = []
    declared = [_typed(p) for p in _split(text)]
    for i, (name, kind) in enumerate(declared):
        direction, said = clauses.get(name, (None, ""))
        # a callback's type is that of a pointer
        pointer = kind.endswith(("*", "_function")) or "(*)" in kind
        if direction is None:
            out = kind.endswith("*") and not kind.startswith("const ") or kind.endswith("**")
            # the one that a pointer is about is what a callback is given back
            out = out and kind != "void *" and kind != "loom_error *"
            direction = "out" if out else "in"
            if out and kind.removesuffix("*").strip() in handles:
                raise ValueError(
                    f"lazyloom.h: {function}() gives handles out by {name}, and its comment does "
                    f"not say whose they are; expected a clause such as '{name}: new'")
        entry: Entry = {"name": name, "type": kind, "direction": direction}
        if "null handle" in said:
            # of a list, some of its entries
            entry["null_handle"] = True
        length = _length(kind, said, [n for n, t in declared if t == "size_t"],
                         [n for n, t in declared[i + 1:] if t == "size_t"])
        if name == "context":
            length = None
        if length is not None:
            entry["length"] = length
        if pointer:
            never = "not NULL" in said
            always = "NULL" in said and re.search(r"NULL (if|with|where)\b", said) is None
            entry["nullable"] = not never and (always or name in ("needed", "context") or (
                "empty" if length is not None else False))
        found.append(entry)
    return found


def _length(kind: str, said: str, sizes: list[str], later: list[str]) -> str | None:
    """How many entries, or bytes, a pointer points to, in terms of other parameters; None for one.

    A clause names it; a list without one is followed by its length.
    """
    if not kind.endswith("*") or kind in ("const char *", "size_t *") or not sizes:
        return None
    named = [n for n in re.findall(r"\w+", said) if n in sizes]
    sum_of = re.search(r"(\w+) \+ (\w+) entries", said)
    if sum_of is not None and {sum_of[1], sum_of[2]} <= set(sizes):
        return f"{sum_of[1]} + {sum_of[2]}"
    if named:
        return str(named[0])
    if later and (kind.startswith("const ") or kind in ("char *", "void *", "loom_tensor *")):
        return later[0]
    return None


def _enum(statement: _Statement, changes: dict[str, int]) -> Entry:
    match = re.match(r"typedef enum (\w+) \{(.*)\} \w+;$", statement.text, flags=re.S)
    assert match is not None
    constants = []
    for name, value, doc in re.findall(
        r"(\w+) = (\d+),?[ \t]*(?:/\*(.*?)\*/)?", match[2], flags=re.S
    ):
        since = changes.get(name, statement.minor)
        constants.append(
            {"name": name, "value": int(value), "doc": " ".join(doc.split()), "since": since})
    return {"name": match[1], "doc": statement.comment, "constants": constants}


def _members(body: str) -> list[Entry]:
    found: list[Entry] = []
    for union in re.findall(r"union \{(.*?)\} (\w+);", body, flags=re.S):
        found.append({"name": union[1], "type": "union", "doc": "", "members": _members(union[0])})
    outside = re.sub(r"union \{.*?\} \w+;", "", body, flags=re.S)
    simple: list[Entry] = []
    for declared, doc in re.findall(r"(\w[^;{}/]*);[ \t]*(?:/\*(.*?)\*/)?", outside, flags=re.S):
        name, kind = _typed(" ".join(declared.split()))
        simple.append({"name": name, "type": kind, "doc": " ".join(doc.split())})
    return simple + found


def _function(
    statement: _Statement, handles: set[str], macros: set[str], comments: dict[str, str]
) -> Entry:
    """A function; comments are those of the functions before it."""
    match = re.match(r"(.*?)(\w+)\((.*)\);$", _bare(statement.text))
    assert match is not None, statement.text
    others = [comments[n] for n in re.findall(
        r"\b(?:[Ll]ike|as|as in) (loom_\w+)\(\)", statement.comment) if n in comments]
    # its own clauses come last, and so before those of others
    whole = " ".join([statement.of_section, *others, statement.comment])
    comments[match[2]] = whole
    told = whole if re.search(r"rrors as loom_|Like loom_", statement.comment) else (
        statement.comment)
    if "Errors of all:" in statement.of_section:
        told += statement.of_section.split("Errors of all:")[1]
    errors = [n if n.startswith("LOOM_") else f"LOOM_ERROR{n}" for n in re.findall(
        r"LOOM_ERROR\w*|(?<=[ ,;])_[A-Z_]+\b", told)]
    return {
        "name": match[2],
        "section": statement.section,
        "returns": match[1].strip(),
        "parameters": _parameters(match[3], whole, match[2], handles),
        "since": statement.minor,
        "checked": "LOOM_CHECK" in statement.text,
        "notes_line": match[2] in macros,
        "errors": list(dict.fromkeys(errors)) if match[1].strip() == "loom_status" else [],
        "doc": statement.comment,
    }


def declared(text: str) -> Entry:
    """What the headers declare, without the ops."""
    statements = _statements(text)
    changes = _changes(text)
    macros = set(re.findall(r"^#define (loom_\w+)\(\.\.\.\)", text, flags=re.M))
    handle = re.compile(r"typedef struct (\w+) \{\s*uint64_t bits;\s*\} \w+;$")
    handles = {m[1] for s in statements if (m := handle.match(s.text))}
    found: Entry = {"handles": [], "enums": [], "structs": [], "callbacks": [], "functions": []}
    inline = []
    comments: dict[str, str] = {}
    for s in statements:
        bare = _bare(s.text)
        if s.text.startswith("static inline"):
            inline.append(re.sub(r" ?\{.*", "", bare))
        elif (m := handle.match(s.text)) is not None:
            release = re.search(r"(loom_\w+_release)\(\)", s.trailing)
            assert release is not None, f"{m[1]}: its comment names no function that releases it"
            doc = s.trailing.removesuffix(f"; {release[0]}")
            found["handles"].append({"name": m[1], "doc": doc, "release": release[1]})
        elif s.text.startswith("typedef enum"):
            found["enums"].append(_enum(s, changes))
        elif (m := re.match(r"typedef struct (\w+) \{(.*)\} \w+;$", s.text, flags=re.S)):
            found["structs"].append({"name": m[1], "doc": s.comment, "members": _members(m[2])})
        elif (m := re.match(r"typedef struct (\w+) \w+;$", bare)):
            found["structs"].append({"name": m[1], "doc": s.comment, "members": None})
        elif (m := re.match(r"struct (\w+);$", bare)):
            # of another header, which need not be there
            found["structs"].append(
                {"name": m[1], "doc": s.comment, "members": None, "tag": True})
        elif (m := re.match(r"typedef (.*?) ?\(\*(\w+)\)\((.*)\);$", bare)):
            found["callbacks"].append({
                "name": m[2], "doc": s.comment, "returns": m[1],
                # a callback fills in what it gives out: the handles are then the library's
                "parameters": _parameters(m[3], s.comment, m[2], set()),
            })
        else:
            found["functions"].append(_function(s, handles, macros, comments))
    _since(found, changes)
    found["inline"] = inline
    found["macros"] = [
        {"name": name, "doc": doc} for name, doc in (
            ("LOOM_ABI_MAJOR", "the ABI's major version"),
            ("LOOM_ABI_MINOR", "the ABI's minor version"),
            ("LOOM_VERSION", "(major, minor): a version as one number"),
            ("LOOM_TARGET_VERSION",
             "defined before: the version of the libraries to run with; newer names are hidden"),
            ("LOOM_NO_SOURCE_LOCATIONS",
             "defined before: no function is a macro that notes the caller's line"),
            ("LOOM_HERE", "notes the caller's line"),
        ) if re.search(rf"\b{name}\b", text)]  # fmt: skip
    return found


def _since(found: Entry, changes: dict[str, int]) -> None:
    """Types came with the first function that takes them."""
    uses = [(f["since"], f["returns"] + " " + " ".join(p["type"] for p in f["parameters"]))
            for f in found["functions"]]
    for group in ("callbacks", "structs", "enums", "handles"):
        for entry in found[group]:
            name = entry["name"]
            minors = [minor for minor, types in uses if re.search(rf"\b{name}\b", types)]
            entry["since"] = changes.get(name, min(minors, default=0))
            for constant in entry.get("constants", ()):
                constant["since"] = max(constant["since"], entry["since"])
            text = json.dumps([p["type"] for p in entry.get("parameters", ())]
                              + [m["type"] for m in entry.get("members") or ()])  # fmt: skip
            uses.append((entry["since"], text))


# ---- inline functions -----------------------------------------------------------------------


def header_only(text: str, name: str, handles: set[str]) -> tuple[list[Entry], list[Entry]]:
    """The inline functions of a header that the library does not export, and its structures.

    Names that end in an underscore are private.
    """
    macros = set(re.findall(r"^#define (loom_\w+)\(\.\.\.\)", text, flags=re.M))
    functions: list[Entry] = []
    structs: list[Entry] = []
    comments: dict[str, str] = {}
    names = set(re.findall(r"\bloom_\w+(?= \*)", text)) - handles
    for s in _statements(text):
        structure = re.match(r"typedef struct (\w+) \{", s.text)
        prototype = re.sub(r"\)\s*\{.*", ");", s.text, count=1, flags=re.S)
        private = re.search(r"_\(", prototype) is not None
        if structure is not None and not structure[1].endswith("_"):
            structs.append({"name": structure[1], "header": name, "doc": s.comment,
                            "declaration": _bare(s.text)})  # fmt: skip
        elif s.text.startswith("static inline") and not private:
            entry = _function(s._replace(text=prototype), handles, macros, comments)
            said = _clauses(s.comment)
            for p in entry["parameters"]:
                # a structure is changed, not only filled in, unless its clause says so
                if p["type"].endswith(" *") and p["type"][:-2] in names and (
                    p["direction"] == "out" and said.get(p["name"], (None, ""))[0] is None
                ):
                    p["direction"] = "in and out"
            functions.append({"name": entry["name"], "header": name, **{
                k: entry[k] for k in ("section", "returns", "parameters", "checked", "notes_line",
                                      "errors", "doc")}})  # fmt: skip
    return functions, structs


# ---- ops ------------------------------------------------------------------------------------


def _op(op: Any, versions: dict[str, int] | None) -> Entry:
    described = describe.op_description(op)
    signature = op.signature
    for attribute in described["attributes"]:
        attribute["since"] = versions[attribute["name"]] if versions else 0
    return {
        "name": op.name,
        "since": versions[""] if versions else 0,
        # those that hold a recorded function are functions of the header, or of frontends alone
        "wrapped": versions is not None,
        "of_numbers": len(op.operands) > 1 or bool(signature.of_numbers),
        **{k: described[k] for k in ("operands", "attributes", "outputs", "lists",
                                     "differentiable", "family", "source", "doc")},
        "results": generate.said_of_lists(op).get("results", ""),
    }


def data() -> Entry:
    """Everything, as plain data.

    Raises:
        ValueError: a comment of the header does not say what the declaration cannot.
    """
    major, minor = header.abi_version()
    versions = generate.since()
    ops = [_op(op, versions.get(name)) for name, op in sorted(lazyloom.ops.table().items())]
    found = declared(header.text())
    handles = {h["name"] for h in found["handles"]}
    # compiled into the caller's program: a binding that has no C compiler cannot call them
    inline: dict[str, list[Entry]] = {"inline_functions": [], "inline_structs": []}
    for name in header.HEADER_ONLY:
        functions, structs = header_only((header.include_dir() / name).read_text(), name, handles)
        inline["inline_functions"] += functions
        inline["inline_structs"] += structs
    return {"abi": {"major": major, "minor": minor}, **found, **inline, "ops": ops}


def text() -> str:
    """The file: JSON, a line for each entry."""
    lines = []
    for key, value in data().items():
        if isinstance(value, list):
            entries = ",\n".join(f"  {json.dumps(v, ensure_ascii=False)}" for v in value)
            lines.append(f"{json.dumps(key)}: [\n{entries}\n]")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write() -> Path:
    """Write the file beside ``lazyloom.h``; gives its path."""
    target = header.include_dir() / NAME
    target.write_text(text())
    return target
