"""A program with its data: the file that :func:`lazyloom.save_repro` writes.

It is a safetensors file. Its arrays ``in0``, ``in1`` ... are the program's inputs; its metadata are
the program as :attr:`lazyloom.Program.serialized` has it, and JSON with run-time scalars and with
what is known of where and how it was saved. Nothing in it is code.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ..artifact import safetensors
from ..dtypes import DType, dtype_named
from ..errors import ArgumentError, LoomError, UnknownOpError
from ..files import replace
from ..program.program import Program

FORMAT: Final = "lazyloom repro"
#: the version of the format that this module writes; it reads all from 1 on
VERSION: Final = 1
#: what random data come from, so that a file gives the same ones everywhere
SEED: Final = 20_071
#: keys of the metadata
_FORMAT, _PROGRAM, _ABOUT = "format", "program", "about"


class SavedProgram(NamedTuple):
    """A program with its data.

    Attributes:
        program: the instructions, the results wanted and the inputs given up.
        inputs: a NumPy array for each leaf.
        scalars: the run-time scalars by dtype, in order of use.
        sites: of each instruction the user's file and line, or "".
        about: what is known of how it came about, as JSON has it.
    """

    program: Program
    inputs: tuple[Any, ...]
    scalars: Mapping[DType, Sequence[Any]]
    sites: tuple[str, ...]
    about: Mapping[str, Any]

    @property
    def nbytes(self) -> int:
        """The size of the inputs."""
        return sum(int(x.nbytes) for x in self.inputs)


def packed_number(number: Any, dtype: DType) -> Any:
    """A run-time scalar as JSON, exact in its bits."""
    if dtype.kind in "iub":
        return str(int(number))
    if dtype.kind == "c":
        z = complex(number)
        return [z.real.hex(), z.imag.hex()]
    return float(number).hex()


def unpacked_number(packed: Any, dtype: DType) -> Any:
    """What :func:`packed_number` packed. Raises ValueError, TypeError."""
    if dtype.kind in "iub":
        return int(packed)
    if dtype.kind == "c":
        real, imag = packed
        return complex(float.fromhex(real), float.fromhex(imag))
    return float.fromhex(packed)


def packed(saved: SavedProgram) -> bytes:
    """Return the bytes of the file."""
    types = saved.program.structure.leaf_types
    about = {
        **saved.about, "sites": list(saved.sites), "version": VERSION,
        "scalars": {d.name: [packed_number(n, d) for n in numbers]
                    for d, numbers in saved.scalars.items()}}
    return safetensors.packed(
        {f"in{k}": (t.dtype, x) for k, (t, x) in enumerate(zip(types, saved.inputs, strict=True))},
        {_FORMAT: FORMAT, _PROGRAM: saved.program.serialized.decode(), _ABOUT: json.dumps(about)})


def write(path: Any, saved: SavedProgram) -> str:
    """Write the file, which takes the place of another one when it is complete; return its path.

    A device or a pipe is written to, and what a link leads to is replaced. Raises OSError.
    """
    name = os.fsdecode(path)
    replace(name, [packed(saved)])
    return name


def read(path: Any) -> SavedProgram:
    """Return the saved program of a file.

    Raises ArgumentError for a file that is none, is damaged, or has an op that this process does
    not know, OSError where it cannot be read.
    """
    name = os.fsdecode(path)
    with open(name, "rb") as file:
        data = file.read()
    where = f"repro: {name}"
    metadata = safetensors.metadata_of(data, where)
    if metadata.get(_FORMAT) != FORMAT:
        raise ArgumentError(
            f"{where}: it is no saved program, expected a file that lazyloom.save_repro wrote")
    try:
        about = json.loads(metadata[_ABOUT])
        version = about.pop("version")
        if not 1 <= version <= VERSION:
            raise ArgumentError(
                f"{where}: it has version {version} of the format, and this Lazyloom reads up to "
                f"version {VERSION}; install a later one")
        for key in ("versions", "processor", "options", "environment"):
            if not isinstance(about.get(key) or {}, dict):
                raise TypeError(f"its {key} are no object")
        program = Program.parse(metadata[_PROGRAM].encode())
        types = program.structure.leaf_types
        sites = tuple([str(s) for s in about.pop("sites")])
        scalars = {dtype_named(d): [unpacked_number(n, dtype_named(d)) for n in numbers]
                   for d, numbers in about.pop("scalars").items()}
        # types that do not fit each other show here
        instructions = program.structure.instructions
        if len(sites) != len(instructions) or any(
            not 0 <= n < len(instructions) or not 0 <= r < len(instructions[n].types)
            for n, r in program.outputs
        ):
            raise ValueError("its results or lines are those of another program")
        if {d: len(n) for d, n in scalars.items()} != program.structure.scalar_counts:
            raise ValueError("it has other run-time scalars than its program takes")
    except UnknownOpError as error:
        raise ArgumentError(
            f"{where}: {error}; name the module that registers the op after --import") from error
    except RecursionError as error:
        raise ArgumentError(
            f"{where}: it has lists in lists without end; the file is damaged or was changed"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError,
            LoomError) as error:
        if isinstance(error, ArgumentError) and str(error).startswith(where):
            raise
        raise ArgumentError(f"{where}: {error}; the file is damaged or was changed") from error
    arrays = safetensors.unpacked(
        data, {f"in{k}": (t.dtype, t.shape) for k, t in enumerate(types)}, where)
    return SavedProgram(program, tuple([arrays[f"in{k}"] for k in range(len(types))]), scalars,
                        sites, about)


def with_random_inputs(saved: SavedProgram) -> SavedProgram:
    """Return the program with random data of the same types, between the same bounds.

    Floats are uniform between the least and the largest finite value of an input; where it has
    NaNs or infinities, as many random elements are what they are. Integers are uniform between the
    bounds, so that indices stay in range; bools have as many True.
    """
    generator = np.random.Generator(np.random.PCG64(SEED))
    inputs = [_random_like(x, t.dtype, generator)
              for x, t in zip(saved.inputs, saved.program.structure.leaf_types, strict=True)]
    return saved._replace(inputs=tuple(inputs), about={**saved.about, "data": "random"})


def _random_like(x: Any, dtype: DType, generator: Any) -> Any:
    if x.size == 0:
        return x
    if dtype.kind == "b":
        return generator.permutation(x.reshape(-1)).reshape(x.shape)
    if dtype.kind in "iu":
        # as Python's numbers: no dtype has all bounds
        low, high = int(x.min()), int(x.max())
        words = generator.integers(low, high, x.shape, np.uint64 if low >= 0 else np.int64,
                                   endpoint=True)
        return words.astype(dtype.numpy)
    if dtype.kind == "c":
        # by parts: an infinity times the imaginary unit has a NaN in its real part
        found = np.empty(x.shape, dtype.numpy)
        found.real = _random_floats(x.real, generator)
        found.imag = _random_floats(x.imag, generator)
        return found
    return _random_floats(x, generator).astype(dtype.numpy)


def _random_floats(x: Any, generator: Any) -> Any:
    wide = np.asarray(x, np.float64)
    finite = np.isfinite(wide)
    # scaled by halves: the distance of the bounds may be more than a float holds
    low, high = (wide[finite].min() / 2, wide[finite].max() / 2) if finite.any() else (0.0, 0.0)
    # of one number it would make no array
    found = np.asarray(2 * generator.uniform(low, high, wide.shape))
    others = wide[~finite]
    if others.size:
        places = generator.permutation(wide.size)[: others.size]
        found.reshape(-1)[places] = others
    return found
