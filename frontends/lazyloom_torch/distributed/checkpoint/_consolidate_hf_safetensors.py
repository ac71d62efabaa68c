"""Safetensors files with parts of tensors, put together to files with whole tensors."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from lazyloom.frontend import replacing

from ..._processes import groups
from ...safetensors import header
from ._hf_files import StoredPart, file_name, parts_of, write_index
from ._together import together

#: by name of a file: by name of a tensor in it, its bytes
_Written = dict[str, dict[str, int]]


def consolidate_safetensors_files(
    input_dir: str | os.PathLike[str], output_dir: str | os.PathLike[str],
    fqn_to_index_mapping: Mapping[str, int], num_threads: int = 1,
) -> None:
    """Put the parts in ``input_dir`` together to whole tensors in files of ``output_dir``.

    Args:
        input_dir: a folder of safetensors files that say where their tensors begin, such as
            ``HuggingFaceStorageWriter`` writes with ``save_distributed=True``.
        output_dir: the folder to write to, an index of the tensors included.
        fqn_to_index_mapping: the number of the file of each tensor, from 1.
        num_threads: the files that are written at once.

    Raises ValueError for a tensor whose parts are not all there, FileNotFoundError for a folder
    without safetensors files.
    """
    numbers = set(fqn_to_index_mapping.values())
    written = _consolidated(input_dir, output_dir, fqn_to_index_mapping, num_threads, numbers)
    _index(output_dir, [written])


def consolidate_safetensors_files_on_every_rank(
    input_dir: str | os.PathLike[str], output_dir: str | os.PathLike[str],
    fqn_to_index_mapping: Mapping[str, int], num_threads: int = 1, process_group: Any = None,
) -> None:
    """:func:`consolidate_safetensors_files` by all processes, each of which writes its files.

    Process ``r`` of ``n`` writes those whose number is ``r`` modulo ``n``, and the first one the
    index. Raises CheckpointException in all of them if one fails.
    """
    processes = together(process_group, not groups.is_initialized())
    numbers = {i for i in fqn_to_index_mapping.values() if i % processes.size == processes.rank}

    def write() -> _Written:
        return _consolidated(input_dir, output_dir, fqn_to_index_mapping, num_threads, numbers)

    def finish(every: list[_Written]) -> list[None]:
        _index(output_dir, every)
        return [None] * processes.size

    processes.step("consolidate", write, finish)


def _index(folder: str | os.PathLike[str], every: Sequence[_Written]) -> None:
    files = {name: file for written in every for file, sizes in written.items() for name in sizes}
    write_index(Path(folder), files, sum(
        size for written in every for sizes in written.values() for size in sizes.values()))


def _consolidated(
    input_dir: str | os.PathLike[str], output_dir: str | os.PathLike[str],
    mapping: Mapping[str, int], threads: int, numbers: set[int],
) -> _Written:
    """Write the files of these numbers."""
    folder = Path(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    if not numbers:
        return {}
    every: dict[str, list[StoredPart]] = {}
    for part in parts_of(Path(input_dir)):
        if mapping.get(part.name) in numbers:
            every.setdefault(part.name, []).append(part)
    missing = [name for name, i in mapping.items() if i in numbers and name not in every]
    if missing:
        raise ValueError(
            f"{os.fspath(input_dir)} has no part of {', '.join(map(repr, missing[:5]))}"
            f"{' and others' if len(missing) > 5 else ''}: leave these out of "
            "fqn_to_index_mapping, or save them first")
    wholes = {name: _checked(name, parts) for name, parts in every.items()}
    count = max(mapping.values())

    def write(number: int) -> tuple[str, dict[str, int]]:
        path = folder / file_name(number, count)
        names = [name for name in every if mapping[name] == number]
        return path.name, _write(path, {n: wholes[n] for n in names}, every)

    with ThreadPoolExecutor(max(1, threads)) as pool:
        return dict(pool.map(write, sorted(numbers)))


def _checked(name: str, parts: Sequence[StoredPart]) -> tuple[int, ...]:
    """The shape of a tensor. Raises ValueError if its parts do not make a whole one."""
    shape = tuple(max(n + o for n, o in zip(sizes, offsets, strict=True)) for sizes, offsets in zip(
        zip(*(p.shape for p in parts), strict=True), zip(*(p.offsets for p in parts), strict=True),
        strict=True))
    # each once: without deduplication, several processes have saved the same part
    held = sum(math.prod(p.shape) for p in {p.offsets: p for p in parts}.values())
    kinds = sorted({p.kind.name for p in parts})
    if held != math.prod(shape) or len(kinds) > 1:
        raise ValueError(
            f"the parts of {name!r} in {parts[0].path.parent} have {held} elements of "
            f"{' and '.join(kinds)}, expected {math.prod(shape)} of one dtype, of shape "
            f"{list(shape)}: a file of a process is missing, or one of another save is there")
    return shape


def _write(
    path: Path, shapes: Mapping[str, tuple[int, ...]], every: Mapping[str, Sequence[StoredPart]]
) -> dict[str, int]:
    """Write one file; the bytes of each tensor in it. A part is in memory at a time, no whole."""
    kinds = {name: every[name][0].kind for name in shapes}
    sizes = {name: math.prod(shape) * kinds[name].itemsize for name, shape in shapes.items()}
    head, begins = header({name: (kinds[name], list(shape)) for name, shape in shapes.items()},
                          {"format": "pt"})
    with replacing(os.fspath(path)) as out:
        out.write(head)
        out.truncate(len(head) + sum(sizes.values()))
        for name, shape in shapes.items():
            if not sizes[name]:
                continue
            element = f"V{kinds[name].itemsize}"
            whole = np.memmap(out, element, "r+", len(head) + begins[name], shape)
            for part in every[name]:
                place = tuple(slice(o, o + n) for o, n in zip(
                    part.offsets, part.shape, strict=True))
                whole[place] = np.frombuffer(part.data, element).reshape(part.shape)
            whole.flush()
            del whole
    return sizes


__all__ = ["consolidate_safetensors_files", "consolidate_safetensors_files_on_every_rank"]
