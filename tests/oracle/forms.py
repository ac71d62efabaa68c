"""Every form in which a program runs, and how to have it run in that one.

``op_by_op``      op by op, by the kernels that an installation has: of C where it comes with them.
``numpy``       op by op, by kernels of NumPy alone, in a process of its own.
``compiled``       compiled by XLA, with the generators that are in use by default.
``again``       the same once more.
``matched``     recorded again and again, until its trace is matched with what it recorded before.
``captured``    as a captured function, from the call on at which nothing is recorded.
``padded``      by a program that was compiled for a larger extent.
``generators``  compiled whole with all code generators that there are, whatever the size.
``xla``         compiled whole by XLA alone.
``narrow``      whole, compiled for a processor with AVX2 and no more, in a process of its own.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
#: forms by what the environment of the process that they need has in addition
ELSEWHERE: Final = {
    "numpy": {"LAZYLOOM_WITHOUT": "c_kernels"},
    "narrow": {"XLA_FLAGS": "--xla_cpu_max_isa=AVX2"},
}
HERE: Final = (
    "op_by_op", "compiled", "again", "matched", "captured", "padded", "generators", "xla")
ALL: Final = (
    "op_by_op", "numpy", "compiled", "again", "matched", "captured", "padded", "generators", "xla",
    "narrow")
#: in which other code generators may take part
GENERATED: Final = {"compiled", "again", "matched", "captured", "generators", "narrow"}
#: what the form of a process of its own does there
DOES: Final = {"numpy": "op_by_op", "narrow": "compiled"}
#: calls after which a trace is known, and a function captured
CALLS: Final = 6
#: modules of XLA that are kept for the next form
MODULES: Final = 16
#: seconds that a compilation beside the program may take
LONG: Final = 120

Results = list[np.ndarray]


class NotThisForm(Exception):
    """The program does not run in this form; the text says why."""


@functools.cache
def compile_texts_once() -> None:
    """Have XLA compile no module again whose text is one of the last few.

    A program without a part that a generator takes is the same module with generators and without.
    """
    from lazyloom.backends.xla import jax_compat

    jax_compat.compile_text = functools.lru_cache(MODULES)(  # type: ignore[assignment]
        jax_compat.compile_text)


def run(program: Any, form: str) -> Results:
    """A program's results in a form of this process. Raises what it raises, or NotThisForm."""
    import lazyloom

    compile_texts_once()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if form == "op_by_op":
            from lazyloom.cache import memory

            # what was compiled runs whole
            memory.clear()
            with lazyloom.options(reproducible=False, compiled_beside=0):
                return program.run()
        if form in ("compiled", "again"):
            with lazyloom.options(reproducible=True):
                return program.run()
        return _OTHERS[form](program)


def _matched(program: Any) -> Results:
    import lazyloom

    function = program.function()
    found: Results = []
    with lazyloom.options(reproducible=False, compiled_beside=0):
        before = lazyloom.stats()["traces_matched"]
        for _ in range(CALLS):
            found = _read(program, function, program.tensors())
        if lazyloom.stats()["traces_matched"] == before:
            raise NotThisForm("its trace was not matched")
    return found


def _read(program: Any, function: Any, tensors: Any) -> Results:
    return [program.read(x) for x in function(*tensors)]


def _captured(program: Any) -> Results:
    import lazyloom

    captured = lazyloom.jit(program.function())
    found: Results = []
    with lazyloom.options(reproducible=False, compiled_beside=0):
        for _ in range(CALLS):
            found = _read(program, captured, program.tensors())
        if not captured.explain().runs:
            raise NotThisForm("it was not captured")
    return found


def _padded(program: Any) -> Results:
    """At two other extents first: from the third on, a program that was padded runs."""
    import lazyloom
    from lazyloom.cache import memory
    from lazyloom.errors import LoomError
    from lazyloom.execute import costs
    from lazyloom.execute.compiling import background
    from lazyloom.execute.padded import members

    marked = [k for k, i in enumerate(program.inputs) if "n" in i.shape]
    if not marked:
        raise NotThisForm("no extent of it varies")
    members.clear()
    # one that was compiled for the very extent would go before it
    memory.clear()
    stored = os.environ.get("LAZYLOOM_CACHE")
    os.environ["LAZYLOOM_CACHE"] = "0"
    largest = 24 if program.n + 2 <= 24 else 2 * program.n
    worth, part, slower = costs.WORTH, costs.PART, costs.SLOWER
    costs.WORTH, costs.PART, costs.SLOWER = 0.0, 0.0, float("inf")
    found: Results = []
    try:
        with lazyloom.options(reproducible=False, compiled_beside=64):
            for n in (program.n + 1, program.n - 1, program.n + 2, program.n):
                at = program._replace(n=n)
                tensors = at.tensors()
                for k in marked:
                    lazyloom.mark_dynamic(
                        tensors[k], program.inputs[k].shape.index("n"), max=largest)
                last = lazyloom.last_evaluation()
                try:
                    found = _read(program, at.function(), tensors)
                except LoomError as error:
                    # a divisor may be 0 there, which only reading says
                    if n == program.n:
                        raise
                    raise NotThisForm("it is none of another extent") from error
                background.wait(LONG)
            ran = [e for e in lazyloom.evaluations(16)
                   if last is None or e.number > last.number]
            if not any(e.form == "padded" for e in ran):
                raise NotThisForm(", ".join(
                    dict.fromkeys(str(f.refused) for f in members.known())) or "it was not padded")
    finally:
        costs.WORTH, costs.PART, costs.SLOWER = worth, part, slower
        os.environ.pop("LAZYLOOM_CACHE")
        if stored is not None:
            os.environ["LAZYLOOM_CACHE"] = stored
    return found


@contextlib.contextmanager
def _generators(*names: str) -> Iterator[None]:
    import lazyloom
    from lazyloom import codegen

    with codegen.use(*names), codegen.whatever_the_size(), lazyloom.options(reproducible=True):
        yield


def _with_generators(program: Any) -> Results:
    import lazyloom
    from lazyloom import codegen

    with _generators(*codegen.available()):
        before = lazyloom.last_evaluation()
        found = program.run()
        ran = [e for e in lazyloom.evaluations(16) if before is None or e.number > before.number]
        if not any(e.regions and e.regions.run for e in ran):
            raise NotThisForm("no generator takes any of it")
    return found


def _by_xla(program: Any) -> Results:
    with _generators("xla"):
        return program.run()


_OTHERS: Final = {
    "matched": _matched, "captured": _captured, "padded": _padded,
    "generators": _with_generators, "xla": _by_xla,
}  # fmt: skip


class Elsewhere:
    """A process that runs programs, with an environment of its own."""

    def __init__(self, form: str) -> None:
        environment = dict(os.environ)
        for variable, added in ELSEWHERE[form].items():
            environment[variable] = f"{environment.get(variable, '')} {added}".strip()
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *(p for p in sys.path if p)])
        self.form = form
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.oracle.forms"], env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)

    def run(self, program: Any) -> Results:
        """The results; raises the error that the program raised, or ConnectionError at its end."""
        try:
            pickle.dump((program, DOES[self.form]), self.process.stdin)  # type: ignore[arg-type]
            self.process.stdin.flush()  # type: ignore[union-attr]
            found = pickle.load(self.process.stdout)  # type: ignore[arg-type]
        except (EOFError, BrokenPipeError) as error:
            raise ConnectionError(f"the process ended with {self.process.wait(60)}") from error
        if isinstance(found, Exception):
            raise found
        results: Results = found
        return results

    def close(self) -> None:
        self.process.stdin.close()  # type: ignore[union-attr]
        self.process.wait(60)
        self.process.stdout.close()  # type: ignore[union-attr]


def serve() -> None:
    """Run what comes in until it ends."""
    given, out = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            program, form = pickle.load(given)
        except EOFError:
            return
        found: Any
        try:
            found = run(program, form)
        except Exception as error:
            found = RuntimeError(f"{type(error).__name__}: {error}")
        pickle.dump(found, out)
        out.flush()


if __name__ == "__main__":
    serve()
