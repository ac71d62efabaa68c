"""What regions give is compared with what XLA gives, where that is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.codegen.onednn import made
from lazyloom.codegen.precision import difference, roundings
from lazyloom.errors import ArgumentError
from tests.codegen import kit_generators
from tests.codegen.generators import InC, InNumPy
from tests.codegen.onednn_here import skip_without
from tests.codegen.test_constants import Binding

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
]


class Changed(InNumPy):
    """A generator whose results, numbered, are changed on their way out."""

    def __init__(
        self, *ops: str, change: Callable[[Any, int], Any], first: int = 1, order: bool = False
    ) -> None:
        super().__init__(*ops, name="changed", order=order)
        self.change = change
        self.first = first

    def build(self, region: codegen.Region) -> codegen.Code:
        code = super().build(region)
        assert isinstance(code, codegen.PythonCode)

        def run(*operands: Any) -> Any:
            results = code.function(*operands)
            if self.calls < self.first:
                return results
            return tuple(self.change(x.copy(), k) for k, x in enumerate(results))

        return codegen.PythonCode(run)


def at_3(value: Any) -> Callable[[Any, int], Any]:
    """Puts a value where the fourth element lies."""
    def change(x: Any, number: int) -> Any:
        x.flat[3] = value
        return x
    return change


def scaled(factor: float) -> Callable[[Any, int], Any]:
    return lambda x, number: (x * factor).astype(x.dtype)


def verified(generator: codegen.Generator) -> Any:
    codegen.register(generator)
    codegen.use(generator.name)
    return codegen.verify(True)


def numbers(*shape: int, dtype: str = "float32", seed: int = 0) -> Any:
    return (numpy.random.default_rng(seed).standard_normal(shape) * 4).astype(dtype)


def told(work: Callable[[], None]) -> list[str]:
    """The warnings about generators."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        work()
    return [str(w.message) for w in found if "code generator" in str(w.message)]


def sums(a: Any, times: int = 1) -> list[Any]:
    """``tanh(a + a)`` some times, with an addition that the generator does and a tanh that not."""
    found = []
    for _ in range(times):
        x = np.asarray(a)
        found.append(numpy.asarray(np.tanh(x + x)))
    return found


def test_a_generator_that_is_right_stays() -> None:
    g = InNumPy("add", "multiply")
    a = numbers(4, 5)
    with verified(g):
        assert told(lambda: numpy.testing.assert_allclose(
            sums(a, 3)[-1], numpy.tanh(a + a), rtol=1e-6)) == []
        record = lazyloom.last_evaluation()
    assert record.regions.verified and "1 by in_numpy, verified" in record.text()
    assert g.calls == 3 and not codegen.failures()


def test_one_that_is_wrong_is_told_of_and_xla_does_it() -> None:
    g = Changed("add", change=at_3(77.0))
    a = numbers(4, 5)
    before = lazyloom.stats()["regions_failed"]
    found: list[Any] = []
    with verified(g):
        (text,) = told(lambda: found.extend(sums(a, 3)))
        record = lazyloom.last_evaluation()
    for each in found:
        numpy.testing.assert_allclose(each, numpy.tanh(a + a), rtol=1e-6)
    assert text.startswith("the code generator 'changed' gave something else than XLA for a region "
                           "of 1 op (add), which runs without it: its result, float32[4, 5], is "
                           "77.0 at [0, 3], XLA's ")
    assert "units in the last place of the largest magnitude" in text
    assert text.endswith("expected at most 64")
    (failure,) = codegen.failures()
    assert (failure.when, failure.generator, failure.ops) == ("verify", "changed", ("add",))
    assert lazyloom.stats()["regions_failed"] == before + 1
    assert g.calls == 1, "from the next run on it is not called"
    assert not record.regions.run and record.regions.failed[0].ops == ("add",)
    # nor without a look at what it gives
    with codegen.verify(False):
        sums(a)
    assert g.calls == 1


@pytest.mark.parametrize(("ulps", "tolerance", "stays"), [
    (20, 64.0, True), (20, 4.0, False), (200, 64.0, False), (0, 0.0, True)])
def test_the_tolerance_decides(ulps: int, tolerance: float, stays: bool) -> None:
    g = Changed("add", change=scaled(1 + ulps * 2.0**-23))
    g.tolerance = tolerance
    a = numbers(4, 5)
    with verified(g):
        x = np.asarray(a)
        found = None

        def work() -> None:
            nonlocal found
            found = numpy.asarray(x + x)

        assert bool(told(work)) != stays
    assert numpy.array_equal(found, a + a) == (not stays or ulps == 0)


def test_one_that_is_wrong_from_its_fifth_run_on() -> None:
    g = Changed("add", change=at_3(77.0), first=5)
    a = numbers(4, 5)
    found: list[Any] = []
    with verified(g):
        assert told(lambda: found.extend(sums(a, 4))) == []
        assert len(told(lambda: found.extend(sums(a, 4)))) == 1
    for each in found:
        numpy.testing.assert_allclose(each, numpy.tanh(a + a), rtol=1e-6)
    assert g.calls == 5


@pytest.mark.parametrize("given", [numpy.nan, numpy.inf, -numpy.inf])
def test_nan_and_infinity_are_seen(given: float) -> None:
    a = numbers(2, 3)
    with verified(Changed("add", change=at_3(given))):
        found: list[Any] = []
        (text,) = told(lambda: found.extend(sums(a)))
    numpy.testing.assert_allclose(found[0], numpy.tanh(a + a), rtol=1e-6)
    assert f"is {given} at [1, 0]" in text


@pytest.mark.parametrize("given", [numpy.nan, numpy.inf, -numpy.inf])
def test_nan_and_infinity_where_they_belong_are_right_and_missed_where_not(given: float) -> None:
    a = numbers(2, 3)
    a[1, 0] = given
    with verified(InNumPy("add")):
        assert told(lambda: None if sums(a) else None) == []
    with verified(Changed("add", change=at_3(1.0))):
        (text,) = told(lambda: None if sums(a) else None)
    assert f"is 1.0 at [1, 0], XLA's {given}" in text


def test_wrong_in_one_of_two_results() -> None:
    def change(x: Any, number: int) -> Any:
        return x + 1 if number == 1 else x

    a = numbers(6)
    with verified(Changed("add", "multiply", change=change)):
        x = np.asarray(a)
        s = x + x
        p = s * x
        (text,) = told(lambda: lazyloom.sync(s, p))
        numpy.testing.assert_array_equal(numpy.asarray(s), a + a)
        numpy.testing.assert_array_equal(numpy.asarray(p), (a + a) * a)
    assert "result 1, float32[6]" in text and "and in 5 more" in text


@pytest.mark.parametrize(("factor", "stays"), [(1 + 2.0**-6, True), (1.1, False)])
def test_bfloat16(factor: float, stays: bool) -> None:
    a = numbers(40)
    with verified(Changed("add", change=lambda x, k: (
            x.astype("float32") * factor).astype(x.dtype))):
        x = torch.tensor(a).to(torch.bfloat16)
        expected = (x.float() * 2).tolist()
        found: list[Any] = []
        warned = told(lambda: found.append((x + x).float().tolist()))
    assert bool(warned) != stays
    assert (found[0] == expected) != stays


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_integers_have_to_be_equal(dtype: str) -> None:
    a = numbers(7, dtype="int8").astype(dtype)
    with verified(Changed("add", change=lambda x, k: x + x.dtype.type(1))):
        found: list[Any] = []
        x = np.asarray(a)
        (text,) = told(lambda: found.append(numpy.asarray(x + x)))
    numpy.testing.assert_array_equal(found[0], a + a)
    assert "at [0] and in 6 more" in text


@pytest.mark.parametrize("dtype", ["float64", "complex64", "complex128"])
def test_wider_types_are_held_to_their_own_precision(dtype: str) -> None:
    a = numbers(7).astype(dtype)
    single = dtype == "complex64"
    with verified(Changed("add", change=scaled(1 + 1e-6 if single else 1 + 1e-12))):
        x = np.asarray(a)
        found: list[Any] = []
        warned = told(lambda: found.append(numpy.asarray(x + x)))
    assert bool(warned) != single
    assert numpy.array_equal(found[0], a + a) != single


def test_a_text_in_c() -> None:
    class Wrong(InC):
        def build(self, region: codegen.Region) -> codegen.Code:
            code = super().build(region)
            assert isinstance(code, codegen.CSource)
            return code._replace(text=code.text.replace(" + ", " - "))

    a = numbers(100)
    with verified(Wrong()):
        found: list[Any] = []
        assert len(told(lambda: found.extend(sums(a)))) == 1
    numpy.testing.assert_allclose(found[0], numpy.tanh(a + a), rtol=1e-6)


def test_other_orders_of_axes() -> None:
    a = numbers(3, 5)
    with verified(InNumPy("add", "multiply", order=True)):
        x = np.asarray(a)
        found: list[Any] = []
        assert told(lambda: found.append(numpy.asarray(np.tanh(x * x) + x))) == []
    numpy.testing.assert_allclose(found[0], numpy.tanh(a * a) + a, rtol=1e-6)
    with verified(Changed("add", change=at_3(9.0), order=True)):
        found = []
        # the fourth element in memory is the second of the first column
        (text,) = told(lambda: found.extend(sums(a)))
    numpy.testing.assert_allclose(found[0], numpy.tanh(a + a), rtol=1e-6)
    assert "is 9.0 at [0, 1]" in text


def test_gradients_and_steps() -> None:
    a = numbers(5, 4)
    expected = a.copy()
    with verified(Changed("multiply", "tanh", change=scaled(1.5))):
        x = torch.tensor(a, requires_grad=True)
        optimizer = torch.optim.SGD([x], lr=0.5)
        for _ in range(3):
            optimizer.zero_grad()
            (torch.tanh(x * x) * x).sum().backward()
            optimizer.step()
            found = x.detach().numpy()
    for _ in range(3):
        t = numpy.tanh(expected * expected)
        expected = expected - 0.5 * (t + (1 - t * t) * 2 * expected * expected)
    numpy.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert {f.when for f in codegen.failures()} == {"verify"}


def test_what_is_bound_to_constants_is_held_to_the_same() -> None:
    class Wrong(Binding):
        def bound(self, region: codegen.Region, values: Any) -> codegen.Code:
            return codegen.PythonCode(lambda *operands: operands[0] * 7)

    a, b = numbers(4, 4), numbers(4, 4, seed=1)
    with verified(Wrong("matmul")):
        x, w = np.asarray(a), np.asarray(b)
        lazyloom.sync(x, w)
        found: list[Any] = []
        warned = told(lambda: found.extend(numpy.asarray(x @ w) for _ in range(4)))
    for each in found:
        numpy.testing.assert_allclose(each, a @ b, rtol=1e-4, atol=1e-5)
    assert len(warned) == 1 and "(matmul)" in warned[0]


def test_a_run_that_fails_is_not_told_of_twice() -> None:
    class Failing(InNumPy):
        def before(self, operands: tuple[Any, ...]) -> None:
            raise RuntimeError("the device fell off")

    a = numbers(5, 4)
    with verified(Failing("add")):
        found: list[Any] = []
        (text,) = told(lambda: found.extend(sums(a, 2)))
    numpy.testing.assert_allclose(found[0], numpy.tanh(a + a), rtol=1e-6)
    assert "failed to run" in text


@pytest.mark.skipif(made() is None, reason="oneDNN is not installed")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_convolutions_by_onednn_and_their_gradients_pass(dtype: str) -> None:
    skip_without(made(), dtype)
    with codegen.use("onednn"), codegen.verify():
        image = torch.tensor(numbers(2, 16, 14, 14)).to(getattr(torch, dtype)).requires_grad_()
        weight = torch.tensor(numbers(32, 16, 3, 3) / 8).to(image.dtype).requires_grad_()
        loss = torch.tanh(torch.conv2d(torch.tanh(image), weight, padding=1)).float().sum()
        loss.backward()
        assert not told(lambda: lazyloom.sync(loss, image.grad, weight.grad))
        record = lazyloom.last_evaluation()
    assert record.regions.verified and {r.generator for r in record.regions.run} == {"onednn"}


def test_a_block_ends_and_what_is_compiled_is_kept_apart() -> None:
    g = InNumPy("add")
    codegen.register(g)
    a = np.asarray(numbers(3))

    def regions() -> str:
        lazyloom.sync(a + a)
        return str(lazyloom.last_evaluation().regions.text())

    with codegen.use("in_numpy"):
        assert regions() == "1 by in_numpy"
        with codegen.verify():
            assert regions() == "1 by in_numpy, verified"
            with codegen.use("xla"):
                assert regions() == ""
            assert regions() == "1 by in_numpy, verified"
        compiled = lazyloom.stats()["programs_compiled"]
        assert regions() == "1 by in_numpy"
        assert lazyloom.stats()["programs_compiled"] == compiled


@pytest.mark.parametrize("given", [1, "yes", None])
def test_what_is_no_bool_is_an_error(given: Any) -> None:
    with pytest.raises(ArgumentError, match="verify: .* was given, expected True or False"):
        codegen.verify(given)


def test_programs_are_compiled_before_they_run() -> None:
    g = InNumPy("add")
    with verified(g), lazyloom.options(reproducible=False):
        sums(numbers(3))
    assert g.calls == 1


_PROCESS = """
import sys
sys.path.insert(0, {root!r})
import numpy, lazyloom
import {frontend} as frontend
from lazyloom import codegen
from tests.codegen.test_verify import Changed, at_3
codegen.register(Changed("add", change=at_3(77.0), first={first}))
codegen.use("changed")
a = numpy.arange(6, dtype="float32")
for _ in range(3):
    x = frontend.asarray(a)
    assert (x + x).tolist() == (a + a).tolist()
stats = lazyloom.stats()
print(*(f.when for f in codegen.failures()), stats["programs_from_disk"])
"""


@pytest.mark.parametrize("frontend", ["lazyloom_numpy", "lazyloom_torch"])
def test_by_a_variable_and_not_on_disk(frontend: str, tmp_path: Path) -> None:
    def process(first: int) -> tuple[str, str]:
        text = _PROCESS.format(
            root=str(Path(__file__).resolve().parents[2]), frontend=frontend, first=first)
        done = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, timeout=120,
            env={**os.environ, "LAZYLOOM_CACHE_DIR": str(tmp_path / "cache"),
                 "LAZYLOOM_CODEGEN_VERIFY": "1", "LAZYLOOM_LOG": "0"})
        assert done.returncode == 0, done.stderr
        return done.stdout.strip(), done.stderr

    assert process(9) == ("0", "")
    found, errors = process(2)
    assert found == "verify 0" and errors.count("RuntimeWarning") == 1


# what is right


def arrays(*values: Any, dtype: Any = "float32") -> Any:
    return numpy.array(values).astype(dtype)


@pytest.mark.parametrize(("found", "expected"), [
    (arrays(1, 2, numpy.nan), arrays(1, 2, numpy.nan)),
    (arrays(numpy.inf, -numpy.inf), arrays(numpy.inf, -numpy.inf)),
    (arrays(0.0), arrays(-0.0)),
    (arrays(1e-40), arrays(0.0)),
    (arrays(), arrays()),
    (numpy.float32(3), numpy.float32(3 + 2.0**-22)),
    (arrays(1e-9, 1000), arrays(0, 1000)),
    (arrays(True, False, dtype="bool"), arrays(True, False, dtype="bool")),
    (arrays(1 + 2.0**-11, dtype="float16"), arrays(1, dtype="float16")),
])
def test_what_is_close_enough(found: Any, expected: Any) -> None:
    assert difference([found], [expected], 64.0) is None


@pytest.mark.parametrize(("found", "expected", "text"), [
    (arrays(1, 2), arrays(1, numpy.nan), "is 2.0 at [1], XLA's nan"),
    (arrays(1, numpy.nan), arrays(1, 2), "is nan at [1], XLA's 2.0"),
    (arrays(1, numpy.inf), arrays(1, -numpy.inf), "is inf at [1], XLA's -inf"),
    (arrays(3e38), arrays(numpy.inf), "at [0], XLA's inf"),
    (arrays(-3e38), arrays(3e38), "inf units in the last place"),
    (arrays(1e-30), arrays(0), "at [0], XLA's 0.0"),
    (arrays(1, 1e-3), arrays(1, 0), "is 0.001"),
    (numpy.float32(4), numpy.float32(3), "is 4.0 at [], XLA's 3.0"),
    (arrays(True, dtype="bool"), arrays(False, dtype="bool"), "is True at [0], XLA's False"),
    (arrays(1.1, dtype=ml_dtypes.bfloat16), arrays(1, dtype=ml_dtypes.bfloat16), "bfloat16[1]"),
    (arrays(1.01, dtype="float16"), arrays(1, dtype="float16"), "10 units"),
    (arrays(3, dtype=ml_dtypes.int4), arrays(2, dtype=ml_dtypes.int4), "is 3 at [0], XLA's 2"),
    (arrays(1 + 1e-3j, dtype="complex64"), arrays(1, dtype="complex64"), "complex64[1]"),
])
def test_what_is_not(found: Any, expected: Any, text: str) -> None:
    told = difference([expected, found], [expected, expected], 64.0)
    assert told is not None and "result 1, " in told and text in told


def test_integers_that_are_rounded_may_be_the_next_ones() -> None:
    a = numpy.array([1, -128, 7], "int8")
    near, far = a + numpy.int8(1), a + numpy.int8(2)
    assert "is 2 at [0]" in str(difference([near], [a], 64.0))
    assert difference([near], [a], 64.0, [1]) is None
    told = difference([a, far], [a, a], 64.0, [1, 1])
    assert told is not None and told.startswith("result 1, int8[3], is 3 at [0] and in 2 more, ")
    assert told.endswith("expected at most 1 apart, as 1 op before it round to integers")
    assert difference([a, far], [a, a], 64.0, [1, 2]) is None
    # of the whole range, and without a sign
    ends = numpy.array([-128], "int8"), numpy.array([127], "int8")
    assert difference([ends[0]], [ends[1]], 64.0, [3]) is not None
    assert difference([numpy.array([0], "uint8")], [numpy.array([1], "uint8")], 64.0, [1]) is None
    # other results depend on them
    x = numpy.array([1.0, 8.0], "float32")
    assert difference([x + numpy.float32(0.05)], [x], 64.0, [0]) is not None
    assert difference([x + numpy.float32(0.05)], [x], 64.0, [1]) is None
    assert difference([x + numpy.float32(0.5)], [x], 64.0, [1]) is not None
    bools = numpy.array([True])
    assert difference([~bools], [bools], 64.0, [1]) is not None


def test_how_many_ops_round_before_a_result() -> None:
    x = np.asarray(numpy.float32([0.3, 0.7]))
    scale = np.asarray(numpy.float32(0.25))
    plain = x + x
    one = lazyloom.apply("quantize", [plain, scale], {"dtype": lazyloom.dtypes.int8})
    again = lazyloom.apply("dequantize", [one, scale], {})
    two = lazyloom.apply("quantize", [again, scale], {"dtype": lazyloom.dtypes.uint8})
    program = lazyloom.program_of(plain, one, again, two)
    names = [program.structure.instructions[n].spec.op.name for n, _ in program.outputs]
    assert list(zip(names, roundings(program), strict=True)) == [
        ("add", 0), ("quantize", 1), ("dequantize", 1), ("quantize", 2)]


@pytest.mark.parametrize(("by", "stays"), [(1, True), (2, False)])
def test_a_region_that_rounds_the_other_way_stays(by: int, stays: bool) -> None:
    g = kit_generators.RoundsTies()
    g.by = by
    scale = numpy.float32(0.25)
    a = numbers(6)
    with verified(g):
        def work() -> None:
            x = lazyloom.apply("quantize", [np.asarray(a), np.asarray(scale)],
                               {"dtype": lazyloom.dtypes.int8})
            x.read()

        assert bool(told(work)) != stays
        assert [f.when for f in codegen.failures()] == ([] if stays else ["verify"])
