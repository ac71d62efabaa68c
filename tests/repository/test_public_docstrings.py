"""What ``help()`` and completion show of public names, in whatever core is installed."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from docs.pages import as_users_have_it

#: modules whose ``__all__`` are the public names of the runtime
RUNTIME = ("lazyloom", "lazyloom.capture", "lazyloom.distributed", "lazyloom.frontend",
           "lazyloom.ops", "lazyloom.quantization", "lazyloom.backends")
#: modules whose own names are public
MODULES = (
    "lazyloom.launcher",
    "lazyloom_numpy", "lazyloom_numpy.linalg", "lazyloom_numpy.fft", "lazyloom_numpy.random",
    "lazyloom_numpy.emath", "lazyloom_torch", "lazyloom_torch.nn", "lazyloom_torch.optim",
    "lazyloom_torch.nn.functional", "lazyloom_torch.linalg", "lazyloom_torch.fft",
    "lazyloom_torch.special")
CLASSES = (
    lazyloom.Tensor, lazyloom.Evaluation, lazyloom.Program, lazyloom.Storage, lazyloom.Mesh,
    lazyloom.Placement, lazyloom.DType, lazyloom.TensorType, lazyloom.OpDef, lazyloom.Value,
    lazyloom.Site, np.ndarray, np.ufunc, torch.Tensor, torch.nn.Module, torch.optim.Optimizer)

#: the names of these say what they are; that they have no docstring is no omission
UNDESCRIBED = {"annotations", "newaxis"}


def _has_text(thing: Any) -> bool:
    text = inspect.getdoc(thing)
    return bool(text and text.strip()) and "mypyc filler" not in str(text)


def _has_signature(thing: Any) -> bool:
    """Whether ``help()`` shows parameters; NumPy's and Python's own objects may have none."""
    module = str(getattr(thing, "__module__", None))
    if not module.startswith("lazyloom"):
        return True
    if isinstance(thing, type) and issubclass(thing, BaseException):
        return True
    try:
        inspect.signature(thing)
    except (TypeError, ValueError):
        return False
    return True


def _is_ours(name: str, module: ModuleType) -> bool:
    """Whether a name belongs to a module of a frontend, and was not imported for its own use."""
    found = getattr(module, name)
    return not isinstance(found, ModuleType) and callable(found) and (
        str(getattr(found, "__module__", "")).startswith(module.__name__))


def missing(names: list[tuple[str, Any]]) -> list[str]:
    """The names that ``help()`` says nothing of, or without parameters."""
    found = []
    for name, thing in names:
        if name.rpartition(".")[2] in UNDESCRIBED:
            continue
        if not _has_text(thing):
            found.append(f"{name}: no docstring")
        elif callable(thing) and not _has_signature(thing):
            found.append(f"{name}: no signature")
    return found


@pytest.mark.parametrize("name", RUNTIME)
def test_public_names_of_the_runtime_have_docstrings_and_signatures(name: str) -> None:
    module = importlib.import_module(name)
    assert _has_text(module)
    names = [(f"{name}.{n}", getattr(module, n)) for n in module.__all__]
    assert len(names) > 2 and not missing(names)


@pytest.mark.parametrize("name", MODULES)
def test_public_names_of_modules_have_docstrings_and_signatures(name: str) -> None:
    module = importlib.import_module(name)
    names = [(f"{name}.{n}", getattr(module, n)) for n in dir(module)
             if not n.startswith("_") and _is_ours(n, module)]
    assert len(names) > 2 and not missing(names)


def _properties(cls: type) -> list[str]:
    """The properties of a class in its source: where it is compiled, they are getters in C."""
    folder = Path(importlib.import_module(cls.__module__.partition(".")[0]).__file__ or "").parent
    path = folder.joinpath(*cls.__module__.split(".")[1:])
    text = path.with_suffix(".py").read_text() if not path.is_dir() else ""
    return [
        member.name for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef) and node.name == cls.__name__ for member in node.body
        if isinstance(member, ast.FunctionDef) and member.name[0] != "_"
        and any(ast.unparse(d) == "property" for d in member.decorator_list)]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: f"{c.__module__}.{c.__qualname__}")
def test_methods_and_properties_have_docstrings_and_signatures(cls: type) -> None:
    names = [(f"{cls.__qualname__}.{name}", inspect.getattr_static(cls, name))
             for name in _properties(cls)]
    for name in dir(cls):
        thing = inspect.getattr_static(cls, name)
        # an attribute is described by the class's docstring
        if not name.startswith("_") and (
            isinstance(thing, (property, classmethod, staticmethod)) or callable(thing)
        ):
            thing = thing if isinstance(thing, property) else getattr(cls, name)
            names.append((f"{cls.__qualname__}.{name}", thing))
    assert names and not missing(names)


#: runs the examples of names of the runtime: some set what holds for the whole process
EXAMPLES = """
import doctest, inspect, sys
import numpy
import lazyloom
import lazyloom_numpy as np

runner = doctest.DocTestRunner()
for name in lazyloom.__all__:
    text = inspect.getdoc(getattr(lazyloom, name)) or ""
    names = {"lazyloom": lazyloom, "np": np, "numpy": numpy}
    runner.run(doctest.DocTestParser().get_doctest(text, names, name, None, None))
print(runner.tries)
sys.exit(bool(runner.failures))
"""


def test_examples_of_the_runtime_give_what_they_show() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EXAMPLES], env=as_users_have_it(os.environ), capture_output=True,
        text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout) > 200


def test_every_function_and_class_of_the_runtime_has_an_example() -> None:
    functions = [name for name in lazyloom.__all__ if callable(getattr(lazyloom, name))]
    without = [name for name in functions
               if ">>> " not in (inspect.getdoc(getattr(lazyloom, name)) or "")]
    assert len(functions) > 80 and not without


def test_named_tuples_of_the_core_have_docstrings() -> None:
    """mypyc makes them without; their docstrings are written into the C."""
    from lazyloom.backends import Instruction, Leaf, Result, ScalarSlot

    for cls in (Instruction, Leaf, Result, ScalarSlot, lazyloom.ops.Access):
        assert _has_text(cls), cls


@pytest.mark.parametrize("module", (lazyloom, np, torch), ids=lambda m: m.__name__)
def test_dir_shows_public_names_alone(module: ModuleType) -> None:
    names = dir(module)
    assert all(hasattr(module, n) for n in names)
    internal = [n for n in names if n.startswith("_") and not n.startswith("__")]
    modules = [n for n in names if isinstance(getattr(module, n), ModuleType)
               and getattr(module, n).__name__ not in (f"{module.__name__}.{n}", module.__name__)]
    allowed = {"exceptions", "dtypes", "emath", "core", "char", "rec", "ma", "ctypeslib"}
    assert not internal and not set(modules) - allowed
    assert not {"Any", "Sequence", "annotations", "TAKES_OUT", "trace", "settings"} & set(names) - (
        {"trace"} if module is not lazyloom else set())
