"""Kernels in C beside those that call NumPy, which are held to the ops' definitions.

For samples of every op of the table and their vjps, at the samples' extents and, with symbols, at
others; how they are called; and where the library of an installation is not used.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from jax import lax

from lazyloom import settings
from lazyloom.dtypes import float32, float64
from lazyloom.host import native, shipped, storage
from lazyloom.host.c_source import library
from lazyloom.host.c_source.function import source_of
from lazyloom.host.c_source.library import CFunctions, CompilerError, linked, prelude
from lazyloom.host.c_values import NoCode
from lazyloom.host.find import form_text, text_of
from lazyloom.host.kernels import kernel_text
from lazyloom.host.loading import load, load_family
from lazyloom.host.writer import Unsupported
from lazyloom.jaxprs import tracing
from lazyloom.jaxprs.op_definitions import function_of
from lazyloom.jaxprs.tracing import trace, with_symbols
from lazyloom.ops.samples import samples
from lazyloom.ops.spec import OpDef, lookup
from lazyloom.program.extents import at_numbers, form_of, may_vary, outline
from lazyloom.trace.specs import Spec, spec_of
from lazyloom.types import tensor_type
from tests.ops.checks import type_of
from tests.runtime.kernel_cases import ULPS, VJP_ULPS, difference, vjp_of
from tests.runtime.other_extents import variants

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(not native.calls_c(), reason="what calls C was not compiled"),
]

SAMPLES = 2


class Case(NamedTuple):
    """A kernel's text, as a function of symbols or not, at operands."""

    label: str
    text: str
    values: list[int] | None
    operands: list[np.ndarray]
    ulps: float


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Compiles functions and has kernels use their library."""
    monkeypatch.setattr(shipped, "wanted", lambda: True)
    monkeypatch.setattr(settings, "WITHOUT", settings.WITHOUT - {"c_kernels"})

    def use(functions: CFunctions) -> None:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.so"
        linked(functions.compiled(str(tmp_path)), str(path), "these")
        found = native.opened(str(path), "these")
        assert not isinstance(found, str), found
        monkeypatch.setattr(native, "library", lambda: found)

    yield use


def results(run: Any, operands: Sequence[np.ndarray]) -> list[Any]:
    given = [x[()] if x.ndim == 0 else x for x in operands]
    with np.errstate(all="ignore"):
        found = run(*given)
    return list(found) if isinstance(found, tuple) else [found]


def of_samples(op: OpDef, thorough: bool) -> Iterator[tuple[str, Spec, Sequence[Any], float]]:
    given = list(samples(op))
    single = [s for s in given if s.operands and s.operands[0] is not None
              and s.operands[0].dtype == np.float32]
    if not thorough:
        given = (single or given)[:: max(1, len(single or given) // SAMPLES)][:SAMPLES]
    for sample in given:
        spec = spec_of(op, sample.attributes, len(sample.operands))
        yield f"{op.name}: {sample!r}", spec, sample.operands, ULPS * op.tolerance
        if op.derivative.differentiable and sample.smooth:
            derived = vjp_of(op, spec, sample)
            if derived is not None:
                yield f"{op.name}: {sample!r} vjp", *derived, VJP_ULPS * op.tolerance


def cases(op: OpDef, functions: CFunctions, thorough: bool) -> Iterator[Case]:
    for k, (label, spec, operands, ulps) in enumerate(of_samples(op, thorough)):
        types = tuple(None if o is None else type_of(o) for o in operands)
        given = [np.asarray(o) for o in operands if o is not None]
        try:
            traced = trace(function_of(spec, types), [(x.shape, x.dtype) for x in given])
            text = functions.named(kernel_text(traced), traced, None)
        except Unsupported:
            continue
        if "native(" in text:
            yield Case(label, text, None, given, ulps)
        numbers = outline(spec, types)[1]
        others = list(variants(numbers)) if may_vary(spec) else []
        if not others:
            continue
        chosen = others[k % len(others)]
        form, found = form_of([numbers, chosen[0]]), at_numbers(spec, types, chosen[0])
        if form is None or found is None:
            continue
        form.text = form_text(*found, form, functions.named)
        if "native(" not in form.text:
            continue
        for other in chosen[:2]:
            values, at = form.values(other), at_numbers(spec, types, other)
            if values is not None and at is not None:
                yield Case(f"{label} at {other}", form.text, values, [
                    np.resize(o, t.shape) for o, t in zip(operands, at[1], strict=True)
                    if t is not None], ulps)


@pytest.mark.slow
@pytest.mark.once("functions in C are made and called outside the core")
def test_functions_give_what_kernels_of_numpy_give(
    op_names: list[str], made: Any, monkeypatch: pytest.MonkeyPatch, thorough: bool
) -> None:
    functions = CFunctions()
    found = [case for name in op_names for case in cases(lookup(name), functions, thorough)]
    made(functions)
    wrong: list[str] = []
    counts: Counter[str] = Counter()
    for case in found:
        runs = []
        for kernels in (True, False):
            monkeypatch.setattr(shipped, "wanted", lambda used=kernels: used)
            run = load(case.text)[0] if case.values is None else load_family(
                case.text)[0](*case.values)
            runs.append(run)
        if runs[0] is None:
            counts["another kernel"] += 1
            continue
        assert not native.is_native(runs[1])
        if not native.is_native(runs[0]):
            counts["left to NumPy"] += 1
            continue
        counts["compared"] += 1
        before = [x.copy() for x in case.operands]
        try:
            expected = results(runs[1], case.operands)
        except Exception:
            # operands that the op does not take, which its vjp does not check
            counts["no such operands"] += 1
            continue
        for got, want in zip(results(runs[0], case.operands), expected, strict=True):
            text = difference(got, np.asarray(want), case.ulps)
            if text:
                wrong.append(f"{case.label}: {text}")
            if any(np.shares_memory(got, x) for x in case.operands):
                wrong.append(f"{case.label}: a result in an operand's memory")
        for x, y in zip(case.operands, before, strict=True):
            if x.tobytes() != y.tobytes():
                wrong.append(f"{case.label}: an operand was written to")
    print(counts)
    assert counts["compared"] > 20
    assert not wrong, "\n".join(wrong)


def gathered(x: Any, i: Any) -> Any:
    numbers = lax.GatherDimensionNumbers((1, 2), (), (0, 1))
    at = lax.broadcast_in_dim(i, (3, 2), ())
    return lax.gather(x, at, numbers, (2, 2), mode="clip")


def scattered(x: Any, i: Any) -> Any:
    numbers = lax.ScatterDimensionNumbers((0, 1), (), (0, 1))
    at = lax.broadcast_in_dim(i, (2,), ())
    return lax.scatter_add(x, at, lax.slice(x * x, (1, 1), (3, 3)), numbers)


#: functions of an array (3, 4) and a position that move what is computed
MOVES: list[Any] = [
    lambda x, i: (x + 1)[1:], lambda x, i: (x * x)[::-1], lambda x, i: (x + 1)[:, 1:3] * 2,
    lambda x, i: lax.rev(lax.sin(x), (0, 1))[1:, 1:3], lambda x, i: (x + 1)[::2, ::3],
    lambda x, i: lax.dynamic_slice(x * 2, (i, i), (2, 2)) + 1,
    lambda x, i: lax.dynamic_slice(x * 2, (i + 7, -i), (2, 2)) + 1,
    lambda x, i: lax.dynamic_update_slice(x + 1, x[:2, :2] * 3, (i, i)),
    lambda x, i: gathered(x + 1, i), lambda x, i: gathered(x[::-1], i + 9),
    lambda x, i: scattered(x + 1, i), lambda x, i: scattered(lax.rev(x, (0,)), i + 9),
    lambda x, i: lax.pad(x + 1, x[0, 0], ((1, 2, 1), (0, 1, 2)))[1:, 2:],
    lambda x, i: lax.concatenate([x + 1, lax.rev(x * 2, (1,))], 1)[:, 3:7],
    lambda x, i: lax.transpose(x + 1, (1, 0))[1:].reshape(9), lambda x, i: x.T.reshape(12) + 1,
    lambda x, i: lax.reshape(x + 1, (2, 6))[:, 1:], lambda x, i: x[1:] @ (x + 1)[:2, :].T,
    lambda x, i: lax.reduce_max(lax.rev(x - 5, (1,))[1:, 1:], (0,)),
    lambda x, i: lax.cumsum((x + 1)[::-1], 1, reverse=True),
    lambda x, i: lax.argmax((x - 5)[:, ::-1], 1, np.int32),
    lambda x, i: lax.reduce_sum(lax.broadcast_in_dim(x[1], (3, 4, 2), (1,)), (0, 2)),
    lambda x, i: lax.select(x > 4, x[::-1] * 2, x - 1), lambda x, i: x.sum(0)[None, ::-1] + x,
    lambda x, i: lax.max(x - x, -(x - x)), lambda x, i: lax.min(x - x, -(x - x)),
    lambda x, i: lax.tanh(-(x - x)), lambda x, i: lax.cumsum(-(x - x), 1),
    lambda x, i: lax.cumsum(-(x - x)[:, :1], 1),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(MOVES)))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_computed_can_be_moved(number: int, dtype: Any, made: Any) -> None:
    x, i = np.arange(12, dtype=dtype).reshape(3, 4), np.array(1, np.int32)

    def both(x: Any, i: Any) -> Any:
        # views alone are left to NumPy
        return MOVES[number](x, i), x - 1

    with tracing.x64():
        expected = np.asarray(jax.jit(both)(x, i)[0])
    traced = trace(both, [((3, 4), dtype), ((), np.int32)])
    functions = CFunctions()
    text = functions.named(kernel_text(traced), traced, None)
    assert "native(" in text
    made(functions)
    run, _ = load(text)
    assert native.is_native(run)
    found, _ = run(x, i)
    np.testing.assert_allclose(found, expected, rtol=1e-6, strict=True)
    assert np.array_equal(np.signbit(found), np.signbit(expected))


def test_a_result_that_no_step_makes_has_a_size_of_its_own() -> None:
    """What is computed element by element has one extent, which others must not take."""
    def attempt(symbols: Any, conditions: Any) -> tuple[str, str]:
        n, m = symbols
        shapes = [((n, m), np.float32), ((m,), np.float32)]
        return (source_of(trace(lambda x, y: (x + 1, y), shapes), ["e0", "e1"]).body,
                source_of(trace(lambda x, y: x + 1, shapes), ["e0", "e1"]).body)

    apart, alone = with_symbols(attempt, {"e0": 5, "e1": 3})
    assert "< (n0)" not in apart and "< (e0)" in apart and "< (e1)" in apart
    assert "< (n0)" in alone


def test_functions_of_single_precision(tmp_path: Path) -> None:
    """Within three units in the last place, wherever they are, and exact at their ends."""
    names = ("exp", "log", "tanh", "logistic", "log1p")
    source = tmp_path / "each.c"
    source.write_text(prelude() + "\n".join(
        f"void {n}_(const f32 *x, f32 *y, i64 n) "
        f"{{ for (i64 k = 0; k < n; k++) y[k] = l_{n}_f32(x[k]); }}" for n in names))
    subprocess.run([*library.compiler(), *library.flags(), "-shared", str(source), "-o",
                    str(tmp_path / "each.so"), "-lm"], check=True)
    compiled = ctypes.CDLL(str(tmp_path / "each.so"))
    bits = np.arange(0, 2**32, 9973, dtype=np.uint64).astype(np.uint32)
    x = np.concatenate([bits.view(np.float32), np.array(
        [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 88.7, 88.8, -104, 0.625],
        np.float32)])
    exact = {"exp": np.exp, "log": np.log, "tanh": np.tanh, "log1p": np.log1p,
             "logistic": lambda v: 1 / (1 + np.exp(-v))}
    for name in names:
        y = np.empty_like(x)
        getattr(compiled, f"{name}_")(
            x.ctypes.data_as(ctypes.c_void_p), y.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_int64(x.size))
        with np.errstate(all="ignore"):
            wide = exact[name](x.astype(np.float64))
            rounded = wide.astype(np.float32)
            far = np.abs(y - wide) / np.spacing(np.abs(rounded))
        assert np.array_equal(np.isnan(y), np.isnan(rounded)), name
        # what is not normal may be 0
        normal = np.isfinite(rounded) & (np.abs(rounded) > 1.2e-38)
        assert far[normal].max() < 3, (name, x[normal][far[normal].argmax()])
        assert np.array_equal(y[np.isinf(rounded)], rounded[np.isinf(rounded)]), name


def one(op: str, *shapes: Any, **attributes: Any) -> tuple[Any, CFunctions]:
    """The text of an op's kernel, and its function."""
    functions = CFunctions()
    spec = spec_of(lookup(op), attributes, len(shapes))
    types = tuple(tensor_type(s, float32) for s in shapes)
    traced = trace(function_of(spec, types), [(s, np.float32) for s in shapes])
    return functions.named(kernel_text(traced), traced, None), functions


class Subclass(np.ndarray):
    """Of NumPy's array."""


def test_how_they_are_called(made: Any) -> None:
    text, functions = one("softmax", (3, 4), axis=-1)
    made(functions)
    run, _ = load(text)
    assert native.is_native(run)
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    expected = load("\n".join(text.split("\n")[:-2]) + "\n")[0](np.ascontiguousarray(x[:3, :4]))
    # in whatever order the elements lie; lists and subclasses, too
    for given in (x[:3, :4], np.asfortranarray(x[:3, :4]), x[:3, :4].tolist(),
                  x[:3, :4].copy().view(Subclass)):
        np.testing.assert_allclose(run(given), expected, rtol=1e-6)
    aside = np.zeros(49, np.uint8)[1:].view(np.float32).reshape(3, 4)
    assert not aside.flags.aligned and run(aside).shape == (3, 4)
    with pytest.raises(ValueError, match=r"operand 0 has the shape \[4, 3\], expected \[3, 4\]"):
        run(x[:4, :3])
    with pytest.raises(ValueError, match=r"the shape \[12\]"):
        run(x.ravel()[:12])
    with pytest.raises(TypeError, match="operand 0 is of dtype"):
        run(x[:3, :4].astype(np.float64))
    with pytest.raises(TypeError, match="2 operands were given, expected 1"):
        run(x, x)
    with pytest.raises(TypeError, match="0 operands"):
        run()
    with pytest.raises(TypeError):
        run(a0=x)
    assert run(x[:3, :4]) is not run(x[:3, :4])


def test_scalars_and_absent_operands(made: Any) -> None:
    functions = CFunctions()
    spec = spec_of(lookup("power"), {}, 2)
    types = (tensor_type((3,), float32), tensor_type((), float32))
    traced = trace(function_of(spec, types), [((3,), np.float32), ((), np.float32)])
    text = functions.named(kernel_text(traced), traced, None)
    made(functions)
    run, _ = load(text)
    assert native.is_native(run)
    x = np.array([1, 2, 3], np.float32)
    for two in (np.float32(2), np.array(2, np.float32)):
        np.testing.assert_array_equal(run(x, two), [1, 4, 9])
    with pytest.raises(TypeError, match="operand 1"):
        run(x, np.array(2.0))
    apart = native.with_absent(run, (False, True, False, True))
    np.testing.assert_array_equal(apart(None, x, None, np.float32(2)), [1, 4, 9])
    with pytest.raises(TypeError, match="2 operands were given, expected 4"):
        apart(x, np.float32(2))
    for wrong in ((True,), (True, True, True)):
        with pytest.raises(ValueError, match="operands are present, expected 2"):
            native.with_absent(run, wrong)


def test_what_is_large_or_mostly_products_is_left_to_numpy(made: Any) -> None:
    small, functions = one("exp", (64,))
    large, more = one("exp", (70_000,))
    product, most = one("matmul", (64, 64), (64, 64))
    vector, least = one("matmul", (1, 64), (64, 64))
    for each in (more, most, least):
        functions.texts.update(each.texts)
    made(functions)
    assert [native.is_native(load(t)[0]) for t in (small, large, product, vector)] == [
        True, False, False, True]


def test_many_calls_of_numpy_are_one_function_where_arrays_are_larger(made: Any) -> None:
    """An optimizer's step goes through its arrays once, NumPy nine times; other threads run."""
    spec = spec_of(lookup("step_sgd"), {"momentous": True}, 7)
    number, weight = tensor_type((), float64), tensor_type((128, 128), float32)
    functions = CFunctions()
    text = text_of(spec, (*[number] * 4, *[weight] * 3), functions.named)
    made(functions)
    run = load(text)[0]
    assert native.is_native(run)
    numbers = [np.float64(x) for x in (0.1, 0.9, 0.5, 1.0)]
    arrays = [np.random.default_rng(k).normal(size=(128, 128)).astype("f4") for k in range(3)]
    found: list[Any] = [None] * 4

    def work(k: int) -> None:
        for _ in range(20):
            found[k] = run(*numbers, *arrays)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for results in found:
        for a, b in zip(results, found[0], strict=True):
            np.testing.assert_array_equal(a, b)
    p, g, m = (a.astype("f8") for a in arrays)
    np.testing.assert_allclose(found[0][1], numbers[2] * m + numbers[3] * g, rtol=1e-4, atol=1e-5)


def test_a_function_that_the_compiler_refuses_costs_itself_alone(made: Any) -> None:
    text, functions = one("exp", (5,))
    functions.texts["kbad"] = "{ this is no C; }"
    made(functions)
    assert native.is_native(load(text)[0])


def test_without_a_compiler_there_is_no_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, functions = one("exp", (5,))
    monkeypatch.setenv("CC", "no-such-compiler -x")
    with pytest.raises(CompilerError, match="no-such-compiler"):
        functions.compiled(str(tmp_path))


@pytest.mark.parametrize("spoil", [
    "missing", "empty", "truncated", "one byte", "text", "another", "no mark", "no library"])
def test_a_library_that_is_not_right_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: str
) -> None:
    text, functions = one("exp", (5,))
    path = tmp_path / native.NAME
    mark = native.mark(storage.fingerprint())
    linked(functions.compiled(str(tmp_path)), str(path), "another" if spoil == "another" else mark)
    data = path.read_bytes()
    path.unlink()
    if spoil != "missing":
        path.write_bytes({
            "empty": b"", "text": b"?" * 5000, "truncated": data[: len(data) // 2],
            "one byte": data[:3000] + b"\xff" + data[3001:], "no mark": data[:-100],
            "another": data, "no library": native.sealed(b"?" * 500, mark)}[spoil])
    monkeypatch.setattr(shipped, "wanted", lambda: True)
    monkeypatch.setattr(settings, "WITHOUT", settings.WITHOUT - {"c_kernels"})
    monkeypatch.setattr(shipped, "path", lambda: str(tmp_path / "kernels.bin"))
    run, _ = load(text)
    assert not native.is_native(run)
    np.testing.assert_allclose(run(np.zeros(5, np.float32)), np.ones(5))
    said = native.described()
    assert said.startswith("none" if spoil == "missing" else "not used"), said


def test_they_can_be_left_alone(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text, functions = one("exp", (5,))
    made(functions)
    monkeypatch.setattr(shipped, "wanted", lambda: False)
    assert not native.is_native(load(text)[0])
    assert "LAZYLOOM_KERNELS" in native.described()


def test_what_jax_decides_by_the_platform_is_decided() -> None:
    # a diagonal is taken in one way on some platforms, and in another one here
    found = source_of(trace(lambda x: jax.numpy.diagonal(x) + 1, [((3, 3), np.float32)]))
    assert found.operands == (((3, 3), "float32"),) and found.results == (((3,), "float32"),)
    with pytest.raises(NoCode, match="calls functions"):
        source_of(trace(lambda k, x: lax.cond(k > 0, lax.sin, lax.cos, x), [
            ((), np.int32), ((3,), np.float32)]))


def test_what_has_no_code_says_so() -> None:
    found = source_of(trace(lambda x: (x * np.float32(np.inf), x + np.float32(np.nan)), [
        ((3,), np.float32)]))
    assert "INFINITY" in found.body and "NAN" in found.body
    with pytest.raises(NoCode, match="complex64"):
        source_of(trace(lambda x: x + x, [((3,), np.complex64)]))


INSTALLED = """
import sys
import lazyloom, lazyloom_torch as torch
from lazyloom.host import native
x, target = torch.randn(1, 31), torch.tensor([3])
layer = torch.nn.LSTMCell(31, 8)
h, c = layer(x)
loss = torch.nn.functional.nll_loss(torch.log_softmax(x, -1), target) + h.sum()
loss.backward()
print(loss.item())
assert lazyloom.stats()["host_kernels"] == 0 and lazyloom.stats()["host_kernels_failed"] == 0
assert "jax" not in sys.modules
print(native.described())
"""


@pytest.mark.op_by_op
def test_an_installation_uses_them(tmp_path: Path) -> None:
    said = native.library()
    if isinstance(said, str):
        pytest.skip(f"the package under test brings no kernels in C: {said}")
    environment = {**os.environ, "LAZYLOOM_CACHE_DIR": str(tmp_path), "JAX_PLATFORMS": "cpu",
                   "LAZYLOOM_WITHOUT": ""}
    done = subprocess.run([sys.executable, "-c", INSTALLED], env=environment, cwd=tmp_path,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("used\n")
