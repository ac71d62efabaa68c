"""Medians, quartiles and ratios."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any


def summary(samples: Sequence[float]) -> dict[str, Any]:
    """Median, quartiles, least and number of samples."""
    ordered = sorted(samples)
    if len(ordered) > 1:
        lower, _, upper = statistics.quantiles(ordered, n=4, method="inclusive")
    else:
        lower = upper = ordered[0]
    return {
        "median": statistics.median(ordered),
        "lower_quartile": lower,
        "upper_quartile": upper,
        "least": ordered[0],
        "samples": len(ordered),
    }


def paired_ratio(samples: Sequence[float], base: Sequence[float]) -> dict[str, float] | None:
    """Median and quartiles of the ratio of samples to the base's of the same round.

    Whatever else the machine did in a round fell on both.
    """
    ratios = [a / b for a, b in zip(samples, base) if b > 0]
    if not ratios:
        return None
    found = summary(ratios)
    return {k: found[k] for k in ("median", "lower_quartile", "upper_quartile")}


def in_words(value: float, unit: str = "s") -> str:
    """A quantity with three digits and a unit that fits."""
    if unit == "s":
        for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
            if abs(value) >= scale:
                return f"{digits(value / scale)} {name}"
        return f"{digits(value * 1e9)} ns"
    if unit == "B":
        return f"{digits(value / 1e6)} MB"
    return digits(value)


def digits(value: float) -> str:
    """Three digits, without an exponent."""
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"
