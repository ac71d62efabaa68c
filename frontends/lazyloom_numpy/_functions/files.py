"""Files: NumPy's own formats, written and read by NumPy's own writers and readers.

So ``.npy``, ``.npz`` and text files are exchanged with NumPy both ways. Writing reads the
array's data; what is loaded is copied to the device. Arrays of objects, of strings and memory
maps are NumPy's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as onp

from .._arguments import dtypes as dt
from .._array.ndarray import ndarray
from .creation import array


def _data(x: Any) -> Any:
    """What is written: the data in the memory order that the array says it has; reads."""
    if not isinstance(x, ndarray):
        return x
    host = x.read()
    return onp.asfortranarray(host) if x.flags.fnc else host


class NpzFile(Mapping[str, ndarray]):
    """The arrays of an ``.npz`` file, each loaded when it is asked for; a context manager.

    See ``numpy.lib.npyio.NpzFile``.
    """

    def __init__(self, archive: Any) -> None:
        self._archive = archive
        self.files: list[str] = list(archive.files)

    def __getitem__(self, key: str) -> ndarray:
        return array(self._archive[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __contains__(self, key: object) -> bool:
        return key in self._archive

    def __enter__(self) -> NpzFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._archive.close()

    def __repr__(self) -> str:
        return repr(self._archive)


def load(file: Any, mmap_mode: Any = None, allow_pickle: bool = False, fix_imports: bool = True,
         encoding: str = "ASCII", *, max_header_size: int = 10000) -> Any:  # fmt: skip
    """An array of an ``.npy`` file, or the arrays of an ``.npz`` file. See ``numpy.load``.

    Pickled objects, which ``allow_pickle=True`` lets it unpickle, and memory maps are NumPy's own
    arrays.
    """
    # NumPy takes a header of any length of a file that is trusted
    longest = 2**64 if allow_pickle else max_header_size
    options: dict[str, Any] = {"encoding": encoding, "max_header_size": longest}
    loaded = onp.load(file, mmap_mode, allow_pickle, fix_imports, **options)
    if isinstance(loaded, onp.lib.npyio.NpzFile):
        return NpzFile(loaded)
    return array(loaded) if type(loaded) is onp.ndarray else loaded


def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    """Write an array to an ``.npy`` file; reads it. See ``numpy.save``."""
    onp.save(file, _data(arr), allow_pickle)


def savez(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write arrays to an ``.npz`` file; reads them. See ``numpy.savez``."""
    onp.savez(file, *map(_data, args), allow_pickle=allow_pickle,
              **{k: _data(v) for k, v in kwds.items()})  # fmt: skip


def savez_compressed(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write arrays to a compressed ``.npz`` file; reads them. See ``numpy.savez_compressed``."""
    onp.savez_compressed(file, *map(_data, args), allow_pickle=allow_pickle,
                         **{k: _data(v) for k, v in kwds.items()})  # fmt: skip


def loadtxt(fname: Any, dtype: Any = float, comments: Any = "#", delimiter: Any = None,
            converters: Any = None, skiprows: int = 0, usecols: Any = None, unpack: bool = False,
            ndmin: int = 0, encoding: Any = None, max_rows: Any = None, *, quotechar: Any = None,
            like: Any = None) -> Any:  # fmt: skip
    """An array of a text file's numbers. See ``numpy.loadtxt``."""
    given: dict[str, Any] = {"ndmin": ndmin, "encoding": encoding, "quotechar": quotechar}
    loaded = onp.loadtxt(fname, dt.internal(dtype).numpy, comments, delimiter, converters, skiprows,
                         usecols, max_rows=max_rows, **given)
    result = array(loaded)
    return result.T if unpack else result


def genfromtxt(fname: Any, dtype: Any = float, *args: Any, unpack: Any = None,
               **kwargs: Any) -> Any:  # fmt: skip
    """An array of a text file's numbers, some of which may be missing. See NumPy's."""
    target = None if dtype is None else dt.internal(dtype).numpy
    result = array(onp.genfromtxt(fname, target, *args, **kwargs))
    return result.T if unpack else result


def savetxt(fname: Any, X: Any, fmt: Any = "%.18e", delimiter: str = " ", newline: str = "\n",
            header: str = "", footer: str = "", comments: str = "# ",
            encoding: Any = None) -> None:  # fmt: skip
    """Write an array's numbers as text; reads it. See ``numpy.savetxt``."""
    onp.savetxt(fname, _data(X), fmt, delimiter, newline, header, footer, comments, encoding)


def fromfile(file: Any, dtype: Any = float, count: int = -1, sep: str = "", offset: int = 0, *,
             like: Any = None) -> ndarray:  # fmt: skip
    """A one-dimensional array of a file's bytes, or of its text. See ``numpy.fromfile``."""
    return array(onp.fromfile(file, dt.internal(dtype).numpy, count, sep, offset))


def fromstring(string: Any, dtype: Any = float, count: int = -1, *, sep: str,
               like: Any = None) -> ndarray:  # fmt: skip
    """A one-dimensional array of the numbers in a text. See ``numpy.fromstring``."""
    return array(onp.fromstring(string, dt.internal(dtype).numpy, count, sep=sep))
