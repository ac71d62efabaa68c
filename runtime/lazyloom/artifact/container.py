"""The file of an exported program: a zip archive whose members are stored as they are.

Nothing in it is code of Python, and no member is written to the disk when it is read. A member is
read only if the manifest lists it with its size and checksum.
"""

from __future__ import annotations

import contextlib
import errno
import re
import struct
from collections.abc import Mapping
from typing import Any, Final

from ..errors import ArgumentError
from ..files import replacing
from .manifest import FileSpec, Manifest, packed, unpacked

MANIFEST: Final = "manifest.json"
#: what code generators made of the program's ops, as :func:`lazyloom.cache.load` takes it
ENGINES: Final = "engines.bin"
PARAMETERS: Final = "parameters.safetensors"
#: zipfile.ZIP_STORED
_STORED: Final = 0
#: the names that members may have
_NAME: Final = re.compile(
    r"manifest\.json|parameters\.safetensors|modules/\d+(\.vjp\d+)?\.(mlirbc|ops\.json)|"
    r"engines\.bin")
#: what every member says of its time, so that equal programs are equal files
_TIME: Final = (1980, 1, 1, 0, 0, 0)
#: the most bytes of a manifest
_LONGEST_MANIFEST: Final = 1 << 26


def ops_of(module: str) -> str:
    """Return the name of the member with the ops of a module's program."""
    return f"{module.removesuffix('.mlirbc')}.ops.json"


def write(target: Any, manifest: Manifest, files: Mapping[str, bytes]) -> None:
    """Write the file, which takes the place of the path ``target`` when it is complete.

    ``target`` may be a binary file that is open for writing. ``manifest.files`` is replaced by what
    the files are. Raises OSError.
    """
    # slow to import
    import zipfile

    listed = {name: FileSpec(len(data), _digest(data)) for name, data in files.items()}
    head = packed(manifest._replace(files=listed))
    with contextlib.ExitStack() as stack:
        file = target if hasattr(target, "write") else stack.enter_context(replacing(target))
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, data in ((MANIFEST, head), *files.items()):
                archive.writestr(zipfile.ZipInfo(name, _TIME), data)


def read(source: Any, where: str) -> tuple[Manifest, dict[str, bytes]]:
    """Return the manifest and the files of what :func:`write` wrote.

    Args:
        source: a path, or a binary file that is open for reading.
        where: what messages call the file.

    Raises ArgumentError for a file that is damaged or was changed, OSError where there is none.
    """
    import zipfile  # as above

    try:
        with zipfile.ZipFile(source) as archive:
            return _read(archive, where)
    except ArgumentError:
        raise
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, OSError,
            struct.error) as error:
        # a place before the file's beginning, which a damaged directory may name
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise
        raise ArgumentError(
            f"{where}: it is no whole zip archive ({error}); the file is damaged or is no exported "
            "program") from error


def _read(archive: Any, where: str) -> tuple[Manifest, dict[str, bytes]]:
    members: dict[str, Any] = {}
    for info in archive.infolist():
        if not _NAME.fullmatch(info.filename) or info.filename in members:
            raise ArgumentError(
                f"{where}: it has the member {info.filename!r:.80}, expected each once of "
                f"{MANIFEST}, {PARAMETERS}, {ENGINES}, modules/N.mlirbc and modules/N.ops.json, "
                "and of derivatives modules/N.vjpK.mlirbc and modules/N.vjpK.ops.json; it is no "
                "exported program, or was changed")
        if info.compress_type != _STORED:
            raise ArgumentError(
                f"{where}: its member {info.filename} is compressed, expected members that are "
                "stored; write it with lazyloom.export")
        members[info.filename] = info
    head = members.pop(MANIFEST, None)
    if head is None:
        raise ArgumentError(
            f"{where}: it has no {MANIFEST}, expected a file that lazyloom.export wrote")
    if head.file_size > _LONGEST_MANIFEST:
        raise ArgumentError(f"{where}: its manifest has {head.file_size} bytes, expected at most "
                            f"{_LONGEST_MANIFEST}; the file is damaged")
    manifest = unpacked(archive.read(head), where)
    if set(members) != set(manifest.files):
        raise ArgumentError(
            f"{where}: it has the members {sorted(members)}, and its manifest lists "
            f"{sorted(manifest.files)}; the file is damaged or was changed")
    files: dict[str, bytes] = {}
    for name, listed in manifest.files.items():
        if members[name].file_size != listed.size:
            raise ArgumentError(
                f"{where}: its member {name} has {members[name].file_size} bytes, expected "
                f"{listed.size}; the file is damaged")
        data = archive.read(members[name])
        if _digest(data) != listed.sha256:
            raise ArgumentError(
                f"{where}: the checksum of its member {name} differs from the manifest's; the file "
                "is damaged or was changed")
        files[name] = data
    if PARAMETERS not in files:
        raise ArgumentError(f"{where}: it has no {PARAMETERS}; the file is damaged")
    return manifest, files


def _digest(data: bytes) -> str:
    # slow to import, as it loads OpenSSL
    import hashlib

    return hashlib.sha256(data).hexdigest()
