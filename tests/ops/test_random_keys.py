"""Keys that follow from a key are the words of Threefry's counters, whatever the shape."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from lazyloom.ops.spec import lookup

KEYS = np.array([[5, 9], [0, 2**32 - 1], [7, 7]], np.uint32)


@pytest.mark.parametrize("num", [0, 1, 2, 5, 1001])
def test_split_gives_the_keys_that_jax_gives(num: int) -> None:
    split = lookup("random_split").fn
    for key in KEYS[:2]:
        expected = jax.random.key_data(jax.random.split(jax.random.wrap_key_data(key), num))
        np.testing.assert_array_equal(split(key, num=num), expected)
    mapped = jax.vmap(lambda key: split(key, num=num))(KEYS)
    np.testing.assert_array_equal(mapped, [split(key, num=num) for key in KEYS])


def test_fold_in_gives_the_keys_that_jax_gives() -> None:
    fold_in = lookup("random_fold_in").fn
    data = np.array([0, 1, 2**31, 2**32 - 1], np.uint32)
    for number in data:
        expected = jax.random.key_data(
            jax.random.fold_in(jax.random.wrap_key_data(KEYS[0]), number))
        np.testing.assert_array_equal(fold_in(KEYS[0], number), expected)
    mapped = jax.vmap(lambda number: fold_in(KEYS[0], number))(data)
    np.testing.assert_array_equal(mapped, [fold_in(KEYS[0], number) for number in data])
