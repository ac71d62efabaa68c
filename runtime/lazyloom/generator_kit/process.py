"""The checks in a process of their own, which may hang or end: what it was at is then named."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from ..codegen import faults, registry
from ..codegen.generator import Generator
from ..errors import ArgumentError
from ..interrupts import reraise_from_handler
from .checks import Item, items
from .programs import NothingToDo, Wrong

PASSED: Final = "passed"
FAILED: Final = "FAILED"
SKIPPED: Final = "skipped"
#: the seconds in which a process has to begin
START: Final = 300.0


class Outcome(NamedTuple):
    """What came of an item.

    Attributes:
        name: the item.
        state: PASSED, FAILED or SKIPPED.
        detail: what was found, or why it failed or was skipped.
    """

    name: str
    state: str
    detail: str


class Options(NamedTuple):
    """What is asked for.

    Attributes:
        generator: a name, a module, or "module:attribute".
        ops: the names of the ops that are looked at; empty for all.
        programs: how many random programs there are.
        timing: whether the times of each op are taken.
        limit: the seconds that an item may take.
        only: what the names of the items begin with that are checked; empty for all.
        functions: programs of the vendor's own, each as "module:function".
    """

    generator: str
    ops: tuple[str, ...] = ()
    programs: int = 20
    timing: bool = True
    limit: float = 120.0
    only: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()


def loaded(text: str) -> Generator:
    """Return the generator of a name, a module or "module:attribute", registered.

    A module has one subclass of Generator, or one object of such a class. Raises ArgumentError.
    """
    available = registry.available()
    if text in available:
        return available[text]
    module_name, _, attribute = text.partition(":")
    try:
        module = _imported(module_name)
    except ImportError as error:
        why = registry.unavailable().get(text)
        raise ArgumentError(
            f"codegen: there is no generator {text!r}{f' ({why})' if why else ''}, and no module "
            f"of that name ({error}); expected {', '.join(map(repr, available))}, a module, or "
            '"module:attribute"') from error
    if attribute:
        found = [getattr(module, attribute, None)]
    else:
        found = [v for v in vars(module).values() if isinstance(v, Generator) or (
            inspect.isclass(v) and issubclass(v, Generator) and not inspect.isabstract(v)
            and v.__module__ == module.__name__)]
    try:
        made = [v if isinstance(v, Generator) else v() for v in found if v is not None]
    except Exception as error:
        reraise_from_handler(error)
        raise ArgumentError(
            f"codegen: to make the generator of {text!r} raised {faults.told(error)}; give "
            f'"{module_name}:attribute" of what needs no arguments') from error
    if len(made) != 1 or not isinstance(made[0], Generator):
        raise ArgumentError(
            f"codegen: {text!r} has {len(made)} generators, expected one; give "
            f'"{module_name}:attribute", a generator, its class, or a function that makes it')
    registry.register(made[0])
    return made[0]


def _imported(name: str) -> Any:
    if not all(name.split(".")):
        raise ImportError(f"{name!r} is no module's name")
    return importlib.import_module(name)


def function_of(text: str) -> Callable[[], Any]:
    """Return the function that "module:function" names. Raises ArgumentError."""
    module, _, name = text.partition(":")
    try:
        function = getattr(_imported(module), name, None)
    except ImportError as error:
        raise ArgumentError(f"codegen: there is no program {text!r}: {error}") from error
    if not callable(function):
        raise ArgumentError(
            f'codegen: the program {text!r} is no function, expected "module:function", which is '
            "called without arguments and returns tensors")
    found: Callable[[], Any] = function
    return found


def outcomes(options: Options) -> Iterator[Outcome]:
    """Yield what comes of each item, from a process that is begun again where one ends it."""
    first = 0
    while first is not None:
        following: int | None = None
        for outcome, number in _of_process(options, first):
            yield outcome
            following = number
        first = following  # type: ignore[assignment]


def _of_process(options: Options, first: int) -> Iterator[tuple[Outcome, int | None]]:
    """Yield outcomes, and where another process is to go on; None at the end."""
    environment = {**os.environ, "LAZYLOOM_LOG": os.environ.get("LAZYLOOM_LOG", "0")}
    process = subprocess.Popen(
        [sys.executable, "-m", "lazyloom.generator_kit.process", json.dumps(options), str(first)],
        stdout=subprocess.PIPE, env=environment, text=True)
    assert process.stdout is not None
    lines: queue.Queue[str | None] = queue.Queue()

    def read(stream: Any) -> None:
        for line in stream:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, args=(process.stdout,), daemon=True).start()
    at: tuple[int, str] | None = None
    # the process starts, and asks for all samples
    limit = max(START, options.limit)
    try:
        while True:
            try:
                line = lines.get(timeout=limit)
            except queue.Empty:
                process.kill()
                process.wait()
                yield _ended(at, f"hangs: it took more than {limit:g} s")
                return
            if line is None:
                status = process.wait()
                if status:
                    yield _ended(at, _status(status))
                return
            said = json.loads(line)
            if said["state"] == "begins":
                at = said["number"], said["name"]
            elif said["state"] == "ready":
                limit = options.limit
            else:
                at = None
                yield Outcome(said["name"], said["state"], said["detail"]), None
    finally:
        with contextlib.suppress(OSError):
            process.kill()
        process.wait()
        process.stdout.close()


def _status(status: int) -> str:
    return f"ends the process by signal {-status}" if status < 0 else (
        f"ends the process with status {status}")


def _ended(at: tuple[int, str] | None, why: str) -> tuple[Outcome, int | None]:
    """Return the outcome of the item at which a process ended, and the next item."""
    if at is None:
        return Outcome("what it claims", FAILED, f"to ask for it {why}"), None
    return Outcome(at[1], FAILED, why), at[0] + 1


def _run(item: Item) -> Outcome:
    try:
        return Outcome(item.name, PASSED, item.check())
    except NothingToDo as nothing:
        return Outcome(item.name, SKIPPED, str(nothing))
    except Wrong as wrong:
        return Outcome(item.name, FAILED, str(wrong))
    except Exception as error:
        reraise_from_handler(error)
        return Outcome(item.name, FAILED, f"{type(error).__name__}: {error}")


def main(arguments: Sequence[str]) -> None:
    """Run the items from one on, and print a line of JSON at the begin and end of each."""
    # what a generator prints is no line of ours
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    name, ops, programs, timing, limit, only, functions = json.loads(arguments[0])
    options = Options(name, tuple(ops), programs, timing, limit, tuple(only), tuple(functions))
    generator = loaded(options.generator)
    whole = [item for item in items(
        generator, options.ops or None, options.programs, options.timing,
        {text: function_of(text) for text in options.functions})
        if not options.only or item.name.startswith(options.only)]
    print(json.dumps({"state": "ready"}), file=out)
    for number, item in list(enumerate(whole))[int(arguments[1]):]:
        print(json.dumps({"state": "begins", "number": number, "name": item.name}), file=out)
        outcome = _run(item)
        print(json.dumps(outcome._asdict()), file=out)


if __name__ == "__main__":
    main(sys.argv[1:])
