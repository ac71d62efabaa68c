"""The oracle finds what it is there to find: kinds of wrong results that were met, planted again.

A form of the test's own gives results that are wrong in one way; the rule that it breaks is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from . import forms
from .check import Oracle
from .programs import Input, Program


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle(("planted",)) as made:
        yield made


def one(*lines: str, of: tuple[Input, ...], library: str = "numpy") -> Program:
    return Program(library, of, lines, (lines[-1].partition(" = ")[0],))


def f32(*shape: int, kind: str = "normal") -> Input:
    return Input("float32", shape, kind, 1)


def _normalized(x: np.ndarray, variances: bool = False) -> np.ndarray:
    """Rows with mean 0 and variance 1, or these variances, whose mean was one sum in float32."""
    count = x.dtype.type(x.shape[-1])
    mean = np.cumsum(x, axis=-1, dtype=x.dtype)[:, -1:] / count
    left = x - mean
    variance = np.mean(left * left, axis=-1, keepdims=True, dtype=x.dtype)
    found: np.ndarray = (variance[:, 0] if variances
                         else left / np.sqrt(variance + x.dtype.type(1e-5)))
    return found


def _digamma(x: np.ndarray) -> np.ndarray:
    """Of integers of at most 2; infinite at 0, with the sign of -x."""
    found: np.ndarray = np.where(x == 0, -np.inf, np.where(x == 1, 0, 1) - np.euler_gamma)
    return found


Arrays = list[Any]

#: a program, what a form makes of its inputs that computes it in another way, and the rule
PLANTED: dict[str, tuple[Program, Callable[..., Any], str]] = {
    # a product whose last rows are those of another one, as a miscompiled fusion gave
    "product": (
        one("v0 = np.matmul(x0, x1)", of=(f32(16385, 3), f32(3, 3))),
        lambda x, y: np.where(np.arange(16385)[:, None] > 16000, (x @ y)[::-1], x @ y), "bound"),
    # log(exp(x)) folded to x
    "folded": (one("v0 = np.log(np.exp(x0))", of=(f32(50, kind="ends"),)),
               lambda x: x, "class"),
    # exp(a) * exp(b) as exp(a + b)
    "merged": (one("v0 = np.exp(x0)", "v1 = np.exp(x1)", "v2 = v0 * v1",
                   of=(f32(200, kind="ends"), Input("float32", (200,), "ends", 2))),
               lambda x, y: np.exp(x + y), "class"),
    "subnormal": (one("v0 = x0 * 0.5", of=(f32(64, kind="ends"),)),
                  lambda x: x * np.float32(0.5), "subnormal"),
    "compared": (one("v0 = x0 == 0", of=(f32(64, kind="ends"),)), lambda x: x == 0, "exact"),
    "sign of zero": (one("v0 = x0 * x1", of=(
        f32(99, kind="few"), Input("float32", (99,), "few", 2))), lambda x, y: x * y + 0, "class"),
    # one partial sum after the other
    "naive sum": (one("v0 = np.sum(x0, axis=0)", of=(f32(400_000, kind="positive"),)),
                  lambda x: np.cumsum(x, dtype=np.float32)[-1], "bound"),
    "cumulative sum in half the digits": (
        one("v0 = np.cumsum(x0)", of=(Input("float64", (4097,), "positive", 1),)),
        lambda x: np.cumsum(x.astype(np.float32)).astype(np.float64), "bound"),
    # E[x^2] - E[x]^2
    "variance": (one("v0 = np.var(x0)", of=(f32(4097, kind="far"),)),
                 lambda x: np.float32(np.mean(x * x) - np.mean(x) ** 2), "bound"),
    # the mean taken off once, which is off by more than the distances from it are exact
    "mean taken off once": (
        one("v0 = t.nn.functional.layer_norm(x0, (4097,))", of=(f32(8, 4097, kind="far"),),
            library="torch"), lambda x: _normalized(x), "bound"),
    "variance of rows": (one("v0 = np.var(x0, axis=-1)", of=(f32(70_000, 3, kind="far"),)),
                         lambda x: _normalized(x, variances=True), "bound"),
    "half the digits": (one("v0 = np.log1p(x0)", of=(Input("float64", (99,), "positive", 0),)),
                        lambda x: np.log1p(x.astype(np.float32)).astype(np.float64), "bound"),
    "index": (one("v0 = np.argmax(x0)", of=(f32(33, kind="few"),)),
              lambda x: np.int64(32 - np.argmax(x[::-1])), "exact"),
    "sorted": (one("v0 = np.argsort(x0, kind='stable')", of=(f32(33, kind="few"),)),
               lambda x: np.argsort(-x[::-1], kind="stable"), "exact"),
    "integer": (one("v0 = x0 // x1", of=(Input("int32", (64,), "few", 1),
                                         Input("int32", (64,), "few", 2))),
                lambda x, y: np.floor_divide(x, np.where(y == 0, 1, y)), "exact"),
    "moved": (one("v0 = np.roll(x0, 1)", of=(f32(7),)), lambda x: np.roll(x, 2), "exact"),
    "dtype": (one("v0 = np.exp(x0)", of=(f32(7),)),
              lambda x: np.exp(x.astype(np.float64)), "type"),
    "half the digits of a Bessel function": (
        one("v0 = np.i0(x0)", of=(Input("float64", (99,), "normal", 1),)),
        lambda x: np.i0(x.astype(np.float32)).astype(np.float32).astype(np.float64), "bound"),
    "pole": (one("v0 = t.digamma(x0)", of=(f32(33, kind="few"),), library="torch"),
             lambda x: np.where(x < 0, np.float32(-np.inf), np.float32(_digamma(x))), "class"),
    "not a number": (one("v0 = np.maximum(x0, x1)", of=(
        f32(99, kind="ends"), Input("float32", (99,), "ends", 2))), np.fmax, "class"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_planted_is_found(
    name: str, oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, wrong, rule = PLANTED[name]

    def planted(given: Any, form: str) -> Arrays:
        assert form == "planted"
        with np.errstate(all="ignore"):
            return [np.asarray(wrong(*(i.data(given.n) for i in given.inputs)))]

    monkeypatch.setattr(forms, "run", planted)
    broken = oracle.check(program)
    assert rule in {b.fault.rule for b in broken}, [b.text() for b in broken]


def test_what_is_right_is_not() -> None:
    """The same programs, but computed in twice the digits and rounded once."""
    with Oracle(("op_by_op",)) as oracle:
        for name in (
            "product", "naive sum", "variance", "mean taken off once", "variance of rows",
            "index", "moved", "not a number"):
            broken = oracle.check(PLANTED[name][0])
            assert not broken, [b.text() for b in broken]


#: programs whose forms may differ, or are right where an oracle once took them for wrong
RIGHT: list[Program] = [
    # neither limit at a pole, but at 0
    *(one("v0 = t.digamma(x0)", of=(Input(dtype, (33,), "few", 1),), library="torch")
      for dtype in ("float32", "float64", "bfloat16", "float16")),
    # 1 or a little more, of which one is infinite and the other NaN
    one("v0 = np.i0(x0)", "v1 = np.arctanh(v0)", of=(f32(2, 9999),)),
    # a pole that one rounding is away
    one("v0 = np.hypot(x0, x0)", "v1 = np.tan(v0)", of=(
        Input("bfloat16", (65535,), "normal", 61),)),
    # a negative power of what may be zero
    one("v0 = np.sinc(x0)", "v1 = v0 ** -1", of=(f32(33, kind="few"),)),
    # one after the other
    one("v0 = t.cumsum(x0, -1)", of=(Input("float32", (65535,), "far", 294),), library="torch"),
    # the sign of what is not a number
    one("v0 = np.arcsin(x0)", "v1 = np.signbit(v0)", of=(Input("float64", (33,), "few", 1),)),
    # a subnormal number and zeros: the larger or smaller is any of them
    one("v0 = t.mean(x0, 1)", "v1 = t.amin(v0, 2)", of=(
        Input("bfloat16", (1, 1, 4096, 2), "ends", 73),), library="torch"),
    one("v0 = np.fmax(x0, x1)", of=(f32(9999, kind="few"), f32(9999, kind="ends"))),
    one("v0 = t.cummax(x0, 0)[0]", of=(f32(9999, kind="ends"),), library="torch"),
    # parts that are finite, of numbers whose magnitude is not, and of infinite ones
    one("v0 = (x0 @ np.swapaxes(x0, -1, -2)) ** 2", "v1 = np.square(v0)", of=(
        Input("complex128", (2, 33, 3), "some_ends", 335),)),
    one("v0 = (x0 @ np.swapaxes(x0, -1, -2)) ** 2", "v1 = np.square(v0)", of=(
        Input("complex128", (33, 33, 3), "wide", 335),)),
]


@pytest.mark.parametrize("number", range(len(RIGHT)))
def test_where_forms_may_differ_none_is_wrong(number: int) -> None:
    with Oracle(("op_by_op", "compiled")) as oracle:
        broken = oracle.check(RIGHT[number])
        assert not broken, [b.text() for b in broken]


def test_what_is_no_program_of_another_extent_is_not_padded() -> None:
    square = Program("numpy", (Input("float32", ("n", 5), "normal", 1),),
                     ("v0 = np.inner(x0, x0) + x0",), ("v0",), 5)
    with Oracle(("padded",)) as oracle:
        assert not oracle.check(square)
        assert not oracle.ran["padded"]


def test_a_faulty_program_is_shrunk(oracle: Oracle, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the line that is wrong, and inputs that are no larger than it takes."""
    program = Program(
        "numpy", (f32(6, 8), f32(8)),
        ("v0 = np.sin(x0)", "v1 = v0 + x1", "v2 = np.argmax(v1, axis=1)", "v3 = np.exp(v0)",
         "v4 = v3 * 2.0"), ("v2", "v4"))

    def planted(given: Program, form: str) -> Arrays:
        found = forms_run(given, "op_by_op")
        for k, name in enumerate(given.results):
            line = next((x for x in given.lines if x.startswith(f"{name} = ")), "")
            if "exp" in line or any("exp" in x for x in given.lines) and "2.0" in line:
                found[k] = found[k] + 1
        return found

    forms_run = forms.run
    monkeypatch.setattr(forms, "run", planted)
    broken = oracle.check(program)
    small = oracle.shrunk(program, broken)
    assert len(small.lines) == 1 and "exp" in small.lines[0], small.text()
    assert small.inputs[0].shape == (1, 1)
