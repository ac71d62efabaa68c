"""Reading the arguments of ``loom_apply``: op names, operands, attributes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from _lazyloom_abi import ffi  # type: ignore[import-not-found]

import lazyloom
from lazyloom.errors import ArgumentError, DTypeError, HandleError

from . import handles
from .handles import TENSOR

#: words of a loom_operand: kind and dtype, tensor, integer, real, imaginary
_OPERAND_WORDS: Final = 5

#: attributes beyond those of an op that are looked at; more were not meant to be there
_MISTAKEN: Final = 4

#: entries of a list, as in ``errors.c``
LONGEST: Final = 1 << 20

_ops: dict[bytes, Any] = {}


def op_named(name: Any) -> Any:
    """The op of a C string. Raises UnknownOpError."""
    text = ffi.string(name)
    found = _ops.get(text)
    if found is None:
        found = _ops[text] = lazyloom.ops.lookup(text.decode("utf-8", "replace"))
    return found


def _scalar(op: Any, position: int, dtype: Any, number: Any) -> lazyloom.Scalar:
    """A run-time scalar; a position never becomes structure, so a loop over it is one program."""
    spec = op.operands[min(position, len(op.operands) - 1)]
    return lazyloom.Scalar(number, dtype, bake=spec.classes != "index")


def values(op: Any, given: Any, count: int) -> list[Any]:
    """Values, Scalars and None; numbers without a dtype take that of the tensors.

    Raises ArgumentError, DTypeError, HandleError.
    """
    if 0 <= op.max_operands < count:
        # what stands beyond the operands that the op has is not looked at
        op.check_operands([None] * count)
    words = ffi.unpack(ffi.cast("uint64_t *", given), count * _OPERAND_WORDS) if count else []
    result: list[Any] = []
    numbers: list[tuple[int, Any]] = []
    given_last = -1
    for i in range(count):
        head = words[i * _OPERAND_WORDS]
        kind = head & 0xFFFFFFFF
        if kind == 1:
            try:
                found = handles.find(TENSOR, words[i * _OPERAND_WORDS + 1])
            except HandleError as error:
                raise _no_tensor(op, i, error) from None
            result.append(found if isinstance(found, lazyloom.Value) else found.value)
            given_last = i
        elif kind == 0:
            result.append(None)
        else:
            number = _number(op, given[i], i)
            given_last = i
            if head >> 32:
                dtype = lazyloom.dtypes.dtype_indexed(head >> 32)
                result.append(_scalar(op, i, _checked(op, i, number, dtype), number))
            else:
                numbers.append((i, number))
                result.append(None)
    for i, number in numbers:
        dtype = _shared_dtype(op, i, number, result)
        result[i] = _scalar(op, i, _checked(op, i, number, dtype), number)
    if given_last < count - 1 and op.max_operands >= count:
        # a program is the same whether what is absent at the end is said or not
        del result[max(given_last + 1, op.min_operands):]
    return result


def classes(op: Any, count: int) -> tuple[int, int]:
    """Which operands of a call share a dtype, and which are positions, as bits.

    Bit 63 stands for all from the 64th on, which are of one class.
    """
    shares = positions = 0
    last = len(op.operands) - 1
    for i in range(min(count, 64) if last >= 0 else 0):
        name = op.operands[min(i, last)].classes
        shares |= (name == "T") << i
        positions |= (name == "index") << i
    return shares, positions


def _no_tensor(op: Any, position: int, error: HandleError) -> HandleError:
    known = position < op.max_operands or (op.max_operands < 0 and op.operands)
    name = op.operand_name(position) if known else str(position)
    return HandleError(f"{op.name}: operand {name!r}: {error}", op=op.name)


def _number(op: Any, operand: Any, position: int) -> Any:
    kind = operand.kind
    if kind == 2:
        return operand.integer != 0
    if kind == 3:
        return operand.integer
    if kind == 4:
        return operand.real
    if kind == 5:
        return complex(operand.real, operand.imaginary)
    raise ArgumentError(
        f"{op.name}: operand {position} has kind {kind}, expected a loom_operand_kind (0 to 5)",
        op=op.name)


def _checked(op: Any, position: int, number: Any, dtype: Any) -> Any:
    """The dtype, if it can hold that kind of number."""
    if isinstance(number, bool):
        fits = True
    elif isinstance(number, int):
        fits = dtype.kind != "b"
    elif isinstance(number, float):
        fits = dtype.is_inexact
    else:
        fits = dtype.is_complex
    if not fits:
        raise DTypeError(
            f"{op.name}: operand {position} is the number {number!r}, which {dtype.name} does not "
            "hold; give the number another kind or cast the tensors first", op=op.name)
    if isinstance(number, int) and dtype.is_integer:
        limits = np.iinfo(dtype.numpy)
        if not limits.min <= number <= limits.max:
            raise ArgumentError(
                f"{op.name}: operand {position} is {number}, expected {limits.min} to {limits.max} "
                f"for {dtype.name}", op=op.name)
    return dtype


def _shared_dtype(op: Any, position: int, number: Any, operands: list[Any]) -> Any:
    """The dtype of a number that was given without one."""
    last = len(op.operands) - 1
    if op.operands[min(position, last)].classes != "T":
        return lazyloom.dtypes.as_dtype(type(number))
    for i, v in enumerate(operands):
        if v is not None and op.operands[min(i, last)].classes == "T":
            return v.type.dtype
    return lazyloom.dtypes.as_dtype(type(number))


def attributes(op: Any, given: Any, count: int) -> dict[str, Any]:
    """A dict of ``loom_attr`` structures. Raises ArgumentError, DTypeError."""
    result: dict[str, Any] = {}
    known = len(op.attributes)
    if count > known + _MISTAKEN:
        raise ArgumentError(
            f"{op.name}: {count} attributes were given, expected at most {known}", op=op.name)
    # of more than the op has, one is unknown or there twice, and that is said by its name
    for i in range(min(count, known + 1)):
        attribute = given[i]
        if attribute.name == ffi.NULL:
            raise ArgumentError(f"{op.name}: attribute {i} has no name", op=op.name)
        name = ffi.string(attribute.name).decode("utf-8", "replace")
        if name in result:
            raise ArgumentError(f"{op.name}: attribute {name!r} was given twice", op=op.name)
        kind = attribute.kind
        value = attribute.value
        if kind == 2:
            result[name] = value.integer
        elif kind == 6:
            result[name] = tuple(ffi.unpack(_array(op, name, value.integers, attribute.count),
                                            attribute.count))
        elif kind == 1:
            # any other byte than 0 and 1, which cffi refuses to read as a bool, is true as in C
            result[name] = ffi.cast("unsigned char *", ffi.addressof(attribute, "value"))[0] != 0
        elif kind == 3:
            result[name] = value.real
        elif kind == 4:
            text = _array(op, name, value.text, 1)
            result[name] = ffi.string(text).decode("utf-8", "replace")
        elif kind == 5:
            result[name] = lazyloom.dtypes.dtype_indexed(value.dtype)
        elif kind == 7:
            result[name] = tuple(ffi.unpack(_array(op, name, value.reals, attribute.count),
                                            attribute.count))
        elif kind == 0:
            result[name] = None
        else:
            raise ArgumentError(
                f"{op.name}: attribute {name!r} has kind {kind}, expected a loom_attr_kind "
                "(0 to 7)", op=op.name)
    return result


def _array(op: Any, name: str, pointer: Any, count: int) -> Any:
    if count > LONGEST:
        # before an entry is read: there are hardly that many
        raise ArgumentError(
            f"{op.name}: attribute {name!r} has {count} entries, expected at most {LONGEST}",
            op=op.name)
    if pointer == ffi.NULL and count:
        raise ArgumentError(
            f"{op.name}: attribute {name!r} is NULL, expected a pointer to what it has", op=op.name)
    return pointer if count else ffi.new("int64_t[]", 0)
