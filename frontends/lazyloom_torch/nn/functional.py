"""``torch.nn.functional``."""

from __future__ import annotations

from .._functions import activations, losses, windows
from .._functions.linear import cosine_similarity

for _module in (activations, losses, windows):
    globals().update(_module.FUNCTIONS)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):  # type: ignore[no-untyped-def]
    """The norm of ``x1 - x2 + eps`` over the last dimension."""
    return (x1 - x2 + eps).norm(p, -1, keepdim)


__all__ = ["cosine_similarity", "pairwise_distance"]
