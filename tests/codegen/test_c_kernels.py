"""Sorts and scans by functions in C, beside XLA's and NumPy's."""

from __future__ import annotations

import threading
from typing import Any

import ml_dtypes
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazyloom
import lazyloom_numpy as lnp
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.codegen import c_kernels

_generator = c_kernels.made()
pytestmark = [
    pytest.mark.xla, pytest.mark.usefixtures("quick_compiler"),
    pytest.mark.skipif(
        _generator is None or bool(engines.available()), reason="nothing that sorts was compiled"),
]

DTYPES = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 "
          "float64").split()
FLOATING = ("float16", "bfloat16", "float32", "float64")


@pytest.fixture(autouse=True)
def in_use_everywhere(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The generator alone, for arrays of any size; nothing of it fails."""
    monkeypatch.setattr(c_kernels, "FEWEST", 0)
    monkeypatch.setattr(c_kernels.scans, "FEWEST", 0)
    monkeypatch.setattr(c_kernels.scans, "LONG", 0)
    assert _generator is not None
    codegen.register(_generator)
    with codegen.use("c"):
        yield
    assert not codegen.failures()


def dtype_of(name: str) -> Any:
    return numpy.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else numpy.dtype(name)


def elements(name: str, shape: tuple[int, ...], seed: int = 0) -> Any:
    """Bits of all kinds, and many equal elements: zeros of both signs and NaN among them."""
    random = numpy.random.default_rng(seed)
    dtype = dtype_of(name)
    count = int(numpy.prod(shape))
    if name == "bool":
        return random.integers(0, 2, shape).astype(bool)
    x = numpy.frombuffer(random.bytes(count * dtype.itemsize), dtype).copy()
    some = random.random(count) < 0.5
    with numpy.errstate(all="ignore"):
        x[some] = random.integers(-3, 4, int(some.sum())).astype(dtype)
        if name in FLOATING:
            # XLA takes subnormal numbers for zeros
            x[numpy.abs(x) < ml_dtypes.finfo(dtype).smallest_normal] = 0
            special = numpy.array([0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan], dtype)
            some = random.random(count) < 0.2
            x[some] = random.choice(special, int(some.sum()))
        if name == "bfloat16":
            # nor does it keep the bits of NaN
            x[x != x] = numpy.nan
    return x.reshape(shape)


def bits(x: Any) -> Any:
    x = numpy.asarray(x)
    return x if x.dtype.kind == "b" else x.view(f"u{x.dtype.itemsize}")


def array(x: Any) -> Any:
    if isinstance(x, torch.Tensor) and x.dtype is torch.bfloat16:
        x = x.view(torch.int16)
    return numpy.asarray(x)


def both(run: Any) -> tuple[list[Any], list[Any]]:
    """Results with the generator, which does the op, and with XLA alone."""
    values = run()
    names = []
    for program in lazyloom.programs_of(*values):
        report = codegen.explain(program)
        names += [report.generator(n) for n, op in enumerate(program.ops)
                  if "sort" in op or op[:3] in ("top", "cum", "arg")]
    assert names and set(names) == {"c"}
    ours = [array(v) for v in values]
    with codegen.use("xla"):
        return ours, [array(v) for v in run()]


def assert_same(run: Any) -> None:
    ours, xla = both(run)
    for a, b in zip(ours, xla, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        assert (bits(a) == bits(b)).all()


SHAPES = {"row": (3001,), "axes": (3, 90, 7)}
#: the quick tests' part of all cases, which XLA takes long to compile
CASES = [pytest.param(name, shape, marks=[] if name in ("float32", "int8") else [pytest.mark.slow])
         for name in DTYPES for shape in SHAPES]


def results(op: str, x: Any, **attributes: Any) -> list[Any]:
    found = lazyloom.apply(op, [x], attributes)
    return list(found) if isinstance(found, tuple) else [found]


@pytest.mark.parametrize("name, shape", CASES)
def test_bits_are_those_of_xla(name: str, shape: str) -> None:
    x = lnp.array(elements(name, SHAPES[shape]))

    def run() -> list[Any]:
        found = []
        for down in (False, True):
            for axis in range(x.ndim):
                found += results("sort", x, axis=axis, descending=down)
                found += results("sort_with_indices", x, axis=axis, descending=down)
            found += results("argsort", x, axis=0, descending=down)
        return found

    assert_same(run)


@pytest.mark.parametrize("name, shape", CASES[2:])
def test_the_largest_and_the_least(name: str, shape: str) -> None:
    x = lnp.array(elements(name, SHAPES[shape]))

    def run() -> list[Any]:
        return [r for k in (1, 5, x.shape[0]) for down in (False, True)
                for r in results("top_k", x, axis=0, largest=down, k=min(k, x.shape[0]))]

    assert_same(run)


@pytest.mark.parametrize("name, shape", [c for c in CASES if c.values[0] in FLOATING])
def test_gradients_are_those_of_xla(name: str, shape: str) -> None:
    with numpy.errstate(all="ignore"):
        x = elements(name, SHAPES[shape]).astype("float32")
    x = torch.tensor(x).to(getattr(torch, name))

    def run() -> list[Any]:
        found = []
        for down in (False, True):
            for op in ("sort", "sort_with_indices", "top_k")[: 2 if name == "float64" else 3]:
                leaf = x.detach().clone().requires_grad_()
                options = {"largest": down, "k": 3} if op == "top_k" else {"descending": down}
                values = results(op, leaf, axis=0, **options)[0]
                weights = torch.arange(values.numel()).reshape(values.shape).to(x.dtype)
                (values * torch.cos(weights)).sum().backward()
                found += [leaf.grad, values.detach()]
        return found

    assert_same(run)


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("op, options", [
    ("sort_with_indices", {"descending": True}), ("sort_with_indices", {"descending": False}),
    ("top_k", {"k": 700, "largest": True}), ("top_k", {"k": 3, "largest": False})])
def test_one_result_of_two(op: str, options: dict[str, Any], number: int) -> None:
    """A result that nothing uses is none of the region's."""
    x = lnp.array(elements("float32", (2, 1500)))
    assert_same(lambda: [results(op, x, axis=1, **options)[number]])


@pytest.mark.parametrize("op", ["sort", "sort_with_indices", "top_k"])
def test_a_gradient_whose_values_nothing_uses(op: str) -> None:
    x = torch.tensor(elements("float32", (1500,)), requires_grad=True)
    options = {"k": 9, "largest": True} if op == "top_k" else {"descending": True}

    def run() -> list[Any]:
        return list(torch.autograd.grad(results(op, x, axis=0, **options)[0].sum(), x))

    assert_same(run)


def test_each_op_of_a_gradient_is_done() -> None:
    x = torch.randn(600, requires_grad=True)
    values, order = torch.sort(x, descending=True)
    (values * values).sum().backward()
    assert x.grad is not None
    report = codegen.explain(lazyloom.program_of(order, x.grad))
    done = {op for n, op in enumerate(report.program.ops) if report.generator(n) == "c"}
    assert done == {"sort_with_indices.fwd", "sort_with_indices.bwd"}


@pytest.mark.parametrize("threads", [1, 3])
def test_long_rows_that_threads_share(threads: int) -> None:
    # longer than what a thread is given
    x = elements("float64", (500_000,))
    x[::3] = numpy.trunc(x[::3])
    rows = [x, numpy.tile(x, 2)[:600_000].reshape(2, -1), x.reshape(-1, 4)]

    def run() -> None:
        for row in rows:
            a, axis = lnp.array(row), 0 if row.shape[-1] == 4 else -1
            found = numpy.asarray(lnp.sort(a, axis))
            order = numpy.asarray(lnp.argsort(a, axis, stable=True))
            wanted.append((bits(found) == bits(numpy.sort(row, axis, "stable"))).all())
            wanted.append((order == numpy.argsort(row, axis, "stable")).all())

    wanted: list[Any] = []
    started = [threading.Thread(target=run) for _ in range(threads)]
    for each in started:
        each.start()
    for each in started:
        each.join()
    assert len(wanted) == 6 * threads and all(wanted)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(DTYPES), st.integers(1, 3000), st.integers(0, 2**32), st.integers(0, 64),
       st.booleans())
def test_whatever_bits_differ(name: str, count: int, seed: int, width: int, down: bool) -> None:
    """Elements that have all but some bits in common, wherever these are."""
    x = bits(elements(name, (count,), seed))
    if name != "bool":
        x = x & ((1 << min(width, 8 * x.dtype.itemsize)) - 1) | x[:1] & ~x.dtype.type(0) << (
            min(width, 8 * x.dtype.itemsize - 1))
        x = x.astype(f"u{x.dtype.itemsize}").view(dtype_of(name))
    a = lnp.array(x)
    values, order = results("sort_with_indices", a, axis=0, descending=down)
    (ordered,) = results("sort", a, axis=0, descending=down)
    plain = x.astype("float32") if name == "bfloat16" else x
    if name in FLOATING and name != "float16":
        # subnormal numbers are zeros in the order
        plain = numpy.where(numpy.abs(plain) < numpy.finfo(plain.dtype).tiny, plain * 0, plain)
    if down:
        wanted = (count - 1 - numpy.argsort(plain[::-1], kind="stable"))[::-1]
        in_order = x[numpy.argsort(plain, kind="stable")][::-1]
    else:
        wanted = numpy.argsort(plain, kind="stable")
        in_order = x[wanted]
    assert (numpy.asarray(order) == wanted).all()
    assert (bits(values) == bits(x[wanted])).all()
    assert (bits(ordered) == bits(in_order)).all()


@pytest.mark.parametrize("name", sorted(FLOATING))
def test_subnormal_numbers_are_zeros_in_the_order(name: str) -> None:
    """Those of float16 are not: it is computed in float32."""
    dtype = dtype_of(name)
    least = numpy.array(ml_dtypes.finfo(dtype).smallest_normal, dtype)
    random = numpy.random.default_rng(5)
    whole = least.view(f"u{dtype.itemsize}")
    x = random.integers(0, 2 * int(whole), 3000).astype(whole.dtype).view(dtype)
    x = numpy.where(random.random(3000) < 0.5, x, -x).astype(dtype)
    x[::7], x[1::7] = 0.0, -0.0
    given = lazyloom.from_host(x)

    def run() -> list[Any]:
        made = [lazyloom.record("sort_with_indices", [given], {"axis": 0, "descending": down})
                for down in (False, True)]
        return [*made[0], *made[1], lazyloom.record("sort", [given], {"axis": 0})]

    values = [numpy.asarray(v.read()) for v in run()]
    with codegen.use("xla"):
        for found, expected in zip(values, run(), strict=True):
            assert (bits(found) == bits(expected.read())).all()
    counted = x if name == "float16" else numpy.where(numpy.abs(x) < least, least * 0, x)
    assert (values[1] == numpy.argsort(counted.astype(float), kind="stable")).all()


def test_what_is_refused_says_why() -> None:
    text = str(codegen.explain(lazyloom.program_of(
        *results("sort", lnp.array(numpy.zeros(900, "complex64")), axis=0))))
    assert "complex64, expected real numbers" in text


def test_small_arrays_are_left_to_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert _generator is not None
    program = lazyloom.program_of(lnp.sort(lnp.arange(10.0)))
    assert "expected 512 or more" in str(codegen.explain(program))


def test_ops_run_alone_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a program is compiled: through the kernel of the host."""
    seen: list[str] = []
    build = c_kernels.C.build

    def built(self: Any, region: codegen.Region) -> codegen.Code:
        seen.extend(call.op for call in region.calls)
        return build(self, region)

    monkeypatch.setattr(c_kernels.C, "build", built)
    x = elements("float32", (30_011,), 3)
    with lazyloom.options(reproducible=False):
        a = lnp.array(x)
        order = numpy.asarray(lnp.argsort(a, stable=True))
        with codegen.use("xla"):
            again = numpy.asarray(lnp.argsort(a, stable=True))
    assert seen == ["argsort"]
    assert (order == numpy.argsort(x, kind="stable")).all() and (order == again).all()


SCANNED = ("int32", "uint32", "int64", "uint64", "float32", "float64")


def numbers(name: str, shape: tuple[int, ...]) -> Any:
    """Of a size that sums and products of them are exact or near."""
    random = numpy.random.default_rng(5)
    if not name.startswith("float"):
        return random.integers(0 if name[0] == "u" else -50, 50, shape).astype(name)
    return (numpy.sign(random.standard_normal(shape)) + random.standard_normal(shape) / 99).astype(
        name)


@pytest.mark.parametrize("shape", [(9001,), (3, 300, 5), (700, 300)])
@pytest.mark.parametrize("name", SCANNED)
def test_scans(name: str, shape: tuple[int, ...]) -> None:
    given = numbers(name, shape)
    x = lnp.array(given)
    attributes = [{"axis": axis, "reverse": turned} for axis in {0, len(shape) - 1}
                  for turned in (False, True)]

    def run() -> list[Any]:
        return [r for a in attributes for op in ("cumsum", "cumprod", "cummax", "cummin")
                for r in results(op, x, **a)]

    ours, xla = both(run)
    assert _generator is not None
    unit = 2.0**-23 if name == "float32" else 2.0**-52
    for k, (a, b) in enumerate(zip(ours, xla, strict=True)):
        assert a.dtype == b.dtype == given.dtype and a.shape == b.shape
        if name.startswith("float") and k % 4 < 2:
            # each element of a product is rounded as often as there are factors
            error = 9100 * unit * numpy.abs(b) if k % 4 else (
                _generator.tolerance * unit * numpy.abs(b).max())
            assert (numpy.abs(a - b) <= error).all()
        else:
            assert (a == b).all()


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("shape, axis", [((9001,), 0), ((50, 300), 0), ((3, 3000), 1)])
def test_extrema_where_some_are_no_numbers(name: str, shape: tuple[int, ...], axis: int) -> None:
    given = numbers(name, shape)
    flat = given.reshape(-1)
    flat[5], flat[6], flat[-3], flat[-9] = numpy.inf, -numpy.inf, numpy.nan, numpy.nan
    x = lnp.array(given)

    def run() -> list[Any]:
        return [r for op in ("cummax", "cummin") for turned in (False, True)
                for r in results(op, x, axis=axis, reverse=turned)] + [
            r for op in ("argmax", "argmin") for at in (None, axis)
            for r in results(op, x, axis=at)]

    ours, xla = both(run)
    for a, b in zip(ours, xla, strict=True):
        numpy.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", SCANNED)
def test_where_extrema_are(name: str) -> None:
    # many that tie, and the extrema at the ends of blocks
    given = numbers(name, (3, 2101, 4))
    given[0, 1023] = given[1, 1024] = given.max() + 1
    given[1, 0] = given[2, 2100] = given.min()
    x = lnp.array(given)

    def run() -> list[Any]:
        return [r for op in ("argmax", "argmin") for axis in (None, 0, 1, 2)
                for r in results(op, x, axis=axis, keepdims=axis == 1)]

    ours, xla = both(run)
    for a, b in zip(ours, xla, strict=True):
        assert a.dtype == b.dtype and (a == b).all()
    assert ours[0] == given.argmax() and (ours[1] == given.argmax(0)).all()


def test_the_gradient_of_a_sum() -> None:
    x = torch.tensor(numbers("float64", (40, 90))).requires_grad_()
    weights = torch.tensor(numbers("float64", (40, 90))[::-1].copy())
    (torch.cumsum(x, 1) * weights).sum().backward()
    assert x.grad is not None
    report = codegen.explain(lazyloom.program_of(x.grad))
    assert report.generator(list(report.program.ops).index("cumsum.vjp")) == "c"
    wanted = numpy.cumsum(weights.numpy()[:, ::-1], 1)[:, ::-1]
    numpy.testing.assert_allclose(x.grad.numpy(), wanted, rtol=1e-12, atol=1e-12)


def test_extrema_among_few_places_are_xlas(monkeypatch: pytest.MonkeyPatch) -> None:
    """XLA makes one loop of them and of what is before them, and divides it among threads."""
    monkeypatch.setattr(c_kernels.scans, "LONG", 64)
    x = lnp.array(numpy.arange(6400.0).reshape(100, 64))
    for rows, by in ((x, "c"), (x.reshape(400, 16), "xla"), (x.reshape(16, 400).T, "xla")):
        found = rows.argmin(axis=1)
        report = codegen.explain(lazyloom.program_of(found))
        last = len(report.program.structure.instructions) - 1
        assert report.generator(last) == by
        if by == "xla":
            assert "16 places in a row, expected 64 or more" in report.text()
        assert not report.left_behind()
        assert (numpy.asarray(found) == 0).all()
