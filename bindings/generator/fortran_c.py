"""``lazyloom_c.f90``: the C ABI by iso_c_binding."""

from __future__ import annotations

from .common import API, NOTICE, Entry

PATH = "fortran/lazyloom_c.f90"

_NAMES = {
    "int": "integer(c_int)", "bool": "logical(c_bool)", "double": "real(c_double)",
    "float": "real(c_float)", "int32_t": "integer(c_int32_t)", "uint8_t": "integer(c_int8_t)",
    "size_t": "integer(c_size_t)", "int64_t": "integer(c_int64_t)",
    "uint64_t": "integer(c_int64_t)", "uint32_t": "integer(c_int32_t)",
}  # fmt: skip
_ENUMS = {e["name"] for e in API["enums"]}
_HANDLES = {h["name"] for h in API["handles"]}
_CALLBACKS = {c["name"] for c in API["callbacks"]}


def _type(c: str) -> str:
    if "(*)" in c or c in _CALLBACKS:
        return "type(c_funptr)"
    if "*" in c:
        return "type(c_ptr)"
    if c in _ENUMS:
        return "integer(c_int)"
    return f"type({c}_t)" if c in _HANDLES else _NAMES[c]


def _wrapped(head: str, names: list[str], tail: str) -> str:
    """A statement on lines of at most a hundred characters."""
    lines, current = [], head + "("
    for i, name in enumerate(names):
        piece = name + (", " if i < len(names) - 1 else "")
        if len(current) + len(piece) > 92:
            lines.append(current + "&")
            current = "        "
        current += piece
    lines.append(current + ")")
    if len(current) + len(tail) > 94:
        lines[-1] += " &"
        lines.append("       " + tail)
    else:
        lines[-1] += tail
    return "\n".join(lines)


def _function(f: Entry) -> str:
    # an argument may not be called as the procedure, nor twice in another case
    names = [f"{p['name']}_" if p["name"].startswith("loom") else p["name"]
             for p in f["parameters"]]  # fmt: skip
    void = f["returns"] == "void"
    kind = "subroutine" if void else "function"
    result = "" if void else " result(found)"
    head = _wrapped(f"    {kind} c_{f['name']}", names, f' bind(c, name="{f["name"]}"){result}')
    lines = [head, "      import"]
    lines += [f"      {_type(p['type'])}, value :: {n}"
              for n, p in zip(names, f["parameters"], strict=True)]  # fmt: skip
    if not void:
        lines.append(f"      {_type(f['returns'])} :: found")
    return "\n".join([*lines, f"    end {kind}"])


def _struct(s: Entry) -> str:
    # a union of eight bytes is eight bytes
    members = "\n".join(
        f"    {'integer(c_int64_t)' if m['type'] == 'union' else _type(m['type'])} :: {m['name']}"
        for m in s["members"])
    return f"  type, bind(c) :: {s['name']}_t\n{members}\n  end type"


def text() -> str:
    constants = "\n".join(
        f"  integer(c_int), parameter :: {c['name'].lower()} = {c['value']}"
        for e in API["enums"] for c in e["constants"])  # fmt: skip
    handles = "\n".join(
        f"  type, bind(c) :: {h['name']}_t\n    integer(c_int64_t) :: bits = 0\n  end type"
        for h in API["handles"])
    structs = "\n".join(_struct(s) for s in API["structs"] if s["members"] is not None)
    functions = "\n".join(_function(f) for f in API["functions"])
    return (f"! The C ABI by iso_c_binding.\n! {NOTICE}\n"
            "module lazyloom_c\n  use, intrinsic :: iso_c_binding\n  implicit none\n\n"
            f"{constants}\n\n"
            f"{handles}\n{structs}\n\n  interface\n{functions}\n  end interface\n"
            "end module\n")  # fmt: skip
