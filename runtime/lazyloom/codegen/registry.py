"""The registry of code generators, and those in use.

Installed ones name themselves by an entry point of the group ``lazyloom.generators``: the name, and
``package.module:Class``. :func:`register` adds one that is none.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from typing import Any, Final

from ..cache import memory
from ..errors import ArgumentError, type_name
from ..installed import entry_points
from ..interrupts import reraise_from_handler
from ..settings import WITHOUT
from . import worth
from .faults import Failure, failed, told
from .generator import Generator

#: names the generators in use, separated by commas; "xla" for none
VARIABLE: Final = "LAZYLOOM_CODEGEN"
#: the entry points that name installed generators
GROUP: Final = "lazyloom.generators"
#: what is compiled by XLA, and so by no generator
XLA: Final = "xla"

_known: Final[dict[str, Generator]] = {}
_identities: Final[weakref.WeakKeyDictionary[Generator, str]] = weakref.WeakKeyDictionary()
_registered: Final[dict[tuple[str, str], int]] = {}
_lock: Final = threading.RLock()
_installed = False
_installed_names: Final[set[str]] = set()
#: the names that were in use at first; None before anybody asked
_first: tuple[str, ...] | None = None


def register(generator: Generator) -> None:
    """Add a generator, which :func:`use` can name, in the place of one of its name.

    Raises ArgumentError for what is no Generator, or has no name or version.
    """
    if not isinstance(generator, Generator):
        raise ArgumentError(f"register: a {type_name(generator)} was given, expected a Generator")
    for attribute in ("name", "version"):
        value: Any = getattr(generator, attribute, None)
        if not isinstance(value, str) or not value or (attribute == "name" and value == XLA):
            raise ArgumentError(
                f"register: the {attribute} of a {type_name(generator)} is {value!r}, expected a "
                f"text{f' other than {XLA!r}' if attribute == 'name' else ''}")
    with _lock:
        before = _known.get(generator.name)
        if before is generator:
            return
        _known[generator.name] = generator
        each = (generator.name, generator.version)
        number = _registered[each] = _registered.get(each, 0) + 1
        _identities[generator] = (
            generator.version if number == 1 else f"{generator.version}#{number}")
        if before is not None:
            # programs in memory call the other one
            memory.clear()


def identity(generator: Generator) -> str:
    """Its version, and which one it is of those that were registered with that name and version."""
    return _identities.get(generator, generator.version)


def available() -> dict[str, Generator]:
    """All generators by name: installed ones and those that were registered."""
    _find()
    with _lock:
        return dict(_known)


def in_use() -> tuple[str, ...]:
    """The names of the generators in use, those that win first.

    At first what LAZYLOOM_CODEGEN names, or else all that are installed and are meant to be.
    """
    found = memory.selected().names
    return at_first() if found is None else found


def at_first() -> tuple[str, ...]:
    """The names of the generators in use before anybody chooses."""
    global _first
    if _first is None:
        with _lock:
            if _first is None:
                text = os.environ.get(VARIABLE, "")
                if not text.strip():
                    _first = () if "code_generators" in WITHOUT else tuple(
                        n for n, g in available().items() if g.by_default)
                else:
                    _first = _names(VARIABLE, [n.strip() for n in text.split(",") if n.strip()])
    return _first


def generators(names: tuple[str, ...] | None) -> list[Generator]:
    """The generators of those names; None for those that are in use at first."""
    if names is None:
        names = at_first()
    if names:
        _find()
    return [_known[n] for n in names if n in _known]


def elsewhere(names: tuple[str, ...] | None) -> bool:
    """Whether other processes have the generators of those names: they are installed ones."""
    return all(g.name in _installed_names for g in generators(names))


def versions(names: tuple[str, ...] | None) -> str:
    """What tells programs compiled with those generators from others."""
    return " ".join(f"{g.name}={identity(g)}" for g in generators(names)) + worth.key()


class _Use(contextlib.AbstractContextManager["_Use"]):
    """What a choice returns: a ``with`` block at whose end what was chosen before is back."""

    def __init__(self, **chosen: Any) -> None:
        self._before: Final = {name: getattr(memory.selected(), name) for name in chosen}
        _choose(**chosen)

    def __exit__(self, *exc: object) -> None:
        _choose(**self._before)


def use(*names: str) -> _Use:
    """Choose the generators of this process, those that win first: ``use("onednn", "xla")``.

    "xla" stands for what they leave over and may be left out; ``use("xla")`` is XLA alone. The
    choice holds until the next one, or to the end of a ``with`` block. Programs that were compiled
    for another choice stay in memory for when it is back.

    Raises ArgumentError for a name that is not known; the message lists those that are.
    """
    return _Use(names=_names("use", names))


def verify(on: bool = True) -> contextlib.AbstractContextManager[Any]:
    """Have each run of each region compared with what XLA makes of its ops.

    Where they differ by more than the generator's :attr:`~lazyloom.codegen.Generator.tolerance`,
    the program gets what XLA computed, a RuntimeWarning says where and by how much, and from the
    next run on XLA does the region (see :func:`failures`). Programs are compiled before they run,
    and are not kept on disk. LAZYLOOM_CODEGEN_VERIFY=1 in the environment does it from the start.

    It is of the process, and holds until it is called again, or to the end of a ``with`` block.

    Raises ArgumentError for what is no bool.
    """
    return _Use(verify=_bool("verify", on))


def segmented(on: bool = True) -> contextlib.AbstractContextManager[Any]:
    """Have the regions of a program, and what XLA does between them, run one by one.

    An evaluation's record then has the seconds that each took
    (:attr:`~lazyloom.program.evaluations.Evaluation.parts`). Programs are compiled before they run,
    are not kept on disk, and take no memory over from their inputs.
    LAZYLOOM_CODEGEN_SEGMENTED=1 in the environment does it from the start.

    It is of the process, and holds until it is called again, or to the end of a ``with`` block.

    Raises ArgumentError for what is no bool.
    """
    return _Use(segmented=_bool("segmented", on))


def _bool(who: str, given: Any) -> bool:
    if not isinstance(given, bool):
        raise ArgumentError(f"{who}: {given!r:.80} was given, expected True or False")
    return given


def _choose(**chosen: Any) -> None:
    with _lock:
        memory.select(memory.selected()._replace(**chosen))


def _names(who: str, given: Any) -> tuple[str, ...]:
    known = available()
    for name in given:
        if not isinstance(name, str):
            raise ArgumentError(
                f"{who}: a {type_name(name)} was given, expected names of code generators")
        if name != XLA and name not in known:
            raise ArgumentError(
                f"{who}: the code generator {name!r} is not known, expected "
                f"{', '.join(map(repr, [*known, XLA]))}; install its package, or register it")
    return tuple(dict.fromkeys(n for n in given if n != XLA))


def _find() -> None:
    """Make the installed generators, once. One that cannot be made is left out, with a warning."""
    global _installed
    if _installed:
        return
    with _lock:
        if _installed:
            return
        _installed = True
        for entry in entry_points(GROUP):
            try:
                made = entry.load()()
                if made is not None:
                    register(made)
                    _installed_names.add(made.name)
            except Exception as error:
                reraise_from_handler(error)
                failed(Failure(entry.name, "", (), "import", f"{entry.value}: {told(error)}"))
