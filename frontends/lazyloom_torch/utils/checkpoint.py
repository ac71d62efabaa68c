"""Checkpointing: a part of the forward pass is computed again in the backward pass.

What it computed in between need not be kept. The function runs once in the forward pass and
once more when its gradient is asked for, with the random numbers of the first time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import lazyloom
from lazyloom import Value

from .. import _absent, _ends
from .._autocast import state as autocast_state
from .._core import record
from .._divided import divided
from .._draws import default_generator
from .._tensor import Tensor, operand


class CheckpointError(RuntimeError):
    """The second run of a function was not as the first."""


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Nothing: the second run is part of a program, from which what nobody needs is left out."""
    yield


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Nothing: errors say what differs."""
    yield


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, tensors of them without their history; they require gradients as before.

    RuntimeError for what is no tuple.
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}")
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x
                 for x in inputs)


def noop_context_fn() -> tuple[Any, Any]:
    """Contexts of the first and the second run that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default", debug: bool = False, early_stop: bool = True,
    preserve_rng_state: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """``function(*args, **kwargs)``, whose intermediate results are computed again for gradients.

    Args:
        function: takes tensors, alone or nested, and returns such. It may use modules and other
            tensors that require gradients; it is called twice and must do the same both times.
        use_reentrant: accepted; both kinds are the same here, and gradients reach what the
            function closes over in either.
        context_fn: gives the context managers of the first and of the second run.
        preserve_rng_state: the second run draws the same random numbers as the first.

    Raises RuntimeError, in the backward pass, where the second run returns something else.
    """
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check should be one of 'default' and 'none', not {determinism_check!r}")
    if divided:
        function, given, wrapped = divided["of_parts"](function, args, kwargs)
        return wrapped(_checkpointed(function, given, {}, context_fn, preserve_rng_state))
    return _checkpointed(function, args, kwargs, context_fn, preserve_rng_state)


def _checkpointed(
    function: Callable[..., Any], args: Any, kwargs: Any, context_fn: Callable[[], Any],
    preserve_rng_state: bool,
) -> Any:
    first, second = context_fn()
    if not lazyloom.grad_enabled():
        with first:
            return function(*args, **kwargs)
    run = _Run(function, args, kwargs, second, preserve_rng_state)
    start = lazyloom.last_sequence()
    with first:
        result = function(*args, **kwargs)
    leaves, nesting = lazyloom.tree_flatten(result, Tensor)
    places = [i for i, t in enumerate(leaves) if isinstance(t, Tensor) and t.requires_grad]
    if not places:
        return result
    values = [operand(leaves[i]) for i in places]
    used = lazyloom.used_since(values, start)
    run.expect(used, places)
    lazyloom.forget_since(values, start)
    made = lazyloom.custom(values, used, run.vjp, name="CheckpointBackward")
    for i, value in zip(places, made, strict=True):
        leaves[i] = Tensor.from_value(value)
    return nesting.build(leaves)


class _Run:
    """What the second run needs to know of the first."""

    def __init__(
        self, function: Callable[..., Any], args: Any, kwargs: Any, context: Any, keep_rng: bool
    ) -> None:
        self.function = function
        leaves, self.nesting = lazyloom.tree_flatten((list(args), kwargs), Tensor)
        # what the arguments hold now; they may be written before the second run
        self.arguments = [operand(t) if isinstance(t, Tensor) else t for t in leaves]
        self.context = context
        self.outer = [begin() for begin in _ends.again]
        self.random = default_generator._state() if keep_rng else None
        self.casts = autocast_state.enabled, autocast_state.dtypes["cpu"]
        self.sources: list[list[int]] = []
        self.closures: list[Value | None] = []
        self.places: list[int] = []

    def expect(self, used: Sequence[Value], places: list[int]) -> None:
        """Note which arguments each value that gradients flow to stands for, if any."""
        self.places = places
        for v in used:
            at = [i for i, a in enumerate(self.arguments) if isinstance(a, Value)
                  and a.requires_grad and a.node is v.node and a.index == v.index]
            self.sources.append(at)
            self.closures.append(None if at else v)

    def vjp(
        self, result_of: Callable[[int], Value], cotangents: list[Value | None]
    ) -> list[Value | None]:
        create_graph = lazyloom.grad_enabled()
        with lazyloom.grad_mode(True):
            given = self._fresh([c for c in cotangents if c is not None], create_graph)
            with contextlib.ExitStack() as stack:
                for context in (*[begin() for begin in self.outer], self._random_state(),
                                self.context, self._autocast()):
                    stack.enter_context(context)
                args, kwargs = self.nesting.build(
                    Tensor.from_value(a) if isinstance(a, Value) else a for a in given)
                result = self.function(*args, **kwargs)
            leaves = lazyloom.tree_flatten(result, Tensor)[0]
            outputs, seeds = [], []
            for place, c in zip(self.places, cotangents, strict=True):
                if c is None:
                    continue
                t = leaves[place] if place < len(leaves) else None
                if not isinstance(t, Tensor) or not (
                    t.tensor_type.agrees(c.type) and t.requires_grad
                ):
                    raise RuntimeError(
                        "torch.utils.checkpoint: a result of the function was a "
                        f"{c.type.text} that requires a gradient in the forward pass and "
                        "something else when it was computed again; the function must do the same "
                        "both times")
                outputs.append(operand(t))
                seeds.append(c)
        wanted: list[Value] = []
        for at, closure in zip(self.sources, self.closures, strict=True):
            wanted.extend([closure] if closure is not None else [given[i] for i in at])
        found = iter(lazyloom.gradients(
            outputs, wanted, seeds, create_graph=create_graph, allow_unused=True, stop=True))
        results: list[Value | None] = []
        for at in self.sources:
            total: Value | None = None
            for _ in at or (0,):
                g = next(found)
                total = g if total is None else total if g is None else record("add", [total, g])
            results.append(total)
        return results

    def _autocast(self) -> Any:
        """The second run casts as the first one did."""
        from ..amp import autocast

        enabled, dtype = self.casts
        return autocast("cpu", dtype=dtype, enabled=enabled)

    def _fresh(self, cotangents: list[Value], create_graph: bool) -> list[Any]:
        """The arguments for the second run: such that it is not merged with the first, and
        waits for the cotangents."""
        values = [a for a in self.arguments if isinstance(a, Value)]
        if not values:
            return list(self.arguments)
        found = record("barrier", [*[a if create_graph else a.detach() for a in values],
                                   *cotangents])
        passed = iter(found if isinstance(found, tuple) else (found,))
        result: list[Any] = []
        for a in self.arguments:
            if isinstance(a, Value):
                fresh = next(passed)
                if not a.requires_grad:
                    a = fresh.detach()
                else:
                    a = fresh if create_graph else fresh.as_leaf(object())
            result.append(a)
        return result

    @contextlib.contextmanager
    def _random_state(self) -> Iterator[None]:
        if self.random is None:
            yield
            return
        before = default_generator._state()
        default_generator._return(*self.random)
        try:
            yield
        finally:
            default_generator._return(*before)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """A chain of functions or modules in that many checkpointed segments; the last is not."""
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
    chain = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def part(start: int, stop: int) -> Callable[[Any], Any]:
        def forward(x: Any) -> Any:
            for f in chain[start:stop]:
                x = f(x)
            return x

        return forward

    size = len(chain) // segments
    start = 0
    for _ in range(segments - 1):
        input = checkpoint(part(start, start + size), input, use_reentrant=use_reentrant,
                           preserve_rng_state=preserve)
        start += size
    return part(start, len(chain))(input)


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """No devices and no states: the only generator is the CPU's."""
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Nothing: no device has a generator."""


__getattr__ = _absent.missing(__name__)
