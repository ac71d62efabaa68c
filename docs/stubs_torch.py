"""The type stubs of the torch-like frontend: see stubs.py, which writes them.

Most functions and methods are put into namespaces by tables, some in a wrapper that gives them
``out=`` or NumPy's names of parameters. ``_attached.pyi`` declares what is attached to ``Tensor``,
as a base class that only type checkers see, ``_devices.pyi`` what the modules of all kinds of
device have; the other stubs stand for the modules whose names are
made when they are imported.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import lazyloom_torch as torch
from lazyloom_torch import _no_device, _numpy_names

FOLDER: Final = Path(__file__).resolve().parents[1] / "frontends" / "lazyloom_torch"
ROOT: Final = "lazyloom_torch"
#: modules whose names are made when they are imported
MODULES: Final = (
    "", "accelerator", "cuda", "cuda.random", "fft", "linalg", "mps", "mtia", "nn",
    "nn.functional", "nn.modules", "special", "xpu")  # fmt: skip

_BUILTINS: Final = ("bool", "complex", "dict", "float", "int", "list", "object", "str", "tuple",
                    "type")  # fmt: skip
#: of ``Tensor``, what a checker need not know, or knows of the class itself
_ASKED: Final = ("__module__", "__dict__", "__weakref__", "__doc__", "__annotations__", "__hash__",
                 "__torch_function__", "__slots__", "__rdiv__")  # fmt: skip
#: methods where the runtime has something else of that name
_OTHERWISE: Final = ("type",)
_COMPARING: Final = ("__eq__", "__ne__")
#: the runtime's operators, with what they give here
_OPERATORS: Final = tuple(
    f"__{prefix}{name}__" for name in (
        "add", "sub", "mul", "truediv", "matmul", "floordiv", "mod", "pow", "and", "or", "xor",
        "lshift", "rshift") for prefix in ("", "r", "i"))  # fmt: skip
_ORDER: Final = ("__lt__", "__le__", "__gt__", "__ge__")


class _Names:
    """The names that the annotations of one stub need, each under an alias of its own."""

    def __init__(self) -> None:
        self.imported: set[str] = set()

    def resolved(self, annotation: Any, function: Any) -> str:
        """An annotation in terms of what the stub imports; ``Any`` where it cannot be."""
        if annotation is inspect.Parameter.empty or not isinstance(annotation, str):
            return "Any"
        space = getattr(inspect.unwrap(function), "__globals__", {})
        text = annotation
        for word in sorted(set(re.findall(r"[A-Za-z_][\w.]*", annotation)), key=len, reverse=True):
            known = self._known(word, space)
            if known is None:
                return "Any"
            text = re.sub(rf"(?<![\w.]){re.escape(word)}(?![\w.])", known, text)
        return text

    def _known(self, word: str, space: dict[str, Any]) -> str | None:
        if word in ("None", "Any", "Tensor", "..."):
            return word
        found = space.get(word, getattr(builtins, word, None))
        if word in _BUILTINS and found is getattr(builtins, word):
            self.imported.add(f"from builtins import {word} as _{word}")
            return f"_{word}"
        if word in ("Callable", "Sequence", "Iterator", "Iterable", "Mapping"):
            self.imported.add(f"from collections.abc import {word} as _{word}")
            return f"_{word}"
        if word in ("np.ndarray", "onp.ndarray"):
            self.imported.add("import numpy as _numpy")
            return "_numpy.ndarray[Any, Any]"
        if isinstance(found, type) and found.__module__.startswith(f"{ROOT}."):
            home = found.__module__
            if getattr(importlib.import_module(home), found.__name__, None) is found:
                self.imported.add(f"from {home} import {found.__name__} as _{found.__name__}")
                return f"_{found.__name__}"
        return None


def _without_packing(name: str, function: Any, owner: Any) -> inspect.Signature:
    """The signature of what a wrapper calls, where the wrapper itself takes anything."""
    signature = inspect.signature(function)
    kinds = [p.kind for p in signature.parameters.values()]
    packed = kinds[-2:] == [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]
    if packed and name.endswith("_") and not name.startswith("__"):
        plain = getattr(owner, name[:-1], None) or getattr(torch, name[:-1], None)
        if isinstance(plain, types.FunctionType):
            found = inspect.signature(plain)
            return found.replace(return_annotation=signature.return_annotation)
    return signature


def _named_only(function: Any) -> Iterator[tuple[str, ...]]:
    """The parameters that a function, and each function that it wraps, takes by name only."""
    while function is not None:
        code = getattr(function, "__code__", None)
        if code is not None:
            first = code.co_argcount
            yield code.co_varnames[first:first + code.co_kwonlyargcount]
        function = getattr(function, "__wrapped__", None)


def _parameters(name: str, function: Any, names: _Names, method: bool) -> tuple[list[str], Any]:
    """The parameters as a stub has them, with those that wrappers add; and the result."""
    signature = _without_packing(name, function, torch.Tensor)
    given = list(signature.parameters.values())
    own = {p.name for p in given}
    numpys = name in _numpy_names.NAMES and not name.startswith("_")
    parts: list[str] = []
    star = False
    positional = [p for p in given if p.kind is p.POSITIONAL_ONLY]
    added = []
    if numpys:
        added += [a for a, meant in (("axis", "dim"), ("keepdims", "keepdim"))
                  if meant in own and a not in own]  # fmt: skip
    if "out" not in own and any("out" in named for named in _named_only(function)):
        added.append("out")
    last: list[str] = []
    for i, p in enumerate(given):
        if method and not i:
            parts.append("self")
            if p.kind is p.POSITIONAL_ONLY:
                parts.append("/")
            continue
        if p.kind is p.VAR_POSITIONAL:
            parts.append(f"*{p.name}: Any")
            star = True
        elif p.kind is p.VAR_KEYWORD:
            last.append(f"**{p.name}: Any")
        else:
            if p.kind is p.KEYWORD_ONLY and not star:
                parts.append("*")
                star = True
            known = names.resolved(p.annotation, function)
            optional = p.default is not p.empty or (numpys and p.name == "dim")
            earlier = any(part.endswith(" = ...") for part in parts)
            optional = optional or (earlier and not star)
            if p.default is None and "None" not in known and known != "Any":
                known += " | None"
            parts.append(f"{p.name}: {known}" + (" = ..." if optional else ""))
            if positional and p is positional[-1]:
                parts.append("/")
    if added and not last:
        if not star:
            parts.append("*")
        parts += [f"{a}: Any = ..." for a in added]
    return parts + last, names.resolved(signature.return_annotation, function)


def _line(name: str, function: Any, names: _Names, method: bool = False) -> str:
    parts, result = _parameters(name, function, names, method)
    return f"def {name}({', '.join(parts)}) -> {result}: ..."


def _members(names: _Names) -> Iterator[str]:
    defined = _class_body()
    for name, thing in sorted(vars(torch.Tensor).items()):
        if name in _ASKED or name in defined or name in (*_OPERATORS, *_COMPARING):
            continue
        if isinstance(thing, property):
            given = inspect.signature(thing.fget).return_annotation if thing.fget else "Any"
            result = names.resolved(given, thing.fget)
            yield "@property"
            yield f"def {name}(self) -> {'Tensor' if result == 'Any' else result}: ..."
            if thing.fset is not None:
                yield f"@{name}.setter"
                yield f"def {name}(self, value: Any) -> None: ..."
        elif isinstance(thing, types.FunctionType):
            ignored = "  # type: ignore[override]" if name in _OTHERWISE else ""
            yield _line(name, thing, names, method=True) + ignored
        elif isinstance(thing, (classmethod, staticmethod)):
            yield f"{name}: Any"
        elif isinstance(thing, (bool, int)) or thing is None:
            yield f"{name}: {'Any' if thing is None else '_' + type(thing).__name__}"
            if thing is not None:
                names.imported.add(
                    f"from builtins import {type(thing).__name__} as _{type(thing).__name__}")
    for name in (*_OPERATORS, *_ORDER, *_COMPARING):
        ignored = "  # type: ignore[override]" if name in _COMPARING else ""
        yield f"def {name}(self, other: Any) -> Tensor: ...{ignored}"
    yield "def __neg__(self) -> Tensor: ..."


def _class_body() -> set[str]:
    """What the source of the class defines."""
    import ast

    tree = ast.parse((FOLDER / "_tensor.py").read_text())
    (cls,) = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Tensor"]
    found = set()
    for node in cls.body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Assign):
            found |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    return found


def attached(notice: str) -> str:
    """The stub of what is attached to ``Tensor``."""
    names = _Names()
    body = [f"    {line}" for line in _members(names)]
    return "\n".join([
        notice, "from typing import Any", "", "import lazyloom", "", *sorted(names.imported), "",
        f"from {ROOT}._tensor import Tensor", "", "class Attached(lazyloom.Tensor):", *body, "",
    ])  # fmt: skip


def _submodules(module: Any) -> list[str]:
    """The public modules inside a package, those that are loaded late too."""
    path = getattr(module, "__path__", None)
    if not path:  # an empty one has only modules that are not here
        return []
    folder = Path(next(iter(path)))
    found = {p.stem for p in folder.glob("*.py")} | {
        p.parent.name for p in folder.glob("*/__init__.py")}
    return sorted(n for n in found if not n.startswith("_"))


#: what the modules of all kinds of device have
_DEVICES: Final = _no_device.functions("device")


def no_device(notice: str) -> str:
    """The stub of what the modules of all kinds of device have."""
    lines: list[str] = []
    for name, thing in sorted(_DEVICES.items()):
        lines += _class(name, thing) if isinstance(thing, type) else [_line(name, thing, _Names())]
    return "\n".join([notice, "from typing import Any", "", *lines, ""])


def module_stub(name: str, notice: str) -> str:
    """The stub of one module."""
    module = importlib.import_module(f"{ROOT}.{name}".rstrip("."))
    names = _Names()
    devices = _DEVICES.keys() <= vars(module).keys()
    names.imported.add(f"from {ROOT}._devices import *" if devices else
                       f"from {ROOT}._tensor import Tensor as Tensor")  # fmt: skip
    inner = _submodules(module)
    first: list[str] = []
    lines: list[str] = []
    for public, thing in sorted(vars(module).items()):
        if public.startswith("_") and getattr(thing, "__name__", "") != public:
            continue
        if public in inner or public in ("annotations", "Any") or public.startswith("__"):
            continue
        if devices and public in _DEVICES:
            continue
        if isinstance(thing, types.ModuleType):
            if thing.__name__ == ROOT:
                lines.append(f"{public}: Any")
            elif thing.__name__.startswith(f"{ROOT}.") and public == thing.__name__.split(".")[-1]:
                home = thing.__name__.rpartition(".")[0]
                first.append(f"from {home} import {public} as {public}")
        elif isinstance(thing, types.FunctionType):
            if thing.__module__.startswith(ROOT):
                lines.append(_line(public, thing, names))
            elif thing.__module__.startswith("lazyloom.") and thing.__name__ != public:
                lines.append(f"{public}: Any")  # as where the core is compiled
        elif isinstance(thing, type):
            home = thing.__module__
            if public == "Tensor":
                continue
            if home.startswith(f"{ROOT}.") and home != module.__name__ and getattr(
                    importlib.import_module(home), thing.__name__, None) is thing:
                first.append(f"from {home} import {thing.__name__} as {public}")
            elif home == "lazyloom_torch" or home.startswith(f"{ROOT}."):
                lines += _class(public, thing)
            else:
                lines.append(f"{public}: Any")
        elif type(thing).__module__.startswith(f"{ROOT}.") and not type(thing).__name__.startswith(
                "_"):
            kind = type(thing)
            names.imported.add(f"from {kind.__module__} import {kind.__name__} as _{kind.__name__}")
            lines.append(f"{public}: _{kind.__name__}")
        elif type(thing) in (bool, float, int, str):
            kind = type(thing)
            names.imported.add(f"from builtins import {kind.__name__} as _{kind.__name__}")
            lines.append(f"{public}: _{kind.__name__}")
        else:
            lines.append(f"{public}: Any")
    package = module.__name__
    first += [f"from {package} import {n} as {n}" for n in inner]
    version = ["__version__: Any"] if not name else []
    return "\n".join([
        notice, "from typing import Any", "", *sorted({*names.imported, *first}), "", *version,
        *lines, "",
    ])  # fmt: skip


def _class(name: str, cls: type) -> list[str]:
    """A class that a function made: an exception, or the context of a device that is not there."""
    if issubclass(cls, BaseException):
        return [f"class {name}({cls.__mro__[1].__name__}): ..."]
    return [f"class {name}:", "    def __init__(self, device: Any) -> None: ...",
            "    def __enter__(self) -> None: ...",
            "    def __exit__(self, *exc_info: Any) -> None: ..."]  # fmt: skip


def _place(name: str) -> Path:
    path = FOLDER.joinpath(*name.split(".")) if name else FOLDER
    return path / "__init__.pyi" if path.is_dir() else path.with_suffix(".pyi")


def stubs(notice: str) -> dict[Path, str]:
    found = {FOLDER / "_attached.pyi": attached(notice), FOLDER / "_devices.pyi": no_device(notice)}
    for name in MODULES:
        found[_place(name)] = module_stub(name, notice)
    return found
