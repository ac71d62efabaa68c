"""The entries of exported programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from _lazyloom_abi import ffi  # type: ignore[import-not-found]

import lazyloom
from lazyloom.errors import ArgumentError

from . import capture, handles
from .handles import EXPORTED
from .serving import entry, give, located, values_of


@contextmanager
def _file(call: str, path: Any) -> Iterator[str]:
    """The text of a path. Raises ArgumentError where the file cannot be opened, read or written."""
    name = ffi.string(path).decode("utf-8", "surrogateescape")
    try:
        yield name
    except OSError as error:
        raise ArgumentError(f"{call}: {name!r}: {error.strerror or error}") from error


def _names(array: Any, count: int) -> list[str]:
    return [ffi.string(array[k]).decode("utf-8", "replace") for k in range(count)]


def _named(names: list[str], values: list[Any], what: str) -> dict[str, Any]:
    if len(set(names)) != len(names):
        raise ArgumentError(f"loom_export: {what} has a name twice, expected each once")
    return dict(zip(names, values, strict=True))


@located
def loomp_export(
    path: Any, inputs: Any, input_names: Any, input_count: int, results: Any, result_count: int,
    parameters: Any, parameter_names: Any, parameter_count: int, vjp_order: int, engines: int,
) -> int:  # fmt: skip
    capture.refuse_read("loom_export")
    named = _names(input_names, input_count) if input_names else [
        f"input{k}" for k in range(input_count)]
    with _file("loom_export", path) as name:
        lazyloom.export(
            values_of(results, result_count, "loom_export: results"), name,
            inputs=_named(named, values_of(inputs, input_count, "loom_export: inputs"),
                          "input_names"),
            parameters=_named(
                _names(parameter_names, parameter_count),
                values_of(parameters, parameter_count, "loom_export: parameters"),
                "parameter_names"),
            vjp_order=vjp_order, engines=bool(engines))
    return 1


@entry
def loomp_load_program(path: Any, engines: int, result: Any) -> int:
    with _file("loom_load_program", path) as name:
        program = lazyloom.load(name, engines=bool(engines))
    result[0] = handles.give(EXPORTED, program)
    return 1


@located
def loomp_exported_run(
    handle: int, inputs: Any, input_count: int, results: Any, result_count: int
) -> int:
    program: lazyloom.ExportedFunction = handles.find(EXPORTED, handle)
    if result_count != program.result_count:
        raise ArgumentError(
            f"loom_exported_run: result_count is {result_count}, expected {program.result_count}")
    values = values_of(inputs, input_count, "loom_exported_run: inputs")
    for k, value in enumerate(program.call_flat(values)):
        results[k] = give(value)
    return 1


@entry
def loomp_exported_seed(handle: int, seed: int) -> int:
    program: lazyloom.ExportedFunction = handles.find(EXPORTED, handle)
    for k, generator in enumerate(program.generators):
        # each draws numbers of its own
        generator.seed((seed + k) % (1 << 64))
    return 1


@located
def loomp_save_repro(path: Any, values: Any, value_count: int, random_data: int) -> int:
    capture.refuse_read("loom_save_repro")
    with _file("loom_save_repro", path) as name:
        lazyloom.save_repro(
            name, values_of(values, value_count, "loom_save_repro: values"),
            data="random" if random_data else "values")
    return 1


def signature_json(handle: int) -> str:
    """The arguments, results, generators and engines of a program, as a JSON object."""
    program: lazyloom.ExportedFunction = handles.find(EXPORTED, handle)
    described = program.describe()
    if program.engines is not None or program.without_engines:
        engines = () if program.engines is None else program.engines.artifacts
        described["without_engines"] = program.without_engines
        described["engines"] = [e._asdict() for e in engines]
    return json.dumps(described, ensure_ascii=False)
