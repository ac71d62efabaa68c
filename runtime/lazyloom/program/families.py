"""Structures that differ in extents alone, and the padded one that serves many of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..trace.specs import Spec, spec_of
from ..types import tensor_type
from .extents import Form, attributes_outline, may_vary, with_numbers
from .padding import Padding
from .program import Structure

#: no bucket is smaller
SMALLEST: Final = 8

#: of each spec what does not vary, as a number for it, and the numbers that may
_outlines: Final[dict[Spec, tuple[int, tuple[int, ...]]]] = {}
_known: Final[dict[Any, int]] = {}


def _outline_of(spec: Spec) -> tuple[int, tuple[int, ...]]:
    found = _outlines.get(spec)
    if found is None:
        if may_vary(spec):
            others, numbers = attributes_outline(spec)
            key: Any = (spec.op, spec.arity, *others)
        else:
            key, numbers = spec, []
        found = _outlines[spec] = (_known.setdefault(key, len(_known)), tuple(numbers))
    return found


def outline_of(structure: Structure) -> tuple[Any, tuple[int, ...]]:
    """What structures have in common that differ in extents alone, a key; and the numbers that may
    differ: the leaves' extents, then those among the instructions' attributes."""
    key: list[Any] = []
    numbers: list[int] = []
    for t in structure.leaf_types:
        key.append(t.dtype)
        key.append(len(t.shape))
        key.append(t.placement)
        numbers += t.shape
    stream = structure.decode()
    for spec in stream.specs:
        outline, sizes = _outline_of(spec)
        key.append(outline)
        numbers += sizes
    # outlines give the numbers of operands, so that keys of two structures differ where these do
    key += stream.operands
    key += stream.others
    return tuple(key), tuple(numbers)


def bucket_of(value: int) -> int:
    """The extent at which one is computed: a power of two, or one and a half times that."""
    size = SMALLEST
    while size < value:
        if value <= size + size // 2:
            return size + size // 2
        size *= 2
    return size


def padded(
    structure: Structure, form: Form, bucket: Sequence[int], lowest: Sequence[int]
) -> tuple[Structure, Padding]:
    """The structure at a bucket, and its padding, which it has.

    Raises LoomError where the shapes do not fit each other there: what seems to be one extent is
    several.
    """
    terms = form.terms
    at = 0
    leaf_types = []
    sizes = []
    for t in structure.leaf_types:
        own = terms[at : at + len(t.shape)]
        at += len(t.shape)
        sizes.append(tuple([term.text for term in own]))
        shape = tuple([term.of(bucket) for term in own])
        leaf_types.append(tensor_type(shape, t.dtype, t.placement))
    numbers = []
    specs: dict[int, Spec] = {}
    for number, spec in enumerate(structure.specs):
        count = len(_outline_of(spec)[1])
        if count:
            own = terms[at : at + count]
            at += count
            if any(term.symbols for term in own):
                numbers.append((number, tuple([term.text for term in own])))
                specs[number] = spec_of(
                    spec.op, with_numbers(spec, [term.of(bucket) for term in own]), spec.arity)
    padding = Padding(tuple(bucket), tuple(lowest), tuple(sizes), tuple(numbers))
    found = Structure(structure.stream_with(specs), tuple(leaf_types), padding)
    found.instructions  # noqa: B018 - infers all types
    return found, padding
