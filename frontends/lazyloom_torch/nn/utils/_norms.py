"""What both kinds of weight and spectral normalisation compute."""

from __future__ import annotations

from typing import Any

from ..._functions import reductions
from ..._grad_mode import no_grad
from ..._tensor import Tensor
from ..modules.module import Module


def norm_except_dim(v: Tensor, dim: int) -> Tensor:
    """The norm over all dimensions but one, which are kept with size 1; of all for -1."""
    if dim == -1:
        return reductions.norm(v)
    rest = [d for d in range(v.dim()) if d != dim % v.dim()]
    return reductions.norm(v, 2, rest, True)


def weight_of(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """The direction of v with the norm g."""
    made: Tensor = v * (g / norm_except_dim(v, dim))
    return made


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """A weight as rows along one dimension."""
    if dim != 0:
        weight = weight.permute(dim, *(d for d in range(weight.dim()) if d != dim))
    made: Tensor = weight.reshape(weight.size(0), -1)
    return made


def power_iterations(matrix: Tensor, u: Tensor, v: Tensor, count: int, eps: float, *,
                     u_first: bool = True) -> None:  # fmt: skip
    """Move u and v, in place, towards the singular vectors of the largest singular value."""
    from ..functional import normalize

    with no_grad():
        new_u, new_v = u, v
        for _ in range(count):
            if u_first:
                new_u = normalize(matrix @ new_v, dim=0, eps=eps)
            new_v = normalize(matrix.t() @ new_u, dim=0, eps=eps)
            if not u_first:
                new_u = normalize(matrix @ new_v, dim=0, eps=eps)
        if count:
            u.copy_(new_u)
            v.copy_(new_v)


def singular_value(matrix: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """``u @ matrix @ v``, where u and v may be written to afterwards."""
    made: Tensor = u.clone().dot(matrix @ v.clone())
    return made


def random_direction(like: Tensor, size: int, eps: float) -> Any:
    """A random vector of norm 1."""
    from ... import random
    from ..functional import normalize

    return normalize(random.randn(size, dtype=like.dtype), dim=0, eps=eps)


def output_dim(module: Module, dim: int | None) -> int:
    """The dimension of a module's weight that counts its outputs, unless one is given."""
    from ..modules.conv import _ConvTransposeNd

    if dim is not None:
        return dim
    return 1 if isinstance(module, _ConvTransposeNd) else 0


def hook_of(module: Module, kind: type, name: str) -> int | None:
    """The key of the hook of this kind that computes the named weight before calls, if any."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:  # type: ignore[attr-defined]
            return key
    return None
