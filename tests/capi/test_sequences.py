"""Random sequences of calls of every exported function, on eight threads: ``sequences.c``.

As many as one likes are made by ``python -m tests.capi.test_sequences SEED COUNT``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lazyloom_capi import build, header

from .compilers import C99, HERE, Compile

SOURCE = HERE / "sequences.c"
THREADS = "8"
#: of each sanitizer: its flags, its options, and what it says of a defect
SANITIZERS = {
    "address": ("-fsanitize=address,undefined", {
        # the interpreter keeps memory until the process ends
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}),
    "thread": ("-fsanitize=thread", {
        "TSAN_OPTIONS": f"suppressions={HERE / 'tsan.supp'}:report_signal_unsafe=0"}),
}  # fmt: skip


def test_every_function_is_called(compiled: Compile, bare_environment: dict[str, str]) -> None:
    done = subprocess.run(
        [str(compiled(SOURCE)), "names"], env=bare_environment, capture_output=True, text=True,
        check=True)  # fmt: skip
    names = done.stdout.split()
    assert len(names) == len(set(names))
    assert set(names) == set(header.functions(header.text()))


@pytest.mark.parametrize("seed", [1, 2])
def test_sequences(
    compiled: Compile, bare_environment: dict[str, str], seed: int, tmp_path: Path
) -> None:
    done = subprocess.run(
        [str(compiled(SOURCE)), str(seed), "0", "600", THREADS, "200"],
        env={**bare_environment, "LAZYLOOM_REPRODUCIBLE": "0"}, capture_output=True, text=True,
        timeout=600, cwd=tmp_path)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("sequences, ") == 3


#: what runs instrumented, and with which arguments
INSTRUMENTED = {"sequences": ["3", "0", "400", THREADS, "100"], "threads": [], "waiting": []}


@pytest.mark.slow
@pytest.mark.parametrize("name", SANITIZERS)
def test_programs_under_a_sanitizer(
    name: str, tmp_path: Path, bare_environment: dict[str, str]
) -> None:
    """The library and the programs are instrumented; Python and jaxlib are not."""
    flags, options = SANITIZERS[name]
    known = subprocess.run(
        ["cc", flags, "-xc", "-", "-o", str(tmp_path / "none")], capture_output=True, text=True,
        input="int main(void) { return 0; }\n")  # fmt: skip
    if known.returncode or subprocess.run([str(tmp_path / "none")], capture_output=True).returncode:
        pytest.skip(f"the compiler cannot make programs with {flags}: {known.stderr[:200]}")
    folder = tmp_path / "library"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", f"cc -g -fno-omit-frame-pointer {flags}")
        build.build(folder)
    for source, arguments in INSTRUMENTED.items():
        program = tmp_path / source
        made = subprocess.run(
            [*C99, flags, "-g", "-O1", str(HERE / f"{source}.c"), "-xnone", "-o", str(program),
             *build.cflags(), f"-L{folder}", f"-Wl,-rpath,{folder}", "-llazyloom", "-pthread",
             "-lm", "-ldl"], capture_output=True, text=True)  # fmt: skip
        assert made.returncode == 0, made.stderr
        done = subprocess.run(
            [str(program), *arguments], capture_output=True, text=True, timeout=600, cwd=tmp_path,
            env={**bare_environment, **options, "LAZYLOOM_REPRODUCIBLE": "0"})  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), source


def main() -> int:
    """Make sequences in pieces, and say what they did."""
    seed, count, folder = sys.argv[1], int(sys.argv[2]), Path(os.environ.get("TMPDIR", "/tmp"))
    program = folder / f"lazyloom-sequences-{os.getpid()}"
    try:
        subprocess.run(
            [*C99, "-O1", "-g", str(SOURCE), "-xnone", "-o", str(program), *build.cflags(),
             *build.libs(), "-pthread", "-lm"], check=True)  # fmt: skip
        return subprocess.run(
            [str(program), seed, "0", str(count), THREADS, "500"], cwd=folder).returncode
    finally:
        program.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
