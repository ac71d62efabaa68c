"""Holding results to their shadow: the rules, and what breaks one."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final, NamedTuple

import numpy as np

from .shades import UNTOLD, Shade, is_float, is_inexact, limits, part, wide

RULES: Final = (
    "raises", "type", "class", "subnormal", "exact", "bound", "again", "untold")


class Fault(NamedTuple):
    """A rule that a form breaks.

    Attributes:
        result: the number of the result.
        count: how many elements break it.
        text: the first of them.
    """

    rule: str
    result: int
    count: int
    text: str


def faults(found: np.ndarray, shade: Shade, number: int, told: Counter[str]) -> list[Fault]:
    """What is wrong with a result. ``told`` counts elements by how much was known of them."""
    if found.dtype != shade.dtype or found.shape != shade.shape:
        return [Fault("type", number, 1, f"{found.dtype}{list(found.shape)}, expected "
                      f"{shade.dtype}{list(shade.shape)}")]
    if found.dtype.kind == "c":
        real = part(found.dtype)
        return [f for name in ("real", "imag") for f in faults(
            getattr(found, name).copy(),
            Shade(real, getattr(shade.v, name), shade.e), number, told)][:2]
    v, e = shade.v, shade.e
    exact, undecided = e == 0, ~np.isfinite(e)
    told["exact"] += int(exact.sum())
    told["undecided"] += int(undecided.sum())
    told["bounded"] += int((~exact & ~undecided).sum())
    if not is_inexact(found.dtype):
        return _listed([("exact", exact & (found != v))], found, v, e, number)
    with np.errstate(all="ignore"):
        expected = shade.rounded()
        got = found.astype(wide(found.dtype))
        nan = np.isnan(v)
        infinite = np.isinf(v)
        wrong_class = (exact & (np.isnan(got) != nan)) | (~undecided & infinite & (got != v))
        zero = exact & (v == 0)
        wrong_class |= zero & ((got != 0) | (np.signbit(got) != np.signbit(v)))
        finite = ~undecided & np.isfinite(v)
        wrong_class |= finite & ~np.isfinite(got)
        at = limits(found.dtype)
        unflushed = np.zeros(v.shape, bool)
        if at.flushes:
            subnormal = (got != 0) & (np.abs(got) < at.least)
            # a move keeps one, and a change of sign may
            kept = (v != 0) & (np.abs(v) < at.least) & (np.abs(np.abs(got) - np.abs(v)) <= e)
            unflushed = ~undecided & subnormal & ~kept & ~(wrong_class & ~zero)
        wrong_class &= ~unflushed
        unequal = exact & ~wrong_class & ~unflushed & np.isfinite(v) & (found != expected)
        # the last rounding, into the dtype, which what is off has as well
        slack = e + at.unit * (np.abs(v).astype(np.float64) + e) + float(at.tiny)
        near = np.abs(got - v).astype(np.float64) <= slack * (1 + 1e-6)
        beyond = finite & ~exact & ~wrong_class & ~unflushed & ~near
    return _listed([("class", wrong_class), ("subnormal", unflushed), ("exact", unequal),
                    ("bound", beyond)], found, v, e, number)


def _listed(broken: Any, found: Any, v: Any, e: Any, number: int) -> list[Fault]:
    made = []
    for rule, where in broken:
        count = int(where.sum())
        if count:
            place = tuple(int(k) for k in np.argwhere(where)[0])
            bound = float(e[place])
            text = f"{found[place]!r}, expected {_plain(v[place])}" + (
                f" within {bound:.3g}" if bound else "")
            if is_float(found.dtype) and bound:
                apart = abs(float(found[place]) - float(v[place]))
                text += f" (off by {apart:.3g}, {apart / bound:.4g} times that)"
            made.append(Fault(rule, number, count, f"{text} at {list(place)}"))
    return made


def _plain(x: Any) -> str:
    return f"{float(x):.9g}" if np.asarray(x).dtype.kind == "f" else str(x)


def unlike(found: np.ndarray, other: np.ndarray, shade: Shade, number: int) -> list[Fault]:
    """What two forms may not differ in where the shadow tells nothing (a bound of NaN)."""
    untold = np.isnan(shade.e)
    if not untold.any() or found.shape != other.shape or found.dtype != other.dtype:
        return []
    if found.dtype.kind == "c":
        real = part(found.dtype)
        return [f for name in ("real", "imag") for f in unlike(
            getattr(found, name).copy(), getattr(other, name).copy(),
            Shade(real, getattr(shade.v, name), shade.e), number)][:1]
    with np.errstate(all="ignore"):
        a, b = (x.astype(np.float64) for x in (found, other))
        alike = (np.isfinite(a) & np.isfinite(b)) | (np.isnan(a) & np.isnan(b)) | (a == b)
        size = max(float(np.max(np.abs(b), where=np.isfinite(b), initial=0.0)), 1e-30)
        units = 4 * limits(found.dtype).unit if is_float(found.dtype) else 0.0
        near = max(UNTOLD, units) * size
        far = np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) > near)
    where = untold & (~alike | far)
    if not where.any():
        return []
    place = tuple(int(k) for k in np.argwhere(where)[0])
    return [Fault("untold", number, int(where.sum()),
                  f"{found[place]!r}, op by op {other[place]!r} at {list(place)}")]


def same_bits(found: np.ndarray, before: np.ndarray, number: int) -> list[Fault]:
    """That a program gives the same bits twice."""
    if found.tobytes() == before.tobytes() and found.dtype == before.dtype:
        return []
    differ = np.asarray(found != before) & ~((found != found) & (before != before))
    if found.shape == before.shape and not differ.any():
        return []
    return [Fault("again", number, int(differ.sum()), "other bits the second time")]
