"""The library that was built beside the released versions of the ABI, as a compiler made both.

``abidiff`` (abigail-tools) compares symbols with their versions, and by debugging information the
types of parameters and results down to each member. Of a released version there are its headers; a
library of functions that do nothing, compiled from them, is what its programs were compiled for.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lazyloom_capi import build, header

from .test_released import RELEASED, VERSIONS

pytestmark = [
    pytest.mark.skipif(shutil.which(tool) is None, reason=f"{tool} is not installed ({package})")
    for tool, package in (("abidiff", "abigail-tools"), ("cc", "a C compiler"))]


def headers(folder: Path) -> dict[str, str]:
    return {n: (folder / n).read_text() for n in header.NAMES if (folder / n).exists()}


def library(
    folder: Path, texts: dict[str, str], versions: dict[str, tuple[int, int]] | None = None
) -> tuple[Path, Path]:
    """A library with the functions of these headers, which do nothing, and its headers' folder.

    Symbols have the versions of ``versions``; those of today's headers if it is not given.
    """
    include = folder / "include"
    include.mkdir(parents=True)
    for name, text in texts.items():
        (include / name).write_text(text)
    functions = header.functions("".join(texts.values()))
    source = '#define LOOM_NO_SOURCE_LOCATIONS\n#include "lazyloom.h"\n'
    for prototype in functions.values():
        nothing = "" if prototype.startswith("void ") else " return 0; "
        source += f"{prototype.removesuffix(';')} {{{nothing}}}\n"
    since = {**header.versions(header.text()), **(versions or {})}
    script, before = "", ""
    for version in sorted({since[name] for name in functions}):
        own = "LAZYLOOM_{}.{}".format(*version)
        listed = " ".join(f"{n};" for n in functions if since[n] == version)
        script += f"{own} {{ global: {listed}{'' if before else ' local: *;'} }}{before};\n"
        before = f" {own}"
    (folder / "exports").write_text(script)
    made = folder / build.LIBRARY
    done = subprocess.run(
        ["cc", "-g", "-w", "-fPIC", "-shared", f"-I{include}", "-xc", "-", "-o", str(made),
         f"-Wl,--version-script={folder / 'exports'}", f"-Wl,-soname,{build.soname()}"],
        input=source, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return made, include


def growing() -> list[str]:
    """Structures that may get members at their end: their first one is the size of the caller's."""
    return re.findall(
        r"typedef struct (\w+) { size_t size;", "\n".join(header.statements(header.text())))


def difference(before: tuple[Path, Path], after: tuple[Path, Path]) -> str:
    """What breaks programs that were built for the first library, in words; "" if nothing does."""
    allowed = before[0].parent / "allowed"
    allowed.write_text("".join(
        f"[suppress_type]\n  type_kind = struct\n  name = {name}\n"
        f"  has_data_member_inserted_at = end\n  has_size_change = yes\n"
        for name in growing()))  # fmt: skip
    done = subprocess.run(
        ["abidiff", "--no-added-syms", "--drop-private-types", "--suppressions", str(allowed),
         "--headers-dir1", str(before[1]), "--headers-dir2", str(after[1]),
         str(before[0]), str(after[0])], capture_output=True, text=True)  # fmt: skip
    # bits: 1 and 2 are errors, 4 is any change, 8 one that breaks programs for certain
    assert done.returncode & 3 == 0, done.stdout + done.stderr
    return done.stdout if done.returncode else ""


def test_the_library_is_what_released_and_present_headers_declare(tmp_path: Path) -> None:
    """Of the released versions it has all; of today's headers all and no more."""
    made = tmp_path / "today" / build.LIBRARY
    made.parent.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", "cc -g")
        build._compile(made)
    today = made, header.include_dir()
    for version in VERSIONS:
        released = library(tmp_path / version, headers(RELEASED / version))
        assert difference(released, today) == "", version
    declared = library(tmp_path / "declared", headers(header.include_dir()))
    assert difference(declared, today) == "" == difference(today, declared)


Edit = Callable[[str], str]


def replaced(old: str, new: str) -> Edit:
    def edit(text: str) -> str:
        assert text.count(old) == 1
        return text.replace(old, new)

    return edit


OP_COUNT = "LOOM_API LOOM_CHECK loom_status loom_op_count(size_t *count);\n"
EDITS = {
    "a function that is gone": replaced(OP_COUNT, ""),
    "another parameter type": replaced(
        "size_t carry_count, int64_t max_steps,", "size_t carry_count, int32_t max_steps,"),
    "a parameter that was added": replaced(
        "loom_op_count(size_t *count);", "loom_op_count(size_t *count, int more);"),
    "another result": replaced("LOOM_API size_t loom_dtype_size", "LOOM_API int loom_dtype_size"),
    "members in another order": replaced(
        "  const char *name;\n  loom_attr_kind kind;\n",
        "  loom_attr_kind kind;\n  const char *name;\n"),
    "a member at the end of a structure without its size": replaced(
        "} loom_operand;", "  double more;\n} loom_operand;"),
    "a member in the middle": replaced("  size_t tensors; ", "  size_t more;\n  size_t tensors; "),
    "a constant with another value": replaced("LOOM_FLOAT32 = 12", "LOOM_FLOAT32 = 22"),
    "a constant that is gone": replaced("LOOM_ERROR_STACK = 103,", ""),
    "a function type with another parameter": replaced(
        "typedef void (*loom_ready_function)(loom_status status,",
        "typedef void (*loom_ready_function)(int64_t status,"),
}
ADDITIONS = {
    "a function": replaced(OP_COUNT, OP_COUNT + "LOOM_API int loom_another(void);\n"),
    "a constant": replaced("LOOM_ERROR_TIMEOUT = 104", "LOOM_ERROR_TIMEOUT = 104, LOOM_NEW = 105"),
    "a member at the end of a structure with its size": replaced(
        "} loom_memory_figures;", "  size_t more;\n} loom_memory_figures;"),
}


def edited(folder: Path, edit: Edit) -> str:
    """What is said where one of today's headers is edited."""
    texts = headers(header.include_dir())
    before = library(folder / "before", texts)
    one = "\f".join(texts.values())
    after = dict(zip(texts, edit(one).split("\f"), strict=True))
    return difference(
        before, library(folder / "after", after, {"loom_another": header.abi_version()}))


@pytest.mark.parametrize("name", EDITS)
def test_a_change_is_found(name: str, tmp_path: Path) -> None:
    assert edited(tmp_path, EDITS[name]) != ""


@pytest.mark.parametrize("name", ADDITIONS)
def test_an_addition_is_none(name: str, tmp_path: Path) -> None:
    assert edited(tmp_path, ADDITIONS[name]) == ""


def test_another_symbol_version_is_found(tmp_path: Path) -> None:
    texts = headers(RELEASED / VERSIONS[-1])
    before = library(tmp_path / "before", texts)
    after = library(tmp_path / "after", texts, {"loom_scan": (1, 5)})
    assert "loom_scan@@LAZYLOOM_1.3" in difference(before, after)
