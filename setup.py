"""Builds the core with mypyc, what calls C, and kernels; all else is in ``pyproject.toml``.

A module of ``CORE`` that is compiled is used in place of its ``.py`` file. Where there is no C
compiler, or LAZYLOOM_CORE=interpreted is set, the install goes on without: the same modules run
interpreted, several times slower; ``python -m lazyloom info`` says which.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

#: the modules on the path of every recorded op, from the operator to the run
CORE = [
    "autodiff/backward", "autodiff/forward", "autodiff/known_passes", "autodiff/reverse",
    "backends/blas_threads", "backends/data", "backends/forms", "backends/known_steps",
    "backends/launch", "backends/once", "backends/pieces", "backends/run", "backends/selection",
    "batching/replay", "cache/memory",
    "capture/arguments", "capture/captured", "capture/environment", "capture/guards",
    "capture/outputs", "capture/program", "capture/recipe", "capture/template",
    "capture/tensor_checks",
    "dtypes", "evaluate/checks", "evaluate/collect", "evaluate/cuts", "evaluate/evaluate",
    "evaluate/known_traces", "evaluate/overwritten",
    "frontend", "hooks", "interrupts", "locks", "ops/spec", "program/donation",
    "program/evaluations",
    "program/extents", "program/families", "program/plan", "program/program",
    "program/repetition", "settings", "tensor/apply", "tensor/operators", "tensor/storage",
    "tensor/tensor", "tensor/views",
    "trace/cut_history", "trace/following", "trace/graph", "trace/known", "trace/recording",
    "trace/scalars", "trace/source", "trace/specs", "trace/tape", "types",
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


#: what calls functions in C on arrays; without it kernels call NumPy
NATIVE = "lazyloom._native"
#: the extensions in C, and what is without one that cannot be compiled
NATIVES = {
    NATIVE: "kernels will call NumPy, not C",
    "lazyloom._regions": "no other code generators can be used",
    "lazyloom._onednn": "oneDNN cannot be used",
    "lazyloom._c_kernels": "XLA and NumPy sort and scan",
}


class OptionalBuild(build_ext):
    """Compiles the core; a failure is reported and leaves the modules interpreted."""

    def run(self) -> None:
        try:
            super().run()
        except Exception as error:
            self._without(error)

    def build_extension(self, ext: Any) -> None:
        try:
            super().build_extension(ext)
        except Exception as error:
            if ext.name not in NATIVES:
                self._without(error)
                return
            print(f"warning: {NATIVES[ext.name]}: {error}", file=sys.stderr)
            self.extensions = [e for e in self.extensions if e.name != ext.name]

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
        self.extensions = [e for e in self.extensions if e.name in NATIVES]


def native_extensions() -> list[Any]:
    """What calls functions in C, or nothing with a word on why."""
    found = [
        Extension("lazyloom._onednn", ["runtime/lazyloom/_onednn.c"],
                  depends=["runtime/lazyloom/_recurrent.h"]),
        Extension("lazyloom._c_kernels", ["runtime/lazyloom/_c_kernels.c"],
                  depends=[f"runtime/lazyloom/_c_{part}.h"
                           for part in ("threads", "keys", "digits", "scans", "pools")]),
    ]
    try:
        import numpy
    except ImportError as error:
        print(f"warning: kernels will call NumPy, not C: {error}", file=sys.stderr)
        return found
    found.append(Extension(
        NATIVE, ["runtime/lazyloom/_native.c"], include_dirs=[numpy.get_include()],
        depends=[f"runtime/lazyloom/_native_{part}.h"
                 for part in ("calls", "guards", "subnormals")],
        libraries=[] if sys.platform == "darwin" else ["dl"]))
    try:
        import jaxlib
    except ImportError as error:
        print(f"warning: no other code generators can be used: {error}", file=sys.stderr)
        return found
    headers = os.path.join(os.path.dirname(jaxlib.__file__), "include")
    found.append(Extension("lazyloom._regions", ["runtime/lazyloom/_regions.c"],
                           include_dirs=[numpy.get_include(), headers]))
    return found


def core_extensions() -> list[Any]:
    """The extension modules, or none with a word on why."""
    wanted = os.environ.get("LAZYLOOM_CORE", "")
    if wanted not in ("", "compiled", "interpreted"):
        raise SystemExit(f"LAZYLOOM_CORE is {wanted!r}, expected 'compiled' or 'interpreted'")
    if wanted == "interpreted":
        return []
    try:
        from mypyc.build import mypycify

        os.chdir(os.path.dirname(os.path.abspath(__file__)))
        os.environ["MYPYPATH"] = "runtime"
        extensions: list[Any] = mypycify(
            [*OPTIONS, *[f"runtime/lazyloom/{m}.py" for m in CORE]],
            opt_level="3", debug_level="0", group_name="lazyloom._core")
        for path in {source for e in extensions for source in e.sources}:
            if "__native" in path:
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                with open(path, "w", encoding="utf-8") as file:
                    file.write(deallocators_mended(text))
        return extensions
    except (Exception, SystemExit) as error:
        if wanted == "compiled":
            raise
        print(f"warning: the core is not compiled and will run interpreted: {error}",
              file=sys.stderr)
        return []


class BuildWithKernels(build):
    """Makes the kernels of the host that come with the package, by what was built.

    They are right for the versions of jax, jaxlib and NumPy that are there while it is built, and
    are not used with others. Where jax is missing, or LAZYLOOM_KERNELS=0 is set, there are none.
    """

    def run(self) -> None:
        super().run()
        place = os.path.abspath(self.build_lib)
        for name in ("kernels.bin", "kernels.so"):
            made = os.path.join(place, "lazyloom", name)
            if os.path.exists(made):
                os.remove(made)
        if os.environ.get("LAZYLOOM_KERNELS", "1").lower() in ("0", "off", "no", "false"):
            return
        environment = {**os.environ, "PYTHONPATH": place, "LAZYLOOM_CACHE": "0",
                       "JAX_PLATFORMS": "cpu"}  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "lazyloom", "kernels"], cwd=place, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            why = (done.stdout.strip().splitlines() or ["no reason was given"])[-1]
            print(f"warning: the package comes without kernels of the host, which are made when "
                  f"they are met: {why}", file=sys.stderr)
        else:
            print(done.stdout, end="")


setup(ext_modules=[*native_extensions(), *core_extensions()],
      cmdclass={"build": BuildWithKernels, "build_ext": OptionalBuild})
