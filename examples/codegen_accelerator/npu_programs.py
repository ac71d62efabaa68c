"""A program for ``python -m lazyloom codegen test npu --program npu_programs:layer``."""

from __future__ import annotations

from typing import Any

import numpy as np

import lazyloom_torch as torch
from lazyloom.quantization import quantize


def layer() -> Any:
    """Two quantised convolutions of a network, with a bias and an activation each."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.ReLU6(),
        torch.nn.Conv2d(16, 16, 3, stride=2, padding=1), torch.nn.ReLU6(),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()).eval()
    rng = np.random.default_rng(0)
    images = [torch.tensor(rng.standard_normal((4, 3, 32, 32)).astype("float32")) for _ in range(3)]
    return quantize(model, images[:2])(images[2])
