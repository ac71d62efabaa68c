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
lowering, C prototypes and tests are derived. Whatever else the runtime asks about an op is a
trait of its entry (:mod:`lazyloom.ops.traits`); no other module has a list of op names.
"""

from __future__ import annotations

import inspect
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ..dtypes import CLASSES, DType, as_dtype
from ..errors import ArgumentError, DTypeError, LoomError, UnknownOpError
from ..types import TensorType
from .kinds import ATTRIBUTES, OPERANDS
from .traits import (
    ACCESS,
    DERIVATIVE,
    EXECUTION,
    SIGNATURE,
    Access,
    Dependence,
    Derivative,
    Execution,
    Signature,
)

Rule = Callable[["OpDef", Sequence[TensorType], Mapping[str, Any]], "tuple[TensorType, ...]"]

_MISSING: Final = inspect.Parameter.empty


class Operand:
    """One tensor operand of an op.

    Attributes:
        name: the parameter's name.
        classes: a key of ``dtypes.CLASSES``, or ``"T"`` for the op's own dtype
            variable, which all operands so marked share.
        optional: it may be absent (``None``).
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


def _are_types(results: tuple[Any, ...]) -> bool:
    # a generator expression takes longer in compiled code
    for t in results:  # noqa: SIM110
        if not isinstance(t, TensorType):
            return False
    return True


class OpDef:
    """An entry of the op table, or an op that is derived from one.

    The parameters of :func:`op` are described there and in :mod:`lazyloom.ops.traits`; the others:

    Attributes:
        kind: how it is derived from ``base`` ("vjp", "jvp", ...), "" for an entry of the table.
        base: the op it is derived from, if any.
        root: the entry of the table that it is finally derived from, or the entry itself.
        own: the names of the attributes that it has besides those of ``base``.
        family: the name of its rule.
        min_operands, max_operands: how many operands it takes; ``max_operands`` is -1 if there is
            no limit.

    Example:

        >>> exp = lazyloom.ops.lookup("exp")
        >>> exp.name, exp.family, exp.min_operands
        ('exp', 'elementwise', 1)
    """

    __slots__ = (
        "name", "operands", "attributes", "rule", "fn", "doc", "source", "family", "reference",
        "T", "version", "samples", "tolerance", "signature", "derivative", "execution", "access",
        "min_operands", "max_operands", "kind", "base", "root", "own", "_derived",
    )  # fmt: skip

    def __init__(
        self, name: str, operands: tuple[Operand, ...], attributes: tuple[Attribute, ...],
        rule: Rule, fn: Callable[..., Any], doc: str, source: str, *, reference: str | None = None,
        T: str = "any", version: str | None = None, samples: Any = None, tolerance: float = 1.0,
        kind: str = "", base: OpDef | None = None, own: tuple[str, ...] = (),
        signature: Signature = SIGNATURE, derivative: Derivative = DERIVATIVE,
        execution: Execution = EXECUTION, access: Access = ACCESS,
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
        self.version: Final = version
        self.samples: Final = samples
        self.tolerance: Final = tolerance
        self.signature: Final = signature
        self.derivative: Final = derivative
        self.execution: Final = execution
        self.access: Final = access
        self.min_operands: Final = sum(1 for o in operands if not o.optional and not o.variadic)
        self.max_operands: Final = -1 if operands and operands[-1].variadic else len(operands)
        self.kind: Final = kind
        self.base: Final = base
        self.root: Final[OpDef] = base.root if base is not None else self
        self.own: Final = own
        self._derived: Final[dict[str, OpDef]] = {}

    def derive(self, kind: str) -> OpDef:
        """The op derived from this one: its "vjp", "jvp", "vmap", "fwd" or "bwd".

        Always the same object; see :mod:`lazyloom.ops.derived` for what they are.
        """
        derived = self._derived.get(kind)
        if derived is None:
            derived = self._derived.setdefault(kind, _derivations[kind](self))
        return derived

    def times(self, kind: str) -> int:
        """How often this kind occurs in the derivations from the table's entry to this op."""
        count = 0
        op: OpDef | None = self
        while op is not None:
            count += op.kind == kind
            op = op.base
        return count

    def aliased_operand(self, operands: int, results: int, result: int) -> int:
        """The operand whose new value a result is, if it is that of any.

        Args:
            operands, results: how many the call has.
            result: the number of the result.

        Returns:
            the operand's position; an operand of the result's type need not be there.
        """
        aliases: Any = self.execution.aliases
        if aliases is None:
            return result
        position: int = aliases(self, operands, results, result)
        return position

    def linear_groups(self, attrs: Mapping[str, Any], arity: int) -> list[int]:
        """The sets of operands, as bits, in which the op is linear with these attributes."""
        groups = self._bits(self.derivative.linear, attrs, arity)
        for name in self.derivative.multilinear.split():
            for p in range(arity):
                if self._named(p) == name:
                    groups.append(1 << p)
        return groups

    def piecewise_groups(self, attrs: Mapping[str, Any], arity: int) -> list[int]:
        """The sets of real operands, as bits, in which the op is piecewise linear."""
        return self._bits(self.derivative.piecewise_linear, attrs, arity)

    def _bits(self, declared: Any, attrs: Mapping[str, Any], arity: int) -> list[int]:
        value: Any = declared(attrs) if callable(declared) else declared
        groups: tuple[str, ...] = (value,) if isinstance(value, str) else value
        masks: list[int] = []
        for group in groups:
            names = group.split()
            bits = 0
            for p in range(arity):
                if self._named(p) in names:
                    bits |= 1 << p
            if bits:
                masks.append(bits)
        return masks

    def _named(self, position: int) -> str:
        """The name of the operand at that position; those of a variadic operand share its name."""
        return self.operands[min(position, len(self.operands) - 1)].name

    def dependences(
        self, attrs: Mapping[str, Any], arity: int, complex_operands: bool
    ) -> Dependence:
        """For each operand, as bits, those by which the derivative depends on its data.

        If the op is linear in two operands together, the derivative by one does not depend on
        the other. ``complex_operands`` says whether any operand is complex: piecewise linear ops
        are so for real operands only.
        """
        of_kind: Any = self.derivative.dependence
        if of_kind is not None:
            declared: Dependence = of_kind(self, attrs, arity, complex_operands)
            return declared
        everything = (1 << arity) - 1
        groups = self.linear_groups(attrs, arity)
        if not complex_operands:
            groups += self.piecewise_groups(attrs, arity)
        constant = 0
        for bits in self._bits(self.derivative.constant_derivative, attrs, arity):
            constant |= bits
        masks: list[int] = []
        for p in range(arity):
            free = constant
            for bits in groups:
                if bits >> p & 1:
                    free |= bits
            masks.append(everything & ~free)
        return tuple(masks)

    def has_gradient(self, position: int) -> bool:
        """Return True if the operand at that position has a gradient, if its dtype may have one."""
        named: Any = self.derivative.differentiable
        return named if isinstance(named, bool) else self._named(position) in named

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
        # a rule may come from anywhere: its result is checked below
        rule: Any = self.rule
        results: Any = rule(self, types, attrs)
        if type(results) is not tuple or not results or not _are_types(results):
            raise LoomError(
                f"{self.name}: its rule {getattr(self.rule, '__name__', self.rule)!r} gave "
                f"{results!r}, expected a tuple of the results' TensorTypes", op=self.name)
        return results

    def check_operands(self, types: Sequence[TensorType | None]) -> None:
        """Check the number of operands and their dtypes against the entry."""
        n = len(types)
        if n < self.min_operands or (self.max_operands >= 0 and n > self.max_operands):
            low, high = self.min_operands, self.max_operands
            expected = str(low) if low == high else (
                f"at least {low}" if high < 0 else f"{low} to {high}")
            raise ArgumentError(
                f"{self.name}: {n} operands were given, expected {expected}"
                f" ({', '.join(o.name for o in self.operands)})"
                f"{f'; operand {self.operand_name(n)!r} is missing' if n < low else ''}",
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

    def canonical_attributes(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """All attributes, checked and converted, defaults filled in, in declared order.

        Raises ArgumentError for an unknown, missing or ill-typed attribute.
        """
        result: dict[str, Any] = {}
        used = 0
        for a in self.attributes:
            if a.name in attributes:
                result[a.name] = _convert(self.name, a, attributes[a.name])
                used += 1
            elif a.required:
                raise ArgumentError(
                    f"{self.name}: attribute {a.name!r} is missing, expected "
                    f"{_KIND_WORDS[a.kind]}", op=self.name)
            else:
                result[a.name] = a.default
        if used != len(attributes):
            unknown = sorted(set(attributes) - {a.name for a in self.attributes})
            expected = ", ".join(a.name for a in self.attributes) or "none"
            raise ArgumentError(
                f"{self.name}: attribute {unknown[0]!r} is not known, expected: {expected}",
                op=self.name)
        return result


def describe_class(classes: str) -> str:
    """A dtype class in words, for messages."""
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
        raise ArgumentError(
            f"{op}: attribute {a.name!r} is absent (None), expected {_KIND_WORDS[a.kind]}", op=op)
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

    ``1``, ``1.0`` and ``True`` differ, and so do ``0.0`` and ``-0.0``; a NaN equals
    itself, bit for bit. Raises TypeError for a type that no canonical attribute has, such as
    NumPy's floats, whose ``==`` distinguishes too little.
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
_derivations: dict[str, Callable[[OpDef], OpDef]] = {}


def derivation(kind: str) -> Callable[[Callable[[OpDef], OpDef]], Callable[[OpDef], OpDef]]:
    """Register the decorated function, which makes the op of that kind from its base."""

    def enter(make: Callable[[OpDef], OpDef]) -> Callable[[OpDef], OpDef]:
        _derivations[kind] = make
        return make

    return enter


def derivations() -> Mapping[str, Callable[[OpDef], OpDef]]:
    """How ops are derived from others, by kind (a live, read-only view by convention)."""
    return _derivations


def op(
    rule: Rule, *, source: str, T: str = "any", reference: str | None = None,
    version: str | None = None, samples: Any = None, tolerance: float = 1.0,
    name: str | None = None, signature: Signature = SIGNATURE, derivative: Derivative = DERIVATIVE,
    execution: Execution = EXECUTION, access: Access = ACCESS,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:  # fmt: skip
    """Enter the decorated function in the op table.

    Args:
        rule: the family rule, ``rule(op, types, attrs) -> result types``.
        T: the dtype class of the operands annotated ``T``.
        source: where the definition comes from (standard, paper, library function).
        reference: dotted name of the NumPy or SciPy function that computes the same,
            for tests and documentation; ``None`` where there is none.
        version: part of the key of programs on disk, so it must change whenever the
            definition changes; ``None`` keeps programs that use the op off the disk. The
            table's own ops need none: a fingerprint of the source covers them.
        samples: a function yielding sample inputs for the tests; the family's if None.
        tolerance: factor on the test tolerance against the reference.
        name: the op's name, if not the function's.
        signature, derivative, execution, access: :mod:`its traits <lazyloom.ops.traits>`.

    Example:

        >>> from lazyloom.ops.rules import elementwise
        >>> @lazyloom.register_op(elementwise, T="floating", source="this program", version="1")
        ... def cubed(x: "T"):
        ...     "x ** 3."
        ...     return x * x * x
        >>> lazyloom.apply("cubed", [np.array([1.0, 2.0])])
        array([1., 8.])
    """

    def enter(fn: Callable[..., Any]) -> Callable[..., Any]:
        opname = fn.__name__.rstrip("_") if name is None else name
        if not opname.isidentifier():
            raise ArgumentError(
                f"register_op was given the name {opname!r}, expected an identifier (names with a "
                "dot are those of derived ops)")
        if not callable(rule):
            raise ArgumentError(
                f"{opname}: register_op was given a {type(rule).__name__} as rule, expected a "
                "function (op, types, attrs) -> result types, such as "
                "lazyloom.ops.rules.elementwise")
        operands: list[Operand] = []
        attributes: list[Attribute] = []
        for p in inspect.signature(fn).parameters.values():
            annotation = "" if p.annotation is p.empty else str(p.annotation)
            if p.kind is p.KEYWORD_ONLY:
                kind = ATTRIBUTES.get(annotation.removesuffix(" | None"))
                if kind is None:
                    raise _not_annotated(opname, f"attribute {p.name!r}", annotation, ATTRIBUTES)
                nullable = annotation.endswith(" | None")
                attributes.append(Attribute(p.name, kind, nullable, p.default))
            else:
                classes = OPERANDS.get(annotation)
                if classes is None:
                    raise _not_annotated(opname, f"operand {p.name!r}", annotation, OPERANDS)
                operands.append(Operand(
                    p.name, classes, p.default is None, p.kind is p.VAR_POSITIONAL))
        doc = inspect.getdoc(fn) or ""
        if not doc and sys.flags.optimize < 2:  # python -OO has no docstrings
            raise ArgumentError(
                f"{opname}: the function that defines it has no docstring, expected one that says "
                "what it computes")
        if T not in CLASSES:
            raise ArgumentError(f"{opname}: T is {T!r}, expected one of {', '.join(CLASSES)}")
        if opname in _table:
            raise ArgumentError(
                f"an op named {opname!r} is in the table already; give yours another name")
        in_package = str(getattr(fn, "__module__", "")).startswith(__package__ + ".")
        _check_names(opname, "operands", [o.name for o in operands], {
            "linear": derivative.linear, "multilinear": derivative.multilinear,
            "piecewise_linear": derivative.piecewise_linear,
            "constant_derivative": derivative.constant_derivative})
        _check_names(opname, "outputs", signature.outputs, {
            "optional_outputs": signature.optional_outputs,
            "output_notes": signature.output_notes})
        _table[opname] = OpDef(
            opname, tuple(operands), tuple(attributes), rule, fn, doc, source, reference=reference,
            T=T, version=TABLE if in_package else version, samples=samples, tolerance=tolerance,
            signature=signature, derivative=derivative, execution=execution, access=access)
        return fn

    return enter


def _not_annotated(op: str, label: str, annotation: str, kinds: Mapping[str, Any]) -> ArgumentError:
    annotated = f"is annotated {annotation!r}" if annotation else "has no annotation"
    return ArgumentError(
        f"{op}: {label} {annotated}, expected one of {', '.join(kinds)} from lazyloom.ops.kinds, "
        "in a module that begins with 'from __future__ import annotations'")


def _check_names(
    op: str, kind: str, expected: Sequence[str], traits: Mapping[str, Any]
) -> None:
    """Raise ArgumentError for a trait that names an operand or output that the op does not have."""
    for trait, value in traits.items():
        if value is None or callable(value):
            continue
        for word in (value if isinstance(value, str) else " ".join(value)).split():
            if word not in expected:
                raise ArgumentError(
                    f"{op}: trait {trait} names {word!r}, expected its {kind}: "
                    f"{', '.join(expected)}")


def lookup(name: Any) -> OpDef:
    """The op of that name. Raises UnknownOpError, with near names."""
    if not isinstance(name, str):
        raise ArgumentError(
            f"an op is given as a {type(name).__name__}, expected its name or an OpDef")
    op_def = _table.get(name)
    if op_def is None:
        import difflib

        near = difflib.get_close_matches(name, _table, 3)
        hint = f"; near names: {', '.join(near)}" if near else ""
        raise UnknownOpError(f"op {name!r} is not in the table{hint}", op=name)
    return op_def


def table() -> Mapping[str, OpDef]:
    """The whole op table, by name (a live, read-only view by convention)."""
    return _table


def names() -> list[str]:
    """The names of all ops, sorted."""
    return sorted(_table)
