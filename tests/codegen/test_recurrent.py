"""LSTM and GRU layers by loops of our own between products of oneDNN, beside XLA."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Iterator
from typing import Any

import jax
import numpy
import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.codegen.generator import NativeCode, Region
from lazyloom.codegen.onednn import library, made, recurrent
from lazyloom.dtypes import dtype_named
from lazyloom.ops.derived import BACKWARD, FORWARD, types_attributes
from lazyloom.ops.recurrent_gradients import LAYOUTS, kept
from lazyloom.ops.spec import lookup
from lazyloom.program.program import Program, Structure
from lazyloom.trace.specs import Spec, spec_of
from lazyloom.types import TensorType, tensor_type

_generator = made()
pytestmark = [pytest.mark.usefixtures("quick_compiler"),
    pytest.mark.xla,
    pytest.mark.skipif(
        _generator is None or bool(engines.available()), reason="oneDNN is not installed"),
]
FLOAT = dtype_named("float32")

#: steps, sequences, features, units; whether there are biases; whether it runs backwards
SIZES: dict[str, tuple[int, int, int, int, bool, bool]] = {
    "even": (6, 16, 32, 128, True, False),
    "odd": (5, 7, 13, 37, True, True),
    "one sequence": (9, 1, 20, 65, True, False),
    "few units, no bias": (4, 3, 70, 5, False, False),
    "reverse": (7, 13, 16, 64, True, True),
}


@pytest.fixture
def _all_levels() -> Iterator[Any]:
    native: Any = importlib.import_module("lazyloom._onednn")
    yield native.limit
    native.limit(2)


def spec_and_operands(kind: str, size: str) -> tuple[dict[str, Any], list[Any]]:
    steps, batch, features, units, biased, reverse = SIZES[size]
    random = numpy.random.default_rng(7)
    states, gates = (2, 4) if kind == "lstm" else (1, 3)
    shapes = [(steps, batch, features), *[(batch, units)] * states, (gates * units, features),
              (gates * units, units)] + [(gates * units,)] * (2 * biased)
    arrays = [random.standard_normal(s).astype("f") for s in shapes]
    for k in (1 + states, 2 + states):
        arrays[k] /= 4
    return {"reverse": reverse}, arrays


def region_of(spec: Spec, types: list[TensorType], unused: tuple[int, ...] = ()) -> Region:
    """The op by itself, of whose results some are not used."""
    results = spec.infer(tuple(types))
    stream: list[Any] = [spec, *(-1 - k for k in range(len(types)))]
    outputs = [(0, r) for r in range(len(results)) if r not in unused]
    given = [*types, *(results[r] for _, r in outputs)]
    return Region(Program(Structure(tuple(stream), tuple(types)), outputs, []), (),
                  tuple(tuple(range(t.ndim)) for t in given))


def results_of(region: Region, arrays: list[Any]) -> list[Any]:
    """What the generator's code gives, in buffers full of NaN at first."""
    assert _generator is not None
    code = _generator.build(region)
    assert isinstance(code, NativeCode)
    function = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p)(code.function)
    made = [numpy.full(t.shape, numpy.nan, t.dtype.numpy) for t in region.results]
    pointers = (ctypes.c_void_p * (len(arrays) + len(made)))(
        *(a.ctypes.data for a in (*arrays, *made)))
    assert function(code.state, pointers) is None
    return made


def close(found: list[Any], expected: list[Any]) -> None:
    assert _generator is not None
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
        limit = _generator.tolerance * 2.0**-23 * numpy.abs(b).max()
        assert numpy.abs(a - b).max() <= limit, (k, numpy.abs(a - b).max(), limit)


def by_xla(spec: Spec, arrays: list[Any]) -> list[Any]:
    with jax.enable_x64(True):
        found = jax.jit(lambda *given: spec.op.fn(*given, **spec.attrs))(*arrays)
    return [numpy.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_layers_and_their_gradients(
    kind: str, size: str, _all_levels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all sets of vector instructions, and numbers of threads."""
    assert _generator is not None
    monkeypatch.setattr(recurrent, "SPLIT", 1)
    attributes, operands = spec_and_operands(kind, size)
    op, states = lookup(kind), 2 if kind == "lstm" else 1
    types = [tensor_type(a.shape, FLOAT) for a in operands]
    argnums = tuple(range(len(operands)))
    forward = spec_of(op.derive(FORWARD), {**attributes, "forward_argnums": argnums},
                      len(operands))
    expected = by_xla(forward, operands)
    cotangents = [numpy.random.default_rng(k).standard_normal(e.shape).astype("f")
                  for k, e in enumerate(expected[:1 + states])]
    given = [*expected[1 + states:], *cotangents]
    backward = spec_of(op.derive(BACKWARD), {
        **attributes, **types_attributes(types), "backward_argnums": argnums,
        "backward_outnums": tuple(range(1 + states))}, len(given))
    gradients = by_xla(backward, given)
    backward_types = [tensor_type(a.shape, FLOAT) for a in given]
    alone = spec_of(op, attributes, len(operands))
    for level in range(_all_levels(2) + 1):
        assert _all_levels(level) == level
        for threads in (1, 2, 5):
            monkeypatch.setattr(library.opened(_generator.path), "threads", threads)
            close(results_of(region_of(forward, types), operands), expected)
            close(results_of(region_of(alone, types, (states,)), operands),
                  expected[:states])
            close(results_of(region_of(backward, backward_types), given), gradients)


@pytest.mark.parametrize(("kind", "outnums"), [
    ("lstm", (0,)), ("lstm", (1,)), ("lstm", (2,)), ("lstm", (1, 2)), ("gru", (0,)), ("gru", (1,))])
@pytest.mark.parametrize("names", [
    ("x",), ("w_input", "w_hidden"), ("h", "w_hidden", "b_input"), ("c", "w_input", "b_hidden")])
def test_gradients_by_some_operands(
    kind: str, names: tuple[str, ...], outnums: tuple[int, ...]
) -> None:
    attributes, operands = spec_and_operands(kind, "odd")
    op, results = lookup(kind), 3 if kind == "lstm" else 2
    argnums = tuple(k for k, name in enumerate(LAYOUTS[kind].operands) if name in names)
    types = [tensor_type(a.shape, FLOAT) for a in operands]
    forward = spec_of(op.derive(FORWARD), {**attributes, "forward_argnums": argnums},
                      len(operands))
    made = by_xla(forward, operands)
    assert len(made) == results + len(kept(kind, argnums, [True] * len(operands)))
    # the last states are not used
    found = results_of(region_of(forward, types, tuple(range(1, results))), operands)
    close(found, [made[0], *made[results:]])
    given = [*made[results:], *(numpy.ones_like(made[k]) for k in outnums)]
    backward = spec_of(op.derive(BACKWARD), {
        **attributes, **types_attributes(types), "backward_argnums": argnums,
        "backward_outnums": outnums}, len(given))
    close(results_of(region_of(backward, [tensor_type(a.shape, FLOAT) for a in given]), given),
          by_xla(backward, given))


def test_special_values(_all_levels: Any) -> None:
    """Gates at their ends are exact, and NaN is seen."""
    attributes, operands = spec_and_operands("lstm", "one sequence")
    units = SIZES["one sequence"][3]
    spec = spec_of(lookup("lstm"), attributes, len(operands))
    types = [tensor_type(a.shape, FLOAT) for a in operands]
    operands[0][:] = 0
    operands[4][:] = 0
    for level in range(_all_levels(2) + 1):
        _all_levels(level)
        # i and o are 1, f is 0, g is 1: the cell is 1
        operands[5][:] = numpy.repeat(numpy.float32([1e4, -numpy.inf, numpy.inf, 1e30]), units)
        operands[6][:] = 0
        output, h, c = results_of(region_of(spec, types), operands)
        assert (c == 1).all() and (output == numpy.tanh(numpy.float32(1))).all()
        operands[5][:] = 0
        operands[0][2, 0, 0] = numpy.nan
        output, _, _ = results_of(region_of(spec, types), operands)
        assert numpy.isfinite(output[:2]).all() and numpy.isnan(output[2:]).all()
        operands[0][2, 0, 0] = 0


def test_special_values_of_a_gru(_all_levels: Any) -> None:
    attributes, operands = spec_and_operands("gru", "one sequence")
    units = SIZES["one sequence"][3]
    spec = spec_of(lookup("gru"), attributes, len(operands))
    types = [tensor_type(a.shape, FLOAT) for a in operands]
    operands[0][:] = 0
    operands[3][:] = 0
    for level in range(_all_levels(2) + 1):
        _all_levels(level)
        # the update gate is 1: the state stays
        operands[4][:] = numpy.repeat(numpy.float32([1e4, numpy.inf, 1e30]), units)
        operands[5][:] = 0
        output, h = results_of(region_of(spec, types), operands)
        assert numpy.allclose(h, operands[1], rtol=1e-6) and numpy.allclose(output, operands[1])
        # it is 0, and so is the reset gate, which leaves the tangent of the bias
        operands[4][:] = numpy.repeat(numpy.float32([-numpy.inf, -1e4, -numpy.inf]), units)
        output, h = results_of(region_of(spec, types), operands)
        assert (output == -1).all() and (h == -1).all()
        operands[4][:] = 0
        operands[0][2, 0, 0] = numpy.nan
        output, _ = results_of(region_of(spec, types), operands)
        assert numpy.isfinite(output[:2]).all() and numpy.isnan(output[2:]).all()
        operands[0][2, 0, 0] = 0


def layer_results(kind: str, name: str, **options: Any) -> tuple[list[Any], set[str]]:
    """A layer's results and gradients with a generator, and where its ops ran."""
    random = numpy.random.default_rng(3)
    with codegen.use(name):
        torch.manual_seed(0)
        layer = getattr(torch.nn, kind)(24, 40, 2, **options)
        x = torch.tensor(random.standard_normal((12, 9, 24)).astype("f"), requires_grad=True)
        output, states = layer(x)
        states = states if kind == "LSTM" else (states,)
        ((output * output).sum() + sum((s * s).sum() for s in states)).backward()
        found = [output, *states, x.grad, *(p.grad for p in layer.parameters())]
        report = codegen.explain(lazyloom.program_of(*found))
        ran = {report.generator(n) for n, op in enumerate(report.program.ops)
               if op.startswith(kind.lower())}
        return [t.detach().numpy() for t in found], ran


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "batch_first": True}])
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_layers_of_the_frontend(
    kind: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _generator is not None
    monkeypatch.setattr(recurrent, "SMALL", 1)
    codegen.register(_generator)
    expected, xla = layer_results(kind, "xla", **options)
    found, ours = layer_results(kind, "onednn", **options)
    assert xla == {"xla"} and ours == {"onednn"} and not codegen.failures()
    close(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_second_derivatives(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _generator is not None
    monkeypatch.setattr(recurrent, "SMALL", 1)
    codegen.register(_generator)

    def found(name: str) -> list[Any]:
        with codegen.use(name):
            torch.manual_seed(0)
            layer = getattr(torch.nn, kind)(6, 10)
            x = torch.ones(5, 3, 6, requires_grad=True)
            (slope,) = torch.autograd.grad((layer(x)[0] ** 2).sum(), x, create_graph=True)
            (slope**2).sum().backward()
            return [slope.detach().numpy(), *(p.grad.numpy() for p in layer.parameters())]

    close(found("onednn"), found("xla"))


@pytest.mark.parametrize(("options", "shape", "dtype", "reason"), [
    ({"proj_size": 16}, (8, 16, 64), "float32", "a projection"),
    ({}, (8, 16, 64), "bfloat16", "dtype bfloat16, expected float32"),
    ({}, (2, 64, 64), "float32", "2 steps, expected 4 or more"),
    ({}, (4, 1, 64), "float32", "131072 multiplications, expected 1000000 or more")])
def test_layers_that_it_leaves_have_a_reason(
    options: dict[str, Any], shape: tuple[int, ...], dtype: str, reason: str
) -> None:
    assert _generator is not None
    codegen.register(_generator)
    kind = getattr(torch, dtype)
    with codegen.use("onednn"):
        layer = torch.nn.LSTM(64, 64, **options).to(kind)
        output, _ = layer(torch.ones(*shape, dtype=kind))
        assert reason in codegen.explain(lazyloom.program_of(output)).text()
