"""Compilation of C functions into a shared library, by the system's C compiler."""

from __future__ import annotations

import functools
import hashlib
import os
import shlex
import signal
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ...interrupts import reraise_from_handler
from .. import native
from ..error_functions import INVERSE_DOUBLE
from .function import CFunctionSource, source_of
from .place import arrays_text, calls_of, put, tuple_text

#: functions that are compiled together
_TOGETHER: Final = 300
#: seconds that the compiler may take for some functions beside a program, which take one
SECONDS: Final = 60.0
#: vectors, and little else that takes the compiler time: -O3 takes three times as long
_FLAGS: Final = ("-O1", "-ftree-vectorize", "-fPIC", "-std=gnu11", "-w", "-fno-math-errno",
                 "-fno-trapping-math", "-ffp-contract=fast", "-fopenmp-simd", "-fwrapv",
                 "-fno-semantic-interposition")  # fmt: skip
#: of gcc alone: vectors wherever there may be enough elements, and one loop for what they leave
_GCC: Final = ("-fvect-cost-model=dynamic", "--param=vect-epilogues-nomask=0")


class CompilerError(RuntimeError):
    """There is no C compiler, or it failed; the text says how."""


def prelude() -> str:
    """What the functions are written with."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "prelude.h"),
              encoding="utf-8") as file:
        return f"{_coefficients()}{file.read()}"


def _coefficients() -> str:
    rows = ",\n".join("{" + ", ".join(map(repr, row)) + "}" for row in INVERSE_DOUBLE)
    return (f"static const double l_inverse[{len(INVERSE_DOUBLE)}][{len(INVERSE_DOUBLE[0])}] "
            f"__attribute__((unused)) = {{\n{rows}}};\n")


class CFunctions:
    """C functions by their names, which are digests of their texts."""

    def __init__(self, seconds: float | None = None) -> None:
        self.texts: Final[dict[str, str]] = {}
        #: what the compiler may take for one file, in seconds
        self.seconds: Final = seconds

    def add(self, source: CFunctionSource) -> str:
        """The function's name."""
        name = _name_of(source.body)
        self.texts[name] = source.body
        return name

    def named(self, text: str, closed: Any, symbols: Sequence[str] | None) -> str:
        """The text of a kernel, which has the function in its place where that is quicker."""
        return _in_c(text, closed, symbols, self.add, False)

    def compiled(self, folder: str, say: Callable[[str], None] | None = None) -> list[str]:
        """Object files of them, without those that the compiler refuses. Raises CompilerError.

        ``say`` is called with a line on how far it is.
        """
        # what fails here fails for all
        objects = [_object(folder, f"{os.getpid()}-none", prelude(), self.seconds)]
        names = list(self.texts)
        for start in range(0, len(names), _TOGETHER):
            if say is not None:
                say(f"{start} of {len(names)} functions in C are compiled")
            objects += self._objects(folder, start, names[start : start + _TOGETHER])
        return objects

    def _objects(self, folder: str, start: int, names: Sequence[str]) -> list[str]:
        """These functions, if need be in several files."""
        parts = [f"__attribute__((weak)) int {n}(void *const *p, const i64 *e)\n{self.texts[n]}"
                 for n in names]
        name = f"{os.getpid()}-{start}-{len(names)}"
        try:
            return [_object(folder, name, "\n".join([prelude(), *parts]), self.seconds)]
        except CompilerError:
            if len(names) == 1:
                return []
        half = len(names) // 2
        return [*self._objects(folder, start, names[:half]),
                *self._objects(folder, start + half, names[half:])]


def with_text(text: str, closed: Any, symbols: Sequence[str] | None) -> str:
    """The text of a kernel with that of its function, which may be compiled later."""
    return _in_c(text, closed, symbols, lambda source: _name_of(source.body), True)


def _name_of(body: str) -> str:
    return "k" + hashlib.sha256(body.encode()).hexdigest()[:16]


def _in_c(
    text: str, closed: Any, symbols: Sequence[str] | None, add: Callable[[CFunctionSource], str],
    with_body: bool,
) -> str:
    calls = calls_of(text, closed)
    if not calls:
        return text
    try:
        source = source_of(closed, symbols or ())
    except Exception as error:
        reraise_from_handler(error)
        # no code, or what nobody thought of: the kernel is right without
        return text
    given = ", ".join([
        repr(add(source)), "kernel", tuple_text(source.symbols),
        arrays_text(source.operands), arrays_text(source.results), source.work, str(calls),
        *([repr(source.body)] if with_body else [])])
    return put(text, f"native({given})", symbols)


def compiler() -> list[str]:
    """The C compiler, as the CC variable or what Python was built with names it.

    Raises CompilerError for a variable that is no command.
    """
    given = os.environ.get("CC", "")
    try:
        return shlex.split(given) or shlex.split(sysconfig.get_config_var("CC") or "cc")
    except ValueError as error:
        raise CompilerError(f"the variable CC is {given!r}, expected a command: {error}") from error


@functools.lru_cache(maxsize=1)
def flags() -> tuple[str, ...]:
    """What the compiler is told. Raises CompilerError."""
    try:
        said = subprocess.run([*compiler(), "--version"], capture_output=True, text=True,
                              errors="replace", timeout=SECONDS, check=False).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CompilerError(
            f"the C compiler {compiler()[0]!r} cannot be run: {error}") from error
    return (*_FLAGS, *(_GCC if "Free Software Foundation" in said else ()))


def run(arguments: Sequence[str], seconds: float | None = None) -> None:
    """Run the compiler, for so long at most. Raises CompilerError."""
    # in a group of its own: it runs others
    group: dict[str, Any] = {} if seconds is None else {"process_group": 0}
    try:
        with subprocess.Popen(
            arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            errors="replace", **group
        ) as process:
            try:
                _, said = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired as error:
                os.killpg(process.pid, signal.SIGKILL)
                raise CompilerError(f"{arguments[0]} took longer than {seconds:.0f} s") from error
            except BaseException:
                process.kill()
                raise
    except OSError as error:
        raise CompilerError(f"the C compiler {arguments[0]!r} cannot be run: {error}") from error
    if process.returncode:
        lines = [x for x in said.splitlines() if "error" in x] or [said]
        raise CompilerError(f"{arguments[0]} failed: {lines[0][:300]}")


def march() -> list[str]:
    """The flags for this processor's level of instructions."""
    level = native.level()
    return [f"-march=x86-64-v{level}"] if level > 1 else []


def _object(folder: str, name: str, text: str, seconds: float | None) -> str:
    path = os.path.join(folder, name)
    with open(f"{path}.c", "w", encoding="utf-8") as file:
        file.write(text)
    run([*compiler(), *flags(), *march(), "-c", f"{path}.c", "-o", f"{path}.o"], seconds)
    if not os.path.exists(f"{path}.o"):
        raise CompilerError(f"{shlex.join(compiler())} made no file")
    return f"{path}.o"


def library_of(texts: Mapping[str, str]) -> bytes:
    """A library of functions by their names. Raises CompilerError where none can be compiled."""
    functions = CFunctions(SECONDS)
    functions.texts.update(texts)
    with tempfile.TemporaryDirectory(prefix="lazyloom-") as folder:
        objects = functions.compiled(folder)
        path = os.path.join(folder, "functions.so")
        run([*compiler(), "-shared", "-s", *objects, "-o", path, "-lm"], SECONDS)
        with open(path, "rb") as file:
            return file.read()


def linked(objects: Sequence[str], path: str, mark: str) -> None:
    """Make a library of object files, whole or not at all. Raises CompilerError.

    ``mark`` says where it is right.
    """
    aside = f"{path}.new-{os.getpid()}"
    run([*compiler(), "-shared", "-s", *objects, "-o", aside, "-lm"])
    with open(aside, "rb") as file:
        data = file.read()
    with open(aside, "wb") as file:
        file.write(native.sealed(data, mark))
    os.replace(aside, path)
