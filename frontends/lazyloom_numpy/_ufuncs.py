"""NumPy's universal functions over the op table.

Every ufunc asks ``numpy.ufunc.resolve_dtypes`` which dtypes its loop has for the given
ones, once per combination; a call then casts, records one op, and wraps the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as onp

import lazyloom
from lazyloom.dtypes import DType, as_dtype

from . import _dtypes as dt
from ._array import assign, ndarray, wrap
from ._convert import operand, operand_key
from ._layout import keep_order

record = lazyloom.record
record_one, record_two = lazyloom.record_one, lazyloom.record_two
record_number = lazyloom.record_number
_BFLOAT16: Final = as_dtype(dt.bfloat16)
Compute = Callable[[Sequence[Any], tuple[DType, ...]], Any]


class Plan:
    """How one ufunc runs for one combination of operand types."""

    __slots__ = ("op", "inputs", "outputs", "compute")

    def __init__(
        self, op: str | None, inputs: tuple[DType, ...], outputs: tuple[DType, ...],
        compute: Compute | None,
    ) -> None:  # fmt: skip
        self.op: Final = op
        self.inputs: Final = inputs
        self.outputs: Final = outputs
        self.compute: Final = compute


class ufunc:
    """A function that works element by element, with broadcasting and NumPy's promotion.

    Signature of a call: ``f(*operands, out=None, where=True, casting="same_kind",
    dtype=None)``; operands are arrays or anything ``asarray`` takes. See ``numpy.ufunc``.
    """

    def __init__(
        self, name: str, op: str | None, compute: Compute | None = None, doc: str | None = None
    ) -> None:
        self.__name__: str = name
        self.np: Final[onp.ufunc] = getattr(onp, name)
        self.nin: Final = self.np.nin
        self.nout: Final = self.np.nout
        self.op: Final = op
        self.compute: Final = compute
        self.plans: Final[dict[Any, Plan]] = {}
        #: the spec where the op alone does it, without casts: by the dtype of one operand, or
        #: those of two, of which one may be int or float
        self.ready: Final[dict[Any, lazyloom.Spec]] = {}
        self.identity: Final = self.np.identity
        self.__doc__: str | None = doc or (
            f"{name}: element by element, as ``numpy.{name}`` (its reference documentation holds).")

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__!r}>"

    def __reduce__(self) -> Any:
        return _ufunc_named, (self.__name__,)

    @property
    def nargs(self) -> int:
        return int(self.nin + self.nout)

    @property
    def types(self) -> list[str]:
        return list(self.np.types)

    @property
    def signature(self) -> str | None:
        return self.np.signature

    # ------------------------------------------------------------------ calls

    def __call__(
        self, *args: Any, out: Any = None, where: Any = True, casting: str = "same_kind",
        order: str = "K", dtype: Any = None, subok: bool = True,
    ) -> Any:  # fmt: skip
        if out is None and where is True and dtype is None and len(args) == self.nin:
            # what programs do most, without the detours of the general case
            first = args[0]
            if self.nin == 2:
                found = binary(self, first, args[1], True)
                if found is not None:
                    return found
            elif isinstance(first, ndarray) and not first._special:
                ready = self.ready.get(first._type.dtype)
                if ready is not None:
                    return wrap(record_one(ready, first.value))
        if len(args) > self.nin:
            if out is not None or len(args) > self.nargs:
                raise TypeError(
                    f"{self.__name__}() takes from {self.nin} to {self.nargs} positional "
                    f"arguments but {len(args)} were given")
            out = args[self.nin:] if self.nout > 1 else args[self.nin]
            args = args[:self.nin]
        elif len(args) < self.nin:
            raise TypeError(
                f"{self.__name__}() takes from {self.nin} to {self.nargs} positional arguments "
                f"but {len(args)} were given")
        if out is None and where is True and dtype is None:
            if self.nout == 1:
                return keep_order(wrap(self.compute_values([operand(a) for a in args])), *args)
            results = self.compute_values([operand(a) for a in args])
            return tuple([keep_order(wrap(r), *args) for r in results])
        operands = [operand(a) for a in args]
        return self._call_general(operands, args, out, where, casting, dtype)

    def compute_values(self, operands: Sequence[Any], dtype: DType | None = None) -> Any:
        """The result's Value (a tuple of them if nout > 1) for Values, Scalars, numbers."""
        key = tuple([operand_key(x) for x in operands])
        if dtype is None:
            plan = self.plans.get(key)
            if plan is None:
                plan = self._plan(key, None)
                self.plans[key] = plan
        else:
            plan = self.plans.get((dtype, *key, "dtype"))
            if plan is None:
                plan = self.plans.setdefault((dtype, *key, "dtype"), self._plan(key, dtype))
        values = []
        for x, d in zip(operands, plan.inputs):
            if isinstance(x, lazyloom.Value):
                values.append(x if x.type.dtype is d else record("cast", (x,), {"dtype": d}))
            elif isinstance(x, lazyloom.Scalar):
                values.append(x if x.type.dtype is d else dt.unchecked_scalar(x.number, d))
            else:
                if d.kind in "iu" and self.__name__ in _COMPARISONS and not dt.in_range(x, d):
                    return _compare_out_of_range(self.__name__, operands)
                values.append(dt.scalar(x, d))
        if plan.compute is not None:
            return plan.compute(values, plan.inputs)
        assert plan.op is not None
        result = record(plan.op, values)
        if result.type.dtype is not plan.outputs[0]:
            return record("cast", (result,), {"dtype": plan.outputs[0]})
        if dtype is None and key not in self.ready:
            self._make_ready(key, plan)
        return result

    def _make_ready(self, key: tuple[Any, ...], plan: Plan) -> None:
        for k, d in zip(key, plan.inputs):
            if k is d:
                continue
            # a number takes the dtype of the array that it meets
            if d is not plan.inputs[0] or d is not plan.inputs[-1] or not (
                k is float and d.kind == "f" or k is int and d.kind in "iuf"
            ):
                return
        if any(isinstance(k, DType) for k in key):
            assert plan.op is not None
            self.ready[key if self.nin > 1 else key[0]] = lazyloom.spec(plan.op, self.nin)

    def _plan(self, key: tuple[Any, ...], dtype: DType | None) -> Plan:
        resolved = self._resolve(key, dtype)
        inputs = resolved[: self.nin]
        if self.__name__ in _ANY_OPERANDS:  # these ops take each operand as it is
            inputs = tuple(k if isinstance(k, DType) else dt.DEFAULT_OF_WEAK[k] for k in key)
            return Plan(self.op, inputs, resolved[self.nin:], None)
        outputs = resolved[self.nin:]
        # a plain loop has one dtype for all operands; the few others are composed
        if self.compute is not None:
            return Plan(self.op, inputs, outputs, self.compute)
        special = _BY_KIND.get((self.__name__, inputs[0].kind))
        if len(set(inputs)) > 1:
            special = _MIXED.get(self.__name__, special)
        return Plan(self.op, inputs, outputs, special)

    def _resolve(self, key: tuple[Any, ...], dtype: DType | None) -> tuple[DType, ...]:
        if not any(isinstance(k, DType) for k in key):  # only Python numbers
            key = tuple(dt.DEFAULT_OF_WEAK[k] for k in key)
        if self.__name__ == "matmul" and key[0] is key[1] and key[0] is _BFLOAT16:
            return (key[0],) * 3  # ml_dtypes has no such loop, and goes through float32
        given = tuple(k.numpy if isinstance(k, DType) else k for k in key)
        options: dict[str, Any] = {}
        if dtype is not None:
            options["signature"] = (None,) * self.nin + (dtype.numpy,) * self.nout
        try:
            found = self.np.resolve_dtypes((*given, *(None,) * self.nout), **options)
            return tuple(map(as_dtype, found))
        except lazyloom.errors.DTypeError:
            raise
        except TypeError as error:
            if any(isinstance(k, DType) and k.name == "bfloat16" for k in key):
                return self._resolve_by_trial(key, error)
            raise dt.UFuncTypeError(str(error)) from None

    def _resolve_by_trial(self, key: tuple[Any, ...], error: TypeError) -> tuple[DType, ...]:
        # resolve_dtypes refuses pairs of bfloat16 that the call itself accepts
        empties = [onp.empty(0, k.numpy) if isinstance(k, DType) else k(0) for k in key]
        try:
            result = self.np(*empties)
        except TypeError:
            raise dt.UFuncTypeError(str(error)) from None
        results = result if isinstance(result, tuple) else (result,)
        outputs = tuple(as_dtype(r.dtype) for r in results)
        loop = outputs[0] if outputs[0] is not dt.BOOL else dt.FLOAT64
        return (*(loop,) * self.nin, *outputs)

    def _call_general(
        self, operands: list[Any], args: Any, out: Any, where: Any, casting: str, dtype: Any
    ) -> Any:
        loop = None if dtype is None else dt.internal(dtype)
        result = self.compute_values(operands, loop)
        results = result if self.nout > 1 else (result,)
        outs = out if isinstance(out, tuple) else (out,) * self.nout
        if len(outs) != self.nout:
            raise ValueError(
                "The 'out' tuple must have exactly one entry per ufunc output")
        mask = None if where is True else operand(where)
        finished = []
        for value, target in zip(results, outs):
            if target is not None and not isinstance(target, ndarray):
                raise TypeError("return arrays must be of ArrayType")
            if mask is not None:
                value = self._masked(value, mask, target, casting)
            if target is None:
                finished.append(keep_order(wrap(value), *args))
            else:
                store(self.__name__, target, value, casting)
                finished.append(target)
        return tuple(finished) if self.nout > 1 else finished[0]

    def _masked(self, value: Any, mask: Any, target: Any, casting: str) -> Any:
        if isinstance(mask, bool):
            mask = lazyloom.Scalar(mask, dt.BOOL)
        elif mask.type.dtype is not dt.BOOL:
            raise TypeError("Cannot cast array data of `where` to dtype('bool')")
        if target is None:
            # NumPy leaves these elements uninitialised; zeros are as good and repeatable
            other = dt.scalar(0, value.type.dtype)
        else:
            other = target.value
            value = cast_output(self.__name__, value, other.type.dtype, casting)
        return record("where", (mask, value, other))

    # ---------------------------------------------------------------- methods

    def reduce(
        self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None,
        keepdims: bool = False, initial: Any = None, where: Any = True,
    ) -> Any:  # fmt: skip
        """Reduce along axes by the function, as ``numpy.ufunc.reduce``."""
        from . import _reductions

        return _reductions.reduce(self, array, axis, dtype, out, keepdims, initial, where)

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """The running results of the function along an axis, as ``numpy.ufunc.accumulate``."""
        from . import _reductions

        return _reductions.accumulate(self, array, axis, dtype, out)

    def outer(self, A: Any, B: Any, /, **kwargs: Any) -> Any:
        """The function of all pairs, shape ``A.shape + B.shape``; ``numpy.ufunc.outer``."""
        from ._creation import asarray

        if self.nin != 2:
            raise ValueError("outer product only supported for binary functions")
        a, b = asarray(A), asarray(B)
        return self(a.reshape(a.shape + (1,) * b.ndim), b, **kwargs)

    def at(self, a: Any, indices: Any, b: Any = None, /) -> None:
        """Unbuffered in-place operation at indices, as ``numpy.ufunc.at``.

        Repeated indices accumulate for add, subtract, multiply, maximum and minimum.
        """
        from . import _indexing

        modes = {"add": "add", "subtract": "add", "multiply": "multiply", "maximum": "max",
                 "minimum": "min"}  # fmt: skip
        if self.__name__ not in modes:
            if b is None:
                a[indices] = self(a[indices])
                return
            raise NotImplementedError(
                f"{self.__name__}.at: repeated indices are accumulated only for "
                f"{', '.join(modes)}")
        if self.__name__ == "subtract":
            b = negative(b)
        _indexing.set_item(a, indices, b, mode=modes[self.__name__])


class _Power(ufunc):
    """``x ** n``: a Python int exponent is part of the program (op ``integer_power``)."""

    def compute_values(self, operands: Sequence[Any], dtype: DType | None = None) -> Any:
        x, n = operands
        if type(n) is not int or dtype is not None or not isinstance(x, lazyloom.Value):
            return super().compute_values(operands, dtype)
        d = x.type.dtype
        if d.kind == "b":
            d = dt.INT64
            x = record("cast", (x,), {"dtype": d})
        if d.kind in "iu":
            if n < 0:
                raise ValueError("Integers to negative integer powers are not allowed.")
            if not dt.in_range(n, d):
                raise OverflowError(f"Python integer {n} out of bounds for {d.name}")
        return integer_power(x, n)

    def _make_ready(self, key: tuple[Any, ...], plan: Plan) -> None:
        if key[1] is not int:
            super()._make_ready(key, plan)


#: the specs of powers by their exponent
_powers: Final[dict[int, lazyloom.Spec]] = {}


def integer_power(x: Any, n: int) -> Any:
    """The power of a Value by an exponent that is part of the program."""
    ready = _powers.get(n)
    if ready is None:
        ready = _powers[n] = lazyloom.spec("integer_power", 1, {"exponent": n})
    return record_one(ready, x)


def _ufunc_named(name: str) -> ufunc:
    return TABLE[name]


def cast_output(name: str, value: Any, dtype: DType, casting: str = "same_kind") -> Any:
    """The value in an output's dtype; UFuncTypeError where the casting rule forbids it."""
    source = value.type.dtype
    if source is dtype:
        return value
    if not dt.can_cast(source, dtype, casting):
        raise dt.UFuncTypeError(
            f"Cannot cast ufunc '{name}' output from {source.numpy!r} to {dtype.numpy!r} "
            f"with casting rule '{casting}'")
    return record("cast", (value,), {"dtype": dtype})


def store(name: str, target: ndarray, value: Any, casting: str = "same_kind") -> None:
    """Write a result into an output array: cast and broadcast checks of a ufunc's ``out``."""
    value = cast_output(name, value, target.type.dtype, casting)
    if value.type.shape != target.type.shape:
        try:
            fits = onp.broadcast_shapes(value.type.shape, target.type.shape)
        except ValueError:
            fits = None
        if fits != target.type.shape:
            raise ValueError(
                f"{name}: non-broadcastable output operand with shape {target.type.shape} "
                f"doesn't match the broadcast shape {fits or value.type.shape}")
        value = record("broadcast_to", (value,), {"shape": target.type.shape})
    assign(target, value)


def binary(function: ufunc, a: Any, b: Any, short: bool = False) -> Any:
    """An operator's result, or NotImplemented where an operand is not array-like.

    With ``short`` None where more than one op may be needed.
    """
    # what programs do most, without the detours of the general case
    if isinstance(a, ndarray):
        if isinstance(b, ndarray):
            ready = function.ready.get((a._type.dtype, b._type.dtype))
            if ready is not None:
                result = wrap(record_two(ready, a.value, b.value))
                return keep_order(result, a, b) if a._special or b._special else result
        else:
            found = _with_number(function, a, b, False)
            if found is not None:
                return found
    elif isinstance(b, ndarray):
        found = _with_number(function, b, a, True)
        if found is not None:
            return found
    if short:
        return None
    try:
        operands = (operand(a, strict=True), operand(b, strict=True))
    except NotImplementedError:
        return NotImplemented
    return keep_order(wrap(function.compute_values(operands)), a, b)


def _with_number(function: ufunc, x: ndarray, number: Any, reverse: bool) -> Any:
    """An array and a Python number, if that is one op; else None."""
    kind = type(number)
    d = x._type.dtype
    ready = function.ready.get((kind, d) if reverse else (d, kind))
    if ready is None or x._special:
        return None
    if d.kind == "f":
        scalar = lazyloom.Scalar(float(number), d)
    elif dt.in_range(number, d):
        scalar = lazyloom.Scalar(number, d)
    else:
        return None
    return wrap(record_number(ready, x.value, scalar, reverse))


def inplace(function: ufunc, target: ndarray, other: Any) -> Any:
    """``target op= other``: writes into the array, through views."""
    try:
        operands = (target.value, operand(other, strict=True))
    except NotImplementedError:
        return NotImplemented
    store(function.__name__, target, function.compute_values(operands))
    return target


# ------------------------------------------------------------- compositions

_ANY_OPERANDS: Final = frozenset({"logical_and", "logical_or", "logical_xor", "logical_not"})
_COMPARISONS: Final = frozenset(
    {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})


def _compare_out_of_range(name: str, operands: Sequence[Any]) -> Any:
    # NumPy compares Python ints that the dtype cannot hold exactly
    first, second = operands
    weak, array = (first, second) if isinstance(first, int) else (second, first)
    low = weak < 0
    array_is_less = not low
    if weak is first:
        array_is_less = not array_is_less
    answer = {"equal": False, "not_equal": True, "less": array_is_less,
              "less_equal": array_is_less, "greater": not array_is_less,
              "greater_equal": not array_is_less}[name]  # fmt: skip
    return full_value(array.type.shape, answer, dt.BOOL)


def full_value(shape: tuple[int, ...], number: Any, dtype: DType) -> Any:
    """A value of that shape filled with a number (recorded, not a boundary)."""
    return record("full", (dt.scalar(number, dtype),), {"shape": shape})


def _identity(v: Sequence[Any], _: Any) -> Any:
    return as_value(v[0])


def as_value(x: Any) -> Any:
    """A Value for a Value or Scalar."""
    if isinstance(x, lazyloom.Scalar):
        return record("full", (x,), {"shape": ()})
    return x


def _like(x: Any, number: Any) -> Any:
    d = x.type.dtype
    return dt.scalar(number, d)


def _integer_reciprocal(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
    x = as_value(v[0])
    one = record("equal", (record("abs", (x,)) if d[0].kind == "i" else x, _like(x, 1)))
    return record("where", (one, x, _like(x, 0)))


def _scaled(factor: float) -> Compute:
    return lambda v, d: record("multiply", (v[0], dt.scalar(factor, d[0])))


def _rint(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
    return record("round", v)


def _divmod(v: Sequence[Any], d: tuple[DType, ...]) -> tuple[Any, Any]:
    return record("floor_divide", v), record("remainder", v)


def _modf(v: Sequence[Any], d: tuple[DType, ...]) -> tuple[Any, Any]:
    x = as_value(v[0])
    whole = record("trunc", (x,))
    infinite = record("isinf", (x,))
    rest = record("where", (infinite, dt.scalar(0.0, d[0]), record("subtract", (x, whole))))
    return record("copysign", (rest, x)), whole


def _frexp(v: Sequence[Any], d: tuple[DType, ...]) -> tuple[Any, Any]:
    x = as_value(v[0])
    # in float64 the exponent of every narrower type is exact; float64's own subnormals
    # are brought into range first
    wide = record("cast", (x,), {"dtype": dt.FLOAT64})
    size = record("abs", (wide,))
    tiny = record("less", (size, dt.scalar(2.0**-1000, dt.FLOAT64)))
    scaled = record("where", (tiny, record("multiply", (wide, dt.scalar(2.0**200, dt.FLOAT64))),
                              wide))  # fmt: skip
    bits = record("bitcast", (scaled,), {"dtype": dt.INT64})
    field = record("bitwise_and", (record("shift_right", (bits, dt.scalar(52, dt.INT64))),
                                   dt.scalar(0x7FF, dt.INT64)))  # fmt: skip
    bias = record("where", (tiny, dt.scalar(1222, dt.INT64), dt.scalar(1022, dt.INT64)))
    exponent = record("subtract", (field, bias))
    kept = record("bitwise_and", (bits, dt.scalar(~(0x7FF << 52), dt.INT64)))
    mantissa = record("bitcast", (
        record("bitwise_or", (kept, dt.scalar(1022 << 52, dt.INT64))),), {"dtype": dt.FLOAT64})
    plain = record("logical_and", (record("isfinite", (wide,)),
                                   record("not_equal", (wide, dt.scalar(0, dt.FLOAT64)))))
    mantissa = record("where", (plain, mantissa, wide))
    exponent = record("where", (plain, exponent, dt.scalar(0, dt.INT64)))
    int32 = dt.internal(onp.int32)
    return (record("cast", (mantissa,), {"dtype": d[0]}),
            record("cast", (exponent,), {"dtype": int32}))


def _ldexp(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
    return record("ldexp", v)


def _spacing(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
    x = as_value(v[0])
    away = record("copysign", (dt.scalar(float("inf"), d[0]), x))
    return record("subtract", (record("nextafter", (x, away)), x))


def _compare_64(name: str) -> Compute:
    """Exact comparison of int64 with uint64, which share no dtype."""

    def compute(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
        a, b = v
        u64 = dt.internal(onp.uint64)
        signed, unsigned = (a, b) if d[0].kind == "i" else (b, a)
        signed = as_value(signed)
        negative_ = record("less", (signed, dt.scalar(0, dt.INT64)))
        cast = record("cast", (signed,), {"dtype": u64})
        pair = (cast, unsigned) if d[0].kind == "i" else (unsigned, cast)
        plain = record(name, pair)
        when_negative = {"equal": False, "not_equal": True, "less": d[0].kind == "i",
                         "less_equal": d[0].kind == "i", "greater": d[0].kind != "i",
                         "greater_equal": d[0].kind != "i"}[name]  # fmt: skip
        return record("where", (negative_, dt.scalar(when_negative, dt.BOOL), plain))

    return compute


def _bitwise_count(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
    x = as_value(v[0])
    if d[0].kind == "b":
        return record("cast", (x,), {"dtype": dt.internal(onp.uint8)})
    if d[0].kind == "i":
        x = record("abs", (x,))
    x = record("population_count", (x,))
    return record("cast", (x,), {"dtype": dt.internal(onp.uint8)})


def _matmul(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
    a, b = as_value(v[0]), as_value(v[1])
    for position, x in enumerate((a, b)):
        if not x.type.shape:
            raise ValueError(
                f"matmul: Input operand {position} does not have enough dimensions (has 0, "
                "gufunc core with signature (n?,k),(k,m?)->(n?,m?) requires 1)")
    if d[0].kind != "b":
        return record("matmul", (a, b))
    int32 = dt.internal(onp.int32)
    product = record("matmul", (record("cast", (a,), {"dtype": int32}),
                                record("cast", (b,), {"dtype": int32})))
    return record("not_equal", (product, dt.scalar(0, int32)))


_DEG: Final = 180.0 / onp.pi

def _complex_order(name: str) -> Compute:
    """Complex numbers compare by real part, then by imaginary part, as in NumPy."""
    strict = "less" if name.startswith("less") else "greater"

    def compute(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
        a, b = as_value(v[0]), as_value(v[1])
        ar, br = record("real", (a,)), record("real", (b,))
        ai, bi = record("imag", (a,)), record("imag", (b,))
        same = record("logical_and", (record("equal", (ar, br)), record(name, (ai, bi))))
        return record("logical_or", (record(strict, (ar, br)), same))

    return compute


def _complex_extremum(name: str) -> Compute:
    better = _complex_order("greater_equal" if name in ("maximum", "fmax") else "less_equal")

    def compute(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
        a, b = as_value(v[0]), as_value(v[1])
        first = better((a, b), d)
        kept = record("isnan", (a if name in ("maximum", "minimum") else b,))
        first = record("logical_or", (first, kept))
        if name in ("fmax", "fmin"):
            first = record("logical_and", (first, record("logical_not", (record("isnan", (a,)),))))
        return record("where", (first, a, b))

    return compute


#: by (ufunc, kind of the loop's first dtype): what differs from the op of that name
_BY_KIND: Final[dict[tuple[str, str], Compute]] = {
    ("absolute", "b"): _identity,
    ("reciprocal", "i"): _integer_reciprocal, ("reciprocal", "u"): _integer_reciprocal,
    ("floor", "b"): _identity, ("ceil", "b"): _identity, ("trunc", "b"): _identity,
    **{(n, "c"): _complex_order(n) for n in ("less", "less_equal", "greater", "greater_equal")},
    **{(n, "c"): _complex_extremum(n) for n in ("maximum", "minimum", "fmax", "fmin")},
}  # fmt: skip

#: loops whose operands differ in dtype
_MIXED: Final[dict[str, Compute]] = {
    **{name: _compare_64(name) for name in _COMPARISONS},
}

#: NumPy's name: the op's
_DIRECT: Final = {
    "add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "divide",
    "floor_divide": "floor_divide", "remainder": "remainder", "fmod": "fmod", "power": "power",
    "float_power": "power", "maximum": "maximum", "minimum": "minimum", "fmax": "fmax",
    "fmin": "fmin", "arctan2": "atan2", "hypot": "hypot", "copysign": "copysign",
    "nextafter": "nextafter", "logaddexp": "logaddexp", "logaddexp2": "logaddexp2",
    "heaviside": "heaviside", "gcd": "gcd", "lcm": "lcm", "equal": "equal",
    "not_equal": "not_equal", "less": "less", "less_equal": "less_equal", "greater": "greater",
    "greater_equal": "greater_equal", "logical_and": "logical_and", "logical_or": "logical_or",
    "logical_xor": "logical_xor", "logical_not": "logical_not", "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor", "invert": "bitwise_not",
    "left_shift": "shift_left", "right_shift": "shift_right", "absolute": "abs",
    "fabs": "abs", "negative": "negative", "positive": "positive", "sign": "sign",
    "square": "square", "sqrt": "sqrt", "cbrt": "cbrt", "reciprocal": "reciprocal",
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2",
    "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "floor": "floor", "ceil": "ceil", "trunc": "trunc", "isnan": "isnan", "isinf": "isinf",
    "isfinite": "isfinite", "signbit": "signbit", "conjugate": "conj",
}  # fmt: skip

_COMPOSED: Final[dict[str, Compute]] = {
    "rint": _rint, "degrees": _scaled(_DEG), "rad2deg": _scaled(_DEG),
    "radians": _scaled(1 / _DEG), "deg2rad": _scaled(1 / _DEG), "divmod": _divmod,
    "modf": _modf, "frexp": _frexp, "ldexp": _ldexp, "spacing": _spacing,
    "bitwise_count": _bitwise_count,
    "matmul": _matmul,
}  # fmt: skip

TABLE: Final[dict[str, ufunc]] = {
    **{name: (_Power if name == "power" else ufunc)(name, op) for name, op in _DIRECT.items()},
    **{name: ufunc(name, None, compute) for name, compute in _COMPOSED.items()},
}
_ALIASES: Final = {
    "abs": "absolute", "true_divide": "divide", "mod": "remainder", "conj": "conjugate",
    "bitwise_not": "invert", "bitwise_invert": "invert", "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift", "acos": "arccos", "acosh": "arccosh",
    "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
    "atanh": "arctanh", "pow": "power",
}  # fmt: skip
PUBLIC: Final[dict[str, ufunc]] = {**TABLE, **{a: TABLE[n] for a, n in _ALIASES.items()}}

add = TABLE["add"]
negative = TABLE["negative"]


def cast_values(value: Any, target: DType, casting: str = "unsafe") -> Any:
    """The value in another dtype, as ``astype`` casts; TypeError if the rule forbids it."""
    source = value.type.dtype
    if not dt.can_cast(source, target, casting):
        raise TypeError(
            f"Cannot cast array data from {source.numpy!r} to {target.numpy!r} according to the "
            f"rule '{casting}'")
    return value if source is target else record("cast", (value,), {"dtype": target})
