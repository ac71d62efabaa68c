"""Symbolic extents: which numbers of an op vary, and how they depend on each other.

An op at operand types has an outline (op, dtypes, ranks, other attributes) and numbers: its
operands' extents, and attributes that are sizes, counts or positions. A form says how these numbers
follow from a few symbols, as ``(e0, 64), (16*e0, 64)``. A symbol stands for 2 or more: 0 and 1 are
what definitions treat by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, final

from ..errors import LoomError
from ..ops.spec import TABLE
from ..trace.specs import Spec, spec_of
from ..types import TensorType, tensor_type

#: attributes that are sizes, counts or positions; those of a heavy op, such as a power of matrices,
#: may be how often its definition goes through a loop of Python's
_NAMES: Final = frozenset(
    "shape sizes size length low high starts stops shifts info repeats n m k num depth "
    "offset backward_shapes".split())
_LIGHT: Final = _NAMES | {"exponent"}


def may_vary(spec: Spec) -> bool:
    """Whether kernels for any extent are made of the op.

    The definitions of the table are tested at other extents than they were traced for. Others may
    do something else at an extent of their own.
    """
    return spec.op.version == TABLE and not spec.op.root.signature.bodies


def _names(spec: Spec) -> frozenset[str]:
    return _NAMES if spec.op.root.execution.heavy else _LIGHT


def outline(
    spec: Spec, types: tuple[TensorType | None, ...]
) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """What does not vary, a key; and the numbers."""
    key: list[Any] = [spec.op]
    numbers: list[int] = []
    for t in types:
        if t is None:
            key.append(None)
        else:
            key += (t.dtype, len(t.shape), t.placement)
            numbers += t.shape
    if spec.attrs:
        others, sizes = attributes_outline(spec)
        key += others
        numbers += sizes
    return tuple(key), tuple(numbers)


def attributes_outline(spec: Spec) -> tuple[list[Any], list[int]]:
    """What does not vary among an op's attributes, and the numbers that may."""
    names = _names(spec)
    key: list[Any] = []
    numbers: list[int] = []
    # zip takes longer in compiled code
    for k, name in enumerate(spec.attrs):
        value = spec.attrs[name] if name in names else None
        if type(value) is int:
            key.append("int")
            numbers.append(value)
        elif type(value) is tuple and _are_ints(value):
            key.append(len(value))
            numbers += value
        else:
            key.append(spec.bits[k])
    return key, numbers


def _are_ints(values: tuple[Any, ...]) -> bool:
    # a generator expression takes longer in compiled code
    for n in values:  # noqa: SIM110
        if type(n) is not int:
            return False
    return True


def description(spec: Spec, types: tuple[TensorType | None, ...]) -> bytes:
    """What is kept on disk of an outline is found by this."""
    names = _names(spec)
    operands = ",".join(
        "_" if t is None else f"{t.dtype.name}/{t.ndim}@{t.placement}" for t in types)
    return repr((spec.op.name, operands, [
        (name, len(value) if type(value) is tuple else "int")
        if name in names and type(value) in (int, tuple) else (name, bits)
        for (name, value), bits in zip(spec.attrs.items(), spec.bits, strict=True)])).encode()


def arranged(
    spec: Spec, types: tuple[TensorType | None, ...], numbers: Sequence[Any]
) -> tuple[list[tuple[tuple[Any, ...], Any]], dict[str, Any]]:
    """The shapes with NumPy dtypes of the operands that are there, and the attributes."""
    at = 0
    shapes = []
    for t in types:
        if t is not None:
            shapes.append((tuple(numbers[at : at + len(t.shape)]), t.dtype.numpy))
            at += len(t.shape)
    return shapes, with_numbers(spec, numbers[at:])


def at_numbers(
    spec: Spec, types: tuple[TensorType | None, ...], numbers: Sequence[int]
) -> tuple[Spec, tuple[TensorType | None, ...]] | None:
    """The op at other numbers; None if it takes no such types or attributes."""
    shapes, attrs = arranged(spec, types, numbers)
    rest = iter(shapes)
    other = tuple([None if t is None else tensor_type(next(rest)[0], t.dtype) for t in types])
    try:
        moved = spec_of(spec.op, attrs, len(types))
        moved.infer(other)
    except LoomError:
        return None
    return moved, other


def with_numbers(spec: Spec, numbers: Sequence[Any]) -> dict[str, Any]:
    """The attributes with others for the numbers of :func:`attributes_outline`."""
    at = 0
    names = _names(spec)
    attrs = dict(spec.attrs)
    for name, value in spec.attrs.items():
        if name not in names:
            continue
        if type(value) is int:
            attrs[name] = numbers[at]
            at += 1
        elif type(value) is tuple and all(type(n) is int for n in value):
            attrs[name] = tuple(numbers[at : at + len(value)])
            at += len(value)
    assert at == len(numbers)
    return attrs


class Term(NamedTuple):
    """A number: ``factor`` times the product of symbols, plus ``more``."""

    factor: int
    symbols: tuple[int, ...]
    more: int

    def of(self, values: Sequence[Any]) -> Any:
        found: Any = self.factor
        for s in self.symbols:
            found = found * values[s]
        return found + self.more

    @property
    def text(self) -> str:
        """As ``4*e0 - 1``; a number that does not vary has no symbol."""
        if not self.symbols:
            return str(self.more)
        product = "*".join(f"e{s}" for s in self.symbols)
        if self.factor != 1:
            product = f"{self.factor}*{product}"
        return f"{product} {'-' if self.more < 0 else '+'} {abs(self.more)}" if self.more else (
            product)


@final
class Form:
    """How numbers follow from symbols, and what was made for all that do.

    Attributes:
        examples: numbers that do.
        terms: one a number, with two symbols at most.
        text: of what was made for the form; "" if nothing can be.
        loaded: what is loaded from it.
    """

    __slots__ = ("examples", "terms", "bases", "text", "loaded", "_codes")

    def __init__(
        self, examples: list[tuple[int, ...]], terms: list[Term], bases: list[int], text: str = ""
    ) -> None:
        self.examples: Final[list[tuple[int, ...]]] = examples
        self.terms: Final[list[Term]] = terms
        #: the number that is each symbol's value
        self.bases: Final[list[int]] = bases
        self.text: str = text
        self.loaded: tuple[Callable[..., Any], tuple[bool, ...]] | None = None
        #: of each term the factor, the symbols or -1, and what is added
        codes: list[int] = []
        for term in terms:
            first, second = (*term.symbols, -1, -1)[:2]
            if len(term.symbols) > 2:
                raise ValueError(f"a number is a product of {len(term.symbols)} symbols")
            codes += (term.factor, first, second, term.more)
        self._codes: Final[list[int]] = codes

    def values(self, numbers: tuple[int, ...]) -> list[int] | None:
        """The symbols' values at those numbers; None if these do not follow."""
        values: list[int] = []
        for k in self.bases:
            n = numbers[k]
            if n < 2:
                return None
            values.append(n)
        codes = self._codes
        assert 4 * len(numbers) == len(codes)
        at = 0
        for n in numbers:
            expected = codes[at + 3]
            first = codes[at + 1]
            if first >= 0:
                found = codes[at] * values[first]
                second = codes[at + 2]
                if second >= 0:
                    found *= values[second]
                expected += found
            if expected != n:
                return None
            at += 4
        return values


def form_of(examples: list[tuple[int, ...]], affine: bool = False) -> Form | None:
    """The form of numbers of which these are examples; None if one that varies is 0 or 1 at last.

    Numbers that are equal, multiples, products or apart by as much in all examples have symbols in
    common, and with ``affine`` those that are a multiple apart by as much: of three examples or
    more, as any two numbers may be that in two. If that is by chance, the next example says so.
    """
    last = examples[-1]
    varying = [k for k, n in enumerate(last) if any(e[k] != n for e in examples)]
    if not varying or any(last[k] < 2 for k in varying):
        return None
    columns = {k: [e[k] for e in examples] for k in varying}
    terms: list[Term] = [Term(0, (), n) for n in last]
    bases: list[int] = []
    # small ones first: large ones are their multiples
    for k in sorted(varying, key=lambda k: (last[k], k)):
        known = [columns[b] for b in bases]
        term = _derived(columns[k], known)
        if term is None and affine and len(examples) > 2:
            term = _affine(columns[k], known)
        if term is None:
            term = Term(1, (len(bases),), 0)
            bases.append(k)
        terms[k] = term
    return Form(examples, terms, bases)


def _derived(column: list[int], bases: list[list[int]]) -> Term | None:
    for s, base in enumerate(bases):
        factor, rest = divmod(column[-1], base[-1])
        if not rest and all(n == factor * b for n, b in zip(column, base, strict=True)):
            return Term(factor, (s,), 0)
    for s, first in enumerate(bases):
        for t in range(s, len(bases)):
            both = [a * b for a, b in zip(first, bases[t], strict=True)]
            factor, rest = divmod(column[-1], both[-1])
            if not rest and all(n == factor * b for n, b in zip(column, both, strict=True)):
                return Term(factor, (s, t), 0)
    for s, base in enumerate(bases):
        more = column[-1] - base[-1]
        if all(n == b + more for n, b in zip(column, base, strict=True)):
            return Term(1, (s,), more)
    return None


def _affine(column: list[int], bases: list[list[int]]) -> Term | None:
    for s, base in enumerate(bases):
        other = next((k for k, n in enumerate(base) if n != base[-1]), -1)
        if other < 0:
            continue
        factor, rest = divmod(column[-1] - column[other], base[-1] - base[other])
        more = column[-1] - factor * base[-1]
        if not rest and factor > 1 and all(
            n == factor * b + more for n, b in zip(column, base, strict=True)
        ):
            return Term(factor, (s,), more)
    return None
