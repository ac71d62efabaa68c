"""Names of PyTorch's that are not here: they can be imported and asked about, not used.

Libraries name much that they never use: types in annotations, bases of classes, dtypes in tables,
modules in imports. Such a name is here a class without instances, such a module one of such names,
and what is done with them raises NotImplementedError with the reason.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

from ._absent_names import DTYPES, MODULES, NAMES
from ._dtypes import dtype

_ROOT = __name__.partition(".")[0]


def refuse_sharing(path: str) -> NoReturn:
    """Raise the NotImplementedError of what is to let processes see each other's writes."""
    refuse(path, "processes get copies of tensors and see no writes of each other; hand over what "
           "they only read as it is, train in one process, or average state dicts that the "
           "processes give back")


def refuse(path: str, reason: str) -> NoReturn:
    """Raise NotImplementedError: what was used, and why it is not here."""
    raise NotImplementedError(f"{path} is out of scope of lazyloom_torch: {reason}")


class Absent(type):
    """The type of names that are not here.

    ``isinstance`` of one is False, a subclass can be written, an attribute is another of them;
    calling it or a subclass, or going through it, raises NotImplementedError.
    """

    _path: str
    _reason: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        refuse(cls._path, cls._reason)

    def __getattr__(cls, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(f"{cls._path} has no attribute {name!r}")
        return absent(f"{cls._path}.{name}", cls._reason)

    def __getitem__(cls, key: Any) -> Absent:
        return cls

    def __iter__(cls) -> NoReturn:
        refuse(cls._path, cls._reason)

    def __enter__(cls) -> NoReturn:
        refuse(cls._path, cls._reason)

    def __exit__(cls, *exc: object) -> None:
        """Never reached."""

    def __repr__(cls) -> str:
        return f"<{cls._path}: out of scope of lazyloom_torch>"


def absent(path: str, reason: str) -> Absent:
    """What stands for a name that is not here, such as ``torch.fx.Node``."""
    place, _, name = path.rpartition(".")
    return Absent(name, (), {"_path": path, "_reason": reason, "__module__": place})


class AbsentDtype(dtype):
    """An element type that no tensor can have. Its name, size and kind are known."""

    __slots__ = ("_reason",)

    def __init__(self, name: str, itemsize: int, signed: bool, reason: str) -> None:
        # no ``lazy``: whatever computes with the dtype asks for that, and is refused
        self.name, self.itemsize, self._reason = name, itemsize, reason
        self.is_floating_point = name.startswith("float")
        self.is_complex = name.startswith("complex")
        self.is_signed = signed
        self.category = 3 if self.is_complex else 2 if self.is_floating_point else 1

    def __getattr__(self, name: str) -> Any:
        if name == "lazy":
            refuse(repr(self), self._reason)
        raise AttributeError(f"dtype has no attribute {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return (_named, (self.name,))


def _named(name: str) -> Any:
    """What is pickled by its name in the package."""
    return getattr(sys.modules[_ROOT], name)


def torch_name(module: str) -> str:
    """The name PyTorch has for a module of ours."""
    return "torch" + module.removeprefix(_ROOT)


def missing(module: str, names: Iterable[str] = (), reason: str = "") -> Callable[[str], Any]:
    """A ``__getattr__`` for a module that is here in part.

    It gives submodules that nobody imported yet, and what stands for names that are not here:
    those of the table and ``names``, or any that has no underscore in front if there is a
    ``reason``. AttributeError for others.
    """
    path = torch_name(module)
    listed = {**NAMES.get(path[len("torch."):], {}), **dict.fromkeys(names, reason)}
    inside = module.removeprefix(_ROOT).lstrip(".") + "."
    if inside != "." and any(name.startswith(inside) for name in MODULES):
        # with a path it may have submodules, which the finder below is asked for
        vars(sys.modules[module]).setdefault("__path__", [])

    def __getattr__(name: str) -> Any:  # noqa: N807
        found: Any = None
        if name in listed:
            found = absent(f"{path}.{name}", listed[name])
        elif not name.startswith("__") or name in vars(sys.modules[module]).get(
                "_LAZY_MODULES", ()):
            inner = f"{module}.{name}"
            lazily = vars(sys.modules[module]).get("_LAZY_MODULES", ())
            if name in lazily or inner.removeprefix(_ROOT + ".") in MODULES:
                return importlib.import_module(inner)
            if reason and not name.startswith("_"):
                found = absent(f"{path}.{name}", reason)
        if found is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        setattr(sys.modules[module], name, found)
        return found

    return __getattr__


def reason_of(module: str) -> str | None:
    """Why a module of ours is not here; None if nothing is known of it."""
    if not module.startswith(_ROOT + "."):
        return None
    path = module[len(_ROOT) + 1:]
    while path:
        if path in MODULES:
            return MODULES[path]
        path = path.rpartition(".")[0]
    return None


def why(place: str, name: str) -> str:
    """The reason in the table for a name in ``torch`` or ``torch.something``; or empty."""
    if place == "torch" and name in DTYPES:
        return DTYPES[name][-1]
    return NAMES.get(place[len("torch."):], {}).get(name, "")


class AbsentModule(ModuleType):
    """A module of which nothing is here; any name of it stands for what is not."""

    def __getattr__(self, name: str) -> Any:
        # an import asks for these, and inspect for any dunder
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        found = absent(f"{torch_name(self.__name__)}.{name}", reason_of(self.__name__) or "")
        self.__dict__[name] = found
        return found


class _Finder:
    """Finds the modules that are not here. It is asked last, after those that are."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if reason_of(name) is None:
            return None
        return ModuleSpec(name, _Finder, is_package=True)  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        found = AbsentModule(spec.name)
        found.__doc__ = f"{torch_name(spec.name)}: out of scope: {reason_of(spec.name)}."
        return found

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Nothing: the module has no code."""


def install() -> None:
    """Let the modules that are not here be imported."""
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)


def dtypes() -> dict[str, AbsentDtype]:
    """The dtypes that no tensor can have, by name."""
    found = {name: AbsentDtype(name, *described) for name, described in DTYPES.items()}
    return {**found, "chalf": found["complex32"]}
