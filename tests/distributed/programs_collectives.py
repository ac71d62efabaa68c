"""Run by each of several processes: every collective, dtype and group beside NumPy."""

from __future__ import annotations

import functools
import sys

import ml_dtypes
import numpy as np

import lazyloom as ll
import lazyloom.distributed as dist
from lazyloom.backends.xla import jax_compat
from tests import quick_options

# hundreds of small programs, each of which runs once
jax_compat.XLA_OPTIONS += quick_options.OPTIONS[:2]
DTYPES = [np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32,
          np.uint64, np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64,
          np.complex128]
FOLDS = {
    "sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
SHAPE = (4, 12)


def tensor(array: np.ndarray) -> ll.Tensor:
    """A tensor of an array's data."""
    return ll.Tensor.from_value(ll.from_host(array))


def data(rank: int, dtype: type, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """What a process of that rank has."""
    rng = np.random.default_rng([rank, 7])
    numbers = rng.integers(0, 3, shape)
    if np.dtype(dtype).kind in "fcV":
        numbers = numbers * 0.5 - 0.5
    if np.dtype(dtype).kind == "c":
        numbers = numbers + 1j * rng.integers(-2, 2, shape)
    array = numbers.astype(dtype)
    if np.dtype(dtype).kind in "fcV":
        array[0, 0] = [-0.0, np.nan, np.inf, -0.0][rank]
        array[0, 1] = -0.0
    return array


def folded(name: str, arrays: list[np.ndarray]) -> np.ndarray:
    """The reduction of several arrays, as NumPy does it."""
    kind = arrays[0].dtype.kind
    if kind == "b":
        name = {"sum": "or", "max": "or", "prod": "and", "min": "and"}.get(name, name)
    if name == "mean":
        return (functools.reduce(np.add, arrays) / np.array(len(arrays), arrays[0].dtype)).astype(
            arrays[0].dtype)
    with np.errstate(all="ignore"):
        return functools.reduce(FOLDS[name], arrays).astype(arrays[0].dtype)


def reductions(dtype: type) -> list[str]:
    """Those that a dtype has."""
    kind = np.dtype(dtype).kind
    names = ["sum", "prod", "max", "min"]
    return names + (["mean"] if kind in "fcV" else ["and", "or", "xor"])


def same(a: np.ndarray, b: np.ndarray, what: object) -> None:
    """Compare; NaN equals NaN, and zeros have signs where nothing is added."""
    assert a.dtype == b.dtype, what
    if a.dtype.kind == "V":  # bfloat16, of which NumPy does not know what is a NaN
        a, b = a.astype(np.float32), b.astype(np.float32)
    np.testing.assert_array_equal(a, b, err_msg=str(what))


def bits(a: np.ndarray, b: np.ndarray, what: object) -> None:
    """Compare bit for bit."""
    assert a.dtype == b.dtype and a.shape == b.shape, (what, a.dtype, b.dtype, a.shape, b.shape)
    assert a.tobytes() == b.tobytes(), (what, a, b)


def forward(group: dist.Group, dtype: type) -> None:
    """Every collective of a group at one dtype; all are recorded before any is read."""
    me = dist.rank()
    ranks = group.ranks
    place, size = group.rank, group.size
    arrays = {r: data(r, dtype) for r in ranks}
    x = tensor(arrays[me])
    found, expected = [], []

    def case(what: str, result: object, right: np.ndarray, check: object = bits) -> None:
        found.append((f"{what} {np.dtype(dtype)} in {ranks}", result, check))
        expected.append(right)

    whole = [arrays[r] for r in ranks]
    for name in reductions(dtype):
        close = same
        case(f"all_reduce {name}", dist.all_reduce(x, name, group), folded(name, whole), close)
        if SHAPE[1] % size == 0 and name in ("sum", "max", "mean"):
            part = np.split(folded(name, whole), size, 1)[place]
            case(f"reduce_scatter {name}", dist.reduce_scatter(x, name, 1, group), part, close)
    for axis in (0, 1):
        case("all_gather", dist.all_gather(x, axis, group), np.concatenate(whole, axis))
    if SHAPE[1] % size == 0:
        parts = [np.split(a, size, 1)[place] for a in whole]
        case("all_to_all", dist.all_to_all(x, 1, 0, group), np.concatenate(parts, 0))
        case("all_to_all", dist.all_to_all(x, 1, 1, group), np.concatenate(parts, 1))
    ring = [(i, (i + 1) % size) for i in range(size)]
    case("permute", dist.permute(x, ring, group), whole[place - 1])
    case("permute", dist.permute(x, ring[:-1], group),
         whole[place - 1] if place else np.zeros_like(whole[0]))
    for source in range(size):
        case("broadcast", dist.broadcast(x, source, group), whole[source])
    for (what, result, check), right in zip(found, expected, strict=True):
        check(result.value.read(), right, what)


def gradients(group: dist.Group) -> None:
    """Gradients, beside those of the sum of all processes' results that NumPy has."""
    me, ranks, place, size = dist.rank(), group.ranks, group.rank, group.size
    shape = (size * 2, 3)

    def numbers(r: int, of: int, shape: tuple[int, ...]) -> np.ndarray:
        return np.random.default_rng([r, of]).normal(size=shape)

    xs = [numbers(r, 1, shape) for r in ranks]

    def check(what: str, function: object, one_device: object, out: tuple[int, ...]) -> None:
        weights = [numbers(r, 2, out) for r in ranks]
        x, w = tensor(xs[place]), tensor(weights[place])
        _, pulled = ll.vjp(function, x)
        got = pulled(w)
        got = got[0] if isinstance(got, tuple) else got
        # central differences of the weighted sum of all results, which one_device gives
        right = np.zeros(shape)
        step = 1e-6
        for index in np.ndindex(*shape):
            values = []
            for sign in (1, -1):
                moved = [a.copy() for a in xs]
                moved[place][index] += sign * step
                values.append(sum(
                    float((y * v).sum()) for y, v in zip(one_device(moved), weights, strict=True)))
            right[index] = (values[0] - values[1]) / (2 * step)
        np.testing.assert_allclose(
            got.value.read(), right, rtol=1e-5, atol=1e-7, err_msg=f"{what} in {ranks} at {me}")

    for name in ("sum", "mean", "prod", "max", "min"):
        check(f"all_reduce {name}", lambda x, name=name: dist.all_reduce(x, name, group),
              lambda a, name=name: [folded(name, a)] * size, shape)
    check("all_gather", lambda x: dist.all_gather(x, 1, group),
          lambda a: [np.concatenate(a, 1)] * size, (shape[0], 3 * size))
    check("reduce_scatter", lambda x: dist.reduce_scatter(x, "sum", 0, group),
          lambda a: np.split(sum(a), size, 0), (2, 3))
    check("all_to_all", lambda x: dist.all_to_all(x, 0, 1, group),
          lambda a: [np.concatenate([np.split(b, size, 0)[i] for b in a], 1)
                     for i in range(size)], (2, 3 * size))
    check("permute", lambda x: dist.permute(x, [(i, i - 1) for i in range(1, size)], group),
          lambda a: [*a[1:], np.zeros(shape)], shape)
    check("broadcast", lambda x: dist.broadcast(x, size - 1, group),
          lambda a: [a[-1]] * size, shape)


def second_derivatives(group: dist.Group) -> None:
    """d/dx of (the gradient of the cube of the sum): what other processes add is in it."""
    x = tensor(np.array([1.0, 2.0]) + dist.rank())

    def cubed(x: object) -> object:
        total = dist.all_reduce(x, "sum", group)
        return ll.apply("sum", [ll.apply("multiply", [total, ll.apply(
            "multiply", [total, total])])], {})

    gradient = ll.grad(cubed)
    value = gradient(x)
    total = sum(np.array([1.0, 2.0]) + r for r in group.ranks)
    np.testing.assert_allclose(value.value.read(), 3 * total**2 * group.size)
    _, moved = ll.jvp(lambda x: dist.all_reduce(x, "mean", group), (x,), (x,))
    np.testing.assert_allclose(moved.value.read(), total / group.size)


def main() -> None:
    dist.init(timeout=30)
    me = dist.rank()
    what = sys.argv[1]
    groups = [dist.WORLD]
    if dist.world_size() > 2:
        # one that divides the world, its ranks in another order, and one that does not
        groups += [dist.new_group(g) for g in [(3, 1), (0, 2, 3)] if me in g]
    if dist.world_size() > 2 and what == "gradients":
        del groups[0]
    for group in groups:
        if what == "gradients":
            gradients(group)
            second_derivatives(group)
        else:
            # each takes a second to compile: all dtypes in one group, some in the others
            for dtype in DTYPES if dist.world_size() == 2 else [np.float32]:
                forward(group, dtype)
    dist.shutdown()
    print("passed")


main()
