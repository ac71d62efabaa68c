"""``lazyloom_api.json``: up to date, and the same as what a C parser finds in the header."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cffi
import numpy as np
import pytest

from lazyloom_capi import api, header
from lazyloom_capi.client import Client

from .compilers import HERE

API: dict[str, Any] = json.loads((header.include_dir() / api.NAME).read_text())
DIRECTIONS = {"in", "out", "in and out", "new", "kept"}


@pytest.fixture(scope="module")
def parsed() -> cffi.FFI:
    ffi = cffi.FFI()
    ffi.cdef(header.declarations(header.text()))
    return ffi


def test_it_is_up_to_date() -> None:
    # in a process of its own: other tests may have entered ops of theirs in the table
    code = "from lazyloom_capi import api; print(api.text(), end='')"
    fresh = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    recorded = (header.include_dir() / api.NAME).read_text()
    assert recorded == fresh, "run: python -m lazyloom_capi --generate"


def test_its_functions_are_those_of_the_header(parsed: cffi.FFI) -> None:
    """Number and types of parameters and results, as cffi reads the declarations."""
    assert [f["name"] for f in API["functions"]] == list(header.functions(header.text()))
    # a pointer to each function, as the file has its types
    again = cffi.FFI()
    again.cdef(header.types(header.text()))
    again.cdef("\n".join(
        f"{f['returns']} {f['name']}({', '.join(map(declared, f['parameters'])) or 'void'});"
        for f in API["functions"]))  # fmt: skip
    for f in API["functions"]:
        prototypes = [str(prototype(ffi, f["name"])) for ffi in (parsed, again)]
        assert prototypes[0] == prototypes[1]
        words = header.functions(header.text())[f["name"]]
        assert all(re.search(rf"\b{p['name']}\b", words) for p in f["parameters"])


def declared(parameter: dict[str, Any]) -> str:
    if "(*)" in parameter["type"]:
        return str(parameter["type"]).replace("(*)", f"(*{parameter['name']})")
    return f"{parameter['type']} {parameter['name']}"


def prototype(ffi: Any, name: str) -> Any:
    return ffi._parser._declarations[f"function {name}"][0]


def test_its_inline_functions_are_those_of_the_headers() -> None:
    """A C program takes the address of each as the type that the file says."""
    listed = API["inline_functions"]
    declared_names: set[str] = set()
    for name in header.HEADER_ONLY:
        text = (header.include_dir() / name).read_text()
        declared_names |= set(re.findall(r"^#define (loom_\w+)\(\.\.\.\) \(LOOM_HERE", text, re.M))
        for struct in re.findall(r"^typedef struct (\w+[^_\W]) \{", text, re.M):
            assert struct in {s["name"] for s in API["inline_structs"]}
    assert declared_names <= {f["name"] for f in listed}
    assert all(f["header"] in header.HEADER_ONLY and f["doc"] for f in listed)
    checks = []
    for f in listed:
        types = ", ".join(p["type"] for p in f["parameters"])
        checks.append(f"  {{ {f['returns']} (*p)({types}) = ({f['name']}); (void)p; }}")
    lines = ['#include "lazyloom_ops.h"', '#include "lazyloom_nn.h"', "int main(void) {", *checks]
    program = "\n".join([*lines, "}", ""])
    done = subprocess.run(
        ["cc", "-std=c99", "-Werror", "-fsyntax-only", "-xc", "-", f"-I{header.include_dir()}"],
        input=program, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_its_types_are_those_of_the_header(parsed: cffi.FFI) -> None:
    named = {e["name"] for k in ("handles", "enums", "structs", "callbacks") for e in API[k]}
    tags = {s["name"] for s in API["structs"] if s.get("tag")}
    assert named - tags == set(parsed.list_types()[0]) and tags <= set(parsed.list_types()[1])
    for e in API["enums"]:
        assert {c["value"]: c["name"] for c in e["constants"]} == parsed.typeof(e["name"]).elements
    for s in API["structs"]:
        fields = parsed.typeof(f"struct {s['name']}" if s.get("tag") else s["name"]).fields
        assert (s["members"] is None) == (fields is None)
        if fields is not None:
            assert {m["name"] for m in s["members"]} == {n for n, _ in fields}
    for h in API["handles"]:
        release = next(f for f in API["functions"] if f["name"] == h["release"])
        assert [p["type"] for p in release["parameters"]] == [h["name"]]
    for c in API["callbacks"]:
        assert len(c["parameters"]) == len(parsed.typeof(c["name"]).args)


def test_versions_are_those_of_the_released_headers() -> None:
    """A function is in the headers of the versions from the one on that it came with."""
    minors = {f["name"]: f["since"] for f in API["functions"]}
    for folder in (f for f in (HERE / "released").iterdir() if f.is_dir()):
        minor = int(folder.name.partition(".")[2])
        then = "".join((folder / n).read_text() for n in header.NAMES if (folder / n).exists())
        assert set(header.functions(then)) == {n for n, m in minors.items() if m <= minor}
        constants = {c["name"] for e in API["enums"] for c in e["constants"] if c["since"] <= minor}
        assert constants == set(re.findall(r"^  (LOOM_\w+) = \d+", then, flags=re.M)), minor


def test_ownership_is_said_of_every_handle_that_is_given_out() -> None:
    handles = {f"{h['name']} *" for h in API["handles"]}
    for f in API["functions"]:
        for p in f["parameters"]:
            assert p["direction"] in DIRECTIONS
            if p["type"] in handles:
                assert p["direction"] in ("new", "in and out"), f["name"]
            pointer = "*" in p["type"] or p["type"] in {c["name"] for c in API["callbacks"]}
            assert ("nullable" in p) == pointer, (f["name"], p)
    by_name = {f["name"]: {p["name"]: p for p in f["parameters"]} for f in API["functions"]}
    assert by_name["loom_tensor_share_host"]["data"]["direction"] == "kept"
    assert by_name["loom_tensor_share_host"]["data"]["nullable"] == "empty"
    assert by_name["loom_tensor_share_host"]["done"]["nullable"] is True
    assert by_name["loom_source"]["results"]["length"] == "capacity"
    assert by_name["loom_backward"]["cotangents"]["null_handle"]
    assert by_name["loom_scan"]["results"]["length"] == "carry_count + ys_count"


#: what ends the runtime, begins what another call has to end, waits, or takes a structure of
#: callbacks or one that it keeps
NOT_CALLED = {"loom_shutdown", "loom_capture_begin", "loom_capture_end", "loom_tensor_on_ready",
              "loom_quantize_function", "loom_distributed_barrier", "loom_finish_compiling",
              "loom_apply_custom",
              "loom_distributed_initialize", "loom_codegen_use", "loom_set_log"}  # fmt: skip


@pytest.mark.parametrize("name", [
    f["name"] for f in API["functions"]
    if f["returns"] == "loom_status" and f["name"] not in NOT_CALLED])
def test_null_is_an_error_where_it_may_not_be_given(client: Client, name: str) -> None:
    # on a thread of their own, as they set its gradient switch and its options
    with ThreadPoolExecutor(1) as thread:
        thread.submit(leave_out_each_pointer, client, name).result()


def leave_out_each_pointer(client: Client, name: str) -> None:
    """Each pointer is left out once; the library names it, unless the file says that it may be."""
    ffi, parameters = client.ffi, parameters_of(name)
    tensor = client.from_numpy(np.ones(1, np.float32))
    kept: list[Any] = []

    def argument(p: dict[str, Any], left_out: str, count: int) -> Any:
        kind = p["type"]
        if p["name"] == left_out:
            return ffi.NULL
        if kind.endswith("_function"):
            kept.append(ffi.callback(kind, lambda *given: 1))
            return kept[-1]
        if "nullable" in p:
            kept.append(ffi.new("char[4096]"))
            struct = kind.replace("const ", "").rstrip(" *")
            if struct in SIZED:
                ffi.cast("size_t *", kept[-1])[0] = ffi.sizeof(struct)
            return ffi.NULL if "(*)" in kind else ffi.cast(kind, kept[-1])
        if kind == "loom_tensor":
            return tensor.handle
        return ffi.new(f"{kind} *")[0] if kind in HANDLES else count if kind == "size_t" else 0

    for p in parameters:
        for count in (0, 1) if p.get("nullable") == "empty" else (1,):
            if "nullable" not in p:
                continue
            given = [argument(q, p["name"], count) for q in parameters]
            status = getattr(client.lib, name)(*given)
            message = ffi.string(client.lib.loom_error_message()).decode() if status else ""
            expected = not p["nullable"] or p["nullable"] == "empty" and count > 0
            assert (f"{p['name']} is NULL" in message) == expected, (p, count, status, message)


HANDLES = {h["name"] for h in API["handles"]}
#: structures that begin with their size
SIZED = {s["name"] for s in API["structs"] if s["members"] and s["members"][0]["name"] == "size"}


def parameters_of(name: str) -> list[dict[str, Any]]:
    return next(f["parameters"] for f in API["functions"] if f["name"] == name)


def test_a_comment_that_leaves_ownership_open_is_an_error() -> None:
    text = header.text()
    assert "result: new. Errors: LOOM_ERROR_ARGUMENT, LOOM_ERROR_SHAPE" in text
    open_ = text.replace("result: new. Errors: LOOM_ERROR_ARGUMENT, LOOM_ERROR_SHAPE", "Errors:")
    with pytest.raises(ValueError, match=r"loom_tensor_from_host\(\) gives handles out by result"):
        api.declared(open_)


def test_ops_are_those_that_the_library_describes() -> None:
    recorded = json.loads((HERE / "ops.json").read_text())
    assert {o["name"] for o in API["ops"]} == set(recorded)
    for op in API["ops"]:
        kept = recorded[op["name"]]
        assert [o["name"] for o in op["operands"]] == [o["name"] for o in kept["operands"]]
        assert [a["default"] for a in op["attributes"]] == [
            a["default"] for a in kept["attributes"]]
        assert op["outputs"] == kept["outputs"]
