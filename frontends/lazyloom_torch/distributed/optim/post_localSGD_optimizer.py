"""An optimizer whose parameters are averaged over processes now and then."""

from __future__ import annotations

import warnings
from typing import Any

from ...optim.optimizer import Optimizer
from ..algorithms.model_averaging.averagers import ModelAverager


class PostLocalSGDOptimizer(Optimizer):
    """Steps of another optimizer, each followed by what an averager does.

    Args:
        optim: what updates the parameters.
        averager: when, and over which processes, they are averaged.
    """

    def __init__(self, optim: Optimizer, averager: ModelAverager) -> None:
        # no state of its own: all of it is the other optimizer's
        self._make_hooks()
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups
        self.defaults = optim.defaults

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The other optimizer's."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """The other optimizer's, with the averager's ``step``."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a state; warns where it has no ``step`` of an averager, which is 0 then."""
        self.optim.load_state_dict(state_dict)
        self.param_groups = self.optim.param_groups
        if "step" not in state_dict:
            warnings.warn("Loaded state dict does not contain a step counter for an averager. "
                          "Setting step counter to 0.", stacklevel=2)
        self.averager.step = state_dict.get("step", 0)

    def step(self) -> None:  # type: ignore[override]
        """Update the parameters, then average them if it is time."""
        self.optim.step()
        self.averager.average_parameters(params=self.param_groups)

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        self.optim.add_param_group(param_group)
