"""What is recorded: one op per call where the table has one, numbers as parameters."""

from __future__ import annotations

from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np


def ops(*results: Any) -> list[str]:
    text = lazyloom.program_of(*results).text()
    return [line.split("=")[1].split("(")[0].strip() for line in text.splitlines() if " = " in line]


X = onp.arange(6.0, dtype="f4").reshape(2, 3)

CASES: list[tuple[Any, list[str]]] = [
    (lambda x: x @ x.T + x[:, 0], ["transpose", "matmul", "dynamic_slice", "reshape", "add"]),
    (lambda x: np.maximum(x, 0), ["maximum"]),
    (lambda x: x.mean(), ["mean"]),
    (lambda x: -x, ["negative"]),
    (lambda x: x**2, ["integer_power"]),
    (lambda x: x * 0.5 + 1, ["multiply", "add"]),
    (lambda x: x[np.array([0, 1, 1])], ["take"]),
    (lambda x: x.astype("f8").sum(0), ["cast", "sum"]),
    (lambda x: x.reshape(3, 2), ["reshape"]),
    (lambda x: np.where(x > 1, x, 0), ["greater", "where"]),
    (lambda x: x - x.max(axis=1, keepdims=True), ["max", "subtract"]),
    (lambda x: x.copy(), []),
    (lambda x: x[:], []),
    (lambda x: x.clip(0, 1), ["clip"]),
    (lambda x: np.concatenate([x, x]), ["concatenate"]),
    (lambda x: np.add(x, x, dtype="f4"), ["add"]),
]


@pytest.mark.parametrize(("function", "expected"), CASES, ids=[str(i) for i in range(len(CASES))])
def test_ops(function: Any, expected: list[str]) -> None:
    x = np.array(X)
    result = function(x)
    if not expected:
        assert not result.value.is_pending
        return
    assert sorted(ops(result)) == sorted(expected)


@pytest.mark.compiled
def test_numbers_are_parameters() -> None:
    x = np.array(X)
    for i in range(2):
        float((x * (0.3 + i)).sum())
    before = lazyloom.stats()["programs_compiled"]
    for i in range(5):
        float((x * (0.7 + i)).sum())
        float((x * onp.float32(1.7 + i)).sum())
    assert lazyloom.stats()["programs_compiled"] == before


def test_in_place_is_the_op_alone() -> None:
    x = np.array(X)
    x += 1
    x *= np.array(X)
    assert ops(x) == ["add", "multiply"]


def test_creation_is_a_boundary() -> None:
    total = np.zeros(3)
    keys = []
    for _ in range(3):
        total = total * 0.5 + 2
        keys.append(lazyloom.program_of(total).key)
        float(total.sum())
    assert keys[0] == keys[1] == keys[2]


def test_errors_name_the_users_line() -> None:
    x = np.array(X)
    with pytest.raises(ValueError) as caught:
        x @ x
    assert "matmul" in str(caught.value)
