"""``loom_tensors_read`` beside ``loom_tensor_read``: all dtypes, and results of any layout."""

from __future__ import annotations

import numpy as np
import pytest

import lazyloom as ll
from lazyloom import errors
from lazyloom_capi.client import Client, Tensor


def read_all(client: Client, tensors: list[Tensor]) -> list[np.ndarray]:
    ffi = client.ffi
    found = [np.empty(t.shape, t.dtype.numpy) for t in tensors]
    memory = [ffi.from_buffer(a.reshape(-1).view(np.uint8)) for a in found]
    buffers = ffi.new("void *[]", [ffi.cast("void *", m) for m in memory])
    sizes = ffi.new("size_t[]", [a.nbytes for a in found])
    client.check(client.lib.loom_tensors_read(
        client._array(tensors), buffers, sizes, len(tensors)))
    return found


def test_all_dtypes_and_layouts(client: Client) -> None:
    arrays = [np.arange(6).reshape(2, 3).astype(d.numpy) for d in ll.dtypes.ALL]
    tensors = [client.from_numpy(a) for a in arrays]
    turned = [client.apply("transpose", [t], {"axes": (1, 0)}) for t in tensors]
    few = [client.from_numpy(np.float32(7)), client.from_numpy(np.zeros((0, 3), np.int32))]
    for found, expected in zip(
        read_all(client, [*tensors, *turned, *few]),
        [*arrays, *(a.T for a in arrays), np.float32(7), np.zeros((0, 3), np.int32)], strict=True,
    ):  # fmt: skip
        assert found.tobytes() == np.ascontiguousarray(expected).tobytes()


def test_reads_that_are_forbidden(client: Client) -> None:
    x = client.from_numpy(np.ones(3, np.float32))
    pending = client.apply("tanh", [x])
    with ll.options(reads="error"), pytest.raises(errors.ReadForbiddenError):
        read_all(client, [pending])
    assert client.out("bool *", client.lib.loom_tensor_is_pending, pending.handle)
