"""``torch.functional``: some functions of ``torch``, by the name of their module."""

from __future__ import annotations

import lazyloom_torch as torch

_NAMES = """
    atleast_1d atleast_2d atleast_3d align_tensors block_diag broadcast_shapes broadcast_tensors
    cartesian_prod cdist chain_matmul einsum istft lu meshgrid norm pca_lowrank split stft
    svd_lowrank tensordot unique
    unique_consecutive unravel_index""".split()

globals().update({name: getattr(torch, name) for name in _NAMES if hasattr(torch, name)})
