"""No array is computed by NumPy on the host: every use of NumPy's functions has a reason.

Types, constants and the functions of ``EVERYWHERE`` may be used in any module of the frontend;
all others stand in ``HERE``, each with why it is not the computation of a result.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as onp

import lazyloom_numpy

FOLDER = Path(lazyloom_numpy.__file__).parent

EVERYWHERE = {
    "what a dtype is and where it promotes": {
        "dtype", "finfo", "iinfo", "result_type", "can_cast", "min_scalar_type", "common_type"},
    "shapes, of which NumPy knows the rules": {
        "broadcast_shapes", "ndim", "shape", "isscalar", "ndindex"},
    "lists and numbers become host arrays, which are copied to the device": {
        "array", "asarray", "atleast_1d", "ascontiguousarray"},
}  # fmt: skip

#: why: module: names
HERE: dict[str, dict[str, set[str]]] = {
    "no data, only its dtype, so that NumPy says what its loop gives": {
        "dtypes": {"empty", "add"}, "ufunc": {"empty"}},
    "positions that the host was given, as lists or slices": {
        "inserting": {"arange", "delete", "flatnonzero"}, "selecting": {
            "arange", "repeat", "flatnonzero", "zeros"},
        "counting": {"nonzero"}, "keys": {"zeros"}, "flat": {"zeros"},
        "ufunc_methods": {"arange", "argsort", "empty_like", "flatnonzero",
                           "searchsorted"}},
    "how a polynomial's coefficients begin, read for the result's shape": {
        "_polynomials": {"flatnonzero", "isclose"}},
    "a list of what pandas looks at, which it holds as objects": {"pandas": {"empty"}},
    "printing": {
        "protocols": {"array2string", "array_repr", "array_str"}, "text": {
            "base_repr", "binary_repr", "format_float_positional", "format_float_scientific"},
        "_polynomials": {"poly1d"}},
    "files, of NumPy's own formats": {
        "files": {"load", "loadtxt", "genfromtxt", "save", "savetxt", "savez",
                   "savez_compressed", "fromfile", "fromstring", "asfortranarray"}},
    "foreign memory, copied to the device": {
        "creation": {"frombuffer", "fromiter"},
        "protocols": {"copyto", "from_dlpack"}},
    "positions of elements, counted on the host, and memory of no meaning to count them in": {
        "iterators": {"empty", "unravel_index"}},
    "NumPy's own class is told from one that defines the protocol": {
        "subclasses": {"ndarray.__array_ufunc__"}, "convert": {"ndarray.__array_ufunc__"}},
    "a ufunc of a Python function, which NumPy calls": {"vectorize": {"frompyfunc"}},
    "a matrix, which is NumPy's own": {"hosted": {"bmat"}},
    "untouched memory of the same strides, to ask NumPy what overlaps": {
        "memory": {"empty", "reshape", "broadcast_to", "shares_memory", "may_share_memory",
                    "lib.stride_tricks.as_strided"}},
    "the order of a contraction, from shapes alone": {
        "products": {"einsum_path", "zeros", "broadcast_to"}},
    "flags of what went wrong, when a result is read": {"errstate": {"bitwise_or.reduce"}},
    "NumPy's own function arrived by the protocol": {"protocols": {"_core.umath.clip"}},
    "parameters of distributions that the host was given are checked": {
        "_checks": {"abs", "all", "allclose", "any", "count_nonzero", "greater", "greater_equal",
                    "isfinite", "isnan", "less", "less_equal", "linalg.eigvalsh", "max",
                    "signbit", "subtract"},
        "_distributions": {"add", "all", "any", "equal", "greater_equal", "less", "less_equal",
                           "sum"},
        "_generator": {"all", "any", "prod", "sum"}, "_legacy": {"any", "greater"}},
    "strings and objects, which NumPy alone has, drawn and shuffled by positions that are read": {
        "_generator": {"arange", "copyto", "take"}},
}  # fmt: skip


def _uses(tree: ast.AST) -> set[str]:
    """Full names of what is taken from NumPy, such as ``linalg.eigvalsh``."""
    found, inner = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node not in inner:
            parts, base = [node.attr], node.value
            while isinstance(base, ast.Attribute):
                inner.add(base)
                parts.append(base.attr)
                base = base.value
            if isinstance(base, ast.Name) and base.id in ("onp", "_onp", "numpy"):
                found.add(".".join(reversed(parts)))
        elif isinstance(node, ast.ImportFrom) and node.module == "numpy":
            found |= {alias.name for alias in node.names}
    return found


def _computes(name: str) -> bool:
    """Whether a name of NumPy's is a function, not a type, constant or module."""
    value: Any = onp
    for part in name.split("."):
        value = getattr(value, part)
    return callable(value) and not isinstance(value, type)


#: what the namespace passes on as it is: no function of arrays
PASSED_ON = {"get_printoptions", "isdtype", "issubdtype", "iterable", "printoptions",
             "set_printoptions", "typename", "isscalar"}  # fmt: skip


def _allowed(module: str) -> set[str]:
    everywhere = set().union(*EVERYWHERE.values())
    here = [names.get(module, set()) for names in HERE.values()]
    return everywhere.union(*here) | (PASSED_ON if module == "__init__" else set())


MODULES = sorted(FOLDER.rglob("*.py"))


def test_numpy_computes_nothing_on_the_host() -> None:
    unlisted = {}
    for path in MODULES:
        used = {name for name in _uses(ast.parse(path.read_text())) if _computes(name)}
        left = used - _allowed(path.stem)
        if left:
            unlisted[str(path.relative_to(FOLDER))] = sorted(left)
    assert not unlisted


def test_the_list_has_nothing_left_over() -> None:
    used: dict[str, set[str]] = {}
    for path in MODULES:
        used.setdefault(path.stem, set()).update(_uses(ast.parse(path.read_text())))
    stale = {module: sorted(names - used.get(module, set()))
             for table in HERE.values() for module, names in table.items()
             if names - used.get(module, set())}  # fmt: skip
    assert not stale


def test_a_use_is_seen() -> None:
    assert _uses(ast.parse("f = onp.linalg.inv\nonp.sum(x).T")) == {"linalg.inv", "sum"}
    assert _computes("linalg.inv") and not _computes("float64") and not _computes("pi")
