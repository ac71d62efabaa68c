"""What the header says of calls at their edges: nothing given, sizes no memory has, other types."""

import numpy as np
import pytest

from lazyloom.errors import DTypeError, ShapeError
from lazyloom_capi.client import Client


@pytest.fixture(scope="module")
def c():
    return Client()


def test_sync_of_nothing_runs_nothing(c):
    pending = c.apply("exp", [np.float32([1, 2])])
    c.check(c.lib.loom_sync(c.ffi.NULL, 0, True))
    assert c.out("bool *", c.lib.loom_tensor_is_pending, pending.handle)


def test_assigning_another_type_is_the_error_that_the_header_names(c):
    target = c.from_numpy(np.float32([1, 2]))
    for given, error in [(np.float32([1]), ShapeError), (np.int8([1, 2]), DTypeError)]:
        value = c.from_numpy(given)
        with pytest.raises(error, match=r"float32\[2\]"):
            c.check(c.lib.loom_tensor_assign(target.handle, value.handle))


@pytest.mark.parametrize("shape", [(2**40, 2**40, 0), (2**62, 4)])
def test_a_shape_that_no_memory_has_is_a_shape_error(c, shape):
    dims = c.ffi.new("int64_t[]", list(shape))
    with pytest.raises(ShapeError):
        c.out("loom_tensor *", c.lib.loom_tensor_from_host, c.ffi.NULL, 0, 12, dims, len(shape))
