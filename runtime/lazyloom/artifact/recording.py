"""What is exported: functions and pending values, recorded as programs."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..capture.template import settle_all
from ..dtypes import int64, uint32
from ..errors import ArgumentError, type_name
from ..evaluate.reading import look
from ..placements import DEFAULT_PLACEMENT
from ..tensor.tensor import Tensor
from ..tensor.wrapping import wrap_as
from ..trace import graph, switches
from ..trace.graph import MAPPED, PENDING, Node, Value
from ..trace.mapping import ExportCall, placeholder
from ..trace.scalars import Scalar
from ..trace.source import user_site
from ..types import TensorType, tensor_type
from . import nesting
from .derivatives import leaves_of, pulled_back
from .manifest import Differentiable, GeneratorSpec, LeafSpec
from .recorded import DrawNumber, Draws, Parameters, RecordedProgram

#: the most programs of one file
_MOST_SPECIALIZATIONS: Final = 64
_NO_DRAWS: Final = Draws({}, {})
#: what ``dynamic`` is, for messages
SYMBOLS: Final = "a symbol for each axis that varies, by name, such as {'x': {0: 'batch'}}"


def by_name(given: Any, what: str, expected: str, where: str) -> Mapping[Any, Any]:
    """Return an argument that is a mapping or None. Raises ArgumentError for anything else."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ArgumentError(
            f"{where}: {what} is {given!r:.60} ({type_name(given)}), expected {expected}")
    return given


def texts(metadata: Any, where: str) -> dict[str, str]:
    """Return the texts of ``metadata``. Raises ArgumentError."""
    found = dict(by_name(metadata, "metadata", "texts by name", where))
    for key, text in found.items():
        if not isinstance(key, str) or not isinstance(text, str):
            raise ArgumentError(
                f"{where}: metadata has {key!r:.60}: {type_name(text)}, expected texts by name")
    return found


def named_values(parameters: Mapping[str, Any] | None, where: str) -> dict[str, Value]:
    named: dict[str, Value] = {}
    for name, x in by_name(parameters, "parameters", "tensors by name", where).items():
        if not isinstance(name, str) or not isinstance(x, (Tensor, Value)):
            raise ArgumentError(
                f"{where}: parameters has {name!r:.60}: {type_name(x)}, expected tensors by name")
        named[name] = x.value if isinstance(x, Tensor) else x
        # what is pending would be a part of the program
        look(named[name], "export")
    return named


def _is_tensor(x: Any) -> bool:
    return isinstance(x, (Tensor, Value))


def _value(x: Any) -> Value:
    value: Value = x.value if isinstance(x, Tensor) else x
    return value


class RecordedWork:
    """What is exported.

    Attributes:
        where: the function that messages begin with.
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

    where: str
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
                    call = ExportCall(self.where, user_site(), f"derivative of {self.name}")
                    with call:
                        results, cotangents = pulled_back(t.results, inputs, k, call, self.where)
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
        where: the function that messages begin with.
    """

    results: list[Value]
    arguments: list[Value]
    generators: int
    start: int
    draws: Draws
    where: str

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
            results, leaves, leading, self.start, parameters, self.draws, self.where)


class PendingValues(RecordedWork):
    """Pending values."""

    def __init__(
        self, where: str, values: Any, inputs: Any, named: dict[str, Value]
    ) -> None:
        self.where = where
        self.name = "values"
        if not isinstance(inputs, (Mapping, Sequence, type(None))) or isinstance(inputs, str):
            raise ArgumentError(
                f"{where}: inputs is {inputs!r:.60} ({type_name(inputs)}), expected tensors, by "
                "name or in order")
        given: dict[str, Any] = dict(inputs) if isinstance(inputs, Mapping) else {
            f"input{k}": x for k, x in enumerate(inputs or ())}
        self.positional = list(given)
        leaves: list[tuple[str, Any]] = []
        self.arguments = {"tuple": [{"tuple": [
            nesting.flatten(x, name, _is_tensor, leaves, self.where) for name, x in given.items()]},
            {"dict": []}]}
        found: list[tuple[str, Any]] = []
        self.results = nesting.flatten(values, "the result", _is_tensor, found, self.where)
        if not found:
            raise ArgumentError(
                f"{self.where}: "
                f"{type_name(values)} is given, expected a function or pending tensors")
        settle_all()
        self.leaves = [_leaf(name, _value(x).type, where) for name, x in leaves]
        if len({(_value(x).node, _value(x).index) for _, x in leaves}) != len(leaves):
            raise ArgumentError(
                f"{self.where}: one tensor is given twice in inputs, expected it once")
        self.parameters = Parameters(named)
        self.generators = []
        results = [_value(x) for _, x in found]
        if not any(v.node.state == PENDING for v in results):
            raise ArgumentError(
                f"{self.where}: "
                "none of the values is pending; export them before they are read, or "
                "export the function that computes them")
        self._recorded: Final = _Recorded(
            results, [_value(x) for _, x in leaves], 0, 0, _NO_DRAWS, where)
        self.programs = [({}, self._recorded.program(results, self.parameters))]

    def _taped(self, chosen: dict[str, int]) -> _Recorded:
        return self._recorded


class RecordedFunction(RecordedWork):
    """A function, recorded once for each specialization."""

    def __init__(
        self, where: str, function: Callable[..., Any], args: tuple[Any, ...],
        kwargs: Mapping[str, Any] | None, dynamic: Any, extents: Any, named: dict[str, Value],
    ) -> None:  # fmt: skip
        """Record a function.

        Args:
            where: the function that messages begin with.
            function, args, kwargs: what is called.
            dynamic: the axes that vary, by the name of an argument.
            extents: the extents of each symbol to record it for, or a function that is given the
                example's extents by symbol and returns those of each specialization, and of
                those that are left out where the function raises.
            named: parameters by name.
        """
        self.where = where
        kwargs = by_name(kwargs, "kwargs", "arguments by name", where)
        unwrapped = inspect.unwrap(function)
        self.name = str(getattr(unwrapped, "__name__", type(unwrapped).__name__))
        self._function: Final = function
        self.positional = _positional(function, len(args))
        given: list[tuple[str, Any]] = []
        self.arguments = {"tuple": [
            {"tuple": [nesting.flatten(x, self.positional[k] if k < len(self.positional) else
                                       f"argument {k}", _is_tensor, given, self.where)
                       for k, x in enumerate(args)]},
            {"dict": [[k, nesting.flatten(x, k, _is_tensor, given, self.where)]
                      for k, x in kwargs.items()]}]}
        self._given: Final = [x for _, x in given]
        self.leaves = [_leaf(name, _value(x).type, where) for name, x in given]
        self.parameters = Parameters(named)
        self.generators = []
        self._generators: Final[list[Any]] = []
        self._keys: Final[list[tuple[Node, int]]] = []
        combinations, further = self._combinations(dynamic or {}, extents or {})
        self.programs = []
        trees: list[dict[str, Any]] = []
        for chosen in (*combinations, *further):
            try:
                tree, recorded = self._record(chosen, False)
            except Exception:
                if chosen in further:
                    # a table of positions may end before
                    continue
                raise
            trees.append(tree)
            self.programs.append((chosen, recorded.program(recorded.results, self.parameters)))
        self.results = trees[0]
        if any(tree != trees[0] for tree in trees):
            raise ArgumentError(
                f"{self.where}: the function returns another nesting, or other numbers, for other "
                "extents; return tensors in the same nesting for all of them")

    def _combinations(
        self, dynamic: Any, extents: Any
    ) -> tuple[list[dict[str, int]], list[dict[str, int]]]:
        """Enter the symbols in the leaves; return the extents of each specialization, and of those
        that there need not be."""
        names = [leaf.name for leaf in self.leaves]
        examples = [leaf.shape for leaf in self.leaves]
        for name, axes in by_name(dynamic, "dynamic", SYMBOLS, self.where).items():
            by_name(axes, f"dynamic[{name!r:.40}]", SYMBOLS, self.where)
            if name not in names:
                raise ArgumentError(
                    f"{self.where}: dynamic has {name!r}, expected one of the tensors among the "
                    f"arguments: {', '.join(map(repr, names))}")
            number = names.index(name)
            leaf = self.leaves[number]
            shape = list(leaf.shape)
            for axis, symbol in axes.items():
                if type(axis) is not int or not -len(shape) <= axis < len(shape) or (
                    not isinstance(symbol, str) or not symbol.isidentifier()
                ):
                    raise ArgumentError(
                        f"{self.where}: "
                        f"dynamic[{name!r}] has {axis!r}: {symbol!r}, expected an axis of "
                        f"{leaf.text} and the name of a symbol")
                if isinstance(shape[axis], str):
                    raise ArgumentError(
                        f"{self.where}: dynamic[{name!r}] names one axis of {leaf.text} "
                        f"{shape[axis]!r} and {symbol!r}, expected one name")
                shape[axis] = symbol
            self.leaves[number] = leaf._replace(shape=tuple(shape))
        symbols = list(dict.fromkeys(
            [d for leaf in self.leaves for d in leaf.shape if isinstance(d, str)]))
        if callable(extents):
            return extents(self._examples(symbols, examples)) if symbols else ([{}], [])
        by_name(extents, "extents", "the extents of each symbol, such as {'batch': (1, 8)}",
                self.where)
        if set(extents) != set(symbols):
            raise ArgumentError(
                f"{self.where}: "
                f"extents has {sorted(extents)}, expected for each symbol of dynamic, "
                f"{sorted(symbols)}, the extents to export the program for, such as "
                "extents={'batch': (1, 8)}")
        choices: list[list[int]] = []
        for symbol in symbols:
            given = extents[symbol]
            chosen = list(dict.fromkeys(given)) if isinstance(given, Iterable) else []
            if not chosen or any(type(n) is not int or n < 0 for n in chosen):
                raise ArgumentError(
                    f"{self.where}: "
                    f"extents[{symbol!r}] is {extents[symbol]!r:.80}, expected integers "
                    "from 0 on")
            choices.append(chosen)
        combinations = [dict(zip(symbols, c, strict=True)) for c in itertools.product(*choices)]
        if len(combinations) > _MOST_SPECIALIZATIONS:
            raise ArgumentError(
                f"{self.where}: extents has {len(combinations)} combinations, expected at most "
                f"{_MOST_SPECIALIZATIONS}; give fewer, and pad what is called to one of them")
        return combinations, []

    def _examples(
        self, symbols: Sequence[str], shapes: Sequence[tuple[Any, ...]]
    ) -> dict[str, int]:
        """Return the extent that each symbol has in the example arguments."""
        found: dict[str, int] = {}
        for leaf, shape in zip(self.leaves, shapes, strict=True):
            for axis, (d, n) in enumerate(zip(leaf.shape, shape, strict=True)):
                if isinstance(d, str) and found.setdefault(d, n) != n:
                    raise ArgumentError(
                        f"{self.where}: dynamic names axis {axis} of {leaf.name} {d!r}, where the "
                        f"example has {n}, and an axis of {found[d]}; expected equal extents, or "
                        "another name for one of them")
        return {symbol: found[symbol] for symbol in symbols}

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
        place = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
        call = ExportCall(self.where, user_site(), f"function {self.name}{place}")
        types = self._types(chosen)
        cuts_held, gradients = switches.cuts_held(), switches.set_grad_enabled(tape)
        switches.hold_cuts(True)
        try:
            with call:
                values = [placeholder(t, call, tape and t.dtype.is_inexact) for t in types]
                leaves = [wrap_as(x, v) if isinstance(x, Tensor) else v
                          for x, v in zip(self._given, values, strict=True)]
                args, kwargs = nesting.build(self.arguments, leaves)
                try:
                    result = self._function(*args, **kwargs)
                except Exception as error:
                    if chosen:
                        at = ", ".join(f"{symbol}={n}" for symbol, n in chosen.items())
                        error.add_note(f"{self.where}: raised where the function is recorded for "
                                       f"the extents {at}")
                    raise
                found: list[tuple[str, Any]] = []
                tree = nesting.flatten(result, "the result", _is_tensor, found, self.where)
                results = [_value(x) for _, x in found]
        finally:
            switches.hold_cuts(cuts_held)
            switches.set_grad_enabled(gradients)
            draws = _undone(call)
        if not results:
            raise ArgumentError(
                f"{self.where}: "
                f"the function returns {type_name(result)} without tensors, expected at "
                "least one")
        settle_all()
        numbers = self._numbers(draws, len(types))
        keys = {key: len(types) + 2 * k for k, key in enumerate(self._keys)}
        return tree, _Recorded(
            results, values, len(self._keys), call.start, Draws(keys, numbers), self.where)

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
                    f"{self.where}: a random number was computed while the function ran, drawn at "
                    f"{n.site}, so each call would have the same; do not read it in the function",
                    site=str(n.site))
            source, number = n.inputs
            assert isinstance(source, Node) and isinstance(number, Scalar)
            identity = (source, 0 if n.indices is None else n.indices[0])
            if generator not in self._generators:
                if self.programs:
                    raise ArgumentError(
                        f"{self.where}: "
                        "the function draws from other generators for other extents; "
                        "draw from the same ones for all of them")
                self._generators.append(generator)
                self._keys.append(identity)
                words = [int(w) for w in look(_held(*identity), "export").tolist()]
                self.generators.append(
                    GeneratorSpec(0, (words[0], words[1]), int(number.number)))
            k = self._generators.index(generator)
            if self._keys[k] != identity:
                raise ArgumentError(
                    f"{self.where}: "
                    f"the function seeds a generator that it draws from at {n.site}, so "
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


def _leaf(name: str, t: TensorType, where: str) -> LeafSpec:
    if t.placement is not DEFAULT_PLACEMENT:
        raise ArgumentError(
            f"{where}: {name} lies on {t.placement.text}, expected a tensor on the default device; "
            "move it there with lazyloom.to_device")
    return LeafSpec(name, t.dtype, t.shape)


