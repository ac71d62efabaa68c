"""What was recorded as a model of ONNX: names, parameters, and shapes that vary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..codegen.onnx import NEWEST_OPSET, OLDEST_OPSET, OPSET
from ..errors import ArgumentError
from ..evaluate.reading import look
from . import onnx_file
from .onnx_graph import OnnxProgram, graph_of, merged, samples, shape_of
from .recording import SYMBOLS, RecordedWork, by_name

__all__ = ["checked_opset", "model_of", "samples"]


def _names(
    given: Sequence[str] | None, names: Sequence[str], what: str, where: str
) -> list[str]:
    """Return the names that are given for inputs or outputs, and the others' own."""
    if given is None:
        return list(names)
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(
        isinstance(name, str) and name for name in given
    ):
        raise ArgumentError(f"{where}: {what} is {given!r:.80}, expected a sequence of names")
    if len(given) > len(names):
        raise ArgumentError(
            f"{where}: {what} has {len(given)} names, expected at most {len(names)}, as many as "
            f"there are: {', '.join(names)}")
    return [*given, *names[len(given):]]


def model_of(
    recording: RecordedWork, input_names: Sequence[str] | None, output_names: Sequence[str] | None,
    opset: int, metadata: Mapping[str, str], named: set[str],
) -> Any:  # fmt: skip
    """Return what was recorded as an ``onnx_ir.Model``.

    Args:
        recording: a function, at one extent or several, or pending values.
        input_names, output_names: those that are given.
        opset: the version of the operators.
        metadata: texts by name.
        named: the names of parameters that are no constants of the program.

    Raises ArgumentError for what ONNX cannot say, and for names that are no names.
    """
    where = recording.where
    inputs = _names(input_names, [leaf.name for leaf in recording.leaves], "input_names", where)
    count = len(recording.programs[0][1].result_types)
    outputs = _names(output_names, ["output"] if count == 1 else [
        f"output{k}" for k in range(count)], "output_names", where)
    parameters = _parameter_names(recording, {*inputs, *outputs})
    _distinct([*inputs, *outputs, *parameters], where)
    arrays = {name: np.asarray(look(value, "export"))
              for name, value in zip(parameters, recording.parameters.values, strict=True)}
    unnamed = {name for name, own in zip(parameters, recording.parameters.names, strict=True)
               if own not in named}
    extents = [chosen for chosen, _ in recording.programs]
    # ops that read these are refused
    keys = [f"generator.{k}" for k in range(2 * len(recording.generators))]
    programs: list[OnnxProgram] = []
    for _, recorded in recording.programs:
        program = graph_of(recorded, [*inputs, *keys, *parameters], outputs, opset, where,
                           len(recording.programs) > 1)
        # a tensor that the function makes at each call is compared by its elements
        program.graph.constants.update({name: arrays[name] for name in unnamed})
        programs.append(program)
    program = programs[0]
    if len(programs) > 1:
        places = {symbol: (name, axis) for name, leaf in zip(inputs, recording.leaves, strict=True)
                  for axis, symbol in enumerate(leaf.shape) if isinstance(symbol, str)}
        program = merged(programs, extents, places, where)
    types = [p.types for p in programs]
    return onnx_file.model_of(
        program.graph,
        {name: (leaf.dtype, leaf.shape)
         for name, leaf in zip(inputs, recording.leaves, strict=True)},
        {name: array for name, array in arrays.items() if name not in unnamed},
        {name: (types[0][k].dtype, shape_of([t[k].shape for t in types], extents, name))
         for k, name in enumerate(outputs)},
        recording.name, metadata, where)


def _parameter_names(recording: RecordedWork, taken: set[str]) -> list[str]:
    """Return names of initializers, which may not be those of inputs or outputs."""
    found = []
    for name in recording.parameters.names:
        while name in taken:
            name = f"{name}_parameter"
        found.append(name)
    return found


def _distinct(names: Iterable[str], where: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ArgumentError(
                f"{where}: two of the inputs, outputs and parameters are named {name!r}, expected "
                "a name for each; give others in input_names or output_names")
        seen.add(name)


def checked_bounds(
    bounds: Any, dynamic: Any, where: str
) -> dict[str, tuple[int, int | None]]:
    """Return the bounds of symbols. Raises ArgumentError for what are none, or of no symbol."""
    found: dict[str, tuple[int, int | None]] = {}
    for symbol, given in by_name(
        bounds, "bounds", "the smallest and largest extent by symbol, such as {'batch': (1, 64)}",
        where,
    ).items():
        pair = tuple(given) if isinstance(given, (tuple, list)) else ()
        if len(pair) != 2 or type(pair[0]) is not int or pair[0] < 0 or not (
            pair[1] is None or (type(pair[1]) is int and pair[1] >= pair[0])
        ):
            raise ArgumentError(
                f"{where}: bounds[{symbol!r:.40}] is {given!r:.60}, expected the smallest extent, "
                "from 0 on, and the largest, which may be None")
        found[symbol] = (pair[0], pair[1])
    symbols = {s for axes in by_name(dynamic, "dynamic", SYMBOLS, where).values()
               if isinstance(axes, Mapping) for s in axes.values()}
    if not set(found) <= symbols:
        raise ArgumentError(
            f"{where}: bounds has {sorted(map(str, set(found) - symbols))}, expected symbols of "
            f"dynamic: {', '.join(sorted(map(repr, symbols))) or 'there are none'}")
    return found


def checked_opset(opset: Any, where: str) -> int:
    """Return the version of the operators to write for. Raises ArgumentError for one that is none.
    """
    if opset is None:
        return OPSET
    if type(opset) is not int or not OLDEST_OPSET <= opset <= NEWEST_OPSET:
        raise ArgumentError(
            f"{where}: opset_version is {opset!r:.60}, expected {OLDEST_OPSET} to {NEWEST_OPSET}")
    return opset
