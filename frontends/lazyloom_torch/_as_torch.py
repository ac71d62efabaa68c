"""``import torch`` as this package, for programs and libraries that import it by that name."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib import metadata

_HERE = __name__.partition(".")[0]
_THEIRS = "torch"
#: modules of other packages that go by the address of a tensor's memory, and ours in their place
_OTHERS = {"safetensors.torch": f"{_HERE}.safetensors"}


def _is_alias(name: str) -> bool:
    return name == _THEIRS or name.startswith(_THEIRS + ".") or name in _OTHERS


def _ours(name: str) -> str:
    """Our module for ``torch`` or ``torch.something``."""
    return _OTHERS.get(name) or _HERE + name[len(_THEIRS):]


class _Loader:
    """Gives a module of ours under a name of PyTorch's: one module, two entries in sys.modules."""

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(_ours(spec.name))
        spec.loader_state = module.__spec__
        return module

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        # the import system has put the alias's spec in, and the module has run already
        alias = module.__spec__
        if alias is not None:
            module.__spec__ = alias.loader_state
        # what it imported of its own: an import of such a name would set it in the module, where
        # a function of that name may stand (torch.multiprocessing.spawn)
        _register(module.__name__ + ".")


def _register(start: str) -> None:
    """Enter modules of ours whose names begin so under their names of PyTorch's."""
    for name in [n for n in sys.modules if n.startswith(start)]:
        sys.modules.setdefault(_THEIRS + name[len(_HERE):], sys.modules[name])


class _SafetensorsLoader:
    """The package safetensors, whose compiled part fills PyTorch's memory: ours instead."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        found: ModuleType | None = self._loader.create_module(spec)
        return found

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _with_our_files(module)


#: what safe_open was before
_safe_open: Any = None


def _with_our_files(module: Any) -> None:
    """Open files for PyTorch by our class, for other libraries as before."""
    global _safe_open
    _safe_open = theirs = module.safe_open

    def safe_open(filename: Any, framework: str = "pt", device: Any = "cpu", **options: Any) -> Any:
        if framework in ("pt", "torch", "pytorch"):
            ours = importlib.import_module(f"{_HERE}.safetensors")
            return ours.safe_open(filename, framework, device)
        return theirs(filename, framework, device, **options)

    module.safe_open = safe_open


class _Finder:
    """Finds ``torch`` and ``torch.*``, before what is installed."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name == "safetensors":
            spec = PathFinder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _SafetensorsLoader(spec.loader)  # type: ignore[assignment]
            return spec
        if not _is_alias(name):
            return None
        try:
            found = importlib.util.find_spec(_ours(name))
        except ModuleNotFoundError:  # its parent is no package
            found = None
        if found is None:
            # nor is it found in an installed PyTorch: the parent's path is ours
            return None
        return ModuleSpec(name, _Loader, origin=found.origin,  # type: ignore[arg-type]
                          is_package=found.submodule_search_locations is not None)

    @staticmethod
    def find_distributions(context: Any = None) -> Iterable[metadata.Distribution]:
        if getattr(context, "name", None) in (None, _THEIRS):
            from ._as_torch_metadata import Distribution  # late: it imports the email package

            yield Distribution()

    @staticmethod
    def invalidate_caches() -> None:
        """Nothing: nothing is kept."""


class _InWorkers:
    """In what a new process of multiprocessing is given: unpickling it installs the hook there."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (_install, ())


def _preparing(name: str) -> dict[str, Any]:
    """What multiprocessing tells a new process before that imports the main module."""
    return {_HERE: _InWorkers(), **_preparation(name)}


_preparation: Any = None
#: how often the hook was asked for and not given back
_holders = 0


def _aliases() -> Iterator[str]:
    """The names in ``sys.modules`` under which modules of ours stand for PyTorch's."""
    for name, module in list(sys.modules.items()):
        if _is_alias(name):
            own = getattr(module, "__name__", "").partition(".")[0] == _HERE
            if module is None or module is sys.modules[_HERE] or own:
                yield name


def _install() -> None:
    global _holders, _preparation
    _holders += 1
    if _holders > 1:
        return
    import multiprocessing.spawn  # slow to import, and needed here alone

    sys.meta_path.insert(0, _Finder)
    for name in _aliases():  # entries of None, which forbid an import
        del sys.modules[name]
    # libraries look for some of PyTorch's modules there, which it has imported itself
    sys.modules[_THEIRS] = sys.modules[_HERE]
    sys.modules[_HERE].__name__ = _THEIRS  # libraries begin dotted names with torch.__name__
    _register(_HERE + ".")
    if "safetensors" in sys.modules:
        _with_our_files(sys.modules["safetensors"])
    _preparation = multiprocessing.spawn.get_preparation_data
    multiprocessing.spawn.get_preparation_data = _preparing


def _uninstall() -> None:
    global _holders, _safe_open
    _holders -= 1
    if _holders:
        return
    import multiprocessing.spawn

    sys.meta_path.remove(_Finder)
    multiprocessing.spawn.get_preparation_data = _preparation
    if _safe_open is not None:
        sys.modules["safetensors"].safe_open = _safe_open  # type: ignore[attr-defined]
        _safe_open = None
    for name in _aliases():
        del sys.modules[name]
    sys.modules[_HERE].__name__ = _HERE


class AsTorch:
    """What :func:`as_torch` gives: ``uninstall()`` or the end of a ``with`` takes it back."""

    def __init__(self) -> None:
        _install()
        self._held = True

    def uninstall(self) -> None:
        """Let ``import torch`` mean the installed PyTorch again.

        Modules that were imported meanwhile keep what they imported.
        """
        if self._held:
            self._held = False
            _uninstall()

    def __enter__(self) -> AsTorch:
        return self

    def __exit__(self, *exc: object) -> None:
        self.uninstall()

    def __repr__(self) -> str:
        return f"<as_torch: {'installed' if self._held else 'taken back'}>"


def as_torch() -> AsTorch:
    """Let ``import torch`` and its submodules mean lazyloom_torch, in the whole process.

    Libraries that are imported from then on compute here: ``lazyloom_torch.as_torch()`` comes
    before their imports, or the program is started by ``python -m lazyloom_torch script.py``.
    ``importlib.metadata.version("torch")`` gives the version of PyTorch that is followed. Worker
    processes of multiprocessing have it too; an installed PyTorch is not touched.

    Returns an object with ``uninstall()``, which is a context manager as well. Calls can be
    nested. Raises RuntimeError if the process has imported PyTorch already.
    """
    theirs = sys.modules.get(_THEIRS)
    if theirs is not None and theirs is not sys.modules[_HERE]:
        raise RuntimeError(
            "as_torch(): this process has imported PyTorch already"
            f" ({getattr(theirs, '__file__', None)}); call lazyloom_torch.as_torch() before "
            "anything imports torch, or start the program with python -m lazyloom_torch script.py")
    return AsTorch()
