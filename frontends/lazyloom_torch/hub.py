"""``torch.hub``: checkpoints by their address, kept in PyTorch's folder."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from typing import Any
from urllib.parse import urlparse

from lazyloom.frontend import replacing

from .serialization import load

#: the hash that a name such as ``resnet18-f37072fd.pth`` ends with
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_dir: str | None = None


def _get_torch_home() -> str:
    """PyTorch's folder, which torchvision asks for."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder of downloads: ``$TORCH_HOME/hub``, ``~/.cache/torch/hub`` if that is not set."""
    return os.path.join(_get_torch_home(), "hub") if _dir is None else _dir


def set_dir(d: str | os.PathLike[str]) -> None:
    """Keep downloads in another folder."""
    global _dir
    _dir = os.path.expanduser(d)


def download_url_to_file(
    url: str, dst: str | os.PathLike[str], hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Copy what is at an address to a file, which appears when it is whole.

    Raises RuntimeError where the SHA-256 does not begin with ``hash_prefix``, and what the
    connection raises. ``progress`` is accepted; no bar is drawn.
    """
    import urllib.request  # not needed, and slow to import, where nothing is downloaded

    path = os.path.abspath(os.path.expanduser(dst))
    request = urllib.request.Request(url, headers={"User-Agent": "lazyloom.hub"})
    with urllib.request.urlopen(request) as source, replacing(path) as file:
        shutil.copyfileobj(source, file)
        if hash_prefix is not None:
            file.seek(0)
            found = hashlib.file_digest(file, "sha256").hexdigest()
            if not found.startswith(hash_prefix):
                raise RuntimeError(
                    f'invalid hash value (expected "{hash_prefix}", got "{found}")')


def load_state_dict_from_url(
    url: str, model_dir: str | os.PathLike[str] | None = None, map_location: Any = None,
    progress: bool = True, check_hash: bool = False, file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """Load a checkpoint from an address; it is downloaded once.

    Unlike PyTorch's, the default runs nothing that the file may hold (``weights_only``).
    """
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stderr.write(f'Downloading: "{url}" to {path}\n')
        hashed = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, hashed.group(1) if hashed else None, progress)
    return load(path, map_location=map_location, weights_only=weights_only)


class _Progress:
    """Stands for tqdm where that is not installed, and draws nothing."""

    def __init__(self, iterable: Any = (), *args: Any, **kwargs: Any) -> None:
        self._iterable = iterable

    def __iter__(self) -> Any:
        return iter(self._iterable)

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing."""

    def update(self, n: float = 1) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


def __getattr__(name: str) -> Any:
    """tqdm, which libraries import from here; loaded when it is asked for."""
    if name != "tqdm":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from tqdm.auto import tqdm as found
    except ImportError:
        found = _Progress
    return found


__all__ = ["download_url_to_file", "get_dir", "load_state_dict_from_url", "set_dir"]
