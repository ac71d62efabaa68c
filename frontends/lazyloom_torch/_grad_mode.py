"""Switching the recording of gradients on and off, for this thread."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from contextlib import nullcontext
from typing import Any

import lazyloom
from lazyloom.frontend import inference_enabled

from ._inference import enter

is_grad_enabled = lazyloom.grad_enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside :class:`inference_mode`."""
    return inference_enabled()


def _generator(function: Callable[..., Any], mode: Callable[[], _GradMode]) -> Callable[..., Any]:
    """A generator function whose body runs in a mode that its consumer does not see."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        running = function(*args, **kwargs)
        try:
            with mode():
                found = running.send(None)
            while True:
                try:
                    sent = yield found
                except GeneratorExit:
                    with mode():
                        running.close()
                    raise
                except BaseException as error:
                    with mode():
                        found = running.throw(error)
                else:
                    with mode():
                        found = running.send(sent)
        except StopIteration as end:
            return end.value

    return wrapped


class _GradMode:
    """A context manager and decorator that sets the grad mode and restores it."""

    mode = True

    def __init__(self) -> None:
        self._previous: list[bool] = []

    def __enter__(self) -> None:
        self._previous.append(lazyloom.set_grad_enabled(self.mode))

    def __exit__(self, *exc: object) -> None:
        lazyloom.set_grad_enabled(self._previous.pop())

    def _again(self) -> _GradMode:
        """Another context manager of the same mode."""
        made = _GradMode()
        made.mode = self.mode
        return made

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isgeneratorfunction(function):
            return _generator(function, self._again)

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            previous = lazyloom.set_grad_enabled(self.mode)
            try:
                return function(*args, **kwargs)
            finally:
                lazyloom.set_grad_enabled(previous)

        return wrapped


class _BareDecorator(_GradMode):
    """Also usable without parentheses: ``@torch.no_grad``."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        made = super().__new__(cls)
        if function is None:
            return made
        made.__init__()  # type: ignore[misc]
        return made(function)

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        super().__init__()


class no_grad(_BareDecorator):  # noqa: N801
    """Record no gradients inside: a context manager or a decorator."""

    mode = False


class enable_grad(_BareDecorator):  # noqa: N801
    """Record gradients inside: a context manager or a decorator."""

    mode = True


class inference_mode(_GradMode):  # noqa: N801
    """As :class:`no_grad`, for tensors that stay out of gradients; usable without parentheses.

    Tensors made inside are written in place inside only, and require no gradient outside:
    RuntimeError; ``clone()`` gives a normal one there. ``inference_mode(False)`` inside one records
    gradients again.
    """

    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if callable(mode):
            made.__init__()  # type: ignore[misc]
            return made(mode)
        return made

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.inference = bool(mode)
        self._before: list[bool] = []

    def __enter__(self) -> None:
        before = is_inference_mode_enabled()
        self._before.append(before)
        self.mode = (lazyloom.grad_enabled() or before) and not self.inference
        enter(self.inference)
        super().__enter__()

    def clone(self) -> inference_mode:
        """Another one of the same mode."""
        return type(self)(self.inference)

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        enter(self._before.pop())

    def _again(self) -> _GradMode:
        made: _GradMode = inference_mode(self.inference)
        return made

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isgeneratorfunction(function):
            return _generator(function, self._again)

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return wrapped


class set_multithreading_enabled(nullcontext[None]):  # noqa: N801
    """Nothing: gradients are computed by the threads of XLA's programs."""

    def __init__(self, mode: bool) -> None:
        super().__init__()

    def clone(self) -> set_multithreading_enabled:
        """Another one."""
        return set_multithreading_enabled(True)


class set_grad_enabled(_GradMode):  # noqa: N801
    """Set the grad mode at once; as a context manager, restore it at the end."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode = bool(mode)
        self._before = lazyloom.set_grad_enabled(self.mode)

    def clone(self) -> set_grad_enabled:
        """Another one of the same mode."""
        return type(self)(self.mode)

    def __enter__(self) -> None:
        self._previous.append(self._before)
        lazyloom.set_grad_enabled(self.mode)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        lazyloom.set_grad_enabled(self._before)
        return super().__call__(function)
