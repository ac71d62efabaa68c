"""NumPy's universal functions over the op table.

Every ufunc asks ``numpy.ufunc.resolve_dtypes`` which dtypes its loop has for the given
ones, once per combination; a call then casts, records one op, and wraps the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as onp

import lazyloom
from lazyloom.dtypes import DType, as_dtype
from lazyloom.frontend import OpFunction, operators_of, write_lock, write_locks

from .._arguments import dtypes as dt
from .._arguments.convert import computes_itself, operand, operand_key, param
from .._arguments.options import casting_rule, memory_order
from .._array import hosted
from .._array.layout import keep_order, lay_out
from .._array.ndarray import ScalarArray, assign, ndarray, wrap
from . import errstate, loops
from .loops import Compute
from .numbers import of_number

record = lazyloom.record
record_one, record_two = lazyloom.record_one, lazyloom.record_two
record_number = lazyloom.record_number
_BFLOAT16: Final = as_dtype(dt.bfloat16)


#: what operators ask once there are classes derived from ``ndarray``: see _subclasses
hooks: list[Any] = []


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


class Loop:
    """Which loop a call asks for: dtypes of operands and results or None, and how to cast."""

    __slots__ = ("signature", "casting")

    def __init__(self, signature: tuple[Any, ...] | None, casting: str) -> None:
        self.signature: Final = signature
        self.casting: Final = casting

    def __hash__(self) -> int:
        return hash((self.signature, self.casting))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loop) and (
            self.signature, self.casting) == (other.signature, other.casting)


MISSING: Any = object()


def _order(order: str, args: Any) -> str:
    """``C`` or ``F`` for an ``order`` argument other than ``K``."""
    arrays = [a for a in args if isinstance(a, ndarray)]
    if order == "A":
        return "F" if arrays and all(a.flags.fnc for a in arrays) else "C"
    return order


if TYPE_CHECKING:
    from .._methods.attached import UfuncMethods as _Base
else:
    _Base = OpFunction


class _Signature:
    """The parameters of a ufunc's call, for ``inspect.signature``, made when they are asked for."""

    def __get__(self, function: Any, cls: type) -> Any:
        if function is None:
            raise AttributeError("__signature__")  # the class has one of its own
        import inspect  # for start-up time

        P = inspect.Parameter
        names = ["x"] if function.nin == 1 else [f"x{k + 1}" for k in range(function.nin)]
        options = {"where": True, "casting": "same_kind", "order": "K", "dtype": None,
                   "subok": True, "signature": None}
        return inspect.Signature([
            *(P(name, P.POSITIONAL_ONLY) for name in names),
            P("out", P.POSITIONAL_OR_KEYWORD, default=None),
            *(P(name, P.KEYWORD_ONLY, default=value) for name, value in options.items())])


class ufunc(_Base):
    """A function that works element by element, with broadcasting and NumPy's promotion.

    Signature of a call: ``f(*operands, out=None, where=True, dtype=None, casting="same_kind",
    order="K", signature=None, subok=True)``; operands are arrays or anything ``asarray`` takes.
    See ``numpy.ufunc``.
    """

    __signature__: Any = _Signature()
    #: number of operands, of results, and the value that changes nothing, as NumPy's
    __slots__ = ("nin", "nout", "identity", "__dict__")

    #: the keyword arguments of a call beside out, where and dtype
    options: ClassVar[frozenset[str]] = frozenset(
        ("casting", "order", "subok", "signature", "sig"))

    def __init__(
        self, name: str, op: str | None, compute: Compute | None = None, doc: str | None = None
    ) -> None:
        self.__name__: str = name
        self.np: Final[onp.ufunc] = getattr(onp, name)
        self.nin: int = self.np.nin
        self.nout: int = self.np.nout
        self.identity: Any = self.np.identity
        self.op: Final = op
        self.compute: Final = compute
        #: how it runs, by the keys of its operands
        self.plans: dict[Any, Plan] = {}
        #: the spec where the op alone does it, without casts
        self.ready = {}
        self._unchecked: Final = (self.plans, self.ready)
        self._checked: Final[tuple[dict[Any, Plan], dict[Any, lazyloom.Spec]]] = (
            {}, errstate.Never())
        self.__doc__: str | None = doc or (
            f"{name}: element by element, as ``numpy.{name}`` (its reference documentation holds).")

    @property  # type: ignore[misc]  # nobody sets it, as object lets them
    def __class__(self) -> Any:
        """NumPy's class, as ``isinstance`` asks: others look for what works on whole arrays so."""
        return onp.ufunc

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__!r}>"

    def __reduce__(self) -> Any:
        return _ufunc_named, (self.__name__,)

    @property
    def nargs(self) -> int:
        """The number of operands and results."""
        return int(self.nin + self.nout)

    @property
    def types(self) -> list[str]:
        """NumPy's loops, as characters of dtypes."""
        return list(self.np.types)

    @property
    def ntypes(self) -> int:
        """The number of NumPy's loops."""
        return int(self.np.ntypes)

    @property
    def signature(self) -> str | None:
        """The core dimensions of a generalised ufunc; None of a plain one."""
        return self.np.signature

    def resolve_dtypes(self, dtypes: Any, *, signature: Any = None, casting: Any = None,
                       reduction: bool = False) -> Any:  # fmt: skip
        """The dtypes of the loop for those of the operands, as ``numpy.ufunc.resolve_dtypes``."""
        options = {"signature": signature, "casting": casting}
        given = {k: v for k, v in options.items() if v is not None}
        return self.np.resolve_dtypes(dtypes, reduction=reduction, **given)

    def check_errors(self, on: bool) -> None:
        """Switch between plans that look for floating-point errors and those that do not."""
        self.plans, self.ready = self._checked if on else self._unchecked

    # ------------------------------------------------------------------ calls

    def general(
        self, *args: Any, out: Any = None, where: Any = True, dtype: Any = None, **options: Any
    ) -> Any:
        """A call that is not one op on plain arrays."""
        if out is None and where is True and dtype is None and len(args) == self.nin and (
            not options
        ):
            # what programs do most, without the detours of the general case
            if self.nin == 2:
                found = binary(self, args[0], args[1], True)
                if found is not None:
                    return found
        if any(decides_itself(a) for a in args):
            options = {"out": out, "where": where, "dtype": dtype, **options}
            usual = {"out": None, "where": True, "dtype": None}
            return self.asked("__call__", args, {
                k: v for k, v in options.items() if k not in usual or v is not usual[k]})
        if len(args) > self.nin:
            if len(args) > self.nargs:
                raise TypeError(
                    f"{self.__name__}() takes from {self.nin} to {self.nargs} positional "
                    f"arguments but {len(args)} were given")
            if out is not None:
                raise TypeError("cannot specify 'out' as both a positional and keyword argument")
            out = args[self.nin:] + (None,) * (self.nargs - len(args))
            args = args[:self.nin]
        elif len(args) < self.nin:
            raise TypeError(
                f"{self.__name__}() takes from {self.nin} to {self.nargs} positional arguments "
                f"but {len(args)} were given")
        unknown = options.keys() - self.options
        if unknown:
            raise TypeError(
                f"{self.__name__}() got an unexpected keyword argument {min(unknown)!r}")
        try:
            if any(computes_itself(a) for a in args):
                raise dt.HostOnly(f"{self.__name__}: a class of NumPy's computes it")
            if out is not None or where is not True or dtype is not None or options:
                return self._call_general(args, out, where, dtype, **options)
            results = self.compute_values([operand(a) for a in args])
        except dt.HostOnly:
            given = {"out": out, "where": where, "dtype": dtype, **options}
            usual = {"out": None, "where": True, "dtype": None}
            return hosted.call(self.np, args, {
                k: v for k, v in given.items() if k not in usual or v is not usual[k]})
        if self.nout == 1:
            return keep_order(wrap(results), *args)
        return tuple([keep_order(wrap(r), *args) for r in results])

    def compute_values(self, operands: Sequence[Any], dtype: Any = None) -> Any:
        """The result's Value (a tuple of them if nout > 1) for Values, Scalars, numbers.

        ``dtype`` is that of the results, or a :class:`Loop`.
        """
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
                if d.kind in "iu" and self.__name__ in loops.COMPARISONS and not dt.in_range(x, d):
                    return loops.compare_out_of_range(self.__name__, operands)
                real = isinstance(x, complex) and d.kind != "c"
                values.append(dt.unchecked_scalar(x, d) if real else dt.scalar(x, d))
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

    def _plan(self, key: tuple[Any, ...], dtype: Any) -> Plan:
        plan = self._plan_unchecked(key, dtype)
        return errstate.checked_plan(self, plan) if errstate.active() else plan

    def _plan_unchecked(self, key: tuple[Any, ...], dtype: Any) -> Plan:
        resolved = self._resolve(key, dtype)
        inputs = resolved[: self.nin]
        if self.__name__ in loops.ANY_OPERANDS:  # these ops take each operand as it is
            inputs = tuple(k if isinstance(k, DType) else dt.DEFAULT_OF_WEAK[k] for k in key)
            return Plan(self.op, inputs, resolved[self.nin:], None)
        outputs = resolved[self.nin:]
        # a plain loop has one dtype for all operands; the few others are composed
        if self.compute is not None:
            return Plan(self.op, inputs, outputs, self.compute)
        special = loops.BY_KIND.get((self.__name__, inputs[0].kind))
        if len(set(inputs)) > 1:
            special = loops.MIXED.get(self.__name__, special)
        return Plan(self.op, inputs, outputs, special)

    def _resolve(self, key: tuple[Any, ...], dtype: Any) -> tuple[DType, ...]:
        if not any(isinstance(k, DType) for k in key):  # only Python numbers
            key = tuple(dt.DEFAULT_OF_WEAK[k] for k in key)
        if self.signature is not None and set(key) == {_BFLOAT16}:
            return (key[0],) * 3  # ml_dtypes has no such loop, and goes through float32
        given = tuple(k.numpy if isinstance(k, DType) else k for k in key)
        options: dict[str, Any] = {}
        casting = "same_kind"
        if isinstance(dtype, Loop):
            casting = dtype.casting
            if casting == "unsafe":
                options["casting"] = casting
            if dtype.signature is not None:
                options["signature"] = dtype.signature
        elif dtype is not None:
            options["signature"] = (None,) * self.nin + (dtype.numpy,) * self.nout
        try:
            found = self.np.resolve_dtypes((*given, *(None,) * self.nout), **options)
            loop = tuple(map(as_dtype, found))
        except TypeError as error:
            # NumPy's own error, or ours for a dtype that is not supported
            if any(isinstance(k, DType) and k.name == "bfloat16" for k in key):
                return self._resolve_by_trial(key, error)
            raise
        if casting not in ("same_kind", "unsafe") and self.__name__ not in loops.ANY_OPERANDS:
            # NumPy 2.4's resolve_dtypes crashes on a stricter rule that a Python number breaks
            for position, (k, d) in enumerate(zip(key, loop)):
                if isinstance(k, DType) and not dt.can_cast(k, d, casting):
                    raise dt.UFuncTypeError(
                        f"Cannot cast ufunc '{self.__name__}' input {position} from {k.numpy!r} "
                        f"to {d.numpy!r} with casting rule '{casting}'")
        return loop

    def _resolve_by_trial(self, key: tuple[Any, ...], error: TypeError) -> tuple[DType, ...]:
        # resolve_dtypes refuses pairs of bfloat16 that the call itself accepts
        empties = [onp.empty(0, k.numpy) if isinstance(k, DType) else k(0) for k in key]
        try:
            result = self.np(*empties)
        except TypeError:
            raise error from None
        results = result if isinstance(result, tuple) else (result,)
        outputs = tuple(as_dtype(r.dtype) for r in results)
        loop = outputs[0] if outputs[0] is not dt.BOOL else dt.FLOAT64
        return (*(loop,) * self.nin, *outputs)

    def _call_general(
        self, args: Any, out: Any, where: Any, dtype: Any, *, casting: str = "same_kind",
        order: str = "K", subok: bool = True, signature: Any = None, sig: Any = None,
    ) -> Any:  # fmt: skip
        loop = None
        order, casting = memory_order(order, "K"), casting_rule(casting)
        if dtype is not None or signature is not None or sig is not None or casting != "same_kind":
            loop = self._loop(dtype, signature, sig, casting)
        outs = self._outputs(out)
        mask = None if where is True else param(where, dt.BOOL)
        if out is None:
            return self._compute(args, outs, mask, loop, casting, order)
        # what is written may be an operand, too
        targets = [target for target in outs if target is not None]
        with write_lock(targets[0]) if len(targets) == 1 else write_locks(targets):
            return self._compute(args, outs, mask, loop, casting, order)

    def _compute(
        self, args: Any, outs: Any, mask: Any, loop: Any, casting: str, order: str
    ) -> Any:
        operands = [operand(a) for a in args]
        if mask is None:
            result = self.compute_values(operands, loop)
        else:
            with errstate.only_where(mask):
                result = self.compute_values(operands, loop)
        results = result if self.nout > 1 else (result,)
        finished = []
        for value, target in zip(results, outs):
            if mask is not None:
                value = self._masked(value, mask, target, casting)
            if target is not None:
                store(self.__name__, target, value, casting)
                finished.append(target)
            elif order == "K":
                finished.append(keep_order(wrap(value), *args))
            else:
                finished.append(lay_out(wrap(value), _order(order, args)))
        return tuple(finished) if self.nout > 1 else finished[0]

    def _loop(self, dtype: Any, signature: Any, sig: Any, casting: str) -> Any:
        """What ``compute_values`` takes for the arguments that choose the loop."""
        if sig is not None:
            if signature is not None:
                raise TypeError("cannot specify both 'sig' and 'signature'")
            signature = sig
        if signature is None:
            if casting == "same_kind":
                return None if dtype is None else dt.internal(dtype)
            chosen = () if dtype is None else (dt.internal(dtype).numpy,)
            return Loop((None,) * self.nin + chosen * self.nout, casting) if chosen else (
                Loop(None, casting))
        if dtype is not None:
            raise TypeError("cannot specify both 'signature' and 'dtype'")
        if isinstance(signature, str):
            parts = signature.split("->")
            if len(parts) != 2 or (len(parts[0]), len(parts[1])) != (self.nin, self.nout):
                raise ValueError(
                    f"a type-string for {self.__name__}, requires {self.nin} typecode(s) before "
                    f"and {self.nout} after the -> sign")
            signature = tuple(parts[0] + parts[1])
        elif not isinstance(signature, tuple):
            raise TypeError("the signature object to ufunc must be a string or a tuple.")
        if len(signature) != self.nargs:
            raise ValueError(
                "a type-tuple must be specified of length 1 or 3 for ufunc '"
                f"{self.__name__}'".replace("3", str(self.nargs)))
        return Loop(tuple(None if d is None else dt.internal(d).numpy for d in signature), casting)

    def _outputs(self, out: Any) -> tuple[Any, ...]:
        """The arrays to write to, None for each that is not given."""
        if not isinstance(out, tuple):
            if out is not None and self.nout > 1:
                raise TypeError("'out' must be a tuple of arrays")
            out = (out,) * self.nout
        elif len(out) != self.nout:
            raise ValueError(
                "The 'out' tuple must have exactly one entry per ufunc output")
        for target in out:
            if isinstance(target, onp.ndarray):
                raise dt.HostOnly(
                    f"{self.__name__}: out is an array of NumPy's, which NumPy writes to")
            if target is not None and (
                not isinstance(target, ndarray) or type(target) is ScalarArray
            ):
                raise TypeError("return arrays must be of ArrayType")
        outs: tuple[Any, ...] = out
        return outs

    def _masked(self, value: Any, mask: Any, target: Any, casting: str) -> Any:
        if target is None:
            # NumPy leaves these elements uninitialised; zeros are as good and repeatable
            other = dt.scalar(0, value.type.dtype)
        else:
            other = target.value
            value = cast_output(self.__name__, value, other.type.dtype, casting)
        return record("where", (mask, value, other))


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


#: the specs of powers by their exponent; none while floating-point errors are looked for
_powers: Final[dict[int, lazyloom.Spec]] = {}


def integer_power(x: Any, n: int) -> Any:
    """The power of a Value by an exponent that is part of the program."""
    ready = _powers.get(n)
    if ready is None:
        ready = lazyloom.spec("integer_power", 1, {"exponent": n})
        if errstate.active():
            name = {-1: "reciprocal", 2: "square"}.get(n, "power")
            return errstate.watch(name, (x,), record_one(ready, x))
        _powers[n] = ready
    return record_one(ready, x)


def check_errors(on: bool) -> None:
    """Make every ufunc look for floating-point errors, or stop."""
    _powers.clear()
    for function in TABLE.values():
        function.check_errors(on)


errstate.on_switch(check_errors)


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
    return _cast(value, dtype)


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
    assign(target, value, "output array")


def binary(function: ufunc, a: Any, b: Any, short: bool = False) -> Any:
    """An operator's result, or NotImplemented where an operand is not array-like.

    With ``short`` None where more than one op may be needed.
    """
    if hooks:
        found = hooks[0][0](function, a, b)
        if found is not None:
            return found
    # what programs do most, without the detours of the general case
    if isinstance(a, ndarray):
        if isinstance(b, ndarray):
            ready = function.ready.get((a.tensor_type.dtype, b.tensor_type.dtype))
            if ready is not None:
                result = wrap(record_two(ready, a.value, b.value))
                return keep_order(result, a, b) if a.slow_path or b.slow_path else result
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
    if function.__name__ == "multiply" and (_repeats(a, b) or _repeats(b, a)):
        return NotImplemented  # Python repeats the sequence
    if _decides(a) or _decides(b):
        return NotImplemented
    other = b if isinstance(a, ndarray) else a
    if decides_itself(other):
        # its reflected operator, if it wants no ufuncs
        return function(a, b) if type(other).__array_ufunc__ is not None else NotImplemented
    try:
        if isinstance(other, onp.ndarray) and computes_itself(other):
            return hosted.operate(function.np, a, b)
        operands = (operand(a, strict=True), operand(b, strict=True))
    except NotImplementedError:
        return of_number(function.__name__, a, b)
    except dt.HostOnly:
        return hosted.operate(function.np, a, b)
    if not short and errstate.active() and _scalars(a, b):
        with errstate.of_scalars():
            return wrap(function.compute_values(operands))
    return keep_order(wrap(function.compute_values(operands)), a, b)


_KNOWN: Final = frozenset((float, int, bool, complex, list, tuple, onp.ndarray))


def decides_itself(x: Any) -> bool:
    """Whether an object that is no array says itself what ufuncs do with it."""
    kind = type(x)
    return kind not in _KNOWN and hasattr(kind, "__array_ufunc__") and not isinstance(
        x, (lazyloom.Tensor, onp.ndarray, onp.generic))


def _decides(x: Any) -> bool:
    """Whether an operator is another frontend's to do: NumPy leaves them to tensors, too."""
    return (isinstance(x, lazyloom.Tensor) and not isinstance(x, ndarray)
            and operators_of(type(x)) is not None)  # fmt: skip


def _repeats(sequence: Any, count: Any) -> bool:
    """Whether a product is ``[0] * n``, as it is with NumPy's scalars of integers."""
    return (type(count) is ScalarArray and isinstance(sequence, (list, tuple))
            and count.dtype.kind in "iu")  # fmt: skip


def _scalars(*operands: Any) -> bool:
    """Whether NumPy would compute with its scalars, whose errors have names of their own."""
    return all(isinstance(x, (ScalarArray, int, float, complex, onp.generic)) for x in operands)


def _with_number(function: ufunc, x: ndarray, number: Any, reverse: bool) -> Any:
    """An array and a Python number, if that is one op; else None."""
    kind = type(number)
    d = x.tensor_type.dtype
    ready = function.ready.get((kind, d) if reverse else (d, kind))
    if ready is None or x.slow_path:
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
    if hooks:
        found = hooks[0][1](function, target, other)
        if found is not None:
            return found
    try:
        with write_lock(target):
            # the target is read first, in the order in which other frontends read
            operands = (target.value, operand(other, strict=True))
            store(function.__name__, target, function.compute_values(operands))
    except NotImplementedError:
        return NotImplemented
    except dt.HostOnly:
        return hosted.call(function.np, (target, other), {"out": target})
    return target


TABLE: Final[dict[str, ufunc]] = {
    **{name: ufunc(name, op) for name, op in loops.DIRECT.items()},
    "power": _Power("power", "power"),
    **{name: ufunc(name, None, compute) for name, compute in loops.COMPOSED.items()},
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
    return value if source is target else _cast(value, target)


def _cast(value: Any, target: DType) -> Any:
    """A cast that the program wrote, with a check while floating-point errors are looked for."""
    result = record("cast", (value,), {"dtype": target})
    return errstate.watch("cast", (value,), result) if errstate.ACTIVE.on else result
