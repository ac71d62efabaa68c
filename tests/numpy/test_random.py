"""Generators: seeds, streams, state, loops, threads, arguments and errors.

The distributions themselves are compared with SciPy's in ``test_distributions``.
"""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np
from tests.numpy.draws import COLUMNS, CONTINUOUS, COUNTS, MULTINOMIAL, SHAPE, STANDARD, URN


def equal(a: Any, b: Any) -> bool:
    return onp.array_equal(onp.asarray(a), onp.asarray(b))


def counted(name: str) -> int:
    return int(lazyloom.stats()[name])


# Seeds and state


def test_a_seed_gives_these_numbers() -> None:
    """The same in every process, on every machine, in every release that does not say so."""
    first = np.random.default_rng(2024).integers(0, 2**32, 3).tolist()
    assert first == [1624743976, 3991808527, 434357812]
    legacy = np.random.RandomState(2024).randint(0, 2**32, 3).tolist()
    assert legacy == [1392866461, 4183652976, 2404728484] and legacy != first


def test_seeds() -> None:
    a, b = np.random.default_rng(3), np.random.default_rng(3)
    x, y = a.random(5), b.random(5)
    assert equal(x, y)
    assert not equal(x, a.random(5))
    assert not equal(x, np.random.default_rng(4).random(5))
    for seed in ([1, 2], onp.array([1, 2]), np.array([1, 2]), np.random.SeedSequence([1, 2])):
        assert equal(np.random.default_rng(seed).random(5), np.random.default_rng((1, 2)).random(5))
    assert not equal(np.random.default_rng().random(5), np.random.default_rng().random(5))
    assert np.random.default_rng(a) is a
    for bits in (np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64):
        rng = np.random.Generator(bits(3))
        assert equal(x, rng.random(5)) and str(rng) == f"Generator({bits.__name__})"
    legacy = np.random.RandomState(5)
    assert equal(np.random.default_rng(legacy).random(5), np.random.RandomState(5).random_sample(5))


def test_the_legacy_functions_share_one_state() -> None:
    np.random.seed(1)
    first = [np.random.rand(2, 3), np.random.normal(size=2), np.random.randint(9, size=4)]
    np.random.seed(1)
    again = [np.random.rand(2, 3), np.random.normal(size=2), np.random.randint(9, size=4)]
    assert all(equal(a, b) for a, b in zip(first, again))
    for legacy in (True, False):
        state = np.random.get_state(legacy)
        x = np.random.rand(3)
        np.random.set_state(pickle.loads(pickle.dumps(state)))
        assert equal(x, np.random.rand(3))
    own = np.random.get_bit_generator()
    try:
        np.random.set_bit_generator(np.random.Threefry(3))
        assert equal(np.random.random_sample(5), np.random.default_rng(3).random(5))
    finally:
        np.random.set_bit_generator(own)


@pytest.mark.compiled
def test_copies() -> None:
    before = counted("reads")
    a = np.random.default_rng(6)
    a.random(3)
    copies = [pickle.loads(pickle.dumps(a)), copy.deepcopy(a)]
    shared = copy.copy(a)
    assert counted("reads") == before
    x = a.random(3)
    assert all(equal(x, c.random(3)) for c in copies)
    assert equal(shared.random(3), copies[0].random(3)) and not equal(shared.random(3), x)
    b = np.random.default_rng(7)
    b.bit_generator.state = copies[0].bit_generator.state
    assert equal(b.random(3), copies[0].random(3))
    spawned = [c.spawn(1)[0].random(3) for c in (pickle.loads(pickle.dumps(a)), copy.deepcopy(a))]
    assert equal(*spawned)
    jumped = np.random.Generator(a.bit_generator.jumped())
    assert not equal(jumped.random(3), copy.deepcopy(a).random(3))


def test_streams_are_independent() -> None:
    rng = np.random.default_rng(8)
    children = rng.spawn(2)
    sources = [rng, *children, *children[0].spawn(1), *np.random.default_rng(8).spawn(3)[2:],
               np.random.default_rng(9), np.random.RandomState(8),
               np.random.Generator(np.random.Threefry(8).jumped())]
    x = onp.array([onp.asarray(s.normal(2.0, 3.0, 4000)) for s in sources for _ in range(2)])
    correlation = onp.corrcoef(x) - onp.eye(len(x))
    assert abs(correlation).max() < 5 / 4000**0.5
    shifted = onp.corrcoef(x[:, 1:], x[:, :-1])[:len(x), len(x):]
    assert abs(shifted).max() < 5 / 4000**0.5
    again = np.random.default_rng(8).spawn(2)
    assert equal(again[1].random(4), np.random.default_rng(8).spawn(2)[1].random(4))


def test_the_counter_does_not_wrap() -> None:
    bits = np.random.Threefry(1)
    state = bits.state
    state["state"]["counter"] = 2**32 - 2
    bits.state = state
    rng = np.random.Generator(bits)
    x = [rng.random(4).tolist() for _ in range(3)]
    assert x[0] != x[1] != x[2] and bits.state["state"]["counter"] < 10
    assert not equal(bits.state["state"]["key"], state["state"]["key"])


# Laziness


@pytest.mark.compiled
def test_no_draw_reads() -> None:
    rng, legacy = np.random.default_rng(0), np.random.RandomState(0)
    before = counted("reads")
    for draw in (*STANDARD, *CONTINUOUS, *COUNTS):
        for source in (rng, legacy):
            first = draw.rows[0]
            scalar = getattr(source, draw.name)(*first)
            assert type(scalar) is np.ScalarArray and scalar.shape == ()
            device = [np.array(p) for p in first]
            x = getattr(source, draw.name)(*device, size=(2, 0))
            assert x.shape == (2, 0)
            assert x.dtype == (onp.int64 if draw in COUNTS else onp.float64) == scalar.dtype
    rng.integers(np.array([2, 3]), np.array(9))
    rng.choice(np.arange(5), 3, p=np.ones(5))
    rng.permutation(np.arange(5))
    rng.multivariate_normal(np.zeros(2), np.eye(2))
    rng.multinomial(np.array([3, 4]), np.array([0.5, 0.5]))
    assert counted("reads") == before


@pytest.mark.slow
@pytest.mark.compiled
def test_a_draw_in_a_loop_settles_at_once() -> None:
    rng = np.random.default_rng(0)
    x = np.zeros(4)

    def step(i: int) -> float:
        nonlocal x
        x = x + rng.normal(0.5 * i, 2.0 + i, 4) * rng.integers(i, 40 + i, 4)
        x[:2] += rng.choice(4 + i, 2) + rng.exponential(2.0 + i)
        return float(x.sum())

    values = [step(i) for i in range(2, 5)]
    before = counted("programs_compiled")
    values += [step(i) for i in range(5, 9)]
    assert counted("programs_compiled") == before
    assert len(set(values)) == 7


def test_threads_share_a_generator() -> None:
    rng, found, failed = np.random.default_rng(10), [], []

    def draw() -> None:
        try:
            drawn = [rng.integers(0, 2**62) for _ in range(25)]
            found.extend(x.item() for x in drawn)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    alone = np.random.default_rng(10)
    assert not failed
    assert sorted(found) == sorted(alone.integers(0, 2**62).item() for _ in range(100))


def test_a_draw_has_gradients_in_its_parameters() -> None:
    def loss(mean: Any, scale: Any) -> Any:
        rng = np.random.default_rng(1)
        return (rng.normal(mean, scale, 2000) + rng.exponential(scale, 2000)).mean()

    by_mean, by_scale = lazyloom.grad(loss, (0, 1))(np.array(1.0), np.array(2.0))
    assert abs(float(by_mean) - 1.0) < 1e-6 and abs(float(by_scale) - 1.0) < 0.2


# Arguments


def rows(name: str, *parameters: Any) -> Any:
    """A draw by parameters of the device, four of each, in the program of the statistical tests."""
    kinds = next(d for d in (*CONTINUOUS, *COUNTS) if d.name == name).parameters
    columns = [np.array(onp.array(p, k.dtype)[:, None]) for p, k in zip(parameters, kinds)]
    return onp.asarray(getattr(np.random.default_rng(11), name)(*columns, size=SHAPE))


BAD = [-1.0, onp.nan, -1.0, onp.nan]


@pytest.mark.parametrize(("name", "parameters"), [
    ("gamma", (BAD, [2] * 4)), ("beta", (BAD, [2] * 4)), ("chisquare", (BAD,)),
    ("standard_t", (BAD,)), ("wald", (BAD, [2] * 4)), ("vonmises", ([0.5] * 4, BAD)),
    ("noncentral_chisquare", ([0.5, 3, 0.5, 3], BAD)), ("poisson", (BAD,)), ("zipf", (BAD,)),
    ("geometric", (BAD,)), ("negative_binomial", (BAD, [0.5] * 4)), ("binomial", ([5] * 4, BAD)),
    ("hypergeometric", ([-1, 2, 2, 2], [3, -3, 3, 3], [1, 1, -1, 9])),
])
def test_parameters_of_the_device_outside_their_domain(name: str, parameters: Any) -> None:
    x = rows(name, *parameters)
    assert (x == -1).all() if x.dtype.kind == "i" else onp.isnan(x).all()


@pytest.mark.slow
def test_limits() -> None:
    inf, ones = float("inf"), [1] * 4
    x = rows("geometric", [1e-300, 1, 1, 1])
    assert (x[0] == 2**63 - 1).all() and (x[1:] == 1).all()
    x = rows("gamma", [0, inf, 0, inf], ones)
    assert (x[[0, 2]] == 0).all() and (x[[1, 3]] == inf).all()
    assert (rows("zipf", [inf, 1e9, 2000, 100]) == 1).all()
    assert (rows("weibull", [0, 0, 0, 0]) == 0).all()
    x = rows("poisson", [9.2e18, 0, 1e15, 0])
    assert (abs(x[0] / 9.2e18 - 1) < 1e-8).all() and (x[[1, 3]] == 0).all()
    assert (abs(x[2] - 1e15) < 7 * 1e15**0.5).all()
    x = rows("binomial", [2**62, 0, 5, 5], [0.5, 0.5, 0, 1])
    assert (abs(x[0] / 2**61 - 1) < 1e-8).all() and (x[1:] == [[0], [0], [5]]).all()
    x = rows("hypergeometric", [5, 0, 5, 0], [0, 5, 5, 0], [3, 3, 10, 0])
    assert (x == [[3], [0], [5], [0]]).all()
    assert (rows("logseries", [0, 0, 0, 0]) == 1).all()
    assert (rows("normal", [3.5, 0, -1, 2], [0] * 4) == [[3.5], [0], [-1], [2]]).all()
    assert (abs(rows("beta", [1e-3, 1e-3, 1e-200, 3e-200], [2e-3, 1e-3, 1e-200, 1e-200]).mean(1)
                - [1 / 3, 1 / 2, 1 / 2, 3 / 4]) < 0.02).all()
    rng = np.random.default_rng(12)
    x = onp.asarray(rng.integers([2**64 - 1, 2**63], 2**64, (3, 2), dtype="u8"))
    assert (x[:, 0] == 2**64 - 1).all() and (x >= 2**63).all()
    assert rng.integers(-128, -127, 3, "i1").tolist() == [-128] * 3
    assert rng.integers(np.array([7, 2]), np.array([3, 3])).tolist() == [7, 2]
    wrong = np.array([0.5, onp.nan, 0.1, 0.1])
    assert (onp.asarray(rng.multinomial(MULTINOMIAL[0], wrong, COLUMNS)) == -1).all()
    urn = rng.multivariate_hypergeometric(np.array(URN[0]), 151, COLUMNS)
    assert (onp.asarray(urn) == -1).all()
    assert rng.dirichlet([]).shape == (0,) and rng.multivariate_hypergeometric([], 0).shape == (0,)


def test_out() -> None:
    rng = np.random.default_rng(13)
    for name, args in (("random", ()), ("standard_normal", ()), ("standard_exponential", ()),
                       ("standard_gamma", (2.5,))):  # fmt: skip
        base = np.zeros((3, 4))
        assert getattr(rng, name)(*args, out=base[1]).base is base
        assert (base[1] != 0).all() and not base[[0, 2]].any()
    x = np.arange(12).reshape(3, 4)
    rng.shuffle(x[:, ::2])
    assert sorted(map(tuple, x[:, ::2].tolist())) == [(0, 2), (4, 6), (8, 10)]
    assert x[:, 1::2].tolist() == [[1, 3], [5, 7], [9, 11]]
    before = onp.sort(onp.asarray(x))
    assert rng.permuted(x, axis=1, out=x) is x
    assert equal(onp.sort(onp.asarray(x)), before)
    some, host = [[1], [2], [3]], onp.arange(6).reshape(2, 3)
    rng.shuffle(some)
    rng.shuffle(host, axis=1)
    assert sorted(some) == [[1], [2], [3]] and onp.sort(host).tolist() == [[0, 1, 2], [3, 4, 5]]


#: calls whose error has NumPy's type and words
SAID = """
r.normal(0, -1); r.normal(0, -0.0); r.normal([0, 1], [1, -1]); r.normal(onp.zeros((2, 3)), 1, (3,))
r.uniform(1, 0); r.uniform(0, float("inf")); r.exponential(-1); r.gamma(-1); r.gamma(1, -1)
r.standard_gamma(2, dtype="i4"); r.random(dtype="i4"); r.random(2, out=m.zeros(3))
r.random(out=m.zeros(3, "f4")); r.random(out=m.zeros((3, 2))[:, 0]); r.random(2.5)
r.beta(0, 1); r.beta(1, 0); r.f(0, 1); r.f(1, 0); r.chisquare(0); r.noncentral_chisquare(0, 1)
r.noncentral_chisquare(1, -1); r.noncentral_f(0, 1, 1); r.noncentral_f(1, 0, 1)
r.noncentral_f(1, 1, -1); r.standard_t(0); r.vonmises(0, -1); r.pareto(0); r.weibull(-1)
r.power(0); r.laplace(0, -1); r.gumbel(0, -1); r.logistic(0, -1); r.lognormal(0, -1)
r.rayleigh(-1); r.wald(0, 1); r.wald(1, 0); r.triangular(1, 0, 2); r.triangular(0, [3], 2)
r.triangular(1, 1, 1); r.binomial(-1, .5); r.binomial(5, 1.5); r.binomial(5, [float("nan")])
r.negative_binomial(0, .5); r.negative_binomial(1, 0); r.poisson(-1); r.poisson([-1])
r.poisson(1e19); r.zipf(1); r.geometric(0); r.hypergeometric(1, 1, -1); r.hypergeometric(1, 1, 3)
r.hypergeometric(10**9, 1, 3); r.logseries(1); r.logseries([-.1]); r.integers(0); r.integers(5, 5)
r.integers(6, 5, endpoint=True); r.integers(0, 300, dtype="u1"); r.integers(-1, 5, dtype="u1")
r.integers(0, 256, dtype="u1", endpoint=True); r.integers(0, 2**64); r.integers(0, [3, 0])
r.integers(3, dtype=float); r.choice(0); r.choice([]); r.choice(2.5); r.choice(3, 5, False)
r.choice(3, p=[.5, .5]); r.choice(3, p=[[.5, .5, 0]]); r.choice(3, p=[.5, .5, .5])
r.choice(3, p=[1.5, -.5, 0]); r.choice(3, p=[.5, .5, float("nan")])
r.choice(3, 2, False, p=[1, 0, 0]); r.shuffle(5); r.shuffle([[1, 2]], axis=1); r.permuted(5)
r.permuted([1, 2], out=m.zeros(3)); r.multinomial(-5, [.5, .5]); r.multinomial(5, [-.5, 1.5])
r.multinomial(5, .5); r.multinomial(5, []); r.dirichlet([1, -2]); r.dirichlet(2)
r.multivariate_hypergeometric([1, 2], 5); r.multivariate_hypergeometric([1, 2], -2)
r.multivariate_hypergeometric([[1, 2]], 2); r.multivariate_hypergeometric([1, 2], 2, method="a")
r.multivariate_normal([0, 1], [1, 0]); r.multivariate_normal([[0, 1]], onp.eye(2))
r.multivariate_normal([0, 1, 2], onp.eye(2)); r.multivariate_normal([0, 1], onp.eye(2), method="a")
r.multivariate_normal([0, 1], [[1, 2], [2, 1]], check_valid="raise")
r.multivariate_normal([0, 1], onp.eye(2), check_valid="a"); m.random.default_rng(1.5)
m.random.default_rng(-1); m.random.RandomState(-1); m.random.RandomState(2**32)
m.random.seed([]); m.random.rand((2, 3)); l.choice([[1, 2]]); l.dirichlet([1, 0])
l.multinomial(5, [.5, .6, .3]); l.randint(5, 3)
l.randint(0, 300, dtype="u1"); l.random_integers(5, 3)
"""


@pytest.mark.filterwarnings("ignore:.*random_integers|This function:DeprecationWarning")
def test_errors_are_numpys() -> None:
    for call in SAID.replace("\n", ";").split(";"):
        said = []
        for m in (onp, np):
            names = {"m": m, "onp": onp, "r": m.random.default_rng(0), "l": m.random.RandomState(0)}
            with pytest.raises(Exception) as caught:
                eval(call or "m.random.default_rng(-1)", names)
            said.append((type(caught.value), str(caught.value)))
        (theirs, words), (ours, our_words) = said
        assert issubclass(ours, theirs) and words == our_words, (call, said)


def test_other_errors() -> None:
    rng = np.random.default_rng(0)
    for wrong, kind in (
        (lambda: rng.normal(1j), TypeError), (lambda: rng.normal(None), TypeError),
        (lambda: rng.normal("a"), ValueError), (lambda: rng.random(-1), ValueError),
        (lambda: rng.binomial(2**63, 0.5), OverflowError), (lambda: rng.bytes(-1), ValueError),
        (lambda: np.random.Generator(onp.random.PCG64(0)), TypeError),  # type: ignore[arg-type]
        (lambda: np.random.seed(1.5), TypeError), (lambda: rng.shuffle((1, 2)), TypeError),
        (lambda: rng.normal(np.array([1j])), TypeError), (lambda: rng.choice("abc"), ValueError),
        (lambda: np.random.set_state(("PCG64", onp.zeros(2), 3)), ValueError),
        (lambda: rng.permutation(np.zeros((2, 2)), axis=2), np.AxisError),
        (lambda: rng.multinomial(5, [[0.5, 0.5]] * 2, size=3), ValueError),
    ):  # fmt: skip
        with pytest.raises(kind):
            wrong()
    with pytest.warns(RuntimeWarning, match="positive-semidefinite"):
        rng.multivariate_normal([0, 1], [[1, 2], [2, 1]])
    with pytest.warns(DeprecationWarning):
        np.random.random_integers(3)
