"""Checkpoints as files of ``torch.save``, and the other way."""

from __future__ import annotations

import argparse
import os
from typing import Any

from ...serialization import load as load_file
from ...serialization import save as save_file
from .default_planner import _EmptyStateDictLoadPlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .state_dict_loader import _load_state_dict
from .state_dict_saver import _save_state_dict


def dcp_to_torch_save(
    dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]
) -> None:
    """Write all that a checkpoint holds to one file, which ``torch.load`` reads; in one process."""
    state: dict[str, Any] = {}
    _load_state_dict(state, FileSystemReader(dcp_checkpoint_dir),
                     planner=_EmptyStateDictLoadPlanner(), no_dist=True)
    save_file(state, torch_save_path)


def torch_save_to_dcp(
    torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]
) -> None:
    """Write what a file of ``torch.save`` holds as a checkpoint; in one process."""
    state = load_file(torch_save_path, weights_only=False)
    _save_state_dict(state, FileSystemWriter(dcp_checkpoint_dir), no_dist=True)


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m torch.distributed.checkpoint.format_utils")
    parser.add_argument("mode", choices=["torch_to_dcp", "dcp_to_torch"])
    parser.add_argument("src", help="the file or folder to read")
    parser.add_argument("dst", help="the folder or file to write")
    given = parser.parse_args()
    (torch_save_to_dcp if given.mode == "torch_to_dcp" else dcp_to_torch_save)(given.src, given.dst)


__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]

if __name__ == "__main__":
    _main()
