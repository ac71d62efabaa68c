"""C programs as users build them, run in processes of their own with an empty environment."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lazyloom_capi import build, environment, header

from .compilers import C99, CXX17, HERE, Compile

EXAMPLES = HERE.parent.parent / "examples"
PROGRAMS = [
    "everything", "loops", "transforms", "custom", "dlpack", "waiting", "reports", "threads",
    "captures", "fork", "mistakes",
]  # fmt: skip
#: run with several devices, and in several processes
OTHERS = ["exported", "extents", "devices", "processes", "host"]


def run(
    command: list[str], environment: dict[str, str], **options: object
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, **options)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, compiled: Compile, bare_environment: dict[str, str]) -> None:
    done = run([str(compiled(HERE / f"{name}.c"))], bare_environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip().endswith(("works", "work"))


def test_a_folder_whose_name_is_not_utf8(
    compiled: Compile, bare_environment: dict[str, str], tmp_path: Path
) -> None:
    folder = os.fsencode(tmp_path) + b"/\xff"
    environment = {os.fsencode(k): os.fsencode(v) for k, v in bare_environment.items()}
    environment[b"LAZYLOOM_CACHE_DIR"] = folder
    done = subprocess.run(
        [str(compiled(HERE / "mistakes.c")), "folder"], env=environment, capture_output=True,
        timeout=120)
    assert (done.returncode, done.stderr, done.stdout) == (0, b"", folder + b"\n")


def test_a_limit_of_the_size_of_files(
    compiled: Compile, bare_environment: dict[str, str], tmp_path: Path
) -> None:
    """Its signal would end the process, which has no handler of Python's."""
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))

    done = run(
        [str(compiled(EXAMPLES / "hello.c"))],
        {**bare_environment, "LAZYLOOM_CACHE_DIR": str(tmp_path / "cache")}, preexec_fn=limit)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("y        = 4 6 8\n")
    # the program does not fit, and what was begun of it is taken away
    kept = [p for p in (tmp_path / "cache").rglob("*") if p.is_file()]
    assert all(p.stat().st_size <= 2048 and not p.name.startswith(".new") for p in kept)


def test_the_examples_that_an_sdk_carries(tmp_path: Path) -> None:
    """All that they include and all data that they read by default is there; they compile."""
    place = EXAMPLES.parent / "sdk" / "make.py"
    specification = importlib.util.spec_from_file_location("sdk_make", place)
    assert specification is not None and specification.loader is not None
    make = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(make)
    make.examples(tmp_path / "examples")
    programs = sorted(tmp_path.rglob("*.c"))
    assert {p.name for p in programs} >= {
        "hello.c", "first.c", "digits.c", "transformer.c", "resume.c", "server.c"}
    named = {name for p in programs for name in re.findall(r'"(examples/[^"]+)"', p.read_text())}
    assert named and all((tmp_path / name).exists() for name in named)
    for program in programs:
        done = subprocess.run(
            [*C99, "-fsyntax-only", f"-I{header.include_dir()}", str(program)],
            capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_extents_that_are_marked(
    compiled: Compile, bare_environment: dict[str, str], tmp_path: Path
) -> None:
    """Programs of other extents run as one, which no test before it has stored."""
    done = run([str(compiled(HERE / "extents.c"))], {
        **bare_environment, "LAZYLOOM_REPRODUCIBLE": "0", "LAZYLOOM_CACHE_DIR": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "extents work\n"


def test_devices(compiled: Compile, bare_environment: dict[str, str]) -> None:
    done = run([str(compiled(HERE / "devices.c"))], {
        **bare_environment, "JAX_NUM_CPU_DEVICES": "4"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "devices work\n"


@pytest.mark.slow
def test_processes(compiled: Compile, bare_environment: dict[str, str]) -> None:
    program = str(compiled(HERE / "processes.c"))
    done = run(
        [sys.executable, "-m", "lazyloom", "run", "-n", "2", "--no-python", program],
        {**bare_environment, "JAX_NUM_CPU_DEVICES": "2"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("processes work\n") == 2


@pytest.mark.slow
def test_digits_on_two_devices(
    compiled: Compile, bare_environment: dict[str, str], digits_report: dict[str, Any],
    tmp_path: Path,
) -> None:
    """Batches divided over two devices have the losses of one device, up to the order of sums."""
    report = tmp_path / "report.json"
    done = run(
        [str(compiled(EXAMPLES / "digits.c")), str(EXAMPLES / "data" / "digits"), str(report), "2"],
        {**bare_environment, "JAX_NUM_CPU_DEVICES": "2"})
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(report.read_text())
    assert found["executions_per_step"] == 1
    assert found["test_accuracy"] >= 0.95
    for one, two in zip(digits_report["losses"][:200], found["losses"][:200], strict=True):
        assert abs(two - one) <= 1e-4 * abs(one)


def test_the_end_of_the_process_waits_for_calls_and_waits(
    compiled: Compile, either_environment: dict[str, str]
) -> None:
    """XLA's objects are not destroyed beside a thread that computes."""
    done = run([str(compiled(HERE / "waiting.c")), "end"], either_environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "heard at the end\n"


LIMITS = [
    "atexit before the start", "atexit after computing", "destructor", "the end of Python",
    "the end of a thread", "a small stack", "fork at the start", "traps", "rounding",
]  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_limits(name: str, compiled: Compile, either_environment: dict[str, str]) -> None:
    """What a process or a thread cannot do is an error, and it ends as others do."""
    done = run([str(compiled(HERE / "limits.c")), name], either_environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "limits work" in done.stdout
    if name.startswith(("atexit", "destructor")):
        assert done.stdout.endswith("the end works\n")


@pytest.mark.parametrize("name", ["state", "counts", "lines", "errors", "functions", "rights"])
def test_host(name: str, compiled: Compile, either_environment: dict[str, str]) -> None:
    """A host finds its process as it was, and its mistakes told, wherever it makes them."""
    done = run([str(compiled(HERE / "host.c")), name], either_environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "host works\n"


def test_a_host_hears_messages_that_it_asked_for(
    compiled: Compile, bare_environment: dict[str, str], tmp_path: Path
) -> None:
    """A cache that cannot be written; nothing is printed, with a function for messages or not."""
    place = tmp_path / "file"
    place.write_text("no folder")
    environment = {**bare_environment, "LAZYLOOM_CACHE_DIR": str(place)}
    for name in ("messages", "state"):
        done = run([str(compiled(HERE / "host.c")), name], environment)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "host works\n"


def test_interrupts_end_a_host_that_has_no_handler(
    compiled: Compile, bare_environment: dict[str, str]
) -> None:
    done = run([str(compiled(HERE / "host.c")), "interrupt"], bare_environment)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
    assert done.stdout == "host works\n"


def test_two_copies_of_the_library(
    compiled: Compile, bare_environment: dict[str, str], tmp_path: Path
) -> None:
    copy = tmp_path / build.LIBRARY
    shutil.copy(build.build(), copy)
    done = run([str(compiled(HERE / "host.c")), "copies", str(copy)], bare_environment)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("variable, value", [
    ("XLA_FLAGS", "--xla_no_such_flag=1"), ("JAX_PLATFORMS", "no_such_platform"),
    ("LAZYLOOM_BACKEND", "no.such:backend"), ("LAZYLOOM_DEVICE", "cpu:77"),
])  # fmt: skip
def test_wrong_variables_are_errors(
    variable: str, value: str, compiled: Compile, bare_environment: dict[str, str]
) -> None:
    """XLA would end the process; they are told at the start."""
    done = run([str(compiled(HERE / "host.c")), "state"], {**bare_environment, variable: value})
    assert done.returncode == 1
    assert "host.c" in done.stderr and "loom_initialize" in done.stderr
    assert "LOOM_ERROR_START" in done.stderr
    assert variable in done.stderr and value in done.stderr


def test_destructors_at_the_end(compiled: Compile, either_environment: dict[str, str]) -> None:
    done = run([str(compiled(HERE / "ends.cc", CXX17))], either_environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "ends work\n"


@pytest.mark.parametrize("compiler", [C99, CXX17], ids=["c99", "c++17"])
def test_members_that_are_named_as_functions(
    compiler: list[str], compiled: Compile, bare_environment: dict[str, str]
) -> None:
    done = run([str(compiled(HERE / "members.c", compiler))], bare_environment)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "members work\n")


@pytest.mark.parametrize("compiler", [C99, CXX17], ids=["c99", "c++17"])
def test_hello(
    compiler: list[str], compiled: Compile, either_environment: dict[str, str]
) -> None:
    done = run([str(compiled(EXAMPLES / "hello.c", compiler))], either_environment)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:2] == ["y        = 4 6 8", "gradient = 2 2 2"]
    assert re.search(r"evaluation 1: read at .*hello\.c:\d+", lines[2])


@pytest.mark.slow
def test_digits(digits_report: dict[str, Any]) -> None:
    """The demo's C program learns, and a step of it is one run of one program."""
    report = digits_report
    assert report["test_accuracy"] >= 0.95
    assert report["executions_per_step"] == 1
    assert report["ops_per_step"] >= 30
    assert report["programs_compiled"] + report["programs_from_disk"] == 2
    assert len(report["losses"]) == 20 * (1437 // 32)
    assert report["final_loss"] == report["losses"][-1]


def test_every_public_function_is_called_by_a_c_program() -> None:
    """The programs above run, so what they contain is called."""
    sources = [HERE / "check.h", *(HERE / f"{name}.c" for name in [*PROGRAMS, *OTHERS])]
    text = "\n".join(re.sub(r"/\*.*?\*/", "", s.read_text(), flags=re.S) for s in sources)
    public = header.functions(header.text())
    assert not [name for name in public if not re.search(rf"\b{name}\)?\(", text)]


def test_hostile_python_variables_change_nothing(
    compiled: Compile, bare_environment: dict[str, str]
) -> None:
    hostile = {**bare_environment, "PYTHONHOME": "/nonexistent", "PYTHONPATH": "/nonexistent",
               "PYTHONSTARTUP": "/nonexistent", "VIRTUAL_ENV": "/nonexistent"}  # fmt: skip
    done = run([str(compiled(EXAMPLES / "hello.c"))], hostile)
    assert (done.returncode, done.stderr) == (0, "")


def test_working_folder_is_not_imported_from(
    compiled: Compile, bare_environment: dict[str, str], tmp_path: Path
) -> None:
    for name in ("lazyloom", "numpy", "types"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('imported by mistake')\n")
    done = run([str(compiled(EXAMPLES / "hello.c"))], bare_environment, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def other_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of the same version of the ABI, of sources that differ from those installed."""
    folder = tmp_path_factory.mktemp("other")
    for name in (*build.SOURCES, "entries.h", "build.py"):
        shutil.copy(build.HERE / name, folder)
    errors = folder / "errors.c"
    errors.write_text(errors.read_text().replace("a callback of the", "some callback of the"))
    with pytest.MonkeyPatch.context() as patch:
        before = build.digest()
        patch.setattr(build, "HERE", folder)
        assert build.digest() != before
        return build.build(folder)


def preloaded(library: Path, environment: dict[str, str]) -> dict[str, str]:
    return {**environment, "LD_PRELOAD": str(library)}


def test_library_of_other_sources_works(
    other_sources: Path, compiled: Compile, bare_environment: dict[str, str]
) -> None:
    """As after an upgrade of the package, where nobody has a compiler."""
    program = compiled(HERE / "everything.c")
    done = run([str(program)], preloaded(other_sources, bare_environment))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("built", [
    "C ABI 0.2, interface 1", "C ABI 9.2, interface 1", "C ABI 1.99, interface 1",
    "C ABI 1.2, interface 0", "C ABI 1.2, interface 2", "C ABI x.y, interface 1",
])  # fmt: skip
def test_library_of_another_abi_is_refused(
    built: str, other_sources: Path, compiled: Compile, bare_environment: dict[str, str],
    tmp_path: Path,
) -> None:  # fmt: skip
    words = build.built_words()
    own = words.rpartition(",")[0]
    contents = other_sources.read_bytes()
    assert contents.count(words.encode()) == 1 and own != built
    # as long as before: the end, which is the version of the package, is cut off or padded
    others = f"{built}, lazyloom 0.0.1{' ' * 9}"[:len(words)]
    library = tmp_path / build.LIBRARY
    library.write_bytes(contents.replace(words.encode(), others.encode()))
    shutil.copy(other_sources.with_name(environment.RECORD), tmp_path)
    done = run([str(compiled(EXAMPLES / "hello.c"))], preloaded(library, bare_environment))
    assert done.returncode == 1
    assert built in done.stderr and own in done.stderr and "--build" in done.stderr


def test_library_of_an_older_minor_version_is_taken() -> None:
    major, minor = header.abi_version()
    for older in range(minor + 1):
        build.check_library(f"C ABI {major}.{older}, interface {build.INTERFACE}, lazyloom 0.0.1")
    with pytest.raises(build.LibraryError, match=rf"C ABI {major}\.{minor + 1}"):
        build.check_library(
            f"C ABI {major}.{minor + 1}, interface {build.INTERFACE}, lazyloom 9.0.0")


def test_no_compiler_is_said_in_a_line(tmp_path: Path) -> None:
    """A library that is there and fits is enough."""

    def flags(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "lazyloom_capi", *options], capture_output=True, text=True,
            env={**os.environ, "CC": "no-such-compiler"})  # fmt: skip

    done = flags("--build", "--output", str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: there is no C compiler: no-such-compiler")
    assert len(done.stderr.splitlines()) == 1
    for name in (build.soname(), build.LIBRARY):
        shutil.copy(build.build(), tmp_path / name)
    stamp = build.build().with_name(f"{build.LIBRARY}.stamp").read_text()
    (tmp_path / f"{build.LIBRARY}.stamp").write_text(stamp[:-1])
    done = flags("--build", "--output", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / f"{build.LIBRARY}.stamp").write_text(f"of another kind{stamp}")
    assert flags("--build", "--output", str(tmp_path)).returncode == 1


def test_folder_that_cannot_be_written_is_said_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = subprocess.run(
        [sys.executable, "-m", "lazyloom_capi", "--build", "--output", str(tmp_path / "file")],
        capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("error: the library cannot be built in")
    assert len(done.stderr.splitlines()) == 1


def test_missing_environment_is_an_error(
    compiled: Compile, bare_environment: dict[str, str], tmp_path: Path
) -> None:
    library = tmp_path / build.LIBRARY
    shutil.copy(build.build(), library)
    hello = str(compiled(EXAMPLES / "hello.c"))
    preload = preloaded(library, bare_environment)
    done = run([hello], preload)
    assert done.returncode == 1
    assert f"{tmp_path} belongs to no Python environment" in done.stderr
    (tmp_path / environment.RECORD).write_text("/nonexistent/bin/python\n\n\n")
    done = run([hello], preload)
    assert done.returncode == 1
    assert "environment" in done.stderr and "is gone: /nonexistent/bin/python;" in done.stderr
    (tmp_path / environment.RECORD).write_text(f"{library}\n\n\n")
    library.chmod(0o600)
    if os.getuid() != 0:  # who may run everything
        done = run([hello], preload)
        assert "cannot be used by this user" in done.stderr


def test_flags_are_what_a_compiler_takes(tmp_path: Path) -> None:
    flags = subprocess.run(
        [str(build.executable()), "-m", "lazyloom_capi", "--cflags", "--libs"],
        capture_output=True, text=True, check=True, env=os.environ).stdout  # fmt: skip
    done = subprocess.run(
        f"cc {EXAMPLES / 'hello.c'} -o {tmp_path / 'hello'} {flags}", shell=True,
        capture_output=True, text=True)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
