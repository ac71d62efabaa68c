"""Building ``liblazyloom.so`` in, and for, the Python environment that runs this."""

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

from . import header

HERE: Final = Path(__file__).resolve().parent
LIBRARY: Final = "liblazyloom.so"
#: compiled as one, in this order
SOURCES: Final = (
    "errors.c", "handles.c", "recording.c", "direct.c", "start.c", "shims.c", "capturing.c",
    "places.c", "transforms.c", "custom.c", "dlpack.c",
    "waiting.c", "reports.c")

_SHARED_CONSTANTS: Final = """
#define LOOMP_TENSOR 1
#define LOOMP_BUFFER 2
#define LOOMP_PROGRAM 3
#define LOOMP_CAPTURE 4
#define LOOMP_LINEAR_MAP 5
#define LOOMP_EXPORT 6
#define LOOMP_QUANTIZED 7
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
        sys.path.extend(p for p in ffi.string(paths).decode().split(":") if p not in sys.path)
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


def digest() -> str:
    """A fingerprint of everything that the library is made from."""
    total = hashlib.sha256()
    sources = (*(header.include_dir() / name for name in header.NAMES),
               *(HERE / name for name in SOURCES),
               HERE / "entries.h", HERE / "build.py")  # fmt: skip
    for source in sources:
        total.update(source.read_bytes())
    return total.hexdigest()[:32]


def executable() -> str:
    """The interpreter whose environment the library opens."""
    return sys.executable


def _stamp() -> tuple[str, str]:
    """What a library was built for, and from: with another first part it cannot be used."""
    version = built_words().rpartition(",")[0]
    return "\n".join((version, sys.version, sys.executable, *_import_paths())), digest()


def _import_paths() -> list[str]:
    """Where lazyloom and this package are imported from."""
    from importlib.util import find_spec

    found: list[str] = []
    for name in ("lazyloom", "lazyloom_capi"):
        spec = find_spec(name)
        if spec is None or not spec.submodule_search_locations:
            raise BuildError(f"the package {name} cannot be imported")
        folder = str(Path(list(spec.submodule_search_locations)[0]).resolve().parent)
        if folder not in found:
            found.append(folder)
    return found


def _c_source() -> str:
    """The library as one C file, by cffi's embedding mode."""
    import cffi

    import lazyloom

    def literal(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    text = header.text()
    entries = (HERE / "entries.h").read_text()
    entries_static = "\n".join(
        f"static {line}" if line.startswith("int ") else line for line in entries.splitlines())
    built = {
        "LOOM_BUILT_EXECUTABLE": executable(),
        "LOOM_BUILT_PYTHON": f"{sys.version_info.major}.{sys.version_info.minor}",
        "LOOM_BUILT_PATHS": ":".join(_import_paths()),
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


def _python_library() -> list[str]:
    """Linker flags for the interpreter's shared library; raises BuildError without one."""
    name = sysconfig.get_config_var("LDLIBRARY") or ""
    folder = sysconfig.get_config_var("LIBDIR") or ""
    if not sysconfig.get_config_var("Py_ENABLE_SHARED") or ".so" not in name:
        raise BuildError(
            f"{sys.executable} was built without a shared library (--enable-shared), which the C "
            "library needs to open an interpreter; use another Python for the environment")
    stem = name.removeprefix("lib").split(".so")[0]
    return [f"-L{folder}", f"-Wl,-rpath,{folder}", f"-l{stem}"]


def _compile(target: Path) -> None:
    include = sysconfig.get_path("include")
    if not os.path.exists(os.path.join(include, "Python.h")):
        raise BuildError(f"Python.h is not in {include}; install Python's development files")
    compiler = shlex.split(os.environ.get("CC") or "cc")
    if shutil.which(compiler[0]) is None:
        raise NoCompilerError(
            f"there is no C compiler: {compiler[0]} was not found; install one (gcc or clang), or "
            "name it in the environment variable CC")
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        source = Path(folder) / "library.c"
        source.write_text(_c_source())
        exports = Path(folder) / "exports.map"
        names = header.functions(header.text())
        exports.write_text("{ global: " + " ".join(f"{n};" for n in names) + " local: *; };\n")
        built = Path(folder) / LIBRARY
        command = [
            *compiler, "-shared", "-fPIC", "-O2", "-fvisibility=hidden", "-pthread",
            f"-I{include}", f"-I{header.include_dir()}", "-o", str(built), str(source),
            f"-Wl,--version-script={exports}", f"-Wl,-soname,{LIBRARY}",
            # Python keeps pointers into it, so a dlclose() must not unload it
            "-Wl,-z,nodelete", *_python_library(), "-ldl", "-lm",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise BuildError(f"{shlex.join(command)}\nfailed:\n{done.stderr}")
        # a process that has the old file loaded keeps it
        os.replace(built, target)


def library_dir() -> Path:
    """Where the library lies unless another folder is asked for.

    Raises BuildError where that is a folder that others can write.
    """
    import lazyloom

    given = HERE / "lib"
    try:
        given.mkdir(exist_ok=True)
        if os.access(given, os.W_OK) or (given / LIBRARY).exists():
            return given
    except OSError:
        pass
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = hashlib.sha256(str(HERE).encode() + sys.executable.encode()).hexdigest()[:16]
    folder = cache / "lazyloom" / f"capi-{name}"
    try:
        lazyloom.private_folder(str(folder))
    except OSError as error:
        raise BuildError(
            f"{error}: a library that is loaded from there could be anybody's; give the folder "
            "mode 700, or set XDG_CACHE_HOME to one of yours") from error
    return folder


def build(output: str | os.PathLike[str] | None = None, *, force: bool = False) -> Path:
    """Build the library unless it is there and up to date; gives its path.

    Args:
        output: the folder to put it in; the package's own if None.
        force: build in any case.

    Raises:
        BuildError: no compiler, no Python headers, no shared libpython, or a folder that cannot be
            written. A library of older sources that still fits is kept where there is no compiler.
    """
    folder = Path(output) if output is not None else library_dir()
    target = folder / LIBRARY
    stamp = folder / f"{LIBRARY}.stamp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / f".{LIBRARY}.lock", "w") as lock:
            # two processes that find it missing must not build it twice
            fcntl.flock(lock, fcntl.LOCK_EX)
            fits, sources = _stamp()
            found = stamp.read_text() if target.exists() and stamp.exists() else ""
            if force or found != f"{fits}\n{sources}":
                try:
                    _compile(target)
                    stamp.write_text(f"{fits}\n{sources}")
                except NoCompilerError:
                    if force or found.rpartition("\n")[0] != fits:
                        raise
    except OSError as error:
        raise BuildError(f"the library cannot be built in {folder}: {error}") from error
    return target


def cflags() -> list[str]:
    """What a C compiler needs to find the headers."""
    return [f"-I{header.include_dir()}"]


def libs() -> list[str]:
    """What a linker needs, and the program when it starts; builds the library if needed."""
    folder = build().parent
    return [f"-L{folder}", f"-Wl,-rpath,{folder}", "-llazyloom", "-lm"]
