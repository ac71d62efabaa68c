"""``torch.save`` and ``torch.load``: PyTorch's own files, read without running anything.

``save`` writes the zip archives that PyTorch's ``torch.load(weights_only=True)`` reads. ``load``
reads them, the older files of PyTorch before 1.6, and safetensors files. Tensors that share
memory do so again. :mod:`lazyloom_torch.safetensors` writes safetensors files.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import IO, Any, TypeAlias

import numpy as np

from lazyloom.frontend import replacing

from . import _absent, _dtypes, safetensors
from . import _checkpoint_objects as objects
from ._checkpoint_pickles import Pickler, read_anything, read_data
from ._loading_places import Placer, placer

_MAGIC = 0x1950A86A20F9469CFC6C  # of files that PyTorch wrote before 1.6
_PROTOCOL = 1001
_ALIGNMENT = 64
#: of an archive, what PyTorch does not look for: the devices of storages by key, as JSON. PyTorch
#: knows one "cpu" alone, which is what it reads as the place of each.
_DEVICES = ".lazyloom_devices"

#: what :func:`load` takes for ``f`` and ``map_location``
FILE_LIKE: TypeAlias = str | os.PathLike[str] | IO[bytes]
MAP_LOCATION: TypeAlias = Callable[[Any, str], Any] | _dtypes.device | str | dict[str, str] | None


class SourceChangeWarning(Warning):
    """Never given: no source text is kept in files."""


class LoadEndianness(Enum):
    """The order of bytes that files are read in which do not tell theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_default_endianness: LoadEndianness | None = None


def get_default_load_endianness() -> LoadEndianness | None:
    """What :func:`set_default_load_endianness` has set."""
    return _default_endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the order of bytes of files that do not tell theirs; None is little."""
    global _default_endianness
    if not (endianness is None or isinstance(endianness, LoadEndianness)):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _default_endianness = endianness


def _untold_order() -> str:
    if _default_endianness is LoadEndianness.NATIVE:
        return sys.byteorder
    return "big" if _default_endianness is LoadEndianness.BIG else "little"


# -- writing --------------------------------------------------------------------------------


def save(
    obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write tensors, numbers, strings and nested containers of them to a path or file.

    The file is one of PyTorch's. Each storage is saved with the device that it is on; what a mesh
    divides is saved whole, by each process that calls this, and has no place. Objects of other
    classes are pickled by the name of their class, so that reading them takes
    ``load(..., weights_only=False)``. Raises TypeError or PicklingError for what cannot be pickled.
    """
    if hasattr(f, "write"):
        _write_to(f, obj, "archive")
        return
    path = os.fspath(f)
    stem = os.path.splitext(os.path.basename(path))[0] or "archive"
    with replacing(path) as out:
        _write_to(out, obj, stem)


def _write_to(out: Any, obj: Any, name: str) -> None:
    # a pipe, too
    if hasattr(out, "seekable") and out.seekable():
        _write_archive(obj, out, name)
    else:
        held = io.BytesIO()
        _write_archive(obj, held, name)
        out.write(held.getvalue())


def _write_archive(obj: Any, out: Any, name: str) -> None:
    text = io.BytesIO()
    pickler = Pickler(text)
    pickler.dump(obj)
    start = out.tell()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:

        def record(member: str, data: Any) -> None:
            entry = zipfile.ZipInfo(f"{name}/{member}")
            # data begins at a multiple of the alignment, so that it can be mapped
            at = out.tell() - start + 30 + len(entry.filename.encode())
            large = len(data) >= 1 << 31
            free = -(at + 4 + 20 * large) % _ALIGNMENT
            entry.extra = b"FB" + struct.pack("<H", free) + b"Z" * free
            archive.writestr(entry, data)

        record("data.pkl", text.getvalue())
        record(".format_version", b"1")
        record(".storage_alignment", str(_ALIGNMENT).encode())
        record("byteorder", sys.byteorder.encode())
        for key, array in pickler.storages.items():
            record(f"data/{key}", array.reshape(-1).view(np.uint8).data)
        if pickler.devices:
            record(_DEVICES, json.dumps(pickler.devices).encode())
        record("version", b"3\n")


# -- reading --------------------------------------------------------------------------------


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *,
    weights_only: bool | None = None, mmap: bool | None = None, **pickle_load_args: Any,
) -> Any:
    """Read a file of :func:`save` or of PyTorch's, or a safetensors file (as a dict).

    Tensors come to the device where they were, those of other machines' kinds of devices to the
    CPU, unless ``map_location`` says where to: a device for all, a dict of devices by the places
    that the file names, or a function of a storage and the name of its
    place, which returns that storage, or what ``storage.to(device)`` returns, or None for the place
    that the file names. Nothing in the file is executed, and a name of something else than data is
    an UnpicklingError, unless ``weights_only`` is False: then the file can run any code. Raises
    ValueError for a damaged file, RuntimeError for a device that is not there.
    """
    to = placer(map_location)
    trusting = weights_only is False
    if hasattr(f, "read"):
        if not (hasattr(f, "seekable") and f.seekable()):
            f = io.BytesIO(f.read())
        return _load(f, trusting, to)
    path = os.fspath(f)
    with open(path, "rb") as source:
        return _load(source, trusting, to)


def _load(f: Any, trusting: bool, to: Placer) -> Any:
    start = f.tell()
    head = f.read(16)
    f.seek(start)
    read = read_anything if trusting else read_data
    if head[:4] == b"PK\x03\x04":
        return _read_archive(f, read, to)
    if head[8:9] == b"{" or len(head) < 8:
        found = safetensors.load(f.read())
        return {k: t.to(name) for k, t in found.items()} if (name := to("cpu", 0)) else found
    if head[:1] == b"\x80":
        # from memory: a damaged length asks for no more than there is
        return _read_old(io.BytesIO(f.read()), read, to)
    raise ValueError("load: this is neither a file of torch.save nor a safetensors file")


def _storage_of(given: Any, old: bool) -> tuple[Any, str, int]:
    """Type, key and number of elements of a storage that a pickle refers to."""
    if not (isinstance(given, tuple) and len(given) == 5 + old and given[0] == "storage"
            and isinstance(given[1], objects.StorageType) and type(given[4]) is int):  # fmt: skip
        raise ValueError("load: the file is damaged: a reference to no storage")
    return given[1].dtype, str(given[2]), given[4]


def _swapped(data: Any, kind: _dtypes.dtype | None) -> Any:
    """The bytes in this machine's order."""
    if kind is None or kind.itemsize == 1:
        return data
    width = kind.itemsize // 2 if kind.is_complex else kind.itemsize
    return np.frombuffer(data, f"u{width}").byteswap().tobytes()


#: what zipfile raises for an archive that is damaged, encrypted or of a kind that it does not know
_BAD_ARCHIVE = (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, RuntimeError)


def _read_archive(f: Any, read: Callable[[Any, Any], Any], to: Placer) -> Any:
    try:
        archive = zipfile.ZipFile(f)
    except _BAD_ARCHIVE as error:
        raise ValueError(f"load: the archive is damaged: {error}") from None
    with archive:
        names = set(archive.namelist())
        if len(names) < len(archive.namelist()):
            raise ValueError("load: the archive is damaged: it has two files of one name")
        stems = [n[: -len("/data.pkl")] for n in names if n.endswith("/data.pkl")]
        if len(stems) != 1:
            raise ValueError("load: the archive is none of torch.save: it has no data.pkl")
        stem = stems[0]
        if f"{stem}/constants.pkl" in names:
            raise ValueError("load: the archive holds a TorchScript program; only the files of "
                             "torch.save are read")

        def member(name: str) -> bytes:
            try:
                entry = archive.getinfo(f"{stem}/{name}")
                if entry.compress_type != zipfile.ZIP_STORED:
                    raise NotImplementedError("it is compressed, which torch.save never does")
                return archive.read(entry)
            except (KeyError, EOFError, *_BAD_ARCHIVE) as error:
                raise ValueError(f"load: the archive is damaged: {name}: {error}") from None

        told = f"{stem}/byteorder" in names
        order = member("byteorder").decode() if told else _untold_order()
        storages: dict[str, objects.StoredBytes] = {}
        devices: Any = {}
        if f"{stem}/{_DEVICES}" in names:
            try:
                devices = json.loads(member(_DEVICES))
            except ValueError as error:
                raise ValueError(
                    f"load: the archive is damaged: {_DEVICES}: {error}") from None
            if not isinstance(devices, dict):
                raise ValueError(f"load: the archive is damaged: {_DEVICES} is no dict")

        def storage(given: Any) -> Any:
            kind, key, numel = _storage_of(given, old=False)
            if key not in storages:
                data: Any = member(f"data/{key}")
                if len(data) != numel * (kind.itemsize if kind is not None else 1):
                    raise ValueError(f"load: the archive is damaged: storage {key} of {numel} "
                                     f"elements has {len(data)} bytes")
                if order != sys.byteorder:
                    data = _swapped(data, kind)
                location = str(devices.get(key, given[3]))
                storages[key] = objects.StoredBytes(data, to(location, len(data)))
            return storages[key], kind

        return read(io.BytesIO(member("data.pkl")), storage)


def _read_old(f: Any, read: Callable[[Any, Any], Any], to: Placer) -> Any:
    """A file of PyTorch before 1.6: five pickles, then the storages."""

    def nothing(given: Any) -> Any:
        raise ValueError("load: this is no file of torch.save")

    try:
        if read_data(f, nothing) != _MAGIC:
            raise ValueError("load: this is a pickle, but none of torch.save")
        if read_data(f, nothing) != _PROTOCOL:
            raise ValueError("load: the file is of an unknown version of torch.save")
        system = read_data(f, nothing)
    except pickle.UnpicklingError:
        raise ValueError("load: this is a pickle, but none of torch.save") from None
    little = not isinstance(system, dict) or system.get("little_endian", True)
    start = f.tell()
    kinds: dict[str, _dtypes.dtype | None] = {}
    places: dict[str, str | None] = {}

    def note(given: Any) -> Any:
        kind, key, _ = _storage_of(given, old=True)
        if given[5] is not None:
            raise ValueError("load: the file is of a version of PyTorch before 0.4")
        kinds[key] = kind
        places[key] = to(str(given[3]), given[4] * (kind.itemsize if kind is not None else 1))
        return objects.StoredBytes(None), kind

    # the data stands behind the object: a first reading finds out where
    read(f, note)
    data: dict[str, objects.StoredBytes] = {}
    for key in map(str, read_data(f, nothing)):
        if key not in kinds:
            raise ValueError(f"load: the file is damaged: storage {key} is not used")
        (count,) = struct.unpack("<q", _exactly(f, 8))
        kind = kinds[key]
        raw: Any = _exactly(f, count * (kind.itemsize if kind is not None else 1))
        if little != (sys.byteorder == "little"):
            raw = _swapped(raw, kind)
        data[key] = objects.StoredBytes(raw, places[key])

    def storage(given: Any) -> Any:
        kind, key, _ = _storage_of(given, old=True)
        if key not in data:
            raise ValueError(f"load: the file is damaged: storage {key} is missing")
        return data[key], kind

    f.seek(start)
    return read(f, storage)


def _exactly(f: Any, count: int) -> bytes:
    data: bytes = f.read(count) if 0 <= count < 1 << 62 else b""
    if len(data) != count:
        raise ValueError(f"load: the file is damaged: it ends {count - len(data)} bytes early")
    return data


# -- what the user trusts -------------------------------------------------------------------


def _by_name(given: Any) -> dict[str, Any]:
    found = {}
    for item in given:
        if isinstance(item, tuple):
            found[item[1]] = item[0]
        else:
            found[f"{item.__module__}.{item.__qualname__}"] = item
    return found


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow :func:`load` to make objects of these classes, and to call these functions.

    A pair ``(class, "module.name")`` gives the name under which files have it.
    """
    objects.allowed.update(_by_name(safe_globals))


def get_safe_globals() -> list[Any]:
    """What :func:`add_safe_globals` has allowed."""
    return list(objects.allowed.values())


def clear_safe_globals() -> None:
    """Allow nothing but data again."""
    objects.allowed.clear()


@contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """:func:`add_safe_globals` for a ``with`` block."""
    before = dict(objects.allowed)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        objects.allowed.clear()
        objects.allowed.update(before)


__all__ = [
    "LoadEndianness", "SourceChangeWarning", "add_safe_globals", "clear_safe_globals",
    "get_default_load_endianness", "get_safe_globals", "load", "safe_globals", "save",
    "set_default_load_endianness",
]  # fmt: skip

__getattr__ = _absent.missing(__name__)
