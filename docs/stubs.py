"""Write the type stubs of the frontends, from what their modules hold, and docstrings.

Functions that take anything array-like are annotated ``Any`` in the source; for editors and type
checkers it matters that their results are arrays, and that ufuncs, which a table makes, are
there. Those of the torch-like frontend are made in stubs_torch.py, docstrings of the NumPy-like one
in numpy_docstrings.py. ``make docs`` runs it;
``python docs/stubs.py --check`` only tells whether the stubs are as it would write them, and the
tests do that.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import types
from pathlib import Path
from typing import Any, Final

import numpy as onp
import numpy_docstrings
import stubs_torch
from stubs_types import ALIASES, ARRAY_OR_TUPLE, OF_FUNCTIONS, OVERLOADS, PARAMETERS

import lazyloom_numpy as np

FOLDER: Final = Path(__file__).resolve().parents[1] / "frontends" / "lazyloom_numpy"
NOTICE: Final = "# Written by docs/stubs.py; do not edit.\n"

#: functions annotated ``Any`` whose result is not one array
RESULTS: Final = {
    "apply_over_axes": "ndarray", "array_split": "list[ndarray]", "broadcast_arrays":
    "tuple[ndarray, ...]", "einsum_path": "tuple[list[Any], str]", "load": "Any",
    "polydiv": "tuple[ndarray, ndarray]", "ix_": "tuple[ndarray, ...]", "polyfit": "Any",
    "poly": "ndarray", "can_cast": "bool", "result_type": "dtype[Any]",
    "promote_types": "dtype[Any]", "min_scalar_type": "dtype[Any]", "common_type": "type",
    "seterrcall": "Any", "geterrcall": "Any", "gradient": "Any", "average": "Any",
    "histogram": "tuple[ndarray, ndarray]", "intersect1d": "Any", "unique": "Any",
    "linspace": "Any", "iterable": "bool", "require": "ndarray", "meshgrid": "tuple[ndarray, ...]",
    "atleast_1d": "Any", "atleast_2d": "Any", "atleast_3d": "Any", "frompyfunc": "onp.ufunc",
    "get_printoptions": "dict[str, Any]", "printoptions": "Any", "set_printoptions": "None",
    "indices": "Any", "asnumpy": "onp.ndarray[Any, Any]", "isscalar": "bool", "issubdtype": "bool",
    "isdtype": "bool", "typename": "str", "lstsq": "tuple[ndarray, ndarray, ndarray, ndarray]",
    "svd": "Any", "qr": "Any", "eig": "EigResult", "eigh": "EighResult",
    "slogdet": "SlogdetResult",
    "real_if_close": "ndarray", "__array_namespace_info__": "Any", "genfromtxt": "Any",
    "loadtxt": "Any", "cov": "ndarray", "corrcoef": "ndarray",
}  # fmt: skip
_OF_MEMBERS: Final = {
    "dtype": "dtype[Any]", "item": "Any", "tolist": "Any", "view": "ndarray",
    "__getitem__": "ndarray", "__neg__": "ndarray", "__divmod__": "tuple[ndarray, ndarray]",
    "__rdivmod__": "tuple[ndarray, ndarray]", "__array_namespace__": "Any", "base": "Any",
    "__reduce__": "Any", "__array_ufunc__": "Any", "__array_function__": "Any",
    "__dlpack__": "Any", "flat": "flatiter", "device": "str", "__iter__": "Iterator[ndarray]",
}  # fmt: skip
_ORDER: Final = ("__lt__", "__le__", "__gt__", "__ge__")
_EQUALITY: Final = ("__eq__", "__ne__")
_OPERATORS: Final = tuple(
    f"__{prefix}{name}__" for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor",
        "lshift", "rshift") for prefix in ("", "r", "i"))  # fmt: skip


def typed(function: Any, p: inspect.Parameter) -> str:
    """The type of a parameter: by its annotation if that says something, else by its name."""
    known = p.annotation if p.annotation in ("bool", "int", "float", "str") else None
    if known is None:
        own = OF_FUNCTIONS.get(function.__name__, {})
        known = own.get(p.name) or PARAMETERS.get(p.name, "Any")
    has_none = known in ("Any", "object", "_Axes", "_Out") or known.endswith("| None")
    if p.default is None and not has_none:
        known += " | None"
    return re.sub(r"\bbool\b", "_bool", known)


def _fits(p: inspect.Parameter, known: str) -> bool:
    """Whether a parameter's default is of that type, which matters where that is a literal."""
    literal = re.fullmatch(r"Literal\[(.*)\]", known)
    return literal is None or p.default in ast.literal_eval(f"({literal[1]},)")


def parameters(function: Any, changed: dict[str, str] | None = None) -> str:
    """The parameters as a stub has them, defaults as dots.

    ``changed`` has types of some of them; one whose literal is not the default is given by name.
    """
    changed = changed or {}
    parts = []
    slash, star = False, False
    signature = inspect.signature(function)
    positional = [p for p in signature.parameters.values() if p.kind is p.POSITIONAL_ONLY]
    for p in signature.parameters.values():
        other = not _fits(p, changed.get(p.name, ""))
        if (p.kind is p.KEYWORD_ONLY or other) and not star:
            parts.append("*")
            star = True
        if p.kind is p.VAR_POSITIONAL:
            parts.append(f"*{p.name}: {typed(function, p)}")
            star = True
        elif p.kind is p.VAR_KEYWORD:
            parts.append(f"**{p.name}: Any")
        elif p.name == "self":
            parts.append("self")
        else:
            known = changed.get(p.name) or typed(function, p)
            given = p.default is p.empty or other
            parts.append(f"{p.name}: {known}" + ("" if given else " = ..."))
        if positional and p is positional[-1] and not slash:
            parts.append("/")
            slash = True
    return ", ".join(parts)


def returned(name: str, function: Any, space: dict[str, set[str]]) -> str:
    annotation = inspect.signature(function).return_annotation
    if name in RESULTS:
        text = RESULTS[name]
    elif annotation in ("Any", inspect.Signature.empty):
        text = "ndarray"
    else:
        text = str(annotation)
    return _named(text, function, space)


def _named(text: str, function: Any, space: dict[str, set[str]]) -> str:
    """A type as the stub has it; what it names of ours goes into ``space``."""
    for word in set(re.findall(r"\w+", text)):
        found = getattr(inspect.unwrap(function), "__globals__", {}).get(word)
        if isinstance(found, type) and found.__module__.startswith("lazyloom_numpy."):
            if word not in ("ndarray", "ScalarArray"):
                space.setdefault(found.__module__.partition(".")[2], set()).add(word)
    return re.sub(r"\bbool\b", "_bool", text)


def overloads(name: str, function: Any, space: dict[str, set[str]]) -> list[str]:
    """The lines of a function whose result depends on an argument."""
    lines = []
    for changed, result in OVERLOADS[name]:
        lines += ["@overload", f"def {name}({parameters(function, changed)}) -> "
                               f"{_named(result, function, space)}: ..."]
    return lines


def functions(module: Any, space: dict[str, set[str]], public: Any) -> list[str]:
    """A line for every function of the module that ``public``, NumPy's own, has too."""
    lines = []
    for name in sorted(vars(module)):
        thing = vars(module)[name]
        if public is not None and not hasattr(public, name):
            continue
        if name.startswith("_") and name != "__array_namespace_info__":
            continue
        if isinstance(thing, types.FunctionType) and thing.__module__.startswith("lazyloom_numpy"):
            result = returned(name, thing, space)
            if name in OVERLOADS and result != "ndarray":
                lines += overloads(name, thing, space)
            elif name in ARRAY_OR_TUPLE:
                lines += ["@overload", f"def {name}(ary: _Array, /) -> ndarray: ...", "@overload",
                          f"def {name}(a: _Array, b: _Array, /, *arys: _Array) -> "
                          "tuple[ndarray, ...]: ..."]
            else:
                lines.append(f"def {name}({parameters(thing)}) -> {result}: ...")
        elif isinstance(thing, np.ufunc):
            lines.append(f"{name}: _{'Function' if thing.nout == 1 else 'FunctionOfTwoResults'}")
    return lines


#: what is for ``isinstance`` and ``hasattr``, not for type checkers
_ASKED: Final = ("__class__", "__getattr__", "__torch_function__")


def members(cls: Any, space: dict[str, set[str]]) -> list[str]:
    """The methods, properties and operators of one of the frontend's classes."""
    lines = []
    seen: dict[str, Any] = {}
    for base in cls.__mro__:  # the runtime's class, which is compiled, speaks for itself
        if base.__module__.startswith("lazyloom_numpy"):
            for name, thing in vars(base).items():
                seen.setdefault(name, thing)
    for name in sorted(seen):
        thing = seen[name]
        if name.startswith("_") and not name.startswith("__") or name in _ASKED:
            continue
        if isinstance(thing, property):
            result = returned(name, thing.fget, space)
            lines += ["@property", f"def {name}(self) -> {_OF_MEMBERS.get(name, result)}: ..."]
            if thing.fset is not None:
                lines += [f"@{name}.setter", f"def {name}(self, value: Any) -> None: ..."]
        elif isinstance(thing, types.FunctionType) and name not in (
            *_OPERATORS, *_ORDER, *_EQUALITY):
            result = returned(name, thing, space)
            lines.append(f"def {name}({parameters(thing)}) -> {_OF_MEMBERS.get(name, result)}: ...")
    for name in (*_OPERATORS, *_ORDER):
        lines.append(f"def {name}(self, other: Any) -> ndarray: ...")
    if "__getitem__" not in seen:
        # the core's, which does not know what it makes
        lines.append("def __getitem__(self, key: Any) -> ndarray: ...")
    for name in _EQUALITY:
        lines.append(f"def {name}(self, other: Any) -> ndarray: ...  # type: ignore[override]")
    return [f"    {line}" for line in lines]


def _imports(space: dict[str, set[str]]) -> list[str]:
    return [f"from .{module} import {', '.join(f'{n} as {n}' for n in sorted(names))}"
            for module, names in sorted(space.items())]  # fmt: skip


def package() -> str:
    """The stub of ``lazyloom_numpy``."""
    space: dict[str, set[str]] = {"_indexing.flat": {"flatiter"}}
    lines = functions(np, space, None)
    array, scalar = members(np.ndarray, space), members(np.ScalarArray, space)
    own = [line for line in scalar if line not in array and "__hash__" not in line]
    borrowed, plain, modules = [], [], []
    for name in sorted(vars(np)):
        thing = vars(np)[name]
        if name.startswith("_") or name == "annotations" or name in ("ndarray", "ScalarArray"):
            continue
        if isinstance(thing, types.ModuleType) and thing.__name__.startswith("lazyloom_numpy."):
            if not thing.__name__.partition(".")[2].startswith("_"):
                modules.append(name)
        elif isinstance(thing, types.FunctionType):
            if not thing.__module__.startswith("lazyloom_numpy"):
                borrowed.append(name)
        elif isinstance(thing, np.ufunc):
            continue
        elif isinstance(thing, type):
            module = thing.__module__
            if getattr(onp, name, None) is thing:
                borrowed.append(name)
            elif module.startswith("lazyloom_numpy."):
                space.setdefault(module.partition(".")[2], set()).add(name)
            else:
                plain.append(f"{name}: Any")
        elif getattr(onp, name, None) is thing and hasattr(onp, name):
            borrowed.append(name)
        else:
            kind = type(thing).__name__
            plain.append(f"{name}: {kind if kind in ('float', 'str') else 'Any'}")
    borrowed = sorted(set(borrowed) - {"bool"})
    return "\n".join([
        NOTICE,
        "import os",
        "from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence",
        "from typing import IO, Any, Literal, SupportsIndex, TypeAlias, overload",
        "",
        "import lazyloom",
        "import numpy as onp",
        "from numpy import bool as _bool_of_numpy",
        "from numpy.typing import ArrayLike as _ArraysOfNumpy, DTypeLike as _DTypes",
        *[f"from numpy import {n} as {n}" for n in borrowed],
        "",
        *[f"from . import {n} as {n}" for n in sorted(modules)],
        *_imports(space),
        "",
        "from builtins import bool as _bool",
        "",
        "bool = _bool_of_numpy",
        *ALIASES,
        "__version__: str",
        "__array_api_version__: str",
        *plain,
        "",
        "class ndarray(lazyloom.Tensor):",
        *array,
        "",
        "class ScalarArray(ndarray):",
        *own,
        "    def __hash__(self) -> int: ...",
        "",
        "class _Function(ufunc):",
        "    def __call__(self, *args: Any, **kwargs: Any) -> ndarray: ...",
        "",
        "class _FunctionOfTwoResults(ufunc):",
        "    def __call__(self, *args: Any, **kwargs: Any) -> tuple[ndarray, ndarray]: ...",
        "",
        *lines,
        "",
    ])  # fmt: skip


def submodule(name: str) -> str:
    """The stub of ``lazyloom_numpy.<name>``."""
    module = getattr(np, name)
    space: dict[str, set[str]] = {}
    lines = functions(module, space, getattr(onp, name))
    own = space.pop(name, set())
    results = []
    for result in sorted(own):
        cls = getattr(module, result)
        results.append(f"class {result}(NamedTuple):")
        results += [f"    {field}: ndarray" for field in cls._fields]
    errors = [f"from numpy.linalg import {n} as {n}" for n in ("LinAlgError",) if n in vars(module)]
    return "\n".join([
        NOTICE, "from builtins import bool as _bool", "from collections.abc import Sequence",
        "from typing import Any, Literal, NamedTuple, SupportsIndex, overload", "",
        "from numpy.typing import DTypeLike as _DTypes", *errors, "",
        "from . import ndarray as ndarray, _Array, _Axes, _Ints, _Out, _Shape",
        *_imports(space), "", *results, "", *lines, "",
    ])  # fmt: skip


def stubs() -> dict[Path, str]:
    return {
        FOLDER / "__init__.pyi": package(), FOLDER / "fft.pyi": submodule("fft"),
        FOLDER / "linalg.pyi": submodule("linalg"),
        FOLDER / "docstrings.txt": numpy_docstrings.text(), **stubs_torch.stubs(NOTICE),
    }  # fmt: skip


def main() -> int:
    check = "--check" in sys.argv
    stale = [path.name for path, text in stubs().items()
             if not path.exists() or path.read_text() != text]  # fmt: skip
    if check and stale:
        print(f"not as docs/stubs.py writes them: {', '.join(stale)}; run make docs")
        return 1
    if not check:
        for path, text in stubs().items():
            path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
