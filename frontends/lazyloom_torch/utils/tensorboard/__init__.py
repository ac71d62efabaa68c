"""``torch.utils.tensorboard``: writes event files that TensorBoard shows.

It needs the package tensorboard, as PyTorch's does: the import fails without it.
"""

from __future__ import annotations

from tensorboard.summary.writer.record_writer import RecordWriter  # noqa: F401

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
