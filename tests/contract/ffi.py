"""Ops whose body is a C++ handler inside the XLA executable: they count, fail, or wait.

The counters are read from the shared library itself, so they say what XLA ran whatever the
runtime's own counters say.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lazyloom as ll
from lazyloom.ops.kinds import Array, T
from lazyloom.ops.rules import elementwise

SOURCE = r"""
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;

static std::atomic<int64_t> runs{0};
static std::atomic<int64_t> slow_runs{0};
extern "C" int64_t test_runs() { return runs.load(); }
extern "C" int64_t test_slow_runs() { return slow_runs.load(); }
static std::atomic<bool> open{true};
extern "C" void test_set_gate(int opened) { open.store(opened); }

// x + 1, counted
static ffi::Error Count(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  runs.fetch_add(1);
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i] + 1.0f;
  return ffi::Error::Success();
}
// x, or an error if its first element is negative
static ffi::Error Check(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  if (x.element_count() && x.typed_data()[0] < 0) return ffi::Error::Internal("boom");
  std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
  return ffi::Error::Success();
}
// x, after that many milliseconds in its first element
static ffi::Error Slow(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  slow_runs.fetch_add(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(int64_t(x.typed_data()[0])));
  std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
  return ffi::Error::Success();
}
// x, as soon as the gate is open, or after a minute
static ffi::Error Gate(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  for (int k = 0; k < 60000 && !open.load(); ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
  return ffi::Error::Success();
}
#define HANDLER(name, fn) \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(name, fn, ffi::Ffi::Bind() \
      .Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>())
HANDLER(test_count, Count);
HANDLER(test_check, Check);
HANDLER(test_slow, Slow);
HANDLER(test_gate, Gate);
"""


def compiler() -> str | None:
    """A C++ compiler, or None."""
    return next((c for c in (os.environ.get("CXX"), "c++", "g++", "clang++")
                 if c and shutil.which(c)), None)  # fmt: skip


def build(folder: Path) -> Path:
    """The shared library, compiled in that folder against the headers that jaxlib ships."""
    import jax.ffi

    source, library = folder / "handlers.cc", folder / "handlers.so"
    source.write_text(SOURCE)
    subprocess.run(
        [str(compiler()), "-std=c++17", "-O1", "-fPIC", "-shared", f"-I{jax.ffi.include_dir()}",
         str(source), "-o", str(library)], check=True, capture_output=True, text=True)  # fmt: skip
    return library


_loaded: list[Handlers] = []


def loaded(folder: Path) -> Handlers:
    """The handlers of this process, built in that folder if they were not: XLA takes them once."""
    if not _loaded:
        _loaded.append(Handlers(build(folder)))
    return _loaded[0]


class Handlers:
    """The loaded library, with its handlers registered with XLA and as ops."""

    def __init__(self, library: Path) -> None:
        import jax

        self.path = library
        self.library = ctypes.CDLL(str(library))
        self.library.test_runs.restype = ctypes.c_int64
        self.library.test_slow_runs.restype = ctypes.c_int64
        for name in ("test_count", "test_check", "test_slow", "test_gate"):
            jax.ffi.register_ffi_target(
                name, jax.ffi.pycapsule(getattr(self.library, name)), platform="cpu")

        def entry(
            target: str, name: str = "", version: str | None = "1", **execution: bool
        ) -> None:
            def body(x: T) -> Array:
                """A handler of the tests."""
                return jax.ffi.ffi_call(
                    target, jax.ShapeDtypeStruct(x.shape, x.dtype),
                    has_side_effect=execution.get("effect", False))(x)

            ll.register_op(
                elementwise, T="floating", source="the tests", name=name or target,
                version=version, derivative=ll.ops.Derivative(differentiable=False),
                execution=ll.ops.Execution(**execution))(body)

        entry("test_count")
        entry("test_count", "test_count_local", version=None)
        entry("test_count", "test_count_effect", effect=True)
        entry("test_check", fallible=True)
        entry("test_slow")
        entry("test_gate")

    @property
    def runs(self) -> int:
        """How often XLA ran ``test_count``."""
        return int(self.library.test_runs())

    @contextmanager
    def closed_gate(self) -> Iterator[None]:
        """A block in which ``test_gate`` does not end."""
        self.library.test_set_gate(0)
        try:
            yield
        finally:
            self.library.test_set_gate(1)

    @property
    def slow_runs(self) -> int:
        """How often XLA started ``test_slow``."""
        return int(self.library.test_slow_runs())
