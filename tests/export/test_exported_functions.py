"""Functions that are exported and loaded: equal results, state, shapes, and their errors."""

from __future__ import annotations

import inspect
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom.errors import (
    AliasError,
    ArgumentError,
    DTypeError,
    GradientError,
    IndexRangeError,
    ReadForbiddenError,
    ShapeError,
)
from tests.export import plain_jax

pytestmark = [pytest.mark.xla, pytest.mark.usefixtures("quick_compiler")]


def loaded(function: Any, *arguments: Any, **options: Any) -> Any:
    file = io.BytesIO()
    lazyloom.export(function, file, *arguments, **options)
    return lazyloom.load(file)


def data(*shape: int) -> Any:
    return numpy.arange(numpy.prod(shape), dtype=numpy.float32).reshape(shape) / 7


def test_results_are_those_of_the_function_in_every_frontend(tmp_path: Path) -> None:
    weights = np.array(data(3, 2))

    def f(x: Any, scale: Any) -> Any:
        return {"y": np.tanh(x @ weights) * scale + 0.3, "rest": [x.sum(), x]}

    path = tmp_path / "f.loom"
    x = np.array(data(4, 3))
    lazyloom.export(f, path, x, np.array(1.5, dtype=np.float32), parameters={"weights": weights})
    with lazyloom.options(reproducible=True):
        expected = f(x, np.array(1.5, dtype=np.float32))
        g = lazyloom.load(path)
        found = g(x, scale=1.5)
        assert isinstance(found["y"], np.ndarray) and list(found) == ["y", "rest"]
        as_torch = g(torch.tensor(data(4, 3)), torch.tensor(1.5))
        assert isinstance(as_torch["y"], torch.Tensor)
        for one in (found, as_torch):
            for a, b in ((one["y"], expected["y"]), (one["rest"][0], expected["rest"][0]),
                         (one["rest"][1], expected["rest"][1])):
                numpy.testing.assert_array_equal(numpy.asarray(a), numpy.asarray(b))
    by_jax = plain_jax.run(str(path), data(4, 3), numpy.float32(1.5))
    numpy.testing.assert_allclose(by_jax[0], numpy.asarray(expected["y"]), rtol=1e-6)
    assert g.argument_names == ["x", "scale"] and g.result_count == 3
    assert "stablehlo" in g.module_text() and list(g.parameters()) == ["weights"]


def test_a_call_is_pending_work_like_any_other() -> None:
    g = loaded(lambda x: x * 2, np.array(data(3)))
    y = g(np.array(data(3))) + 1
    assert lazyloom.program_of(y.value).ops.count("call_module") == 1
    numpy.testing.assert_array_equal(numpy.asarray(y), data(3) * 2 + 1)
    before = lazyloom.stats()["programs_compiled"]
    numpy.testing.assert_array_equal(
        numpy.asarray(g(np.array(data(3) + 1)) + 1), (data(3) + 1) * 2 + 1)
    assert lazyloom.stats()["programs_compiled"] == before


def test_pending_values_and_pass_through(tmp_path: Path) -> None:
    x, w = np.array(data(2, 3)), np.array(data(3))
    lazyloom.sync(x.value, w.value)
    y = (x * w).sum(axis=1)
    lazyloom.export({"y": y, "x": x, "w": w}, tmp_path / "p.loom", inputs={"x": x})
    g = lazyloom.load(tmp_path / "p.loom")
    found = g(np.ones((2, 3), dtype=np.float32))
    numpy.testing.assert_array_equal(numpy.asarray(found["y"]), [data(3).sum()] * 2)
    numpy.testing.assert_array_equal(numpy.asarray(found["x"]), numpy.ones((2, 3)))
    numpy.testing.assert_array_equal(numpy.asarray(found["w"]), data(3))
    with pytest.raises(ArgumentError, match="none of the values is pending"):
        lazyloom.export(w, tmp_path / "q.loom")


def test_every_dtype_travels() -> None:
    from lazyloom.dtypes import ALL

    values = {d.name: lazyloom.from_host(numpy.array([0, 1, 1]).astype(d.numpy)) for d in ALL}

    def f(x: Any) -> Any:
        return [lazyloom.record("where", [x.value, v, v]) for v in values.values()]

    g = loaded(f, np.array([True, False, True]), parameters=values)
    for v, d in zip(g(np.array([True, True, False])), ALL):
        assert v.tensor_type.dtype is d
        numpy.testing.assert_array_equal(numpy.asarray(v.read()), numpy.array([0, 1, 1]).astype(
            d.numpy))


def test_numbers_are_exact_constants() -> None:
    def f(x: Any, y: Any, z: Any) -> Any:
        return x * 0.1 + 1e-30, y + 2**40, z * (0.3 + 2j)

    x, y, z = np.array(data(3)), np.array([1, 2]), np.array([1j, 2])
    with lazyloom.options(reproducible=True):
        for a, b in zip(loaded(f, x, y, z)(x, y, z), f(x, y, z)):
            numpy.testing.assert_array_equal(numpy.asarray(a), numpy.asarray(b))


def test_random_numbers_go_on_from_the_state_of_then(tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(2**40 + 3)

    def f(x: Any) -> Any:
        return x + torch.randn(3, generator=generator), torch.rand(2), torch.randn(3)

    torch.manual_seed(5)
    x = torch.zeros(3)
    lazyloom.export(f, tmp_path / "r.loom", x)
    with lazyloom.options(reproducible=True):
        expected = [[t.numpy() for t in f(x)] for _ in range(2)]
        for g in (lazyloom.load(tmp_path / "r.loom"), lazyloom.load(tmp_path / "r.loom")):
            assert [s.draws for s in g.generators] == [1, 2]
            states = [s.state for s in g.generators]
            for each in expected:
                for a, b in zip(g(x), each):
                    numpy.testing.assert_array_equal(a.numpy(), b)
    for a, b in zip(plain_jax.run(str(tmp_path / "r.loom"), numpy.zeros(3, numpy.float32),
                                  states=states), expected[0]):
        numpy.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    g.generators[1].seed(5)
    with lazyloom.options(reproducible=True):
        again = g(x)
        numpy.testing.assert_array_equal(again[1].numpy(), expected[0][1])
    assert (again[0].numpy() != expected[0][0]).any()
    # the generators are where the two calls left them
    torch.manual_seed(5)
    f(x), f(x)
    state = torch.get_rng_state()
    lazyloom.export(f, io.BytesIO(), x)
    assert torch.equal(torch.get_rng_state(), state)


def test_numpys_generators_travel() -> None:
    rng = np.random.default_rng(3)

    def f(x: Any) -> Any:
        return x + rng.standard_normal(4, dtype=np.float32)

    x = np.zeros(4, dtype=np.float32)
    g = loaded(f, x)
    with lazyloom.options(reproducible=True):
        first, second = numpy.asarray(g(x)), numpy.asarray(g(x))
        assert (first != second).all()
        numpy.testing.assert_array_equal(first, numpy.asarray(f(x)))
        numpy.testing.assert_array_equal(second, numpy.asarray(f(x)))


def test_draws_in_a_loop_travel() -> None:
    def f(x: Any) -> Any:
        return lazyloom.scan(lambda c, _: (c + torch.rand(2), None), x, None, length=3)[0]

    torch.manual_seed(1)
    x = torch.zeros(2)
    g = loaded(f, x)
    with lazyloom.options(reproducible=True):
        first, second = g(x).numpy(), g(x).numpy()
        numpy.testing.assert_array_equal(first, f(x).numpy())
        numpy.testing.assert_array_equal(second, f(x).numpy())


def test_indices_are_checked_as_in_the_function() -> None:
    table = np.array(data(5, 2))
    g = loaded(lambda i: table[i] * 2, np.array([1, 2]))
    numpy.testing.assert_array_equal(numpy.asarray(g(np.array([4, 0]))), data(5, 2)[[4, 0]] * 2)
    wrong = g(np.array([1, 9]))
    with pytest.raises(IndexRangeError, match="9 is out of bounds"):
        wrong.sum().item()


def test_extents_that_vary_have_specializations() -> None:
    def f(x: Any, y: Any) -> Any:
        return (x @ y).sum(axis=0)

    g = loaded(f, np.array(data(2, 3)), np.array(data(3, 4)),
               dynamic={"x": {0: "batch", -1: "n"}, "y": {0: "n"}},
               extents={"batch": (1, 2, 5), "n": (3, 6)})
    assert "x: float32[batch,n]" in g.signature and len(g.extents) == 6
    for batch, n in ((1, 3), (5, 6), (2, 3)):
        x, y = np.array(data(batch, n)), np.array(data(n, 4))
        numpy.testing.assert_allclose(
            numpy.asarray(g(x, y)), numpy.asarray(f(x, y)), rtol=1e-5)
    with pytest.raises(ShapeError, match="batch=3, n=3 is called for.*exported for: batch=1, n=3;"):
        g(np.array(data(3, 3)), np.array(data(3, 4)))
    with pytest.raises(ShapeError, match="y has 6 elements along axis 0, expected n=3 as x has"):
        g(np.array(data(2, 3)), np.array(data(6, 4)))


def test_a_module_has_the_argument_names_of_its_forward() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh())
    assert list(inspect.signature(model).parameters) == ["input"]
    assert list(inspect.signature(torch.nn.Linear).parameters)[0] == "in_features"
    program = loaded(model, torch.zeros(1, 3), parameters=model.state_dict(),
                     dynamic={"input": {0: "batch"}}, extents={"batch": (1, 4)})
    assert program.name == "Sequential"
    x = torch.arange(12.0).reshape(4, 3)
    assert torch.allclose(program(input=x), model(x))


def test_arguments_are_checked_at_the_call() -> None:
    g = loaded(lambda x, options: x["a"] * options["power"], {"a": np.array(data(2, 2))},
               {"power": 3})
    x = np.array(data(2, 2))
    numpy.testing.assert_array_equal(
        numpy.asarray(g({"a": x}, options={"power": 3})), data(2, 2) * 3)
    cases: list[tuple[Any, Any, type, str]] = [
        (({"a": x},), {}, ArgumentError, "the argument options is missing"),
        (({"a": x}, {"power": 4}), {}, ArgumentError, r"options\['power'\] is 4, expected 3"),
        (({"b": x}, {"power": 3}), {}, ArgumentError, r"x has the keys \['b'\]"),
        ((x, {"power": 3}), {}, ArgumentError, "x is a .*ndarray, expected a dict"),
        (({"a": x.astype(np.int32)}, {"power": 3}), {}, DTypeError,
         r"x\['a'\] is a int32\[2,2\], expected float32\[2,2\]"),
        (({"a": x[0]}, {"power": 3}), {}, ShapeError, r"x\['a'\] is a float32\[2\]"),
        (({"a": "text"}, {"power": 3}), {}, ArgumentError, r"x\['a'\] is a str"),
        (({"a": x}, {"power": 3}), {"z": 1}, ArgumentError, "the argument z is not known"),
        (({"a": x}, {"power": 3}, 1), {}, ArgumentError, "3 arguments are given, expected 2"),
    ]
    for args, kwargs, kind, message in cases:
        with pytest.raises(kind, match=message):
            g(*args, **kwargs)


def test_no_derivative_is_an_error_at_the_call() -> None:
    g = loaded(lambda x: (x * x).sum(), torch.tensor(data(3)))
    x = torch.tensor(data(3), requires_grad=True)
    with pytest.raises(GradientError, match="x requires a gradient.*without its derivative"):
        g(x)
    with torch.no_grad():
        assert g(x).item() == pytest.approx((data(3) ** 2).sum())
    for transform in (lazyloom.grad(g), lambda v: lazyloom.jvp(g, (v,), (v,))):
        with pytest.raises(GradientError, match="requires a gradient"):
            transform(np.array(data(3)))


def test_a_mapped_call_is_one_for_each_element() -> None:
    g = loaded(lambda x, y: x @ y, np.array(data(2, 3)), np.array(data(3)))
    xs, y = np.array(data(4, 2, 3)), np.array(data(3))
    found = lazyloom.vmap(g, in_axes=(0, None))(xs, y)
    numpy.testing.assert_allclose(numpy.asarray(found), data(4, 2, 3) @ data(3), rtol=1e-6)


class Counted(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return x + self.calls


def test_what_cannot_be_exported_is_an_error_that_says_why() -> None:
    x = torch.tensor(data(3))
    state = np.array(data(3))

    def reads(x: Any) -> Any:
        return x * x.sum().item()

    def computed(x: Any) -> Any:
        return x + torch.rand(3).sum().item() + torch.rand(3)

    for function, kind, message in (
        (reads, ReadForbiddenError, "lazyloom.export, called at .*test_exported_functions"),
        (Counted(), AliasError, "a program that lazyloom.export .* writes has no state"),
        (lambda x: 3, ArgumentError, "without tensors"),
        (lambda x: {1.5: x}, ArgumentError, "a key of the result is a float"),
        (lambda x: object(), ArgumentError, "the result is a object"),
        (computed, ArgumentError, "a random number was computed while the function ran"),
    ):
        with pytest.raises(kind, match=message):
            loaded(function, x)
    for options, message in (
        ({"dynamic": {"z": {0: "n"}}}, "dynamic has 'z', expected one of .*'x'"),
        ({"dynamic": {"x": {4: "n"}}}, r"dynamic\['x'\] has 4: 'n', expected an axis"),
        ({"dynamic": {"x": {0: "n"}}}, "extents has"),
        ({"dynamic": {"x": {0: "n"}}, "extents": {"n": range(1, 99)}}, "98 combinations"),
        ({"inputs": [state]}, "inputs is given for a function"),
        ({"stablehlo_version": "99.0.0"}, "cannot be written for StableHLO 99.0.0"),
    ):
        with pytest.raises(ArgumentError, match=message):
            loaded(lambda x: x + 1, x, **options)


def test_a_callback_is_an_error_that_names_the_op() -> None:
    import jax

    from lazyloom.ops import table
    from lazyloom.ops.rules import elementwise

    def doubled_on_the_host(x):  # type: ignore[no-untyped-def]
        """Twice x, by a function of Python."""
        return jax.pure_callback(lambda a: 2 * a, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    if "doubled_on_the_host" not in table():
        doubled_on_the_host.__annotations__ = {"x": "T"}
        lazyloom.register_op(elementwise, T="floating", source="the tests")(doubled_on_the_host)

    with pytest.raises(ArgumentError, match="the op doubled_on_the_host, recorded at .*calls back"):
        loaded(lambda x: lazyloom.apply("doubled_on_the_host", [x]), np.array(data(3)))


def test_paths_of_bytes_and_pathlib(tmp_path: Path) -> None:
    x, path = np.array(data(3)), tmp_path / "é.loom"
    lazyloom.export(lambda x: x + 1, os.fsencode(path), x)
    for given in (path, str(path), os.fsencode(path)):
        assert np.array_equal(lazyloom.load(given)(x), x + 1)
    with pytest.raises(FileNotFoundError):
        lazyloom.load(b"no.loom")


def test_linear_algebra_says_which_routines_it_needs() -> None:
    a = np.array(numpy.eye(3) * 2 + 0.5)
    file = io.BytesIO()
    lazyloom.export(lambda a: np.linalg.solve(a, np.fft.fft(np.ones(3)).real), file, a)
    with zipfile.ZipFile(file) as archive:
        calls = json.loads(archive.read("manifest.json"))["custom_calls"]
    assert calls and all(c.startswith("lapack_") for c in calls)
    numpy.testing.assert_allclose(
        numpy.asarray(lazyloom.load(file)(a)),
        numpy.linalg.solve(numpy.eye(3) * 2 + 0.5, [3, 0, 0]), atol=1e-12)


def test_what_is_captured_or_exported_may_call_exported_programs() -> None:
    x = np.array(data(3))
    g = loaded(lambda x: np.tanh(x), x)
    captured = lazyloom.jit(g)
    for _ in range(4):
        numpy.testing.assert_array_equal(numpy.asarray(captured(x)), numpy.asarray(g(x)))
    assert captured.explain().runs > 0
    numpy.testing.assert_array_equal(
        numpy.asarray(loaded(g, x)(x)), numpy.asarray(g(x)))
    slope = loaded(lambda x: lazyloom.grad(lambda a: (a * a).sum())(x), x)
    numpy.testing.assert_allclose(numpy.asarray(slope(x)), data(3) * 2, rtol=1e-6)


def test_equal_programs_are_equal_files() -> None:
    files = [io.BytesIO(), io.BytesIO()]
    for file in files:
        lazyloom.export(lambda x: np.tanh(x) * 2, file, np.array(data(3)))
    assert files[0].getvalue() == files[1].getvalue()
