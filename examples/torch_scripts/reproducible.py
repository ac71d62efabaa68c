"""Random numbers that are the same under every library: NumPy draws them."""

from __future__ import annotations

import numpy

import lazyloom_torch as torch


def generator(seed: int = 0) -> numpy.random.Generator:
    return numpy.random.default_rng(seed)


def normal(random: numpy.random.Generator, *shape: int):
    """A float32 tensor of standard normal numbers."""
    return torch.from_numpy(random.standard_normal(shape).astype(numpy.float32))


@torch.no_grad()
def initialise(module, random: numpy.random.Generator):
    """The module with new weights, uniform in +-1/sqrt(inputs), and biases of zero.

    Parameters of one dimension that are no biases, the scales of norms, become one.
    """
    for name, parameter in module.named_parameters():
        if parameter.dim() < 2:
            parameter.fill_(0.0 if "bias" in name else 1.0)
        else:
            bound = parameter[0].numel() ** -0.5
            drawn = random.uniform(-bound, bound, tuple(parameter.shape))
            parameter.copy_(torch.from_numpy(drawn.astype(numpy.float32)))
    return module
