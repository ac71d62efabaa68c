"""``export``: a function of tensors, or pending values, as a program in a file."""

from __future__ import annotations

import inspect
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ..backends.backend import NotLowered, PortableModule
from ..backends.selection import backend
from ..cache import disk
from ..cache.portable import pack
from ..capture.template import settle_all
from ..codegen.registry import in_use
from ..dtypes import int64, uint32
from ..errors import ArgumentError, type_name
from ..evaluate.reading import look
from ..installed import VERSION
from ..placements import DEFAULT_PLACEMENT
from ..tensor.tensor import Tensor
from ..tensor.wrapping import wrap_as
from ..trace import graph, switches
from ..trace.graph import MAPPED, PENDING, Node, Value
from ..trace.mapping import ExportCall, placeholder
from ..trace.scalars import Scalar
from ..trace.source import user_site
from ..types import TensorType, tensor_type
from . import container, nesting, ops, safetensors
from .derivatives import checked_order, leaves_of, pulled_back
from .manifest import (
    CheckSpec,
    Differentiable,
    GeneratorSpec,
    LeafSpec,
    Manifest,
    ParameterSpec,
    ResultSpec,
    Specialization,
    Vjp,
)
from .recorded import DrawNumber, Draws, Parameters, RecordedProgram

NAME: Final = "lazyloom.export"
#: the most programs of one file
_MOST_SPECIALIZATIONS: Final = 64
_NO_DRAWS: Final = Draws({}, {})


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
    named = _named(parameters)
    if callable(function_or_values) and not isinstance(function_or_values, Tensor):
        if inputs is not None:
            raise ArgumentError(
                f"{NAME}: inputs is given for a function, expected only for pending values; a "
                "function's inputs are its arguments")
        recording: _Recording = _Function(
            function_or_values, arguments, dict(kwargs or {}), dynamic, extents, named)
    else:
        if arguments or kwargs or dynamic or extents:
            raise ArgumentError(
                f"{NAME}: arguments, kwargs, dynamic or extents are given for pending values, "
                "expected a function; what was recorded has its arguments in inputs, and their "
                "shapes")
        recording = _Pending(function_or_values, inputs, named)
    for key, text in (metadata or {}).items():
        if not isinstance(key, str) or not isinstance(text, str):
            raise ArgumentError(
                f"{NAME}: metadata has {key!r:.60}: {type_name(text)}, expected texts by name")
    if not isinstance(engines, bool):
        raise ArgumentError(f"{NAME}: engines is {engines!r:.60}, expected True or False")
    if engines and not disk.enabled():
        raise ArgumentError(
            f"{NAME}: engines is True and the disk cache is off (LAZYLOOM_CACHE=0), expected it "
            "on: it holds engines")
    recording.add_vjps(checked_order(vjp_order, NAME))
    _write(path if hasattr(path, "write") else os.fspath(path), recording, stablehlo_version,
           dict(metadata or {}), engines)


def _named(parameters: Mapping[str, Any] | None) -> dict[str, Value]:
    named: dict[str, Value] = {}
    for name, x in (parameters or {}).items():
        if not isinstance(name, str) or not isinstance(x, (Tensor, Value)):
            raise ArgumentError(
                f"{NAME}: parameters has {name!r:.60}: {type_name(x)}, expected tensors by name")
        named[name] = x.value if isinstance(x, Tensor) else x
        # what is pending would be a part of the program
        look(named[name], "export")
    return named


def _is_tensor(x: Any) -> bool:
    return isinstance(x, (Tensor, Value))


def _value(x: Any) -> Value:
    value: Value = x.value if isinstance(x, Tensor) else x
    return value


class _Recording:
    """What is exported.

    Attributes:
        name: what the program is called.
        positional: the names of the positional parameters.
        arguments, results: the trees.
        leaves: the tensors among the arguments.
        parameters: what else is read.
        generators: the generators that are drawn from.
        programs: for each specialization, its extents, and what was recorded.
        vjps: for each specialization, its VJPs by order; see :mod:`lazyloom.artifact.derivatives`.
        differentiable: what these are by.
    """

    name: str
    positional: list[str]
    arguments: dict[str, Any]
    results: dict[str, Any]
    leaves: list[LeafSpec]
    parameters: Parameters
    generators: list[GeneratorSpec]
    programs: list[tuple[dict[str, int], RecordedProgram]]
    vjps: list[list[RecordedProgram]]
    differentiable: Differentiable | None

    def add_vjps(self, order: int) -> None:
        """Record the VJPs of all programs, up to an order. Raises ArgumentError."""
        self.differentiable = None
        self.vjps = [[] for _ in self.programs]
        if not order:
            return
        cuts_held, gradients = switches.cuts_held(), switches.set_grad_enabled(True)
        switches.hold_cuts(True)
        try:
            taped = [self._taped(chosen) for chosen, _ in self.programs]
            # derivatives of all programs are by the same
            trained = dict.fromkeys(
                [key for t in taped for key in leaves_of(t.results, t.start, t.arguments)])
            for key in trained:
                self.parameters.number(*key)
            values = self.parameters.values
            by = self.differentiable = Differentiable(
                tuple([k for k, v in enumerate(taped[0].arguments) if v.requires_grad]),
                tuple([k for k, v in enumerate(values) if (v.node, v.index) in trained]))
            for vjps, t in zip(self.vjps, taped, strict=True):
                inputs = [*[t.arguments[n] for n in by.arguments],
                          *[values[n] for n in by.parameters]]
                for k in range(1, order + 1):
                    call = ExportCall(NAME, user_site(), f"derivative of {self.name}")
                    with call:
                        results, cotangents = pulled_back(t.results, inputs, k, call, NAME)
                    vjps.append(t.program(results, self.parameters, cotangents))
        finally:
            switches.hold_cuts(cuts_held)
            switches.set_grad_enabled(gradients)

    def _taped(self, chosen: dict[str, int]) -> _Recorded:
        """What is exported for some extents, recorded on the tape."""
        raise NotImplementedError


class _Recorded(NamedTuple):
    """Recorded work.

    Attributes:
        results: what it gives.
        arguments: the values that stand for the arguments.
        generators: how many generators are drawn from.
        start: work from before this number is no part of it.
        draws: what belongs to the generators.
    """

    results: list[Value]
    arguments: list[Value]
    generators: int
    start: int
    draws: Draws

    def program(
        self, results: Sequence[Value], parameters: Parameters, cotangents: Sequence[Value] = ()
    ) -> RecordedProgram:
        """Return the program of results, which may depend on cotangents, too."""
        leading = [v.type for v in self.arguments]
        leading += [tensor_type((2,), uint32), tensor_type((), int64)] * self.generators
        leaves = {(v.node, v.index): k for k, v in enumerate(self.arguments)}
        for v in cotangents:
            leaves[v.node, v.index] = len(leading)
            leading.append(v.type)
        return RecordedProgram(
            results, leaves, leading, self.start, parameters, self.draws, NAME)


class _Pending(_Recording):
    """Pending values."""

    def __init__(self, values: Any, inputs: Any, named: dict[str, Value]) -> None:
        self.name = "values"
        given: dict[str, Any] = dict(inputs) if isinstance(inputs, Mapping) else {
            f"input{k}": x for k, x in enumerate(inputs or ())}
        self.positional = list(given)
        leaves: list[tuple[str, Any]] = []
        self.arguments = {"tuple": [{"tuple": [
            nesting.flatten(x, name, _is_tensor, leaves, NAME) for name, x in given.items()]},
            {"dict": []}]}
        found: list[tuple[str, Any]] = []
        self.results = nesting.flatten(values, "the result", _is_tensor, found, NAME)
        if not found:
            raise ArgumentError(
                f"{NAME}: {type_name(values)} is given, expected a function or pending tensors")
        settle_all()
        self.leaves = [_leaf(name, _value(x).type) for name, x in leaves]
        if len({(_value(x).node, _value(x).index) for _, x in leaves}) != len(leaves):
            raise ArgumentError(f"{NAME}: one tensor is given twice in inputs, expected it once")
        self.parameters = Parameters(named)
        self.generators = []
        results = [_value(x) for _, x in found]
        if not any(v.node.state == PENDING for v in results):
            raise ArgumentError(
                f"{NAME}: none of the values is pending; export them before they are read, or "
                "export the function that computes them")
        self._recorded: Final = _Recorded(
            results, [_value(x) for _, x in leaves], 0, 0, _NO_DRAWS)
        self.programs = [({}, self._recorded.program(results, self.parameters))]

    def _taped(self, chosen: dict[str, int]) -> _Recorded:
        return self._recorded


class _Function(_Recording):
    """A function, recorded once for each specialization."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
        dynamic: Any, extents: Any, named: dict[str, Value],
    ) -> None:  # fmt: skip
        unwrapped = inspect.unwrap(function)
        self.name = str(getattr(unwrapped, "__name__", type(unwrapped).__name__))
        self._function: Final = function
        self.positional = _positional(function, len(args))
        given: list[tuple[str, Any]] = []
        self.arguments = {"tuple": [
            {"tuple": [nesting.flatten(x, self.positional[k] if k < len(self.positional) else
                                       f"argument {k}", _is_tensor, given, NAME)
                       for k, x in enumerate(args)]},
            {"dict": [[k, nesting.flatten(x, k, _is_tensor, given, NAME)]
                      for k, x in kwargs.items()]}]}
        self._given: Final = [x for _, x in given]
        self.leaves = [_leaf(name, _value(x).type) for name, x in given]
        self.parameters = Parameters(named)
        self.generators = []
        self._generators: Final[list[Any]] = []
        self._keys: Final[list[tuple[Node, int]]] = []
        combinations = self._combinations(dynamic or {}, extents or {})
        self.programs = []
        trees: list[dict[str, Any]] = []
        for chosen in combinations:
            tree, recorded = self._record(chosen, False)
            trees.append(tree)
            self.programs.append((chosen, recorded.program(recorded.results, self.parameters)))
        self.results = trees[0]
        if any(tree != trees[0] for tree in trees):
            raise ArgumentError(
                f"{NAME}: the function returns another nesting, or other numbers, for other "
                "extents; return tensors in the same nesting for all of them")

    def _combinations(self, dynamic: Any, extents: Any) -> list[dict[str, int]]:
        """Enter the symbols in the leaves; return the extents of each specialization."""
        names = [leaf.name for leaf in self.leaves]
        for name, axes in dynamic.items():
            if name not in names:
                raise ArgumentError(
                    f"{NAME}: dynamic has {name!r}, expected one of the tensors among the "
                    f"arguments: {', '.join(map(repr, names))}")
            number = names.index(name)
            leaf = self.leaves[number]
            shape = list(leaf.shape)
            for axis, symbol in axes.items():
                if not isinstance(axis, int) or not -len(shape) <= axis < len(shape) or (
                    not isinstance(symbol, str) or not symbol.isidentifier()
                ):
                    raise ArgumentError(
                        f"{NAME}: dynamic[{name!r}] has {axis!r}: {symbol!r}, expected an axis of "
                        f"{leaf.text} and the name of a symbol")
                shape[axis] = symbol
            self.leaves[number] = leaf._replace(shape=tuple(shape))
        symbols = list(dict.fromkeys(
            [d for leaf in self.leaves for d in leaf.shape if isinstance(d, str)]))
        if set(extents) != set(symbols):
            raise ArgumentError(
                f"{NAME}: extents has {sorted(extents)}, expected for each symbol of dynamic, "
                f"{sorted(symbols)}, the extents to export the program for, such as "
                "extents={'batch': (1, 8)}")
        choices: list[list[int]] = []
        for symbol in symbols:
            chosen = list(dict.fromkeys(extents[symbol]))
            if not chosen or any(type(n) is not int or n < 0 for n in chosen):
                raise ArgumentError(
                    f"{NAME}: extents[{symbol!r}] is {extents[symbol]!r:.80}, expected integers "
                    "from 0 on")
            choices.append(chosen)
        combinations = [dict(zip(symbols, c, strict=True)) for c in itertools.product(*choices)]
        if len(combinations) > _MOST_SPECIALIZATIONS:
            raise ArgumentError(
                f"{NAME}: extents has {len(combinations)} combinations, expected at most "
                f"{_MOST_SPECIALIZATIONS}; give fewer, and pad what is called to one of them")
        return combinations

    def _types(self, chosen: Mapping[str, int]) -> list[TensorType]:
        return [tensor_type(tuple(
            [chosen[d] if isinstance(d, str) else d for d in leaf.shape]), leaf.dtype)
            for leaf in self.leaves]

    def _taped(self, chosen: dict[str, int]) -> _Recorded:
        return self._record(chosen, True)[1]

    def _record(self, chosen: dict[str, int], tape: bool) -> tuple[dict[str, Any], _Recorded]:
        """Call the function on placeholders, with gradients or without; return the tree of its
        results, and what it recorded."""
        function = inspect.unwrap(self._function)
        code = getattr(function, "__code__", None) or getattr(
            getattr(function, "__call__", None), "__code__", None)  # noqa: B004
        where = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
        call = ExportCall(NAME, user_site(), f"function {self.name}{where}")
        types = self._types(chosen)
        cuts_held, gradients = switches.cuts_held(), switches.set_grad_enabled(tape)
        switches.hold_cuts(True)
        try:
            with call:
                values = [placeholder(t, call, tape and t.dtype.is_inexact) for t in types]
                leaves = [wrap_as(x, v) if isinstance(x, Tensor) else v
                          for x, v in zip(self._given, values, strict=True)]
                args, kwargs = nesting.build(self.arguments, leaves)
                result = self._function(*args, **kwargs)
                found: list[tuple[str, Any]] = []
                tree = nesting.flatten(result, "the result", _is_tensor, found, NAME)
                results = [_value(x) for _, x in found]
        finally:
            switches.hold_cuts(cuts_held)
            switches.set_grad_enabled(gradients)
            draws = _undone(call)
        if not results:
            raise ArgumentError(
                f"{NAME}: the function returns {type_name(result)} without tensors, expected at "
                "least one")
        settle_all()
        numbers = self._numbers(draws, len(types))
        keys = {key: len(types) + 2 * k for k, key in enumerate(self._keys)}
        return tree, _Recorded(
            results, values, len(self._keys), call.start, Draws(keys, numbers))

    def _numbers(
        self, draws: Sequence[tuple[Any, Value]], leaves: int
    ) -> dict[int, DrawNumber]:
        """Enter the generators; return what each number of a draw is, by the Scalar's identity."""
        numbers: dict[int, DrawNumber] = {}
        firsts: dict[int, int] = {}
        counts: dict[int, int] = {}
        for generator, key in draws:
            n = key.node
            if n.state != PENDING and n.state != MAPPED:
                raise ArgumentError(
                    f"{NAME}: a random number was computed while the function ran, drawn at "
                    f"{n.site}, so each call would have the same; do not read it in the function",
                    site=str(n.site))
            source, number = n.inputs
            assert isinstance(source, Node) and isinstance(number, Scalar)
            identity = (source, 0 if n.indices is None else n.indices[0])
            if generator not in self._generators:
                if self.programs:
                    raise ArgumentError(
                        f"{NAME}: the function draws from other generators for other extents; "
                        "draw from the same ones for all of them")
                self._generators.append(generator)
                self._keys.append(identity)
                words = [int(w) for w in look(_held(*identity), "export").tolist()]
                self.generators.append(
                    GeneratorSpec(0, (words[0], words[1]), int(number.number)))
            k = self._generators.index(generator)
            if self._keys[k] != identity:
                raise ArgumentError(
                    f"{NAME}: the function seeds a generator that it draws from at {n.site}, so "
                    "each call would draw the same; seed it outside", site=str(n.site))
            first = firsts.setdefault(k, int(number.number))
            counts[k] = counts.get(k, 0) + 1
            numbers[id(number)] = DrawNumber(
                leaves + 2 * k + 1, int(number.number) - first)
        for k, count in counts.items():
            spec = self.generators[k]
            self.generators[k] = spec._replace(draws=max(spec.draws, count))
        return numbers


def _held(n: Node, index: int) -> Value:
    with graph.trace.lock:
        return graph.hold(n, index, False)


def _undone(call: ExportCall) -> list[tuple[Any, Value]]:
    """Set the generators back to before the call; return its draws."""
    draws: list[tuple[Any, Value]] = []
    for generator, key, advance in call.draws:
        advance(-1)
        draws.append((generator, key))
    return draws


def _positional(function: Any, count: int) -> list[str]:
    """Return the names of a function's first parameters, which messages and callers use."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters
             if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "argument")
    return [*names[:count], *[f"{rest}[{k}]" for k in range(count - len(names))]]


def _leaf(name: str, t: TensorType) -> LeafSpec:
    if t.placement is not DEFAULT_PLACEMENT:
        raise ArgumentError(
            f"{NAME}: {name} lies on {t.placement.text}, expected a tensor on the default device; "
            "move it there with lazyloom.to_device")
    return LeafSpec(name, t.dtype, t.shape)


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
    target: Any, recording: _Recording, version: str | None, metadata: Mapping[str, str],
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
