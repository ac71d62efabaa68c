"""The C ABI called from Python: the library loaded into this process, as a C caller sees it.

For tests, and for trying the ABI out; programs in Python use ``lazyloom`` itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import cffi
import numpy as np

import lazyloom
from lazyloom import errors

from . import build, header


def load(path: str | Path | None = None) -> tuple[Any, Any]:
    """cffi's ``(ffi, lib)`` for the library at that path, or the one built for here."""
    ffi = cffi.FFI()
    ffi.cdef(header.declarations(header.text()))
    return ffi, ffi.dlopen(str(path or build.build()))


class Tensor:
    """A ``loom_tensor`` that is released with this object."""

    def __init__(self, client: Client, handle: Any) -> None:
        self.client = client
        self.handle = handle

    def __del__(self) -> None:
        self.client.lib.loom_tensor_release(self.handle)

    @property
    def dtype(self) -> Any:
        """The element type, a ``lazyloom.DType``."""
        found = self.client.out("loom_dtype *", self.client.lib.loom_tensor_dtype, self.handle)
        return lazyloom.dtypes.dtype_indexed(int(found))

    @property
    def shape(self) -> tuple[int, ...]:
        c = self.client
        ndim = int(c.out("size_t *", c.lib.loom_tensor_ndim, self.handle))
        dims = c.ffi.new("int64_t[]", max(ndim, 1))
        c.check(c.lib.loom_tensor_shape(self.handle, dims, ndim, c.ffi.NULL))
        return tuple(dims[i] for i in range(ndim))

    def read(self) -> Any:
        """The contents as a NumPy array."""
        result = np.empty(self.shape, self.dtype.numpy)
        memory = result.reshape(-1).view(np.uint8)
        c = self.client
        c.check(c.lib.loom_tensor_read(self.handle, c.ffi.from_buffer(memory), memory.nbytes))
        return result


class Capture:
    """A ``loom_capture`` that is released with this object."""

    def __init__(self, client: Client, handle: Any, results: int) -> None:
        self.client = client
        self.handle = handle
        self.results = results

    def __del__(self) -> None:
        self.client.lib.loom_capture_release(self.handle)

    def run(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """``loom_capture_run``: the results for these inputs."""
        c = self.client
        results = c.ffi.new("loom_tensor[]", max(self.results, 1))
        c.check(c.lib.loom_capture_run(
            self.handle, c._array(inputs), len(inputs), results, self.results))
        return [Tensor(c, c.ffi.new("loom_tensor *", [results[i].bits])[0])
                for i in range(self.results)]  # fmt: skip


class Client:
    """Calls by name with NumPy arrays; a failure is the ``lazyloom.errors`` class of its code."""

    def __init__(self, path: str | Path | None = None) -> None:
        self.ffi, self.lib = load(path)
        self.check(self.lib.loom_initialize())

    def check(self, status: int) -> None:
        """Raise what the calling thread's error record says, unless the status is LOOM_OK."""
        if status == 0:
            return
        text = {
            name: self.ffi.string(getattr(self.lib, f"loom_error_{name}")()).decode()
            for name in ("message", "op", "site")
        }
        kinds = [k for k in vars(errors).values() if isinstance(k, type)]
        for kind in kinds:
            if issubclass(kind, errors.LoomError) and kind.code == status:
                break
        else:
            kind = errors.LoomError
            text["message"] = f"status {status}: {text['message']}"
        raise kind(text["message"], op=text["op"] or None, site=text["site"] or None)

    def out(self, type: str, function: Any, *arguments: Any) -> Any:
        """Call a function whose last parameter is one result; give that result."""
        result = self.ffi.new(type)
        self.check(function(*arguments, result))
        return result[0]

    def from_numpy(self, array: Any) -> Tensor:
        """A tensor with a copy of an array."""
        contiguous = np.asarray(array, order="C")
        dtype = lazyloom.dtypes.as_dtype(contiguous.dtype)
        memory = contiguous.reshape(-1).view(np.uint8)
        shape = self.ffi.new("int64_t[]", list(contiguous.shape) or [0])
        handle = self.out(
            "loom_tensor *", self.lib.loom_tensor_from_host, self.ffi.from_buffer(memory),
            memory.nbytes, dtype.index, shape, contiguous.ndim)
        return Tensor(self, handle)

    def operand(self, given: Any) -> Any:
        """A ``loom_operand`` of a Tensor, an array, a number, a Scalar or None."""
        result = self.ffi.new("loom_operand *")
        if isinstance(given, lazyloom.Scalar):
            result.dtype = given.type.dtype.index
            given = given.number
        if isinstance(given, Tensor):
            result.kind, result.tensor = 1, given.handle.bits
        elif isinstance(given, bool):
            result.kind, result.integer = 2, given
        elif isinstance(given, int):
            result.kind, result.integer = 3, given
        elif isinstance(given, float):
            result.kind, result.real = 4, given
        elif isinstance(given, complex):
            result.kind, result.real, result.imaginary = 5, given.real, given.imag
        elif given is not None:
            raise TypeError(f"{type(given).__name__} cannot be an operand")
        return result[0]

    def _attributes(self, given: Mapping[str, Any], keep: list[Any]) -> Any:
        array = self.ffi.new("loom_attr[]", max(len(given), 1))
        for a, (name, value) in zip(array, given.items()):
            keep.append(self.ffi.new("char[]", name.encode()))
            a.name = keep[-1]
            if value is None:
                a.kind = 0
            elif isinstance(value, (bool, np.bool_)):
                a.kind, a.value.boolean = 1, bool(value)
            elif isinstance(value, (int, np.integer)):
                a.kind, a.value.integer = 2, int(value)
            elif isinstance(value, float):
                a.kind, a.value.real = 3, value
            elif isinstance(value, str):
                keep.append(self.ffi.new("char[]", value.encode()))
                a.kind, a.value.text = 4, keep[-1]
            elif isinstance(value, (lazyloom.DType, np.dtype, type)):
                a.kind, a.value.dtype = 5, lazyloom.dtypes.as_dtype(value).index
            elif any(isinstance(v, float) for v in value):
                keep.append(self.ffi.new("double[]", [float(v) for v in value] or [0.0]))
                a.kind, a.value.reals, a.count = 7, keep[-1], len(value)
            else:
                keep.append(self.ffi.new("int64_t[]", [int(v) for v in value] or [0]))
                a.kind, a.value.integers, a.count = 6, keep[-1], len(value)
        return array

    def apply(
        self, op: str, operands: Sequence[Any], attributes: Mapping[str, Any] | None = None,
        *, source: bool = False,
    ) -> Any:  # fmt: skip
        """Record an op; a Tensor, or a tuple of them for an op of several results.

        Arrays among the operands become tensors. A list attribute of no elements counts as
        integers. Raises the ``lazyloom.errors`` class of the status.
        """
        held = [self.from_numpy(x) if isinstance(x, (np.ndarray, np.generic)) else x
                for x in operands]  # fmt: skip
        array = self.ffi.new("loom_operand[]", max(len(held), 1))
        for i, x in enumerate(held):
            array[i] = self.operand(x)
        keep: list[Any] = []
        attrs = attributes or {}
        capacity = 64
        results = self.ffi.new("loom_tensor[]", capacity)
        count = self.ffi.new("size_t *")
        record = self.lib.loom_source if source else self.lib.loom_apply
        self.check(record(
            op.encode(), array, len(held), self._attributes(attrs, keep), len(attrs), results,
            capacity, count))
        found = []
        for i in range(count[0]):
            handle = self.ffi.new("loom_tensor *", [results[i].bits])[0]
            found.append(Tensor(self, handle))
        entry = lazyloom.ops.lookup(op)
        several = count[0] != 1 or len(entry.signature.outputs) > 1 or entry.signature.lists
        return tuple(found) if several else found[0]

    def gradients(
        self, outputs: Sequence[Tensor], inputs: Sequence[Tensor],
        cotangents: Sequence[Tensor | None] | None = None, *, create_graph: bool = False,
    ) -> list[Tensor]:  # fmt: skip
        """``loom_grad``: a gradient for each input."""
        results = self.ffi.new("loom_tensor[]", max(len(inputs), 1))
        given: Any = self.ffi.NULL
        if cotangents is not None:
            given = self._array(cotangents)
        self.check(self.lib.loom_grad(
            self._array(outputs), len(outputs), self._array(inputs), len(inputs), given,
            create_graph, results))
        return [Tensor(self, self.ffi.new("loom_tensor *", [results[i].bits])[0])
                for i in range(len(inputs))]  # fmt: skip

    def capture(
        self, inputs: Sequence[Tensor], function: Callable[[], Sequence[Tensor]],
    ) -> tuple[Capture, list[Tensor]]:  # fmt: skip
        """What a function records of inputs, as a capture, and what it returned.

        Raises the ``lazyloom.errors`` class of the status; the capture is then ended.
        """
        self.check(self.lib.loom_capture_begin(self._array(inputs), len(inputs)))
        try:
            results = list(function())
        except BaseException:
            self.check(self.lib.loom_capture_cancel())
            raise
        handle = self.out(
            "loom_capture *", self.lib.loom_capture_end, self._array(results), len(results))
        return Capture(self, handle, len(results)), results

    def _array(self, tensors: Sequence[Tensor | None]) -> Any:
        array = self.ffi.new("loom_tensor[]", max(len(tensors), 1))
        for i, t in enumerate(tensors):
            if t is not None:
                array[i].bits = t.handle.bits
        return array

    def text(self, function: Any, *arguments: Any) -> str:
        """The string that a function with buffer, capacity and needed copies out."""
        needed = int(self.out("size_t *", function, *arguments, self.ffi.NULL, 0))
        buffer = self.ffi.new("char[]", needed)
        self.check(function(*arguments, buffer, needed, self.ffi.NULL))
        return str(self.ffi.string(buffer).decode())

    def program_of(self, *tensors: Tensor) -> tuple[str, str]:
        """Key and text of the program that reading these tensors would run."""
        program = self.out(
            "loom_program *", self.lib.loom_program_of, self._array(tensors), len(tensors))
        try:
            return (self.text(self.lib.loom_program_key, program),
                    self.text(self.lib.loom_program_text, program))  # fmt: skip
        finally:
            self.lib.loom_program_release(program)
