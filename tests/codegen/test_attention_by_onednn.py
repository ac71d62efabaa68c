"""Attention in bfloat16 by oneDNN, beside XLA."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.codegen.onednn import library, made
from tests.codegen.onednn_here import skip_without

_generator = made()
pytestmark = [
    pytest.mark.usefixtures("quick_compiler"), pytest.mark.xla,
    pytest.mark.skipif(
        _generator is None or bool(engines.available()), reason="oneDNN is not installed"),
]
OP = "scaled_dot_product_attention"

#: shapes of q, k and v, and what else attention is told
CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "heads": ((2, 3, 40, 16), (2, 3, 40, 16), (2, 3, 40, 16), {}),
    "causal": ((2, 3, 40, 16), (2, 3, 40, 16), (2, 3, 40, 16), {"is_causal": True}),
    "others": ((2, 5, 17, 24), (2, 5, 33, 24), (2, 5, 33, 8), {"scale": 0.5}),
    "more rows, causal": ((1, 2, 33, 24), (1, 2, 17, 24), (1, 2, 17, 40), {"is_causal": True}),
    "one head": ((37, 16), (21, 16), (21, 16), {}),
    "three axes": ((7, 19, 16), (7, 19, 16), (7, 19, 16), {"is_causal": True}),
    "five axes": ((2, 2, 3, 9, 16), (2, 2, 3, 9, 16), (2, 2, 3, 9, 16), {}),
}


def arrays_of(case: str) -> list[Any]:
    random = numpy.random.default_rng(4)
    return [random.standard_normal(s).astype("f") for s in CASES[case][:3]]


def results(
    case: str, arrays: list[Any], name: str, by: tuple[int, ...] = (0, 1, 2)
) -> tuple[list[Any], list[str]]:
    """Attention and its gradients with a generator, and where the ops ran."""
    skip_without(_generator, "bfloat16")
    given = [torch.tensor(a).bfloat16().requires_grad_(k in by) for k, a in enumerate(arrays)]
    with codegen.use(name), lazyloom.options(reproducible=True):
        out = torch.nn.functional.scaled_dot_product_attention(*given, **CASES[case][3])
        (out.float() * torch.cos(out.float())).sum().backward()
        found = [out, *(given[k].grad for k in by)]
        report = codegen.explain(lazyloom.program_of(*found))
        ran = [report.generator(n) for n, o in enumerate(report.program.ops) if o.startswith(OP)]
        return [t.detach().float().numpy() for t in found], ran


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the rounding to bfloat16 of weights and of the scores' cotangents."""
    assert _generator is not None
    codegen.register(_generator)
    monkeypatch.setattr(library.opened(_generator.path), "threads", threads)
    arrays = arrays_of(case)
    with codegen.whatever_the_size():
        expected, xla = results(case, arrays, "xla")
        found, ours = results(case, arrays, "onednn")
    assert xla == ["xla"] * 2 and ours == ["onednn"] * 2 and not codegen.failures()
    for a, b in zip(found, expected, strict=True):
        assert numpy.abs(a - b).max() <= 2.0**-6 * numpy.abs(b).max()


@pytest.mark.parametrize("by", [(0,), (1,), (2,), (1, 2)])
def test_gradients_by_some_operands(by: tuple[int, ...]) -> None:
    assert _generator is not None
    codegen.register(_generator)
    arrays = arrays_of("causal")
    with codegen.whatever_the_size():
        expected, _ = results("causal", arrays, "xla", by)
        found, ours = results("causal", arrays, "onednn", by)
    assert ours == ["onednn"] * 2
    for a, b in zip(found, expected, strict=True):
        assert numpy.abs(a - b).max() <= 2.0**-6 * numpy.abs(b).max()


@pytest.mark.parametrize("value", [numpy.nan, numpy.inf, 1e30])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_special_values(which: int, value: float) -> None:
    """Results are NaN where XLA's are; of keys, positions that are not seen play no part.

    A row of weights that is NaN makes gradients of positions NaN that it does not see.
    """
    assert _generator is not None
    codegen.register(_generator)
    arrays = arrays_of("causal")
    arrays[which][1, 2, 20, 3] = value
    with codegen.whatever_the_size():
        expected, _ = results("causal", arrays, "xla")
        found, ours = results("causal", arrays, "onednn")
    assert ours == ["onednn"] * 2
    a, b = found[0], expected[0]
    assert (numpy.isnan(a) == numpy.isnan(b)).all() and (numpy.isinf(a) == numpy.isinf(b)).all()
    assert numpy.isfinite(a[1, 2, :20]).all() == (which != 2 or numpy.isfinite(value))
    for a, b in zip(found[1:], expected[1:], strict=True):
        assert not numpy.isfinite(a[~numpy.isfinite(b)]).any()
        assert numpy.isfinite(a[0]).all() and numpy.isfinite(a[1, :2]).all()


@pytest.mark.parametrize(("dtype", "options", "reason"), [
    ("float32", {}, "attention in float32, in which it is not quicker"),
    ("bfloat16", {}, "multiplications, expected 2000000 or more"),
    ("bfloat16", {"attn_mask": True}, "a mask, which its scores do not have")])
def test_what_it_leaves_has_a_reason(dtype: str, options: dict[str, Any], reason: str) -> None:
    assert _generator is not None
    codegen.register(_generator)
    x = torch.ones(2, 8, 16, dtype=getattr(torch, dtype))
    if options:
        options = {"attn_mask": torch.ones(8, 8, dtype=torch.bool)}
    with codegen.use("onednn"):
        out = torch.nn.functional.scaled_dot_product_attention(x, x, x, **options)
        assert reason in codegen.explain(lazyloom.program_of(out)).text()
