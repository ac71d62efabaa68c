"""The headers without a diagnostic: each C and C++ standard, two compilers, each target version."""

from __future__ import annotations

import functools
import shutil
import subprocess
from typing import Final

import pytest

from lazyloom_capi import build, header

from .compilers import STRICT

#: what users' build systems turn on beside -Wall and -Wextra, and what a header can obey
WARNINGS: Final = [*STRICT, "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wundef"]
#: c2x and c++2b are the names of C23 and C++23 that older compilers know, too
STANDARDS: Final = {
    **{f"{compiler} {standard}": (compiler, standard)
       for compiler in ("gcc", "clang") for standard in ("c99", "c11", "c17", "c2x")},
    **{f"{compiler} {standard}": (compiler, standard)
       for compiler in ("g++", "clang++")
       for standard in ("c++11", "c++14", "c++17", "c++20", "c++2b")},
}  # fmt: skip
#: the oldest and the newest standard of each compiler
ENDS: Final = [name for name, (_, standard) in STANDARDS.items()
               if standard in ("c99", "c2x", "c++11", "c++2b")]  # fmt: skip
MAJOR, MINOR = header.abi_version()
HEADERS: Final = sorted(path.name for path in header.include_dir().glob("*.h"))
#: made of public functions that came with 1.8
SINCE_1_8: Final = [
    f"lazyloom_{part}.h" for part in ("nn", "optimizers", "parameters", "safetensors", "support")]

#: calls by macros, with and without arguments, and by inline functions, at any target
USE: Final = """
loom_status use(loom_tensor x, loom_tensor *result);
loom_status use(loom_tensor x, loom_tensor *result) {
  const loom_status status = loom_initialize();
  return status ? status : loom_add_with(loom_t(x), loom_scalar_int(1, LOOM_INT8), result);
}
"""


@functools.cache
def missing(compiler: str, standard: str) -> str:
    """Why this cannot be tried here, "" if it can."""
    if shutil.which(compiler) is None:
        return f"{compiler} is not installed"
    known = subprocess.run(
        [compiler, f"-std={standard}", "-fsyntax-only", "-x", language(compiler), "/dev/null"],
        capture_output=True)  # fmt: skip
    return "" if known.returncode == 0 else f"{compiler} does not know -std={standard}"


def language(compiler: str) -> str:
    return "c++" if compiler.endswith("++") else "c"


def diagnostics(name: str, text: str) -> str:
    """All that a compiler says of a source, by a name of :data:`STANDARDS`."""
    compiler, standard = STANDARDS[name]
    if missing(compiler, standard):
        pytest.skip(missing(compiler, standard))
    command = [compiler, f"-std={standard}", *WARNINGS, *build.cflags()]
    return subprocess.run(
        [*command, "-fsyntax-only", "-x", language(compiler), "-"], input=text,
        capture_output=True, text=True).stderr  # fmt: skip


def target(minor: int) -> str:
    return f"#define LOOM_TARGET_VERSION LOOM_VERSION({MAJOR}, {minor})\n"


def includes(*names: str) -> str:
    return "".join(f'#include "{name}"\n' for name in names)


@pytest.mark.parametrize("name", STANDARDS)
def test_all_headers_in_one_source(name: str) -> None:
    """In the order of their names, and each again."""
    assert {"lazyloom.h", "lazyloom_codegen.h", "lazyloom_codegen_json.h", "lazyloom_nn.h",
            "lazyloom_ops.h", *header.NAMES, *SINCE_1_8} == {*HEADERS}  # fmt: skip
    assert diagnostics(name, includes(*HEADERS, *HEADERS) + USE) == ""


@pytest.mark.parametrize("name", STANDARDS)
def test_every_target_version(name: str) -> None:
    """The header and its parts; with the newest target they are those of the test above."""
    for minor in range(MINOR):
        assert diagnostics(name, target(minor) + includes("lazyloom.h")) == "", minor


@pytest.mark.parametrize("locations", ["", "#define LOOM_NO_SOURCE_LOCATIONS\n"],
                         ids=["locations", "no_locations"])  # fmt: skip
@pytest.mark.parametrize("name", ENDS)
def test_each_header_alone(name: str, locations: str) -> None:
    for file in HEADERS:
        assert diagnostics(name, locations + includes(file) + "extern int rest;\n") == "", file


@pytest.mark.parametrize("name", ["gcc c99", "clang c99", "g++ c++11", "clang++ c++11"])
def test_wrappers_of_ops_at_every_target_version(name: str) -> None:
    for minor in range(MINOR):
        assert diagnostics(name, target(minor) + includes("lazyloom_ops.h") + USE) == "", minor


@pytest.mark.parametrize("name", ["gcc c99", "clang++ c++11"])
def test_networks_need_a_target_of_1_8(name: str) -> None:
    for file in SINCE_1_8:
        assert diagnostics(name, target(8) + includes(file)) == "", file
        said = diagnostics(name, target(7) + includes(file))
        assert "use loom_set_error(), of version 1.8" in said, file


def test_a_diagnostic_is_found() -> None:
    """What these tests are worth: a header that narrows is told of, in C and in C++."""
    for name in ("gcc c99", "g++ c++11"):
        said = diagnostics(name, "static inline int f(long x) { return x; }\n")
        assert "conversion" in said, name
