"""The file ``.metadata``: a pickle of classes under PyTorch's names, read without running any.

What stands in it is named by module: ours are written as PyTorch's, and PyTorch's read as ours.
"""

from __future__ import annotations

import pickle
from typing import Any, Final

from ... import _checkpoint_objects as objects
from ..._checkpoint_pickles import Pickler, _named
from ..._formats import contiguous_format, layout, strided
from . import metadata as names
from ._places import _StorageInfo, _StoragePrefix

_ROOT: Final = __name__.partition(".")[0]
_CHECKPOINT: Final = "torch.distributed.checkpoint."


class _Pickler(Pickler):
    """Writes classes of this package by the names of PyTorch's."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, layout):
            return _named("torch.serialization", "_get_layout"), (repr(obj),)
        return super().reducer_override(obj)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        place = getattr(obj, "__module__", None) or ""
        if isinstance(obj, type) and place.startswith(f"{_ROOT}.distributed."):
            module, name = "torch" + place[len(_ROOT):], obj.__qualname__
        else:
            super().save_global(obj, name)
            return
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)


def _get_layout(name: str) -> Any:
    """``torch.serialization._get_layout``; all that can be in a checkpoint is strided here."""
    if name not in ("torch.strided", "torch.contiguous_format"):
        raise pickle.UnpicklingError(
            f"the checkpoint has a tensor of layout {name}: only strided ones are supported")
    return strided if name == "torch.strided" else contiguous_format


def _known() -> dict[str, Any]:
    found: dict[str, Any] = {
        f"{_CHECKPOINT}metadata.{kind.__name__}": kind for kind in (
            names.BytesStorageMetadata, names.ChunkStorageMetadata, names.Metadata,
            names.MetadataIndex, names.StorageMeta, names.TensorProperties,
            names.TensorStorageMetadata, names._MEM_FORMAT_ENCODING)}
    for kind in (_StorageInfo, _StoragePrefix):
        found[f"{_CHECKPOINT}filesystem.{kind.__name__}"] = kind
    found["torch.serialization._get_layout"] = _get_layout
    return found


class _Unpickler(pickle.Unpickler):
    """Makes only what a checkpoint says about itself consists of."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._known = _known()

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        if module.startswith("pathlib") and name.endswith("Path"):
            return _path
        found = self._known.get(full) or objects.allowed.get(full)
        if found is None and (full in objects.KNOWN and not module.startswith("numpy")):
            found = objects.KNOWN[full]
        if found is None:
            raise pickle.UnpicklingError(
                f"the checkpoint's .metadata names {full}, which is none of the classes of "
                "PyTorch's planners and writers. If you trust the file, allow the name by "
                "torch.serialization.add_safe_globals([...])")
        return found


def _path(*parts: str) -> str:
    """A path, of whatever system it was written on, as text."""
    return "/".join(parts).replace("//", "/")


def write_metadata(data: names.Metadata, stream: Any) -> None:
    """Write what a checkpoint says about itself."""
    _Pickler(stream).dump(data)


def read_metadata(stream: Any) -> names.Metadata:
    """What :func:`write_metadata` wrote, or PyTorch.

    Raises UnpicklingError for what names anything else, ValueError for a damaged file.
    """
    try:
        found = _Unpickler(stream).load()
    except pickle.UnpicklingError:
        raise
    except Exception as error:
        raise ValueError(f"the checkpoint's .metadata is damaged: {error!r}") from error
    if not isinstance(found, names.Metadata):
        raise ValueError(
            f"the checkpoint's .metadata is a pickle of a {type(found).__name__}, not of Metadata")
    return found
