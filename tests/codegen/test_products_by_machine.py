"""Which of oneDNN and XLA multiplies matrices is measured once for each class of products."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.xla.backend import Xla
from lazyloom.backends.xla.regions import engines
from lazyloom.cache import memory
from lazyloom.codegen import Generator, Region, verdicts
from lazyloom.codegen.onednn import made
from tests.codegen.onednn_here import skip_without

_generator = made()
pytestmark = [
    pytest.mark.xla, pytest.mark.usefixtures("fresh_cache", "no_verdicts"),
    pytest.mark.skipif(
        _generator is None or bool(engines.available()), reason="oneDNN is not installed"),
]


@pytest.fixture
def no_verdicts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """None at first, and none of the test's after it; the generator is oneDNN.

    Programs run whole, as if they were reproducible, and are divided by what was measured.
    """
    assert _generator is not None
    monkeypatch.setattr(verdicts, "reproducible", lambda: False)
    codegen.register(_generator)
    verdicts.adopt(None)
    with codegen.use("onednn"):
        yield
    verdicts.adopt(None)
    memory.clear()


def timing(monkeypatch: pytest.MonkeyPatch, seconds: float) -> list[str]:
    """Have a region take so many seconds, where XLA takes one; returns what is measured."""
    asked: list[str] = []

    def timed(self: Xla, generator: Generator, region: Region) -> list[tuple[float, float]]:
        asked.append(region.calls[0].op)
        return [(seconds, 1.0)] * 9

    monkeypatch.setattr(Xla, "timed", timed)
    return asked


def product(rows: int, dtype: str = "float32", inner: int = 128) -> Callable[[], Any]:
    skip_without(_generator, dtype)
    kind = getattr(torch, dtype)
    a, b = (torch.tensor(numpy.random.default_rng(k).standard_normal(s).astype("float32")).to(kind)
            for k, s in enumerate([(rows, inner), (inner, 160)]))

    def multiply() -> Any:
        with torch.no_grad():
            return torch.tanh(a @ b)

    return multiply


def owner(of: Callable[[], Any]) -> tuple[str, str]:
    """Which generator multiplies, by the report that a program has by itself, and its text."""
    out = of()
    report = codegen.explain(lazyloom.program_of(out))
    out.float().numpy()
    (n,) = (n for n, op in enumerate(report.program.ops) if op in ("dot_general", "matmul"))
    return report.generator(n), str(report)


def test_products_of_float32_are_onednns_where_it_is_quicker(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = timing(monkeypatch, 0.5)
    one, same_class, larger = product(128), product(150), product(128, inner=4096)
    expected = one().numpy()
    assert owner(one)[0] == "xla"
    codegen.measure(lazyloom.program_of(one()))
    assert len(asked) == 1
    name, text = owner(one)
    assert name == "onednn" and "measured 500 ms, XLA 1e+03 ms, as products in float32" in text
    numpy.testing.assert_allclose(one().numpy(), expected, rtol=2e-5, atol=1e-5)
    assert owner(same_class)[0] == "onednn", "nobody measured this one"
    assert owner(larger)[0] == "xla", "nobody measured its class"


def test_products_of_bfloat16_are_xlas_where_it_is_quicker(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    timing(monkeypatch, 1.2)
    one, same_class = product(128, "bfloat16"), product(150, "bfloat16")
    assert owner(one)[0] == "onednn"
    codegen.measure(lazyloom.program_of(one()))
    assert owner(one)[0] == owner(same_class)[0] == "xla"
    assert "as products in bfloat16" in owner(same_class)[1]


@pytest.mark.parametrize("seconds", [0.95, 1.0, 1.08])
@pytest.mark.parametrize(("dtype", "name"), [("float32", "xla"), ("bfloat16", "onednn")])
def test_times_that_are_close_leave_the_table(
    dtype: str, name: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    timing(monkeypatch, seconds)
    one = product(128, dtype)
    codegen.measure(lazyloom.program_of(one()))
    assert owner(one)[0] == name


def test_a_later_process_finds_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = timing(monkeypatch, 0.5)
    one = product(128)
    codegen.measure(lazyloom.program_of(one()))
    # as a process that begins
    verdicts.adopt(None)
    memory.clear()
    assert owner(product(150))[0] == "onednn" and len(asked) == 1


def test_classes_tell_gradients_and_batches_apart() -> None:
    assert _generator is not None
    found = set()
    for shapes in (((64, 96), (96, 80)), ((4, 64, 96), (4, 96, 80)), ((64, 8), (8, 80))):
        a, b = (torch.zeros(s, requires_grad=True) for s in shapes)
        out = a @ b
        out.sum().backward()
        program = lazyloom.program_of(a.grad, out)
        for i in program.structure.instructions:
            call = codegen.Call.of(i)
            if call.op.startswith(("dot_general", "matmul")):
                text = _generator.size_class(call)
                assert text is not None and "float32" in text
                found.add(text)
    assert len(found) >= 4
