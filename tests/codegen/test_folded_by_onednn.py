"""Convolutions with what follows them as one region of oneDNN's, beside XLA alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.codegen.onednn import convolution, library, made
from tests.codegen.onednn_here import skip_without

_generator = made()
pytestmark = [
    pytest.mark.usefixtures("quick_compiler"), pytest.mark.xla,
    pytest.mark.skipif(
        _generator is None or bool(engines.available()), reason="oneDNN is not installed"),
]

F = torch.nn.functional
#: shape of the images, of the weights, and what else a convolution is told
CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "odd": ((3, 8, 15, 17), (23, 8, 3, 5), {"padding": (1, 2)}),
    "strides": ((4, 16, 26, 25), (24, 16, 3, 3), {"stride": (2, 3), "padding": 1}),
    "dilated": ((2, 16, 16, 16), (40, 16, 3, 3), {"dilation": 2, "padding": 2}),
    "point": ((2, 64, 13, 12), (32, 64, 1, 1), {}),
    "groups": ((2, 32, 14, 14), (64, 8, 3, 3), {"groups": 4, "padding": 1}),
    "depthwise": ((2, 96, 28, 28), (96, 1, 3, 3), {"groups": 96, "padding": 1}),
    "first of a network": ((2, 3, 32, 32), (17, 3, 7, 7), {"stride": 2, "padding": 3}),
    "one axis": ((2, 16, 50), (32, 16, 9), {"padding": 4}),
    "three axes": ((1, 8, 7, 8, 9), (16, 8, 3, 3, 3), {"padding": 1}),
    "few places": ((2, 96, 4, 4), (160, 96, 3, 3), {"padding": 1}),
    "large, one image": ((1, 64, 40, 40), (32, 64, 3, 3), {"padding": 1}),
}


class Given:
    """The operands of a case, of one dtype, and what follows its convolution."""

    def __init__(self, case: str, dtype: str, special: bool = False) -> None:
        shape, window, self.options = CASES[case]
        random = numpy.random.default_rng(5)

        def made(*size: int, positive: bool = False) -> Any:
            values = random.standard_normal(size).astype("float32")
            return torch.tensor(abs(values) + 0.5 if positive else values).to(
                getattr(torch, dtype))

        image = random.standard_normal(shape).astype("float32")
        if special:
            image[0, 0].flat[[1, 7, -1]] = numpy.nan, numpy.inf, -numpy.inf
        self.image = torch.tensor(image).to(getattr(torch, dtype))
        self.weight = made(*window) / 8
        self.convolve = getattr(F, f"conv{len(shape) - 2}d")
        c = window[0]
        out = self.convolution().shape
        self.bias = made(c)
        self.other = made(*out)
        self.mean, self.variance = made(c), made(c, positive=True)
        self.scale, self.shift = made(c), made(c)
        self.channels = made(1, c, *[1] * (len(shape) - 2))

    def convolution(self, bias: Any = None) -> Any:
        return self.convolve(self.image, self.weight, bias, **self.options)

    def normal(self, x: Any, **given: Any) -> Any:
        return F.batch_norm(x, self.mean, self.variance, self.scale, self.shift, **given)


FORMS: dict[str, Callable[[Given], Any]] = {
    "relu": lambda g: F.relu(g.convolution()),
    "relu6": lambda g: F.relu6(g.convolution(4 * g.bias)),
    "bias": lambda g: g.convolution(g.bias),
    "bias, relu": lambda g: F.relu(g.convolution(g.bias)),
    "batch norm": lambda g: g.normal(g.convolution()),
    "batch norm without weights": lambda g: F.batch_norm(g.convolution(), g.mean, g.variance),
    "batch norm without bias": lambda g: F.batch_norm(
        g.convolution(), g.mean, g.variance, g.scale, None, eps=0.25),
    "batch norm without weight": lambda g: F.batch_norm(
        g.convolution(), g.mean, g.variance, None, g.shift),
    "bias, batch norm, relu6": lambda g: F.relu6(g.normal(g.convolution(g.bias))),
    "other": lambda g: g.convolution() + g.other,
    "other first": lambda g: F.relu(g.other + g.convolution()),
    "a number": lambda g: F.relu(g.convolution() + 0.375),
    "one": lambda g: F.relu(g.convolution() + 1),
    "a number for each channel": lambda g: g.channels + g.convolution(),
    "twice": lambda g: _twice(g.normal(g.convolution())),
    "twice, first": lambda g: F.relu(_twice(g.convolution())),
    "residual": lambda g: F.relu(g.normal(g.convolution(g.bias)) + g.other),
}


def _twice(x: Any) -> Any:
    return x + x


def run(form: str, case: str, dtype: str, name: str, special: bool = False) -> tuple[Any, Any]:
    """A form's result with a generator, and the report of its program."""
    skip_without(_generator, dtype)
    with codegen.use(name), torch.no_grad():
        given = Given(case, dtype, special)
        lazyloom.sync()
        out = FORMS[form](given)
        report = codegen.explain(lazyloom.program_of(out))
        return out.float().numpy(), report


def compare(found: Any, expected: Any, dtype: str) -> None:
    assert _generator is not None
    assert found.shape == expected.shape
    numpy.testing.assert_array_equal(numpy.isnan(found), numpy.isnan(expected))
    known = numpy.isfinite(expected)
    rest = ~known & ~numpy.isnan(expected)
    numpy.testing.assert_array_equal(found[rest], expected[rest])
    unit = _generator.tolerance * 2.0**-23 if dtype == "float32" else 4 * 2.0**-8
    largest = numpy.abs(expected[known]).max()
    assert numpy.abs(found[known] - expected[known]).max() <= unit * largest


def folded(report: Any) -> None:
    """Fail unless a convolution and what follows it, to the program's end, are one region."""
    (part,) = report.partition.parts
    names = [report.program.ops[n] for n in part.members]
    assert names[0] == "conv" and len(names) >= 2, str(report)
    assert part.members[-1] == len(report.program.ops) - 1, str(report)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form(form: str, dtype: str) -> None:
    assert _generator is not None
    codegen.register(_generator)
    with lazyloom.options(reproducible=True):
        expected, _ = run(form, "odd", dtype, "xla")
        found, report = run(form, "odd", dtype, "onednn")
    folded(report)
    compare(found, expected, dtype)
    assert not codegen.failures()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_convolution(case: str, dtype: str) -> None:
    assert _generator is not None
    codegen.register(_generator)
    with lazyloom.options(reproducible=True):
        expected, _ = run("residual", case, dtype, "xla")
        found, report = run("residual", case, dtype, "onednn")
    folded(report)
    compare(found, expected, dtype)
    assert not codegen.failures()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("case", ["odd", "one axis", "few places"])
@pytest.mark.parametrize("form", ["relu", "bias, batch norm, relu6", "residual"])
def test_nan_and_infinity(form: str, case: str, dtype: str) -> None:
    assert _generator is not None
    codegen.register(_generator)
    with lazyloom.options(reproducible=True):
        expected, _ = run(form, case, dtype, "xla", special=True)
        found, report = run(form, case, dtype, "onednn", special=True)
    folded(report)
    assert numpy.isnan(expected).any()
    compare(found, expected, dtype)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_limits_of_every_kind_of_number(dtype: str) -> None:
    """What is added to a convolution of zeros is limited."""
    assert _generator is not None
    codegen.register(_generator)
    skip_without(_generator, dtype)
    kind = getattr(torch, dtype)
    values = [numpy.nan, -numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0, 5.96875, 6.0, 6.03125, -2.0,
              1e38, -1e38]
    special = numpy.resize(numpy.array(values, "float32"), (1, 17, 25, 25))
    with torch.no_grad(), lazyloom.options(reproducible=True):
        zeros, ones = torch.zeros(1, 16, 25, 25).to(kind), torch.ones(17, 16, 1, 1).to(kind)
        given = torch.tensor(special).to(kind)
        for limit in (F.relu, F.relu6):
            with codegen.whatever_the_size():
                out = limit(F.conv2d(zeros, ones) + given)
                folded(codegen.explain(lazyloom.program_of(out)))
                found = out.float().numpy()
            expected = limit(given).float().numpy()
            numpy.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("case", ["odd", "few places", "large, one image", "depthwise"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_whatever_the_number_of_threads(
    dtype: str, case: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _generator is not None
    generator = made()
    assert generator is not None
    generator.version = f"{generator.version}, {threads} threads"
    monkeypatch.setattr(library.opened(generator.path), "threads", threads)
    monkeypatch.setattr(convolution, "SPLIT", 100_000)
    try:
        codegen.register(generator)
        with lazyloom.options(reproducible=True):
            expected, _ = run("residual", case, dtype, "xla")
            found, report = run("residual", case, dtype, "onednn")
    finally:
        codegen.register(_generator)
    folded(report)
    compare(found, expected, dtype)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("case", ["odd", "few places", "groups"])
def test_weights_that_stay_are_bound(case: str, dtype: str) -> None:
    """Later runs have weights in order already; new weights and statistics are seen at once."""
    assert _generator is not None
    codegen.register(_generator)
    skip_without(_generator, dtype)
    given = Given(case, dtype)
    results = []
    with torch.no_grad(), lazyloom.options(reproducible=True):
        for name in ("xla", "onednn"):
            with codegen.use(name):
                outs = []
                for step in range(6):
                    weight, variance = given.weight, given.variance
                    if step == 3:
                        given.weight = weight * 2 - 1
                    if step == 4:
                        given.variance = variance + 1
                    lazyloom.sync()
                    bound = lazyloom.stats()["constants_bound"]
                    outs.append(FORMS["residual"](given).float().numpy())
                    if name == "onednn" and step == 1:
                        assert lazyloom.stats()["constants_bound"] == bound + 1
                    given.weight, given.variance = weight, variance
                results.append(outs)
    for expected, found in zip(*results, strict=True):
        compare(found, expected, dtype)
    assert not codegen.failures()


def test_what_a_variable_holds_is_not_folded_away() -> None:
    assert _generator is not None
    codegen.register(_generator)
    with torch.no_grad(), lazyloom.options(reproducible=True):
        given = Given("odd", "float32")
        found = {}
        for name in ("xla", "onednn"):
            with codegen.use(name):
                held = given.normal(given.convolution())
                out = F.relu(held + given.other)
                if name == "onednn":
                    report = codegen.explain(lazyloom.program_of(held, out))
                    (part,) = report.partition.parts
                    ops = [report.program.ops[n] for n in part.members]
                    assert ops == ["conv", "batch_norm_infer"]
                found[name] = held.numpy(), out.numpy()
    for a, b in zip(found["onednn"], found["xla"], strict=True):
        compare(a, b, "float32")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_gradients_are_as_without(dtype: str) -> None:
    assert _generator is not None
    codegen.register(_generator)
    skip_without(_generator, dtype)
    found = {}
    for name in ("xla", "onednn"):
        given = Given("odd", dtype)
        wanted = [given.image, given.weight, given.bias, given.scale, given.shift, given.other]
        for t in wanted:
            t.requires_grad_()
        with codegen.use(name), lazyloom.options(reproducible=True):
            out = FORMS["residual"](given)
            (out.float() * torch.cos(out.float().detach())).sum().backward()
            found[name] = [out.detach().float().numpy(), *(
                t.grad.float().numpy() for t in wanted if t.grad is not None)]
    assert len(found["xla"]) == 7
    for a, b in zip(found["onednn"], found["xla"], strict=True):
        compare(a, b, dtype)


def test_channels_last_as_a_view() -> None:
    """A program that keeps its images with channels last has its groups, too."""
    assert _generator is not None
    codegen.register(_generator)
    given = Given("odd", "float32")
    found = {}
    with torch.no_grad(), lazyloom.options(reproducible=True):
        last = given.image.permute(0, 2, 3, 1).contiguous()
        other = given.other.permute(0, 2, 3, 1).contiguous()
        for name in ("xla", "onednn"):
            with codegen.use(name):
                given.image, given.other = last.permute(0, 3, 1, 2), other.permute(0, 3, 1, 2)
                out = FORMS["residual"](given).permute(0, 2, 3, 1)
                if name == "onednn":
                    report = codegen.explain(lazyloom.program_of(out))
                    (part,) = report.partition.parts
                    assert len(part.members) == 5
                found[name] = out.numpy()
    compare(found["onednn"], found["xla"], "float32")


@pytest.mark.parametrize(("shape", "reason"), [
    ((3, 1, 1, 1), "neither a number"), ((1, 1, 15, 1), "neither a number"),
    ((2, 3, 23, 15, 17), "the convolution"),
])
def test_sums_of_other_shapes_are_left_out(shape: tuple[int, ...], reason: str) -> None:
    assert _generator is not None
    codegen.register(_generator)
    with torch.no_grad(), lazyloom.options(reproducible=True):
        given = Given("odd", "float32")
        more = torch.randn(*shape)
        with codegen.use("onednn"):
            out = F.relu(given.convolution() + more)
            report = codegen.explain(lazyloom.program_of(out))
            found = out.numpy()
        names = {op: report.generator(n) for n, op in enumerate(report.program.ops)}
        assert names["conv"] == "onednn" and names["add"] == "xla", str(report)
        assert reason in str(report)
        with codegen.use("xla"):
            compare(found, F.relu(given.convolution() + more).numpy(), "float32")


def test_the_same_array_as_everything() -> None:
    """Images, weights and what is added may be one array."""
    assert _generator is not None
    codegen.register(_generator)
    found = []
    with torch.no_grad(), lazyloom.options(reproducible=True):
        x = torch.randn(5, 5, 1, 1)
        for name in ("xla", "onednn"):
            with codegen.use(name), codegen.whatever_the_size():
                out = F.relu(F.conv2d(x, x) + x)
                if name == "onednn":
                    folded(codegen.explain(lazyloom.program_of(out)))
                found.append(out.numpy())
    compare(found[1], found[0], "float32")


def test_verified_runs_agree() -> None:
    assert _generator is not None
    codegen.register(_generator)
    with codegen.verify(), codegen.use("onednn"), torch.no_grad():
        given = Given("depthwise", "float32")
        for _ in range(3):
            FORMS["residual"](given).numpy()
        assert lazyloom.last_evaluation().regions.verified
    assert not codegen.failures()
