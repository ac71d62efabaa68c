"""The oneDNN library, through ctypes: finding it, and its objects as Python objects."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import functools
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

#: a path of the library to use
VARIABLE: Final = "LAZYLOOM_ONEDNN"
NAME: Final = "libdnnl.so.3"
#: the most dimensions of an array in oneDNN
_MOST: Final = 12
_Dims = ctypes.c_int64 * _MOST

#: values of oneDNN's enumerations, under their names there
BF16, F32, S8, U8 = 2, 3, 5, 6
ANY: Final = 1
FORWARD_TRAINING, FORWARD_INFERENCE, BACKWARD = 64, 96, 128
CONVOLUTION_DIRECT: Final = 1
RELU, CLIP, POOLING_MAX = 0x20, 0x2E, 0x1FF
BINARY_ADD, BINARY_MUL, BINARY_MIN, BINARY_DIV = 0x1FFF0, 0x1FFF1, 0x1FFF3, 0x1FFF4
LINEAR, SOFTMAX = 0x26, 0x30000
SRC_MD, DIFF_SRC_MD, WEIGHTS_MD, DIFF_WEIGHTS_MD = 129, 130, 131, 132
DST_MD, DIFF_DST_MD, SCRATCHPAD_MD = 133, 134, 136
#: what a description of a primitive is asked for its implementation
IMPLEMENTATION: Final = 8
SRC, SRC_1, DST, WEIGHTS, BIAS, SCRATCHPAD = 1, 2, 17, 33, 41, 80
#: added to an argument's number: its scales
SCALES: Final = 4096
#: an argument of the first step after a primitive
AFTER: Final = 32768
#: the first of several sources
MULTIPLE_SRC: Final = 1024
DIFF_SRC, DIFF_DST, DIFF_WEIGHTS = 129, 145, 161
MEAN, VARIANCE, SCALE, SHIFT, DIFF_SCALE, DIFF_SHIFT = 49, 50, 51, 52, 255, 256
#: descriptions of error statuses
_STATUS: Final = {
    1: "out of memory", 2: "invalid arguments", 3: "unimplemented",
    4: "last implementation reached", 5: "runtime error", 6: "not required",
}


class OneDnnError(RuntimeError):
    """oneDNN refused a call; the text says which and why."""


def find() -> str | None:
    """Return the library's path: from the environment variable, the wheel, or the system.

    Raises OneDnnError where the variable names no file; an empty one counts as not set.
    """
    named = os.environ.get(VARIABLE)
    if named:
        if not os.path.isfile(named):
            raise OneDnnError(
                f"{VARIABLE} is {named!r}, which is no file, expected the path of {NAME}; without "
                "the variable the wheel's or the system's is used")
        return named
    for prefix in dict.fromkeys((sys.prefix, sys.exec_prefix, sys.base_prefix)):
        path = os.path.join(prefix, "lib", NAME)
        if os.path.exists(path):
            return path
    return NAME if (ctypes.util.find_library("dnnl") or "").endswith(".3") else None


def version(path: str) -> str:
    """Return what identifies the library, without loading it."""
    try:
        status = os.stat(os.path.realpath(path))
    except OSError:
        return path
    return f"{os.path.basename(os.path.realpath(path))}.{status.st_size}.{int(status.st_mtime)}"


#: for a dtype, the instruction sets of which oneDNN needs one, as bits of its ``dnnl_cpu_isa_t``,
#: and the message for a processor that has none
_NEEDED: Final = {
    "bfloat16": (  # AVX-512 or AVX-NE-CONVERT
        0x20 | 0x10, "bfloat16, for which this processor has neither AVX-512 nor AVX-NE-CONVERT"),
    "int8": (  # AVX512-VNNI or AVX-VNNI
        0x40 | 0x8,
        "sums of products in int8, which saturate at 16 bits on a processor without VNNI"),
}


def lacks(path: str, dtype: str) -> str:
    """Return why oneDNN should not be used for a dtype on this processor, or "".

    Raises OSError, OneDnnError as :func:`opened` does.
    """
    needed, why = _NEEDED.get(dtype, (0, ""))
    return "" if not needed or opened(path).instructions & needed else why


class Object:
    """A pointer to a oneDNN object, which is destroyed with this."""

    __slots__ = ("pointer", "_handle", "_destroy", "keeps")

    def __init__(self, pointer: int, destroy: Any, keeps: Any = None) -> None:
        self.pointer: Final = pointer
        # made here, as ctypes may be gone when the process ends
        self._handle: Final = ctypes.c_void_p(pointer)
        self._destroy: Final = destroy
        self.keeps: Final = keeps

    def __del__(self) -> None:
        if self._destroy is not None:
            self._destroy(self._handle)


class Library:
    """The library with an engine on the processor.

    Attributes:
        threads: how many a region may use: OMP_NUM_THREADS, or one per processor.
        instructions: the instruction sets that it uses, as bits of its ``dnnl_cpu_isa_t``.
        functions: addresses of the functions that run a plan.
    """

    def __init__(self, path: str) -> None:
        self.dll: Final = ctypes.CDLL(path, mode=os.RTLD_LOCAL | os.RTLD_NOW)
        self.dll.dnnl_primitive_desc_query_md.restype = ctypes.c_void_p
        self.dll.dnnl_memory_desc_get_size.restype = ctypes.c_size_t
        self.engine: Final = self._new("engine", 1, ctypes.c_size_t(0))
        #: the scratchpad of primitives is a memory among their arguments: one that they allocate
        #: themselves belongs to the thread that creates them, and they run on others
        self.attributes: Final = self._attributes()
        openmp: list[Any] = [getattr(self.dll, name, None)
                             for name in ("omp_get_max_threads", "omp_set_num_threads")]
        self._openmp: Final = () if None in openmp else tuple(openmp)
        self.threads: Final[int] = openmp[0]() if self._openmp else _processors()
        self.instructions: Final[int] = self.dll.dnnl_get_effective_cpu_isa()
        self.functions: Final = (
            self._address(self.dll.dnnl_primitive_execute),
            self._address(self.dll.dnnl_memory_set_data_handle),
            *(map(self._address, self._openmp) if self._openmp else (0, 0)))

    @contextlib.contextmanager
    def with_threads(self, count: int) -> Iterator[None]:
        """Give primitives that this thread creates meanwhile that many OpenMP threads."""
        if not self._openmp:
            yield
            return
        get, put = self._openmp
        before = get()
        put(count)
        try:
            yield
        finally:
            put(before)

    def stream(self) -> Object:
        """Return a stream, which runs primitives for one thread at a time."""
        return self._new("stream", self._p(self.engine), 1)

    @staticmethod
    def _p(value: Object | int | None) -> ctypes.c_void_p:
        return ctypes.c_void_p(value.pointer if isinstance(value, Object) else value)

    def _new(self, kind: str, *arguments: Any, by: str = "create", keeps: Any = None) -> Object:
        pointer = ctypes.c_void_p()
        name = f"dnnl_{kind}_{by}"
        status = getattr(self.dll, name)(ctypes.byref(pointer), *arguments)
        if status or pointer.value is None:
            raise OneDnnError(f"{name}: {_STATUS.get(status, status)}")
        owner = "primitive_desc" if by.startswith("primitive_desc") else kind
        return Object(pointer.value, getattr(self.dll, f"dnnl_{owner}_destroy"), keeps)

    @staticmethod
    def dims(values: Sequence[int]) -> Any:
        """Return numbers as oneDNN takes them."""
        return _Dims(*values)

    @staticmethod
    def floats(*values: float) -> Sequence[Any]:
        """Return numbers as oneDNN takes them."""
        return [ctypes.c_float(v) for v in values]

    def strided(self, shape: Sequence[int], dtype: int, strides: Sequence[int]) -> Object:
        """Return the description of an array with strides, in elements."""
        return self._new("memory_desc", len(shape), self.dims(shape), dtype, self.dims(strides),
                          by="create_with_strides")

    def any(self, shape: Sequence[int], dtype: int) -> Object:
        """Return the description of an array whose layout a primitive chooses."""
        return self._new("memory_desc", len(shape), self.dims(shape), dtype, ANY,
                          by="create_with_tag")

    def primitive_desc(
        self, kind: str, *arguments: Any, attributes: Object | None = None
    ) -> Object:
        """Return the description of a primitive; Objects among the arguments are passed on.

        The attributes are added as the last argument: the default ones of every primitive unless
        given.

        Raises OneDnnError where oneDNN has no such primitive.
        """
        native_arguments = [self._p(a) if isinstance(a, Object) or a is None else a
                 for a in (*arguments, attributes or self.attributes)]
        return self._new(kind, self._p(self.engine), *native_arguments, by="primitive_desc_create",
                         keeps=attributes)

    def attributes_with(
        self, scales: Mapping[int, int], after: Sequence[tuple[Any, ...]] = ()
    ) -> Object:
        """Return attributes of a primitive.

        Args:
            scales: by argument, which axes have a number for each of their places, as bits.
            after: the further steps: (kind, argument...), as dnnl_post_ops_append_<kind> takes it.
        """
        attributes = self._attributes()
        for argument, mask in scales.items():
            self._call("primitive_attr_set_scales_mask", attributes, argument, mask)
        if after:
            steps = self._new("post_ops")
            for kind, *values in after:
                self._call(f"post_ops_append_{kind}", steps, *values)
            self._call("primitive_attr_set_post_ops", attributes, steps)
        return attributes

    def _attributes(self) -> Object:
        attributes = self._new("primitive_attr")
        self._call("primitive_attr_set_scratchpad_mode", attributes, 1)
        return attributes

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.dll, f"dnnl_{name}")(
            *[self._p(a) if isinstance(a, Object) or a is None else
              ctypes.c_float(a) if isinstance(a, float) else a for a in arguments])
        if status:
            raise OneDnnError(f"dnnl_{name}: {_STATUS.get(status, status)}")

    def reorder_desc(self, source: Object, target: Object) -> Object:
        """Return the description of a reorder of an array."""
        return self._new(
            "reorder", self._p(source), self._p(self.engine), self._p(target),
            self._p(self.engine), self._p(self.attributes), by="primitive_desc_create")

    def sum_desc(self, target: Object, sources: Sequence[Object]) -> Object:
        """Return the description of a sum of arrays."""
        count = len(sources)
        pointers = (ctypes.c_void_p * count)(*(s.pointer for s in sources))
        return self._new(
            "sum", self._p(self.engine), self._p(target), count,
            (ctypes.c_float * count)(*[1.0] * count), pointers, self._p(self.attributes),
            by="primitive_desc_create", keeps=tuple(sources))

    def scratchpad(self, desc: Object) -> Object | None:
        """Return the scratchpad that a primitive needs while it runs, if it needs any."""
        pointer = self.dll.dnnl_primitive_desc_query_md(self._p(desc), SCRATCHPAD_MD, 0)
        memory_desc = Object(pointer, None, desc) if pointer else None
        return memory_desc if memory_desc is not None and self.size(memory_desc) else None

    def asked(self, desc: Object, argument: int) -> Object:
        """Return a primitive's description of an argument; the primitive's description owns it."""
        pointer = self.dll.dnnl_primitive_desc_query_md(self._p(desc), argument, 0)
        if not pointer:
            raise OneDnnError(f"a primitive has no argument {argument}")
        return Object(pointer, None, desc)

    def implementation(self, desc: Object) -> str:
        """Return the name of what does a primitive; "ref" begins that of loops for any case."""
        name = ctypes.c_char_p()
        status = self.dll.dnnl_primitive_desc_query(
            self._p(desc), IMPLEMENTATION, 0, ctypes.byref(name))
        return "" if status or name.value is None else name.value.decode()

    def primitive(self, desc: Object) -> Object:
        """Return the primitive of a description."""
        return self._new("primitive", self._p(desc), keeps=desc)

    def memory(self, desc: Object, array: Any = None) -> Object:
        """Return an array without memory yet, or with that of a NumPy array."""
        data = None if array is None else ctypes.c_void_p(array.ctypes.data)
        return self._new("memory", self._p(desc), self._p(self.engine), data, keeps=(desc, array))

    def equal(self, a: Object, b: Object) -> bool:
        """Return True if two descriptions are equal."""
        return bool(self.dll.dnnl_memory_desc_equal(self._p(a), self._p(b)))

    def size(self, desc: Object) -> int:
        """Return the bytes of an array."""
        return int(self.dll.dnnl_memory_desc_get_size(self._p(desc)))

    @staticmethod
    def _address(function: Any) -> int:
        address = ctypes.cast(function, ctypes.c_void_p).value
        assert address is not None
        return address


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


@functools.lru_cache(maxsize=4)
def opened(path: str) -> Library:
    """Return the library at a path. Raises OSError, OneDnnError."""
    return Library(path)
