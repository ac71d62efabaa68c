"""Recorded work as the structure of a program that is exported.

Its leaves are the arguments, then for each generator of random numbers its key and the number of
its next draw, then the parameters: whatever else the work reads. Python numbers are constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..dtypes import DType, int64
from ..errors import ArgumentError
from ..ops.spec import lookup
from ..placements import DEFAULT_PLACEMENT
from ..program.program import Structure
from ..trace import graph
from ..trace.graph import MAPPED, PENDING, Node, Value
from ..trace.scalars import Scalar
from ..trace.specs import Spec, spec_of
from ..types import TensorType


class ProgramInput(NamedTuple):
    """An operand that is leaf ``number`` of the program, before its parameters."""

    number: int


class Parameter(NamedTuple):
    """An operand that is a parameter."""

    number: int


class Computed(NamedTuple):
    """An operand that is result ``number`` of an instruction."""

    instruction: int
    number: int


class DrawNumber(NamedTuple):
    """An operand that is the number of a draw: that of the generator's first, and an offset."""

    leaf: int
    offset: int


class CheckOf(NamedTuple):
    """A condition that is looked at before results are read; see the op ``checked``.

    Attributes:
        kind, of, info: the attributes of the op.
    """

    kind: str
    of: str
    info: tuple[int, ...]


class Parameters:
    """The values that exported work reads and that are no arguments, each once.

    Attributes:
        values: the values.
        names: a name for each.
        aliases: further names of a value, with the name that it is stored under.
    """

    def __init__(self, named: Mapping[str, Value]) -> None:
        self.values: Final[list[Value]] = []
        self.names: Final[list[str]] = []
        self.aliases: Final[dict[str, str]] = {}
        self._numbers: Final[dict[tuple[Node, int], int]] = {}
        self._unnamed = 0
        for name, value in named.items():
            number = self._numbers.get((value.node, value.index))
            if number is None:
                self._add(name, value)
            else:
                self.aliases[name] = self.names[number]

    def _add(self, name: str, value: Value) -> int:
        number = self._numbers[value.node, value.index] = len(self.values)
        self.values.append(value)
        self.names.append(name)
        return number

    def number(self, n: Node, index: int) -> int:
        """Return the number of a result of a node among the parameters; adds it if it is new."""
        number = self._numbers.get((n, index))
        if number is not None:
            return number
        taken = {*self.names, *self.aliases}
        while (name := f"constant.{self._unnamed}") in taken:
            self._unnamed += 1
        return self._add(name, graph.hold(n, index, False))


class Draws(NamedTuple):
    """What the draws of a recorded function are: which nodes and numbers belong to generators.

    Attributes:
        keys: the leaf of the key that a value is.
        numbers: what a Scalar is, by its identity.
    """

    keys: Mapping[tuple[Node, int], int]
    numbers: Mapping[int, DrawNumber]


NO_DRAWS: Final = Draws({}, {})


class RecordedProgram:
    """Recorded work that leads to some results.

    Attributes:
        checks: the conditions of the results; their flags are the last outputs.
        sites: where each instruction was recorded.
    """

    def __init__(
        self, results: Sequence[Value | Scalar], arguments: Mapping[tuple[Node, int], int],
        leading: Sequence[TensorType], start: int, parameters: Parameters, draws: Draws, where: str,
    ) -> None:  # fmt: skip
        """Record what was recorded after node number ``start``.

        Args:
            results: what the program gives.
            arguments: the leaf that a value is, for the values that are arguments.
            leading: the types of the leaves before the parameters.
            start: work from before is not part of the program: its results are parameters.
            parameters: they are added to.
            draws: what belongs to generators.
            where: the function that messages begin with.

        Raises ArgumentError for an op that a program cannot have when it is exported.
        """
        self._arguments: Final = arguments
        self._leading: Final = leading
        self._start: Final = start
        self._parameters: Final = parameters
        self._draws: Final = draws
        self._where: Final = where
        self._specs: Final[list[Spec]] = []
        self._operands: Final[list[list[Any]]] = []
        self._types: Final[list[tuple[TensorType, ...]]] = []
        self.sites: Final[list[Any]] = []
        self._results: Final[dict[Node, list[Any]]] = {}
        self.checks: Final[list[CheckOf]] = []
        self._flags: Final[list[Any]] = []
        with graph.trace.lock:
            graph.drain()
            for n in self._order([v.node for v in results if isinstance(v, Value)]):
                self._add_node(n)
            self._outputs: Final = [self._output(v) for v in results]
        for k, flag in enumerate(self._flags):
            self._flags[k] = self._passed(flag, self._type(flag))
        #: the type of each result
        self.result_types: Final = [self._type(o) for o in self._outputs]

    def _inside(self, n: Node) -> bool:
        return n.spec is not None and n.seq > self._start and (
            n.state == PENDING or n.state == MAPPED)

    def _order(self, stack: list[Node]) -> list[Node]:
        order: list[Node] = []
        seen: set[Node] = {n for n, _ in self._arguments if len(n.types) == 1}
        while stack:
            n = stack.pop()
            if n in seen or not self._inside(n):
                continue
            seen.add(n)
            order.append(n)
            stack.extend([m for m in n.inputs if isinstance(m, Node)])
        order.sort(key=graph.by_sequence)
        return order

    def _add_node(self, n: Node) -> None:
        spec = n.spec
        assert spec is not None
        operands: list[Any] = []
        for position, m in enumerate(n.inputs):
            index = 0
            if isinstance(m, Node) and n.indices is not None:
                index = n.indices[position]
            operands.append(self._operand(m, index))
        if spec.checked:
            value, flag = operands
            attrs = spec.attrs
            self.checks.append(CheckOf(attrs["kind"], attrs["of"], tuple(attrs["info"])))
            self._flags.append(flag)
            self._results[n] = [value, flag]
            return
        if spec.effect or spec.shared or spec.fallible or spec.placement is not None:
            what = "is run by several processes together" if spec.shared else (
                "has effects" if spec.effect else
                "moves data between devices" if spec.placement is not None else
                "calls code of this process")
            raise ArgumentError(
                f"{self._where}: the op {spec.op.name}, recorded at {n.site}, {what}, so it cannot "
                "be in a program that runs elsewhere; compute what needs it outside and pass it as "
                "an argument", op=spec.op.name, site=str(n.site))
        number = self._instruction(spec, operands, n.types, n.site)
        self._results[n] = [Computed(number, i) for i in range(len(n.types))]

    def _instruction(
        self, spec: Spec, operands: list[Any], types: tuple[TensorType, ...], site: Any
    ) -> int:
        self._specs.append(spec)
        self._operands.append(operands)
        self._types.append(types)
        self.sites.append(site)
        return len(self._specs) - 1

    def _operand(self, m: Any, index: int) -> Any:
        if m is None:
            return None
        if isinstance(m, Scalar):
            draw = self._draws.numbers.get(id(m))
            if draw is None:
                return m
            leaf = ProgramInput(draw.leaf)
            if not draw.offset:
                return leaf
            number = self._instruction(
                spec_of(lookup("add"), None, 2), [leaf, Scalar(draw.offset, int64)], (m.type,),
                "a draw")
            return Computed(number, 0)
        argument = self._arguments.get((m, index))
        if argument is not None:
            return ProgramInput(argument)
        inner = self._results.get(m)
        if inner is not None:
            return inner[index]
        key = self._draws.keys.get((m, index))
        if key is not None:
            return ProgramInput(key)
        t: TensorType = m.types[index]
        if t.placement is not DEFAULT_PLACEMENT:
            raise ArgumentError(
                f"{self._where}: a {t.text} on {t.placement.text} is used, expected values on the "
                "default device; move it there with lazyloom.to_device first")
        if m.state == MAPPED:
            raise ArgumentError(
                f"{self._where}: a {t.text} stands for a value that another function is mapped "
                "over or records, which is not there when the program runs")
        return Parameter(self._parameters.number(m, index))

    def _output(self, v: Value | Scalar) -> Any:
        if isinstance(v, Scalar):
            number = self._instruction(
                spec_of(lookup("full"), {"shape": ()}, 1), [v], (v.type,), "a result")
            return Computed(number, 0)
        return self._passed(self._operand(v.node, v.index), v.type)

    def _passed(self, operand: Any, t: TensorType) -> Any:
        """Return an operand as the result of an instruction, which outputs have to be."""
        if isinstance(operand, Computed):
            return operand
        number = self._instruction(spec_of(lookup("barrier"), None, 1), [operand], (t,), "a result")
        return Computed(number, 0)

    def _type(self, operand: Any) -> TensorType:
        if isinstance(operand, Computed):
            return self._types[operand.instruction][operand.number]
        if isinstance(operand, Parameter):
            return self._parameters.values[operand.number].type
        if isinstance(operand, Scalar):
            return operand.type
        assert isinstance(operand, ProgramInput), operand
        return self._leading[operand.number]

    def structure(self) -> tuple[Structure, list[tuple[int, int]], dict[DType, list[Any]]]:
        """Return the structure, its outputs and the values of its run-time scalars by dtype.

        It has a leaf for each parameter, so it is called when all of them are known.
        """
        stream: list[Any] = []
        scalars: dict[DType, list[Any]] = {}

        def item(operand: Any) -> Any:
            if isinstance(operand, ProgramInput):
                return -1 - operand.number
            if isinstance(operand, Parameter):
                return -1 - (len(self._leading) + operand.number)
            if isinstance(operand, Computed):
                return (operand.instruction, operand.number) if operand.number else (
                    operand.instruction)
            if isinstance(operand, Scalar):
                if operand.baked is not None:
                    return operand.baked
                dtype = operand.type.dtype
                scalars.setdefault(dtype, []).append(operand.number)
                return dtype
            return None

        for spec, operands in zip(self._specs, self._operands, strict=True):
            stream.append(spec)
            stream.extend([item(o) for o in operands])
        outputs = [(o.instruction, o.number) for o in (*self._outputs, *self._flags)]
        types = (*self._leading, *[v.type for v in self._parameters.values])
        return Structure(tuple(stream), types), outputs, scalars
