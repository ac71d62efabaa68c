"""Distributions against PyTorch, their samples against themselves, and what is refused."""

from __future__ import annotations

import importlib
import itertools
import pickle
from typing import Any

import numpy as np
import pytest

import lazyloom
import lazyloom_torch as mine
from tests.torch.cases_distributions import CONSTRAINTS, DISTRIBUTIONS, TRANSFORMS

pytestmark = pytest.mark.usefixtures("quick_compiler")

D = mine.distributions
#: PyTorch's own definition does not take float64
_SINGLE = {"GeneralizedPareto"}
#: PyTorch gives NaN for every Kumaraswamy distribution
_OTHER = {("Kumaraswamy", "mode")}


def _host(x: Any) -> Any:
    if isinstance(x, mine.Tensor):
        return x.read()
    return x.detach().numpy() if hasattr(x, "detach") else np.asarray(x)


def _run(*tensors: mine.Tensor) -> None:
    """Run what the tensors wait for as one program, which compiles once for all of them."""
    last: Any = None
    for x in tensors:
        one = lazyloom.record("any", (x.detach().value,))
        last = one if last is None else lazyloom.record("logical_or", (last, one))
    lazyloom.sync(*tensors)


def _agree(found: dict[str, Any], expected: dict[str, Any], rtol: float = 1e-7) -> None:
    """The same names with the same values; all of ours run as one program."""
    assert list(found) == list(expected)
    _run(*[x for x in found.values() if isinstance(x, mine.Tensor)])
    for name, theirs in expected.items():
        if isinstance(theirs, str):
            assert found[name] == theirs, name
            continue
        a, b = _host(found[name]), _host(theirs)
        assert a.shape == b.shape, f"{name}: {a.shape}, expected {b.shape}"
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol, err_msg=name)


def _known(name: str, t: Any, value: np.ndarray) -> dict[str, Any]:
    """All that a distribution says of itself; NotImplementedError is an answer, too."""
    dtype = t.float32 if name in _SINGLE else t.float64
    d = DISTRIBUTIONS[name][0](t, dtype)
    at = t.tensor(value, dtype=dtype)
    half = t.full(value.shape, 0.3, dtype=dtype)
    questions = {
        "mean": lambda: d.mean, "variance": lambda: d.variance, "stddev": lambda: d.stddev,
        "mode": lambda: d.mode, "entropy": lambda: d.entropy(), "cdf": lambda: d.cdf(at),
        "log_prob": lambda: d.log_prob(at), "icdf": lambda: d.icdf(half),
        "support": lambda: d.support.check(at), "values": lambda: d.enumerate_support(),
        "expanded": lambda: d.expand((2, *d.batch_shape)).log_prob(
            at.reshape((-1, *d.batch_shape, *d.event_shape))[:1]),
        "rsample": lambda: d.has_rsample, "batch": lambda: tuple(d.batch_shape),
        "event": lambda: tuple(d.event_shape), "discrete": lambda: d.support.is_discrete,
    }
    answers = {}
    for key, ask in questions.items():
        try:
            if (name, key) not in _OTHER:
                answers[key] = ask()
        except NotImplementedError:
            answers[key] = "NotImplementedError"
    return answers


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_it_is_the_distribution_that_pytorch_has(name: str) -> None:
    torch = pytest.importorskip("torch")
    value = DISTRIBUTIONS[name][1]
    _agree(_known(name, mine, value), _known(name, torch, value),
           1e-5 if name in _SINGLE else 1e-7)


def test_transforms_their_inverses_slopes_and_gradients() -> None:
    torch = pytest.importorskip("torch")

    def known(t: Any) -> dict[str, Any]:
        found = {}
        for name, (make, value) in TRANSFORMS.items():
            f = make(t.distributions)
            x = t.tensor(value, requires_grad=True)
            y = f(x)
            slope = f.log_abs_det_jacobian(x, y)
            total = (y * y).sum() + slope.sum()
            found.update({
                name: y, f"{name} back": f.inv(y), f"{name} slope": slope,
                f"{name} gradient": t.autograd.grad(total, x)[0],
                f"{name} shape": tuple(f.forward_shape(value.shape))})
        return found

    _agree(known(mine), known(torch))


def test_constraints_and_the_maps_to_them() -> None:
    torch = pytest.importorskip("torch")

    def known(t: Any) -> tuple[dict[str, Any], list[str]]:
        found, said = {}, []
        for name, (make, value) in CONSTRAINTS.items():
            c = make(t.distributions.constraints)
            found[name] = c.check(t.tensor(value))
            said.append(repr(c))
            for registry in (t.distributions.biject_to, t.distributions.transform_to):
                try:
                    said.append(repr(registry(c)))
                except NotImplementedError:
                    said.append("no map")
        return found, [s for s in said if " object at " not in s and not s.startswith("<")]

    (ours, our_words), (theirs, their_words) = known(mine), known(torch)
    _agree(ours, theirs)
    assert [w for w in our_words if "(" in w] == [w for w in their_words if "(" in w]


def test_divergences_of_all_pairs_that_pytorch_knows() -> None:
    torch = pytest.importorskip("torch")
    from torch.distributions.kl import _KL_REGISTRY

    first: dict[str, str] = {}
    for name, (make, _) in DISTRIBUTIONS.items():
        first.setdefault(type(make(torch, torch.float64)).__name__, name)
    pairs = [(first[p.__name__], first[q.__name__]) for p, q in _KL_REGISTRY
             if p.__name__ in first and q.__name__ in first]

    def divergence(t: Any, p: str, q: str) -> Any:
        return t.distributions.kl_divergence(
            *(DISTRIBUTIONS[n][0](t, t.float64) for n in (p, q)))

    ours, theirs = {}, {}
    for p, q in pairs:
        try:
            theirs[f"{p}, {q}"] = divergence(torch, p, q)
        except (NotImplementedError, ValueError, RuntimeError):
            continue
        ours[f"{p}, {q}"] = divergence(mine, p, q)
    assert len(ours) > 80
    _agree(ours, theirs)


#: families of numbers with a cdf, and the parameters that samples are differentiable by
_PATHS = {
    "Normal": ("loc", "scale"), "Exponential": ("rate",), "HalfCauchy": ("scale",),
    "LogNormal": ("loc", "scale"), "Uniform": ("low", "high"), "Pareto": ("scale", "alpha"),
}


def test_samples_move_with_the_parameters_as_the_cdf_says() -> None:
    mine.manual_seed(3)
    found, expected = {}, {}
    for name, names in _PATHS.items():
        values = {n: getattr(DISTRIBUTIONS[name][0](mine, mine.float64), n).detach()
                  for n in names}
        given = [v.clone().requires_grad_() for v in values.values()]
        d = getattr(D, name)(**dict(zip(names, given)), validate_args=False)
        x = d.rsample((5,))
        # of one number: dx/dt = -(dF/dt) / p(x)
        still = x.detach()
        weight = -1 / d.log_prob(still).exp().detach()
        moved = mine.autograd.grad(x.sum(), given, retain_graph=True)
        flow = mine.autograd.grad((d.cdf(still) * weight).sum(), given)
        for n, a, b in zip(names, moved, flow):
            found[f"{name} {n}"], expected[f"{name} {n}"] = a, b
    _agree(found, {k: v.read() for k, v in expected.items()}, 1e-5)


#: one of each way to draw, and whether its variance is one that a sample shows
_DRAWN = {
    "Bernoulli": True, "Beta": True, "Binomial": True, "Categorical": False, "Multinomial": True,
    "MultivariateNormal factor": True, "MixtureSameFamily": True, "Wishart": True,
}


def test_samples_have_the_moments_and_lie_in_the_support() -> None:
    mine.manual_seed(5)
    n = 3000
    rows = {}
    for name, shown in _DRAWN.items():
        d = DISTRIBUTIONS[name][0](mine, mine.float64)
        x = d.sample((n,))
        assert not x.requires_grad
        assert x.shape == (n, *d.batch_shape, *d.event_shape)
        inside = d.support.check(x).all()
        if not shown:
            rows[name] = (inside, inside, inside)
            continue
        error = (x.mean(0) - d.mean).abs() / (d.variance / n).sqrt().clamp(min=1e-9)
        ratio = x.var(0) / d.variance
        rows[name] = (inside, error.max(), (ratio - 1).abs().max())
    _run(*itertools.chain(*rows.values()))
    for name, (inside, error, spread) in rows.items():
        assert bool(inside), name
        if _DRAWN[name]:
            assert float(error) < 5, f"{name}: {float(error)} standard errors from the mean"
            assert float(spread) < 0.4, f"{name}: variance off by {float(spread)}"


def test_numbers_are_refused_at_the_call_and_tensors_when_they_are_read() -> None:
    with pytest.raises(ValueError, match="scale of distribution Normal.*-1"):
        D.Normal(0.0, -1.0)
    with pytest.raises(ValueError, match="low >= high"):
        D.Uniform(1.0, 0.0)
    bad = D.Normal(mine.zeros(2), mine.tensor([1.0, -1.0]))
    with pytest.raises(ValueError, match="scale of distribution Normal"):
        bad.sample().tolist()
    good = D.Exponential(mine.ones(2))
    with pytest.raises(ValueError, match="within the support"):
        good.log_prob(mine.tensor([1.0, -1.0])).tolist()
    with pytest.raises(ValueError, match="not broadcastable"):
        good.log_prob(mine.ones(3))
    with pytest.raises(ValueError, match="must be a Tensor"):
        good.log_prob(1.0)
    loose = D.Exponential(mine.ones(2), validate_args=False)
    assert loose.log_prob(mine.tensor([1.0, -1.0])).tolist() == [-1.0, 1.0]
    with pytest.raises(ValueError, match="but not both"):
        D.Bernoulli()


@pytest.mark.compiled
def test_a_loop_with_samples_settles_and_reads_nothing() -> None:
    mine.manual_seed(0)
    loc = mine.zeros(3, requires_grad=True)
    raw = mine.zeros(3, requires_grad=True)
    optimizer = mine.optim.Adam([loc, raw], lr=0.1)
    prior = D.Independent(D.Normal(mine.full((3,), 2.0), mine.ones(3)), 1)
    compiled, losses = [], []
    for _ in range(40):
        optimizer.zero_grad()
        posterior = D.Independent(D.Normal(loc, raw.exp()), 1)
        reads = lazyloom.stats()["reads"]
        z = posterior.rsample((8,))
        loss = (posterior.log_prob(z) - prior.log_prob(z)).mean()
        loss.backward()
        optimizer.step()
        assert lazyloom.stats()["reads"] == reads
        losses.append(loss.item())
        compiled.append(lazyloom.stats()["programs_compiled"])
    assert compiled[2] == compiled[-1]
    assert losses[-1] < 0.2 < losses[0]


def test_families_stand_where_programs_of_pytorch_import_them_from() -> None:
    for place, name in {
        "normal": "Normal", "studentT": "StudentT", "lowrank_multivariate_normal":
        "LowRankMultivariateNormal", "relaxed_categorical": "ExpRelaxedCategorical",
        "one_hot_categorical": "OneHotCategoricalStraightThrough", "kl": "kl_divergence",
        "constraint_registry": "biject_to", "exp_family": "ExponentialFamily",
        "transformed_distribution": "TransformedDistribution", "utils": "broadcast_all",
    }.items():  # fmt: skip
        module = importlib.import_module(f"lazyloom_torch.distributions.{place}")
        assert getattr(module, name) is getattr(D, name, getattr(module, name))
        assert getattr(D, place) is module


def test_parameters_that_an_inner_distribution_has_are_checked() -> None:
    for make in (D.HalfNormal, D.HalfCauchy, lambda x: D.LogNormal(0.0, x),
                 lambda x: D.Weibull(x, 1.0), lambda x: D.InverseGamma(1.0, x)):  # fmt: skip
        with pytest.raises(ValueError, match="to satisfy the constraint GreaterThan.*-1"):
            make(-1.0)
        with pytest.raises(ValueError, match="to satisfy the constraint GreaterThan"):
            make(mine.tensor([1.0, -1.0])).sample().tolist()


def test_maps_with_a_cache_keep_it_to_themselves() -> None:
    x = mine.tensor([0.5, 2.0])
    plain = D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)])
    kept = plain.with_cache(1)
    assert kept == plain and kept is not plain
    assert kept.inv(kept(x)) is x and plain.inv(plain(x)) is not x
    assert kept.with_cache(0).inv(kept(x)) is not x
    assert kept.inv.inv is kept and pickle.loads(pickle.dumps(kept)) == plain
    assert D.ExpTransform() == D.ExpTransform() != D.ExpTransform().inv
    assert D.AffineTransform(0, mine.ones(2)) != D.AffineTransform(0, mine.tensor([1.0, 2.0]))


def test_a_family_of_a_program() -> None:
    class Shifted(D.Exponential):
        def __init__(self, by: Any, rate: Any) -> None:
            self.by = by
            super().__init__(rate)

    class Expanding(Shifted):
        def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
            new = self._get_checked_instance(Expanding, _instance)
            new.by = self.by.expand(batch_shape)
            return super().expand(batch_shape, new)

    given = mine.zeros(2), mine.ones(2)
    with pytest.raises(NotImplementedError, match="must also define a custom .expand"):
        Shifted(*given).expand((3, 2))
    found = Expanding(*given).expand((3, 2))
    assert found.by.shape == found.rate.shape == found.sample().shape == (3, 2)

    class Constant(D.Distribution):
        arg_constraints = {"value": D.constraints.real}
        has_rsample = True

        def __init__(self, value: Any) -> None:
            self.value = value
            super().__init__(value.shape)

        def rsample(self, sample_shape: Any = ()) -> Any:
            return self.value.expand(self._extended_shape(sample_shape))

    point = Constant(mine.ones(2))
    assert point.sample((3,)).shape == (3, 2) and repr(point) == "Constant(value: torch.Size([2]))"
    for ask in (point.entropy, lambda: point.mean, lambda: point.icdf(mine.ones(2))):
        with pytest.raises(NotImplementedError):
            ask()


@pytest.mark.compiled
def test_a_support_that_changes_is_not_read_and_costs_no_compile() -> None:
    compiled = []
    for i in range(6):
        d = D.Uniform(mine.zeros(2) - i, mine.ones(2) + i)
        reads = lazyloom.stats()["reads"]
        density = d.log_prob(mine.full((2,), 0.5))
        assert lazyloom.stats()["reads"] == reads
        assert density.tolist() == pytest.approx([-np.log(1 + 2 * i)] * 2)
        compiled.append(lazyloom.stats()["programs_compiled"])
    assert compiled[2] == compiled[-1]
    with pytest.raises(ValueError, match=r"lower_bound=a tensor of \(2,\).*Uniform"):
        d.log_prob(mine.full((2,), 9.0)).tolist()
