"""Docstrings of the NumPy-like frontend: their examples run, and what they say holds."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as onp
import pytest

import lazyloom_numpy as np

TEXT = Path(np.__file__).with_name("docstrings.txt").read_text()


def named(name: str) -> Any:
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part)
    return found


def names() -> list[str]:
    return [part.partition("\n")[0] for part in TEXT[2:].split("\n# ")]


def documented() -> Iterator[tuple[str, Any, str]]:
    """Functions and ufuncs with their docstrings as they are at run time."""
    for name in names():
        if not name.startswith("ndarray."):
            yield name, named(name), inspect.cleandoc(named(name).__doc__)


def examples() -> list[tuple[str, doctest.Example]]:
    parser = doctest.DocTestParser()
    return [(name, example) for name, _, text in documented()
            for example in parser.get_examples(text)]


def test_what_the_file_says_is_attached() -> None:
    assert len(names()) > 400
    for part in TEXT[2:].split("\n# "):
        name, _, docstring = part.partition("\n")
        assert inspect.getattr_static(named(name), "__doc__", None) or named(name).__doc__
        if not name.startswith("ndarray."):
            assert named(name).__doc__.rstrip("\n") == docstring.rstrip("\n")


def test_public_functions_and_ufuncs_are_all_there() -> None:
    there = {id(named(name)) for name in names()}
    for module, library in ((np, onp), (np.linalg, onp.linalg), (np.fft, onp.fft)):
        for name, thing in vars(module).items():
            own = isinstance(thing, FunctionType) and thing.__module__.startswith("lazyloom_numpy")
            if (own and hasattr(library, name) and name[0] != "_") or isinstance(thing, np.ufunc):
                assert id(thing) in there, name


@pytest.mark.op_by_op  # as for users, and without a program compiled for each
def test_examples_give_what_they_show_and_what_numpy_gives() -> None:
    found = examples()
    assert len(found) > 220
    checker = doctest.OutputChecker()
    for name, example in found:
        here = eval(example.source, {"np": np})
        assert checker.check_output(example.want, repr(here) + "\n", 0), (name, repr(here))
        with onp.errstate(all="ignore"):
            theirs = eval(example.source, {"np": onp})
        for ours, numpys in zip(_parts(here), _parts(theirs), strict=True):
            assert numpys.shape == ours.shape and numpys.dtype == ours.dtype, name
            if numpys.dtype.kind in "fc":
                onp.testing.assert_allclose(ours, numpys, rtol=1e-12, atol=1e-12, err_msg=name)
            elif numpys.dtype.kind != "O":
                onp.testing.assert_array_equal(ours, numpys, name)


def _parts(result: Any) -> list[Any]:
    """The arrays of a result, which may be several, or a number, a shape or a dtype."""
    if isinstance(result, (tuple, list)) and not all(isinstance(r, int) for r in result):
        return [onp.asarray(r) for r in result]
    return [onp.asarray(result)]


def test_parameters_are_those_of_the_signature() -> None:
    described = 0
    for name, thing, text in documented():
        section = re.search(r"^Args:\n((?: .*\n?)+)", text, re.MULTILINE)
        if section is None:
            continue
        given = re.findall(r"^    \*{,2}(\w+)(?:, \*{,2}\w+)*:", section[1], re.MULTILINE)
        described += 1
        there = {*inspect.signature(thing).parameters}
        assert given and set(given) <= there | {"axes", "correction"}, name
    assert described > 350


#: arguments of those that take none of the others' after their first
ARGUMENTS: dict[str, Any] = {
    "apply_along_axis": lambda x: np.apply_along_axis(np.sum, 7, x),
    "apply_over_axes": lambda x: np.apply_over_axes(np.sum, x, [7]),
    "compress": lambda x: np.compress([True], x, axis=7),
    "linalg.cross": lambda x: np.linalg.cross(np.ones((2, 3)), np.ones((2, 3)), axis=7),
    "swapaxes": lambda x: np.swapaxes(x, 7, 0),
}


def test_axes_out_of_range_raise_what_docstrings_say() -> None:
    tried = 0
    matrix = np.ones((2, 2), dtype=np.uint8)
    for name, thing, text in documented():
        said = re.search(r"(\w+): there is no such axis\.", text)
        if said is None:
            continue
        kind = {"AxisError": np.AxisError, "IndexError": IndexError, "ValueError": ValueError}
        if name in ARGUMENTS:
            calls = [lambda f=ARGUMENTS[name]: f(matrix)]
        else:
            parameters = inspect.signature(thing).parameters
            required = [p for p in parameters.values() if p.default is p.empty and p.kind in (
                p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name != "axis"]
            given = [matrix, *[1] * (len(required) - 1)]
            calls = [lambda k=k, v=v, f=thing, a=given: f(*a, **{k: v})
                     for k in ("axis", "axes", "axis1") if k in parameters for v in (7, (0, 7))]
        raised = []
        for call in calls:
            try:
                call()
            except Exception as error:
                raised.append(type(error))
        # of an axis and of a pair of them, one may be of the wrong type
        assert kind[said[1]] in raised, (name, said[1], raised)
        tried += 1
    assert tried > 90


@pytest.mark.once("is about the interpreter's options")
def test_without_docstrings_none_are_attached() -> None:
    code = "import lazyloom_numpy as np; print(np.sin.__doc__ is None or 'Args' in np.sin.__doc__)"
    for flag, expected in (("-OO", "False"), ("-O", "True")):
        done = subprocess.run(
            [sys.executable, flag, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected, flag
