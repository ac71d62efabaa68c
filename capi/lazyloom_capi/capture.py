"""The entries of capture: what is recorded between two calls becomes a program that runs again."""

from __future__ import annotations

from threading import RLock, get_ident
from typing import Any
from weakref import WeakSet

from _lazyloom_abi import ffi  # type: ignore[import-not-found]

import lazyloom
from lazyloom import capture
from lazyloom.errors import (
    AliasError,
    ArgumentError,
    DTypeError,
    GradientError,
    HandleError,
    LoomError,
    ReadForbiddenError,
    ShapeError,
)

from . import handles
from .handles import CAPTURE, TENSOR
from .serving import (
    Leaf,
    Tensor,
    contents_of,
    entry,
    find,
    give,
    located,
    own,
    tensor_of,
    things_of,
    values_of,
)


class Open:
    """A capture that was begun.

    Attributes:
        section: what the runtime knows of it.
        things: what the handle of each input stood for.
        leaves: of each input, the leaf that it is, or None.
        thread: the one that has begun it.
        recording: whether gradients were recorded at the beginning.
    """

    def __init__(self, bits: list[int], things: list[Any]) -> None:
        self.bits = bits
        self.things = things
        self.leaves = [leaf_of(thing) for thing in self.things]
        for k, leaf in enumerate(self.leaves):
            if leaf is not None and leaf.gradient is not None:
                raise ArgumentError(
                    f"loom_capture_begin: inputs[{k}] has collected a gradient, expected none; "
                    "call loom_tensor_clear_gradient() first")
        self.recording = lazyloom.grad_enabled()
        self.thread = get_ident()
        #: handles of tensors that were made inside and written
        self.inside: set[int] = set()
        try:
            self.section = capture.Section([contents_of(thing) for thing in self.things])
        except ArgumentError as error:
            raise ArgumentError(f"loom_capture_begin: {error}") from None
        self.counted = True
        handles.apart(1)
        with _opening:
            _open.add(self)

    def close(self) -> None:
        """End it, if that was not done yet."""
        if self.counted:
            self.counted = False
            handles.apart(-1)
            self.section.cancel()

    def forget(self) -> None:
        """End it and hold nothing: the thread that has begun it may keep it for long."""
        self.close()
        self.things.clear()
        self.leaves.clear()
        self.section.inputs.clear()
        self.section.numbers.clear()

    def __del__(self) -> None:
        # also where its thread has ended
        if getattr(self, "counted", False):
            self.close()


#: those that were begun, on any thread
_open: WeakSet[Open] = WeakSet()
#: held while one is added, and while they are listed; a finalizer that runs there may ask, too
_opening = RLock()


def _all_open() -> list[Open]:
    with _opening:
        return list(_open)


def leaf_of(thing: Any) -> Leaf | None:
    """The leaf that a tensor is, if it is one."""
    return thing.leaf if isinstance(thing, Tensor) else None


def current() -> Open | None:
    """The capture that this thread has begun."""
    found: Open | None = getattr(own, "capture", None)
    if found is not None and not found.section.open:
        # the library was shut down meanwhile
        found = own.capture = None
    return found


def cancel_all() -> None:
    """End all captures that were begun."""
    for one in _all_open():
        one.forget()


def refuse_read(call: str) -> None:
    """Raise ReadForbiddenError where this thread has begun a capture."""
    if getattr(own, "capture", None) is not None and current() is not None:
        raise ReadForbiddenError(
            f"{call}: this thread has begun a capture, and what is computed inside would not be "
            "computed by its runs; call it after loom_capture_end()")


def refuse_input_of_another(call: str, target: int) -> None:
    """Raise AliasError for an input of a capture that another thread has begun.

    What is written to it now would be written again by each of that capture's runs.
    """
    here = get_ident()
    for other in _all_open():
        if other.counted and other.thread != here and target in other.bits:
            raise AliasError(
                f"{call}: the tensor is inputs[{other.bits.index(target)}] of a capture that "
                "another thread has begun; write to it before loom_capture_begin() or after "
                "loom_capture_end()")


def refuse_outside(call: str, target: int, thing: Any) -> None:
    """Raise AliasError for a tensor from before the capture of this thread that is no input.

    And for an input of another thread's.
    """
    if _open:
        refuse_input_of_another(call, target)
    if getattr(own, "capture", None) is None:
        return
    begun = current()
    if begun is None or target in begun.inside:
        return
    if target in begun.bits:
        if call == "loom_tensor_require_grad":
            raise AliasError(
                f"{call}: inputs[{begun.bits.index(target)}] of a capture stays a leaf, or none, "
                "until loom_capture_end()")
        return
    value = contents_of(thing)
    if not begun.section.made(value):
        raise AliasError(
            f"{call}: the tensor, a {value.type.text}, is from before loom_capture_begin() and "
            "not among its inputs; make it an input")
    begun.inside.add(target)


def refuse_gradient(leaf: Leaf) -> None:
    """Raise GradientError for a leaf from before the capture of this thread that is no input."""
    if getattr(own, "capture", None) is None:
        return
    begun = current()
    if begun is not None and leaf.since < begun.section.start and leaf not in begun.leaves:
        raise GradientError(
            "loom_backward: a leaf from before loom_capture_begin() is reached that is not among "
            "its inputs; make it an input")


@located
def loomp_capture_begin(inputs: Any, count: int) -> int:
    if current() is not None:
        raise ArgumentError(
            "loom_capture_begin: this thread has begun a capture already; end it with "
            "loom_capture_end() or loom_capture_cancel()")
    if getattr(own, "since", None) is not None:
        raise ArgumentError(
            "loom_capture_begin: a function of a loop or a branch cannot begin a capture")
    things = things_of(inputs, count, "loom_capture_begin: inputs")
    own.capture = Open(list(ffi.unpack(inputs, count)) if count else [], things)
    return 1


@entry
def loomp_capture_cancel() -> int:
    begun = current()
    if begun is not None:
        own.capture = None
        begun.close()
    return 1


@located
def loomp_capture_end(results: Any, count: int, result: Any) -> int:
    begun = current()
    if begun is None:
        raise ArgumentError(
            "loom_capture_end: this thread has begun no capture; call loom_capture_begin() first")
    if getattr(own, "since", None) is not None:
        raise ArgumentError(
            "loom_capture_end: a function of a loop or a branch cannot end a capture")
    own.capture = None
    section = begun.section
    begun.close()
    if lazyloom.grad_enabled() != begun.recording:
        raise ArgumentError(
            "loom_capture_end: loom_set_grad_enabled() was called and the switch is not what it "
            "was; a run does not set it, so set it back before the end")
    written: list[lazyloom.Value | None] = []
    for k, (bits, before) in enumerate(zip(begun.bits, section.inputs, strict=True)):
        try:
            thing = handles.find(TENSOR, bits)
        except HandleError:
            # released inside: nobody can see what it was overwritten with
            written.append(None)
            continue
        leaf = leaf_of(thing)
        if leaf is not None and leaf.gradient is not None:
            raise ArgumentError(
                f"loom_capture_end: inputs[{k}] has collected a gradient that is still there, "
                "which runs do not leave; take it with loom_tensor_gradient() and call "
                "loom_tensor_clear_gradient() before the end, or use loom_grad()")
        value = contents_of(thing)
        same = value.node is before.node and value.index == before.index
        if leaf is None and value.requires_grad and not same:
            raise ArgumentError(
                f"loom_capture_end: inputs[{k}] was assigned something with a history, which runs "
                "do not give; record what is assigned with loom_set_grad_enabled(false), or "
                "detach it")
        written.append(None if same else value)
    given = values_of(results, count, "loom_capture_end: results")
    try:
        program = section.end(given, written)
    except LoomError as error:
        error.args = (f"loom_capture_end: {error}",)
        raise
    result[0] = handles.give(CAPTURE, program)
    return 1


@located
def loomp_capture_run(
    handle: int, inputs: Any, input_count: int, results: Any, result_count: int
) -> int:
    program: capture.CapturedProgram = find(CAPTURE, handle, "loom_capture_run: capture")
    if getattr(own, "capture", None) is not None and current() is not None:
        raise ArgumentError(
            "loom_capture_run: this thread has begun a capture, which a run cannot be a part of; "
            "call it after loom_capture_end()")
    if getattr(own, "since", None) is not None:
        raise ArgumentError(
            "loom_capture_run: a function of a loop or a branch cannot run a capture")
    if result_count != program.results:
        raise ArgumentError(
            f"loom_capture_run: result_count is {result_count}, expected {program.results}")
    bits = list(ffi.unpack(inputs, input_count)) if input_count else []
    values = values_of(inputs, input_count, "loom_capture_run: inputs")
    wrong = program.wrong(values)
    if wrong is not None:
        kind, message = wrong
        raise _KINDS[kind](f"loom_capture_run: {message}")
    written = program.written
    tensors: list[Any] = [None] * len(bits)
    leaves: list[Any] = [None] * len(bits)
    for k, wants in enumerate(written):
        if wants:
            if bits.count(bits[k]) > 1:
                raise ArgumentError(
                    f"loom_capture_run: inputs[{k}] is assigned to, and the same tensor is "
                    "another input, too; expected it once")
            if _open:
                refuse_input_of_another(f"loom_capture_run: inputs[{k}]", bits[k])
    for k, wants in enumerate(written):
        if wants:
            tensors[k] = tensor_of(bits[k])
            leaves[k] = tensors[k].leaf
    for k, value in enumerate(program.run(values, tensors, leaves)):
        results[k] = give(value)
    return 1


_KINDS = {"": ArgumentError, "shape": ShapeError, "dtype": DTypeError}
