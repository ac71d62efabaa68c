"""The gradients of several processes, averaged at the end of a backward pass.

Nothing runs there: the average is recorded after the backward pass, so that it, what the optimizer
does with it and all before are one program. It is handed over after the optimizer's step.
"""

from __future__ import annotations

import enum
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import lazyloom
from lazyloom import Scalar, TensorType, Value

from .. import _ends
from .._core import cast, record, record_number, spec
from .._leaf import Leaf
from .._tensor import Tensor
from . import calls
from .arguments import launched
from .buckets import buckets_of, flat, parts
from .groups import ProcessGroup
from .pending import pending

_DIVIDE: Final = spec("divide", 2)

UNFINISHED: Final = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This "
    "error indicates that your module has parameters that were not used in producing loss. You can "
    "enable unused parameter detection by passing the keyword argument "
    "`find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by making "
    "sure all `forward` function outputs participate in calculating loss. ")


class BuiltinCommHookType(enum.Enum):
    """How ``_register_builtin_comm_hook`` averages gradients."""

    ALLREDUCE = 0
    FP16_COMPRESS = 1


class GradBucket:
    """Gradients that are reduced together, as a communication hook sees them."""

    def __init__(self, index: int, last: bool, buffer: Tensor, params: list[Tensor],
                 shapes: list[tuple[int, ...]]) -> None:  # fmt: skip
        self._index, self._last, self._buffer = index, last, buffer
        self._params, self._shapes = params, shapes

    def index(self) -> int:
        """The number of the bucket; those of the last parameters come first."""
        return self._index

    def is_last(self) -> bool:
        """Whether no other bucket follows in this pass."""
        return self._last

    def buffer(self) -> Tensor:
        """The gradients after each other, in one dimension."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        self._buffer = buffer

    def parameters(self) -> list[Tensor]:
        return self._params

    def gradients(self) -> list[Tensor]:
        """The gradient of each parameter, views of the buffer."""
        found, at = [], 0
        for shape in self._shapes:
            size = int(np.prod(shape, dtype=np.int64))
            found.append(self._buffer[at : at + size].view(shape))
            at += size
        return found


class Reducer:
    """Averages the gradients of parameters over the processes of a group.

    Args:
        params: in the same order in all processes.
        names: of the parameters, for errors.
        group: the processes.
        limit: bytes of gradients that are reduced together.
        find_unused: whether parameters may get no gradient in some process.
        static: whether the parameters that get none are the same in every pass.
    """

    def __init__(self, params: Sequence[Tensor], names: Sequence[str], group: ProcessGroup,
                 limit: int, find_unused: bool, static: bool) -> None:  # fmt: skip
        self._params = list(params)
        self._names = list(names)
        self._group = group
        self._limit = limit
        self._find_unused = find_unused or static
        self._static = static
        self._expected = False
        self._arrived: set[int] = set()
        #: those with gradients since the last average, in passes that were not averaged too
        self._used: set[int] = set()
        #: with ``static``, those that any process uses, once it is known
        self._wanted: list[int] | None = None if self._find_unused else list(range(len(params)))
        self.hook: tuple[Any, Callable[[Any, GradBucket], Any]] | None = None
        #: what gradients are divided by, if not the number of processes: a value of shape (1,)
        self.divisor: Value | None = None
        _call_while_alive(self)

    def begin_forward(self) -> None:
        """A step begins. Raises RuntimeError if the last one left gradients that were not averaged.
        """
        if self._expected and self._arrived:
            missing = [n for i, n in enumerate(self._names) if i not in self._arrived]
            raise RuntimeError(
                f"{UNFINISHED}Parameters that got no gradient on rank {self._group.rank()}: "
                f"{', '.join(missing)}")
        # a step that no optimizer has ended
        pending.hand_over()

    def end_forward(self) -> None:
        """From now on a backward pass is one whose gradients are averaged."""
        self._expected = True
        self._arrived.clear()

    def end_pass(self, leaves: list[Leaf]) -> None:
        """A backward pass brought gradients to these leaves."""
        numbers = {id(p._leaf): i for i, p in enumerate(self._params)}
        mine = {numbers[id(leaf)] for leaf in leaves if id(leaf) in numbers}
        if not mine:
            return
        self._used |= mine
        if not self._expected:
            return
        self._arrived |= mine
        wanted = self._wanted
        if wanted is not None and not self._arrived.issuperset(wanted):
            return  # more passes follow, or the next step finds that some did not
        if wanted is None:
            wanted = self._used_anywhere()
            if self._static:
                self._wanted = wanted
        self._expected = False
        self._arrived.clear()
        self._used.clear()
        if self._group.size() > 1:
            with lazyloom.grad_mode(False):
                self._average(wanted)
            pending.add(self._params)

    def shadow(self) -> None:
        """Take part in the average of a step of other processes, with gradients of zero.

        The gradients here become the average, for what follows in the step.
        """
        self._used.clear()
        wanted = self._wanted
        if wanted is None:
            wanted = self._used_anywhere()
            if self._static:
                self._wanted = wanted
        with lazyloom.grad_mode(False):
            for i in wanted:
                _set_gradient(self._params[i], _zeros(self._params[i].tensor_type))
            self._average(wanted)
        pending.add(self._params)

    def _used_anywhere(self) -> list[int]:
        """The parameters that some process used."""
        if self._group.size() == 1:
            return sorted(self._used)
        here = np.zeros(len(self._params), np.int32)
        here[list(self._used)] = 1
        counts = calls.all_reduce(lazyloom.from_host(here), "max", self._group)
        launched(counts)
        if len(self._used) == len(self._params) and not self._static:
            return list(range(len(self._params)))
        return [int(i) for i in np.flatnonzero(counts.read())]

    def _average(self, wanted: list[int]) -> None:
        # the last parameters get their gradients first
        order = wanted[::-1]
        values = [self._gradient(i) for i in order]
        groups = buckets_of([v.type for v in values], self._limit)
        for number, bucket in enumerate(groups):
            whole = flat([values[i] for i in bucket])
            shapes = [values[i].shape for i in bucket]
            if self.hook is None:
                # divided first, as in PyTorch: sums of half precision may have no room
                whole = calls.all_reduce(self._share(whole), "sum", self._group)
            else:
                params = [self._params[order[i]] for i in bucket]
                whole = self._hooked(number, number == len(groups) - 1, whole, params, shapes)
            for i, part in zip(bucket, parts(whole, shapes), strict=True):
                _set_gradient(self._params[order[i]], part)

    def _gradient(self, i: int) -> Value:
        """A parameter's gradient, zeros if this process has none."""
        p = self._params[i]
        grad = p.grad
        if grad is not None:
            return grad.value.detach()
        return _zeros(p.tensor_type)

    def _share(self, whole: Value) -> Value:
        """What is added to the other processes' shares."""
        if self.divisor is None:
            return record_number(_DIVIDE, whole, Scalar(self._group.size(), whole.dtype))
        found: Value = record("divide", [whole, cast(self.divisor, whole.dtype)])
        return found

    def _hooked(self, number: int, last: bool, whole: Value, params: list[Tensor],
                shapes: list[tuple[int, ...]]) -> Value:  # fmt: skip
        assert self.hook is not None
        state, hook = self.hook
        found = hook(state, GradBucket(number, last, Tensor.from_value(whole), params, shapes))
        found = found.wait() if hasattr(found, "wait") else found
        if isinstance(found, (list, tuple)):
            found = found[0]
        if not isinstance(found, Tensor) or found.numel() != whole.type.size:
            raise RuntimeError(
                "a communication hook has to return a Future of a tensor of as many elements as "
                f"the bucket's {whole.type.size}, not {found!r}")
        value: Value = found.to(dtype=params[0].dtype).value.detach()
        return calls.reshaped(value, whole.shape)


def _zeros(kind: TensorType) -> Value:
    found: Value = record("full", [Scalar(0, kind.dtype)], {"shape": kind.shape})
    return found


def _set_gradient(p: Tensor, value: Value) -> None:
    grad = p.grad
    if grad is None:
        p.grad = Tensor.from_value(value)
    else:
        grad._update(value)


def _call_while_alive(reducer: Reducer) -> None:
    """Let :meth:`Reducer.end_pass` be called as long as there is the reducer."""
    method = weakref.WeakMethod(reducer.end_pass)

    def call(leaves: list[Leaf]) -> None:
        found = method()
        if found is not None:
            found(leaves)

    _ends.after_pass.append(call)
    weakref.finalize(reducer, _ends.after_pass.remove, call)
