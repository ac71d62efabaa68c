"""The C ABI's declarations as foreign function interfaces read them, without preprocessor."""

from __future__ import annotations

from .common import API, Entry


def _declared(kind: str, name: str) -> str:
    # all structures have names of their own
    kind = kind.replace("struct ", "")
    if "(*)" in kind:
        return kind.replace("(*)", f"(*{name})")
    return f"{kind}{'' if kind.endswith('*') else ' '}{name}"


def _members(members: list[Entry]) -> str:
    found = []
    for m in members:
        if m["type"] == "union":
            found.append(f"union {{ {_members(m['members'])} }} {m['name']};")
        else:
            found.append(_declared(m["type"], m["name"]) + ";")
    return " ".join(found)


def _parameters(entry: Entry) -> str:
    return ", ".join(_declared(p["type"], p["name"]) for p in entry["parameters"]) or "void"


def declarations() -> list[str]:
    """A line for each, types before what uses them.

    Structures are named first, for callbacks take pointers to them, and may be members of them.
    """
    lines = []
    for e in API["enums"]:
        constants = ", ".join(f"{c['name']} = {c['value']}" for c in e["constants"])
        lines.append(f"typedef enum {e['name']} {{ {constants} }} {e['name']};")
    for h in API["handles"]:
        lines.append(f"typedef struct {h['name']} {{ uint64_t bits; }} {h['name']};")
    lines += [f"typedef struct {s['name']} {s['name']};" for s in API["structs"]]
    for c in API["callbacks"]:
        lines.append(f"typedef {c['returns']} (*{c['name']})({_parameters(c)});")
    for s in API["structs"]:
        if s["members"] is not None:
            lines.append(f"struct {s['name']} {{ {_members(s['members'])} }};")
    return [*lines, *functions()]


def functions() -> list[str]:
    """The prototypes, a line for each."""
    return [f"{_declared(f['returns'], f['name'])}({_parameters(f)});" for f in API["functions"]]
