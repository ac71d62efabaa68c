"""The names of safetensors files in a folder, and what their headers say of parts of tensors."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from lazyloom.frontend import replacing

from ...safetensors import _File, safe_open

SUFFIX: Final = ".safetensors"
#: says in which file each tensor is, as libraries of models look for it
INDEX: Final = "model.safetensors.index.json"
#: the folder below a checkpoint's with the parts of each process, where they are put together
SHARDED: Final = "sharded"
#: under which a file's strings say where its tensors begin in those that they are parts of
_SHARDING: Final = "DCP_SHARDING_INFO"
_OFFSETS: Final = "saved_offsets"
_OURS: Final = re.compile(r"(shard-\d{5,}-)?model-\d{5,}-of-\d{5,}\.safetensors")


def file_name(number: int, count: int, shard: int | None = None) -> str:
    """The name of file ``number`` of ``count``; of process ``shard``, both counted from 1."""
    own = "" if shard is None else f"shard-{shard:05}-"
    return f"{own}model-{number:05}-of-{count:05}{SUFFIX}"


def strings(begins: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
    """A file's strings, given where each of its tensors begins in the one that it is a part of."""
    places = {name: {_OFFSETS: list(at)} for name, at in begins.items()}
    return {_SHARDING: json.dumps(places), "DCP_VERSION": "1.0", "format": "pt"}


def remove_others(folder: Path, named: set[str]) -> None:
    """Remove the files of earlier saves to a folder, whose tensors would be read as well."""
    for name in os.listdir(folder):
        if _OURS.fullmatch(name) and name not in named:
            (folder / name).unlink(missing_ok=True)


def write_index(folder: Path, files: Mapping[str, str], size: int) -> None:
    """Say in which file each tensor is, and how many bytes all of them take."""
    text = json.dumps(
        {"metadata": {"total_size": size}, "weight_map": dict(sorted(files.items()))}, indent=2)
    with replacing(folder / INDEX) as file:
        file.write(text.encode())


class StoredPart:
    """A part of a tensor in a file: which file, where the part begins, shape and dtype."""

    def __init__(self, path: Path, file: _File, name: str, offsets: tuple[int, ...]) -> None:
        self.path, self.name, self.offsets = path, name, offsets
        kind, shape, self._start, self._end = file.entries[name]
        self.kind, self.shape = kind, tuple(shape)
        self._file = file

    @property
    def data(self) -> memoryview:
        """The bytes, in row-major order."""
        return self._file.body[self._start:self._end]


def parts_of(folder: Path) -> Iterator[StoredPart]:
    """All parts in the safetensors files of a folder.

    Raises FileNotFoundError if there are none, ValueError for a file that is damaged.
    """
    paths = sorted(folder / name for name in os.listdir(folder) if name.endswith(SUFFIX))
    if not paths:
        raise FileNotFoundError(
            f"{folder} has no files *{SUFFIX}: give the folder that has them itself (parts that "
            f"were not put together are in its folder {SHARDED!r})")
    for path in paths:
        try:
            with safe_open(path) as opened:
                file = opened._found
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        begins = _begins(path, file)
        for name, (_, shape, _, _) in file.entries.items():
            yield StoredPart(path, file, name, begins.get(name, (0,) * len(shape)))


def _begins(path: Path, file: _File) -> dict[str, tuple[int, ...]]:
    """Where the tensors of a file begin in those that they are parts of, if it says that."""
    text = file.metadata.get(_SHARDING)
    if not text:
        return {}
    try:
        said: Any = json.loads(text)
        found = {name: tuple(said[name][_OFFSETS]) for name in file.entries}
        whole = all(len(at) == len(file.entries[name][1])
                    and all(type(n) is int and n >= 0 for n in at) for name, at in found.items())
    except (ValueError, TypeError, KeyError):
        whole = False
    if not whole:
        raise ValueError(
            f"{path}: its {_SHARDING} does not say where each tensor begins: it is damaged, save "
            "it again")
    return found
