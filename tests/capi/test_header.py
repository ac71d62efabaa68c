"""The headers: generated part up to date, what targets hide, ABI as recorded."""

from __future__ import annotations

import difflib
import json
import re
import subprocess
import sys
from pathlib import Path

import cffi
import pytest

import lazyloom
from lazyloom_capi import build, generate, header

from .compilers import C99, CXX17, HERE

INCLUDE = header.include_dir()
HEADER = header.text()
RECORD = HERE / "abi.txt"


def check_syntax(compiler: list[str], text: str) -> None:
    done = subprocess.run(
        [*compiler, *build.cflags(), "-fsyntax-only", "-"], input=text, capture_output=True,
        text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("compiler", [C99, CXX17], ids=["c99", "c++17"])
def test_every_wrapper_can_be_called_by_name(compiler: list[str]) -> None:
    """The macros that note the line hide no function: each name still has an address."""
    names = re.findall(r"^static inline LOOM_CHECK loom_status (\w+)\(", wrappers(), flags=re.M)
    assert len(names) > len(lazyloom.ops.names())
    uses = "\n".join(f"  used += (void (*)(void)){n} != 0;" for n in names)
    # a function's address is never null, which compilers know and warn of
    quiet = [*compiler, "-Wno-address", "-Wno-cast-function-type", "-Wno-nonnull-compare"]
    check_syntax(quiet, '#include "lazyloom_ops.h"\nint main(void) {\n  int used = 0;\n'
                 f"{uses}\n  return used;\n}}\n")  # fmt: skip


def wrappers() -> str:
    return (INCLUDE / generate.NAME).read_text()


def test_generated_header_is_up_to_date() -> None:
    # in a process of its own: other tests may have entered ops of theirs in the table
    code = "from lazyloom_capi import generate; print(generate.text(), end='')"
    fresh = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert wrappers() == fresh, "run: python -m lazyloom_capi --generate"


def test_every_op_has_a_documented_wrapper() -> None:
    text = wrappers()
    for name in fresh_ops():
        assert re.search(rf"\*/\nstatic inline LOOM_CHECK loom_status loom_{name}\(", text), name
        assert f"#define loom_{name}(...)" in text


def fresh_ops() -> list[str]:
    return subprocess.run(
        [sys.executable, "-c", "import lazyloom; "
         "print(*(n for n, o in lazyloom.ops.table().items() if not o.signature.bodies))"],
        capture_output=True, text=True, check=True).stdout.split()  # fmt: skip


def test_header_is_read_with_all_that_it_includes() -> None:
    own = re.findall(r'#include "(\S+)"', HEADER)
    assert {*own, "lazyloom.h"} == set(header.NAMES)


def test_what_is_newer_than_the_target_is_hidden() -> None:
    target = "#define LOOM_TARGET_VERSION (1 << 16 | 5)\n"
    use = '#include "lazyloom_ops.h"\nvoid (*f)(void) = (void (*)(void)){};\n'
    check_syntax(C99, target + use.format("loom_codegen_use"))
    for newer in ("loom_capture_run", "loom_set_error", "loom_error_take", "loom_all_reduce"):
        with pytest.raises(AssertionError, match="undeclared"):
            check_syntax(C99, target + use.format(newer))
    with pytest.raises(AssertionError, match="LOOM_TARGET_VERSION"):
        check_syntax(C99, "#define LOOM_TARGET_VERSION (2 << 16)\n" + use.format("loom_add"))


def test_all_that_is_newer_than_the_first_version_is_marked() -> None:
    """With the target of each version the header declares what that version did."""
    for folder in (HERE / "released").iterdir():
        if not folder.is_dir():
            continue
        then = "".join((folder / n).read_text() for n in header.NAMES if (folder / n).exists())
        version = ", ".join(folder.name.split("."))
        seen = subprocess.run(
            ["cc", "-E", "-P", *build.cflags(), "-"], capture_output=True, text=True, check=True,
            input=f"#define LOOM_NO_SOURCE_LOCATIONS\n#define LOOM_TARGET_VERSION "
            f"LOOM_VERSION({version})\n#include \"lazyloom.h\"\n").stdout  # fmt: skip
        assert set(re.findall(r"\bloom_status (loom_\w+)\(", seen)) == set(
            re.findall(r"\bloom_status (loom_\w+)\(", header.declarations(then))), folder.name


def test_every_op_has_a_version() -> None:
    recorded, ops = json.loads(generate.SINCE.read_text()), set(fresh_ops())
    assert {n: sorted(v) for n, v in recorded.items()} == {
        n: sorted(v) for n, v in generate.since().items() if n in ops}, (
        "run: python -m lazyloom_capi --generate")


def test_every_function_says_what_it_does() -> None:
    """A comment stands before each function, or before the group that it is in."""
    bare = re.findall(r"\n\n(?:LOOM_API[^\n]*\n)", HEADER)
    assert not bare


def test_exports_are_exactly_what_the_header_declares() -> None:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(build.build())], capture_output=True, text=True,
        check=True).stdout  # fmt: skip
    found = [line.split()[-1].split("@@") for line in listed.splitlines() if " T " in line]
    versions = header.versions(HEADER)
    assert dict(found) == {
        name: "LAZYLOOM_{}.{}".format(*versions[name]) for name in header.functions(HEADER)}


def test_names_of_the_library() -> None:
    """It is asked for by its soname, which holds the major; links lead to the file."""
    library = build.build()
    major, minor = header.abi_version()
    assert build.names() == [f"{library.name}.{major}.{minor}", f"{library.name}.{major}",
                             "liblazyloom.so"]  # fmt: skip
    listed = subprocess.run(
        ["readelf", "-d", str(library)], capture_output=True, text=True, check=True).stdout
    assert re.search(r"SONAME.*\[(.*)\]", listed)[1] == build.soname()  # type: ignore[index]
    needed = re.findall(r"NEEDED.*\[(.*)\]", listed)
    # any Python of its version will do, wherever it is
    assert needed and not [n for n in needed if "python" in n]
    assert "PATH" not in listed
    # one that was installed is a file of its soname, as wheels hold no links
    there = [library.parent / name for name in build.names() if (library.parent / name).exists()]
    assert {build.soname(), "liblazyloom.so"} <= {path.name for path in there}
    assert len({path.resolve() for path in there}) == 1


def snapshot() -> str:
    """The ABI in words: version, prototypes, constants, sizes and offsets of structures."""
    ffi = cffi.FFI()
    ffi.cdef(header.declarations(HEADER))
    major, minor = (re.search(rf"LOOM_ABI_{p} (\d+)", HEADER)[1] for p in ("MAJOR", "MINOR"))  # type: ignore[index]
    lines = [f"version {major}.{minor}"]
    lines += sorted(header.functions(HEADER).values())
    for name in sorted(ffi.list_types()[0]):
        kind = ffi.typeof(name)
        if kind.kind == "enum":
            lines += [f"{name}: {c} = {v}" for v, c in sorted(kind.elements.items())]
        elif kind.kind == "struct" and kind.fields is None:
            lines.append(f"{name}: opaque")
        elif kind.kind == "struct":
            lines.append(f"{name}: {ffi.sizeof(kind)} bytes")
            lines += [f"{name}.{f} at {d.offset}, {ffi.sizeof(d.type)} bytes"
                      for f, d in kind.fields]  # fmt: skip
    return "\n".join(lines) + "\n"


def test_abi_is_the_recorded_one() -> None:
    """A changed line breaks programs that are compiled already; a new one needs a new minor
    version and a line in the header's list of changes. Then: python -m tests.capi.test_header"""
    now, recorded = snapshot(), RECORD.read_text()
    changes = "\n".join(difflib.unified_diff(
        recorded.splitlines(), now.splitlines(), "recorded", "now", lineterm="", n=0))
    assert now == recorded, changes


def test_list_of_abi_changes_names_this_version() -> None:
    major, minor = (re.search(rf"LOOM_ABI_{p} (\d+)", HEADER)[1] for p in ("MAJOR", "MINOR"))  # type: ignore[index]
    changes = HEADER.split("ABI changes, newest first")[1]
    assert re.search(r"\n +(\d+\.\d+)  ", changes)[1] == f"{major}.{minor}"  # type: ignore[index]


def test_statuses_are_the_codes_of_the_errors() -> None:
    ffi = cffi.FFI()
    ffi.cdef(header.types(HEADER))
    statuses = ffi.typeof("loom_status").elements
    counted = 0
    for error in vars(lazyloom.errors).values():
        # an error without a code of its own has that of the class that it belongs to
        if isinstance(error, type) and issubclass(error, lazyloom.LoomError) and (
            "code" in vars(error)
        ):
            words = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z][a-z]+", error.__name__)
            name = "_".join(w.upper() for w in words).removesuffix("_ERROR")
            name = {"LOOM": "LOOM_ERROR", "D_TYPE": "LOOM_ERROR_DTYPE"}.get(
                name, f"LOOM_ERROR_{name}")
            assert statuses[error.code] == name
            counted += 1
    assert counted >= 8


def test_dtypes_are_the_indices_of_the_dtypes() -> None:
    ffi, lib = cffi.FFI(), None
    ffi.cdef(header.declarations(HEADER))
    lib = ffi.dlopen(str(build.build()))
    names = ffi.typeof("loom_dtype").elements
    for d in lazyloom.dtypes.ALL:
        assert names[d.index] == f"LOOM_{d.name.upper()}"
        assert ffi.string(lib.loom_dtype_name(d.index)).decode() == d.name
        assert lib.loom_dtype_size(d.index) == d.itemsize
    assert len(names) == len(lazyloom.dtypes.ALL) + 1


def test_library_is_built_again_only_when_a_source_changed(tmp_path: Path) -> None:
    first = build.build(tmp_path)
    made = first.stat().st_mtime_ns
    assert build.build(tmp_path).stat().st_mtime_ns == made
    (tmp_path / f"{build.LIBRARY}.stamp").write_text("older sources")
    assert build.build(tmp_path).stat().st_mtime_ns != made


if __name__ == "__main__":
    RECORD.write_text(snapshot())
