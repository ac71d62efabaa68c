"""``export``: a function of tensors, or pending values, as a program in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..backends.backend import NotLowered, PortableModule
from ..backends.selection import backend
from ..cache import disk
from ..cache.portable import pack
from ..codegen.registry import in_use
from ..errors import ArgumentError, type_name
from ..evaluate.reading import look
from ..installed import VERSION
from ..tensor.tensor import Tensor
from . import container, ops, safetensors
from .derivatives import checked_order
from .manifest import CheckSpec, Manifest, ParameterSpec, ResultSpec, Specialization, Vjp
from .recorded import RecordedProgram
from .recording import PendingValues, RecordedFunction, RecordedWork, named_values, texts

NAME: Final = "lazyloom.export"


def export(
    function_or_values: Any, path: Any, *arguments: Any,
    kwargs: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | Sequence[Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    dynamic: Mapping[str, Mapping[int, str]] | None = None,
    extents: Mapping[str, Sequence[int]] | None = None,
    stablehlo_version: str | None = None, metadata: Mapping[str, str] | None = None,
    engines: bool = False, vjp_order: int = 0,
) -> None:
    """Write a program to a file, which :func:`lazyloom.load` reads.

    A function is called once for each specialization, on tensors without data that stand for its
    arguments, and what it records is the program. It cannot read them, write to tensors that it
    did not make, or call back into the host. Everything else that it reads is a parameter of the
    program, and is stored with it: weights, buffers, constants. Python numbers, strings and None
    among the arguments are a part of the program.

    Random numbers: each generator that is drawn from travels with its state. Calls of the loaded
    program go on from there, and draw anew each time. The generators themselves stay as they were.

    Args:
        function_or_values: a function, or pending tensors in lists, tuples and dicts.
        path: where the file is written, a path or a binary file that is open for writing; one that
            is there is replaced when all is written.
        arguments: example arguments of the function: tensors, numbers, strings and None, in lists,
            tuples and dicts. Of the tensors only the shapes and dtypes matter.
        kwargs: those that it takes by name.
        inputs: for pending values, the tensors that are the arguments: by name, or in order and
            named ``input0``, ``input1``. All other pending work is part of the program.
        parameters: names for tensors that the program reads, such as
            ``dict(module.named_parameters())``; others are named ``constant.0``, ``constant.1``.
            One with several names is stored once.
        dynamic: the extents that vary from call to call, ``{"x": {0: "batch"}}``: for an argument,
            by name, a symbol for each axis. The name of a tensor in a list or dict is
            ``x[0]`` or ``x['key']``.
        extents: for each symbol of ``dynamic`` the extents that the program is exported for. There
            is a specialization for each combination; a call with other extents is an error.
        stablehlo_version: the StableHLO version to be compatible with, such as "1.9.0"; that of
            twelve weeks before jaxlib's by default.
        metadata: texts by name that are kept with the program and mean nothing to it.
        engines: store what the code generators in use make of parts of the program, too, which
            :func:`lazyloom.load` takes where it is told so.
        vjp_order: how often the loaded program can be differentiated, in reverse mode: for each
            order a further module is written, and the function is called once more. Derivatives
            are by the floating-point and complex arguments (of pending values by the inputs that
            require a gradient), and by the parameters that require a gradient.

    Raises:
        ArgumentError: an argument is of another kind, or the program has an op that cannot be
            exported: one with effects, a collective, one that moves data between devices, one
            whose code is in this process. It names the op.
        ReadForbiddenError: the function reads data of its arguments.
        AliasError: the function writes to a tensor that it did not make.
        OSError: the file cannot be written.

    Example:

        >>> import io
        >>> weights, file = np.ones((3, 2)), io.BytesIO()
        >>> lazyloom.export(
        ...     lambda x: np.tanh(x @ weights), file, np.zeros((4, 3)), parameters={"w": weights})
        >>> lazyloom.load(file)(np.zeros((4, 3))).shape
        (4, 2)
    """
    named = named_values(parameters, NAME)
    if callable(function_or_values) and not isinstance(function_or_values, Tensor):
        if inputs is not None:
            raise ArgumentError(
                f"{NAME}: inputs is given for a function, expected only for pending values; a "
                "function's inputs are its arguments")
        recording: RecordedWork = RecordedFunction(
            NAME, function_or_values, arguments, kwargs, dynamic, extents, named)
    else:
        if arguments or kwargs or dynamic or extents:
            raise ArgumentError(
                f"{NAME}: arguments, kwargs, dynamic or extents are given for pending values "
                f"({type_name(function_or_values)}), expected a function; what was recorded has "
                "its arguments in inputs, and their shapes")
        recording = PendingValues(NAME, function_or_values, inputs, named)
    kept = texts(metadata, NAME)
    if not isinstance(engines, bool):
        raise ArgumentError(f"{NAME}: engines is {engines!r:.60}, expected True or False")
    if engines and not disk.enabled():
        raise ArgumentError(
            f"{NAME}: engines is True and the disk cache is off (LAZYLOOM_CACHE=0), expected it "
            "on: it holds engines")
    recording.add_vjps(checked_order(vjp_order, NAME))
    _write(path if hasattr(path, "write") else os.fspath(path), recording, stablehlo_version,
           kept, engines)


def _module(recorded: RecordedProgram, version: str | None) -> PortableModule:
    structure, outputs, scalars = recorded.structure()
    try:
        return backend().portable(structure, outputs, scalars, version)
    except NotLowered as error:
        op = structure.instructions[error.number].spec.op.name
        site = recorded.sites[error.number]
        raise ArgumentError(
            f"{NAME}: the op {op}, recorded at {site}, cannot be exported: {error.__cause__}",
            op=op, site=str(site)) from error.__cause__


def _write(
    target: Any, recording: RecordedWork, version: str | None, metadata: Mapping[str, str],
    engines: bool,
) -> None:  # fmt: skip
    # all programs are recorded by now: each takes the parameters of all
    files: dict[str, bytes] = {}
    specializations: list[Specialization] = []
    calls: set[str] = set()
    compatible = ""
    entries: dict[tuple[str, bytes], None] = {}

    def add(name: str, recorded: RecordedProgram) -> tuple[CheckSpec, ...]:
        nonlocal compatible, calls
        module = _module(recorded, version)
        files[name] = module.data
        if engines:
            structure, outputs, scalars = recorded.structure()
            files[container.ops_of(name)] = ops.packed(structure, outputs, scalars)
            found, _ = backend().engines_of(structure, tuple(outputs), in_use())
            entries.update(dict.fromkeys(found))
        calls |= set(module.calls)
        compatible = module.version
        return tuple([CheckSpec(c.kind, c.of, c.info) for c in recorded.checks])

    for number, (chosen, recorded) in enumerate(recording.programs):
        name = f"modules/{number}.mlirbc"
        checks = add(name, recorded)
        vjps: list[Vjp] = []
        for k, vjp in enumerate(recording.vjps[number], start=1):
            of_vjp = f"modules/{number}.vjp{k}.mlirbc"
            vjps.append(Vjp(of_vjp, add(of_vjp, vjp)))
        specializations.append(Specialization(
            name, chosen, tuple([ResultSpec(t.dtype, t.shape) for t in recorded.result_types]),
            checks, tuple(vjps)))
    parameters = recording.parameters
    specs = [ParameterSpec(n, v.type.dtype, v.type.shape)
             for n, v in zip(parameters.names, parameters.values, strict=True)]
    files[container.PARAMETERS] = safetensors.packed({
        p.name: (p.dtype, np.asarray(look(v, "export")))
        for p, v in zip(specs, parameters.values, strict=True)})
    if engines:
        files[container.ENGINES] = pack(list(entries))
    described = backend().describe()
    container.write(target, Manifest(
        recording.name,
        {"lazyloom": VERSION, **{k: v for k, v in described.items() if k in ("jax", "jaxlib")}},
        compatible, described["platform"], tuple(sorted(calls)), tuple(recording.positional),
        recording.arguments, recording.results, tuple(recording.leaves), tuple(specs),
        parameters.aliases, tuple(recording.generators), tuple(specializations), metadata, {},
        recording.differentiable), files)
