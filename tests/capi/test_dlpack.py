"""DLPack of the C ABI beside NumPy's: the structures of each are taken by the other."""

from __future__ import annotations

import ctypes
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom_capi import build
from lazyloom_capi.client import Client, Tensor

from .compilers import C99, CXX17

NAME = b"dltensor_versioned"

_python = ctypes.pythonapi
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Given:
    """What the library gave, as an object of the protocol."""

    def __init__(self, address: int) -> None:
        self.address = address

    def __dlpack__(self, **how: Any) -> Any:
        return _python.PyCapsule_New(self.address, NAME, None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def taken(client: Client, array: Any, copy: bool = False) -> Tensor:
    """NumPy's tensor, taken by the library."""
    capsule = array.__dlpack__(max_version=(1, 0))
    address = _python.PyCapsule_GetPointer(capsule, NAME)
    managed = client.ffi.cast("struct DLManagedTensorVersioned *", address)
    handle = client.out("loom_tensor *", client.lib.loom_tensor_from_dlpack, managed, copy)
    _python.PyCapsule_SetName(capsule, b"used_dltensor_versioned")
    return Tensor(client, handle)


@pytest.mark.parametrize(
    "dtype", [d for d in ll.dtypes.ALL if d.name != "bfloat16"], ids=str)
def test_what_numpy_gives_is_taken_and_given_back(client: Client, dtype: Any) -> None:
    array = np.arange(12).reshape(3, 4).astype(dtype.numpy)
    for view in (array, array.T, array[::2, ::-1], array[:0]):
        tensor = taken(client, view)
        assert np.array_equal(tensor.read(), view)
        for copy in (False, True):
            out = client.out("struct DLManagedTensorVersioned **",
                             client.lib.loom_tensor_to_dlpack, tensor.handle, copy)
            found = np.from_dlpack(Given(int(client.ffi.cast("uintptr_t", out))))
            assert np.array_equal(found, view)
            assert found.flags.writeable == copy or not view.size
            assert found.dtype == view.dtype


def test_memory_that_is_not_aligned_is_copied(client: Client) -> None:
    array = np.zeros(4 * 9 + 1, np.uint8)[1:].view(np.float32)
    array[:] = np.arange(9)
    assert np.array_equal(taken(client, array).read(), np.arange(9))


@pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch, which has dlpack.h, is missing")
@pytest.mark.parametrize("compiler", [C99, CXX17], ids=["c99", "c++17"])
@pytest.mark.parametrize("order", [1, -1])
def test_the_structures_are_those_of_dlpack_h(compiler: list[str], order: int) -> None:
    found = find_spec("torch")
    assert found is not None and found.origin is not None
    includes = [f'#include "{Path(found.origin).parent}/include/ATen/dlpack.h"\n',
                '#include "lazyloom.h"\n'][::order]
    text = "".join(includes) + """
int main(void) {
  loom_tensor t = loom_null();
  DLManagedTensorVersioned *versioned = NULL;
  DLManagedTensor *unversioned = NULL;
  return loom_tensor_to_dlpack(t, false, &versioned) == LOOM_OK ||
         loom_tensor_from_dlpack(versioned, false, &t) == LOOM_OK ||
         loom_tensor_to_dlpack_unversioned(t, &unversioned) == LOOM_OK ||
         loom_tensor_from_dlpack_unversioned(unversioned, false, &t) == LOOM_OK;
}
"""
    done = subprocess.run(
        [*compiler, *build.cflags(), "-fsyntax-only", "-"], input=text, capture_output=True,
        text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
