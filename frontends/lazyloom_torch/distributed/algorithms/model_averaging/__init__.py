"""``torch.distributed.algorithms.model_averaging``: parameters that are averaged now and then."""

from __future__ import annotations

from .... import _absent
from ...._absent_names import ALONE
from . import averagers as averagers
from . import hierarchical_model_averager as hierarchical_model_averager
from . import utils as utils

__getattr__ = _absent.missing(__name__, reason=ALONE)
