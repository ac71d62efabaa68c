"""Steps of optimizers by functions in C, beside XLA's."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.selection import backend
from lazyloom.backends.xla.regions import engines
from lazyloom.codegen import c_kernels, worth
from lazyloom.codegen.c_kernels import steps as steps_in_c
from lazyloom.program.stream import Result

_generator = c_kernels.made()
pytestmark = [
    pytest.mark.usefixtures("quick_compiler"), pytest.mark.xla,
    pytest.mark.skipif(
        _generator is None or bool(engines.available()), reason="nothing that steps was compiled"),
]

#: optimizers and their arguments
OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("Adam", {}),
    ("Adam", {"lr": 1, "betas": (0.0, 0.5), "eps": 1e-3}),
    ("Adam", {"weight_decay": 0.3, "maximize": True}),
    ("AdamW", {"weight_decay": 0.3}),
    ("AdamW", {"maximize": True}),
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 1.0, "weight_decay": 0.2, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.2}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.2}),
]
SHAPES: list[tuple[int, ...]] = [(5, 7), (), (1025,), (3, 2, 2731)]
#: units in the last place of a result's largest magnitude
BITS = {"float32": 24, "float64": 53, "bfloat16": 8}


@pytest.fixture(autouse=True)
def in_use() -> Any:
    """The generator alone, for arrays of any size; nothing of it fails."""
    assert _generator is not None
    codegen.register(_generator)
    with codegen.use("c"), codegen.whatever_the_size(), lazyloom.options(reproducible=True):
        yield
    assert not codegen.failures()


def numbers(shape: tuple[int, ...], seed: int, extreme: bool = False) -> Any:
    random = numpy.random.default_rng(seed)
    x = numpy.asarray(random.standard_normal(shape).astype("float32"))
    if extreme and x.ndim:
        some = random.random(shape)
        for value, bound in ((numpy.nan, 0.1), (numpy.inf, 0.2), (-numpy.inf, 0.3), (0.0, 0.4),
                             (-0.0, 0.5), (1e-40, 0.6), (3e38, 0.7), (1e-20, 0.8)):
            x[(some < bound) & (some >= bound - 0.1)] = value
    return x


def steps(
    name: str, arguments: dict[str, Any], dtype: str, extreme: bool = False, count: int = 2,
    shapes: list[tuple[int, ...]] = SHAPES, turned: bool = False,
) -> tuple[list[Any], str]:
    """Return parameters and state after some steps, and which generator did the last."""
    kind = getattr(torch, dtype)
    parameters = [
        torch.nn.Parameter(torch.tensor(numbers(s, k)).to(kind)) for k, s in enumerate(shapes)]
    optimizer = getattr(torch.optim, name)(parameters, **arguments)
    by = ""
    for step in range(count):
        for k, p in enumerate(parameters):
            gradient = torch.tensor(numbers(p.shape[::-1] if turned else p.shape, 10 + k + step,
                                            extreme))
            p.grad = (gradient.permute(*range(p.ndim)[::-1]) if turned else gradient).to(kind)
        optimizer.step()
        by = generator_of_step(parameters)
        lazyloom.sync(*(p._operand() for p in parameters))
    state = [v for p in parameters for n, v in optimizer.state[p].items()
             if isinstance(v, torch.Tensor)]
    return [x.detach().to(torch.float64).numpy() for x in (*parameters, *state)], by


def generator_of_step(tensors: Any, op: str = "step_") -> str:
    report = codegen.explain(lazyloom.program_of(*(t._operand() for t in tensors)))
    names = [i.spec.op.name for i in report.program.structure.instructions]
    return next(report.generator(n) for n, name in enumerate(names) if name.startswith(op))


def assert_close(found: list[Any], expected: list[Any], dtype: str) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        finite = numpy.isfinite(b)
        numpy.testing.assert_array_equal(numpy.isfinite(a), finite)
        numpy.testing.assert_array_equal(a[~finite], b[~finite])
        most = numpy.abs(b[finite]).max(initial=1)
        numpy.testing.assert_allclose(
            a[finite], b[finite], rtol=0, atol=16 * most * 2.0 ** -BITS[dtype])


@pytest.mark.parametrize("dtype", list(BITS))
@pytest.mark.parametrize("name, arguments", OPTIMIZERS)
def test_steps_are_xlas(name: str, arguments: dict[str, Any], dtype: str) -> None:
    found, by = steps(name, arguments, dtype)
    assert by == "c"
    with codegen.use("xla"):
        expected, by = steps(name, arguments, dtype)
    assert by == "xla"
    assert_close(found, expected, dtype)
    assert any(a.any() for a in found)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name, arguments", [
    ("AdamW", {}), ("Adam", {"weight_decay": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.5})])
def test_values_that_are_not_finite_and_subnormal(
    name: str, arguments: dict[str, Any], dtype: str
) -> None:
    found, by = steps(name, arguments, dtype, extreme=True, count=2)
    assert by == "c"
    with codegen.use("xla"):
        expected, _ = steps(name, arguments, dtype, extreme=True, count=2)
    for a, b in zip(found, expected, strict=True):
        for kind in (numpy.isnan, numpy.isposinf, numpy.isneginf):
            numpy.testing.assert_array_equal(kind(a), kind(b))
        normal = numpy.finfo(numpy.float32).tiny
        numpy.testing.assert_array_equal(numpy.abs(a) < normal, numpy.abs(b) < normal)
        finite = numpy.isfinite(b)
        numpy.testing.assert_allclose(
            a[finite], b[finite], rtol=2.0 ** (6 - BITS[dtype]), atol=1e-6)


def test_by_hand() -> None:
    p = torch.nn.Parameter(torch.tensor([1.0, -2.0, 0.5]))
    optimizer = torch.optim.AdamW([p], lr=0.1, betas=(0.9, 0.99), eps=1e-3, weight_decay=0.2)
    w, m, v = p.detach().numpy().astype("float64"), 0.0, 0.0
    for step in range(1, 4):
        g = numpy.array([0.25, step, -1.0])
        p.grad = torch.tensor(g.astype("float32"))
        optimizer.step()
        assert generator_of_step([p]) == "c"
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        w = w * (1 - 0.1 * 0.2)
        w = w - 0.1 * (m / (1 - 0.9**step)) / (numpy.sqrt(v / (1 - 0.99**step)) + 1e-3)
        numpy.testing.assert_allclose(p.detach().numpy(), w, rtol=1e-5)
        assert optimizer.state[p]["step"].item() == step


def test_gradients_in_another_order_of_axes() -> None:
    shapes = [(5, 7), (3, 4, 2731), (9,)]
    found, by = steps("Adam", {}, "float32", shapes=shapes, turned=True)
    assert by == "c"
    with codegen.use("xla"):
        expected, _ = steps("Adam", {}, "float32", shapes=shapes, turned=True)
    assert_close(found, expected, "float32")


def test_casts_of_gradients_are_in_the_region() -> None:
    def losses(count: int) -> tuple[list[float], str]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(9, 65), torch.nn.GELU(), torch.nn.Linear(65, 3))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        x = torch.tensor(numbers((17, 9), 1))
        found, by = [], ""
        for _ in range(count):
            with torch.autocast("cpu", torch.bfloat16):
                loss = model(x).float().square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            report = codegen.explain(lazyloom.program_of(loss._operand()))
            instructions = report.program.structure.instructions
            last = next(n for n, i in enumerate(instructions) if i.spec.op.name == "step_adam")
            made = [item.instruction for item in instructions[last].operands
                    if isinstance(item, Result)]
            casts = [n for n in made if instructions[n].spec.op.name == "cast.vjp"]
            assert len(casts) == 4
            by = " ".join({report.generator(n) for n in (last, *casts)})
            found.append(loss.item())
        return found, by

    found, by = losses(4)
    assert by == "c"
    with codegen.use("xla"):
        expected, by = losses(4)
    assert by == "xla" and found[-1] < found[0]
    numpy.testing.assert_allclose(found, expected, rtol=1e-3)


def test_a_cast_that_is_used_elsewhere_stays_outside() -> None:
    p = torch.nn.Parameter(torch.tensor(numbers((5, 7), 0)))
    narrow = torch.tensor(numbers((5, 7), 1)).to(torch.bfloat16)
    lazyloom.sync(narrow._operand())
    optimizer = torch.optim.SGD([p], lr=0.5)
    before = p.detach().numpy().copy()
    p.grad = narrow.to(torch.float32)
    kept = p.grad * 2
    optimizer.step()
    assert generator_of_step([p]) == "c"
    expected = narrow.to(torch.float32).numpy()
    numpy.testing.assert_allclose(p.detach().numpy(), before - 0.5 * expected, rtol=1e-6)
    numpy.testing.assert_array_equal(kept.numpy(), 2 * expected)


def test_values_of_before_stay_for_those_who_hold_them() -> None:
    p = torch.nn.Parameter(torch.tensor(numbers((70, 70), 0)))
    optimizer = torch.optim.Adam([p])
    held = []
    expected = []
    for step in range(3):
        held.append(p.detach().clone())
        expected.append(p.detach().numpy().copy())
        p.grad = torch.tensor(numbers((70, 70), 1 + step))
        optimizer.step()
        after = p.detach() + 0
        assert generator_of_step([p]) == "c"
        numpy.testing.assert_array_equal(after.numpy(), p.detach().numpy())
    for a, b in zip(held, expected, strict=True):
        numpy.testing.assert_array_equal(a.numpy(), b)
    assert (expected[0] != expected[2]).all()


def test_one_gradient_for_two_parameters_and_a_parameter_as_a_gradient() -> None:
    first, second = (torch.nn.Parameter(torch.tensor(numbers((9, 9), k))) for k in (0, 1))
    a, b = first.detach().numpy().copy(), second.detach().numpy().copy()
    gradient = first.detach().clone()
    first.grad, second.grad = gradient, gradient
    torch.optim.SGD([first, second], lr=0.5).step()
    assert generator_of_step([first, second]) == "c"
    numpy.testing.assert_allclose(first.detach().numpy(), a - 0.5 * a, rtol=1e-6)
    numpy.testing.assert_allclose(second.detach().numpy(), b - 0.5 * a, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_numbers_that_are_tensors(dtype: str) -> None:
    rate = torch.tensor(0.25, dtype=getattr(torch, dtype))
    p, gradient = torch.tensor([1.0, 2.0]), torch.tensor([0.5, -1.0])
    found = lazyloom.apply("step_sgd", [
        rate._operand(), 0.0, 0.0, 1.0, p._operand(), gradient._operand()])
    assert codegen.explain(lazyloom.program_of(found)).coverage == 1
    numpy.testing.assert_array_equal(found.read(), [0.875, 2.25])


def test_more_parameters_than_a_thousand_arrays() -> None:
    shapes: list[tuple[int, ...]] = [(k % 7 + 1,) for k in range(300)]
    found, by = steps("Adam", {}, "float32", shapes=shapes, count=2)
    assert by == "c"
    with codegen.use("xla"):
        expected, _ = steps("Adam", {}, "float32", shapes=shapes, count=2)
    assert_close(found, expected, "float32")


def test_verified() -> None:
    with codegen.verify():
        found, by = steps("Adam", {}, "float32")
    assert by == "c"
    with codegen.use("xla"):
        expected, _ = steps("Adam", {}, "float32")
    assert_close(found, expected, "float32")


def test_measured_over_copies_of_the_values_of_before() -> None:
    p = torch.nn.Parameter(torch.tensor(numbers((70, 70), 0)))
    p.grad = torch.tensor(numbers((70, 70), 1))
    before, gradient = p.detach().numpy().copy(), p.grad.numpy().copy()
    torch.optim.SGD([p], lr=0.5, momentum=0.9).step()
    (part,) = codegen.explain(lazyloom.program_of(p._operand())).partition.parts
    pairs = backend().timed(part.generator, part.region)
    assert len(pairs) > 1 and all(a > 0 and b > 0 for a, b in pairs)
    numpy.testing.assert_allclose(
        p.detach().numpy(), before - 0.5 * gradient, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name, arguments, dtype, why", [
    ("Adam", {"amsgrad": True}, "float32", "a step with amsgrad"),
    ("Adam", {}, "complex64", "dtype complex64, expected one of float32"),
    ("SGD", {"lr": 0.1}, "float16", "dtype float16, expected one of float32"),
])
def test_what_is_left_to_xla(name: str, arguments: dict[str, Any], dtype: str, why: str) -> None:
    p = torch.nn.Parameter(torch.tensor(numbers((9, 9), 0)).to(getattr(torch, dtype)))
    p.grad = torch.tensor(numbers((9, 9), 1)).to(getattr(torch, dtype))
    getattr(torch.optim, name)([p], **arguments).step()
    assert why in codegen.explain(lazyloom.program_of(p._operand())).text()


@pytest.mark.parametrize("size, by", [(steps_in_c.FEWEST - 1, "xla"), (steps_in_c.FEWEST, "c")])
def test_few_elements_are_left_to_xla(
    size: int, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worth, "_everything", 0)
    p = torch.nn.Parameter(torch.zeros(size))
    p.grad = torch.ones(size)
    torch.optim.SGD([p], lr=0.1).step()
    assert generator_of_step([p]) == by
