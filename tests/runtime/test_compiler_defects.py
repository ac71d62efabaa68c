"""Known defects of compilers: our guards hold, and each defect is still there without its guard.

The second kind of test fails where upstream has mended a defect (or has it again): then the guard
can go from that version on, and ``docs/compiler_defects.md`` and the table below say so.
"""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from typing import Any, Final, NamedTuple

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np
from lazyloom.backends import fingerprint
from lazyloom.backends.xla import compiler_defects, environment, jax_compat
from lazyloom.dtypes import dtype_named
from lazyloom.host import storage
from lazyloom.jaxprs import tracing
from tests.contract.helpers import ROOT, rec, script

pytestmark = [
    pytest.mark.usefixtures("fresh_cache"), pytest.mark.xla,
    pytest.mark.once("modules for XLA are texts that are made outside the core")]

RNG = onp.random.default_rng(3)


class Defect(NamedTuple):
    """A defect, where it is known, and JAX alone that shows it.

    ``program`` gives what is right as its last value; it ends the process where ``crashes``.
    """

    report: str
    first: compiler_defects.Version
    fixed: compiler_defects.Version | None
    program: str
    crashes: bool = False


X: Final = "https://github.com/openxla/xla/issues/"
J: Final = "https://github.com/jax-ml/jax/issues/"
OLDEST: Final = (0, 10, 2)
DEFECTS: Final = {
    "products that are fused by YNNPACK": Defect(J + "39103", OLDEST, (0, 11, 0), """
        m, x = rng.normal(size=(3, 3)), rng.normal(size=(40001, 3))
        right = same(jit(lambda m, x: ((m @ x.T) ** 2).sum(0))(m, x), ((m @ x.T) ** 2).sum(0))
        """),
    "YNNPACK at rank 7": Defect(J + "40412", OLDEST, (0, 11, 0), """
        u = np.ones((3, 1, 2, 2, 8, 8, 8), "float32")
        right = same(jit(lambda u, v: (u * v).sum(3))(u, u), u.sum(3))
        """, crashes=True),
    "YNNPACK at rank 8": Defect(J + "39257", OLDEST, (0, 11, 1), """
        o, a = np.ones((10, 4, 6), "float32"), np.ones((10, 4, 6, 9, 9, 9, 9, 9), "float32")
        right = same(jit(lambda o, a: (o[(..., *[None] * 5)] * a).sum(2))(o, a), a.sum(2))
        """, crashes=True),
    "YNNPACK's extrema of NaN": Defect("", OLDEST, None, """
        x = rng.normal(size=(2400, 2))
        x[::3, 0] = np.nan
        right = (same(jit(lambda x: x.min(1))(x), x.min(1))
                 and same(jit(lambda x: x.max(1))(x), x.max(1)))
        """),
    "integers that wrap": Defect(
        "https://github.com/tensorflow/tensorflow/issues/118178", OLDEST, (0, 11, 1), """
        x = np.array([12, 7, 20, -128], "int8")
        right = (same(jit(lambda x: x * x < 0)(x), x * x < 0)
                 and same(jit(lambda x: abs(x) < 0)(x), abs(x) < 0))
        """),
    "sums of complex numbers": Defect("", OLDEST, (0, 12, 0, 1), """
        a, b = np.array([3, 2 + 1j]), np.array([1e30, -1e20])
        right = same(jit(lambda a, b: (a + b) - b)(a, b), (a + b) - b)
        """),
    "comparisons of NaN": Defect("", OLDEST, None, """
        x = np.array([np.nan, -1, 2], "float32")
        right = (same(jit(lambda x: abs(x) >= 0)(x), abs(x) >= 0)
                 and same(jit(lambda x: x * x >= 0)(x), x * x >= 0)
                 and same(jit(lambda x: jnp.exp(x) >= 0)(x), np.exp(x) >= 0))
        """),
    "a slice of a slice": Defect(X + "49121", OLDEST, (0, 12, 0, 1), """
        def of(x, i, k):
            return lax.dynamic_slice(lax.dynamic_slice(x, [i], [9]), [k], [4])
        right = same(jit(of)(np.arange(18), 5, 12), np.arange(10, 14))
        """),
    "a convolution with padding that cuts": Defect(X + "48713", OLDEST, (0, 12, 0, 1), """
        x, w = np.ones((2, 8, 9), "float32"), np.ones((8, 8, 2), "float32")
        def conv(x, w):
            return lax.conv_general_dilated(x, w, (1,), [(-2, 1)])
        options = {"xla_cpu_experimental_ynn_fusion_type": ""}
        found = np.asarray(jax.jit(conv, compiler_options=options)(x, w))
        right = same(found[:, :, -1], np.full((2, 8), 8)) and same(found[0], found[1])
        """),
    "a pad that cuts before a window": Defect(X + "48715", OLDEST, (0, 12, 0, 1), """
        def windows(x):
            x = lax.pad(x, np.int32(0), [(0, 0, 1), (-1, 0, 0)])
            return lax.reduce_window(x, np.int32(0), lax.add, (1, 2), (1, 1), ((0, 0), (1, 0)))
        right = same(jit(windows)(np.array([[669, -763]], "int32")), [[-763]])
        """),
    "a write that reads what it overwrites": Defect(X + "49176", OLDEST, None, """
        def shifted(x):
            base = x + 1
            return lax.dynamic_update_slice(base, base[:3], (1, 0, 0)).reshape((1, 4, 1))
        x = np.arange(4, dtype="int32").reshape(4, 1, 1)
        right = same(jit(shifted)(x).ravel(), [1, 1, 2, 3])
        """),
    "the angle of what is zero": Defect(X + "44705", OLDEST, (0, 11, 1), """
        def angle(x):
            zero = lax.convert_element_type(lax.bitwise_xor(lax.ne(x, 0), lax.ne(x, 0)), "float32")
            return lax.atan2(zero, zero)
        right = same(jit(angle)(np.arange(5)), np.zeros(5))
        """),
    "scatter by narrow indices": Defect(X + "48718", OLDEST, (0, 12, 0, 1), """
        numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
        def add(x, i, one):
            return lax.scatter_add(x, i, one, numbers, mode="promise_in_bounds")
        found = jit(add)(
            np.zeros(300, "int32"), np.array([[200]], "uint8"), np.ones(1, "int32"))
        right = same(np.flatnonzero(found), [200])
        """),
    "eigenvalues of what LAPACK scales": Defect("", OLDEST, None, """
        x = np.array([[1.0, 2], [3, 5]])
        def values(x):
            return lax.linalg.eig(
                x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]
        right = same(np.sort_complex(jit(values)(x * 1e200)) / 1e200,
                     np.sort_complex(np.linalg.eigvals(x)))
        """),
    "a window of one that padding cuts": Defect(X + "48719", OLDEST, None, """
        def window(x):
            return lax.reduce_window(x, 0.0, lax.add, (1, 1), (1, 1), ((-1, 0), (0, 0)))
        x = np.arange(32.0).reshape(8, 4)
        right = same(jit(window)(x), x[1:])
        """, crashes=True),
}
FIRST: Final = """
import json, os
os.environ["JAX_PLATFORMS"] = "cpu"
import numpy as np, jax, jax.numpy as jnp
from jax import lax, jit
jax.config.update("jax_enable_x64", True)
def same(found, wanted):
    found, wanted = np.asarray(found), np.asarray(wanted)
    return found.shape == wanted.shape and np.allclose(found, wanted, 1e-5, 1e-5, equal_nan=True)
answers = {}
"""
EACH: Final = """
rng = np.random.default_rng(0)
{program}
answers[{name!r}] = bool(right)
print(json.dumps(answers), flush=True)
"""


def _without_guards(names: list[str]) -> dict[str, bool]:
    """Whether JAX alone gives what is right; a program that ends the process does not."""
    code = FIRST + "".join(
        EACH.format(program=dedent(DEFECTS[n].program), name=n) for n in names)
    done = script(code, check=False, XLA_FLAGS="")
    lines = done.stdout.splitlines()
    found = json.loads(lines[-1]) if lines else {}
    if done.returncode == 0 or len(names) > 1:
        assert done.returncode == 0, done.stderr
        return found
    assert done.returncode < 0, done.stderr
    return {names[0]: False}


def _compare(found: dict[str, bool]) -> None:
    version = tracing.versions()["jaxlib"]
    now = compiler_defects.version_of(version)
    for name, right in found.items():
        d = DEFECTS[name]
        claimed = d.first <= now and (d.fixed is None or now < d.fixed)
        assert claimed != right, (
            f"{name} ({d.report}): jaxlib {version} "
            + ("no longer has it: its guard can go from this version on"
               if right else "has it, and it is said to be mended")
            + "; correct the table of this test and docs/compiler_defects.md")


@pytest.mark.compiled
def test_defects_are_where_they_are_said_to_be() -> None:
    _compare(_without_guards([n for n, d in DEFECTS.items() if not d.crashes]))


@pytest.mark.compiled
@pytest.mark.parametrize("name", [n for n, d in DEFECTS.items() if d.crashes])
def test_crashes_are_where_they_are_said_to_be(name: str) -> None:
    _compare(_without_guards([name]))


@pytest.mark.compiled
def test_the_page_names_each_report() -> None:
    page = (ROOT / "docs" / "compiler_defects.md").read_text()
    missing = [d.report for d in DEFECTS.values() if f"<{d.report}>" not in page and d.report]
    assert not missing


# With our guards


def _products(dtype: str, n: int) -> tuple[onp.ndarray, onp.ndarray]:
    return RNG.normal(size=(3, 3)).astype(dtype), RNG.normal(size=(n, 3)).astype(dtype)


#: what is done with products of a matrix with many short rows, by NumPy's names
WITH_PRODUCTS: Final = {
    "squares": lambda xp, m, x: ((m @ x.T) ** 2).sum(0),
    "norm": lambda xp, m, x: xp.linalg.norm(m @ x.T, axis=0),
    "amax": lambda xp, m, x: xp.amax(m @ x.T, axis=0),
    "tensordot": lambda xp, m, x: xp.tensordot(m, x, axes=(1, 1)).min(0),
    "by hand": lambda xp, m, x: (m[:, None, :] * x[None]).sum(2).sum(0),
    "batched": lambda xp, m, x: xp.matmul(x[:, None, :], m[None]).sum((1, 2)),
    "einsum": lambda xp, m, x: (xp.einsum("ij,kj->ik", m, x) ** 2).sum(0),
}


@pytest.mark.parametrize("name", WITH_PRODUCTS)
@pytest.mark.parametrize(("dtype", "n"), [("float64", 16_385), ("float32", 32_769)])
def test_products_with_many_rows(name: str, dtype: str, n: int) -> None:
    m, x = _products(dtype, n)
    found = WITH_PRODUCTS[name](np, np.asarray(m), np.asarray(x))
    onp.testing.assert_allclose(
        onp.asarray(found), WITH_PRODUCTS[name](onp, m, x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize(("shape", "axis"), [
    ((4096,), (0,)), ((600, 2), (1,)), ((600, 2), (0,)), ((1, 1, 4096, 2), (2,)),
    ((3, 70000), (1,)), ((128, 128), (0, 1)), ((70000, 3), (0,)), ((512, 256), (1,))])
def test_extrema_of_what_is_not_a_number(
    dtype: str, shape: tuple[int, ...], axis: tuple[int, ...]
) -> None:
    kind = dtype_named(dtype).numpy
    ends = [onp.nan, -onp.nan, onp.inf, -onp.inf, 0.0, -0.0]
    for part in (0.0, 1e-4, 0.3):
        x = onp.where(RNG.random(shape) < part, RNG.choice(ends, shape), RNG.normal(size=shape))
        x = x.astype(kind)
        y = rec("add", lazyloom.from_host(x), lazyloom.from_host(onp.zeros((), kind)))
        for op, function in (("max", onp.max), ("min", onp.min)):
            found = rec(op, y, axes=axis).read().astype(onp.float64)
            onp.testing.assert_array_equal(found, function(x.astype(onp.float64), axis))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_sums_are_added_in_their_order(dtype: str) -> None:
    a = onp.array([3, 2, onp.inf, -0.0], dtype)
    b = onp.array([1e30, -1e20, onp.inf, -0.0], dtype)
    x, y = np.asarray(a), np.asarray(b)
    with onp.errstate(all="ignore"):
        for found, expected in (((x + y) - y, (a + b) - b), ((x - y) + y, (a - b) + b),
                                (y + x - y - x, b + a - b - a)):
            onp.testing.assert_array_equal(onp.asarray(found), expected)


def test_products_with_many_rows_captured() -> None:
    m, x = _products("float64", 40_001)
    step = lazyloom.jit(lambda m, x: ((m @ x.T) ** 2).sum(0))
    given = np.asarray(m), np.asarray(x)
    for _ in range(4):
        onp.testing.assert_allclose(onp.asarray(step(*given)), ((m @ x.T) ** 2).sum(0), rtol=1e-9)


@pytest.mark.compiled
def test_sums_of_products_of_high_rank_leave_the_process_alive(fresh_cache: Path) -> None:
    """What the user sets in ``XLA_FLAGS`` does not take the guard away."""
    script("""
        import numpy as np, lazyloom_torch as torch
        u = torch.ones(3, 1, 2, 2, 8, 8, 8)
        assert float(((u * u).sum(3) == 2).sum()) == 3 * 2 * 512
        o, a = torch.ones(10, 4, 6), torch.ones(10, 4, 6, 3, 3, 3, 3, 3)
        found = torch.log((o[..., None, None, None, None, None] * a).sum(2))
        assert np.allclose(found.numpy(), np.log(6))
        m, x = np.eye(3), np.arange(40001 * 3.0).reshape(-1, 3)
        found = ((torch.tensor(m) @ torch.tensor(x).T) ** 2).sum(0)
        assert np.allclose(found.numpy(), (x ** 2).sum(1))
        """, cache=fresh_cache, LAZYLOOM_REPRODUCIBLE="1",
           XLA_FLAGS="--xla_cpu_experimental_ynn_fusion_type=dot,reduce")


INTEGERS: Final = {
    "a product's sign": lambda xp, x: x * x < 0,
    "a product by its equal": lambda xp, x: (x + 1) * (1 + x) < 0,
    "a square's sign": lambda xp, x: xp.square(x) < 0,
    "a power's sign": lambda xp, x: x ** 4 >= 0,
    "the sign of an absolute value": lambda xp, x: abs(x) < 0,
    "an absolute value twice": lambda xp, x: abs(abs(x) * abs(x)),
    "of a product": lambda xp, x: abs(x * x) % 7,
    "a maximum": lambda xp, x: xp.maximum(x * x, 0),
    "a limit": lambda xp, x: xp.clip(x * x, 0, None),
    "a choice": lambda xp, x: xp.where(x * x < 0, abs(x * x), x * x),
    "einsum": lambda xp, x: xp.einsum("i,i->i", x, x) < 0,
    "rows of one": lambda xp, x: xp.vecdot(x[:, None], x[:, None]) < 0,
    "matrices of one": lambda xp, x: xp.matmul(x[:, None, None], x[:, None, None]) < 0,
    "one": lambda xp, x: xp.einsum("i,i", x[3:4], x[3:4]) < 0,
    "a product of two rows": lambda xp, x: xp.prod(xp.stack([x, x]), axis=0, dtype=x.dtype) < 0,
    "a product's least": lambda xp, x: xp.minimum(abs(x), abs(x) * abs(x)) >= 0,
}


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_integers_that_wrap(dtype: str) -> None:
    ends = onp.iinfo(dtype)
    x = onp.array([0, 1, -1, 12, 7, 20, -11, ends.min, ends.min + 1, ends.max, ends.max // 3,
                   int(ends.max**0.5) + 1], dtype)
    given = np.asarray(x)
    with onp.errstate(all="ignore"):
        for name, function in INTEGERS.items():
            found = onp.asarray(function(np, given))
            assert found.tolist() == function(onp, x).tolist(), name


def test_counters_that_wrap() -> None:
    for dtype, n in (("int8", 200), ("int16", 40_000)):
        found = np.arange(n).astype(dtype)
        assert onp.array_equal(onp.asarray(found < 0), onp.arange(n).astype(dtype) < 0)
        (counted,) = [lazyloom.apply(
            "iota", [], {"shape": (n,), "axis": 0, "dtype": lazyloom.dtypes.dtype_named(dtype)})]
        assert int((np.asarray(counted) < 0).sum()) == n - 2 ** (8 * found.itemsize - 1)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_comparisons_of_nan_with_zero(dtype: str) -> None:
    x = onp.array([onp.nan, -1, 0, -0.0, 2, onp.inf, -onp.inf], dtype)
    given = np.asarray(x)
    for name, function in {
        "abs": lambda xp, x: abs(x), "square": lambda xp, x: x * x,
        "exp": lambda xp, x: xp.exp(x), "minimum": lambda xp, x: xp.minimum(abs(x), 1),
        "where": lambda xp, x: xp.where(x > 0, abs(x), xp.exp(x)),
    }.items():
        for compare in (lambda a: a >= 0, lambda a: 0 <= a, lambda a: a < 0, lambda a: 0 > a,
                        lambda a: a > 0, lambda a: a <= 0):
            assert compare(function(np, given)).tolist() == compare(function(onp, x)).tolist(), name


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 0, 1), (3, 0, 5)])
def test_exponentials_of_statistics_of_nothing(dtype: str, shape: tuple[int, ...]) -> None:
    """LLVM gives no value to the integer that it makes of a NaN that it knows."""
    x = lazyloom.from_host(onp.zeros(shape, dtype))
    with lazyloom.options(reproducible=True):
        for statistic in ("mean", "var", "std"):
            of_nothing = lazyloom.apply(statistic, [x], {"axes": (1,)})
            for name in ("exp", "exp2", "expm1", "tanh", "sigmoid", "sinh"):
                found = lazyloom.apply(name, [of_nothing], {}).read()
                assert onp.isnan(found.astype("float32")).all(), (statistic, name)


def _block(x: Any, start: int, size: int) -> Any:
    return lazyloom.apply("dynamic_slice", [x, np.asarray(start)], {"sizes": (size,)})


def test_starts_of_blocks_of_blocks_are_clamped() -> None:
    x = np.arange(18)
    for first, second in ((5, 12), (14, 2), (0, 9), (30, 30)):
        inner = onp.arange(18)[min(first, 9):][:9]
        found = onp.asarray(_block(_block(x, first, 9), second, 4))
        assert found.tolist() == inner[min(second, 5):][:4].tolist()


def _conv(x: Any, w: Any, low: int, high: int) -> Any:
    return onp.asarray(lazyloom.apply(
        "conv", [np.asarray(x), np.asarray(w)], {"padding_low": (low,), "padding_high": (high,)}))


@pytest.mark.parametrize(("low", "high", "window"), [
    (-8, 1, 2), (-2, 1, 2), (-1, 1, 3), (-12, 9, 2), (2, -3, 2), (-2, -1, 3), (-2, 1, 1)])
def test_convolutions_whose_padding_cuts(low: int, high: int, window: int) -> None:
    x = RNG.integers(-8, 9, size=(2, 8, 9))
    w = RNG.integers(-8, 9, size=(8, 8, window))
    padded = onp.pad(x, ((0, 0), (0, 0), (max(low, 0), max(high, 0))))
    padded = padded[:, :, max(-low, 0): padded.shape[2] - max(-high, 0)]
    parts = [onp.einsum("nck,ock->no", padded[:, :, i: i + window], w)
             for i in range(padded.shape[2] - window + 1)]
    for dtype in ("float32", "float64"):
        found = _conv(x.astype(dtype), w.astype(dtype), low, high)
        assert onp.array_equal(found, onp.stack(parts, 2))


def test_windows_over_what_a_pad_cut() -> None:
    x = onp.arange(1.0, 22).reshape(1, 21)
    pad = {"low": (0, -1), "high": (0, -2), "interior": (1, 0)}
    found = lazyloom.apply("avg_pool", [lazyloom.apply("pad", [np.asarray(x), 0.0], pad)], {
        "window": (1, 17), "padding_low": (0, 8), "padding_high": (0, 8)})
    part = onp.pad(x[0, 1:-2], 8)
    onp.testing.assert_allclose(
        onp.asarray(found)[0], [part[i: i + 17].mean() for i in range(18)])


def test_a_pad_of_what_has_no_dimensions() -> None:
    with lazyloom.options(reproducible=True):
        assert float(np.pad(np.array(3.0), 1)) == 3.0


def test_the_angle_of_what_is_zero() -> None:
    x = np.arange(5)
    zero = np.logical_xor(x, x)
    assert np.angle(zero).tolist() == [0.0] * 5
    assert np.arctan2(zero.astype("float32"), zero.astype("float32")).tolist() == [0.0] * 5


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_updates_by_narrow_indices(dtype: str) -> None:
    last = int(onp.iinfo(dtype).max)
    x = np.zeros(2 * last, dtype="int32")
    x[np.asarray([last], dtype=dtype)] += 7
    assert np.flatnonzero(x).tolist() == [last]


# Every program passes the guards, and none that was compiled without them is used


@pytest.mark.compiled
def test_nothing_is_compiled_but_by_compile_text() -> None:
    names = ("compile_and_load", "env_option_overrides")
    found = {(path.name, name) for path in (ROOT / "runtime").rglob("*.py")
             for name in names if name in path.read_text()}
    assert found == {("jax_compat.py", name) for name in names}


@pytest.mark.compiled
def test_compiler_options_are_in_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint.fingerprint.__wrapped__()
    assert repr(jax_compat.compiler_options()) in environment.environment()
    monkeypatch.setattr(jax_compat, "XLA_OPTIONS", [("xla_cpu_enable_fast_math", "False")])
    changed = fingerprint.fingerprint.__wrapped__()
    assert changed != before
    guard = compiler_defects.options(tracing.versions()["jaxlib"])
    monkeypatch.setattr(compiler_defects, "options", lambda jaxlib: [])
    assert (fingerprint.fingerprint.__wrapped__() != changed) == bool(guard)


@pytest.mark.compiled
def test_the_guards_are_in_the_fingerprints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = storage.sources
    before = fingerprint.fingerprint.__wrapped__(), storage.fingerprint.__wrapped__()
    for name in ("backends/xla/compiler_defects.py", "backends/xla/jax_compat.py",
                 "host/c_source/library.py"):
        changed = tmp_path / "changed.py"
        changed.write_text(Path(sources(fingerprint.LAYERS)[name]).read_text() + "# changed\n")

        def with_change(layers: Any = storage.LAYERS, n: str = name, c: Path = changed) -> Any:
            return {k: str(c) if k == n else path for k, path in sources(layers).items()}

        monkeypatch.setattr(storage, "sources", with_change)
        assert fingerprint.fingerprint.__wrapped__() != before[0]
        # what XLA does wrong changes no kernel of the host
        of_the_host = name.startswith("host/")
        assert (storage.fingerprint.__wrapped__() != before[1]) == of_the_host


@pytest.mark.compiled
def test_newer_versions_have_fewer_guards() -> None:
    assert compiler_defects.version_of("0.12.0.1.dev3+x") == (0, 12, 0, 1)
    assert compiler_defects.options("0.10.2") and not compiler_defects.options("0.11.1")
    text = "    %0 = stablehlo.multiply %arg0, %arg0 : tensor<3xi32>"
    assert "bitcast_convert" in compiler_defects.guarded(text, "0.11.0")
    assert compiler_defects.guarded(text, "0.11.1") == text


@pytest.mark.compiled
def test_regions_that_xla_knows_by_their_form_stay() -> None:
    text = """    %6 = "stablehlo.scatter"(%arg0, %5, %arg1) <{a}> ({
    ^bb0(%arg3: tensor<i64>, %arg4: tensor<i64>):
      %7 = stablehlo.multiply %arg3, %arg4 : tensor<i64>
      stablehlo.return %7 : tensor<i64>
    }) : (tensor<3xi64>, tensor<2x1xi64>, tensor<2xi64>) -> tensor<3xi64>"""
    assert compiler_defects.guarded(text, "0.10.2") == text
