"""XLA's options for programs of tests that run once, where compiling takes all the time.

Compiling takes a quarter of the processor time that it takes for users. What the programs compute
is the same, up to rounding.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
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


#: what ``--thorough`` compiles single ops with: fused as for users
AS_FUSED: Final = dict(OPTIONS[:2])
thorough = False


def jit(function: Callable[..., Any]) -> Any:
    """``jax.jit`` with these options, or with ``AS_FUSED``."""
    import jax

    return jax.jit(function, compiler_options=AS_FUSED if thorough else dict(known()))
