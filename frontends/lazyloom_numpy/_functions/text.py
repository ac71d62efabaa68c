"""Numbers as text."""

from __future__ import annotations

from typing import Any

import numpy as onp

import lazyloom


def _number(x: Any) -> Any:
    """A NumPy or Python number; an array of one element is read."""
    return x.read()[()] if isinstance(x, lazyloom.Tensor) else x


def base_repr(number: int, base: int = 2, padding: int = 0) -> str:
    """An integer's digits in a base, as ``numpy.base_repr``; an array is read."""
    return onp.base_repr(int(_number(number)), base, padding)


def binary_repr(num: int, width: int | None = None) -> str:
    """An integer's binary digits, as ``numpy.binary_repr``; an array is read."""
    return onp.binary_repr(int(_number(num)), width)


def format_float_positional(
    x: Any, precision: Any = None, unique: bool = True, fractional: bool = True, trim: str = "k",
    sign: bool = False, pad_left: Any = None, pad_right: Any = None, min_digits: Any = None,
) -> str:  # fmt: skip
    """A number in positional notation, as ``numpy.format_float_positional``; reads."""
    make: Any = onp.format_float_positional
    return str(make(_number(x), precision, unique, fractional, trim, sign, pad_left, pad_right,
                    min_digits))  # fmt: skip


def format_float_scientific(
    x: Any, precision: Any = None, unique: bool = True, trim: str = "k", sign: bool = False,
    pad_left: Any = None, exp_digits: Any = None, min_digits: Any = None,
) -> str:  # fmt: skip
    """A number in scientific notation, as ``numpy.format_float_scientific``; reads."""
    make: Any = onp.format_float_scientific
    return str(make(_number(x), precision, unique, trim, sign, pad_left, exp_digits, min_digits))
