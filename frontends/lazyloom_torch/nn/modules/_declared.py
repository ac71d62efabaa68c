"""Modules without parameters of their own, which only keep the arguments of a function."""

from __future__ import annotations

import inspect
from typing import Any

from .module import Module

_EMPTY = inspect.Parameter.empty


class Declared(Module):
    """A module whose arguments are the annotated names of its class, in order.

    A value beside a name is its default; names in ``keyword_only`` are passed by keyword only.
    ``shown`` names the attributes that its text tells, beside ``inplace`` where that is true.
    """

    keyword_only: Any = ()
    shown: Any = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        names = [n for n in inspect.get_annotations(cls) if not n.startswith("__")]
        if "__init__" in cls.__dict__ or not names:
            return
        signature = inspect.Signature([inspect.Parameter(
            n, inspect.Parameter.KEYWORD_ONLY if n in cls.keyword_only else
            inspect.Parameter.POSITIONAL_OR_KEYWORD, default=cls.__dict__.get(n, _EMPTY))
            for n in names])  # fmt: skip

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            try:
                given = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{type(self).__name__}.__init__(): {error}") from None
            given.apply_defaults()
            Module.__init__(self)
            self._take(given.arguments)

        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        __init__.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[own, *signature.parameters.values()])
        __init__.__qualname__ = f"{cls.__qualname__}.__init__"
        cls.__init__ = __init__  # type: ignore[method-assign]
        for name in names:
            # a default belongs to the arguments: an instance always has its own value
            if name in cls.__dict__:
                delattr(cls, name)

    def _take(self, arguments: dict[str, Any]) -> None:
        """Keep the arguments, defaults filled in."""
        self.__dict__.update(arguments)

    def extra_repr(self) -> str:
        own = self.__dict__
        parts = [f"{n}={getattr(self, n)}" for n in self.shown]
        if own.get("inplace"):
            parts.append("inplace=True")
        return ", ".join(parts)
