"""Where the storages of a file go: ``map_location`` of ``torch.load``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _dtypes

#: from the place of a storage, as the file names it, and its bytes to the device of its tensors,
#: None for the default one
Placer = Callable[[str, int], "str | None"]


class LoadedStorage:
    """A storage that is being loaded, for functions that say where to.

    Attributes:
        device: where its tensors are going to be.
    """

    def __init__(self, size: int, device: Any = _dtypes.CPU) -> None:
        self._size = size
        self.device = _dtypes.device(device)
        self.place = _dtypes.placed_on(self.device)

    def to(self, device: Any = "cpu", **options: Any) -> LoadedStorage:
        """The storage on a device. Raises RuntimeError where that is not there."""
        return LoadedStorage(self._size, device)

    def cpu(self) -> LoadedStorage:
        """The storage on the default device."""
        return self.to("cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> LoadedStorage:
        """The storage on a GPU. Raises RuntimeError where there is none."""
        return self.to("cuda" if device is None else _dtypes.device(device))

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._size

    size = __len__ = nbytes

    def __repr__(self) -> str:
        return f"LoadedStorage of {self._size} bytes on {self.device}"


def placer(map_location: Any) -> Placer:
    """Where storages go. RuntimeError for a device that is not there."""
    if map_location is None:
        return _named_place
    if isinstance(map_location, dict):
        to = {str(k): str(v) for k, v in map_location.items()}
        for place in to.values():
            _dtypes.placed_on(place)
        return lambda location, size: _named_place(to.get(location, location), size)
    if callable(map_location):
        return lambda location, size: _chosen(map_location, location, size)
    name = _dtypes.placed_on(map_location)
    return lambda location, size: name


def _named_place(location: str, size: int) -> str | None:
    """The device that a file names; the default one for those of other machines' kinds."""
    if location.partition(":")[0] != "cpu":
        return None
    try:
        return _dtypes.placed_on(location)
    except RuntimeError as error:
        raise RuntimeError(
            f"load: the file has a tensor of a device that is not here: {error}. Pass "
            "map_location='cpu', or a dict of devices by the names that the file has") from None


def _chosen(function: Callable[[Any, str], Any], location: str, size: int) -> str | None:
    found = function(LoadedStorage(size), location)
    if found is None:
        return _named_place(location, size)
    if isinstance(found, LoadedStorage):
        return found.place
    raise TypeError(
        f"load: map_location returned a {type(found).__name__}, expected the storage that it was "
        "given, storage.to(device), or None")
