"""Cases of random numbers: shapes, dtypes and what must hold of any numbers of a distribution.

Numbers of the same seed are not NumPy's, so a distribution's case returns, beside shapes and
dtypes, whether the share of numbers up to a quantile is as SciPy says; both modules' must be.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as onp

from tests.numpy.coverage.case import Case, case
from tests.numpy.draws import (
    ALPHA,
    COLUMNS,
    CONTINUOUS,
    COUNTS,
    MULTINOMIAL,
    NORMAL,
    SHAPE,
    STANDARD,
    URN,
    Draw,
    quantiles,
)

LEGACY = "numpy.random."
METHOD = "numpy.random.Generator."


def _names(start: str, names: str) -> tuple[str, ...]:
    return tuple(start + name for name in names.split())


def _as_expected(x: Any, at: Any, share: Any) -> Any:
    deviation = onp.sqrt(share * (1 - share) / COLUMNS) + 1e-12
    return abs((x <= at).mean(axis=1, keepdims=True) - share) < 5 * deviation


def _distribution(draw: Draw) -> Case:
    at, share = quantiles(draw)
    few = [p[:2] for p in draw.parameters]

    def call(m: Any) -> Any:
        m.random.seed(30)
        found = []
        for source in (m.random.default_rng(30), m.random):
            x = getattr(source, draw.name)(*map(m.asarray, draw.parameters), size=SHAPE)
            found += [x.shape, x.dtype, _as_expected(x, m.asarray(at), m.asarray(share))]
            if few:
                y = getattr(source, draw.name)(*few)
                found += [y.shape, y.dtype]
        return found

    return case((METHOD + draw.name, LEGACY + draw.name), call)


def _sorted(m: Any, x: Any, axis: int = -1) -> Any:
    return m.sort(m.asarray(x), axis)


def _integers(m: Any) -> Any:
    rng = m.random.default_rng(31)
    x = rng.integers(-3, 6, 3000)
    y = rng.integers(0, 255, (3, 1000), dtype="u1", endpoint=True)
    z = rng.integers([0, 10], [[3], [17]], endpoint=True)
    return (x.min(), x.max(), x.dtype, y.min(), y.max(), y.shape, y.dtype, z.shape,
            rng.integers(2, size=(5,), dtype=bool).dtype, rng.integers(7, 8, 4))


def _randint(m: Any) -> Any:
    m.random.seed(31)
    x = m.random.randint(-3, 6, 3000)
    return x.min(), x.max(), x.dtype, m.random.randint(5, size=(2, 2), dtype="i2").dtype


def _random_integers(m: Any) -> Any:
    m.random.seed(31)
    x = m.random.random_integers(-3, 5, 3000)
    return x.min(), x.max(), x.dtype, m.random.random_integers(1, size=(2,))


def _shaped(m: Any) -> Any:
    m.random.seed(32)
    x, y = m.random.rand(300, 2), m.random.randn(300, 2)
    rest = [f((300, 2)) for f in (m.random.ranf, m.random.sample, m.random.random_sample)]
    inside = [((v >= 0) & (v < 1)).all() for v in (x, *rest)]
    return inside, [v.shape for v in (x, y, *rest)], abs(y.mean()) < 0.25, y.dtype


def _state(m: Any) -> Any:
    m.random.seed([3, 4])
    state = m.random.get_state()
    x = m.random.rand(300, 2)
    m.random.set_state(state)
    y = m.random.rand(300, 2)
    m.random.seed([3, 4])
    return (x == y).all(), (x == m.random.rand(300, 2)).all(), len(state), state[3:]


def _choice(m: Any, x: Any) -> Any:
    rng, n = m.random.default_rng(33), x.shape[0]
    m.random.seed(33)
    p = onp.r_[onp.zeros(n - 1), 1.0]
    some = rng.choice(x, (2, 4))
    return (some.shape, some.dtype, m.isin(some, x).all(), _sorted(m, rng.choice(x, n, False)),
            rng.choice(n, 3, p=p), m.random.choice(n, 3, p=p),
            _sorted(m, rng.choice(n, n, replace=False, p=onp.full(n, 1 / n))),
            _sorted(m, rng.choice(m.stack([x, x]), n, False, axis=1)),
            m.random.choice(x, 5).shape, _sorted(m, m.random.choice(x, n, False)))


def _orders(m: Any, x: Any) -> Any:
    rng, n = m.random.default_rng(34), x.shape[0]
    m.random.seed(34)
    a, b, c = m.array(x), m.array(x), m.stack([x, x])
    rng.shuffle(a)
    m.random.shuffle(b)
    rng.shuffle(c, axis=1)
    return [_sorted(m, v) for v in (
        a, b, c, rng.permutation(n), m.random.permutation(n), rng.permutation(x),
        m.random.permutation(x), rng.permuted(c, axis=1), m.ravel(rng.permuted(c)))]


def _several(m: Any) -> Any:
    rng = m.random.default_rng(35)
    m.random.seed(35)
    (n, p, _), (colors, drawn, _), (alpha, _), (mean, cov, _) = MULTINOMIAL, URN, ALPHA, NORMAL
    x, y = rng.multinomial(*MULTINOMIAL), m.random.multinomial(*MULTINOMIAL)
    z = rng.multivariate_hypergeometric(*URN)
    shares = [rng.dirichlet(*ALPHA), m.random.dirichlet(*ALPHA)]
    normal = [rng.multivariate_normal(*NORMAL), m.random.multivariate_normal(*NORMAL)]
    spread = 5 / math.sqrt(COLUMNS)
    return ([(v.shape, v.dtype, v.sum(1), v[:, 1].max(), abs(v.mean(0) - total * e) < n * spread)
             for v, total, e in ((x, n, p), (y, n, p), (z, drawn, colors / colors.sum()))],
            [(v.sum(1), abs(v.mean(0) - alpha / alpha.sum()) < spread, v.dtype) for v in shares],
            [(v.dtype, abs(v.mean(0) - mean) < onp.sqrt(onp.diag(cov)) * spread) for v in normal])


def _made(m: Any) -> Any:
    rng = m.random.default_rng(36)
    x, y = rng.random((300, 2)), m.random.default_rng(36).random((300, 2))
    out = m.zeros((300, 2))
    same = rng.random(out=out) is out
    return ((x == y).all(), same, isinstance(rng, m.random.Generator),
            m.random.default_rng(rng) is rng, len(rng.spawn(3)),
            isinstance(m.random.Generator(rng.bit_generator), m.random.Generator))


CASES: list[Case] = [
    *[_distribution(d) for d in (*CONTINUOUS, *COUNTS)],
    *[_distribution(d) for d in STANDARD],
    case(("numpy.random.Generator", "numpy.random.default_rng"), _made),
    case(METHOD + "integers", _integers),
    case(LEGACY + "randint", _randint),
    case(LEGACY + "random_integers", _random_integers),
    case([LEGACY + n for n in ("rand", "randn", "ranf", "sample", "random_sample")], _shaped),
    case([LEGACY + n for n in ("seed", "get_state", "set_state")], _state),
    case((METHOD + "choice", LEGACY + "choice"), _choice, shapes=[((4,),)],
         dtypes=["int64", "float32"]),
    case(_names(METHOD, "permutation permuted shuffle") + _names(LEGACY, "permutation shuffle"),
         _orders, shapes=[((4,),)],
         dtypes=["int64", "float32"]),
    case(_names(METHOD, "multinomial multivariate_hypergeometric dirichlet multivariate_normal")
         + _names(LEGACY, "multinomial dirichlet multivariate_normal"), _several),
    case((METHOD + "bytes", LEGACY + "bytes"),
         lambda m: [len(m.random.default_rng(0).bytes(5)), len(m.random.bytes(5)),
                    type(m.random.bytes(5))], reads="the result is Python bytes"),
]  # fmt: skip
