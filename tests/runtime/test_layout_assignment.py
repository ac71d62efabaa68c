"""Values in other physical orders: ops replayed there, and programs with convolutions."""

from __future__ import annotations

import itertools
import re
from typing import Any

import jax
import numpy as np
import pytest

import lazyloom as ll
import lazyloom_torch as torch
from lazyloom.backends.data import scalar_vector
from lazyloom.backends.xla import jax_compat, layout_assignment
from lazyloom.backends.xla.assemble import module_text
from lazyloom.backends.xla.layouts import channels_last, identity
from lazyloom.backends.xla.physical import Replayed, replay
from lazyloom.dtypes import as_dtype
from lazyloom.jaxprs import tracing
from lazyloom.ops import lookup
from lazyloom.ops.samples import samples
from lazyloom.types import tensor_type
from tests import quick_options

pytestmark = pytest.mark.usefixtures("quick_compiler")

F = torch.nn.functional

#: an op of every kind that a step of a replay is
REPLAYED = [
    "add", "where", "clip", "relu", "gelu", "sum", "argmax", "max", "cumsum", "flip", "pad",
    "concatenate", "transpose", "reshape", "squeeze", "expand_dims", "broadcast_to", "roll",
    "slice", "matmul", "einsum", "dot_general", "conv", "conv_transpose", "max_pool", "avg_pool",
    "adaptive_avg_pool", "batch_norm_train", "batch_norm_infer", "group_norm", "layer_norm",
    "softmax", "log_softmax", "cross_entropy", "sort", "take", "take_along_axis", "tile",
]  # fmt: skip


@pytest.mark.parametrize("name", REPLAYED)
def test_an_op_means_the_same_in_every_form(name: str) -> None:
    op = lookup(name)
    rng = np.random.default_rng(len(name))
    cases = []
    for sample in samples(op):
        attributes = op.canonical_attributes(sample.attributes)
        there = [x is not None for x in sample.operands]
        given = [np.asarray(x) for x in sample.operands if x is not None]
        if max((x.ndim for x in given), default=0) < 2:
            continue

        def fn(*arrays: Any, there: Any = there, attributes: Any = attributes) -> Any:
            found = iter(arrays)
            return op.fn(*[next(found) if t else None for t in there], **attributes)

        def both(first: Any, *others: Any, fn: Any = fn) -> Any:
            # the derivative too, where one is wanted of the first operand
            if op.derivative.differentiable is not True or first.dtype.kind != "f":
                return fn(first, *others)
            out, pull = jax.vjp(lambda v, fn=fn, rest=others: fn(v, *rest), first)
            return out, pull(jax.tree.map(_ones, out))

        layouts = [tuple(int(d) for d in rng.permutation(x.ndim)) for x in given]
        cases.append((both, given, layouts))
    assert cases

    def everything(operands: Any) -> Any:
        results = []
        for (fn, given, layouts), arrays in zip(cases, operands, strict=True):
            found = Replayed()
            shaped = [(x.shape, x.dtype) for x in given]
            transposed = [jax.numpy.transpose(x, f) for x, f in zip(arrays, layouts, strict=True)]
            there = replay(lambda *a, fn=fn: jax.tree.leaves(fn(*a)), shaped, layouts, found)(
                *transposed)
            back = [jax.numpy.transpose(y, np.argsort(f))
                    for y, f in zip(there, found.layouts, strict=True)]
            results.append((back, jax.tree.leaves(fn(*arrays))))
        return results

    with jax.enable_x64(True):
        compiled = quick_options.jit(everything)
        for got, expected in jax.device_get(compiled([given for _, given, _ in cases])):
            for a, b in zip(got, expected, strict=True):
                assert a.dtype == b.dtype and a.shape == b.shape
                exact = a.dtype.kind in "biu"
                tolerance = 0 if exact else 2e-2 if a.dtype.itemsize == 2 else 1e-5
                np.testing.assert_allclose(
                    np.asarray(a, complex), np.asarray(b, complex), tolerance, tolerance)


def _ones(x: Any) -> Any:
    if x.dtype.kind in "fc" or x.dtype.name == "bfloat16":
        return jax.numpy.ones_like(x)
    return np.zeros(x.shape, jax.dtypes.float0)


CONVOLUTIONS = {
    "one element": ((2, 3, 5, 6), (4, 3, 1, 1), {}),
    "one element, steps and edges": (
        (2, 3, 5, 6), (4, 3, 1, 1), {"strides": (2, 3), "padding_low": (1, 0),
                                     "padding_high": (0, 2)}),
    "one element, cut": ((1, 3, 6, 6), (2, 3, 1, 1), {"padding_low": (-1, -2), "strides": (2, 2)}),
    "one element, gaps": (
        (1, 3, 4, 3), (2, 3, 1, 1), {"input_dilation": (2, 3), "padding_low": (1, -1)}),
    "one element, gaps and steps": (
        (1, 3, 4, 3), (2, 3, 1, 1), {"input_dilation": (2, 2), "strides": (3, 1)}),
    "the whole input": ((2, 3, 4, 3), (5, 3, 4, 3), {}),
    "one place, away": ((2, 3, 6, 5), (5, 3, 3, 2), {"dilation": (2, 3), "strides": (2, 2)}),
    "one place, cut": (
        (2, 3, 6, 5), (5, 3, 3, 3), {"padding_low": (-2, -1), "padding_high": (-1, -1)}),
    "one place, edges": (
        (2, 3, 2, 2), (5, 3, 3, 3), {"padding_low": (1, 0), "padding_high": (0, 1)}),
    "window": ((2, 3, 6, 5), (4, 3, 3, 2), {"strides": (2, 1), "padding_low": (1, 1)}),
    "groups": ((2, 4, 5, 5), (6, 2, 3, 3), {"groups": 2, "strides": (2, 2)}),
    "groups of one element": ((2, 4, 3, 3), (6, 2, 1, 1), {"groups": 2}),
    "one axis": ((2, 3, 7), (4, 3, 1), {"strides": (2,)}),
    "three axes": ((1, 2, 3, 4, 3), (3, 2, 1, 1, 1), {"strides": (2, 1, 2)}),
    "no place": ((2, 3), (4, 3), {}),
    "nothing": ((0, 3, 4, 4), (2, 3, 1, 1), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_and_their_derivatives_are_exact_on_integers(name: str) -> None:
    shape, window, more = CONVOLUTIONS[name]
    rng = np.random.default_rng(1)
    x, w = rng.integers(-3, 4, shape), rng.integers(-3, 4, window)
    fn, attributes = lookup("conv").fn, lookup("conv").canonical_attributes(more)

    def both(x: Any, w: Any) -> Any:
        y, pull = jax.vjp(lambda x, w: fn(x, w, **attributes), x, w)
        return (y, *pull(y))

    x, w = x.astype(np.float32), w.astype(np.float32)
    expected = quick_options.jit(both)(x, w)
    for layout in (identity(x.ndim), channels_last(x.ndim)) if x.ndim > 2 else (identity(2),):
        found = Replayed()
        shaped = [(a.shape, a.dtype) for a in (x, w)]
        got = quick_options.jit(replay(both, shaped, (layout, identity(w.ndim)), found))(
            x.transpose(layout), w)
        for a, b, f in zip(got, expected, found.layouts, strict=True):
            np.testing.assert_array_equal(np.transpose(a, np.argsort(f)), b)


# programs


def run(program: ll.Program, inputs: list[np.ndarray]) -> tuple[str, list[np.ndarray]]:
    """The text of a program and what it gives, compiled anew; its scalars are 1, 2, 3, ..."""
    structure = program.structure
    with tracing.x64():
        text = module_text(structure, program.outputs, {})
        arguments = [jax_compat.upload(x) for x in inputs]
        arguments += [
            jax_compat.upload(scalar_vector(list(range(1, n + 1)), d.numpy))
            for d, n in structure.scalar_counts.items()]
        compiled = jax_compat.compile_text(text)
        return text, [np.asarray(a) for a in compiled.execute(arguments)]


def inputs_of(program: ll.Program) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.integers(-2, 3, t.shape).astype(t.dtype.numpy)
            for t in program.structure.leaf_types]


def both_ways(
    monkeypatch: pytest.MonkeyPatch, *wanted: Any
) -> tuple[str, list[np.ndarray], list[np.ndarray]]:
    """The arranged program's text, its results, and those of the program as recorded."""
    program = ll.program_of(*[w.value if isinstance(w, ll.Tensor) else w for w in wanted])
    given = inputs_of(program)
    text, arranged = run(program, given)
    with monkeypatch.context() as m:
        m.setattr(layout_assignment, "PLATFORMS", ())
        plain_text, plain = run(program, given)
    assert "stablehlo.transpose" not in _main(plain_text)
    return text, arranged, plain


def _main(text: str) -> str:
    return text[: text.index("func.func private")]


def turns(text: str) -> list[str]:
    """The types of what a module's main function turns around."""
    return re.findall(r"stablehlo\.transpose .*: \(tensor<(.*?)>\)", _main(text))


def leaf(*shape: int, requires_grad: bool = False) -> Any:
    return torch.tensor(np.ones(shape, np.float32), requires_grad=requires_grad)


def test_a_chain_is_turned_at_its_ends_only(monkeypatch: pytest.MonkeyPatch) -> None:
    x, v, w = leaf(2, 3, 8, 7), leaf(4, 3, 3, 3), leaf(5, 4, 3, 3)
    y = F.relu(F.conv2d(x, v, leaf(4), padding=1)) * 2 + 1
    y = F.max_pool2d(F.conv2d(y, w), 2) - 3
    text, arranged, plain = both_ways(monkeypatch, y)
    assert turns(text) == ["2x3x8x7xf32", "2x3x2x5xf32"]
    np.testing.assert_array_equal(arranged[-1], plain[-1])


def test_two_readers_of_an_input_share_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    x = leaf(2, 3, 6, 5) + leaf(2, 3, 6, 5)
    y = F.conv2d(x, leaf(4, 3, 3, 3)).sum() + F.conv2d(x, leaf(4, 3, 2, 2)).sum()
    text, arranged, plain = both_ways(monkeypatch, y)
    assert turns(text) == ["2x3x6x5xf32"]
    np.testing.assert_array_equal(arranged[-1], plain[-1])


@pytest.mark.slow
def test_a_convolution_before_dropout(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = leaf(2, 3, 6, 5, requires_grad=True), leaf(4, 3, 3, 3, requires_grad=True)
    for drop in (F.dropout, F.dropout2d, F.alpha_dropout,
                 lambda y: F.fractional_max_pool2d(y, 2, output_size=(2, 2))):
        y = drop(F.conv2d(x, w))
        _, arranged, plain = both_ways(
            monkeypatch, y, *torch.autograd.grad((y * y).sum(), (x, w)))
        for a, b in zip(arranged, plain, strict=True):
            np.testing.assert_allclose(a, b, 1e-5, 1e-4)


def step(net: Any, x: Any) -> list[Any]:
    """A training step: loss, and every parameter after it."""
    loss = (net(x) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        return [loss, *[p - p.grad * 0.25 for p in net.parameters()]]


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        nn = torch.nn
        self.first = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
        self.second = nn.Sequential(
            nn.Conv2d(4, 4, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU(),
            nn.Conv2d(4, 4, 3, 2, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(),
            nn.Conv2d(4, 8, 1, bias=False), nn.BatchNorm2d(8))
        self.aside = nn.Sequential(nn.Conv2d(4, 8, 1, stride=2, bias=False), nn.BatchNorm2d(8))
        self.last = nn.Linear(8, 5)

    def forward(self, x: Any) -> Any:
        x = F.max_pool2d(self.first(x), 3, 2, 1)
        x = F.relu(self.second(x) + self.aside(x))
        return self.last(torch.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))


@pytest.mark.slow
def test_a_training_step_turns_its_image_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    x = torch.rand(2, 3, 12, 12)
    x.sum().item()
    text, arranged, plain = both_ways(monkeypatch, *step(Block(), x))
    assert turns(text) == ["2x3x12x12xf32"]
    for a, b in zip(arranged, plain, strict=True):
        np.testing.assert_allclose(a, b, 2e-4, 2e-4)


def test_the_gradient_of_a_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = leaf(2, 3, 5, 5, requires_grad=True), leaf(4, 3, 3, 3, requires_grad=True)
    y = (F.conv2d(x, w, stride=2) ** 2).sum()
    (g,) = torch.autograd.grad(y, [x], create_graph=True)
    (h,) = torch.autograd.grad((g * g).sum(), [w])
    _, arranged, plain = both_ways(monkeypatch, h)
    for a, b in zip(arranged, plain, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_mean_the_same(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Convolutions among ops that keep, lose, mix and move axes; small integers stay exact."""
    rng = np.random.default_rng(seed)
    one, two = (leaf(2, 4, 6, 6) for _ in range(2))
    values = [one, two]
    weights = itertools.cycle([leaf(4, 4, 3, 3), leaf(4, 4, 1, 1)])

    def small(v: Any) -> Any:
        return torch.clamp(v, -3.0, 3.0)

    def convolved(a: Any, b: Any) -> Any:
        w = next(weights)
        return small(F.conv2d(a, w, padding=w.shape[-1] // 2))

    choices = [
        convolved, convolved, convolved,
        lambda a, b: small(a + b), lambda a, b: torch.where(a > b, a, b),
        lambda a, b: a - b.amax(dim=(2, 3), keepdim=True),
        lambda a, b: torch.cat([b, a], 1)[:, 2:6],
        lambda a, b: small(a + b.sum(dim=1, keepdim=True)), lambda a, b: a.permute(0, 1, 3, 2),
        lambda a, b: a.flip(2), lambda a, b: small(a.reshape(2, 4, 36) @ b.reshape(2, 36, 4)
                                                   ).amax(dim=2).reshape(2, 4, 1, 1) + b,
        lambda a, b: torch.cumsum(torch.sign(a), dim=2), lambda a, b: a * leaf(4, 1, 1),
        lambda a, b: F.max_pool2d(a, 3, 1, 1), lambda a, b: small(a.transpose(0, 1).contiguous()
                                                                  .transpose(0, 1) + b),
    ]  # fmt: skip
    for _ in range(12):
        a, b = (values[int(rng.integers(max(0, len(values) - 4), len(values)))] for _ in range(2))
        values.append(choices[int(rng.integers(len(choices)))](a, b))
    _, arranged, plain = both_ways(monkeypatch, convolved(values[-1], values[-1]), *values[-5:])
    for a, b in zip(arranged, plain, strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_leaves_a_program_lies_in_logical_order() -> None:
    x, w = leaf(2, 3, 5, 4), leaf(4, 3, 1, 1)
    y = F.relu(F.conv2d(x, w))
    assert y.numpy().flags.c_contiguous
    t = tensor_type((2, 4, 5, 4), as_dtype(np.float32))
    assert ll.last_evaluation().program.structure.instructions[-1].types == (t,)
