"""Initial weights that are the same in both libraries."""

from __future__ import annotations

from typing import Any

import numpy


def initialise(torch: Any, module: Any, seed: int) -> Any:
    """The module, its parameters drawn by NumPy.

    Matrices and kernels are uniform with the deviation of 1 / sqrt(inputs); vectors keep what
    the module gave them where that is constant (norms), and are zero elsewhere.
    """
    random = numpy.random.default_rng(seed)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            shape = tuple(parameter.shape)
            if len(shape) > 1:
                inputs = int(numpy.prod(shape[1:]))
                bound = (3.0 / inputs) ** 0.5
                drawn = random.uniform(-bound, bound, shape).astype(numpy.float32)
                parameter.copy_(torch.from_numpy(drawn))
            elif "bias" in name:
                parameter.zero_()
    return module
