"""Recorded programs as graphs of ONNX, and graphs of one program at several extents as one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ..codegen.answers import Call, No
from ..codegen.onnx import OnnxGraph, OnnxNode, VaryingType, emit, exports
from ..dtypes import DType
from ..errors import ArgumentError
from ..program.program import Instruction
from ..program.stream import Leaf, Result, ScalarSlot
from ..trace.scalars import Baked
from ..types import TensorType
from .recorded import RecordedProgram

#: how much larger extents are at which a program is looked at that may be another there
_FAR: Final = 61

#: operators whose second input is a shape, one extent of which may be left to the runtime
_SHAPED: Final = "Reshape"


class OnnxProgram(NamedTuple):
    """A program as a graph.

    Attributes:
        graph: its nodes and constants.
        leaves: the name of each leaf.
        outputs: the names of the results.
        types: the types of the results.
        sites: for each node, where its op was recorded.
    """

    graph: OnnxGraph
    leaves: list[str]
    outputs: list[str]
    types: list[TensorType]
    sites: list[Any]


def graph_of(
    recorded: RecordedProgram, leaves: Sequence[str], outputs: Sequence[str], opset: int,
    where: str, varying: bool,
) -> OnnxProgram:  # fmt: skip
    """Return a recorded program as a graph.

    Args:
        recorded: the program; its checks of indices are left out.
        leaves: names for its leaves: the arguments, and the parameters.
        outputs: names for its results.
        opset: the version of the operators.
        where: the function that messages begin with.
        varying: it is one of several, for other extents.

    Raises ArgumentError, which names every op that has no mapping, and where it was recorded.
    """
    structure, results, scalars = recorded.structure()
    instructions = structure.instructions
    results = results[:len(recorded.result_types)]
    wanted = _wanted(instructions, [n for n, _ in results])
    _refuse(instructions, wanted, recorded.sites, opset, where)
    graph = OnnxGraph(opset, {*leaves, *outputs}, varying=varying)
    names: list[list[str]] = []
    sites: list[Any] = []
    for n, i in enumerate(instructions):
        operands = [_operand(graph, item, leaves, names, scalars) for item in i.operands]
        names.append(emit(graph, Call.of(i), operands) if n in wanted else [])
        sites += [recorded.sites[n]] * (len(graph.nodes) - len(sites))
    for output, (n, r) in zip(outputs, results, strict=True):
        graph.nodes.append(OnnxNode("Identity", (names[n][r],), [output], {}))
        sites.append(recorded.sites[n])
    return OnnxProgram(graph, list(leaves), list(outputs), recorded.result_types, sites)


def _operand(
    graph: OnnxGraph, item: Any, leaves: Sequence[str], names: Sequence[Sequence[str]],
    scalars: Mapping[DType, Sequence[Any]],
) -> str:  # fmt: skip
    if isinstance(item, Leaf):
        return leaves[item.number]
    if isinstance(item, Result):
        found = names[item.instruction]
        return found[item.number] if found else ""
    if isinstance(item, ScalarSlot):
        return graph.number(scalars[item.dtype][item.ordinal], item.dtype)
    if isinstance(item, Baked):
        return graph.number(item.number, item.dtype)
    return ""


def _wanted(instructions: Sequence[Instruction], results: Sequence[int]) -> set[int]:
    """Return the instructions that lead to results."""
    wanted = set(results)
    for n in range(len(instructions) - 1, -1, -1):
        if n in wanted:
            wanted.update([x.instruction for x in instructions[n].operands
                           if isinstance(x, Result)])
    return wanted


def _refuse(
    instructions: Sequence[Instruction], wanted: set[int], sites: Sequence[Any], opset: int,
    where: str,
) -> None:  # fmt: skip
    """Raise ArgumentError for ops that ONNX does not have, all at once."""
    refused: dict[tuple[str, str], list[str]] = {}
    for n in sorted(wanted):
        call = Call.of(instructions[n])
        answer = exports(call, opset)
        if isinstance(answer, No):
            reason = answer.reason
            # ops that draw, and those that make keys, say so by this operand
            if any(o.name == "key" for o in instructions[n].spec.op.operands):
                reason = ("random numbers, which ONNX has no generator of ours for; call eval() "
                          "on a model with dropout, or pass what is drawn as an argument")
            at = refused.setdefault((call.op, reason), [])
            if str(sites[n]) not in at:
                at.append(str(sites[n]))
    if not refused:
        return
    lines = [f"{op}: {reason}; recorded at {', '.join(at)}"
             for (op, reason), at in refused.items()]
    ops = ", ".join(dict.fromkeys(op for op, _ in refused))
    raise ArgumentError(
        f"{where}: ONNX (opset {opset}) cannot say {len(lines)} of the program's ops:\n  "
        + "\n  ".join(lines) + "\nlazyloom.export writes them as StableHLO", op=ops,
        site=next(iter(refused.values()))[0])


# Several extents


class Polynomial:
    """An integer as a polynomial of symbols: a coefficient for each product of them."""

    def __init__(self, terms: Mapping[tuple[str, ...], int]) -> None:
        self.terms: Final = {symbols: n for symbols, n in terms.items() if n}

    def at(self, extents: Mapping[str, int]) -> int:
        """Return its value."""
        total = 0
        for symbols, n in self.terms.items():
            for symbol in symbols:
                n *= extents[symbol]
            total += n
        return total

    def __str__(self) -> str:
        """Return the name of the extent, such as "batch" or "2*batch + 1"."""
        parts = []
        # the constant comes last
        for symbols, n in sorted(self.terms.items(), key=lambda term: not term[0]):
            factors = [*([str(n)] if n != 1 or not symbols else []), *symbols]
            parts.append("*".join(factors))
        return " + ".join(parts).replace("+ -", "- ") or "0"


def samples(
    examples: Mapping[str, int], bounds: Mapping[str, tuple[int, int | None]]
) -> tuple[list[dict[str, int]], list[dict[str, int]]]:
    """Return the extents to record a function for, from which :func:`fitted` learns all others.

    They are the example's, all combinations of it and another one, and further ones as a test.
    The second list has large ones, at which programs that choose by extents may be others; a
    function need not be defined there.
    """
    choices: dict[str, list[int]] = {}
    far: dict[str, int] = {}
    for symbol, n in examples.items():
        least, most = bounds.get(symbol, (0, None))
        # extents of 0 and 1 broadcast, and programs are often others for them
        first = max(n, 2, least)
        if most is not None and first > most:
            first = most
        further = [k for k in (first + 1, first + 3, first - 1, first + 2, first - 2)
                   if k >= max(least, 2) and (most is None or k <= most)]
        if not further:
            further = [k for k in range(least, (most if most is not None else first) + 1)
                       if k != first][:2]
        choices[symbol] = [first, *further[:2]]
        # no two are equal, which operations might take for one extent
        far[symbol] = 2 * first + _FAR + 2 * len(far) if most is None else most
    found = [dict(zip(choices, each, strict=True))
             for each in itertools.product(*[c[:2] for c in choices.values()])]
    found.append({symbol: c[-1] for symbol, c in choices.items()})
    return found, [] if far in found else [far]


def fitted(values: Sequence[int], extents: Sequence[Mapping[str, int]]) -> Polynomial | None:
    """Return the polynomial that has some values at some extents; None if none has."""
    if len(set(values)) == 1:
        return Polynomial({(): values[0]})
    symbols = list(extents[0])
    products = [tuple(c) for k in range(len(symbols) + 1)
                for c in itertools.combinations(symbols, k)]
    rows = [[float(np.prod([e[s] for s in p])) for p in products] for e in extents]
    solved = np.linalg.lstsq(np.array(rows), np.array(values, np.float64), rcond=None)[0]
    found = Polynomial({p: round(float(c)) for p, c in zip(products, solved, strict=True)})
    agree = all(found.at(e) == v for e, v in zip(extents, values, strict=True))
    return found if agree else None


def shape_of(
    shapes: Sequence[Sequence[int]], extents: Sequence[Mapping[str, int]], name: str
) -> tuple[int | str, ...]:
    """Return a shape for all extents, from those at some: numbers, and names of what varies.

    Extents that are no polynomial of the symbols are named by ``name`` and the axis; without one
    they have no name.
    """
    found: list[int | str] = []
    for axis, each in enumerate(zip(*shapes, strict=True)):
        p = fitted(each, extents)
        if len(set(each)) == 1:
            found.append(each[0])
        elif p is not None:
            found.append(str(p))
        else:
            found.append(f"{name}_{axis}" if name else "")
    return tuple(found)


class _Merge:
    """Makes the graph for all extents from graphs at some."""

    def __init__(
        self, programs: Sequence[OnnxProgram], extents: Sequence[Mapping[str, int]],
        places: Mapping[str, tuple[str, int]], where: str,
    ) -> None:  # fmt: skip
        self._programs: Final = programs
        self._graphs: Final = [p.graph for p in programs]
        self._extents: Final = extents
        self._places: Final = places
        self._where: Final = where
        first = programs[0]
        self._graph: Final = OnnxGraph(first.graph.opset, {
            *first.leaves, *first.outputs, *first.graph.constants,
            *[name for node in _all_nodes(first.graph) for name in node.outputs],
            *[name for body in _bodies(first.graph) for name, _ in body.inputs]})
        self._computed: Final[dict[Any, str]] = {}
        self._names: Final[dict[tuple[str, ...], str]] = {}
        self._site: Any = None

    def merged(self) -> OnnxProgram:
        """Return the program."""
        first = self._programs[0]
        for p in self._programs[1:]:
            self._same_names(first.leaves, p.leaves)
            if [t.ndim for t in p.types] != [t.ndim for t in first.types]:
                raise self._error("a result has another number of axes")
        nodes = self._nodes(self._graphs, first.sites)
        self._graph.nodes.extend(nodes)
        return first._replace(graph=self._graph)

    def _error(self, what: str) -> ArgumentError:
        at = "" if self._site is None else f", in what was recorded at {self._site}"
        # those beside the example, and the large ones, if there are any
        shown = (*self._extents[:2], *self._extents[3:][-1:])
        given = " and ".join(", ".join(f"{k}={v}" for k, v in e.items()) for e in shown)
        return ArgumentError(
            f"{self._where}: the program for {given} differs so that no ONNX model is all of them: "
            f"{what}{at}; export it with that extent fixed, say in bounds between which extents it "
            "is called, or have the function compute the same for all",
            site=None if self._site is None else str(self._site))

    def _same_names(self, mine: Sequence[str], theirs: Sequence[str]) -> None:
        if len(mine) != len(theirs):
            raise self._error("it reads other tensors")

    def _nodes(self, graphs: Sequence[OnnxGraph], sites: Sequence[Any] | None) -> list[OnnxNode]:
        nodes = []
        counts = {len(g.nodes) for g in graphs}
        for n in range(min(counts)):
            if sites is not None:
                self._site = sites[n]
            nodes.append(self._node([g.nodes[n] for g in graphs]))
        if len(counts) > 1:
            raise self._error("it has other ops")
        return nodes

    def _node(self, nodes: Sequence[OnnxNode]) -> OnnxNode:
        first = nodes[0]
        for other in nodes[1:]:
            if other.op != first.op or len(other.inputs) != len(first.inputs) or (
                len(other.outputs) != len(first.outputs)
            ):
                raise self._error(f"{first.op} is {other.op}")
        inputs = [self._input([node.inputs[k] for node in nodes], first.op == _SHAPED and k == 1)
                  for k in range(len(first.inputs))]
        attributes: dict[str, Any] = {}
        for name, value in first.attributes.items():
            values = [node.attributes.get(name) for node in nodes]
            if isinstance(value, OnnxGraph):
                attributes[name] = self._body(values)
                continue
            if any(not _equal(other, value) for other in values[1:]):
                raise self._error(f"the attribute {name} of {first.op} is {values}")
            attributes[name] = value
        self._enter([node.outputs for node in nodes])
        return OnnxNode(first.op, tuple(inputs), first.outputs, attributes)

    def _enter(self, outputs: Sequence[Sequence[str]]) -> None:
        for each in zip(*outputs, strict=True):
            self._names[each] = each[0]

    def _body(self, bodies: Sequence[Any]) -> OnnxGraph:
        """Return the body of a loop or branch, which may read constants of the whole."""
        body = self._graph.body()
        self._enter([[name for name, _ in b.inputs] for b in bodies])
        for each in zip(*[b.inputs for b in bodies], strict=True):
            body.inputs.append((each[0][0], self._varying([t for _, t in each])))
        body.nodes.extend(self._nodes(bodies, None))
        for each in zip(*[b.outputs for b in bodies], strict=True):
            body.outputs.append((each[0][0], self._varying([t for _, t in each])))
        return body

    def _varying(self, types: Sequence[Any]) -> TensorType | VaryingType:
        """Return the type of a body's value for all extents."""
        first: TensorType = types[0]
        if all(t == first for t in types[1:]):
            return first
        if any(t.dtype is not first.dtype or t.ndim != first.ndim for t in types[1:]):
            raise self._error("a loop or branch has a value of another type")
        return VaryingType(first.dtype, shape_of([t.shape for t in types], self._extents, ""))

    def _input(self, names: Sequence[str], shape: bool) -> str:
        each = tuple(names)
        known = self._names.get(each)
        if known is not None and not shape:
            return known
        if not any(each):
            return ""
        values = [g.value_of(name) for g, name in zip(self._graphs, names, strict=True)]
        if all(v is None for v in values):
            if known is None and any(
                name not in p.leaves or p.leaves.index(name) != self._programs[0].leaves.index(
                    names[0]) for name, p in zip(names, self._programs, strict=True)
            ):
                raise self._error("an op reads another value")
            return names[0]
        if any(v is None for v in values):
            raise self._error("an op reads another value")
        return self._constant(each, values, shape)

    def _constant(self, names: tuple[str, ...], values: Sequence[Any], shape: bool) -> str:
        first = values[0]
        if any(v.dtype != first.dtype or v.ndim != first.ndim for v in values[1:]):
            raise self._error("a constant is of another kind")
        if all(v.shape == first.shape and v.tobytes() == first.tobytes() for v in values[1:]):
            self._graph.constants[names[0]] = first
            return names[0]
        if any(v.shape != first.shape for v in values[1:]) or first.dtype.kind not in "iuf":
            raise self._error("a constant has another shape or value")
        flat = [v.ravel().tolist() for v in values]
        columns = list(zip(*flat, strict=True))
        varying = [k for k, column in enumerate(columns) if len(set(column)) > 1]
        if shape and len(varying) == 1 and not any(0 in column for column in columns):
            fixed = first.copy()
            fixed[varying[0]] = -1
            return self._graph.constant(fixed)
        parts = []
        for column in columns:
            if any(v != int(v) for v in column):
                raise self._error(f"a constant is {column}")
            p = fitted([int(v) for v in column], self._extents)
            if p is None:
                raise self._error(
                    f"an extent or number is {', '.join(map(str, column))}, which is no sum of "
                    "products of them")
            parts.append(self._value(p))
        key = (tuple(parts), first.dtype.name, first.shape)
        if key not in self._computed:
            name = parts[0] if len(parts) == 1 else self._graph.add("Concat", *parts, axis=0)
            if first.ndim != 1:
                name = self._graph.reshape(name, first.shape)
            if first.dtype.name != "int64":
                name = self._graph.cast(name, first.dtype.name)
            self._computed[key] = name
        return self._computed[key]

    def _value(self, p: Polynomial) -> str:
        """Return the name of a polynomial's value, of int64 and one element."""
        key = tuple(p.terms.items())
        if key in self._computed:
            return self._computed[key]
        g, total = self._graph, ""
        for symbols, n in p.terms.items():
            term = ""
            for symbol in symbols:
                extent = self._extent(symbol)
                term = g.add("Mul", term, extent) if term else extent
            if not term:
                term = g.ints([n])
            elif n != 1:
                term = g.add("Mul", term, g.ints([n]))
            total = g.add("Add", total, term) if total else term
        self._computed[key] = total or g.ints([0])
        return self._computed[key]

    def _extent(self, symbol: str) -> str:
        if symbol not in self._computed:
            name, axis = self._places[symbol]
            self._computed[symbol] = self._graph.add("Shape", name, start=axis, end=axis + 1)
        return self._computed[symbol]


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple, range)) and isinstance(b, (list, tuple, range)):
        return list(a) == list(b)
    return bool(a == b)


def _bodies(graph: OnnxGraph) -> list[OnnxGraph]:
    found = []
    for node in graph.nodes:
        for value in node.attributes.values():
            if isinstance(value, OnnxGraph):
                found += [value, *_bodies(value)]
    return found


def _all_nodes(graph: OnnxGraph) -> list[OnnxNode]:
    return [node for g in (graph, *_bodies(graph)) for node in g.nodes]


def merged(
    programs: Sequence[OnnxProgram], extents: Sequence[Mapping[str, int]],
    places: Mapping[str, tuple[str, int]], where: str,
) -> OnnxProgram:  # fmt: skip
    """Return the program for all extents, from programs at some.

    What differs between them are extents: numbers of shapes, ranges and slices. Each is a
    polynomial of the symbols, which the graph computes from the shapes of its inputs.

    Args:
        programs: the program at each of ``extents``, which :func:`samples` chose.
        extents: by symbol.
        places: for each symbol, an input and the axis that has its extent.
        where: the function that messages begin with.

    Raises ArgumentError, which names the line, where they differ in anything else.
    """
    return _Merge(programs, extents, places, where).merged()
