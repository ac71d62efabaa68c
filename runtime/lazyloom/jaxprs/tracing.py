"""The tracing of functions by JAX, and the private or unstable names that it needs."""

from __future__ import annotations

import contextlib
import operator
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from .. import allocation
from ..interrupts import Deferred
from ..startup import starting
from . import jax_import, start_memory


def _import() -> None:
    import jax.dlpack
    import jax.numpy
    from jaxlib import xla_client

    del jax, xla_client


def _settle() -> None:
    """Set up a JAX that only Lazyloom uses."""
    from jax._src import xla_bridge

    # JAX would warn at every fork. In the child process every call is an error (ForkError).
    xla_bridge._at_fork_handler_installed = True
    # JAX would also warn of devices that it could use if other packages were installed
    xla_bridge._suggest_missing_backends = lambda: None
    if "TF_CPP_MIN_LOG_LEVEL" not in os.environ:
        # the level that JAX sets by the variable, which was dropped
        with contextlib.suppress(ImportError, AttributeError):
            from jaxlib import utils

            utils.absl_set_min_log_level(1)


def load() -> None:
    """Import JAX, before any import of a part of it."""
    if jax_import.loaded():
        return
    with starting():
        allocation.keep_pages()
        start_memory.require("jaxlib.xla_client" in sys.modules)
        jax_import.load(_import, _settle)


def live_arrays() -> list[Any]:
    """Return JAX's arrays that somebody has; none before a client has started."""
    if not jax_import.loaded():
        return []
    import jax
    from jax._src import xla_bridge

    return list(jax.live_arrays()) if xla_bridge.backends_are_initialized() else []


class _Call:
    """A call of JAX; see :func:`x64`."""

    def __init__(self, flag: Any) -> None:
        self._signals: Final[Deferred] = Deferred(True)
        self._flag: Final[Any] = flag

    def __enter__(self) -> None:
        self._signals.__enter__()
        self._flag.__enter__()

    def __exit__(self, *exc: object) -> None:
        self._flag.__exit__(*exc)
        self._signals.__exit__(*exc)


def x64() -> Any:
    """Return the context for every call of JAX: 64-bit types mean 64 bits.

    No signal interrupts it. An exception of a handler inside JAX's caches leaves an entry there
    that takes every later call of the kind for a recursion, in jaxlib 0.10.
    """
    load()
    import jax

    return _Call(jax.enable_x64(True))


def versions() -> dict[str, str]:
    """Return the versions of jax and jaxlib, without importing jax."""
    version_by_name: dict[str, str] = {}
    for name in ("jax", "jaxlib"):
        module = sys.modules.get(name)
        if module is None:
            # slow to import, and not needed if the packages are already loaded
            from importlib.metadata import version

            version_by_name[name] = version(name)
        else:
            version_by_name[name] = module.__version__
    return version_by_name


def mlir_context() -> Any:
    """Return a new MLIR context with the dialects that JAX knows; the caller is inside :func:`x64`.
    """
    from jax.interpreters.mlir import make_ir_context

    return make_ir_context()


def trace(fn: Any, arguments: Sequence[Any]) -> Any:
    """Trace ``fn`` at (shape, NumPy dtype) arguments to a ClosedJaxpr."""
    with x64():
        import jax

        return jax.make_jaxpr(fn)(*[jax.ShapeDtypeStruct(*each) for each in arguments])


_T = TypeVar("_T")
#: JAX's message on a comparison that it cannot decide for all values of the symbols
_UNDECIDED: Final = re.compile(r"comparison '([^']+)' (<=|>=|<|>) '([^']+)' is inconclusive")
#: the most such comparisons in a trace
_MOST_UNDECIDED: Final = 8


def with_symbols(
    attempt: Callable[[Sequence[Any], Sequence[str]], _T], values: Mapping[str, int]
) -> _T:
    """Return the result of ``attempt(symbols, conditions)``, which traces for extents of 2 or more.

    There is a symbol for each of ``values``. A comparison that depends on the extents is decided as
    for ``values``, and becomes a condition of the next attempt: Python syntax, with powers written
    ``^``.
    """
    load()
    import jax.export

    conditions: list[str] = []
    while True:
        scope = jax.export.SymbolicScope([f"{name} >= 2" for name in values] + conditions)
        try:
            return attempt(jax.export.symbolic_shape(", ".join(values), scope=scope), conditions)
        except jax.errors.InconclusiveDimensionOperation as error:
            comparison = _UNDECIDED.search(str(error))
            if comparison is None or len(conditions) >= _MOST_UNDECIDED:
                raise
            condition = _decided(comparison[1], comparison[2], comparison[3], values)
            if condition in conditions:
                raise
            conditions.append(condition)


def _decided(left: str, sign: str, right: str, values: Mapping[str, int]) -> str:
    """Return the comparison or its opposite, with ``<=`` or ``>=``, whichever holds for values."""
    space = {**values, "floordiv": operator.floordiv, "mod": operator.mod}
    a, b = (int(eval(text.replace("^", "**"), space)) for text in (left, right))
    if sign[0] == "<":
        left, sign, right, a, b = right, sign.replace("<", ">"), left, b, a
    # a >= b or a > b
    more = "" if sign == ">=" else " + 1"
    if a >= b + (sign == ">"):
        return f"{left} >= {right}{more}"
    return f"{left} <= {right}{' - 1' if sign == '>=' else ''}"


def mentions_symbols(x: Any) -> bool:
    """Return True if a size is symbolic in an equation of a jaxpr, or in its parameters."""
    from jax._src import core

    if isinstance(x, (tuple, list)):
        return any(map(mentions_symbols, x))
    x = getattr(x, "jaxpr", x)
    if hasattr(x, "eqns"):
        return any(map(mentions_symbols, x.eqns))
    if hasattr(x, "primitive"):
        shapes = [getattr(a.aval, "shape", ()) for a in (*x.invars, *x.outvars)]
        return mentions_symbols(shapes) or any(map(mentions_symbols, x.params.values()))
    return bool(core.is_symbolic_dim(x))


def generator_of(key: Any) -> Any:
    """Return a key's functions for random numbers: ``random_bits(data, width, shape)``."""
    return key.dtype._impl


def key_data(key: Any) -> Any:
    """Return the array of integers that a JAX key consists of."""
    load()
    import jax

    return jax.random.key_data(key)
