"""What arrays print is what NumPy prints of the same data."""

from __future__ import annotations

from typing import Any

import numpy as onp
import pytest

import lazyloom_numpy as np
from tests.numpy.helpers import DTYPES, data

SHAPES = [(), (0,), (1,), (5,), (2, 0, 3), (3, 4), (2, 1, 2, 2), (1200,), (40, 40)]


def _texts(m: Any, x: Any) -> list[str]:
    found = [repr(x), str(x), f"{x}", m.array_repr(x), m.array_str(x), m.array2string(x)]
    if x.size:
        first = x.reshape(-1)[0]
        found += [repr(first), str(first), f"{first}"]
        if x.dtype.kind == "f":
            found += [f"{first:.3f}", f"{first:10.2e}", format(first, "g")]
        elif x.dtype.kind in "iu":
            found += [f"{first:5d}", f"{first:x}"]
    return found


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_every_dtype_and_shape(dtype: str) -> None:
    for shape in SHAPES:
        x = data(shape, np.bfloat16 if dtype == "bfloat16" else dtype, 7)
        x = onp.asarray(x)
        assert _texts(np, np.array(x)) == _texts(onp, x), shape


NUMBERS = [
    onp.array([onp.nan, onp.inf, -onp.inf, -0.0]), onp.array([1e300, 1e-300, 1.0]),
    onp.array([0.1, 1e8, 12345.678901234567]), onp.array([1e-20, 1.0]), onp.array([1e16, 1.0]),
    onp.array([0.1 + 0.2, 1 / 3], "f4"), onp.array([1 + 1e-9j, -0.0 - 0j, onp.nan + 1j]),
    onp.array([-128, 127], "i1"), onp.array([2**63], "u8"), onp.array([[True], [False]]),
    onp.float16(65504), onp.array(3.0),
]  # fmt: skip
OPTIONS: list[dict[str, Any]] = [
    {"precision": 3}, {"suppress": True}, {"threshold": 3, "edgeitems": 1}, {"linewidth": 20},
    {"sign": "+"}, {"floatmode": "fixed"}, {"floatmode": "maxprec_equal", "precision": 4},
    {"formatter": {"float_kind": "<{:.1f}>".format}}, {"nanstr": "none", "infstr": "big"},
    {"legacy": "1.25"},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(map(str, o)))
def test_options(options: dict[str, Any]) -> None:
    for x in NUMBERS:
        with np.printoptions(**options):
            assert np.get_printoptions() == onp.get_printoptions()
            assert (repr(np.array(x)), str(np.array(x))) == (repr(onp.array(x)), str(onp.array(x)))
    other_names = {"suppress": "suppress_small", "linewidth": "max_line_width"}
    given = {other_names.get(k, k): v for k, v in options.items() if k not in ("nanstr", "infstr")}
    for x in NUMBERS:
        assert np.array2string(np.array(x), **given) == onp.array2string(onp.array(x), **given)


def test_pending_and_views() -> None:
    x = onp.arange(24.0).reshape(2, 3, 4)
    a = np.array(x)
    pairs = [(a[:, ::-1].T * 2, x[:, ::-1].T * 2), (a.sum(), x.sum()), (a.sum(0) > 9, x.sum(0) > 9),
             (a[1, 2], x[1, 2]), (a[..., 0], x[..., 0]), (a.astype("c8").imag, x.astype("c8").imag)]
    for ours, theirs in pairs:
        assert repr(ours) == repr(theirs) and str(ours) == str(theirs)
    assert repr([a[0, 0, 0], a.max()]) == repr([x[0, 0, 0], x.max()])
    with pytest.raises(TypeError, match="format"):
        format(a, ".2f")
    assert format(a[0, 0, 1], ".2f") == "1.00"
