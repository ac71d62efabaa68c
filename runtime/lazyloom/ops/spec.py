"""What an op is, and how one is entered in the table.

An entry is a function: its name is the op's name, its positional parameters are
the operands (annotated with a class of dtypes, see :mod:`lazyloom.ops.kinds`), its
keyword-only parameters the attributes (annotated with a kind), its docstring the
reference documentation and its body, in ``jax.lax`` terms, the definition::

    @op(elementwise, T="number", source="array API add", reference="numpy.add")
    def add(x: T, y: T) -> Array:
        '''Sum of x and y, element by element, with broadcasting.'''
        return lax.add(*broadcast(x, y))

Shapes and dtypes come from the family rule (here ``elementwise``); derivatives,
lowering, C prototypes and tests are derived.
"""

from __future__ import annotations

import inspect
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ..dtypes import CLASSES, DType, as_dtype
from ..errors import ArgumentError, DTypeError, LoomError, UnknownOpError
from ..types import TensorType
from .kinds import ATTRIBUTES, OPERANDS

Rule = Callable[["OpDef", Sequence[TensorType], Mapping[str, Any]], "tuple[TensorType, ...]"]

_MISSING: Final = inspect.Parameter.empty


class Operand:
    """One tensor operand of an op.

    Attributes:
        name: the parameter's name.
        classes: a key of ``dtypes.CLASSES``, or ``"T"`` for the op's own dtype
            variable, which all operands so marked share.
        optional: may be absent (``None``).
        variadic: takes all remaining operands (always the last one).
    """

    __slots__ = ("name", "classes", "optional", "variadic")

    def __init__(self, name: str, classes: str, optional: bool, variadic: bool) -> None:
        self.name: Final = name
        self.classes: Final = classes
        self.optional: Final = optional
        self.variadic: Final = variadic


class Attribute:
    """One attribute: a compile-time constant that is part of the program's structure."""

    __slots__ = ("name", "kind", "nullable", "default", "required")

    def __init__(self, name: str, kind: str, nullable: bool, default: Any) -> None:
        self.name: Final = name
        self.kind: Final = kind
        self.nullable: Final = nullable
        self.required: Final = default is _MISSING
        self.default: Final = None if default is _MISSING else default


class OpDef:
    """An entry of the op table. See the module's description."""

    __slots__ = (
        "name", "operands", "attributes", "rule", "fn", "doc", "source", "family", "reference",
        "T", "heavy", "residuals", "fallible", "effect", "differentiable", "version", "samples",
        "tolerance", "outputs", "lists", "least", "most",
    )  # fmt: skip

    def __init__(
        self, name: str, operands: tuple[Operand, ...], attributes: tuple[Attribute, ...],
        rule: Rule, fn: Callable[..., Any], doc: str, source: str, reference: str | None, T: str,
        heavy: bool, residuals: bool, fallible: bool, effect: bool,
        differentiable: bool | tuple[str, ...], version: str | None, samples: Any,
        tolerance: float, outputs: tuple[str, ...], lists: bool = False,
    ) -> None:  # fmt: skip
        self.name: Final = name
        self.operands: Final = operands
        self.attributes: Final = attributes
        self.rule: Final = rule
        self.fn: Final = fn
        self.doc: Final = doc
        self.source: Final = source
        self.family: Final[str] = getattr(rule, "family", getattr(rule, "__name__", "other"))
        self.reference: Final = reference
        self.T: Final = T
        self.heavy: Final = heavy
        self.residuals: Final = residuals
        self.fallible: Final = fallible
        self.effect: Final = effect
        self.differentiable: Final = differentiable
        self.version: Final = version
        self.samples: Final = samples
        self.tolerance: Final = tolerance
        #: names of the results; ("result",) for most ops
        self.outputs: Final = outputs
        #: whether an output's name can stand for any number of results, as the call has it
        self.lists: Final = lists
        self.least: Final = sum(1 for o in operands if not o.optional and not o.variadic)
        self.most: Final = -1 if operands and operands[-1].variadic else len(operands)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def operand_name(self, position: int) -> str:
        """The name to use in messages for the operand at that position."""
        if self.operands and position >= len(self.operands) - 1 and self.operands[-1].variadic:
            return f"{self.operands[-1].name}[{position - len(self.operands) + 1}]"
        return self.operands[position].name

    def infer(
        self, types: Sequence[TensorType | None], attrs: Mapping[str, Any]
    ) -> tuple[TensorType, ...]:
        """The types of the results. Raises ShapeError, DTypeError, ArgumentError."""
        self.check_operands(types)
        # a rule may come from anywhere: what it gives is looked at below
        rule: Any = self.rule
        found: Any = rule(self, types, attrs)
        if type(found) is not tuple or not found or not all(
            isinstance(t, TensorType) for t in found
        ):
            raise LoomError(
                f"{self.name}: its rule {getattr(self.rule, '__name__', self.rule)!r} gave "
                f"{found!r}, expected a tuple of the results' TensorTypes", op=self.name)
        return found

    def check_operands(self, types: Sequence[TensorType | None]) -> None:
        """Check the number of operands and their dtypes against the entry."""
        n = len(types)
        if n < self.least or (self.most >= 0 and n > self.most):
            expected = str(self.least) if self.least == self.most else (
                f"at least {self.least}" if self.most < 0 else f"{self.least} to {self.most}")
            raise ArgumentError(
                f"{self.name}: {n} operands were given, expected {expected}"
                f" ({', '.join(o.name for o in self.operands)})"
                f"{f'; operand {self.operand_name(n)!r} is missing' if n < self.least else ''}",
                op=self.name)
        shared: DType | None = None
        first = ""
        for i in range(n):
            t = types[i]
            spec = self.operands[i] if i < len(self.operands) else self.operands[-1]
            if t is None:
                if not spec.optional:
                    raise ArgumentError(
                        f"{self.name}: operand {self.operand_name(i)!r} is missing", op=self.name)
                continue
            classes = self.T if spec.classes == "T" else spec.classes
            if t.dtype not in CLASSES[classes]:
                raise DTypeError(
                    f"{self.name}: operand {self.operand_name(i)!r} has dtype {t.dtype.name}, "
                    f"expected {describe_class(classes)}; cast it first", op=self.name)
            if spec.classes == "T":
                if shared is None:
                    shared, first = t.dtype, self.operand_name(i)
                elif t.dtype is not shared:
                    raise DTypeError(
                        f"{self.name}: operand {self.operand_name(i)!r} has dtype {t.dtype.name}, "
                        f"expected {shared.name} as operand {first!r} has; ops never promote, "
                        "cast one of them", op=self.name)

    def canonical_attributes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All attributes, checked and converted, defaults filled in, in declared order.

        Raises ArgumentError for an unknown, missing or ill-typed attribute.
        """
        result: dict[str, Any] = {}
        used = 0
        for a in self.attributes:
            if a.name in given:
                result[a.name] = _convert(self.name, a, given[a.name])
                used += 1
            elif a.required:
                raise ArgumentError(
                    f"{self.name}: attribute {a.name!r} ({a.kind}) is missing", op=self.name)
            else:
                result[a.name] = a.default
        if used != len(given):
            unknown = sorted(set(given) - {a.name for a in self.attributes})
            known = ", ".join(a.name for a in self.attributes) or "none"
            raise ArgumentError(
                f"{self.name}: attribute {unknown[0]!r} is not known, expected: {known}",
                op=self.name)
        return result


def describe_class(classes: str) -> str:
    """Words for a dtype class, for messages."""
    members = CLASSES[classes]
    if len(members) <= 4:
        return " or ".join(d.name for d in sorted(members, key=lambda d: d.index))
    return {
        "number": "a number (not bool)", "real": "a real number (not bool, not complex)",
        "ordered": "an ordered type (not complex)", "floating": "a real floating-point type",
        "inexact": "a floating-point or complex type", "integer": "an integer type",
        "signed": "a signed number", "bitwise": "bool or an integer type", "any": "any dtype",
    }.get(classes, classes)  # fmt: skip


def _convert(op: str, a: Attribute, value: Any) -> Any:
    """The attribute's value in its canonical Python type; exact in type and bits."""
    if value is None:
        if a.nullable:
            return None
        raise ArgumentError(f"{op}: attribute {a.name!r} is None, expected {a.kind}", op=op)
    kind = a.kind
    if kind == "ints":
        if isinstance(value, Sequence) and not isinstance(value, str):
            if type(value) is tuple and all(type(v) is int for v in value):
                return value
            return tuple(_as_int(op, a, v) for v in value)
    elif kind == "int":
        if type(value) is int:
            return value
        return _as_int(op, a, value)
    elif kind == "bool":
        if isinstance(value, bool) or type(value).__name__ == "bool":
            return bool(value)
    elif kind == "float":
        if type(value) is float:
            return value
        if not isinstance(value, (bool, str, complex)) and hasattr(value, "__float__"):
            return float(value)
    elif kind == "str":
        if isinstance(value, str):
            return str(value)
    elif kind == "dtype":
        return as_dtype(value)
    elif kind == "floats":
        if isinstance(value, Sequence) and not isinstance(value, str):
            return tuple(float(v) for v in value)
    raise ArgumentError(
        f"{op}: attribute {a.name!r} is {value!r}, expected {_KIND_WORDS[kind]}", op=op)


_KIND_WORDS: Final = {
    "bool": "True or False", "int": "an integer", "float": "a real number", "str": "a string",
    "dtype": "a dtype", "ints": "a sequence of integers", "floats": "a sequence of real numbers",
}  # fmt: skip


def _as_int(op: str, a: Attribute, value: Any) -> int:
    if not isinstance(value, bool) and hasattr(value, "__index__"):
        return int(value.__index__())
    raise ArgumentError(
        f"{op}: attribute {a.name!r} has {value!r}, expected {_KIND_WORDS[a.kind]}", op=op)


def attribute_bits(value: Any) -> Any:
    """A hashable stand-in that is equal only for the same type and the same bits.

    ``1``, ``1.0`` and ``True`` differ, so do ``0.0`` and ``-0.0``; a NaN equals
    itself, bit for bit. Raises TypeError for a type that no canonical attribute has, such as
    NumPy's floats, whose ``==`` tells too little apart.
    """
    kind = type(value)
    if kind is float:
        return ("f", struct.pack("<d", value))
    if kind is bool:
        return ("b", value)
    if kind is tuple:
        return ("t", *map(attribute_bits, value))
    if kind is int or kind is str or value is None or kind is DType:
        return (kind.__name__, value)
    raise TypeError(f"{kind.__name__} is no canonical attribute type")


#: the version of the ops that this package defines
TABLE: Final = "table"

_table: dict[str, OpDef] = {}


def op(
    rule: Rule, *, source: str, T: str = "any", reference: str | None = None, heavy: bool = False,
    residuals: bool = False, fallible: bool = False, effect: bool = False,
    differentiable: bool | tuple[str, ...] = True, version: str | None = None,
    samples: Any = None, tolerance: float = 1.0, name: str | None = None,
    outputs: tuple[str, ...] = ("result",), lists: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:  # fmt: skip
    """Enter the decorated function in the op table.

    Args:
        rule: the family rule, ``rule(op, types, attrs) -> result types``.
        T: the dtype class of the operands annotated ``T``.
        source: where the definition comes from (standard, paper, library function).
        reference: dotted name of the NumPy or SciPy function that computes the same,
            for tests and documentation; ``None`` where there is none.
        heavy: results are kept, not recomputed, when a read falls between forward
            and backward (dots, convolutions, sorts, linear algebra, scans).
        residuals: differentiating emits residuals from the forward op instead of
            repeating it in the backward op.
        fallible: the op can fail while it runs (it calls foreign code).
        effect: the op has effects beyond its results and is never removed or merged.
        differentiable: False, or the names of the operands that have a gradient.
        version: part of what programs are stored under on disk, so it must change whenever
            the definition changes; ``None`` keeps programs that use the op off the disk. The
            table's own ops need none: a fingerprint of the source covers them.
        samples: a function yielding sample inputs for the tests; the family's if None.
        tolerance: factor on the test tolerance against the reference.
        outputs: names of the results.
        lists: one of these names stands for any number of results, as the call has it.
    """

    def enter(fn: Callable[..., Any]) -> Callable[..., Any]:
        opname = name or fn.__name__.rstrip("_")
        operands: list[Operand] = []
        attributes: list[Attribute] = []
        for p in inspect.signature(fn).parameters.values():
            annotation = str(p.annotation)
            if p.kind is p.KEYWORD_ONLY:
                kind = ATTRIBUTES.get(annotation.removesuffix(" | None"))
                if kind is None:
                    raise TypeError(f"{opname}: attribute {p.name} has kind {annotation!r}")
                nullable = annotation.endswith(" | None")
                attributes.append(Attribute(p.name, kind, nullable, p.default))
            else:
                classes = OPERANDS.get(annotation)
                if classes is None:
                    raise TypeError(f"{opname}: operand {p.name} has class {annotation!r}")
                operands.append(Operand(
                    p.name, classes, p.default is None, p.kind is p.VAR_POSITIONAL))
        doc = inspect.getdoc(fn)
        if not doc:
            raise TypeError(f"{opname}: a docstring is needed")
        if T not in CLASSES:
            raise TypeError(f"{opname}: T is {T!r}")
        if opname in _table:
            raise ValueError(f"op {opname!r} is in the table already")
        own = str(getattr(fn, "__module__", "")).startswith(__package__ + ".")
        _table[opname] = OpDef(
            opname, tuple(operands), tuple(attributes), rule, fn, doc, source, reference, T,
            heavy, residuals, fallible, effect, differentiable, TABLE if own else version, samples,
            tolerance, outputs, lists)
        return fn

    return enter


def lookup(name: Any) -> OpDef:
    """The op of that name. Raises UnknownOpError, with near names."""
    if not isinstance(name, str):
        raise ArgumentError(
            f"an op is given as a {type(name).__name__}, expected its name or an OpDef")
    found = _table.get(name)
    if found is None:
        import difflib

        near = difflib.get_close_matches(name, _table, 3)
        hint = f"; near names: {', '.join(near)}" if near else ""
        raise UnknownOpError(f"op {name!r} is not in the table{hint}", op=name)
    return found


def table() -> Mapping[str, OpDef]:
    """The whole op table, by name (a live, read-only view by convention)."""
    return _table


def names() -> list[str]:
    """The names of all ops, sorted."""
    return sorted(_table)
