"""Building ``liblazyloom.so`` with, and for, the Python that runs this.

What is built holds no path: where its environment is, it finds when it starts, by the place of its
own file or by what is written beside it (:mod:`lazyloom_capi.environment`).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Final

from . import development, environment, header, python_symbols

HERE: Final = Path(__file__).resolve().parent
#: the name to link with, which leads to the others (:func:`names`)
LIBRARY: Final = "liblazyloom.so"
#: compiled as one, in this order
SOURCES: Final = (
    "errors.c", "handles.c", "recording.c", "direct.c", "locate.c", "start.c", "shims.c",
    "capturing.c", "places.c", "transforms.c", "custom.c", "dlpack.c", "waiting.c",
    "reports.c", "exported.c")

_SHARED_CONSTANTS: Final = """
#define LOOMP_TENSOR 1
#define LOOMP_BUFFER 2
#define LOOMP_PROGRAM 3
#define LOOMP_CAPTURE 4
#define LOOMP_LINEAR_MAP 5
#define LOOMP_EXPORT 6
#define LOOMP_QUANTIZED 7
#define LOOMP_EXPORTED 8
#define LOOMP_DTYPE 1
#define LOOMP_NDIM 2
#define LOOMP_NBYTES 3
#define LOOMP_PENDING 4
#define LOOMP_REQUIRES_GRAD 5
#define LOOMP_PROGRAM_KEY 1
#define LOOMP_PROGRAM_TEXT 2
#define LOOMP_STATS 3
#define LOOMP_LAST_EVALUATION 4
#define LOOMP_DESCRIBE 5
#define LOOMP_PROGRAM_EXPLAIN 6
#define LOOMP_CODEGEN_IN_USE 7
#define LOOMP_CODEGEN_AVAILABLE 8
#define LOOMP_DEVICES 9
#define LOOMP_PLACEMENT 10
#define LOOMP_OPTIONS 11
#define LOOMP_EVALUATIONS 12
#define LOOMP_PLATFORM 13
#define LOOMP_CACHE_DIR 14
#define LOOMP_COLLECTIVES 15
#define LOOMP_PICTURE 16
#define LOOMP_PICTURE_SVG 17
#define LOOMP_CODEGEN_FAILURES 18
#define LOOMP_PROGRAM_PICTURE 19
#define LOOMP_QUANTIZED_VALUES 20
#define LOOMP_CACHE_REPORT 21
#define LOOMP_CACHE_LIST 22
#define LOOMP_EXPORTED_SIGNATURE 23
#define LOOMP_CODEGEN_LOAD 24
#define LOOMP_PROFILE 25
"""

#: What the library and the entries in Python say to each other: ``entries.h``, the constants
#: above, what ``entries.start`` gives and ``entries.apply`` returns. Raised when a library that is
#: built already would not understand the entries any more; tests/capi/interface.txt has it all.
#: What is only added, for a new minor version of the ABI, breaks no older library.
INTERFACE: Final = 1

#: Runs in the interpreter when the library is first used; it must not fail, so that
#: another attempt is possible and the reason reaches the caller. It stays as it is in a library
#: that is built, so what it calls is part of the interface.
_INIT_CODE: Final = '''
from _lazyloom_abi import ffi, lib

def _failed(exception, value, traceback):
    text = f"lazyloom could not be started: {exception.__name__}: {value}"
    lib.loomp_set_error(101, text.encode(), b"", b"")
    return -101

@ffi.def_extern(onerror=_failed)
def loomp_start(paths, built, opened):
    import sys
    try:
        import lazyloom, lazyloom_capi
    except ImportError:
        given = ffi.string(paths).decode().split(":")
        sys.path.extend(p for p in given if p and p not in sys.path)
    from lazyloom_capi import build
    words = ffi.string(built).decode()
    if not hasattr(build, "check_library"):
        raise RuntimeError(
            f"the library ({words}) is newer than the lazyloom_capi that is installed; build it "
            f"again: {sys.executable} -m lazyloom_capi --build")
    build.check_library(words)
    from lazyloom_capi import entries
    entries.start(bool(opened))
    return 1
'''


class BuildError(Exception):
    """The library cannot be built here; the message says what is missing."""


class NoCompilerError(BuildError):
    """There is no C compiler."""


class LibraryError(RuntimeError):
    """A library that was built before and the package that is installed do not fit."""


def built_words() -> str:
    """What a library built now says of itself when it starts: see ``check_library``."""
    import lazyloom

    major, minor = header.abi_version()
    return f"C ABI {major}.{minor}, interface {INTERFACE}, lazyloom {lazyloom.__version__}"


def check_library(words: str) -> None:
    """Whether a library that says these words of itself can use the package.

    It can if the major versions of the ABI and the interfaces are equal and its minor version is
    not larger; what else the sources of the two were does not matter.

    Raises:
        LibraryError: it cannot; the message says what both are and what to do.
    """
    pattern = r"C ABI (\d+)\.(\d+), interface (\d+), "
    own, given = re.match(pattern, built_words()), re.match(pattern, words)
    assert own is not None
    if given is not None:
        major, minor, interface = map(int, given.groups())
        if (major, interface) == (int(own[1]), int(own[3])) and minor <= int(own[2]):
            return
    raise LibraryError(
        f"the library was built for other sources ({words}) than those installed "
        f"({built_words()}); build it again: {sys.executable} -m lazyloom_capi --build")


def names() -> list[str]:
    """The library's file names: with its whole version, its soname, and the one to link with.

    The first is the file; each other one is a link to the one before.
    """
    major, minor = header.abi_version()
    return [f"{LIBRARY}.{major}.{minor}", soname(), LIBRARY]


def soname() -> str:
    """The name that programs ask the dynamic linker for: it changes with the ABI's major."""
    return f"{LIBRARY}.{header.abi_version()[0]}"


def digest() -> str:
    """A fingerprint of everything that the library is made from."""
    total = hashlib.sha256()
    sources = (*(header.include_dir() / name for name in header.NAMES),
               *(HERE / name for name in SOURCES),
               HERE / "entries.h", HERE / "build.py", Path(python_symbols.__file__))  # fmt: skip
    for source in sources:
        total.update(source.read_bytes())
    return total.hexdigest()[:32]


def executable() -> str:
    """The interpreter whose environment the library opens."""
    return sys.executable


def _stamp() -> tuple[str, str]:
    """What a library was built for, and from: with another first part it cannot be used."""
    version = built_words().rpartition(",")[0]
    return "\n".join((version, sys.implementation.cache_tag, sysconfig.get_platform())), digest()


def _c_source(symbols: str) -> str:
    """The library as one C file, by cffi's embedding mode, with a table of Python's symbols."""
    import cffi

    import lazyloom

    def literal(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    text = header.text()
    entries = (HERE / "entries.h").read_text()
    entries_static = "\n".join(
        f"static {line}" if line.startswith("int ") else line for line in entries.splitlines())
    built = {
        "LOOM_BUILT_PYTHON": f"{sys.version_info.major}.{sys.version_info.minor}",
        "LOOM_BUILT_LIBRARY": environment.library_name(),
        "LOOM_BUILT_MULTIARCH": environment.multiarch(),
        "LOOM_BUILT_VERSION": lazyloom.__version__,
        "LOOM_BUILT_WORDS": built_words(),
    }
    preamble = "\n".join((
        "#include <dlfcn.h>",
        "#include <sys/auxv.h>",
        "#include <unistd.h>",
        "#define LOOM_NO_SOURCE_LOCATIONS",
        '#include "lazyloom.h"',
        *(f"#define {name} {literal(value)}" for name, value in built.items()),
        _SHARED_CONSTANTS,
        entries_static,
        symbols,
        *((HERE / name).read_text() for name in SOURCES),
    ))  # fmt: skip
    ffi = cffi.FFI()
    ffi.embedding_api("")
    ffi.cdef(header.types(text))
    ffi.cdef(_SHARED_CONSTANTS)
    ffi.cdef('extern "Python" {\n' + entries + "\n}")
    ffi.cdef("void loomp_set_error(int status, const char *message, const char *op, "
             "const char *site);")
    ffi.cdef("void loomp_set_argument(const char *name, int64_t index);")
    ffi.cdef("int loomp_log(int level, const char *message);")
    ffi.cdef("void loomp_call_ready(void *given, int status);")
    ffi.cdef("void loomp_at_work(int by);")
    ffi.embedding_init_code(_INIT_CODE)
    ffi.set_source("_lazyloom_abi", preamble)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "library.c")
        with contextlib.redirect_stdout(io.StringIO()):
            ffi.emit_c_code(path)
        return Path(path).read_text()


def _compile(target: Path) -> None:
    """Compile the library into a file."""
    include = sysconfig.get_path("include")
    if not os.path.exists(os.path.join(include, "Python.h")):
        raise BuildError(f"Python.h is not in {include}; install Python's development files")
    compiler = shlex.split(os.environ.get("CC") or "cc")
    if shutil.which(compiler[0]) is None:
        raise NoCompilerError(
            f"there is no C compiler: {compiler[0]} was not found; install one (gcc or clang), or "
            "name it in the environment variable CC")
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        source, symbols, assembly, exports, built = (
            Path(folder) / n for n in ("library.c", "symbols.h", "library.s", "exports", LIBRARY))
        common = [*compiler, "-fPIC", "-fvisibility=hidden", "-pthread", f"-I{include}",
                  f"-I{header.include_dir()}"]  # fmt: skip
        # what it uses of Python is what it names, with an empty table
        source.write_text(_c_source(
            "static const struct { const char *name; void *at; } python_symbols[1];"))
        _run([*common, "-O0", "-w", "-S", "-o", str(assembly), str(source)])
        used = python_symbols.used(assembly.read_text())
        source.write_text(_c_source(python_symbols.table(used)))
        symbols.write_text(python_symbols.redirections(used))
        exports.write_text(_versions())
        _run([
            *common, "-shared", "-O2", "-include", str(symbols), "-o", str(built), str(source),
            f"-Wl,--version-script={exports}", f"-Wl,-soname,{soname()}",
            # Python keeps pointers into it, so a dlclose() must not unload it
            "-Wl,-z,nodelete", "-Wl,-z,defs", "-ldl", "-lm",
        ])  # fmt: skip
        # a process that has the old file loaded keeps it
        os.replace(built, target)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise BuildError(f"{shlex.join(command)}\nfailed:\n{done.stderr}")


def _versions() -> str:
    """The linker's version script: functions under the version of the ABI that they came with.

    A program then says which it needs, and an older library is refused when the program starts.
    """
    text, before = "", ""
    versions = header.versions(header.text())
    for version in sorted(set(versions.values())):
        own = "LAZYLOOM_{}.{}".format(*version)
        listed = " ".join(f"{name};" for name, since in versions.items() if since == version)
        hidden = "" if before else " local: *;"
        text += f"{own} {{ global: {listed}{hidden} }}{before};\n"
        before = f" {own}"
    return text


def library_dir() -> Path:
    """Where the library lies unless another folder is asked for.

    Raises BuildError where that is a folder that others can write.
    """
    import lazyloom

    given = HERE / "lib"
    try:
        given.mkdir(exist_ok=True)
        if os.access(given, os.W_OK) or (_fits(given) and environment.tells_by_itself(given)):
            return given
    except OSError:
        pass
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError as error:
        raise BuildError(f"{given} cannot be written, and {error}; set XDG_CACHE_HOME") from error
    name = hashlib.sha256(str(HERE).encode() + sys.executable.encode()).hexdigest()[:16]
    folder = cache / "lazyloom" / f"capi-{name}"
    try:
        lazyloom.private_folder(str(folder))
    except OSError as error:
        raise BuildError(
            f"{error}: a library that is loaded from there could be anybody's; give the folder "
            "mode 700, or set XDG_CACHE_HOME to one of yours") from error
    return folder


def build(
    output: str | os.PathLike[str] | None = None, *, force: bool = False, relocatable: bool = False
) -> Path:
    """Build the library unless it is there and up to date; gives its path.

    Args:
        output: the folder to put it in; the package's own if None.
        force: build in any case.
        relocatable: for a wheel: say nothing of this environment beside it, and make no links,
            which wheels cannot hold.

    Raises:
        BuildError: no compiler, no Python headers, or a folder that cannot be written. A library of
            older sources that still fits is kept where there is no compiler.
    """
    folder = Path(output).absolute() if output is not None else library_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not force and _fits(folder) and not os.access(folder, os.W_OK):
            return folder / LIBRARY
        if force or not _is_right(folder):
            with open(folder / f".{LIBRARY}.lock", "w") as lock:
                # two processes that find it missing must not build it twice
                fcntl.flock(lock, fcntl.LOCK_EX)
                if force or not _is_right(folder):
                    came = HERE / "lib"
                    if output is None and folder != came and _is_right(came) and not force:
                        # the package came with it, into a folder that this user cannot write
                        shutil.copy(came / soname(), folder / f".{names()[0]}")
                        os.replace(folder / f".{names()[0]}", folder / names()[0])
                        _finish(folder, relocatable)
                    else:
                        _build_in(folder, force, relocatable)
            if relocatable:
                (folder / f".{LIBRARY}.lock").unlink()
        development.write(folder, soname())
        if not relocatable:
            environment.record(folder)
            if not (folder / LIBRARY).is_symlink():
                # a wheel has a copy: whoever loads both names is to get one library
                _link(folder, [soname(), LIBRARY])
            whole = folder / names()[0]
            if whole.exists() and not (folder / soname()).is_symlink() and not whole.is_symlink():
                # built there before a wheel was installed over it
                _link(folder, [soname(), whole.name])
    except OSError as error:
        raise BuildError(f"the library cannot be built in {folder}: {error}") from error
    return folder / LIBRARY


def _found_stamp(folder: Path) -> str:
    stamp = folder / f"{LIBRARY}.stamp"
    there = (folder / LIBRARY).exists() and (folder / soname()).exists() and stamp.exists()
    return stamp.read_text() if there else ""


def _is_right(folder: Path) -> bool:
    """Whether the library in a folder is of these sources."""
    return _found_stamp(folder) == "\n".join(_stamp())


def _fits(folder: Path) -> bool:
    """Whether the library in a folder can be used, be its sources older ones."""
    return _found_stamp(folder).rpartition("\n")[0] == _stamp()[0]


def _build_in(folder: Path, force: bool, relocatable: bool) -> None:
    try:
        _compile(folder / (soname() if relocatable else names()[0]))
    except NoCompilerError:
        if force or not _fits(folder):
            raise
        return
    _finish(folder, relocatable)


def _finish(folder: Path, relocatable: bool) -> None:
    """Give a library that was put into a folder its other names, and say what it is made from."""
    if relocatable:
        (folder / LIBRARY).unlink(missing_ok=True)
        shutil.copy(folder / soname(), folder / LIBRARY)
    else:
        _link(folder, names())
        for other in folder.glob(f"{soname()}.*"):
            if other.name != names()[0]:
                other.unlink()
    (folder / f"{LIBRARY}.stamp").write_text("\n".join(_stamp()))


def _link(folder: Path, chain: list[str]) -> None:
    """Make each name of a folder a link to the one before, in one step each."""
    for name, link in zip(chain, chain[1:], strict=False):
        (folder / f".{link}").unlink(missing_ok=True)
        (folder / f".{link}").symlink_to(name)
        os.replace(folder / f".{link}", folder / link)


def cflags() -> list[str]:
    """What a C compiler needs to find the headers."""
    return [f"-I{header.include_dir()}"]


def libs() -> list[str]:
    """What a linker needs, and the program when it starts; builds the library if needed."""
    folder = build().parent
    return [f"-L{folder}", f"-Wl,-rpath,{folder}", "-llazyloom", "-lm"]
