"""The package torch as ``importlib.metadata`` sees it while lazyloom_torch stands for it."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from . import version

_NAME = "torch"


class Distribution(metadata.Distribution):
    """What ``importlib.metadata`` says of the package torch: the version that is followed."""

    def read_text(self, filename: str) -> str | None:
        if filename == "METADATA":
            return (f"Metadata-Version: 2.1\nName: {_NAME}\nVersion: {version.__version__}\n"
                    "Summary: lazyloom_torch under the name torch\n")
        return _NAME + "\n" if filename == "top_level.txt" else None

    def locate_file(self, path: Any) -> Any:
        raise NotImplementedError("lazyloom_torch stands for torch here; it has no files of torch")
