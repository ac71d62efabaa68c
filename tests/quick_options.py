"""XLA's options for programs of tests that run once, where compiling takes all the time.

Compiling takes a quarter of the processor time that it takes for users. What the programs compute
is the same, up to rounding.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

OPTIONS: Final = [
    ("xla_backend_optimization_level", "0"),
    ("xla_llvm_disable_expensive_passes", "True"),
    ("xla_cpu_use_fusion_emitters", "False"),
    ("xla_cpu_parallel_codegen_split_count", "1"),
]
SMALLEST: Final = """func.func public @main() -> tensor<i1> {
  %0 = stablehlo.constant dense<true> : tensor<i1>
  return %0 : tensor<i1>
}"""


@functools.lru_cache(maxsize=1)
def known() -> list[tuple[str, str]]:
    """Those options that this version of XLA knows."""
    from lazyloom.backends.xla import jax_compat

    found = []
    for option in OPTIONS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(jax_compat, "XLA_OPTIONS", [option])
            try:
                jax_compat.compile_text(SMALLEST)
            except RuntimeError:
                continue
        found.append(option)
    return found


@contextlib.contextmanager
def another_fingerprint() -> Iterator[None]:
    """The fingerprint is computed anew within and after it, as XLA's options differ."""
    from lazyloom.backends import fingerprint

    fingerprint.fingerprint.cache_clear()
    try:
        yield
    finally:
        fingerprint.fingerprint.cache_clear()


@contextlib.contextmanager
def for_children() -> Iterator[None]:
    """XLA has these options in the processes that are started, not in this one."""
    flags = [f"--{name}={value.lower()}" for name, value in known()]
    with another_fingerprint(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("XLA_FLAGS", " ".join([os.environ.get("XLA_FLAGS", ""), *flags]).strip())
        patch.setenv("LAZYLOOM_CACHE_DIR", os.path.join(os.environ["LAZYLOOM_CACHE_DIR"], "quick"))
        yield


class OneContext:
    """What gives JAX an MLIR context for what it lowers: the same one, many times.

    To start a context and to end it takes JAX twice as long as to lower an op in it. A context
    keeps every type and constant that was in it, so that it is replaced from time to time.
    """

    MOST: Final = 500

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make
        self.context: Any = None
        self.uses = 0

    def __call__(self) -> Any:
        context = self.context
        if context is None or self.uses % self.MOST == 0:
            context = self.context = self.make()
        self.uses += 1
        return context


def share_context() -> None:
    """Have JAX lower in one context from now on, if it is imported and makes contexts as known."""
    mlir = sys.modules.get("jax._src.interpreters.mlir")
    make = getattr(mlir, "make_ir_context", None)
    if make is not None and not isinstance(make, OneContext):
        mlir.make_ir_context = OneContext(make)  # type: ignore[union-attr]


#: what ``--thorough`` compiles single ops with: fused as for users
AS_FUSED: Final = dict(OPTIONS[:2])
thorough = False


def jit(function: Callable[..., Any]) -> Any:
    """``jax.jit`` with these options, or with ``AS_FUSED``."""
    import jax

    return jax.jit(function, compiler_options=AS_FUSED if thorough else dict(known()))
