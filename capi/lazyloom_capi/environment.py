"""Which Python environment a built C library opens, and whether it can tell by itself.

A library in ``PREFIX/lib/python3.N/site-packages/lazyloom_capi/lib`` belongs to the environment
``PREFIX``, wherever that is moved (``locate.c``). One elsewhere, in a checkout or a cache, has a
file beside it that says so.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from typing import Final

#: the executable, libpython's file and the folders to import from, a line each
RECORD: Final = "liblazyloom.python"


def library_name() -> str:
    """The soname of libpython for this Python's version."""
    flags = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    return f"libpython{sys.version_info.major}.{sys.version_info.minor}{flags}.so.1.0"


def multiarch() -> str:
    """The folder in ``lib`` where some systems keep libraries of this kind of processor."""
    return str(sysconfig.get_config_var("MULTIARCH") or "none")


def library_file() -> Path | None:
    """libpython of this interpreter, where it has one; None if only the system may know one."""
    base = Path(sys.base_prefix)
    places = [base / "lib", base / "lib64", base / "lib" / multiarch()]
    given = sysconfig.get_config_var("LIBDIR")
    if given:
        places += [Path(given), Path(given) / multiarch()]
    for place in places:
        if (place / library_name()).is_file():
            return place / library_name()
    return None


def by_place(folder: Path) -> Path | None:
    """The environment's folder by the place of a library's folder, if it tells.

    The rule of ``place_by_path`` in ``locate.c``.
    """
    parts = folder.resolve().parts
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if (
        len(parts) < 6
        or parts[-2:] != ("lazyloom_capi", "lib")
        or parts[-3] not in ("site-packages", "dist-packages")
        or parts[-4] not in (version, f"{version}t", "python3")
        or parts[-5] not in ("lib", "lib64")
    ):
        return None
    return Path(*parts[:-5])


def tells_by_itself(folder: Path) -> bool:
    """Whether a library in that folder finds this interpreter and its libpython by its place."""
    prefix = by_place(folder)
    if prefix is None or prefix != Path(sys.prefix).resolve():
        return False
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not (prefix / "bin" / version).exists():
        return False
    # where the executable says it is from; a copy of it has a file that says so
    home = Path(sys.base_prefix).resolve()
    beside = (home / name / library_name() for name in ("lib", "lib64", f"lib/{multiarch()}"))
    return library_file() is None or any(path.is_file() for path in beside)


def record(folder: Path) -> None:
    """Write beside a library which environment it opens, unless it can tell by itself.

    Raises:
        OSError: the file cannot be written.
    """
    place = folder / RECORD
    if tells_by_itself(folder):
        if place.exists():
            place.unlink()
        return
    packages = ":".join(_import_paths())
    text = f"{sys.executable}\n{library_file() or ''}\n{packages}\n"
    if not place.exists() or place.read_text() != text:
        # in one piece, for a program that starts meanwhile
        part = folder / f".{RECORD}.{os.getpid()}"
        part.write_text(text)
        os.replace(part, place)


def _import_paths() -> list[str]:
    """Where lazyloom and this package are imported from."""
    import lazyloom

    given = (lazyloom.__file__, __file__)
    return list(dict.fromkeys(str(Path(name).resolve().parents[1]) for name in given))
