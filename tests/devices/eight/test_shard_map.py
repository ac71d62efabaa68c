"""Functions that each device of a mesh runs on its own part."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom.distributed as dist
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom import errors

MESH = lazyloom.make_mesh({"data": 4, "model": 2})
ONE = lazyloom.make_mesh({"data": 1, "model": 1})
#: large enough that XLA divides its loops among threads, and with a remainder
ROWS = 2 ** 11 + 8


def mapped(f: Any, in_specs: Any, out_specs: Any, mesh: Any = MESH) -> Any:
    return lazyloom.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs)


def numbers(*shape: int) -> Any:
    return numpy.random.default_rng(0).standard_normal(shape)


@pytest.mark.parametrize("mesh", [MESH, ONE], ids=["eight", "one"])
def test_a_product_of_divided_matrices(mesh: Any) -> None:
    def product(x: Any, w: Any) -> tuple[Any, Any]:
        assert x.shape == (ROWS // mesh.shape["data"], 16 // mesh.shape["model"])
        return dist.all_reduce(x @ w, "sum", "model"), lazyloom.axis_index("data").reshape(1)

    x, w = numbers(ROWS, 16), numbers(16, 6)
    y, places = mapped(product, [("data", "model"), ("model",)], [("data",), ("data",)], mesh)(
        np.asarray(x), np.asarray(w))
    assert lazyloom.placement_of(y).spec == (("data",),)
    numpy.testing.assert_allclose(numpy.asarray(y), x @ w, rtol=1e-12, atol=1e-12)
    assert places.tolist() == list(range(mesh.shape["data"]))


@pytest.mark.parametrize("reduction", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "complex64"])
def test_reductions(reduction: str, dtype: str) -> None:
    if reduction == "mean" and numpy.dtype(dtype).kind in "iu":
        pytest.skip("there is no mean of integers")
    x = (numbers(8, 3) * 4).astype(dtype) if dtype != "uint8" else numpy.arange(
        24, dtype="uint8").reshape(8, 3)
    found = mapped(lambda x: dist.all_reduce(x, reduction, ("data", "model")),
                   (("data", "model"),), ())(np.asarray(x))
    if dtype == "complex64" and reduction in ("max", "min"):
        order = numpy.sort_complex(x.T).T
        expected = order[-1:] if reduction == "max" else order[:1]
    else:
        expected = getattr(numpy, reduction)(x, axis=0, keepdims=True)
    numpy.testing.assert_allclose(
        numpy.asarray(found), expected.astype(dtype), rtol=1e-5, atol=1e-5)


def test_nan_bool_and_halves() -> None:
    x = numpy.ones((8, 2), "float32")
    x[5, 1] = numpy.nan
    largest = mapped(lambda x: dist.all_reduce(x, "max", ("data", "model")),
                     (("data", "model"),), ())
    assert numpy.isnan(numpy.asarray(largest(np.asarray(x)))).tolist() == [[False, True]]
    flags = numpy.arange(8).reshape(8, 1) == 5
    total = mapped(lambda x: dist.all_reduce(x, "sum", ("data", "model")),
                   (("data", "model"),), ())(np.asarray(flags))
    assert total.tolist() == [[True]]
    half = torch.ones(8, 2, dtype=torch.bfloat16)
    assert largest(half).dtype is torch.bfloat16


def test_other_collectives() -> None:
    x = numbers(16, 8)

    def all_of_them(x: Any) -> Any:
        return (
            dist.all_gather(x, 0, "data"), dist.reduce_scatter(x, "sum", 1, "model"),
            dist.all_to_all(x, 1, 0, "data"), dist.permute(x, [(0, 1), (1, 2), (3, 0)], "data"),
            dist.broadcast(x, 2, "data"))

    gathered, scattered, exchanged, permuted, sent = mapped(
        all_of_them, ("data",), [(), ("data", "model"), (None, "data"), ("data",), ()])(
            np.asarray(x))
    numpy.testing.assert_array_equal(numpy.asarray(gathered), x)
    numpy.testing.assert_allclose(numpy.asarray(scattered), 2 * x)
    numpy.testing.assert_array_equal(numpy.asarray(exchanged), x)
    parts = x.reshape(4, 4, 8)
    numpy.testing.assert_array_equal(
        numpy.asarray(permuted).reshape(4, 4, 8),
        [parts[3], parts[0], parts[1], numpy.zeros((4, 8))])
    numpy.testing.assert_array_equal(numpy.asarray(sent), parts[2])


def test_gradients_are_those_of_one_device() -> None:
    x0, w0, s0 = (numbers(16, 8), numbers(8, 4), numbers(4))

    def loss(x: Any, w: Any, scale: Any, divided: bool) -> Any:
        def part(x: Any, w: Any) -> Any:
            # the scale comes from outside, and each device has it whole
            y = x @ w
            if divided:
                y = dist.all_reduce(y, "sum", "model")
            z = (torch.tanh(y) * scale).mean()
            return dist.all_reduce(z, "mean", "data") if divided else z

        return mapped(part, [("data", "model"), ("model",)], ())(x, w) if divided else part(x, w)

    found = []
    for divided in (False, True):
        leaves = [torch.tensor(v, requires_grad=True) for v in (x0, w0, s0)]
        value = loss(*leaves, divided)
        first = torch.autograd.grad(value, leaves, create_graph=True)
        second = torch.autograd.grad(sum((g.cpu() ** 2).sum() for g in first), leaves)
        found.append([value.item(), *[numpy.asarray(g.cpu().detach()) for g in (*first, *second)]])
    for a, b in zip(*found, strict=True):
        numpy.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-12)


def test_nested_arguments_and_results() -> None:
    def f(state: Any, x: Any) -> Any:
        return {"sum": state["a"] + x, "both": [state["b"] * 2, x]}

    a = np.arange(8.0)
    found = mapped(f, [{"a": ("data",), "b": ()}, ("data",)],
                   {"sum": ("data",), "both": [(), ("data",)]})({"a": a, "b": np.ones(3)}, a)
    assert found["sum"].tolist() == (2 * numpy.arange(8.0)).tolist()
    assert found["both"][0].tolist() == [2, 2, 2]


def test_one_program_that_is_found_again() -> None:
    f = mapped(lambda x, k: dist.all_reduce(x * k, "sum", "data"), [("data",), ()], ())
    x = lazyloom.shard(np.arange(8.0), MESH, ("data",))
    counts = []
    for k in (2.0, 3.0, 4.0):
        assert f(x + 1, np.asarray(k)).tolist() == ((numpy.arange(8.0) + 1) * k).reshape(
            4, 2).sum(0).tolist()
        counts.append(lazyloom.stats()["programs_compiled"])
    assert counts[1] == counts[2]
    assert "all-reduce for shard_map" in lazyloom.last_evaluation().text()


def test_elements_of_an_axis() -> None:
    """vmap around it, of what is on no mesh, and inside it, of a collective."""
    x = numbers(3, 8)
    around = lazyloom.vmap(mapped(lambda v: dist.all_reduce(v.sum(), "sum", "data"), ("data",), ()))
    numpy.testing.assert_allclose(numpy.asarray(around(np.asarray(x))), x.sum(1), rtol=1e-12)
    inside = mapped(lambda v: lazyloom.vmap(lambda q: dist.all_reduce(q, group="data"))(v),
                    (None, "data"), (None, "data"))
    numpy.testing.assert_allclose(
        numpy.asarray(inside(np.asarray(x))), numpy.tile(x.reshape(3, 4, 2).sum(1), (1, 4)))


def test_a_check_on_any_device_is_an_error() -> None:
    table = np.arange(12.0).reshape(6, 2)
    take = mapped(lambda i: torch.nn.functional.embedding(i, torch.ones(6, 2)), ("data",),
                  ("data",))
    good = torch.tensor([0, 1, 2, 3, 4, 5, 0, 1])
    assert take(good).shape == (8, 2)
    assert table.shape == (6, 2)
    with pytest.raises(IndexError):
        take(torch.tensor([0, 1, 2, 3, 4, 5, 0, 17])).tolist()


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: dist.all_reduce(np.ones(2), "sum", "data"), errors.ArgumentError, "outside"),
    (lambda: lazyloom.axis_index("data"), errors.ArgumentError, "outside"),
    (lambda: mapped(lambda x: dist.all_reduce(x, "sum", "rows"), (), ())(np.ones(8)),
     errors.ArgumentError, "expected different ones of the mesh's: data, model"),
    (lambda: mapped(lambda x: dist.all_reduce(x), (), ())(np.ones(8)), errors.ArgumentError,
     "pass the name of an axis"),
    (lambda: mapped(lambda x: dist.all_reduce(x, "sum", ["data"]), (), ())(np.ones(8)),
     errors.ArgumentError, "a tuple of such names"),
    (lambda: lazyloom.make_mesh({"data": 10 ** 9}), errors.ArgumentError, "places"),
    (lambda: mapped(lambda x: x, ("data",), ("data",))(np.ones(6)), errors.PlacementError,
     "multiple of 4"),
    (lambda: mapped(lambda x: x, [()], [(), ()])(np.ones(8)), errors.ArgumentError, "out_specs"),
    (lambda: mapped(lambda x: x, [("data",), ("data",)], ())(np.ones(8)), errors.ArgumentError,
     "in_specs"),
    (lambda: mapped(lambda x: x, (("data",), ()), ())(np.ones(8)), errors.ArgumentError,
     "as a list"),
    (lambda: mapped(lambda x: x, ("rows",), ())(np.ones(8)), errors.PlacementError, "rows"),
    (lambda: mapped(lambda x: x.tolist(), (), ())(np.ones(8)), errors.ReadForbiddenError, "f"),
    (lambda: mapped(lambda: np.ones(3), (), ())(), errors.ArgumentError, "no tensor"),
    (lambda: mapped(lambda x: x.sum(), ("data",), ("data",))(np.ones(8)), errors.PlacementError,
     "1 dimensions"),
])
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
    # nothing is left behind
    assert mapped(lambda x: x + 1, ("data",), ("data",))(np.ones(8)).tolist() == [2.0] * 8
