"""What programs do with NumPy's scalars works on our 0-d results."""

from __future__ import annotations

import datetime
import decimal
import fractions
import json
from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np


def scalars(m: Any) -> dict[str, Any]:
    return {
        "float64": m.array([1.5, 2.5]).sum(), "int64": m.array([1, 2]).sum(),
        "bool": m.array([True, False]).any(), "complex128": m.array([1 + 2j]).sum(),
        "float32": m.array([1.5], dtype="float32")[0], "uint8": m.array([3], dtype="uint8")[0],
        "from an op": m.array([2.0, 3.0]).mean() + 1, "max": m.max(m.arange(5)),
    }  # fmt: skip


#: what is done with a scalar x, in the terms of its NumPy module m
USES = """
    isinstance(x, float) | isinstance(x, int) | isinstance(x, complex) | isinstance(x, bool)
    isinstance(x, numbers.Number) | isinstance(x, numbers.Real) | isinstance(x, numbers.Integral)
    isinstance(x, (int, float)) | isinstance(x, m.floating) | isinstance(x, m.integer)
    isinstance(x, m.generic) | isinstance(x, m.number) | isinstance(x, m.float64)
    isinstance(x, m.bool_) | isinstance(x, m.int64) | m.isscalar(x) | x.__class__.__name__
    hasattr(x, "__len__") | isinstance(x, abc.Iterable) | isinstance(x, abc.Hashable) | callable(x)
    hasattr(x, "is_integer") | hasattr(x, "no_such")
    math.floor(x) | math.ceil(x) | math.isnan(x) | math.gcd(x, 4) | math.hypot(x, x)
    math.fsum([x, x]) | math.prod([x, 2]) | math.isclose(x, 4.0) | cmath.sqrt(x)
    json.dumps(x) | json.dumps({"a": [x]}) | json.dumps({"a": x}, indent=1)
    f"{x}" | f"{x:.3f}" | f"{x:8}" | f"{x:>8}" | f"{x:d}" | f"{x!r}" | f"{x:e}" | f"{x:,}"
    "%.2f" % x | "%d" % x | "%s" % x | "{:.2%}".format(x) | format(x, "") | str(x) | repr(x)
    round(x) | round(x, 1) | round(x, ndigits=2) | {x: 1}[x] | {x: 1}[x.item()] | {x.item(): 1}[x]
    hash(x) | range(x) | [1, 2, 3, 4, 5][x] | [1, 2, 3, 4][:x] | "abc" * x | int(x) | float(x)
    complex(x) | bool(x) | divmod(x, 2) | divmod(7, x) | sorted([x, 1, 2]) | sum([x, x])
    max(x, 1) | max([x, 2]) | min(x, 1) | pickle.loads(pickle.dumps(x)) | copy.deepcopy(x)
    statistics.mean([x, x]) == x | statistics.median([x, x]) | statistics.pstdev([x, x])
    fractions.Fraction(x) | random.randrange(1, x) | random.uniform(x, x) | random.sample([1], 1)
    struct.pack("d", x) | csv.writer(io.StringIO()).writerow([x]) | bin(x) | hex(x) | chr(x)
    x.is_integer() | x.as_integer_ratio() | x.hex() | x.numerator | x.bit_count() | x.real | x.imag
    abs(x) | -x | x ** 2 | 2 ** x | x // 2 | x % 2 | x << 1 | x & 1 | ~x | x == x.item()
    x in [x.item()] | [1, x.item()].index(x) | bisect.bisect([1, 2, 3, 4], x)
    ctypes.c_double(x).value | ctypes.c_int(x).value | len(x) | iter(x) | x[()] | x[0]
    x.shape | x.dtype | x.item() | x.tolist() | m.arange(x) | m.array([x, x]) | m.array([x, 1.0])
    x == None | x != None | x == "a" | "a".ljust(x) | slice(x).indices(10) | math.pow(x, 2)
    m.float64(x) | m.int64(x) | x.astype("f") | m.linspace(0, x, 3) | [x, 2.5, x] | m.r_[x, x]
"""


def outcome(use: str, m: Any, x: Any) -> Any:
    space = {**globals(), "m": m, "x": x}
    try:
        found = eval(use, space)
    except Exception as error:
        kinds = [k for k in type(error).__mro__ if k.__module__ == "builtins"]
        return next(k.__name__ for k in kinds if k is not AttributeError or k is type(error))
    if isinstance(found, (lazyloom.Tensor, onp.generic, onp.ndarray)):
        found = onp.asarray(found)
        return found.dtype, found.tolist()
    return repr(found)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(scalars(onp)))
def test_as_numpy(name: str) -> None:
    ours, theirs = scalars(np)[name], scalars(onp)[name]
    wrong = {}
    for use in USES.replace("\n", "|").split("|"):
        use = use.strip()
        if not use or name == "complex128" and use == "m.arange(x)":
            continue
        got, expected = outcome(use, np, ours), outcome(use, onp, theirs)
        if got != expected:
            wrong[use] = (got, expected)
    assert wrong == {}


def test_asking_what_it_is_reads_nothing() -> None:
    s = np.arange(10.0).sum() * 2
    reads = lazyloom.stats()["reads"]
    assert isinstance(s, float) and isinstance(s, np.floating) and not isinstance(s, int)
    assert hasattr(s, "is_integer") and not hasattr(s, "__len__")
    with pytest.raises(TypeError):
        iter(s)
    with pytest.raises(TypeError, match="no len"):
        len(s)
    t = s + 1
    assert type(t) is type(s)
    assert lazyloom.stats()["reads"] == reads


#: operators with objects that know Python's numbers by their types: h, d and q of NAMES below
OBJECTS = """
    x * h | h * x | h / x | h // x | d + x | x + d | d - x | x - d | x * d | d ** x | x // d | q * x
    x * q | q / x | x % q | x + None | None - x | x + "a" | "a" + x | x * object() | x ** {} | h + x
"""
NAMES = {"h": datetime.timedelta(hours=1), "d": decimal.Decimal(3), "q": fractions.Fraction(1, 2)}


@pytest.mark.parametrize("name", list(scalars(onp)))
def test_operators_with_dates_decimals_and_fractions(name: str) -> None:
    ours, theirs = scalars(np)[name], scalars(onp)[name]

    def found(use: str, x: Any) -> Any:
        try:
            return repr(eval(use, {**NAMES, "x": x}))
        except TypeError:
            return TypeError

    wrong = {}
    for use in OBJECTS.replace("\n", "|").split("|"):
        if use.strip():
            got, expected = found(use.strip(), ours), found(use.strip(), theirs)
            if got != expected:
                wrong[use.strip()] = (got, expected)
    assert wrong == {}


@pytest.mark.compiled
def test_objects_that_take_a_scalar_get_it_pending() -> None:
    class Length:
        def __radd__(self, other: Any) -> Any:
            return other

    x = np.array([1.0, 2.0]).sum()
    before = lazyloom.stats()["executions"]
    assert x + Length() is x
    assert lazyloom.stats()["executions"] == before


def test_json_writes_and_says_what_to_do(tmp_path: Any) -> None:
    s = np.array([0.5, 1.0]).sum()
    with open(tmp_path / "a.json", "w") as file:
        json.dump({"loss": s, "all": [s, 2.0]}, file, indent=2)
    assert json.loads((tmp_path / "a.json").read_text()) == {"loss": 1.5, "all": [1.5, 2.0]}
    assert json.dumps([np.array([np.nan]).sum()]) == "[NaN]"
    with pytest.raises(ValueError, match="Out of range float"):
        json.dumps([np.array([np.inf]).sum()], indent=1, allow_nan=False)
    for x in (np.arange(3).sum(), np.float32(1) * np.ones(1, "float32")[0]):
        with pytest.raises(TypeError, match=r"x\.item\(\)"):
            json.dumps({"n": x})
    with pytest.raises(TypeError, match=r"x\.tolist\(\)"):
        json.dumps(np.ones(2))
    with pytest.raises(TypeError, match="Object of type object is not JSON serializable$"):
        json.dumps(object())
    assert json.dumps({"x": 1.5, "y": [None]}, indent=0) == '{\n"x": 1.5,\n"y": [\nnull\n]\n}'

    class Encoder(json.JSONEncoder):
        def default(self, o: Any) -> Any:
            if isinstance(o, onp.integer):
                return int(o)
            return o.tolist() if isinstance(o, np.ndarray) else super().default(o)

    assert json.dumps([np.arange(3).sum(), np.arange(2), s], cls=Encoder) == "[3, [0, 1], 1.5]"


def test_code_that_looks_at_the_type_itself_is_told_what_to_give() -> None:
    import time

    with pytest.raises(TypeError, match=r"x\.item\(\)"):
        time.sleep(np.zeros(2).sum())
    assert type(np.ones(2).sum())(2.5) == 2.5


@pytest.mark.compiled
def test_scalars_stay_operands_and_pending() -> None:
    x = np.arange(4.0)
    s = x.sum()
    executions = lazyloom.stats()["executions"]
    y = np.where(x > s, s, x) + np.array([s, s, 1.0, s]) + np.nan_to_num(x, nan=s)
    z = np.random.default_rng(0).weibull(s, 3) * np.clip(x[:3], 0, s) + np.r_[s, s, s]
    assert lazyloom.stats()["executions"] - executions <= 1  # the generator's own
    onp.testing.assert_array_equal(y, [6.0, 8, 5, 12])
    assert z.shape == (3,)


#: what of an array or scalar of no dimensions is a scalar (``.item``'s kind) and what is an array
KINDS = """
    z.real | z.imag | z.T | z.transpose() | z.squeeze() | z.view() | z.byteswap() | z.reshape(())
    x.real | x.imag | x.T | x.view("int64") | x[...] | x[()] | x[None] | x.reshape(1) | x.ravel()
    m.real(z) | m.imag(z) | m.imag(x) | m.transpose(x) | m.flip(x) | m.flip(a) | m.squeeze(a, 0)
    m.broadcast_to(x, ()) | m.broadcast_arrays(x, a)[0] | m.broadcast_arrays(x)[0] | a.T | a.imag
    m.where(True, 1, 2) | m.where(a > 0, x, a) | m.where(x > 0, x, z) | m.isin(3, [3]) | m.i0(1.0)
    m.isin(a, []) | m.real_if_close(a) | m.real_if_close(z) | a.conj() | x.conj() | z.conj()
    b.conj() | m.conj(b) | m.interp(0.5, [0, 1], [0, 1]) | m.median(v) | m.quantile(v, 0.5)
    m.histogramdd(m.ones((3, 2)), bins=i)[0] | m.histogram2d(v, v, bins=m.array(3))[0]
    m.roll(v, m.array([1, 2])) | m.roll(m.ones((3, 3)), m.array([1, 2]), axis=m.array([0, 1]))
    x == object() | v == object() | v != {} | v == int | v == {1} | x != ... | v == (1, 2, 3)
"""


@pytest.mark.filterwarnings("ignore")
def test_what_is_a_scalar_and_what_an_array() -> None:
    def found(use: str, m: Any) -> Any:
        space = {"m": m, "x": m.array([1.5])[0], "z": m.array([1 + 2j])[0], "a": m.array(3.0),
                 "b": m.array(1 + 2j), "v": m.arange(3.0), "i": m.array([4])[0]}  # fmt: skip
        result = eval(use, space)
        kind = "scalar" if type(result) is np.ScalarArray or m.isscalar(result) else "array"
        return kind, onp.asarray(result).dtype, onp.asarray(result).tolist()

    wrong = {}
    for use in KINDS.replace("\n", "|").split("|"):
        if use.strip():
            got, expected = found(use.strip(), np), found(use.strip(), onp)
            if got != expected:
                wrong[use.strip()] = (got, expected)
    assert wrong == {}


def test_views_of_arrays_without_dimensions() -> None:
    for m in (np, onp):
        chosen = m.where(m.array(True), 1, 2)
        also = chosen
        also += 1
        assert chosen.tolist() == 2
        x = m.ones(3)
        assert x.conj() is x and x.conjugate() is x and m.conj(x) is not x
        z = m.ones(3) * (1 + 0j)
        m.real_if_close(z)[0] = 7
        assert z.tolist() == [7, 1, 1]
