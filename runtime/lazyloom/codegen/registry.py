"""The registry of code generators, and those in use.

An installed one declares an entry point of the group ``lazyloom.generators``: the name, and
``package.module:Class``. :func:`register` adds one without an entry point.
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
from ..interrupts import Deferred, reraise_from_handler
from ..settings import WITHOUT
from . import worth
from .faults import Failure, failed, raised, told
from .generator import Generator
from .patterns import numbers_named
from .plugin import PluginGenerator, opened

#: names the generators in use, separated by commas; "xla" for none
VARIABLE: Final = "LAZYLOOM_CODEGEN"
#: names libraries of code generators, by their paths or names, separated by colons
PLUGINS: Final = "LAZYLOOM_CODEGEN_PLUGINS"
#: the entry points that name installed generators
GROUP: Final = "lazyloom.generators"
#: stands with names of generators of which the quicker one is preferred, and not the first
GAIN: Final = "by gain"
#: stands for that in a text of :func:`versions`
_BY_GAIN: Final = "by-gain"
#: the name for what XLA compiles, and no generator
XLA: Final = "xla"

_known: Final[dict[str, Generator]] = {}
_identities: Final[weakref.WeakKeyDictionary[Generator, str]] = weakref.WeakKeyDictionary()
_registered: Final[dict[tuple[str, str], int]] = {}
_lock: Final = threading.RLock()
_installed = False
_installed_names: Final[set[str]] = set()
#: installed generators that cannot be used, and why
_unavailable: Final[dict[str, str]] = {}
#: the names that are in use at first; None before the first query
_first: tuple[str, ...] | None = None


def register(generator: Generator) -> None:
    """Add a generator, which :func:`use` can name; it replaces one of the same name.

    Raises ArgumentError if it is not a Generator, or has no name or version.
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
        if not isinstance(generator, PluginGenerator):
            # the version of a plug-in has a digest of its library
            each = (generator.name, generator.version)
            number = _registered[each] = _registered.get(each, 0) + 1
            _identities[generator] = (
                generator.version if number == 1 else f"{generator.version}#{number}")
        if before is not None:
            # programs in memory call the replaced one
            memory.clear()
        _note_numbers()


def load(library: str | os.PathLike[str]) -> Generator:
    """Add the generator of a shared library made with ``lazyloom_codegen.h``, and return it.

    It is in use when :func:`use` names it: ``use(load("./libmine.so").name)``. A library is loaded
    once, and stays. LAZYLOOM_CODEGEN_PLUGINS in the environment loads libraries at the start,
    whose generators are in use by themselves.

    Args:
        library: a path, or a name, "mine", for what the dynamic linker finds as
            ``liblazyloom_codegen_mine.so``. It is code that is run.

    Raises ArgumentError where it cannot be loaded, or says that it cannot work here.
    """
    generator = opened(library)
    register(generator)
    return generator


def identity(generator: Generator) -> str:
    """Return its version, and its number among those registered with the same name and version."""
    return _identities.get(generator, generator.version)


def available() -> dict[str, Generator]:
    """Return all generators by name: installed ones and registered ones."""
    _find()
    with _lock:
        return dict(_known)


def unavailable() -> dict[str, str]:
    """Return installed generators that cannot be used here, and why: by name."""
    _find()
    with _lock:
        return dict(_unavailable)


def in_use() -> tuple[str, ...]:
    """Return the names of the generators in use, in order of preference.

    At first those that LAZYLOOM_CODEGEN names, or else all that are installed and are in use by
    default, the one of highest priority first.
    """
    return tuple(n for n in chosen() if n != GAIN)


def chosen() -> tuple[str, ...]:
    """Return :func:`in_use`, and how one of them is preferred to another: what requests have."""
    names = memory.selected().names
    return chosen_at_first() if names is None else names


def by_gain(names: tuple[str, ...]) -> bool:
    """Return True if the quicker one of some generators is preferred, as :func:`chosen` says."""
    return GAIN in names


def at_first() -> tuple[str, ...]:
    """Return the names of the generators in use before any choice."""
    return tuple(n for n in chosen_at_first() if n != GAIN)


def chosen_at_first() -> tuple[str, ...]:
    """Return :func:`chosen` before any choice."""
    global _first
    if _first is None:
        with _lock:
            if _first is None:
                text = os.environ.get(VARIABLE, "")
                if not text.strip():
                    found = [] if "code_generators" in WITHOUT else [
                        g for g in available().values() if g.by_default]
                    found.sort(key=lambda g: -g.priority)
                    _first = (*(g.name for g in found), GAIN) if found else ()
                else:
                    _first = _names(VARIABLE, [n.strip() for n in text.split(",") if n.strip()])
                _note_numbers()
    return _first


def generators(names: tuple[str, ...] | None) -> list[Generator]:
    """Return the generators of some names; None means those that are in use at first."""
    if names is None:
        names = chosen_at_first()
    if names:
        _find()
    return [_known[n] for n in names if n in _known]


def elsewhere(names: tuple[str, ...] | None) -> bool:
    """Return True if other processes have the generators of some names: they are installed."""
    return all(g.name in _installed_names for g in generators(names))


def is_installed(generator: Generator) -> bool:
    """Return True if other processes with this environment have it, too: it was not registered
    by hand."""
    return generator.name in _installed_names and _known.get(generator.name) is generator


def versions(names: tuple[str, ...] | None) -> str:
    """Return what distinguishes programs compiled with some generators from others."""
    if names is None:
        names = chosen_at_first()
    words = [f"{g.name}={identity(g)}" for g in generators(names)]
    if words and by_gain(names):
        words.append(_BY_GAIN)
    return " ".join(words) + worth.key()


def names_in(text: str) -> tuple[str, ...]:
    """Return the names of the generators in a text of :func:`versions`."""
    words = text.split()
    found = tuple(word.partition("=")[0] for word in words if "=" in word)
    return (*found, GAIN) if _BY_GAIN in words else found


class _Use(contextlib.AbstractContextManager["_Use"]):
    """The result of a choice: a context manager that restores the previous choice at its end."""

    def __init__(self, **chosen: Any) -> None:
        self._before: Final = {name: getattr(memory.selected(), name) for name in chosen}
        _choose(**chosen)

    def __exit__(self, *exc: object) -> None:
        _choose(**self._before)


def use(*names: str, by: str = "order", coverage: float = 0.0) -> _Use:
    """Choose the generators of this process, by preference: ``use("onednn", "xla")``.

    What two of them can do the first one gets. With ``by="gain"`` it is the one that was measured
    to take less time (:func:`measure`), or else that is estimated to, as with the generators that
    are in use before any choice; only then the first one.

    "xla" stands for the ops that they do not take and may be omitted; ``use("xla")`` is XLA alone.
    The choice holds until the next one, or to the end of a ``with`` block. Programs that were
    compiled for another choice stay in memory for when it returns.

    Args:
        names: of the generators. Without any, and with ``coverage``, those that are in use stay.
        by: "order" or "gain".
        coverage: the least part of each program's ops, from 0 to 1, that generators have to run.
            Where it is less, the program does not run, and a
            :class:`~lazyloom.errors.FallbackError` at the user's line says what is missing, and
            why. Programs are then compiled before they run, and are not kept on disk.

    Raises ArgumentError for an unknown name, with those that are known, for another ``by``, and for
    a coverage that is no number from 0 to 1.
    """
    if by not in ("order", "gain"):
        raise ArgumentError(f"use: by={by!r:.80} was given, expected 'order' or 'gain'")
    if isinstance(coverage, bool) or not isinstance(coverage, (int, float)) or not (
        0 <= coverage <= 1
    ):
        raise ArgumentError(
            f"use: coverage is {coverage!r:.80}, expected the least part of a program's ops, a "
            "number from 0 to 1")
    if not names and coverage:
        return _Use(coverage=float(coverage))
    found = _names("use", names)
    return _Use(names=(*found, GAIN) if found and by == "gain" else found,
                coverage=float(coverage))


def verify(on: bool = True) -> contextlib.AbstractContextManager[Any]:
    """Compare each run of each region with XLA's results for its ops.

    Where they differ by more than the generator's :attr:`~lazyloom.codegen.Generator.tolerance`,
    the program gets XLA's results, a RuntimeWarning says where and by how much, and from the
    next run on XLA does the region (see :func:`failures`). Programs are compiled before they run,
    and are not kept on disk. LAZYLOOM_CODEGEN_VERIFY=1 in the environment turns it on from the
    start.

    It applies to the process, until it is called again, or to the end of a ``with`` block.

    Raises ArgumentError if ``on`` is not a bool.
    """
    return _Use(verify=_bool("verify", on))


def segmented(on: bool = True) -> contextlib.AbstractContextManager[Any]:
    """Run the regions of a program, and what XLA does between them, one by one.

    An evaluation's record then has the seconds that each took
    (:attr:`~lazyloom.program.evaluations.Evaluation.parts`). Programs are compiled before they run,
    are not kept on disk, and do not reuse the memory of their inputs.
    LAZYLOOM_CODEGEN_SEGMENTED=1 in the environment turns it on from the start.

    It applies to the process, until it is called again, or to the end of a ``with`` block.

    Raises ArgumentError if ``on`` is not a bool.
    """
    return _Use(segmented=_bool("segmented", on))


def _bool(function: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ArgumentError(f"{function}: {value!r:.80} was given, expected True or False")
    return value


def _choose(**chosen: Any) -> None:
    with _lock:
        memory.select(memory.selected()._replace(**chosen))
        _note_numbers()


def _note_numbers() -> None:
    """Note whether a generator in use asks for numbers that may change from run to run."""
    names = memory.selected().names
    if names is None:
        names = _first
    if names is None:
        memory.numbers_wanted[0] = memory.UNKNOWN
        return
    memory.numbers_wanted[0] = memory.SOME if any(
        type(g).numbers is not Generator.numbers or numbers_named(g)
        for n in names if (g := _known.get(n)) is not None) else memory.NONE


def _names(function: str, names: Any) -> tuple[str, ...]:
    registered = available()
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError(
                f"{function}: a {type_name(name)} was given, expected names of code generators")
        if name != XLA and name not in registered:
            raise ArgumentError(
                f"{function}: the code generator {name!r} is not known, expected "
                f"{', '.join(map(repr, [*registered, XLA]))}; install its package, or register it")
    return tuple(dict.fromkeys(n for n in names if n != XLA))


def _find() -> None:
    """Create the installed generators, once. One that fails is left out, with a warning."""
    global _installed
    if _installed:
        return
    # a signal handler that computes arrays would find modules that are half imported
    with Deferred(True), _lock:
        if _installed:
            return
        _installed = True
        for installed in entry_points(GROUP):
            try:
                generator = installed.load()()
                if generator is not None:
                    register(generator)
                    _installed_names.add(generator.name)
                else:
                    _unavailable[installed.name] = "its library or device is not here"
            except Exception as error:
                reraise_from_handler(error)
                _unavailable[installed.name] = told(error)
                failed(raised(installed.name, "", (), "import", error, f"{installed.value}: "))
        named: dict[str, tuple[str, Generator]] = {}
        for library in filter(None, os.environ.get(PLUGINS, "").split(os.pathsep)):
            try:
                generator = opened(library, PLUGINS)
                first, its = named.setdefault(generator.name, (library, generator))
                if its is not generator:
                    raise ArgumentError(
                        f"{PLUGINS}: it has the name {generator.name!r}, as the code generator of "
                        f"{first!r} before it, expected one of a name; leave one of them out")
                register(generator)
                _installed_names.add(generator.name)
            except ArgumentError as error:
                failed(Failure(library, "", (), "import", str(error)))
