"""``torch.optim``: every optimizer but SparseAdam, and the schedules of learning rates."""

from __future__ import annotations

from .. import _absent
from . import lr_scheduler, swa_utils
from .adam import Adam, Adamax, AdamW, NAdam, RAdam
from .adaptive import Adadelta, Adafactor, Adagrad, Muon, RMSprop
from .lbfgs import LBFGS
from .optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from .sgd import ASGD, SGD, Rprop

__all__ = [
    "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon",
    "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "SGD", "lr_scheduler",
    "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook", "swa_utils",
]  # fmt: skip

__getattr__ = _absent.missing(__name__)
