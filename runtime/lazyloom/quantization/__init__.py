"""Inference in int8: functions whose convolutions and products are quantised.

>>> fast = quantize(model.eval(), batches)
>>> fast(images)

Weights have a scale for each channel; values between ops have one that comes from running batches.
See ``docs/quantization.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from ..dtypes import DType
from ..errors import ArgumentError
from ..tensor.tensor import Tensor
from ..tensor.wrapping import wrap_as
from ..trace.graph import Value
from ..trace.mapping import BodyCall
from ..trace.source import user_site
from ..tree import TreeDef, flatten
from ..types import TensorType
from .calibration import Ranges
from .folding import fold_batch_norms
from .graph import OpGraph, OpOutput, Recorder, recorded
from .placing import Placing, Scale, Weights, quantized, scale_of, weights_of
from .pruning import pruned

NAME: Final = "lazyloom.quantization.quantize"

__all__ = ["Quantized", "QuantizedValue", "quantize"]


class QuantizedValue(NamedTuple):
    """A value that is quantised between ops.

    Attributes:
        made_by: the op whose result it is, "" for an argument.
        type: the type of the value, in float32.
        scale: the number that the integer 1 stands for.
        dtype: int8 or uint8.
    """

    made_by: str
    type: TensorType
    scale: float
    dtype: DType


def quantize(
    function: Callable[..., Any], batches: Iterable[Any], *, percentile: float | None = None,
    skip: Sequence[int] = (),
) -> Quantized:  # fmt: skip
    """Return a function that computes ``function`` with its convolutions and products in int8.

    This applies to those of float32 whose weights depend on no argument. Weights are rounded to
    int8 with a scale for each channel of the result; the values that they are multiplied with, and
    those added to their results, are rounded with one scale each, to uint8 if never negative, else
    to int8. The scales come from the ranges of values when the function runs on ``batches``. Batch
    norms in evaluation mode become part of the convolutions before them. Everything else is done
    in float32.

    Args:
        function: a model in evaluation mode, or any function, of tensors of any frontend. What it
            uses besides its arguments is taken as it is at this call. It must not read data or
            have effects.
        batches: the arguments of each run, a tuple or a single tensor.
        percentile: the percentage of a value's numbers that are within its range, such as 99.99;
            all of them by default. Numbers outside become the nearest end.
        skip: convolutions and products that stay in float32, by number in the order in which they
            are recorded; negative numbers count from the end.

    Raises:
        ArgumentError: no batch or an empty one, arguments that are not tensors, batches of
            different types, no convolution or product with constant weights, a number in ``skip``
            that none has, all of them skipped, or a range that is not finite.
        ReadForbiddenError: ``function`` reads what depends on its arguments.
    """
    if not callable(function):
        raise ArgumentError(
            f"{NAME}: a {type(function).__name__} was given to quantise, expected a function")
    if percentile is not None and not (
        isinstance(percentile, (int, float)) and 50 < percentile <= 100
    ):
        raise ArgumentError(
            f"{NAME}: percentile is {percentile!r}, expected more than 50 and at most 100")
    if not isinstance(skip, Sequence) or not all(type(n) is int for n in skip):
        raise ArgumentError(f"{NAME}: skip is {skip!r}, expected a sequence of int")
    if not isinstance(batches, Iterable):
        raise ArgumentError(
            f"{NAME}: batches is a {type(batches).__name__}, expected tensors, or tuples of them")
    quantized_function = Quantized(function, tuple(skip))
    quantized_function._calibrate(batches, percentile)
    return quantized_function


class _Recorded(NamedTuple):
    """A function as recorded for arguments of certain types."""

    graph: OpGraph
    recorder: Recorder
    nesting: TreeDef
    like: list[Tensor]


class Quantized:
    """A function with quantised convolutions and products; made by :func:`quantize`.

    It is called like the function with the batches. Arguments of other shapes, as long as the
    function records the same ops for them, use the same scales.

    Attributes:
        values: the values that are quantised between ops, in order.
    """

    def __init__(self, function: Callable[..., Any], skip: tuple[int, ...]) -> None:
        self._function: Final = function
        self._skip: Final = skip
        self._scales: list[Scale] = []
        self._weights: list[Weights] = []
        self._ops: list[str] = []
        self._known: Final[dict[tuple[TensorType, ...], _Recorded]] = {}
        self.values: list[QuantizedValue] = []

    def __call__(self, *arguments: Any) -> Any:
        """Return the results for arguments. Raises ArgumentError if any is not a tensor."""
        leaves, types = _tensors(arguments)
        record = self._known.get(types)
        if record is None:
            record = self._known[types] = self._quantized(self._record(leaves, arguments))
        results = record.recorder.record([t.value for t in leaves])
        return record.nesting.build([
            wrap_as(like, v) for like, v in zip(record.like, results, strict=True)])

    def text(self, *arguments: Any) -> str:
        """Return the ops that are recorded for arguments like these, one per line."""
        leaves, types = _tensors(arguments)
        if types not in self._known:
            self._known[types] = self._quantized(self._record(leaves, arguments))
        return self._known[types].graph.text()

    def _record(self, leaves: Sequence[Tensor], arguments: tuple[Any, ...]) -> _Recorded:
        """Record the function for these arguments, with its batch norms folded."""
        _, nesting = flatten(list(arguments), Tensor)
        results: list[Any] = []
        structures: list[TreeDef] = []

        def body(values: list[Value]) -> list[Value]:
            tensors = [wrap_as(t, v) for t, v in zip(leaves, values, strict=True)]
            leaves_of_result, structure = flatten(self._function(*nesting.build(tensors)), Tensor)
            for x in leaves_of_result:
                if not isinstance(x, Tensor):
                    raise ArgumentError(
                        f"{NAME}: the function gave a {type(x).__name__}, expected tensors, alone "
                        "or in lists, tuples and dicts")
            results.extend(leaves_of_result)
            structures.append(structure)
            return [t.value for t in leaves_of_result]

        name = getattr(self._function, "__name__", type(self._function).__name__)
        call = BodyCall(NAME, user_site(), f"function {name}", False)
        graph = recorded(body, [t.value.type for t in leaves], call)
        graph = fold_batch_norms(graph)
        return _Recorded(graph, Recorder(graph), structures[0], results)

    def _calibrate(self, batches: Iterable[Any], percentile: float | None) -> None:
        ranges: Ranges | None = None
        record: _Recorded | None = None
        first: tuple[TensorType, ...] = ()
        placing: Placing | None = None
        for batch in batches:
            arguments = batch if isinstance(batch, tuple) else (batch,)
            leaves, types = _tensors(arguments)
            if record is None:
                record, first = self._record(leaves, arguments), types
                placing = Placing(record.graph, self._skip)
                count = placing.eligible
                wrong = [n for n in self._skip if not -count <= n < count]
                if count and wrong:
                    raise ArgumentError(
                        f"{NAME}: skip has {', '.join(map(str, wrong))}, expected numbers from "
                        f"{-count} to {count - 1}: there are {count} convolutions and products")
                if count and not placing.main:
                    raise ArgumentError(
                        f"{NAME}: skip names all {count} convolutions and products; there is "
                        "nothing to quantise")
                if not placing.main:
                    raise ArgumentError(
                        f"{NAME}: the function records no convolution or product of float32 with "
                        "weights that depend on no argument; there is nothing to quantise")
                ranges = Ranges(record.graph, placing.values, percentile)
            if any(0 in t.shape for t in types):
                raise ArgumentError(
                    f"{NAME}: a batch is of {_shown(types)}, expected one that is not empty, to "
                    "find ranges in")
            if types != first:
                raise ArgumentError(
                    f"{NAME}: a batch is of {_shown(types)}, expected {_shown(first)} as the first")
            assert ranges is not None
            ranges.add([t.value for t in leaves])
        if record is None or placing is None or ranges is None:
            raise ArgumentError(f"{NAME}: no batch was given, expected one or more to find scales")
        self._ops = [op.kind.name for op in record.graph.ops]
        self._scales = [scale_of(*pair) for pair in ranges.found]
        self._weights = [weights_of(op) for op in placing.main]
        self.values = [
            QuantizedValue(
                x.op.kind.name if isinstance(x, OpOutput) else "", x.type, s.number, s.dtype)
            for x, s in zip(placing.values, self._scales, strict=True)]
        self._known[first] = self._quantized(record)

    def _quantized(self, record: _Recorded) -> _Recorded:
        ops = [op.kind.name for op in record.graph.ops]
        if ops != self._ops:
            raise ArgumentError(
                f"{NAME}: the function records {len(ops)} ops for arguments of these types, "
                f"expected the {len(self._ops)} of the batches; quantise it with such batches")
        placing = Placing(record.graph, self._skip)
        graph = pruned(quantized(placing, self._scales, self._weights))
        return record._replace(graph=graph, recorder=Recorder(graph))


def _tensors(arguments: tuple[Any, ...]) -> tuple[list[Tensor], tuple[TensorType, ...]]:
    """Return the tensors among arguments, and their types."""
    leaves, _ = flatten(list(arguments), Tensor)
    for x in leaves:
        if not isinstance(x, Tensor):
            raise ArgumentError(
                f"{NAME}: an argument has a {type(x).__name__}, expected tensors, alone or in "
                "lists, tuples and dicts")
    return leaves, tuple(t.value.type for t in leaves)


def _shown(types: Sequence[TensorType]) -> str:
    return ", ".join(t.text for t in types)
