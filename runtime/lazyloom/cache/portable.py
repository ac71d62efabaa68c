"""``lazyloom.cache``: what a process used of the disk cache, in a file for other machines.

What of entries only upper layers know (what makes them valid, which of two is better) they tell by
:attr:`lazyloom.hooks.Hooks.carrying`.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from ..errors import ArgumentError
from ..hooks import hooks
from . import carried, disk, used
from .carried import CacheEnvironment, File, Listed

#: what became of an entry
SAVED: Final = "saved"
MISSING: Final = "missing"
LISTED: Final = "listed"
LOADED: Final = "loaded"
PRESENT: Final = "present"
IN_MEMORY: Final = "in memory"
REFUSED: Final = "refused"
_IN_USE: Final = (LOADED, PRESENT, IN_MEMORY)


class CacheArtifact(NamedTuple):
    """One entry of a file of the cache.

    Attributes:
        kind: what it is, as its folder in the disk cache: "program" (an executable), "kernels", ...
        name: of its file there, in hexadecimal.
        nbytes: its bytes there; 0 where they are not known.
        status: ``"saved"``, or ``"missing"`` (used, and not to be had any more); ``"listed"``;
            ``"loaded"`` (in the cache folder now), ``"present"`` (there before), ``"in memory"``
            (of this process, since the folder cannot be written) or ``"refused"``.
        reason: why it is missing, in memory, or refused; else "".
    """

    kind: str
    name: str
    nbytes: int
    status: str
    reason: str


class CacheInfo(NamedTuple):
    """What :func:`save`, :func:`load` and :func:`contents` say; ``str()`` is a text for people.

    Attributes:
        file: its path.
        nbytes: its size in bytes; 0 where it was read and is no path.
        artifacts: the entries, in the order in which they were first used.
        environments: where they are valid.
        compiling: programs that were being compiled beside the program, or waited for that, when
            the file was saved; they are not in it.
    """

    file: str
    nbytes: int
    artifacts: tuple[CacheArtifact, ...]
    environments: tuple[CacheEnvironment, ...]
    compiling: int

    @property
    def usable(self) -> tuple[CacheArtifact, ...]:
        """Those that were loaded, or were here before."""
        return tuple(a for a in self.artifacts if a.status in _IN_USE)

    @property
    def refused(self) -> tuple[CacheArtifact, ...]:
        """Those that are of no use here; each has its reason."""
        return tuple(a for a in self.artifacts if a.status == REFUSED)

    @property
    def missing(self) -> tuple[CacheArtifact, ...]:
        """Those that were used and could not be saved; each has its reason."""
        return tuple(a for a in self.artifacts if a.status == MISSING)

    def text(self) -> str:
        """The entries by kind and by what became of them, with the reasons."""
        lines = [f"{self.file}: {len(self.artifacts)} entries"
                 + (f", {self.nbytes} bytes" if self.nbytes else "")]
        number = Counter((a.kind, a.status, a.reason) for a in self.artifacts)
        for (kind, status, reason), count in sorted(number.items()):
            lines.append(f"  {count:5} {kind:14} {status}{': ' if reason else ''}{reason}")
        if self.compiling:
            lines.append(f"  {self.compiling} programs were still being compiled and are left out")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


def save(
    file: File, *, everything: bool = False, timeout: float | None = None
) -> CacheInfo:
    """Write what this process has used of the disk cache to one file.

    That are the executables that ran, found in memory, on disk or compiled by this process or for
    it, the kernels of ops, lowerings and libraries in C that it took, and what was learned of its
    programs. What comes with the installation, and what others left in the cache folder, is not in
    it. A path is written completely or not at all; processes may write to the same one at once.

    Args:
        file: a path, or a file that is open for writing bytes.
        everything: instead, all that the folder has and that is valid in this environment.
        timeout: seconds to wait for programs that are being compiled beside this one; None for no
            limit. What is not compiled by then is left out (:attr:`CacheInfo.compiling`).

    Raises:
        ArgumentError: the disk cache is off, or the timeout is negative.
        OSError: the file cannot be written, as on a full disk.
    """
    _need_cache("save")
    if timeout is not None and not timeout >= 0:
        raise ArgumentError(
            f"lazyloom.cache.save: timeout is {timeout}, expected seconds, 0 or more, or None")
    carrying = hooks.carrying()
    compiling = carrying.settled(timeout)
    wanted = _of_folder() if everything else used.entries()
    environments = _environments({one.fingerprint for one in wanted})
    here = {e.fingerprint: k for k, e in enumerate(environments)}
    again: dict[tuple[str, str], bytes] | None = None
    rows, artifacts = [], []
    for one in wanted:
        number = here.get(one.fingerprint)
        data = None if number is None else disk.entry(one.kind, one.name)
        if data is None and number is not None:
            if again is None:
                again = {(kind, disk.name_of(kind, about)): disk.whole(about, payload)
                         for kind, about, payload in carrying.executables()}
            data = again.get((one.kind, one.name))
        if data is None or number is None:
            if not everything:
                artifacts.append(CacheArtifact(
                    one.kind, one.name, 0, MISSING,
                    "it was used, and the cache folder does not have it (any more)"))
            continue
        rows.append((one.kind, one.name, number, data))
        artifacts.append(CacheArtifact(one.kind, one.name, len(data), SAVED, ""))
    size = carried.write(file, environments, rows)
    return CacheInfo(
        carried.name_of_file(file), size, tuple(artifacts), tuple(environments), compiling)


def load(file: File) -> CacheInfo:
    """Take what :func:`save` wrote into the disk cache, as far as it is of use here.

    To be called before the first program runs. Entries made by other versions, for another
    processor, other flags or another code generator, and damaged ones are refused, each with its
    reason, and programs that they were for are compiled as without them. An entry that the folder
    has already stays as it is, unless the one in the file serves more. Where the folder cannot be
    written the process keeps them in memory.

    **Executables are machine code and are run.** Checksums find damage, not malice: load only what
    you would run as a program.

    Args:
        file: a path, or a file that is open for reading bytes.

    Raises:
        ArgumentError: it is no such file, its list of contents is damaged, or the disk cache is
            off.
        OSError: it cannot be read.
    """
    _need_cache("load")
    carrying = hooks.carrying()
    artifacts = []
    with carried.opened(file, "lazyloom.cache.load") as (opened, contents):
        wanted = {id(one.environment) for one in contents.entries}
        refusals = {id(e): _unfit(e) for e in contents.environments if id(e) in wanted}
        for one in contents.entries:
            status, reason = REFUSED, refusals[id(one.environment)]
            if not reason:
                data = carried.bytes_of(opened, contents, one)
                status, reason = _taken(one, data)
            artifacts.append(CacheArtifact(one.kind, one.name, one.size, status, reason))
    carrying.taken({a.kind for a in artifacts if a.status in (LOADED, IN_MEMORY)})
    return CacheInfo(carried.name_of_file(file), _size(file), tuple(artifacts),
                     contents.environments, 0)


def pack(entries: Sequence[tuple[str, bytes]]) -> bytes:
    """Return the file of some entries of the disk cache, given by their kinds and descriptions.

    Those that the cache does not have (any more) are left out. :func:`load` takes the bytes as an
    open file. Raises ArgumentError where the disk cache is off.
    """
    _need_cache("save")
    environments = _environments({about[:disk.FINGERPRINT].hex() for _, about in entries})
    here = {e.fingerprint: k for k, e in enumerate(environments)}
    rows = []
    for kind, about in entries:
        name = disk.name_of(kind, about)
        number, data = here.get(about[:disk.FINGERPRINT].hex()), disk.entry(kind, name, about)
        if number is not None and data is not None:
            rows.append((kind, name, number, data))
    file = io.BytesIO()
    carried.write(file, environments, rows)
    return file.getvalue()


def contents(file: File) -> CacheInfo:
    """The list of contents of a file of :func:`save`; nothing is loaded, and no entry is checked.

    Raises ArgumentError if it is none, or its list is damaged, and OSError.
    """
    with carried.opened(file, "lazyloom.cache.contents") as (_, found):
        artifacts = tuple(CacheArtifact(e.kind, e.name, e.size, LISTED, "") for e in found.entries)
    return CacheInfo(carried.name_of_file(file), _size(file), artifacts, found.environments, 0)


def _environments(fingerprints: set[str]) -> list[CacheEnvironment]:
    """This environment, as far as entries with those fingerprints are valid in it."""
    carrying = hooks.carrying()
    found: list[CacheEnvironment] = []
    for scope in carrying.SCOPES:
        # the last one starts the device
        if not fingerprints <= {e.fingerprint for e in found}:
            found.append(CacheEnvironment(
                scope, carrying.fingerprint_of(scope), carrying.about(scope)))
    return found


def _need_cache(function: str) -> None:
    if not disk.enabled():
        raise ArgumentError(
            f"lazyloom.cache.{function}: the disk cache is off (LAZYLOOM_CACHE=0), expected it on: "
            "it holds what is saved, and what is loaded")


def _size(file: File) -> int:
    return os.path.getsize(file) if isinstance(file, (str, os.PathLike)) else 0


def _of_folder() -> list[used.Used]:
    """All entries of the cache folder."""
    found = []
    root = disk.folder()
    for each in disk.files(root):
        kind, *inner = os.path.relpath(each.path, root).split(os.sep)
        name = "".join(inner)
        with contextlib.suppress(OSError), open(each.path, "rb") as file:
            description = disk.description_of(kind, name, file.read())
            if description is not None:
                found.append(used.Used(kind, name, description[:disk.FINGERPRINT].hex()))
    return found


def _unfit(environment: CacheEnvironment) -> str:
    """Why entries of an environment are of no use here; "" where they are."""
    carrying = hooks.carrying()
    if environment.scope not in carrying.SCOPES:
        return f"valid for {environment.scope!r}, which this version does not know"
    if carrying.fingerprint_of(environment.scope) == environment.fingerprint:
        return ""
    return carried.differences(environment, carrying.about(environment.scope))


def _taken(one: Listed, data: bytes | None) -> tuple[str, str]:
    """Take an entry of an environment that fits; its status and the reason for it."""
    description = None if data is None else disk.description_of(one.kind, one.name, data)
    if data is None or description is None:
        return REFUSED, "damaged: it is not what was written, or not whole"
    carrying = hooks.carrying()
    if description[:disk.FINGERPRINT].hex() != one.environment.fingerprint:
        return REFUSED, "damaged: it is of another environment than the list of contents says"
    own = description[disk.FINGERPRINT :]
    why = carrying.refusal(one.kind, own)
    if why:
        return REFUSED, why
    existing = disk.entry(one.kind, one.name)
    if existing is not None:
        better = carrying.joined(one.kind, disk.payload_of(existing, description),
                                 disk.payload_of(data, description))
        if better is None:
            return PRESENT, ""
        data = disk.whole(description, better)
    reason = disk.put(one.kind, one.name, data)
    return (IN_MEMORY, reason) if reason else (LOADED, "")
