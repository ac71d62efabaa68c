"""Layer normalisation by oneDNN, beside XLA."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.codegen.onednn import library, made, normalization
from tests.codegen.onednn_here import skip_without

_generator = made()
pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(
        _generator is None or bool(engines.available()), reason="oneDNN is not installed"),
]


def normalised(weighted: bool, biased: bool, axes: int) -> Any:
    def run(x: Any) -> tuple[Any, list[Any]]:
        shape = x.shape[x.ndim - axes:]
        random = numpy.random.default_rng(5)
        given = [torch.tensor(random.standard_normal(shape).astype("f")).to(x.dtype) if there
                 else None for there in (weighted, biased)]
        found = [t.requires_grad_() for t in given if t is not None]
        return torch.nn.functional.layer_norm(x, shape, *given), found
    return run


OPS: dict[str, Any] = {
    "layer_norm": normalised(True, True, 1), "layer_norm, two axes": normalised(True, True, 2),
    "layer_norm, no bias": normalised(True, False, 1),
    "layer_norm, bias only": normalised(False, True, 1),
    "layer_norm, neither": normalised(False, False, 1),
}


def results(op: str, values: Any, dtype: str, name: str, by_x: bool = True) -> tuple[Any, Any]:
    """A result and its gradients with a generator, and where the ops ran."""
    x = torch.tensor(values).to(getattr(torch, dtype)).requires_grad_(by_x)
    with codegen.use(name), lazyloom.options(reproducible=True):
        out, more = OPS[op](x)
        (out.float() * torch.cos(out.float())).sum().backward()
        found = [out, *([x.grad] if by_x else []), *(t.grad for t in more)]
        report = codegen.explain(lazyloom.program_of(*found))
        ran = [report.generator(n) for n, o in enumerate(report.program.ops)
               if o.startswith(op.split(",")[0])]
        return [t.detach().float().numpy() for t in found], ran


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("op", OPS)
def test_values_and_gradients(
    op: str, dtype: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _generator is not None
    skip_without(_generator, dtype)
    codegen.register(_generator)
    monkeypatch.setattr(normalization, "SPLIT", 1)
    monkeypatch.setattr(library.opened(_generator.path), "threads", threads)
    values = numpy.random.default_rng(2).standard_normal((7, 11, 37)).astype("f") * 3
    with codegen.whatever_the_size():
        expected, xla = results(op, values, dtype, "xla")
        found, ours = results(op, values, dtype, "onednn")
    assert xla == ["xla"] * 2 and ours == ["onednn"] * 2 and not codegen.failures()
    unit = _generator.tolerance * 2.0**-23 if dtype == "float32" else 2.0**-6
    for a, b in zip(found, expected, strict=True):
        assert numpy.abs(a - b).max() <= unit * numpy.abs(b).max()


def test_gradients_by_weights_alone() -> None:
    assert _generator is not None
    codegen.register(_generator)
    values = numpy.random.default_rng(2).standard_normal((9, 24)).astype("f")
    with codegen.whatever_the_size():
        expected, _ = results("layer_norm", values, "float32", "xla", by_x=False)
        found, ours = results("layer_norm", values, "float32", "onednn", by_x=False)
    assert ours == ["onednn"] * 2
    for a, b in zip(found, expected, strict=True):
        assert numpy.allclose(a, b, rtol=1e-5, atol=1e-5)


def test_special_values() -> None:
    """NaN and infinities are where XLA has them, in values and gradients."""
    assert _generator is not None
    codegen.register(_generator)
    values = numpy.random.default_rng(2).standard_normal((6, 40)).astype("f")
    values[1, 3], values[2, 5], values[3, 7], values[4, :] = numpy.nan, numpy.inf, -numpy.inf, 2.0
    values[5, :4] = [-0.0, 1e-40, 3e38, -3e38]
    with codegen.whatever_the_size():
        expected, _ = results("layer_norm", values, "float32", "xla")
        found, ours = results("layer_norm", values, "float32", "onednn")
    assert ours == ["onednn"] * 2
    for a, b in zip(found, expected, strict=True):
        assert (numpy.isnan(a) == numpy.isnan(b)).all() and (numpy.isinf(a) == numpy.isinf(b)).all()


@pytest.mark.parametrize(("dtype", "reason"), [
    ("float32", "128 elements, expected 65536 or more"), ("float64", "dtype float64")])
def test_what_it_leaves_has_a_reason(dtype: str, reason: str) -> None:
    assert _generator is not None
    codegen.register(_generator)
    with codegen.use("onednn"):
        x = torch.ones(8, 16, dtype=getattr(torch, dtype))
        out = torch.nn.functional.layer_norm(x, (16,))
        assert reason in codegen.explain(lazyloom.program_of(out)).text()
