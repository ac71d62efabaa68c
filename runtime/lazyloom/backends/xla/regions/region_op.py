"""A region as an op: the function that a program's module calls for it."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ....codegen.extents import Extents
from ....codegen.generator import Generator, Layout, Region
from ....codegen.registry import available
from ....codegen.registry import identity as identity_of
from ....dtypes import int64
from ....ops.spec import OpDef, Operand
from ....ops.traits import HEAVY, NOT_DIFFERENTIABLE, Signature
from ....program.program import Program
from ....trace.specs import Spec, spec_of
from ....types import TensorType, tensor_type
from ..layouts import identity, normalized, relayout
from ..lowered import Lowered, Placed

#: the custom call of every region
TARGET: Final = "lazyloom_region"
#: the kind of the ops that regions are
KIND: Final = "region"


class Called(NamedTuple):
    """A region as a program calls it.

    Attributes:
        key: the number that the call names.
        generator: the code generator that runs it.
        region: the region, with the layouts that the generator asked for.
        token: True if it has an additional operand, a number that says whether some of its operands
            are those of an earlier run (:mod:`.constants`).
        aliases: the results that have an operand's memory, each with that operand.
    """

    key: int
    generator: Generator
    region: Region
    token: bool = False
    aliases: tuple[tuple[int, int], ...] = ()

    def packed(self) -> dict[str, Any]:
        """Return JSON from which another process rebuilds it."""
        return {
            "key": self.key, "generator": self.generator.name,
            "version": identity_of(self.generator),
            "program": self.region.program.serialized.decode(),
            "composites": self.region.composites, "layouts": self.region.layouts,
            "extents": self.region.extents}

    @staticmethod
    def unpacked(fields: Any) -> Called:
        """Build one from its JSON form. Raises LookupError, ValueError, TypeError."""
        generator = available()[fields["generator"]]
        if identity_of(generator) != fields["version"]:
            raise LookupError(f"{generator.name} has version {identity_of(generator)}")
        region = Region(
            Program.parse(fields["program"].encode()),
            tuple((str(name), tuple(map(int, members))) for name, members in fields["composites"]),
            tuple(tuple(map(int, layout)) for layout in fields["layouts"]),
            None if fields["extents"] is None else Extents.unpacked(fields["extents"]))
        return Called(int(fields["key"]), generator, region)


class Arrays(NamedTuple):
    """The operands and results of an engine that is no region, in logical order."""

    operands: tuple[TensorType, ...]
    results: tuple[TensorType, ...]

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The logical order of each operand and then of each result."""
        return tuple(identity(t.ndim) for t in (*self.operands, *self.results))

    @property
    def extents(self) -> None:
        """None: it is not for many extents."""

    def in_memory(self) -> tuple[tuple[TensorType, tuple[int, ...]], ...]:
        """The type and the shape of each operand, then of each result."""
        return tuple((t, t.shape) for t in (*self.operands, *self.results))


class Compared(NamedTuple):
    """The comparison of a region's results with those of its ops, as a program calls it.

    Attributes:
        key: the number that the call names.
        called: the region.
        region: its arrays: the region's results and those of its ops, and the program's results.
        token: always False: it has no additional operand.
        aliases: always empty: its results have memory of their own.
    """

    key: int
    called: Called
    region: Arrays
    token: bool = False
    aliases: tuple[tuple[int, int], ...] = ()


_specs: Final[dict[tuple[str, str, str, Any, bool, Extents | None], Spec]] = {}
_called: Final[dict[Spec, Called | Compared]] = {}
_comparisons: Final[dict[Spec, Spec]] = {}
#: a signal handler that computes arrays may get here while it is held
_lock: Final = threading.RLock()


def spec_of_region(generator: Generator, region: Region, token: bool = False) -> Spec:
    """Return the op of a region; the same one for equal regions of a generator."""
    program = region.program
    identified = (generator.name, identity_of(generator), program.key, region.composites, token,
                  region.extents)
    with _lock:
        spec = _specs.get(identified)
        if spec is None:
            spec = _specs[identified] = _spec(generator, region, token)
        return spec


def spec_of_comparison(region: Spec) -> Spec:
    """Return the op that compares a region's results with those of its ops, both its operands."""
    with _lock:
        spec = _comparisons.get(region)
        if spec is None:
            callee = _called[region]
            assert isinstance(callee, Called)
            results = callee.region.results
            arrays = Arrays((*results, *results), results)
            spec = _comparisons[region] = _op(f"verify.{callee.generator.name}", arrays)
            _called[spec] = Compared(_number(f"verify {callee.key}"), callee, arrays)
        return spec


def called(spec: Spec) -> Called | Compared | None:
    """Return the region or comparison that an op is, or None."""
    return _called.get(spec) if spec.op.kind == KIND else None


def _spec(generator: Generator, region: Region, token: bool) -> Spec:
    spec = _op(f"region.{generator.name}", region, token)
    placed = region._replace(layouts=_layouts(generator, region))
    _called[spec] = Called(
        key_of(generator, placed), generator, placed, token, aliases_of(generator, placed))
    return spec


def _op(name: str, region: Region | Arrays, token: bool = False) -> Spec:
    results = region.results

    def region_types(
        op: OpDef, types: Sequence[TensorType], attrs: Any
    ) -> tuple[TensorType, ...]:
        return results

    def fn(*operands: Any) -> Any:
        raise AssertionError("a region is not lowered through JAX")

    op = OpDef(
        name, (Operand("operands", "any", False, True),), (), region_types,
        fn, "A region of another code generator.", "lazyloom.codegen", kind=KIND,
        signature=Signature(outputs=tuple(f"r{k}" for k in range(len(results)))),
        derivative=NOT_DIFFERENTIABLE, execution=HEAVY)
    return spec_of(op, {}, len(region.operands) + token)


def key_of(generator: Generator, region: Region) -> int:
    """Return the number that a call of a region names."""
    text = json.dumps([generator.name, identity_of(generator), region.program.key,
                       region.composites, region.layouts, *filter(None, [region.extents])])
    return _number(text)


def _number(text: str) -> int:
    # an int64 without its sign
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def _layouts(generator: Generator, region: Region) -> tuple[Layout, ...]:
    """Return the layouts that the generator wants. Raises ValueError where they are invalid."""
    types = (*region.operands, *region.results)
    wanted = generator.layouts(region)
    if wanted is None:
        return region.layouts
    layouts = tuple(tuple(int(d) for d in layout) for layout in wanted)
    if [sorted(layout) for layout in layouts] != [list(range(t.ndim)) for t in types]:
        raise ValueError(
            f"{generator.name}: layouts {layouts} were given, expected an order of its axes for "
            f"each of {', '.join(t.text for t in types)}")
    return layouts


def extents_type(callee: Called | Compared) -> TensorType | None:
    """Return the type of the extents of a run, which a region for many extents takes; or None."""
    extents = callee.region.extents
    return None if extents is None else tensor_type((len(extents.largest),), int64)


def takes_extents(spec: Spec) -> bool:
    """Return True for a region for many extents, whose function takes those of a run first."""
    callee = called(spec)
    return callee is not None and callee.region.extents is not None


def aliases_of(generator: Generator, region: Region) -> tuple[tuple[int, int], ...]:
    """Return the results that have an operand's memory. Raises ValueError where that is impossible.
    """
    wanted = tuple(sorted((int(r), int(k)) for r, k in generator.aliases(region).items()))
    arrays = list(zip((*region.operands, *region.results), region.layouts, strict=True))
    count = len(region.operands)
    possible = all(
        0 <= k < count and 0 <= r < len(arrays) - count and arrays[k] == arrays[count + r]
        for r, k in wanted)
    if not possible or len({k for _, k in wanted}) != len(wanted):
        raise ValueError(
            f"{generator.name}: aliases {dict(wanted)} were given, expected for each result a "
            "different operand of its type and layout")
    return wanted


def lowered_region(spec: Spec) -> Lowered:
    """Return a region's function with operands and results in row-major order."""
    callee = _called[spec]
    types = (*callee.region.operands, *callee.region.results)
    return _function(callee, tuple(identity(t.ndim) for t in callee.region.operands),
                     tuple(identity(t.ndim) for t in types[len(callee.region.operands):]))


def placed_region(spec: Spec, layouts: Sequence[Layout | None]) -> Placed:
    """Return a region's function with operands in layouts, and results as the generator prefers."""
    callee = _called[spec]
    operands, results = callee.region.operands, callee.region.results
    wanted = callee.region.layouts[: len(operands)]
    inputs = tuple(layout if layout is not None else identity(t.ndim)
                  for layout, t in zip(layouts, operands, strict=False))
    out = tuple(normalized(t.shape, layout) for t, layout in zip(
        results, callee.region.layouts[len(operands):], strict=True))
    moved = 0
    preferred: list[tuple[int, Layout]] = []
    for k, (t, now, then) in enumerate(zip(operands, inputs, wanted, strict=True)):
        if normalized(t.shape, now) != normalized(t.shape, then):
            moved += t.size
            preferred.append((k, then))
    return Placed(_function(callee, inputs, out), out, moved, tuple(preferred))


def _row_major(types: Sequence[str]) -> str:
    """Return row-major layouts of arrays, as a call states them.

    XLA gives what is not stated the layout of a neighbour, such as of a transpose that it makes
    part of another call.
    """
    layouts = []
    for text in types:
        inside = text[text.index("<") + 1 :]
        # "complex<f64>" and other element types have no x before the last dimension
        rank = sum(part.isdigit() for part in inside.split("x"))
        axes = ", ".join(map(str, reversed(range(rank))))
        layouts.append(f"dense<{f'[{axes}]' if rank > 1 else axes}> : tensor<{rank}xindex>")
    return ", ".join(layouts)


def _in_memory(t: TensorType, layout: Layout) -> str:
    return tensor_type(tuple(t.shape[d] for d in layout), t.dtype).mlir


def _function(
    callee: Called | Compared, inputs: Sequence[Layout], out: Sequence[Layout]
) -> Lowered:
    """Return the function of a region with operands and results in given layouts."""
    operands, results = callee.region.operands, callee.region.results
    inside = callee.region.layouts
    extents = extents_type(callee)
    name = hashlib.sha256(f"{callee.key} {callee.token} {inputs} {out}".encode()).hexdigest()[:16]
    parameters, lines, arguments, types = [], [], [], []
    for k, (t, now, then) in enumerate(zip(operands, inputs, inside, strict=False)):
        parameters.append(f"%arg{k}: {_in_memory(t, now)}")
        argument = f"%arg{k}"
        if now != then:
            argument = f"%in{k}"
            lines.append(f"    {argument} = " + relayout(
                t.shape, t.dtype.mlir, now, then).format(f"%arg{k}"))
        arguments.append(argument)
        types.append(_in_memory(t, then))
    if extents is not None:
        # the program passes them first, as to the ops of a padded program
        parameters.insert(0, f"%extents: {extents.mlir}")
        arguments.append("%extents")
        types.append(extents.mlir)
    if callee.token:
        parameters.append("%token: tensor<i64>")
        arguments.append("%token")
        types.append("tensor<i64>")
    outputs = [_in_memory(t, layout)
            for t, layout in zip(results, inside[len(operands):], strict=True)]
    count = len(results)
    over = ", ".join(
        f"#stablehlo.output_operand_alias<output_tuple_indices = [{r if count > 1 else ''}], "
        f"operand_index = {k + (extents is not None)}, operand_tuple_indices = []>"
        for r, k in callee.aliases)
    lines.append(
        f"    %r{f':{count}' if count > 1 else ''} = stablehlo.custom_call @{TARGET}"
        f"({', '.join(arguments)}) {{api_version = 4 : i32, backend_config = "
        f"{{region = {callee.key} : i64{', token = 1 : i64' if callee.token else ''}}}, "
        f"{f'output_operand_aliases = [{over}], ' if over else ''}"
        f"operand_layouts = [{_row_major(types)}], result_layouts = [{_row_major(outputs)}]}} : "
        f"({', '.join(types)}) -> "
        f"{outputs[0] if count == 1 else '(' + ', '.join(outputs) + ')'}")
    returned = []
    for r, (t, layout) in enumerate(zip(results, out, strict=True)):
        result = "%r" if count == 1 else f"%r#{r}"
        now = inside[len(operands) + r]
        if layout != now:
            lines.append(f"    %out{r} = " + relayout(
                t.shape, t.dtype.mlir, now, layout).format(result))
            result = f"%out{r}"
        returned.append(result)
    returns = tuple(_in_memory(t, layout) for t, layout in zip(results, out, strict=True))
    text = "\n".join([
        f"  func.func private @region_{name}({', '.join(parameters)}) -> ({', '.join(returns)}) {{",
        *lines,
        f"    return {', '.join(returned)} : {', '.join(returns)}",
        "  }\n"])
    return Lowered(f"region_{name}", text, returns)
