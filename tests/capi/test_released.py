"""Headers as they were in each version of the ABI: clients of theirs run on today's library.

``released/1.N`` has the headers of version 1.N as they were last, and a client is compiled with
each. When a version is over, its headers are put there.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import cffi
import pytest

from lazyloom_capi import build, header

from .compilers import C99, HERE

RELEASED = HERE / "released"
VERSIONS = sorted((p.name for p in RELEASED.iterdir() if p.is_dir()), key=lambda v: int(v[2:]))


def text_of(version: str) -> str:
    folder = RELEASED / version
    return "".join((folder / n).read_text() for n in header.NAMES if (folder / n).exists())


def test_there_is_one_of_each_version() -> None:
    major, minor = header.abi_version()
    found = [re.findall(r"#define LOOM_ABI_(?:MAJOR|MINOR) (\d+)", text_of(v)) for v in VERSIONS]
    assert [".".join(f) for f in found] == VERSIONS
    assert VERSIONS == [f"{major}.{m}" for m in range(minor)]


def test_functions_have_the_versions_that_they_came_with() -> None:
    """Symbols are exported with them: another one, and programs that ask for it do not start."""
    first: dict[str, tuple[int, ...]] = {}
    for version in VERSIONS:
        for name in header.functions(text_of(version)):
            first.setdefault(name, tuple(map(int, version.split("."))))
    now = header.versions(header.text())
    assert {name: now[name] for name in first} == first
    assert {now[name] for name in now.keys() - first.keys()} <= {header.abi_version()}


def test_clients_of_each_version_run(tmp_path: Path, bare_environment: dict[str, str]) -> None:
    names = ["client_" + version.replace(".", "_") for version in VERSIONS]
    objects = []
    for version, name in zip(VERSIONS, names, strict=True):
        objects.append(str(tmp_path / f"{name}.o"))
        done = subprocess.run(
            [*C99, f"-I{RELEASED / version}", f"-DCLIENT={name}", "-c",
             str(RELEASED / "client.c"), "-o", objects[-1]],
            capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, done.stderr
    main = "".join(f"int {n}(void);\n" for n in names) + "int main(void) {\n  return "
    main += " + ".join(f"{n}()" for n in names) + ";\n}\n"
    program = tmp_path / "clients"
    done = subprocess.run(
        [*C99, "-", "-xnone", *objects, "-o", str(program), *build.libs()],
        input=main, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    done = subprocess.run(
        [str(program)], env=bare_environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0 and done.stderr == "", done.stderr


@pytest.mark.parametrize("version", VERSIONS)
def test_declarations_of_each_version_are_still_there(version: str) -> None:
    """Functions and structures as they were; constants with the values that they had."""
    then, now = text_of(version), header.text()
    functions = header.functions(now)
    for name, prototype in header.functions(then).items():
        assert functions.get(name) == prototype
    before, after = cffi.FFI(), cffi.FFI()
    before.cdef(header.types(then))
    after.cdef(header.types(now))
    for name in before.list_types()[0]:
        old, new = before.typeof(name), after.typeof(name)
        assert old.kind == new.kind
        if old.kind == "enum":
            constants = {c: v for v, c in new.elements.items()}
            assert {c: constants.get(c) for c in old.elements.values()} == {
                c: v for v, c in old.elements.items()}
        elif old.kind == "struct":
            assert before.sizeof(old) == after.sizeof(new), name
            assert {f: (d.offset, before.sizeof(d.type)) for f, d in old.fields} == {
                f: (d.offset, after.sizeof(d.type)) for f, d in new.fields}, name
