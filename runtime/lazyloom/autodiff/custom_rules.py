"""Derivatives that are functions of the host, called in a pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import GradientError
from ..trace.constraints import fitted
from ..trace.custom_derivatives import Custom, ResultOf
from ..trace.graph import Value


def apply_vjp(
    rule: Custom, types: Sequence[Any], result_of: ResultOf, cotangents: list[Value | None]
) -> Sequence[Value | None]:
    """Cotangents of the inputs, of the given types. Raises GradientError for other types."""
    if rule.vjp is None:
        raise GradientError(
            f"{rule.name} says nothing of how cotangents are pulled back through it")
    return _fitting(rule.vjp(result_of, cotangents), types, f"{rule.name}: cotangent")


def apply_jvp(
    rule: Custom, types: Sequence[Any], result_of: ResultOf, tangents: list[Value | None]
) -> Sequence[Value | None]:
    """Tangents of the results, of the given types. Raises GradientError for other types."""
    if rule.jvp is None:
        raise GradientError(
            f"{rule.name} says nothing of how tangents are pushed forward through it")
    return _fitting(rule.jvp(result_of, tangents), types, f"{rule.name}: tangent")


def _fitting(
    values: Sequence[Value | None], types: Sequence[Any], label: str
) -> Sequence[Value | None]:
    if len(values) != len(types):
        raise GradientError(f"{label}s: {len(values)} were given, expected {len(types)}")
    found: list[Value | None] = []
    for i, (v, t) in enumerate(zip(values, types, strict=True)):
        if v is not None:
            v = fitted(v, t)
            if v.type is not t:
                raise GradientError(f"{label} {i} is a {v.type.text}, expected {t.text}")
        found.append(v)
    return found
