"""Gradients of gradients that were read in between."""

from __future__ import annotations

import numpy as np
import pytest

import lazyloom_torch as torch


@pytest.mark.parametrize("rows", [2, 200])
def test_the_gradient_of_a_gradient_that_was_read(rows: int) -> None:
    data = np.linspace(-1, 1, rows * 3, dtype=np.float32).reshape(rows, 3)

    def second(read: bool) -> np.ndarray:
        x = torch.tensor(data, requires_grad=True)
        (g,) = torch.autograd.grad((x @ x.t() @ x).sum(), [x], create_graph=True)
        if read:
            g.detach().numpy()
        (found,) = torch.autograd.grad((g * g).sum(), [x])
        return found.numpy()

    np.testing.assert_allclose(second(True), second(False), rtol=2e-4, atol=1e-3)
