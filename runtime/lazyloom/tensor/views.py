"""Views: how a tensor that shares another's storage reads it and writes through it.

A step knows the type it yields, how to read (``forward``), and how to write a new value of
its result back into its base, the value from which it is taken (``put``).
"""

from __future__ import annotations

from typing import Any, Final

from ..dtypes import DType, complex64, complex128, float32, float64
from ..dtypes import int64 as _int64
from ..errors import AliasError, ArgumentError, ShapeError
from ..ops.spec import lookup
from ..trace.graph import Value
from ..trace.recording import Operandlike, record, record_one, record_spec, record_two
from ..trace.scalars import Scalar
from ..trace.specs import Spec, spec_of
from ..trace.switches import grad_enabled
from ..types import TensorType


class ViewStep:
    """One step of a view chain. Immutable; equal to another step that does the same.

    A step that is kept and used again has its specs ready.
    """

    __slots__: tuple[str, ...] = ("_reads", "_writes", "repeats")

    #: the specs of reading and writing through it, once known
    _reads: Spec | None
    _writes: Spec | None
    #: true if several elements of the view may be one element of its base
    repeats: bool

    def __init__(self) -> None:
        self._reads = None
        self._writes = None
        self.repeats = False

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(self) is type(other) and self._parts() == other._parts())

    def __hash__(self) -> int:
        return hash((type(self), self._parts()))

    def _parts(self) -> tuple[Any, ...]:
        """What distinguishes steps of one class."""
        return ()

    def out_type(self, t: TensorType) -> TensorType:
        """The type of the view of a tensor of type ``t``. Raises an error if it does not fit."""
        raise AssertionError("a view step defines out_type")

    def forward(self, base: Value) -> Value:
        """The view's data: a value of its own on the tape, even if nothing moves.

        So the view's hooks and gradient are not those of the base.
        """
        raise AssertionError("a view step defines forward")

    def put(self, base: Value, new: Value) -> Value:
        """``base`` with the viewed part replaced by ``new``; a value of its own on the tape."""
        raise AssertionError("a view step defines put")


def _flows(base: Value) -> bool:
    """Return True if a gradient flows from a view that is read now to its base."""
    return base.requires_grad and grad_enabled()


def _as_it_is(base: Value) -> Value:
    """All of the data in their order."""
    return record_one(spec_of(lookup("identity"), None, 1), base) if _flows(base) else base


class Slice(ViewStep):
    """``starts[i] + steps[i] * k`` for ``k`` in ``range(sizes[i])`` along each axis.

    Starts of a part of an axis are run-time parameters, so ``x[i]`` in a loop is one program
    for all ``i``.
    """

    __slots__ = ("starts", "sizes", "steps", "_contiguous", "_empty", "_scalars")

    def __init__(
        self, starts: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...]
    ) -> None:
        super().__init__()
        self.starts: Final = starts
        self.sizes: Final = sizes
        self.steps: Final = steps
        contiguous = True
        for step in steps:
            if step != 1:
                contiguous = False
        self._contiguous: Final = contiguous
        self._empty: Final = 0 in sizes
        self._scalars: list[Scalar] | None = None

    def _parts(self) -> tuple[Any, ...]:
        return (self.starts, self.sizes, self.steps)

    def out_type(self, t: TensorType) -> TensorType:
        if not len(self.starts) == len(self.sizes) == len(self.steps) == t.ndim:
            raise ArgumentError(
                f"slice: {len(self.starts)} starts, {len(self.sizes)} sizes and {len(self.steps)} "
                f"steps were given, expected {t.ndim} of each for {t.text}")
        for axis, d in enumerate(t.shape):
            start, size, step = self.starts[axis], self.sizes[axis], self.steps[axis]
            last = start + step * (size - 1)
            if size < 0 or step == 0 or size and not (0 <= start < d and 0 <= last < d):
                raise ShapeError(
                    f"slice: start {start}, size {size}, step {step} does not fit axis {axis} of "
                    f"{t.text}")
        return t.like(self.sizes, t.dtype)

    def _starts(self) -> list[Scalar]:
        scalars = self._scalars
        if scalars is None:
            scalars = [Scalar(start, _int64, bake=False) for start in self.starts]
            self._scalars = scalars
        return scalars

    def _attributes(self) -> dict[str, Any]:
        if self._empty:
            zeros = (0,) * len(self.sizes)
            return {"starts": zeros, "stops": self.sizes, "strides": (1,) * len(self.sizes)}
        stops = tuple([
            a + s * n for a, n, s in zip(self.starts, self.sizes, self.steps, strict=True)])
        return {"starts": self.starts, "stops": stops, "strides": self.steps}

    def forward(self, base: Value) -> Value:
        if self._contiguous and self.sizes == base.shape:
            return _as_it_is(base)
        spec = self._reads
        if self._contiguous and not self._empty:
            if spec is None:
                spec = self._reads = spec_of(
                    lookup("dynamic_slice"), {"sizes": self.sizes}, 1 + len(self.sizes))
            operands: list[Operandlike] = [base]
            operands.extend(self._starts())
            view: Value = record_spec(spec, operands)
            return view
        if spec is None:
            spec = self._reads = spec_of(lookup("slice"), self._attributes(), 1)
        return record_one(spec, base)

    def put(self, base: Value, new: Value) -> Value:
        if self._empty:
            return base
        if self._contiguous and self.sizes == base.shape:
            return _as_it_is(new)
        spec = self._writes
        if self._contiguous:
            if spec is None:
                spec = self._writes = spec_of(
                    lookup("dynamic_update_slice"), None, 2 + len(self.sizes))
            operands: list[Operandlike] = [base, new]
            operands.extend(self._starts())
            written: Value = record_spec(spec, operands)
            return written
        if spec is None:
            spec = self._writes = spec_of(lookup("slice_update"), self._attributes(), 2)
        return record_two(spec, base, new)


class Permute(ViewStep):
    """Axes in another order: axis ``i`` of the view is axis ``axes[i]`` of the base."""

    __slots__ = ("axes", "_same")

    def __init__(self, axes: tuple[int, ...]) -> None:
        super().__init__()
        self.axes: Final = axes
        self._same: Final = axes == tuple(range(len(axes)))

    def _parts(self) -> tuple[Any, ...]:
        return (self.axes,)

    def out_type(self, t: TensorType) -> TensorType:
        if sorted(self.axes) != list(range(t.ndim)):
            raise ArgumentError(
                f"transpose: axes {self.axes} were given, expected a permutation of the {t.ndim} "
                f"axes of {t.text}")
        return t.like(tuple([t.shape[a] for a in self.axes]), t.dtype)

    def forward(self, base: Value) -> Value:
        if self._same and not _flows(base):
            return base
        spec = self._reads
        if spec is None:
            spec = self._reads = spec_of(lookup("transpose"), {"axes": self.axes}, 1)
        return record_one(spec, base)

    def put(self, base: Value, new: Value) -> Value:
        if self._same:
            return _as_it_is(new)
        spec = self._writes
        if spec is None:
            inverse = [0] * len(self.axes)
            for i, a in enumerate(self.axes):
                inverse[a] = i
            spec = self._writes = spec_of(lookup("transpose"), {"axes": tuple(inverse)}, 1)
        return record_one(spec, new)


class Reshape(ViewStep):
    """The same elements in the same order in another shape."""

    __slots__ = ("shape", "_written")

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.shape: Final = shape
        #: the shape written to last, with its spec
        self._written: tuple[tuple[int, ...], Spec] | None = None

    def _parts(self) -> tuple[Any, ...]:
        return (self.shape,)

    def out_type(self, t: TensorType) -> TensorType:
        result = t.like(self.shape, t.dtype)
        if result.size != t.size:
            raise ShapeError(
                f"reshape: {t.text} has {t.size} elements, shape {self.shape} has {result.size}")
        return result

    def forward(self, base: Value) -> Value:
        if base.shape == self.shape and not _flows(base):
            return base
        spec = self._reads
        if spec is None:
            spec = self._reads = spec_of(lookup("reshape"), {"shape": self.shape}, 1)
        return record_one(spec, base)

    def put(self, base: Value, new: Value) -> Value:
        shape = base.shape
        if shape == self.shape:
            return _as_it_is(new)
        written = self._written
        if written is None or written[0] != shape:
            written = (shape, spec_of(lookup("reshape"), {"shape": shape}, 1))
            self._written = written
        return record_one(written[1], new)


class Broadcast(ViewStep):
    """Axes of size 1 and new leading axes repeated. Cannot be written: see :class:`Strided`."""

    __slots__ = ("shape",)

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.shape: Final = shape

    def _parts(self) -> tuple[Any, ...]:
        return (self.shape,)

    def out_type(self, t: TensorType) -> TensorType:
        offset = len(self.shape) - t.ndim
        fits = offset >= 0 and all(
            d == 1 or d == self.shape[offset + i] for i, d in enumerate(t.shape))
        if not fits:
            raise ShapeError(f"broadcast: {t.text} does not broadcast to shape {self.shape}")
        return t.like(self.shape, t.dtype)

    def forward(self, base: Value) -> Value:
        if base.shape == self.shape and not _flows(base):
            return base
        spec = self._reads
        if spec is None:
            spec = self._reads = spec_of(lookup("broadcast_to"), {"shape": self.shape}, 1)
        return record_one(spec, base)

    def put(self, base: Value, new: Value) -> Value:
        if base.shape == self.shape:
            return _as_it_is(new)
        if 0 in self.shape:
            return base
        raise AliasError(
            f"a broadcast view of shape {self.shape} cannot be written: several of its elements "
            f"are one element of the {base.type.text} below; copy it first")

    def strided(self, shape: tuple[int, ...]) -> Strided:
        """The same view of a tensor of that shape by strides, which can be written."""
        steps = [0] * len(self.shape)
        step = 1
        for axis in range(1, len(shape) + 1):
            if shape[-axis] == self.shape[-axis]:
                steps[-axis] = step
            step *= max(shape[-axis], 1)
        return Strided(0, self.shape, tuple(steps))


class Diagonal(ViewStep):
    """The diagonal ``offset`` of two axes, which moves to the end."""

    __slots__ = ("offset", "axis1", "axis2")

    def __init__(self, offset: int, axis1: int, axis2: int) -> None:
        super().__init__()
        self.offset: Final = offset
        self.axis1: Final = axis1
        self.axis2: Final = axis2

    def _parts(self) -> tuple[Any, ...]:
        return (self.offset, self.axis1, self.axis2)

    def _attributes(self) -> dict[str, int]:
        return {"offset": self.offset, "axis1": self.axis1, "axis2": self.axis2}

    def out_type(self, t: TensorType) -> TensorType:
        return spec_of(lookup("diagonal"), self._attributes(), 1).infer((t,))[0]

    def forward(self, base: Value) -> Value:
        view: Value = record("diagonal", [base], self._attributes())
        return view

    def put(self, base: Value, new: Value) -> Value:
        written: Value = record("diagonal_update", [base, new], self._attributes())
        return written


class Select(ViewStep):
    """The part at one position of an axis, which is data: a 0-d integer value.

    ``given`` distinguishes two such steps; ``index``, which the ops use, is the same number,
    perhaps checked.
    """

    __slots__ = ("axis", "given", "index")

    def __init__(self, axis: int, given: Value, index: Value) -> None:
        super().__init__()
        self.axis: Final = axis
        self.given: Final = given
        self.index: Final = index

    def _parts(self) -> tuple[Any, ...]:
        return (self.axis, self.given)

    def out_type(self, t: TensorType) -> TensorType:
        return spec_of(lookup("take"), {"axis": self.axis}, 2).infer((t, self.index.type))[0]

    def forward(self, base: Value) -> Value:
        view: Value = record("take", [base, self.index], {"axis": self.axis})
        return view

    def put(self, base: Value, new: Value) -> Value:
        written: Value = record("index_update", [base, new, self.index], {"axes": (self.axis,)})
        return written


class Strided(ViewStep):
    """Elements at ``offset + sum(i[k] * steps[k])`` of the flattened base, of any shape.

    Several of them may be one element of the base. A write then takes the last of those whose
    value differs from the old one.
    """

    __slots__ = ("offset", "shape", "steps")

    def __init__(self, offset: int, shape: tuple[int, ...], steps: tuple[int, ...]) -> None:
        super().__init__()
        self.offset: Final = offset
        self.shape: Final = shape
        self.steps: Final = steps
        # sorted, each step must go beyond all that the smaller ones reach, or places may coincide
        reach = 0
        for step, n in sorted([(abs(s), n) for n, s in zip(shape, steps) if n != 1]):
            if step <= reach:
                self.repeats = True
            reach += step * (n - 1)

    def _parts(self) -> tuple[Any, ...]:
        return (self.offset, self.shape, self.steps)

    def out_type(self, t: TensorType) -> TensorType:
        first = last = self.offset
        for n, s in zip(self.shape, self.steps, strict=True):
            if s < 0:
                first += s * (n - 1)
            else:
                last += s * (n - 1)
        if 0 not in self.shape and (first < 0 or last >= t.size):
            raise ShapeError(
                f"strided: offset {self.offset}, shape {self.shape} and steps {self.steps} lead to "
                f"elements {first} to {last} of {t.text}, which has {t.size}")
        return t.like(self.shape, t.dtype)

    def positions(self) -> Value:
        """The position of each element in the flattened base."""
        positions: Value = record(
            "full", [Scalar(self.offset, _int64, bake=False)], {"shape": self.shape})
        for axis, step in enumerate(self.steps):
            if step and self.shape[axis] != 1:
                number = record("iota", [], {"shape": self.shape, "axis": axis, "dtype": _int64})
                by = Scalar(step, _int64, bake=False)
                positions = record("add", [positions, record("multiply", [number, by])])
        return positions

    def forward(self, base: Value) -> Value:
        flat = record("reshape", [base], {"shape": (base.type.size,)})
        view: Value = record("take", [flat, self.positions()], {"axis": 0})
        return view

    def put(self, base: Value, new: Value) -> Value:
        if 0 in self.shape:
            return base
        positions = self.positions()
        written = put_at(base, new, positions)
        if not self.repeats:
            return written
        # everything was written, so the gradient reaches all of it; now write what differs once
        # more, so that an unchanged element of the same place does not replace it
        old = self.forward(base)
        changed = record("not_equal", [new, old])
        if base.dtype.is_inexact:
            nans = record("logical_and", [record("isnan", [new]), record("isnan", [old])])
            changed = record("logical_and", [changed, record("logical_not", [nans])])
        # a position that is out of range is not written
        nowhere = Scalar(base.type.size, _int64, bake=False)
        return put_at(written, new, record("where", [changed, positions, nowhere]))


def put_at(base: Value, new: Value, positions: Value) -> Value:
    """``base`` with elements written at positions of the flattened base."""
    flat = record("reshape", [base], {"shape": (base.type.size,)})
    flat = record("index_update", [flat, new, positions], {"axes": (0,)})
    written: Value = record("reshape", [flat], {"shape": base.shape})
    return written


class Real(ViewStep):
    """The real part; of a real tensor, itself."""

    __slots__ = ()

    def out_type(self, t: TensorType) -> TensorType:
        return t.like(t.shape, t.dtype.real)

    def forward(self, base: Value) -> Value:
        if not base.dtype.is_complex:
            return base
        part: Value = record("real", [base])
        return part

    def put(self, base: Value, new: Value) -> Value:
        if not base.dtype.is_complex:
            return new
        written: Value = record("complex", [new, record("imag", [base])])
        return written


class Imag(ViewStep):
    """The imaginary part of a complex tensor."""

    __slots__ = ()

    def out_type(self, t: TensorType) -> TensorType:
        if not t.dtype.is_complex:
            raise ArgumentError(f"imag: {t.text} given, expected a complex dtype for a view")
        return t.like(t.shape, t.dtype.real)

    def forward(self, base: Value) -> Value:
        part: Value = record("imag", [base])
        return part

    def put(self, base: Value, new: Value) -> Value:
        written: Value = record("complex", [record("real", [base]), new])
        return written


class Conj(ViewStep):
    """The complex conjugates; of a real tensor, itself."""

    __slots__ = ()

    def out_type(self, t: TensorType) -> TensorType:
        return t

    def forward(self, base: Value) -> Value:
        if not base.dtype.is_complex:
            return base
        conjugate: Value = record("conj", [base])
        return conjugate

    def put(self, base: Value, new: Value) -> Value:
        return self.forward(new)


class AsReal(ViewStep):
    """Real and imaginary parts of a complex tensor as a last axis of size 2."""

    __slots__ = ()

    def out_type(self, t: TensorType) -> TensorType:
        if not t.dtype.is_complex:
            raise ArgumentError(f"view_as_real: {t.text} given, expected a complex dtype")
        return t.like((*t.shape, 2), t.dtype.real)

    def forward(self, base: Value) -> Value:
        parts = [record("real", [base]), record("imag", [base])]
        view: Value = record("stack", parts, {"axis": len(base.shape)})
        return view

    def put(self, base: Value, new: Value) -> Value:
        return _joined(new)


class AsComplex(ViewStep):
    """Complex numbers from a last axis of size 2 that holds real and imaginary parts."""

    __slots__ = ()

    def out_type(self, t: TensorType) -> TensorType:
        if t.dtype not in (float32, float64) or not t.shape or t.shape[-1] != 2:
            raise ArgumentError(
                f"view_as_complex: {t.text} given, expected float32 or float64 and a last axis of "
                "size 2")
        return t.like(
            t.shape[:-1], complex64 if t.dtype is float32 else complex128)

    def forward(self, base: Value) -> Value:
        return _joined(base)

    def put(self, base: Value, new: Value) -> Value:
        parts = [record("real", [new]), record("imag", [new])]
        written: Value = record("stack", parts, {"axis": len(new.shape)})
        return written


def _joined(x: Value) -> Value:
    """The complex numbers whose parts are along the last axis."""
    shape = x.shape[:-1]
    zeros = (0,) * len(shape)
    ones = (1,) * len(x.shape)
    parts: list[Value] = []
    for i in (0, 1):
        attributes = {"starts": (*zeros, i), "stops": (*shape, i + 1), "strides": ones}
        parts.append(record("reshape", [record("slice", [x], attributes)], {"shape": shape}))
    joined: Value = record("complex", parts)
    return joined


class Bitcast(ViewStep):
    """The same bits as another dtype; a last axis has the ratio of unequal itemsizes as extent.

    A smaller dtype appends that axis, a larger one removes it, as the op ``bitcast`` does.
    """

    __slots__ = ("dtype",)

    def __init__(self, dtype: DType) -> None:
        super().__init__()
        self.dtype: Final = dtype

    def _parts(self) -> tuple[Any, ...]:
        return (self.dtype,)

    def out_type(self, t: TensorType) -> TensorType:
        return spec_of(lookup("bitcast"), {"dtype": self.dtype}, 1).infer((t,))[0]

    def forward(self, base: Value) -> Value:
        if base.dtype is self.dtype:
            return _as_it_is(base)
        view: Value = record("bitcast", [base], {"dtype": self.dtype})
        return view

    def put(self, base: Value, new: Value) -> Value:
        if base.dtype is self.dtype:
            return _as_it_is(new)
        written: Value = record("bitcast", [new], {"dtype": base.dtype})
        return written


def index_key(index: Any) -> Any:
    """A hashable stand-in for an index of ints, slices of ints, None and ``...``.

    None for any other index. Frontends use it as the key of the views of an index.
    """
    if type(index) is int:
        return index
    if type(index) is slice:
        return _slice_key(index)
    if type(index) is not tuple:
        return None
    parts: list[Any] = []
    for item in index:
        if type(item) is slice:
            item = _slice_key(item)
            if item is None:
                return None
        elif type(item) is not int and item is not None and item is not Ellipsis:
            return None
        parts.append(item)
    return tuple(parts)


def _slice_key(item: Any) -> Any:
    start = item.start
    stop = item.stop
    step = item.step
    if (
        (start is None or type(start) is int) and (stop is None or type(stop) is int)
        and (step is None or type(step) is int)
    ):  # fmt: skip
        return (slice, start, stop, step)
    return None
