"""Probability distributions: ``torch.distributions``.

Samples come from the generators of :mod:`lazyloom_torch.random`; ``rsample`` is differentiable by
the parameters. What arguments and values have to satisfy is looked at as ``Distribution`` says.
"""
# ruff: noqa: F403, F405  (the modules of families name what is public)

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec

from . import _divergences as _divergences
from . import constraints, transforms
from ._counts import *
from ._mapped import *
from ._matrices import *
from ._positive import *
from ._real import *
from .constraint_registry import biject_to, transform_to
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .independent import Independent
from .kl import kl_divergence, register_kl
from .mixture_same_family import MixtureSameFamily
from .transformed_distribution import TransformedDistribution
from .transforms import *

#: the families, by the name of the module that programs of PyTorch's import them from
_FAMILIES: dict[str, list[type]] = {
    "bernoulli": [Bernoulli], "beta": [Beta], "binomial": [Binomial], "categorical": [Categorical],
    "cauchy": [Cauchy], "chi2": [Chi2], "continuous_bernoulli": [ContinuousBernoulli],
    "dirichlet": [Dirichlet], "exponential": [Exponential], "fishersnedecor": [FisherSnedecor],
    "gamma": [Gamma], "generalized_pareto": [GeneralizedPareto], "geometric": [Geometric],
    "gumbel": [Gumbel], "half_cauchy": [HalfCauchy], "half_normal": [HalfNormal],
    "inverse_gamma": [InverseGamma], "kumaraswamy": [Kumaraswamy], "laplace": [Laplace],
    "lkj_cholesky": [LKJCholesky], "log_normal": [LogNormal], "logistic_normal": [LogisticNormal],
    "lowrank_multivariate_normal": [LowRankMultivariateNormal], "multinomial": [Multinomial],
    "multivariate_normal": [MultivariateNormal], "negative_binomial": [NegativeBinomial],
    "normal": [Normal],
    "one_hot_categorical": [OneHotCategorical, OneHotCategoricalStraightThrough],
    "pareto": [Pareto], "poisson": [Poisson],
    "relaxed_bernoulli": [LogitRelaxedBernoulli, RelaxedBernoulli],
    "relaxed_categorical": [ExpRelaxedCategorical, RelaxedOneHotCategorical],
    "studentT": [StudentT], "uniform": [Uniform], "von_mises": [VonMises], "weibull": [Weibull],
    "wishart": [Wishart],
}  # fmt: skip
for _place, _families in _FAMILIES.items():
    _module = module_from_spec(ModuleSpec(f"{__name__}.{_place}", None))
    vars(_module).update({_family.__name__: _family for _family in _families})
    sys.modules[_module.__name__] = globals()[_place] = _module

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "CatTransform",
    "Categorical", "Cauchy", "Chi2", "ComposeTransform", "ContinuousBernoulli",
    "CorrCholeskyTransform", "CumulativeDistributionTransform", "Dirichlet", "Distribution",
    "ExpTransform", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma",
    "GeneralizedPareto", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent",
    "IndependentTransform", "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal",
    "LogisticNormal", "LowRankMultivariateNormal", "LowerCholeskyTransform", "MixtureSameFamily",
    "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical",
    "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "PositiveDefiniteTransform",
    "PowerTransform", "RelaxedBernoulli", "RelaxedOneHotCategorical", "ReshapeTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform",
    "StickBreakingTransform", "StudentT", "TanhTransform", "Transform", "TransformedDistribution",
    "Uniform", "VonMises", "Weibull", "Wishart", "biject_to", "constraints", "identity_transform",
    "kl_divergence", "register_kl", "transform_to", "transforms",
]  # fmt: skip
