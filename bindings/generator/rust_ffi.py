"""``ffi.rs``: the C ABI's types and functions for Rust."""

from __future__ import annotations

import re

from .common import API, NOTICE, Entry

PATH = "rust/src/ffi.rs"

_NAMES = {
    "void": "c_void", "char": "c_char", "int": "c_int", "bool": "bool", "double": "f64",
    "float": "f32", "int8_t": "i8", "uint8_t": "u8", "int16_t": "i16", "uint16_t": "u16",
    "int32_t": "i32", "size_t": "usize", "int64_t": "i64", "uint64_t": "u64", "uint32_t": "u32",
}  # fmt: skip
_KEYWORDS = frozenset("type in ref match move fn".split())


def _type(c: str) -> str:
    """A C type as Rust's; a pointer to const is ``*const``."""
    if "(*)" in c:
        returns, parameters = re.match(r"(.*?) \(\*\)\((.*)\)$", c).groups()  # type: ignore[union-attr]
        kinds = [_type(re.sub(r"\w+$", "", p).strip()) for p in parameters.split(", ")]
        return _pointer(kinds, returns)
    words = re.findall(r"\w+|\*", c.replace("struct ", ""))
    const = words[0] == "const"
    name = words[1] if const else words[0]
    found = _NAMES.get(name, name)
    for i, word in enumerate(words):
        if word == "*":
            found = f"*{'const' if const else 'mut'} {found}"
            const = words[i + 1:i + 2] == ["const"]
    return found


def _pointer(kinds: list[str], returns: str) -> str:
    result = "" if returns == "void" else f" -> {_type(returns)}"
    return f"Option<unsafe extern \"C\" fn({', '.join(kinds)}){result}>"


def _member(m: Entry, owner: str) -> str:
    kind = f"{owner}_{m['name']}" if m["type"] == "union" else _type(m["type"])
    return f"    pub {m['name']}: {kind},"


def _struct(s: Entry) -> str:
    if s["members"] is None:
        return f"#[repr(C)]\npub struct {s['name']} {{\n    _private: [u8; 0],\n}}"
    parts = []
    for m in s["members"]:
        if m["type"] == "union":
            body = "\n".join(_member(inner, "") for inner in m["members"])
            parts.append("#[repr(C)]\n#[derive(Clone, Copy)]\n"
                         f"pub union {s['name']}_{m['name']} {{\n{body}\n}}")  # fmt: skip
    body = "\n".join(_member(m, s["name"]) for m in s["members"])
    return "\n\n".join(
        [*parts, f"#[repr(C)]\n#[derive(Clone, Copy)]\npub struct {s['name']} {{\n{body}\n}}"])


def _function(f: Entry) -> str:
    names = [f"{p['name']}_" if p["name"] in _KEYWORDS else p["name"] for p in f["parameters"]]
    parameters = ", ".join(
        f"{n}: {_type(p['type'])}" for n, p in zip(names, f["parameters"], strict=True))
    result = "" if f["returns"] == "void" else f" -> {_type(f['returns'])}"
    return f"    pub fn {f['name']}({parameters}){result};"


def text() -> str:
    major, minor = API["abi"]["major"], API["abi"]["minor"]
    parts = [
        f"//! The C ABI as lazyloom.h declares it.\n//! {NOTICE}\n"
        "#![allow(non_camel_case_types, missing_docs)]\n\n"
        "use std::os::raw::{c_char, c_int, c_void};\n\n"
        f"pub const LOOM_ABI_MAJOR: u32 = {major};\npub const LOOM_ABI_MINOR: u32 = {minor};"
    ]
    for e in API["enums"]:
        constants = "\n".join(
            f"pub const {c['name']}: {e['name']} = {c['value']};" for c in e["constants"])
        parts.append(f"pub type {e['name']} = c_int;\n{constants}")
    for h in API["handles"]:
        parts.append("#[repr(C)]\n#[derive(Clone, Copy, PartialEq, Eq, Debug)]\n"
                     f"pub struct {h['name']} {{\n    pub bits: u64,\n}}")  # fmt: skip
    parts += [_struct(s) for s in API["structs"]]
    for c in API["callbacks"]:
        kinds = [_type(p["type"]) for p in c["parameters"]]
        parts.append(f"pub type {c['name']} = {_pointer(kinds, c['returns'])};")
    functions = "\n".join(_function(f) for f in API["functions"])
    parts.append(f'extern "C" {{\n{functions}\n}}\n')
    return "\n\n".join(parts)
