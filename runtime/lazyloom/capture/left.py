"""Tensors that a captured call leaves behind: new ones, and views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..tensor.storage import Storage
from ..tensor.tensor import Tensor
from ..tensor.views import ViewStep
from ..trace.graph import Value
from .arguments import TENSOR, Argument
from .guards import attributes_of
from .outputs import MadeView, TensorOutput, tensors_in, views_of
from .template import NotCapturable


class Left:
    """How to make again the tensors that a call made and did not drop.

    Args:
        known: the tensors from before the call, and whether each stands for its whole storage.
        arguments: the :class:`Argument` of each of the first known tensors.
        result: what the call returned.
        root: returns the number of a value among those that the call leaves behind.

    Attributes:
        made: how each tensor is made.
        values: values that tensors hold and that need not be computed again.
        used: the numbers of the known tensors that views are taken of.
        gone: the identities of known tensors that other tensors have replaced.
    """

    def __init__(
        self, known: Sequence[tuple[Tensor, bool]], arguments: list[Argument], result: Any,
        root: Callable[[Value], int],
    ) -> None:  # fmt: skip
        self.known = known
        self.arguments = arguments
        self.root = root
        self.made: list[TensorOutput | MadeView] = []
        self.values: list[Value] = []
        self.used: set[int] = set()
        self.gone: dict[int, int] = {}
        #: keeps tensors from being freed while identities matter
        self.alive: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._owned: set[Storage] = set()
        self._before: set[Storage] = {t.shared for t, _ in known if t.shared is not None}
        self._sharing: dict[Storage, dict[int, Tensor]] = {}
        for t in tensors_in(result):
            self._note(t)

    def _note(self, t: Tensor) -> None:
        if t.shared is not None:
            self._sharing.setdefault(t.shared, {})[id(t)] = t

    def replacement(self, t: Tensor) -> int:
        """Return the number of a tensor that replaced one from before the call."""
        self._note(t)
        shared = t.shared
        if t.view_steps and (
            len(self._sharing[shared]) > 1 or shared in self._before  # type: ignore[index]
            or t.element_strides is not None
        ):
            raise NotCapturable("it keeps a view of a tensor")
        return self._owner(t)

    def number_of(self, t: Tensor) -> int:
        """Return the number of a tensor that the call returns."""
        number = self._numbers.get(id(t))
        if number is not None:
            return number
        shared = t.shared
        if shared is not None and shared in self._before:
            return self._view_of_known(t)
        how = views_of(t)
        owner = None if shared is None else how.owner(t)
        if owner is None:
            return self._owner(t)
        alone = len(self._sharing[shared]) == 1  # type: ignore[index]
        if alone and t.detached and id(owner) not in self._numbers:
            # nothing can see the tensor whose memory it shares
            return self._owner(t)
        if not isinstance(owner, Tensor) or owner.shared is not shared or owner.view_steps or (
            how.owner(owner) is not None
        ):
            raise NotCapturable("it returns a view of a tensor that is not known")
        detached = all(x.detached for x in self._sharing[shared].values())  # type: ignore[index]
        owner_number = self._owner(owner, detached)
        return self._view(t, owner, t.view_steps, owner_number, -1, self.root(t.value))

    def _view(
        self, t: Tensor, owner: Tensor, steps: tuple[ViewStep, ...], made_number: int, source: int,
        root: int,
    ) -> int:  # fmt: skip
        how = views_of(t)
        kept = None if attributes_of(t) else how.keep(t, owner)
        if kept is None:
            raise NotCapturable("it returns a view that cannot be made again")
        return self._add(t, MadeView(t, how, kept, steps, made_number, source, root))

    def _view_of_known(self, t: Tensor) -> int:
        """Return the number of a view of a tensor from before the call."""
        steps = t.view_steps
        candidates = [
            k for k, (x, base) in enumerate(self.known)
            if not base and x.shared is t.shared and id(x) not in self.gone
            and steps[: len(x.view_steps)] == x.view_steps
        ]
        if not candidates:
            raise NotCapturable(
                "it returns a tensor that shares memory with one from before, but is no view of it")
        if len(candidates) > 1:
            # the view steps decide which of them it is a view of
            for k in candidates:
                if k < len(self.arguments) and self.known[k][0].view_steps:
                    self.arguments[k].steps = self.known[k][0].view_steps
        best = max(candidates, key=lambda k: len(self.known[k][0].view_steps))
        owner = self.known[best][0]
        self.used.add(best)
        self.values.append(t.value)
        return self._view(t, owner, steps[len(owner.view_steps):], -1, best, -1)

    def _owner(self, t: Tensor, detached: bool = False) -> int:
        """Return the number of a tensor with a storage of its own."""
        number = self._numbers.get(id(t))
        if number is not None:
            return number
        if t.slow_path and hasattr(t, "_info"):
            raise NotCapturable("it makes an array that is laid out by columns")
        if attributes_of(t):
            names = ", ".join(attributes_of(t))
            raise NotCapturable(f"it makes a tensor that has {names} of its own")
        shared = t.shared
        if shared is not None:
            if shared in self._owned or shared in self._before:
                raise NotCapturable(
                    "it returns or keeps a view of a tensor from before, or two tensors that share "
                    "memory")
            self._owned.add(shared)
            self.values.append(shared.value)
        value = t.value
        return self._add(t, TensorOutput(t, self.root(value.detach() if detached else value)))

    def _add(self, t: Tensor, how: TensorOutput | MadeView) -> int:
        number = self._numbers[id(t)] = len(self.made)
        self.made.append(how)
        self.alive.append(t)
        return number

    def renumber(self, numbers: dict[int, int]) -> None:
        """Renumber sources as the capture does."""
        for how in self.made:
            if isinstance(how, MadeView) and how.source >= 0:
                how.source = numbers[how.source]


def tensor_arguments(arguments: Sequence[Argument]) -> list[Argument]:
    """Return the tensors among arguments and their parts, in order."""
    tensors: list[Argument] = []
    for a in arguments:
        if a.kind == TENSOR:
            tensors.append(a)
        tensors += tensor_arguments(a.parts)
    return tensors
