"""Builds the core with mypyc, what calls C, the library for C, and kernels.

All else is in ``pyproject.toml``.

A module of ``CORE`` that is compiled is used in place of its ``.py`` file. Where there is no C
compiler, or LAZYLOOM_CORE=interpreted is set, the install goes on without: the same modules run
interpreted, several times slower; ``python -m lazyloom info`` says which.
"""

from __future__ import annotations

import ast
import gc
import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore, Lock, Thread
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

#: the modules on the path of every recorded op, from the operator to the run
CORE = [
    "autodiff/backward", "autodiff/forward", "autodiff/matching", "autodiff/reverse",
    "backends/data", "backends/selection",
    "batching/replay", "cache/memory",
    "capture/arguments", "capture/captured", "capture/environment", "capture/guards",
    "capture/outputs", "capture/program", "capture/recipe", "capture/template",
    "capture/tensor_checks",
    "dtypes", "evaluate/checks", "evaluate/collect", "evaluate/cuts", "evaluate/elements",
    "evaluate/evaluate",
    "evaluate/failures", "evaluate/matching", "evaluate/overwritten", "evaluate/reading",
    "evaluate/sync",
    "execute/choose", "execute/comparison", "execute/costs", "execute/history", "execute/prepare",
    "execute/op_by_op/blas_threads", "execute/op_by_op/executor", "execute/op_by_op/schedule",
    "execute/op_by_op/single_run", "execute/padded/choice", "execute/padded/members",
    "execute/padded/targets", "execute/run", "execute/whole_program",
    "frontend", "hooks", "host/error_state", "interrupts", "locks", "ops/rules/contraction",
    "ops/rules/pointwise", "ops/rules/reductions", "ops/rules/shared", "ops/spec", "ops/traits",
    "program/donation", "program/evaluations", "program/extents", "program/families",
    "program/padding", "program/plan", "program/program", "program/repetition", "program/stream",
    "logs", "placements", "settings", "strict",
    "tensor/apply", "tensor/calls", "tensor/contents", "tensor/creation", "tensor/element_writes",
    "tensor/elements", "tensor/inference", "tensor/later", "tensor/operators", "tensor/storage",
    "tensor/tensor", "tensor/views", "tensor/wrapping",
    "trace/constraints", "trace/cut_history", "trace/graph", "trace/matching/match",
    "trace/matching/past_traces", "trace/matching/recording", "trace/matching/starts",
    "trace/recording", "trace/results",
    "trace/scalars", "trace/source", "trace/specs", "trace/switches", "trace/tape", "types",
]  # fmt: skip

#: What is compiled must not depend on what happens to be installed: dependencies are Any.
#: ``make lint`` checks the types with everything there.
OPTIONS = ["--config-file=", "--no-site-packages", "--ignore-missing-imports"]


def deallocators_mended(source: str) -> str:
    """mypyc's C, in which what is no part of cycles is let go of without the trashcan.

    That is a list of objects whose end is put off where ends nest deeply, kept in the headers that
    objects have for the cycle collector. Those of ``acyclic`` classes have none, and mypyc 2 puts
    them there all the same: what lies before them in memory is written over.
    """
    parts = source.split("CPy_TRASHCAN_BEGIN(self, ")
    for k in range(1, len(parts)):
        name, found, rest = parts[k].partition(")")
        begin = parts[k - 1].rfind(f"{name}(")
        untracked = "PyObject_GC_UnTrack(self);" in parts[k - 1][begin:]
        traversed = f"(traverseproc){name.removesuffix('_dealloc')}_traverse" in source
        if begin < 0 or untracked != traversed:
            raise RuntimeError(
                f"mypyc's {name} does not say whether the cycle collector knows its class: "
                "expected PyObject_GC_UnTrack there and tp_traverse in the type, or neither, as "
                "mypyc 2.4 writes them")
        parts[k] = (name if untracked else "NULL") + found + rest
    return "CPy_TRASHCAN_BEGIN(self, ".join(parts)


def sources_named(source: str) -> str:
    """mypyc's C, whose tracebacks name files as they are in the package, not in the checkout.

    ``lazyloom/sources.py`` has their lines shown.
    """
    # arguments alone: among the literals a name of 34 letters follows its length, which is a quote
    return source.replace('("runtime/lazyloom/', '("lazyloom/')


Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Docstrings:
    """Writes the docstrings of a module of the core into what mypyc made of it.

    mypyc 2.4 writes signatures alone where C has docstrings, and none where a default is no
    literal; of modules and properties it writes nothing, and of classes that are no extension
    types, such as named tuples, a filler. What is written here is data of the extension module:
    nothing is looked up or made when it is imported.
    """

    #: a string in C that mypyc writes, or none
    WRITTEN = r'PyDoc_STR\((NULL|"(?:[^"\\]|\\.)*")\)'
    #: functions of a module, methods
    FUNCTIONS = re.compile(r'(\{"(\w+)",\s+\(PyCFunction\)\w+,\s+METH_[^,]*, )' + WRITTEN)
    PROPERTIES = re.compile(
        r'(\{"(\w+)",\s+\(getter\)\w+,\s+(?:\(setter\)\w+|NULL),\s+)NULL, NULL\}')
    CLASS = re.compile(r"(\.tp_doc = )" + WRITTEN)
    FILLER = re.compile(
        r"CPyStatics\[\d+\]; /\* 'mypyc filler docstring' \*/"
        r'(?=(?:.*\n){1,8}? +CPy_AddTraceback\("[^"]*", "<module>", (\d+),)')

    def __init__(self, python: str) -> None:
        self.module = ast.parse(python)
        self.classes = [n for n in self.module.body if isinstance(n, ast.ClassDef)]
        self.fillers = 0

    def written(self, source: str) -> str:
        """The C of the module with its docstrings."""
        found = re.search(r"static PyMethodDef (\w*)module_methods\[\] = \{", source)
        if found is None:
            raise RuntimeError("mypyc's C has no module_methods, expected a table of functions")
        prefix = found[1]
        source = self._table(source, f"PyMethodDef {prefix}module_methods[]", self.module)
        text = ast.get_docstring(self.module)
        if text is not None:
            source = source.replace("NULL, /* docstring */", f"PyDoc_STR({in_quotes(text)}),")
        for cls in self.classes:
            name = f"{prefix}___{cls.name}" if prefix else cls.name
            source = self._table(source, f"PyMethodDef {name}_methods[]", cls)
            source = self._table(source, f"PyGetSetDef {name}_getseters[]", cls)
            source = self._table(source, f"PyTypeObject CPyType_{name}_template_", cls)
        return self.FILLER.sub(self._filled, source)

    def _table(self, source: str, name: str, scope: Documented) -> str:
        """The C with the docstrings of one of its tables."""
        begin = source.find(f"static {name} = {{")
        if begin < 0:
            return source
        end = source.index("\n};", begin)
        table = source[begin:end]
        functions = {n.name: n for n in scope.body
                     if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
                     and not any(ast.unparse(d).endswith(".setter") for d in n.decorator_list)}

        def function(match: re.Match[str]) -> str:
            node = functions.get(match[2])
            if node is None:
                return match[0]
            return f"{match[1]}PyDoc_STR({self._both(match[3], node, node.name, node)})"

        def described(match: re.Match[str]) -> str:
            node = functions.get(match[2])
            text = None if node is None else ast.get_docstring(node)
            return match[0] if text is None else f"{match[1]}{in_quotes(text)}, NULL}}"

        def instance(match: re.Match[str]) -> str:
            init = functions.get("__init__")
            assert isinstance(scope, ast.ClassDef)
            return f"{match[1]}PyDoc_STR({self._both(match[2], scope, scope.name, init)})"

        table = self.FUNCTIONS.sub(function, table)
        table = self.PROPERTIES.sub(described, table)
        table = self.CLASS.sub(instance, table)
        return source[:begin] + table + source[end:]

    def _both(
        self, written: str, node: Documented, name: str, called: ast.AST | None
    ) -> str:
        """A signature, which mypyc wrote or could not, with a docstring."""
        text = ast.get_docstring(node)
        if written == "NULL":
            assert isinstance(called, (ast.FunctionDef, ast.AsyncFunctionDef))
            written = in_quotes(f"{name}({parameters(called, name == called.name)})\n--\n\n")
        return written if text is None else f"{written}\n{in_quotes(text)}"

    def _filled(self, match: re.Match[str]) -> str:
        line = int(match[1])
        for cls in self.classes:
            if line in (cls.lineno, *(d.lineno for d in cls.decorator_list)):
                return f"PyUnicode_FromString({in_quotes(ast.get_docstring(cls) or cls.name)});"
        raise RuntimeError(
            f"mypyc's C has a class at line {line}, where the module has none")


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef, own: bool) -> str:
    """The parameters as a text signature has them: without types, other than literals as dots.

    A method's first one is marked; the signature of a class (not ``own``) is without it.
    """
    given = function.args
    plain = [ast.arg(a.arg) for a in (*given.posonlyargs, *given.args)]
    if plain and plain[0].arg in ("self", "cls"):
        if own:
            plain[0].arg = f"${plain[0].arg}"
        else:
            plain = plain[1:]

    def default(value: ast.expr | None) -> ast.expr | None:
        try:
            if value is not None:
                ast.literal_eval(value)
        except ValueError:
            return ast.Constant(...)
        return value

    return ast.unparse(ast.arguments(
        posonlyargs=[], args=plain, vararg=given.vararg and ast.arg(given.vararg.arg),
        kwonlyargs=[ast.arg(a.arg) for a in given.kwonlyargs],
        kw_defaults=[default(v) for v in given.kw_defaults],
        kwarg=given.kwarg and ast.arg(given.kwarg.arg),
        defaults=[v for v in map(default, given.defaults) if v is not None]))


def in_quotes(text: str) -> str:
    """A string in C, a line of it on each line."""
    lines = []
    for line in text.splitlines(keepends=True) or [""]:
        codes = [chr(c) if 32 <= c < 127 and chr(c) not in '"\\?' else f"\\{c:03o}"
                 for c in line.encode()]
        lines.append(f'"{"".join(codes)}"')
    return "\n".join(lines)


#: what calls functions in C on arrays; without it kernels call NumPy
NATIVE = "lazyloom._native"
#: the extensions in C, and what is without one that cannot be compiled
NATIVES = {
    NATIVE: "kernels will call NumPy, not C",
    "lazyloom._regions": "no other code generators can be used",
    "lazyloom._onednn": "oneDNN cannot be used",
    "lazyloom._c_kernels": "XLA and NumPy sort and scan",
}


def say(text: str) -> None:
    """Say what is done next, with the minutes since the build began."""
    minutes, seconds = divmod(int(time.monotonic() - BEGUN), 60)
    # in one piece: compilers are called, and print, at the same time
    print(f"[{minutes}:{seconds:02}] {text}\n", end="", flush=True)


BEGUN = time.monotonic()


class Objects:
    """Compiles the sources of extensions side by side, and those alone that changed.

    In the place of a compiler's ``compile``, which takes all of them one after the other.
    """

    #: seconds between two words on how far it is
    OFTEN = 5.0

    def __init__(self, one: Any, command: Any, force: bool) -> None:
        self.one = one
        self.command = command
        self.force = force
        self.lock = Lock()
        self.said = time.monotonic()
        # those of all extensions
        self.places = BoundedSemaphore(processors())

    def __call__(self, sources: list[str], **options: Any) -> list[str]:
        """The object files."""
        done = 0

        def objects(source: str) -> list[str]:
            nonlocal done
            with self.places:
                found = self._object(source, options)
            with self.lock:
                done += 1
                if time.monotonic() - self.said > self.OFTEN and len(sources) > 1:
                    self.said = time.monotonic()
                    say(f"compiled {done} of {len(sources)} files")
            return found

        pool = ThreadPoolExecutor(processors())
        try:
            return [name for found in pool.map(objects, sources) for name in found]
        finally:
            pool.shutdown(cancel_futures=True)  # after an error, or Ctrl-C

    def _object(self, source: str, options: Any) -> list[str]:
        """The object file of a source; the one that is there, if it is of this text and flags."""
        digest = self.digest((source, *(options.get("depends") or ())), sorted(options.items()))
        place = os.path.join(options.get("output_dir") or "", f"{os.path.splitext(source)[0]}.o")
        mark = f"{place}.sha256"
        if not self.force and os.path.exists(place) and (
            said_by(mark) == f"{digest} {digest_of(place)}"
        ):
            return [place]
        if os.path.exists(mark):
            os.remove(mark)  # of what may be half written, if this is killed
        made = list(self.one([source], **options))
        if made == [place]:
            with open(mark, "w", encoding="ascii") as file:
                file.write(f"{digest} {digest_of(place)}")
        return made

    def digest(self, files: Iterable[str], options: Any) -> str:
        """A digest of files, and of how they are compiled."""
        digest = hashlib.sha256(repr((self.command, options, HEADERS)).encode())
        for path in files:
            digest.update(digest_of(path).encode())
        return digest.hexdigest()


def digest_of(path: str) -> str:
    """A digest of a file."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def said_by(mark: str) -> str:
    """What a file says, or nothing if it is not there."""
    try:
        with open(mark, encoding="ascii", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "none"


#: versions of the packages whose headers are included
HEADERS = tuple(_version(name) for name in ("numpy", "jaxlib", "mypy"))


class OptionalBuild(build_ext):
    """Compiles the core; a failure is reported and leaves the modules interpreted."""

    def run(self) -> None:
        try:
            super().run()
        except Exception as error:
            self._without(error)

    def build_extensions(self) -> None:
        """What calls C first, with which kernels are made while all else is compiled."""
        whole = self.distribution.get_command_obj("build", create=False)
        kernels = getattr(whole, "kernels", None)
        self.objects = self.compiler.compile = Objects(
            self.compiler.compile, getattr(self.compiler, "compiler_so", None), self.force)
        # by the dates of files one cannot see whether they are right
        self.always, self.force = self.force, True
        self.compiler.force = True
        # they wait for the compiler's places, and for each other's files
        self.parallel = 2 * processors()
        core = [e for e in self.extensions if e.name not in NATIVES]
        others = [e for e in self.extensions if e.name in NATIVES and e.name != NATIVE]
        first = [e for e in self.extensions if e.name == NATIVE]
        #: the names of extensions in C that could not be built
        self.failed: set[str] = set()
        built: list[Any] = []
        rest = "the core and other functions in C" if core else "other functions in C"
        for what, chosen in (("what calls C", first), (rest, [*core, *others])):
            if chosen:
                say(f"compiling {what}")
                self.extensions = chosen
                try:
                    super().build_extensions()
                except Exception as error:
                    self._without(error)
                built += [e for e in self.extensions if e.name not in self.failed]
            if chosen is first and kernels is not None and core:
                kernels.begin()
        self.extensions = built

    def build_extension(self, ext: Any) -> None:
        """Build an extension, if the one that is there is not right."""
        if ext.name not in NATIVES:
            self._built(ext)
            return
        try:
            self._built(ext)
        except Exception as error:
            print(f"warning: {NATIVES[ext.name]}: {error}", file=sys.stderr)
            self._remove(ext)
            self.failed.add(ext.name)

    def _built(self, ext: Any) -> None:
        place = self.get_ext_fullpath(ext.name)
        mark = os.path.join(self.build_temp, f"{ext.name}.sha256")
        digest = self.objects.digest(
            [*ext.sources, *ext.depends],
            [ext.name, ext.include_dirs, ext.extra_compile_args, ext.extra_link_args,
             ext.libraries, getattr(self.compiler, "linker_so", None)])
        if not self.always and os.path.exists(place) and (
            said_by(mark) == f"{digest} {digest_of(place)}"
        ):
            return
        if os.path.exists(mark):
            os.remove(mark)
        super().build_extension(ext)
        os.makedirs(self.build_temp, exist_ok=True)
        with open(mark, "w", encoding="ascii") as file:
            file.write(f"{digest} {digest_of(place)}")

    def copy_extensions_to_source(self) -> None:
        built = [e for e in self.extensions if os.path.exists(self.get_ext_fullpath(e.name))
                 or os.path.exists(os.path.join(self.build_lib, self.get_ext_filename(e.name)))]
        if len(built) == len(self.extensions):
            super().copy_extensions_to_source()

    def _without(self, error: Exception) -> None:
        if os.environ.get("LAZYLOOM_CORE") == "compiled":
            raise error
        print(f"warning: the core is not compiled and will run interpreted: {error}",
              file=sys.stderr)
        # what an earlier build left is of other sources
        for extension in self.extensions:
            if extension.name not in NATIVES:
                self._remove(extension)
        self.extensions = [e for e in self.extensions if e.name in NATIVES]

    def _remove(self, extension: Any) -> None:
        path = self.get_ext_fullpath(extension.name)
        if os.path.exists(path):
            os.remove(path)


#: nothing for debuggers, as of the core
FLAGS = [] if sys.platform == "win32" else ["-g0"]
#: nobody else calls the core's functions, so they need no table
HIDDEN = [] if sys.platform == "win32" else ["-fvisibility=hidden"]
#: roots that set no errno, so that there is an instruction for many; the library of the others
NO_ERRNO, MATH = ([], []) if sys.platform == "win32" else ([*FLAGS, "-fno-math-errno"], ["m"])
#: products are rounded before they are added
EXACT = [] if sys.platform == "win32" else ["-ffp-contract=off"]


def in_c(name: str, folder: str, **options: Any) -> Any:
    """The extension in C of a folder of ``runtime/native``: its file of the folder's name."""
    place = f"runtime/native/{folder}"
    headers = sorted(n for n in os.listdir(os.path.join(HERE, place)) if n.endswith(".h"))
    return Extension(name, [f"{place}/{folder}.c"], depends=[
        "runtime/native/common/wide.h", "capi/include/lazyloom_codegen.h",
        *(f"{place}/{header}" for header in headers)], **options)


HERE = os.path.dirname(os.path.abspath(__file__))


def native_extensions() -> list[Any]:
    """The extensions in C, or those that can be built here with a word on why."""
    found = [in_c("lazyloom._onednn", "onednn", extra_compile_args=FLAGS, libraries=MATH),
             in_c("lazyloom._c_kernels", "c_kernels", extra_compile_args=NO_ERRNO, libraries=MATH)]
    try:
        import numpy
    except ImportError as error:
        print(f"warning: kernels will call NumPy, not C: {error}", file=sys.stderr)
        return found
    found.append(in_c(
        NATIVE, "host_calls", include_dirs=[numpy.get_include()],
        extra_compile_args=[*FLAGS, *EXACT],
        libraries=[] if sys.platform == "darwin" else ["dl"]))
    try:
        import jaxlib
    except ImportError as error:
        print(f"warning: no other code generators can be used: {error}", file=sys.stderr)
        return found
    headers = os.path.join(os.path.dirname(jaxlib.__file__), "include")
    found.append(in_c("lazyloom._regions", "regions", extra_compile_args=FLAGS,
                      include_dirs=[numpy.get_include(), headers]))
    return found


#: commands that ask about the package, of which pip runs one before it builds, and those that build
ABOUT = {"egg_info", "dist_info", "sdist"}
BUILDING = {"build", "build_ext", "bdist_wheel", "editable_wheel", "install", "develop"}


def core_extensions() -> list[Any]:
    """The extension modules, or none with a word on why."""
    wanted = os.environ.get("LAZYLOOM_CORE", "")
    if wanted not in ("", "compiled", "interpreted"):
        raise SystemExit(f"LAZYLOOM_CORE is {wanted!r}, expected 'compiled' or 'interpreted'")
    given = set(sys.argv)
    if wanted == "interpreted" or given & ABOUT and not given & BUILDING:
        return []
    try:
        from mypyc.build import mypycify

        # what mypy makes is there until this process ends: the collector would go through it for
        # seconds and find nothing
        gc.disable()
        os.chdir(HERE)
        os.environ["MYPYPATH"] = "runtime"
        say(f"translating the core's {len(CORE)} modules to C")
        extensions: list[Any] = mypycify(
            [*OPTIONS, *[f"runtime/lazyloom/{m}.py" for m in CORE]],
            opt_level="3", debug_level="0", group_name="lazyloom._core", multi_file=True)
        gc.freeze()
        for extension in extensions:
            # they have one list
            extension.extra_compile_args = [*extension.extra_compile_args, *HIDDEN]
            # mypyc writes the headers of a group with a package's name there, and its files above
            headers = os.path.join("build", "lazyloom")
            extension.include_dirs.append(headers)
            extension.depends = [*extension.depends, *(
                os.path.join(headers, name) for name in sorted(os.listdir(headers))
                if name.endswith(".h"))]
        modules = {"__native_lazyloom___" + m.replace("/", "___") + ".c": m for m in CORE}
        for path in {source for e in extensions for source in e.sources}:
            if "__native" in path:
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                module = modules.pop(os.path.basename(path), None)
                if module is not None:
                    with open(f"runtime/lazyloom/{module}.py", encoding="utf-8") as file:
                        text = Docstrings(file.read()).written(text)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(sources_named(deallocators_mended(text)))
        if modules:
            raise RuntimeError(f"mypyc wrote no C of {', '.join(modules.values())}")
        return extensions
    except (Exception, SystemExit) as error:
        if wanted == "compiled":
            raise
        print(f"warning: the core is not compiled and will run interpreted: {error}",
              file=sys.stderr)
        return []


#: bytes of memory from which kernels are made while the core is compiled: two processes of 2 GB
#: each beside the compiler
ENOUGH = 8 << 30


#: files of kernels, in the package's folder
KERNELS = ("kernels.bin", "kernels.so")

#: the folder of the library for C, which says itself what it was built from
LIBRARY = os.path.join("lazyloom_capi", "lib")


class Kernels:
    """The kernels of the host, made by what was built, in a process of its own.

    They are the same whether the core is compiled or not, so they can be made beside it: in a copy
    of the package, in which no module turns into another meanwhile.
    """

    def __init__(self, place: str, every: bool) -> None:
        self.place = place
        self.every = every
        self.process: subprocess.Popen[str] | None = None
        self.reader: Thread | None = None
        self.said = "no reason was given"
        self.copy: tempfile.TemporaryDirectory[str] | None = None

    def begin(self) -> None:
        """Begin while other things are built, where there are processors and memory for both."""
        if processors() < 2 or not hasattr(os, "sysconf") or (
            os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") < ENOUGH
        ):
            return
        self.copy = tempfile.TemporaryDirectory()
        # modules of the core are those of an earlier build, if there are any
        shutil.copytree(os.path.join(self.place, "lazyloom"),
                        os.path.join(self.copy.name, "lazyloom"), ignore=_of_the_core)
        # few cases do not repay the start of JAX in each process
        self._start(self.copy.name, processors() if self.every else max(1, processors() // 2))

    def made(self) -> tuple[int, str]:
        """Wait for them: the process's status, and what it said last."""
        if self.process is None:
            self._start(self.place, processors())
        assert self.process is not None and self.reader is not None
        status = self.process.wait()
        self.reader.join()
        if self.copy is not None:
            self.copy.cleanup()
        return status, self.said

    def stop(self) -> None:
        """End it, if it is under way: what it is for was not built."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.made()

    def _start(self, folder: str, processes: int) -> None:
        say("making all usual kernels of ops: three minutes on two processors" if self.every else
            "making common kernels of ops")
        # in an environment of its own for the build, pip names what is installed there so
        path = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "PYTHONPATH": path, "LAZYLOOM_CACHE": "0",
                       "JAX_PLATFORMS": "cpu"}  # fmt: skip
        output = os.path.join(self.place, "lazyloom", KERNELS[0])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lazyloom", "kernels", "--keep", "--output", output,
             "--processes", str(processes),
             *([] if self.every else ["--common"])],
            cwd=folder, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.reader = Thread(target=self._hear, args=(self.process.stdout,))
        self.reader.start()

    def _hear(self, lines: Any) -> None:
        for line in lines:
            self.said = line.strip() or self.said
            say(line.rstrip())


def _of_the_core(folder: str, names: list[str]) -> list[str]:
    """The compiled modules in a folder that are not what calls C."""
    natives = {name.rpartition(".")[2] for name in NATIVES}
    return [name for name in names if name.endswith((".so", ".pyd"))
            and name not in KERNELS and name.partition(".")[0] not in natives]


class BuildWithKernels(build):
    """Makes the kernels of the host that come with the package, by what was built.

    They are right for the versions of jax, jaxlib and NumPy that are there while it is built, and
    are not used with others. They are the common ones; LAZYLOOM_KERNELS=all makes all usual ones,
    in minutes. Where jax is missing, or it is 0, there are none.
    """

    kernels: Kernels | None = None

    def run(self) -> None:
        place = os.path.abspath(self.build_lib)
        wanted = os.environ.get("LAZYLOOM_KERNELS", "1").lower()
        if wanted not in ("0", "off", "no", "false"):
            self.kernels = Kernels(place, wanted == "all")
        self._clear(place)
        try:
            super().run()
        except BaseException:
            if self.kernels is not None:
                self.kernels.stop()
            raise
        self._library(place)
        if self.kernels is None:
            return
        status, said = self.kernels.made()
        if status:
            for name in KERNELS:
                path = os.path.join(place, "lazyloom", name)
                if os.path.exists(path):
                    os.remove(path)
            print(f"warning: the package comes without kernels of the host, which are made when "
                  f"they are met: {said}", file=sys.stderr)
        say("built")

    def _library(self, place: str) -> None:
        """The library for programs in C, which finds its environment by where it is installed."""
        say("building the library for C")
        made = subprocess.run(
            [sys.executable, "-m", "lazyloom_capi", "--build", "--relocatable", "--output",
             os.path.join(place, LIBRARY)],
            cwd=place, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            # in an environment of its own for the build, pip names what is installed there so
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(
                filter(None, (place, os.environ.get("PYTHONPATH"))))})  # fmt: skip
        if made.returncode:
            shutil.rmtree(os.path.join(place, LIBRARY), ignore_errors=True)
            said = f"the library for C is built when it is first asked for: {made.stdout.strip()}"
            if os.environ.get("LAZYLOOM_CORE") == "compiled":
                raise RuntimeError(said)
            print(f"warning: {said}", file=sys.stderr)

    def _clear(self, place: str) -> None:
        """Remove what an earlier build left, but for what takes long to make and may be right."""
        names = self.get_finalized_command("build_ext").get_ext_filename
        kept = {os.path.join(place, names(e.name)) for e in self.distribution.ext_modules or ()}
        if self.kernels is not None:
            kept |= {os.path.join(place, "lazyloom", name) for name in KERNELS}
        library = os.path.join(place, LIBRARY, "")
        for folder, _, files in os.walk(place):
            for path in (os.path.join(folder, name) for name in files):
                if path not in kept and not path.startswith(library):
                    os.remove(path)


setup(ext_modules=[*native_extensions(), *core_extensions()],
      cmdclass={"build": BuildWithKernels, "build_ext": OptionalBuild})
