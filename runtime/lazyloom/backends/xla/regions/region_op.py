"""A region as an op: what the assembly of a program's module calls for it."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ....codegen.generator import Generator, Layout, Region
from ....codegen.registry import available
from ....codegen.registry import identity as identity_of
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
        generator: what runs it.
        region: the region, with the layouts that the generator asked for.
        token: it has one operand more, a number that says whether some of its operands are those
            of an earlier run (:mod:`.constants`).
    """

    key: int
    generator: Generator
    region: Region
    token: bool = False

    def packed(self) -> dict[str, Any]:
        """JSON from which another process makes it."""
        return {
            "key": self.key, "generator": self.generator.name,
            "version": identity_of(self.generator),
            "program": self.region.program.serialized.decode(),
            "composites": self.region.composites, "layouts": self.region.layouts}

    @staticmethod
    def unpacked(found: Any) -> Called:
        """From what JSON has made of one. Raises LookupError, ValueError, TypeError."""
        generator = available()[found["generator"]]
        if identity_of(generator) != found["version"]:
            raise LookupError(f"{generator.name} has version {identity_of(generator)}")
        region = Region(
            Program.parse(found["program"].encode()),
            tuple((str(name), tuple(map(int, members))) for name, members in found["composites"]),
            tuple(tuple(map(int, layout)) for layout in found["layouts"]))
        return Called(int(found["key"]), generator, region)


class Arrays(NamedTuple):
    """What an engine that is no region takes and gives, in logical order."""

    operands: tuple[TensorType, ...]
    results: tuple[TensorType, ...]

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The logical order of each operand and then of each result."""
        return tuple(identity(t.ndim) for t in (*self.operands, *self.results))

    def in_memory(self) -> tuple[tuple[TensorType, tuple[int, ...]], ...]:
        """The type and the shape of each operand, then of each result."""
        return tuple((t, t.shape) for t in (*self.operands, *self.results))


class Compared(NamedTuple):
    """The comparison of a region's results with those of its ops, as a program calls it.

    Attributes:
        key: the number that the call names.
        called: the region.
        region: its arrays: the region's results and those of its ops; what the program gets.
        token: it has no operand more.
    """

    key: int
    called: Called
    region: Arrays
    token: bool = False


_specs: Final[dict[tuple[str, str, str, Any, bool], Spec]] = {}
_called: Final[dict[Spec, Called | Compared]] = {}
_comparisons: Final[dict[Spec, Spec]] = {}
#: a signal's handler that computes arrays may get here while it is held
_lock: Final = threading.RLock()


def spec_of_region(generator: Generator, region: Region, token: bool = False) -> Spec:
    """The op that a region is; the same one for equal regions of a generator."""
    program = region.program
    identified = (generator.name, identity_of(generator), program.key, region.composites, token)
    with _lock:
        found = _specs.get(identified)
        if found is None:
            found = _specs[identified] = _spec(generator, region, token)
        return found


def spec_of_comparison(region: Spec) -> Spec:
    """The op that compares a region's results with those of its ops; both are its operands."""
    with _lock:
        found = _comparisons.get(region)
        if found is None:
            one = _called[region]
            assert isinstance(one, Called)
            results = one.region.results
            arrays = Arrays((*results, *results), results)
            found = _comparisons[region] = _op(f"verify.{one.generator.name}", arrays)
            _called[found] = Compared(_number(f"verify {one.key}"), one, arrays)
        return found


def called(spec: Spec) -> Called | Compared | None:
    """The region that an op is, or the comparison, if it is one."""
    return _called.get(spec) if spec.op.kind == KIND else None


def _spec(generator: Generator, region: Region, token: bool) -> Spec:
    spec = _op(f"region.{generator.name}", region, token)
    placed = region._replace(layouts=_layouts(generator, region))
    _called[spec] = Called(key_of(generator, placed), generator, placed, token)
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
    """The number that a call of a region names."""
    text = json.dumps([generator.name, identity_of(generator), region.program.key,
                       region.composites, region.layouts])
    return _number(text)


def _number(text: str) -> int:
    # an int64 without its sign
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def _layouts(generator: Generator, region: Region) -> tuple[Layout, ...]:
    """The layouts that the generator wants. Raises ValueError where those are none."""
    types = (*region.operands, *region.results)
    wanted = generator.layouts(region)
    if wanted is None:
        return region.layouts
    found = tuple(tuple(int(d) for d in layout) for layout in wanted)
    if [sorted(layout) for layout in found] != [list(range(t.ndim)) for t in types]:
        raise ValueError(
            f"{generator.name}: layouts {found} were given, expected an order of its axes for each "
            f"of {', '.join(t.text for t in types)}")
    return found


def lowered_region(spec: Spec) -> Lowered:
    """A region's function, its operands and results in row-major order."""
    one = _called[spec]
    types = (*one.region.operands, *one.region.results)
    return _function(one, tuple(identity(t.ndim) for t in one.region.operands),
                     tuple(identity(t.ndim) for t in types[len(one.region.operands):]))


def placed_region(spec: Spec, layouts: Sequence[Layout | None]) -> Placed:
    """A region's function, its operands in those layouts and its results as the generator likes."""
    one = _called[spec]
    operands, results = one.region.operands, one.region.results
    wanted = one.region.layouts[: len(operands)]
    given = tuple(layout if layout is not None else identity(t.ndim)
                  for layout, t in zip(layouts, operands, strict=False))
    out = tuple(normalized(t.shape, layout) for t, layout in zip(
        results, one.region.layouts[len(operands):], strict=True))
    moved = 0
    asked: list[tuple[int, Layout]] = []
    for k, (t, now, then) in enumerate(zip(operands, given, wanted, strict=True)):
        if normalized(t.shape, now) != normalized(t.shape, then):
            moved += t.size
            asked.append((k, then))
    return Placed(_function(one, given, out), out, moved, tuple(asked))


def _in_memory(t: TensorType, layout: Layout) -> str:
    return tensor_type(tuple(t.shape[d] for d in layout), t.dtype).mlir


def _function(one: Called | Compared, given: Sequence[Layout], out: Sequence[Layout]) -> Lowered:
    """The function of a region with operands and results in given layouts."""
    operands, results = one.region.operands, one.region.results
    inside = one.region.layouts
    name = hashlib.sha256(f"{one.key} {one.token} {given} {out}".encode()).hexdigest()[:16]
    parameters, lines, arguments, types = [], [], [], []
    for k, (t, now, then) in enumerate(zip(operands, given, inside, strict=False)):
        parameters.append(f"%arg{k}: {_in_memory(t, now)}")
        argument = f"%arg{k}"
        if now != then:
            argument = f"%in{k}"
            lines.append(f"    {argument} = " + relayout(
                t.shape, t.dtype.mlir, now, then).format(f"%arg{k}"))
        arguments.append(argument)
        types.append(_in_memory(t, then))
    if one.token:
        parameters.append("%token: tensor<i64>")
        arguments.append("%token")
        types.append("tensor<i64>")
    made = [_in_memory(t, layout)
            for t, layout in zip(results, inside[len(operands):], strict=True)]
    count = len(results)
    lines.append(
        f"    %r{f':{count}' if count > 1 else ''} = stablehlo.custom_call @{TARGET}"
        f"({', '.join(arguments)}) {{api_version = 4 : i32, backend_config = "
        f"{{region = {one.key} : i64{', token = 1 : i64' if one.token else ''}}}}} : "
        f"({', '.join(types)}) -> "
        f"{made[0] if count == 1 else '(' + ', '.join(made) + ')'}")
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
