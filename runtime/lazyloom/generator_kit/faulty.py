"""Generators that fail, made of one that works."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..codegen.generator import Code, Generator, PythonCode, Region


def _build_fails(region: Region) -> Code:
    raise RuntimeError("injected: the build fails")


def _run_fails(region: Region) -> Code:
    def run(*arrays: Any) -> Any:
        raise RuntimeError("injected: the run fails")

    return PythonCode(run)


def _wrong_shape(region: Region) -> Code:
    results = region.in_memory()[len(region.operands):]

    def run(*arrays: Any) -> Any:
        return tuple(np.zeros((*shape, 2), t.dtype.numpy) for t, shape in results)

    return PythonCode(run)


def _wrong_count(region: Region) -> Code:
    return PythonCode(lambda *arrays: ())


def _wrong_values(region: Region) -> Code:
    results = region.in_memory()[len(region.operands):]

    def run(*arrays: Any) -> Any:
        return tuple(np.full(shape, 77, t.dtype.numpy) for t, shape in results)

    return PythonCode(run)


def _no_code(region: Region) -> Any:
    return None


#: by name: what builds instead of the generator, and when the failure is noticed
FAULTS: Final[dict[str, tuple[Callable[[Region], Code], str]]] = {
    "the build fails": (_build_fails, "build"),
    "the build gives no code": (_no_code, "build"),
    "the run fails": (_run_fails, "run"),
    "a result of the wrong shape": (_wrong_shape, "run"),
    "too few results": (_wrong_count, "run"),
    "wrong values": (_wrong_values, "verify"),
}


def faulty(generator: Generator, build: Callable[[Region], Code]) -> Generator:
    """Return a generator that claims what another does, and builds something else.

    Its name ends in ``.faulty``.
    """
    given = copy.copy(generator)
    methods = {
        "build": lambda self, region: build(region), "constants": lambda self, region: (),
        "name": f"{generator.name}.faulty", "__slots__": ()}
    given.__class__ = type("Faulty", (type(generator),), methods)
    if given.name == generator.name:
        given.name = f"{generator.name}.faulty"
    return given
