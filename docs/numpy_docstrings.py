"""Write the docstrings of the NumPy-like frontend: ``lazyloom_numpy/docstrings.txt``.

A docstring has the summary of the source, the parameters of the signature, with what is known of
each name (numpy_documented.py), the result, errors, and examples, which are run while this is
written. ``docs/stubs.py`` calls it; ``lazyloom_numpy`` reads the file when it is imported.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
import types
from pathlib import Path
from typing import Any, Final

import numpy as onp
from numpy_documented import EXAMPLES, OF_FUNCTIONS, PARAMETERS, RETURNS
from numpy_elementwise import UFUNCS

import lazyloom_numpy as np
from lazyloom_numpy import linalg

#: the parameters of every ufunc beside its operands
_CALLS: Final = {
    "out": "an array, or a tuple of them, written in place and returned.",
    "where": "a mask, broadcast to the operands; elsewhere the result is as ``out`` was, or open.",
    "casting": "which casts are allowed: no, equiv, safe, same_kind or unsafe.",
    "order": "the memory order, which decides strides.",
    "dtype": "the dtype that is computed in; None for the one that NumPy chooses.",
}
#: properties of arrays
_PROPERTIES: Final = {
    "T": "The array with its axes reversed: a view.",
    "base": "The array that this one is a view of, or None.",
    "dtype": "The dtype of the elements, a ``numpy.dtype``; setting it reads the bytes anew.",
    "flags": "Whether the array is contiguous, writeable, and owns its data.",
    "flat": "An iterator over the elements in C order, which can be indexed and assigned.",
    "imag": "The imaginary part: a view of a complex array, else read-only zeros.",
    "itemsize": "The size of an element in bytes.",
    "mT": "The array with its last two axes swapped: a view. ValueError below two dimensions.",
    "nbytes": "The size of all elements in bytes.", "ndim": "The number of dimensions.",
    "real": "The real part: a view of a complex array, else the array itself.",
    "shape": "The size of each axis, a tuple of ints; known before anything runs.",
    "size": "The number of elements.",
    "strides": "For each axis the bytes from an element to the next.",
    "tensor_type": "The runtime's type: shape, dtype and placement.",
}  # fmt: skip
#: methods that no function of that name describes
_METHODS: Final = {
    "astype": "The array in another dtype; a copy unless ``copy`` is False and it has that dtype.",
    "choose": "For each element the choice of that number.",
    "compress": "The slices along an axis whose condition is true; reads how many.",
    "conj": "The complex conjugate; the array itself if it is real.",
    "fill": "Write one value to every element, in place.",
    "flatten": "A one-dimensional copy.",
    "partition": "Put the kth element in its sorted place, in place (the axis is sorted).",
    "resize": "Change the shape and size in place; new elements are zero.",
    "setflags": "Set whether the array can be written to.",
    "sort": "Sort along an axis, in place; NaN last.",
    "tobytes": "The bytes of the elements in C order, or in Fortran order for \"F\"; reads.",
    "tolist": "The elements as Python numbers in nested lists; reads.",
}


@functools.cache
def _documented(path: str) -> dict[int, str]:
    """The docstrings of a module's functions, by the line on which each begins."""
    found = {}
    for node in ast.walk(ast.parse(Path(path).read_text())):
        if isinstance(node, ast.FunctionDef):
            line = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found[line] = ast.get_docstring(node) or ""
    return found


def in_source(thing: Any) -> str:
    """A function's docstring in the source, not the one that it was given from the file."""
    code = inspect.unwrap(thing).__code__
    return _documented(code.co_filename).get(code.co_firstlineno, "")


def shown(code: str) -> str:
    """An expression with its value, as the prompt of Python shows them."""
    value = repr(eval(code, {"np": np}))
    return f">>> {code}\n{value}"


def _wrapped(name: str, text: str) -> str:
    return textwrap.fill(f"{name}: {text}", 96, initial_indent="    ", subsequent_indent=" " * 8)


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", f"{title}:", *lines] if lines else []


#: what an axis out of range raises where it is no AxisError, as with NumPy
_OF_AXES: Final = {
    "split": "IndexError", "fft.fftshift": "AxisError", "fft.ifftshift": "AxisError",
    "linalg.cross": "IndexError", "linalg.tensorsolve": "ValueError",
}


def _errors(key: str, names: set[str]) -> list[str]:
    errors = []
    if names & {"axis", "axes", "axis1"}:
        kind = _OF_AXES.get(key, "IndexError" if key.startswith("fft.") else "AxisError")
        errors.append(f"    {kind}: there is no such axis.")
    if "out" in names:
        errors.append("    TypeError: ``out`` is no array, or the result cannot be cast to it.")
    return errors


def function(key: str, thing: Any) -> str:
    """The docstring of a function."""
    source = in_source(thing)
    signature = inspect.signature(thing)
    lines = []
    for p in signature.parameters.values():
        text = OF_FUNCTIONS.get(key, {}).get(p.name) or PARAMETERS.get(p.name)
        if text is not None and "Args:" not in source:
            star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
            lines.append(_wrapped(star + p.name, text))
    returns = RETURNS.get(key)
    examples = [line for code in EXAMPLES.get(key, ()) for line in shown(code).splitlines()]
    parts = [source, *_section("Args", lines)]
    if returns is not None:
        parts += _section("Returns", textwrap.wrap(
            returns, 96, initial_indent="    ", subsequent_indent="    "))
    if "Raises" not in source:
        parts += _section("Raises", _errors(key, set(signature.parameters)))
    parts += _section("Example", ["", *(f"    {line}" for line in examples)] if examples else [])
    return "\n".join(parts)


#: dtypes of which a ufunc's docstring says what they give
_SAMPLED: Final = ("bool", "int64", "float32", "complex64")


def _dtypes(thing: Any) -> str:
    """What a ufunc gives for some dtypes, found by asking it."""
    given = []
    for name in _SAMPLED:
        ones = [np.ones((1,), dtype=name)] * thing.nin
        if thing.signature is not None:
            ones = [np.ones((1,) * s.count(",") + (1,), dtype=name)
                    for s in thing.signature.partition("->")[0].split("),")]
        try:
            with onp.errstate(all="ignore"):
                found = thing(*ones)
        except TypeError:
            continue
        first = found[0] if isinstance(found, tuple) else found
        given.append(f"{first.dtype} for {name}")
    return ", ".join(given)


def ufunc(thing: Any) -> str:
    """The docstring of a ufunc."""
    if thing.__name__ not in UFUNCS:
        raise SystemExit(f"the ufunc {thing.__name__} has no line in numpy_elementwise.py: add "
                         "its summary and arguments for an example")
    summary, arguments = UFUNCS[thing.__name__]
    names = ["x"] if thing.nin == 1 else ["x1", "x2"]
    lines = [_wrapped(n, PARAMETERS[n]) for n in names]
    plain = thing.signature is None
    lines += [_wrapped(n, t) for n, t in _CALLS.items() if plain or n != "where"]
    arrays = "an array" if thing.nout == 1 else "a tuple of two arrays"
    shape = f" of the {'operand' if thing.nin == 1 else 'operands'}'s shape"
    if thing.nin == 2:
        shape = " of the operands' broadcast shape"
    if not plain:
        shape = f"; the axes are those of {thing.signature}, after broadcasting the others"
    returns = f"{arrays}{shape}; of dtype {_dtypes(thing)}."
    call = f"np.{thing.__name__}({arguments})"
    return "\n".join([
        textwrap.fill(f"{summary} See ``numpy.{thing.__name__}``.", 100), *_section("Args", lines),
        *_section("Returns", textwrap.wrap(
            returns, 96, initial_indent="    ", subsequent_indent="    ")),
        *_section("Raises", [
            "    TypeError: there is no loop for the operands' dtypes, or a cast is not allowed.",
            "    ValueError: the shapes cannot be broadcast."]),
        *_section("Example", ["", *(f"    {line}" for line in shown(call).splitlines())])])


def methods() -> dict[str, str]:
    """The docstrings of the methods and properties of ``ndarray`` that have none in the source."""
    written = {}
    for name, thing in vars(np.ndarray).items():
        described = _PROPERTIES.get(name) if isinstance(thing, property) else _METHODS.get(name)
        if described is not None:
            written[name] = described
        elif isinstance(thing, types.FunctionType) and name[0] != "_" and not in_source(thing):
            of = getattr(np, name, None)
            if isinstance(of, types.FunctionType):
                summary = in_source(of).partition("\n\n")[0]
                summary = re.sub(r"\s*See\s+(``numpy\.[\w.]+``|NumPy's( ``\w+``)?)\.", "", summary)
                written[name] = f"{summary} As the function ``lazyloom_numpy.{name}``."
    return {name: textwrap.fill(text, 100) for name, text in written.items()}


def public(module: Any, library: Any) -> dict[str, Any]:
    """The functions of a module that NumPy's module of that name has, too."""
    return {
        name: thing for name, thing in sorted(vars(module).items())
        if isinstance(thing, types.FunctionType) and hasattr(library, name) and name[0] != "_"
        and thing.__module__.startswith("lazyloom_numpy")}


def text() -> str:
    """The text of the file: a line ``# name`` before each docstring."""
    written = {}
    done = set()
    for prefix, module, library in (
        ("", np, onp), ("linalg.", linalg, onp.linalg), ("fft.", np.fft, onp.fft)
    ):
        for name, thing in public(module, library).items():
            if id(thing) not in done:
                done.add(id(thing))
                written[prefix + name] = function(prefix + name, thing)
    for name, thing in sorted(vars(np).items()):
        if isinstance(thing, np.ufunc) and name == thing.__name__:
            written[name] = ufunc(thing)
    written |= {f"ndarray.{name}": doc for name, doc in methods().items()}
    return "".join(f"# {name}\n{doc}\n" for name, doc in sorted(written.items()))
