"""``jax`` and parts of it for op definitions, imported on first use.

The op table is built at import and must not import JAX; the functions in it run
only while an op is lowered.
"""

from __future__ import annotations

import importlib
from typing import Any


class _LazyModule:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value


jax: Any = _LazyModule("jax")
jnp: Any = _LazyModule("jax.numpy")
lax: Any = _LazyModule("jax.lax")
extend_random: Any = _LazyModule("jax.extend.random")
core: Any = _LazyModule("jax.extend.core")
differentiation: Any = _LazyModule("jax.interpreters.ad")
lowering: Any = _LazyModule("jax.interpreters.mlir")
mlir_ir: Any = _LazyModule("jax.extend.mlir.ir")
stablehlo: Any = _LazyModule("jax.extend.mlir.dialects.stablehlo")
func: Any = _LazyModule("jax.extend.mlir.dialects.func")
batching: Any = _LazyModule("jax.interpreters.batching")
