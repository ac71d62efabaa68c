"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .gamma import Gamma


class Chi2(Gamma):
    """The sum of ``df`` squares of standard normal numbers."""

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: Any = None) -> None:
        if isinstance(df, (int, float)):
            df = torch.tensor(float(df))
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, self._get_checked_instance(Chi2, _instance))

    @property
    def df(self) -> Tensor:
        """Degrees of freedom."""
        return self.concentration * 2
