"""The functions and dtypes of ``torch``, from the tables of the files that define them."""

from __future__ import annotations

from typing import Any

from . import (
    _absent,
    _autocast,
    _dtypes,
    _internals,
    _matrices,
    _methods,
    _numpy_names,
    _spectral,
    _symbols,
    random,
)
from ._foreign import mixing, mixing_fast, naming
from ._formats import FUNCTIONS as FORMATS
from ._functions import (
    copies,
    counting,
    creation,
    indexing,
    layers,
    linear,
    pointwise,
    quantizing,
    recurrent,
    reductions,
    representation,
    scattering,
    segments,
    shaping,
    sorting,
    sparsity,
    special,
    splitting,
    statistics,
    storages,
    strided,
    typed,
    views,
)
from ._out import NAMES as TAKES_OUT
from ._out import taking_out
from ._settings import FUNCTIONS as SETTINGS
from ._tensor import Tensor

_FILES = (
    pointwise, representation, reductions, views, splitting, strided, copies, storages, shaping,
    linear, indexing, scattering, segments, sorting, counting, creation, random, _matrices,
    statistics, _spectral, recurrent, quantizing)  # fmt: skip


def _public(name: str, function: Any, checks: bool) -> Any:
    """A function as ``torch`` has it; without ``checks`` if it checks each operand itself."""
    function = _numpy_names.taking(name, function)
    if name in sparsity.BINARY:
        function = mixing_fast(function)
    elif name in sparsity.ELEMENTWISE:
        function = mixing(function)
    if name in TAKES_OUT:
        return taking_out(function)
    return naming(function) if checks else function


def names() -> dict[str, Any]:
    """What tables put into ``torch``, by name. Needs the methods of ``Tensor``."""
    found: dict[str, Any] = {}
    for file in _FILES:
        own = getattr(file, "METHODS_ONLY", ())
        found.update({n: _public(n, f, file is not pointwise)
                      for n, f in file.FUNCTIONS.items() if n not in own})  # fmt: skip
    for table in (_dtypes.NAMES, SETTINGS, FORMATS, _absent.dtypes(), _symbols.FUNCTIONS,
                  _internals.FUNCTIONS, sparsity.FUNCTIONS):  # fmt: skip
        found.update(table)
    found.update({n: taking_out(f) for n, f in special.FUNCTIONS.items()})
    found.update({n: getattr(Tensor, n) for n in _methods.INPLACE_FUNCTIONS if hasattr(Tensor, n)})
    found.update(layers.FUNCTIONS, relu=mixing(layers.FUNCTIONS["relu"]))
    found.update(typed.FUNCTIONS)
    _autocast.apply(found, _autocast.GENERAL)
    found["spmm"] = found["dsmm"] = found["mm"]
    return found
