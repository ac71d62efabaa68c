"""One op, lowered once for all extents up to a bucket; cached in memory and on disk."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ....counters import counters
from ....interrupts import reraise_from_handler
from ....jaxprs.op_definitions import description_of, function_of
from ....jaxprs.tracing import trace, with_symbols, x64
from ....program.extents import arranged, may_vary
from ....trace.specs import Spec
from ....types import TensorType
from ... import fingerprint
from ..lowered import Lowered
from ..lowering import lower, name_of, text_of
from .dims import Description, NotPadded, is_static, named, python
from .interpret import NeedsExtents, PaddedRun, PaddedValue
from .rules import RULES
from .sizes import SymbolicSizes


class Padded(NamedTuple):
    """An op lowered at operands that are padded to a bucket.

    Attributes:
        lowered: its functions. The operands are the actual extents, ``tensor<Kxi64>``, if it takes
            them, and then the op's operands that are present, at the bucket.
        dims: the description of each result's dimensions.
        conditions: what must hold for the actual extents, as Python texts.
        takes_extents: whether the first operand is the extents. Otherwise they are not passed:
            nothing that it computes depends on them.
    """

    lowered: Lowered
    dims: tuple[tuple[Description, ...], ...]
    conditions: tuple[str, ...]
    takes_extents: bool


_Key = tuple[
    Spec, tuple[TensorType | None, ...], tuple[str, ...],
    tuple[tuple[Description, ...] | None, ...], tuple[int, ...],
]

_memory: Final[dict[_Key, Padded | str]] = {}
_lock: Final = threading.RLock()


def lower_padded(
    spec: Spec, types: tuple[TensorType | None, ...], numbers: tuple[str, ...],
    dims: tuple[tuple[Description, ...] | None, ...], bucket: tuple[int, ...],
) -> Padded:
    """Return the lowering of an op for all extents up to a bucket, from memory, disk or JAX.

    Args:
        spec, types: the op with the attributes and operand types that it has at the bucket.
        numbers: the sizes and positions among the attributes as texts in ``e0``, ``e1``, ..., in
            the order of :func:`~lazyloom.program.extents.arranged`.
        dims: the description of each dimension of the operands that are present.
        bucket: the padded extents, each 2 or more.

    Raises NotPadded.
    """
    key = (spec, types, numbers, dims, bucket)
    padded = _memory.get(key)
    if padded is None:
        with _lock:
            padded = _memory.get(key)
            if padded is None:
                try:
                    padded = _from_disk_or_jax(*key)
                except NotPadded as error:
                    padded = str(error)
                _memory[key] = padded
    if isinstance(padded, str):
        raise NotPadded(padded)
    return padded


def _from_disk_or_jax(
    spec: Spec, types: tuple[TensorType | None, ...], numbers: tuple[str, ...],
    dims: tuple[tuple[Description, ...] | None, ...], bucket: tuple[int, ...],
) -> Padded:
    static = all(map(is_static, (*[n.removeprefix("-") for n in numbers], *[
        f for each in dims if each is not None for d in each for f in d])))
    if static:
        return Padded(lower(spec, types), tuple(
            tuple((str(n),) for n in t.shape) for t in spec.infer(types)), (), False)
    description = description_of(spec, types) + f"\n{numbers}\n{dims}\n{bucket}".encode()
    if spec.versioned:
        data = fingerprint.load("padded", description)
        stored = _unpack(data) if data is not None else None
        if stored is not None:
            return stored
    padded = _traced(spec, types, numbers, dims, bucket, name_of(spec, description) + "_padded")
    inferred = tuple(t.mlir for t in spec.infer(types))
    if padded.lowered.results != inferred:
        raise NotPadded(f"{spec.op.name}: {padded.lowered.results} at the bucket, where the op "
                        f"has {inferred}")
    if spec.versioned:
        fingerprint.store("padded", description, json.dumps(padded).encode())
    return padded


def _unpack(data: bytes) -> Padded | None:
    try:
        lowered, dims, conditions, takes = json.loads(data)
        return Padded(
            Lowered.of_json(lowered),
            tuple(tuple(tuple(map(str, d)) for d in each) for each in dims),
            tuple(map(str, conditions)), bool(takes))
    except (ValueError, TypeError):
        counters["disk_errors"] += 1
        return None


def _traced(
    spec: Spec, types: tuple[TensorType | None, ...], numbers: tuple[str, ...],
    dims: tuple[tuple[Description, ...] | None, ...], bucket: tuple[int, ...], name: str,
) -> Padded:
    function = padded_function(spec, types, numbers, dims, bucket)
    shaped: list[tuple[tuple[int, ...], Any]] = [
        (t.shape, t.dtype.numpy) for t in types if t is not None]
    try:
        text, results = _text(lambda *xs: function.call(None, *xs), shaped, name)
        takes = False
    except NeedsExtents:
        takes = True
        shaped.insert(0, ((len(bucket),), np.dtype(np.int64)))
        text, results = _text(function.call, shaped, name)
    return Padded(Lowered(name, text, results), function.dims, function.conditions, takes)


def _text(
    call: Callable[..., Any], shaped: list[tuple[tuple[int, ...], Any]], name: str
) -> tuple[str, tuple[str, ...]]:
    """Return the function's text. Raises NeedsExtents, and NotPadded where a rule fails in any way.

    The op works without padding, so a wrong rule must not prevent it from running.
    """
    try:
        return text_of(call, shaped, name)
    except (NotPadded, NeedsExtents):
        raise
    except Exception as error:
        reraise_from_handler(error)
        raise NotPadded(f"{type(error).__name__}: {error}") from error


class PaddedFunction:
    """An op as a JAX function of the actual extents and operands at the bucket.

    Attributes:
        conditions: what must hold for the actual extents, complete once :meth:`call` was traced.
        dims: the descriptions of the results, known then.
    """

    __slots__ = ("_closed", "_sizes", "_dims", "_dtypes", "conditions", "dims")

    def __init__(
        self, closed: Any, sizes: SymbolicSizes, dims: Sequence[tuple[Description, ...]],
        dtypes: Sequence[Any], conditions: tuple[str, ...],
    ) -> None:
        self._closed: Final = closed
        self._sizes: Final = sizes
        self._dims: Final = dims
        self._dtypes: Final = dtypes
        self.conditions: tuple[str, ...] = conditions
        self.dims: tuple[tuple[Description, ...], ...] = ()

    def call(self, extents: Any, *operands: Any) -> tuple[Any, ...]:
        """Return the results. Raises NotPadded, and NeedsExtents if ``extents`` is None but needed.
        """
        run = PaddedRun(self._sizes, RULES, extents)
        results = run.jaxpr(self._closed.jaxpr, self._closed.consts, [
            PaddedValue(x, d) for x, d in zip(operands, self._dims, strict=True)])
        self.dims = tuple(r.dims for r in results)
        self.conditions = tuple(dict.fromkeys([
            *self.conditions, *self._sizes.conditions, *run.conditions]))
        return tuple(
            _narrowed(r.data, d) for r, d in zip(results, self._dtypes, strict=True))


def _narrowed(x: Any, dtype: Any) -> Any:
    """Narrow positions to their usual dtype; JAX may use a wider one where extents are symbols."""
    from jax import lax

    if x.dtype == dtype or x.dtype.kind not in "iu" or dtype.kind not in "iu":
        return x
    return lax.convert_element_type(x, dtype)


def padded_function(
    spec: Spec, types: tuple[TensorType | None, ...], numbers: tuple[str, ...],
    dims: tuple[tuple[Description, ...] | None, ...], bucket: tuple[int, ...],
) -> PaddedFunction:
    """Return the function that :func:`lower_padded` lowers. Raises NotPadded."""
    if not may_vary(spec):
        raise NotPadded(f"{spec.op.name}, which may do something else at other extents")

    dtypes = [t.dtype.numpy for t in spec.infer(types)]

    def attempt(symbols: Sequence[Any], conditions: Sequence[str]) -> PaddedFunction:
        sizes = SymbolicSizes(symbols, bucket)
        descriptions = [tuple(map(sizes.given, each)) for each in dims if each is not None]
        for each in descriptions:
            for d in each:
                sizes.note(d)
        extents = [sizes.expression(sizes.total(d)) for each in descriptions for d in each]
        attributes = [_number(sizes, n) for n in numbers]
        shapes, attrs = arranged(spec, types, [*extents, *attributes])
        closed = trace(function_of(spec, types, attrs), shapes)
        return PaddedFunction(closed, sizes, descriptions, dtypes, tuple(map(python, conditions)))

    return _attempted(spec.op.name, attempt, named(bucket))


def _number(sizes: SymbolicSizes, text: str) -> Any:
    return int(text) if is_static(text.removeprefix("-")) else sizes.expression(text)


def _attempted(
    name: str, attempt: Callable[[Sequence[Any], Sequence[str]], PaddedFunction],
    at_bucket: Mapping[str, int],
) -> PaddedFunction:
    """Return the function, with the decisions of its definition made at the bucket.

    Where the bucket's size is impossible, such as a slice of more rows than a table has, they are
    made at the smallest extents.
    """
    try:
        with x64():
            return with_symbols(attempt, at_bucket)
    except NotPadded:
        raise
    except Exception as error:
        reraise_from_handler(error)
        first = error
    try:
        with x64():
            return with_symbols(attempt, dict.fromkeys(at_bucket, 2))
    except NotPadded:
        raise
    except Exception as error:
        reraise_from_handler(error)
        raise NotPadded(f"{name}: {type(first).__name__}: {first}") from first

