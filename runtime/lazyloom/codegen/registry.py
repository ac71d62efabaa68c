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
from ..interrupts import reraise_from_handler
from ..settings import WITHOUT
from . import worth
from .faults import Failure, failed, told
from .generator import Generator
from .plugin import opened

#: names the generators in use, separated by commas; "xla" for none
VARIABLE: Final = "LAZYLOOM_CODEGEN"
#: names libraries of code generators, by their paths or names, separated by colons
PLUGINS: Final = "LAZYLOOM_CODEGEN_PLUGINS"
#: the entry points that name installed generators
GROUP: Final = "lazyloom.generators"
#: the name for what XLA compiles, and no generator
XLA: Final = "xla"

_known: Final[dict[str, Generator]] = {}
_identities: Final[weakref.WeakKeyDictionary[Generator, str]] = weakref.WeakKeyDictionary()
_registered: Final[dict[tuple[str, str], int]] = {}
_lock: Final = threading.RLock()
_installed = False
_installed_names: Final[set[str]] = set()
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
        each = (generator.name, generator.version)
        number = _registered[each] = _registered.get(each, 0) + 1
        _identities[generator] = (
            generator.version if number == 1 else f"{generator.version}#{number}")
        if before is not None:
            # programs in memory call the replaced one
            memory.clear()


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


def in_use() -> tuple[str, ...]:
    """Return the names of the generators in use, in order of preference.

    At first those that LAZYLOOM_CODEGEN names, or else all that are installed and are in use by
    default.
    """
    names = memory.selected().names
    return at_first() if names is None else names


def at_first() -> tuple[str, ...]:
    """Return the names of the generators in use before any choice."""
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
    """Return the generators of some names; None means those that are in use at first."""
    if names is None:
        names = at_first()
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
    return " ".join(f"{g.name}={identity(g)}" for g in generators(names)) + worth.key()


def names_in(text: str) -> tuple[str, ...]:
    """Return the names of the generators in a text of :func:`versions`."""
    return tuple(word.partition("=")[0] for word in text.split() if "=" in word)


class _Use(contextlib.AbstractContextManager["_Use"]):
    """The result of a choice: a context manager that restores the previous choice at its end."""

    def __init__(self, **chosen: Any) -> None:
        self._before: Final = {name: getattr(memory.selected(), name) for name in chosen}
        _choose(**chosen)

    def __exit__(self, *exc: object) -> None:
        _choose(**self._before)


def use(*names: str) -> _Use:
    """Choose the generators of this process, by preference: ``use("onednn", "xla")``.

    "xla" stands for the ops that they do not take and may be omitted; ``use("xla")`` is XLA alone.
    The choice holds until the next one, or to the end of a ``with`` block. Programs that were
    compiled for another choice stay in memory for when it returns.

    Raises ArgumentError for an unknown name; the message lists the known ones.
    """
    return _Use(names=_names("use", names))


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
    with _lock:
        if _installed:
            return
        _installed = True
        for entry in entry_points(GROUP):
            try:
                generator = entry.load()()
                if generator is not None:
                    register(generator)
                    _installed_names.add(generator.name)
            except Exception as error:
                reraise_from_handler(error)
                failed(Failure(entry.name, "", (), "import", f"{entry.value}: {told(error)}"))
        for library in filter(None, os.environ.get(PLUGINS, "").split(os.pathsep)):
            try:
                generator = opened(library, PLUGINS)
                register(generator)
                _installed_names.add(generator.name)
            except ArgumentError as error:
                failed(Failure(library, "", (), "import", str(error)))
