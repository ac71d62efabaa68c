"""nditer, broadcast and emath give what NumPy's give."""

from __future__ import annotations

from typing import Any

import numpy as onp
import pytest

import lazyloom_numpy as np


def both(x: Any) -> list[tuple[Any, Any]]:
    return [(onp, x), (np, np.asarray(x))]


SHAPES = {
    "rows": lambda x: x, "columns": lambda x: x.T, "backwards": lambda x: x[:, ::-1],
    "some": lambda x: x[::2, 1:], "none": lambda x: x[:0], "one": lambda x: x[1, 1],
}  # fmt: skip


@pytest.mark.parametrize("order", ["K", "C", "F", "A"])
@pytest.mark.parametrize("look", SHAPES)
def test_the_order_of_elements_and_where_they_are(look: str, order: str) -> None:
    seen = []
    for module, x in both(onp.arange(12.0).reshape(3, 4)):
        found = []
        it = module.nditer(
            SHAPES[look](x), ["multi_index", "c_index", "zerosize_ok"], order=order)
        while not it.finished:
            found.append((float(it[0]), it.multi_index, it.index, it.iterindex))
            it.iternext()
        values = module.nditer(SHAPES[look](x), ["zerosize_ok"], order=order)
        seen.append((found, [float(v) for v in values], it.itersize, it.nop))
    assert seen[0] == seen[1]


def test_a_numerical_gradient() -> None:
    seen = []
    for module, x in both(onp.linspace(-1, 1, 6).reshape(2, 3)):
        x = x.copy()
        grad = module.zeros_like(x)
        it = module.nditer(x, flags=["multi_index"], op_flags=["readwrite"])
        while not it.finished:
            i = it.multi_index
            old = float(x[i])
            x[i] = old + 1e-4
            above = module.sum(x**3)
            x[i] = old - 1e-4
            grad[i] = (above - module.sum(x**3)) / 2e-4
            x[i] = old
            it.iternext()
        seen.append(onp.asarray(grad))
    onp.testing.assert_allclose(seen[1], seen[0], rtol=1e-7)


def test_elements_are_views_that_are_written_as_the_flags_say() -> None:
    seen = []
    for module, x in both(onp.arange(6.0).reshape(2, 3)):
        x = x.copy()
        with module.nditer(x, op_flags=["readwrite"]) as it:
            for element in it:
                assert element.shape == ()
                element[...] = 2 * element
        with pytest.raises(ValueError, match="read-only"):
            next(module.nditer(x))[...] = 1
        seen.append(onp.asarray(x))
    onp.testing.assert_array_equal(*seen)


def test_operands_are_broadcast_and_made() -> None:
    seen = []
    for module, x in both(onp.arange(3.0).reshape(3, 1)):
        it = module.nditer([x, module.arange(3), None])
        for a, b, c in it:
            c[...] = a + b
        out = it.operands[2]
        pairs = [(float(a), float(b)) for a, b in module.broadcast(x, module.arange(2))]
        b = module.broadcast(x, module.arange(2), 5)
        seen.append((onp.asarray(out).tolist(), str(out.dtype), pairs, b.shape, b.ndim, b.size,
                     b.numiter, b.index, [[float(v) for v in i] for i in b.iters[:0]]))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("call", [
    lambda m: m.nditer(m.ones(0)), lambda m: m.nditer([m.ones(2), m.ones(3)]),
    lambda m: m.nditer(m.ones(2), ["no_such_flag"]), lambda m: m.nditer(m.ones(2)).multi_index,
    lambda m: m.nditer(m.ones(2), op_flags=["readwrite", "readonly"]),
    lambda m: m.broadcast(m.ones(2), m.ones(3)),
    lambda m: [it := m.nditer(m.ones(2)), list(it), it.value],
])  # fmt: skip
def test_wrong_calls(call: Any) -> None:
    with pytest.raises(ValueError) as theirs:
        call(onp)
    with pytest.raises(ValueError) as ours:
        call(np)
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("options", [
    {"flags": ["external_loop"]}, {"op_axes": [[0]]}, {"itershape": (2,)}, {"op_dtypes": ["f4"]},
])  # fmt: skip
def test_what_is_not_here_says_what_to_do(options: dict[str, Any]) -> None:
    with pytest.raises(NotImplementedError, match="use"):
        np.nditer(np.ones(2), **options)


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
@pytest.mark.parametrize("name", [
    "sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh", "power", "logn"])  # fmt: skip
def test_emath(name: str, dtype: str) -> None:
    for data in ([1, 2, 3], [-1, 2, -3]):
        if name == "arctanh":
            data = [2 * x + 1 for x in data if x > 1]
        x = onp.array(data, dtype)
        seen = []
        for module, given in both(x):
            function = getattr(module.emath, name)
            if name == "power":
                seen.append([function(given, p) for p in (-2, 0.5)])
            else:
                seen.append([function(3, given) if name == "logn" else function(given)])
        for theirs, ours in zip(*seen, strict=True):
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
            onp.testing.assert_allclose(onp.asarray(ours), theirs, rtol=2e-6, atol=1e-12)
    assert np.emath.sqrt(-1) == onp.emath.sqrt(-1) == 1j
