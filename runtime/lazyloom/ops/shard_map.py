"""``shard_map``: a recorded function that each device of a mesh runs on its own part of values.

``lazyloom.shard_map`` records it, with the function that it receives as a body
(:mod:`lazyloom.ops.bodies`). Values that the body uses from outside are operands after its own,
whole on each device. Collectives in the body name axes of the mesh.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..dtypes import CLASSES_SORTED, bool_
from ..errors import ArgumentError, ShapeError
from ..types import TensorType, tensor_type
from ._jax import jax
from .bodies import BodyInput, BodyInstruction, BodyResult, Use, body_text, parsed
from .kinds import AnyType, Array
from .samples import Sample, data, random_source
from .spec import OpDef, lookup, op
from .traits import HEAVY, Derivative, Signature

#: for each dimension the axes that divide it
Spec = tuple[tuple[str, ...], ...]


def sizes_of(mesh: str) -> dict[str, int]:
    """The sizes of a mesh's axes, from a text such as "data=2,model=4". Raises ArgumentError."""
    sizes: dict[str, int] = {}
    for pair in mesh.split(","):
        name, _, size = pair.partition("=")
        if not name or not size.isascii() or not size.isdigit() or not int(size) or name in sizes:
            raise ArgumentError(
                f"shard_map: mesh is {mesh!r}, expected axes with sizes of 1 or more, such as "
                "'data=2,model=4'", op="shard_map")
        sizes[name] = int(size)
    return sizes


def specs_of(text: str) -> list[Spec]:
    """Partition specs from a text such as "(data;model) ()". Raises ArgumentError."""
    specs: list[Spec] = []
    for part in text.split():
        if part[0] != "(" or part[-1] != ")" or len(part) < 2:
            raise ArgumentError(
                f"shard_map: the partition specs are {text!r}, expected axes of each dimension in "
                "parentheses, such as '(data;model) ()'", op="shard_map")
        specs.append(() if part == "()" else tuple(
            tuple(filter(None, axes.split(","))) for axes in part[1:-1].split(";")))
    return specs


def _parts(spec: Spec, d: int, sizes: Mapping[str, int]) -> int:
    parts = 1
    for axis in spec[d] if d < len(spec) else ():
        if axis not in sizes:
            raise ArgumentError(
                f"shard_map: a partition spec names the axis {axis!r}, expected one of "
                f"{', '.join(sizes)}", op="shard_map")
        parts *= sizes[axis]
    return parts


def _mapped(
    entry: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
) -> tuple[TensorType, ...]:
    """What the body gives, with each divided dimension as long as all parts together."""
    sizes = sizes_of(attrs["mesh"])
    ins, outs = specs_of(attrs["in_specs"]), specs_of(attrs["out_specs"])
    body = parsed(entry, attrs["body"])
    if len(ins) != len(types) or len(outs) != len(body.result_types):
        raise ArgumentError(
            f"{entry.name}: {len(ins)} partition specs for {len(types)} operands and {len(outs)} "
            f"for {len(body.result_types)} results were given, expected as many", op=entry.name)
    own = []
    for p, (t, spec) in enumerate(zip(types, ins, strict=True)):
        shape = list(t.shape)
        if len(spec) > len(shape):
            raise ShapeError(
                f"{entry.name}: operand {p} is a {t.text}, and its partition spec is for "
                f"{len(spec)} dimensions", op=entry.name)
        for d in range(len(shape)):
            parts = _parts(spec, d, sizes)
            if shape[d] % parts:
                raise ShapeError(
                    f"{entry.name}: dimension {d} of operand {p}, a {t.text}, is divided into "
                    f"{parts} parts, expected a multiple of {parts}", op=entry.name)
            shape[d] //= parts
        own.append(tensor_type(tuple(shape), t.dtype))
    if own != list(body.leaves):
        raise ArgumentError(
            f"{entry.name}: each device has {', '.join(t.text for t in own)}, and the body was "
            f"recorded for {', '.join(t.text for t in body.leaves)}; call lazyloom.shard_map, "
            "which records it", op=entry.name)
    results = []
    for t, spec in zip(body.result_types, outs, strict=True):
        if len(spec) > len(t.shape):
            raise ShapeError(
                f"{entry.name}: a result is a {t.text}, and its partition spec is for "
                f"{len(spec)} dimensions", op=entry.name)
        results.append(tensor_type(tuple(
            [n * _parts(spec, d, sizes) for d, n in enumerate(t.shape)]), t.dtype))
    if not results:
        raise ArgumentError(
            f"{entry.name}: it has no results, expected at least one", op=entry.name)
    return tuple(results)


_mapped.family = "control_flow"  # type: ignore[attr-defined]


def _irreversible(attrs: Mapping[str, Any], moving: Sequence[int] | None) -> str:
    return parsed(lookup("shard_map"), attrs["body"]).refuses_reverse(
        None if moving is None else set(moving))


def _samples(entry: OpDef) -> Iterator[Sample]:
    """A product on a mesh of one device, for each dtype."""
    rng = random_source(entry.name)
    for d in CLASSES_SORTED["any"]:
        t = tensor_type((2, 3), d)
        multiply = lookup("logical_and" if d is bool_ else "multiply")
        body = body_text([t, t], [
            BodyInstruction(multiply, {}, (Use(BodyInput(0)), Use(BodyInput(1)))),
        ], [Use(BodyResult(0, 0))])  # fmt: skip
        yield Sample(
            [data(rng, d, (2, 3)), data(rng, d, (2, 3))],
            {"body": body, "mesh": "data=1", "in_specs": "(data) (;data)",
             "out_specs": "(data)"}, d.name, smooth=d.is_inexact)


@op(_mapped, source="jax.shard_map", execution=HEAVY,
    derivative=Derivative(residuals=True, irreversible=_irreversible),
    signature=Signature(lists=True, bodies=("body",), over_mesh=True), samples=_samples,
    tolerance=4.0)
def shard_map(
    *operands: AnyType, body: str, mesh: str, in_specs: str, out_specs: str
) -> tuple[Array, ...] | Array:
    """A recorded function that each device of a mesh runs on its own parts of the operands.

    ``mesh`` has the axes and their sizes, such as "data=2,model=4"; ``in_specs`` and ``out_specs``
    say for each operand and result which axes divide its dimensions, such as "(data;model) ()".
    What devices along an axis that no out spec names give is expected to be equal. Recorded by
    ``lazyloom.shard_map``. Raises ArgumentError, ShapeError for a body that does not fit.
    """
    step = parsed(lookup("shard_map"), body)
    sizes = sizes_of(mesh)
    if max(sizes.values()) == 1:
        results = list(step(list(operands)))
    else:
        spec = jax.sharding.PartitionSpec
        ins, outs = (tuple([spec(*[axes or None for axes in each]) for each in specs_of(text)])
                     for text in (in_specs, out_specs))
        devices = jax.sharding.AbstractMesh(tuple(sizes.values()), tuple(sizes))
        results = list(jax.shard_map(
            lambda *parts: tuple(step(list(parts))), mesh=devices, in_specs=ins, out_specs=outs,
            check_vma=False)(*operands))
    return results[0] if len(results) == 1 else tuple(results)
