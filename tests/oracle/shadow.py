"""A backend whose arrays are numbers with bounds, in a process of its own that answers programs.

A process runs on one backend. So what is asked is sent to another one as a pickle
(:meth:`Shadows.ask`), which records the same program and interprets it.
"""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lazyloom import Backend, OpDef, TensorType
from lazyloom.backends import Baked, Executable, Leaf, Request, ScalarSlot

from . import interpreter
from .shades import Shade, shade_of

ROOT = Path(__file__).resolve().parents[2]


class Interpreted(Executable):
    """A program, interpreted each time that it runs."""

    __slots__ = ("request",)

    def __init__(self, request: Request) -> None:
        self.request = request
        self.run = self._run
        self.direct = False
        self.needs = 0
        self.timings = {"lower": 0.0, "compile": 0.0}

    def serialize(self) -> bytes:
        raise ValueError("a shadow's programs are not kept")

    def _run(self, *arguments: Any) -> list[Any]:
        structure, outputs = self.request.structure, self.request.outputs
        leaves = arguments[: len(structure.leaf_types)]
        scalars = dict(zip(structure.scalar_counts, arguments[len(leaves) :], strict=True))
        results: list[list[Shade]] = []

        def operand(item: Any) -> Shade | None:
            if item is None:
                return None
            if isinstance(item, ScalarSlot):
                return scalars[item.dtype].moved(lambda a: a[item.ordinal])
            if isinstance(item, Baked):
                with np.errstate(all="ignore"):
                    return shade_of(np.asarray(item.number).astype(item.dtype.numpy))
            if isinstance(item, Leaf):
                found: Shade = leaves[item.number]
                return found
            return results[item.instruction][item.number]

        for i in structure.instructions:
            results.append(
                interpreter.op(i.spec, i.operand_types, [operand(o) for o in i.operands]))
        return [results[n][r] for n, r in outputs]


class Shadow(Backend):
    """The backend of a shadow.

    Attributes:
        read: the array that was read last.
    """

    name: ClassVar[str] = "shadow"

    def __init__(self) -> None:
        self.read: Shade | None = None

    def compile(self, request: Request) -> Executable:
        return Interpreted(request)

    def load(self, data: bytes, request: Request) -> Executable:
        raise ValueError("a shadow's programs are not kept")

    def upload(self, array: Any) -> Any:
        return shade_of(np.array(array))

    def download(self, array: Any) -> Any:
        self.read = array
        return np.array(array.rounded(), order="C")

    def copy(self, array: Any) -> Any:
        return array

    def fingerprint(self) -> str:
        return "shadow"

    def describe(self) -> Mapping[str, str]:
        return {"platform": "cpu", "device": "cpu: shadow"}

    def lowered_types(
        self, op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
    ) -> tuple[TensorType, ...]:
        from tests.runtime.numpy_backend import _types_by_definition

        return _types_by_definition(op, types, attrs)



class Shadows:
    """The process that answers what a program may compute."""

    def __init__(self) -> None:
        self.process: Any = None

    def ask(self, program: Any, means: str = "exact") -> None:
        """Send a program; its shadow is made while this process runs the program's forms.

        Args:
            program: what is asked about.
            means: "exact" where they are taken off, as the contract has them, or "rounded".
        """
        if self.process is None:
            environment = {
                **os.environ, "LAZYLOOM_BACKEND": "tests.oracle.shadow:Shadow",
                "LAZYLOOM_CACHE": "0", "LAZYLOOM_REPRODUCIBLE": "1",
                "PYTHONPATH": os.pathsep.join([str(ROOT), *(p for p in sys.path if p)])}
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.oracle.shadow"], env=environment,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
        pickle.dump((program, means), self.process.stdin)
        self.process.stdin.flush()

    def answer(self) -> list[Shade] | str:
        """The shadow of each result of the program; the text of its error where it raised one."""
        found = pickle.load(self.process.stdout)
        if isinstance(found, str):
            return found
        return [Shade(dtype, v, e) for dtype, v, e in found]

    def close(self) -> None:
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait(60)
            self.process.stdout.close()
            self.process = None


def answer(program: Any) -> Any:
    """The shadows of a program's results, or the text of its error."""
    from lazyloom.backends.selection import backend

    shadow: Any = backend()
    try:
        found = []
        for result in program.record():
            shadow.read = None
            program.read(result)
            x = shadow.read
            if x is None:
                # a constant that no program computed
                x = shade_of(program.read(result))
            found.append((x.dtype, x.v, np.array(x.e)))
        return found
    except Exception as error:
        if os.environ.get("ORACLE_TRACEBACKS"):
            import traceback

            traceback.print_exc()
        return f"{type(error).__name__}: {error}"


def serve() -> None:
    """Answer what comes in until it ends."""
    warnings.simplefilter("ignore")
    given, given_out = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # what libraries print must not come between
    os.dup2(2, 1)
    while True:
        try:
            program, means = pickle.load(given)
        except EOFError:
            return
        interpreter.exact_means = means == "exact"
        pickle.dump(answer(program), given_out)
        given_out.flush()


if __name__ == "__main__":
    importlib.import_module("tests.oracle.shadow").serve()
