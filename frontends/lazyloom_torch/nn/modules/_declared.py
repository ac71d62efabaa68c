"""Modules without parameters of their own: a function, and the arguments that it is called with."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from ..._tensor import Tensor
from .. import functional
from .module import Module

_FUNCTIONS = vars(functional)  # looked up at each call, as programs replace functions in it
_EMPTY = inspect.Parameter.empty


class Declared(Module):
    """A module that calls a function of ``nn.functional`` with its input and its own attributes.

    The annotated names of a class are its arguments, in order; a value beside a name is its
    default::

        class Softplus(Declared, function="softplus"):
            beta: float = 1.0
            threshold: float = 20.0
            shown = ("beta", "threshold")

    ``function`` makes ``forward``, unless the class has one: it passes the input, then the
    attributes that ``passes`` names, or else all arguments. ``declared`` is for a class that names
    no function. Without either a class declares nothing: a program's subclass may annotate what it
    likes.

    Names in ``keyword_only`` are passed by keyword only. ``shown`` names the attributes that the
    module's text tells, and ``inplace`` is told where it is true; None tells nothing.
    """

    keyword_only: tuple[str, ...] = ()
    shown: tuple[str, ...] | None = ()
    _arguments: tuple[str, ...] = ()
    _function: str = ""

    def __init_subclass__(
        cls, function: str | None = None, passes: tuple[str, ...] | None = None,
        declared: bool = False, **kwargs: Any,
    ) -> None:
        super().__init_subclass__(**kwargs)
        if function is None and not declared:
            return
        names = tuple(inspect.get_annotations(cls))
        if names:
            _declare_arguments(cls, names)
        if function is not None:
            cls._function = function
            if cls.forward is Module.forward:
                made = _forward_of(function, cls._arguments if passes is None else passes)
                made.__qualname__ = f"{cls.__qualname__}.forward"
                cls.forward = made  # type: ignore[method-assign]

    def _take(self, arguments: dict[str, Any]) -> None:
        """Keep the arguments, defaults filled in."""
        self.__dict__.update(arguments)

    def extra_repr(self) -> str:
        if self.shown is None:
            return ""
        names = self.shown
        if "inplace" not in names and self.__dict__.get("inplace"):
            names = (*names, "inplace")
        return ", ".join(f"{n}={getattr(self, n)!r}" for n in names)


def _declare_arguments(cls: type[Declared], names: tuple[str, ...]) -> None:
    """Give a class an ``__init__`` with these arguments, whose defaults are its attributes."""
    positional, by_keyword = (
        inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    signature = inspect.Signature([
        inspect.Parameter(n, by_keyword if n in cls.keyword_only else positional,
                          default=cls.__dict__.get(n, _EMPTY))
        for n in names])  # fmt: skip

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}.__init__(): {error}") from None
        given.apply_defaults()
        Module.__init__(self)
        self._take(given.arguments)

    __init__.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[inspect.Parameter("self", positional), *signature.parameters.values()])
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = __init__  # type: ignore[method-assign]
    cls._arguments = names
    for name in names:
        # a default belongs to the arguments: an instance always has its own value
        if name in cls.__dict__:
            delattr(cls, name)


def _forward_of(function: str, passes: tuple[str, ...]) -> Callable[..., Any]:
    """A ``forward`` of one input; three forms, as this runs at every call of a network's layers."""
    if not passes:
        def forward(self: Any, input: Tensor) -> Any:
            return _FUNCTIONS[function](input)
    elif len(passes) == 1:
        only = passes[0]

        def forward(self: Any, input: Tensor) -> Any:
            return _FUNCTIONS[function](input, getattr(self, only))
    else:
        values = attrgetter(*passes)

        def forward(self: Any, input: Tensor) -> Any:
            return _FUNCTIONS[function](input, *values(self))

    return forward
