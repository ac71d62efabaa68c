"""Scaling a loss so that small gradients of half precision do not vanish.

Nothing is read: whether a gradient is infinite is a number of the program, which also decides
in it whether the step counts and how the scale goes on.
"""

from __future__ import annotations

import dataclasses
import enum
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import lazyloom
from lazyloom import Value
from lazyloom.frontend import write_locks

from .. import _dtypes
from .._core import cast, record, scalar
from .._errors import as_torch
from .._functions.creation import full_value
from .._grad_mode import no_grad
from .._tensor import Tensor
from ..optim._recorded import RecordedOptimizer


class OptState(enum.Enum):
    """Where an optimizer stands between two calls of ``update``."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


@dataclasses.dataclass
class _Policy:
    """How the scale goes on: down after a step that did not count, up after enough good ones."""

    growth_factor: float
    backoff_factor: float
    growth_interval: int

    def follow(self, scale: Tensor, tracker: Tensor, found: list[Value]) -> None:
        """Move the scale, and the count of good steps, by what was found in gradients."""
        with no_grad(), write_locks((scale, tracker)):
            most = found[0]
            for other in found[1:]:
                most = record("maximum", [most, other])
            bad = record("not_equal", [most, scalar(0, most.dtype)])
            kind, old = tracker.value.dtype, scale.value
            count = record("add", [tracker.value, scalar(1, kind)])
            grows = record("equal", [count, scalar(self.growth_interval, kind, bake=False)])
            more = record("multiply", [old, scalar(self.growth_factor, old.dtype, bake=False)])
            # as in PyTorch, a scale that would be infinite stays
            larger = record("where", [record("isfinite", [more]), more, old])
            less = record("multiply", [old, scalar(self.backoff_factor, old.dtype, bake=False)])
            scale._update(record("where", [bad, less, record("where", [grows, larger, old])]))
            again = record("logical_or", [bad, grows])
            tracker._update(record("where", [again, scalar(0, kind), count]))


class _OfOptimizer:
    """Of one optimizer since the last update: its stage, and what its gradients have shown."""

    def __init__(self) -> None:
        self.stage = OptState.READY
        self.found: Value | None = None


def _number(value: float, kind: Any) -> Tensor:
    made: Tensor = Tensor.from_value(full_value((), value, kind))
    return made


class GradScaler:
    """Multiplies losses by a scale, and divides gradients by it before a step.

    A step whose gradients hold an infinity or NaN changes nothing, and the scale goes down by
    ``backoff_factor``; after ``growth_interval`` good ones it goes up by ``growth_factor``.
    Whatever the step of an optimizer of ``torch.optim`` writes into parameters and state is
    selected on the device, so that no value is read; another optimizer's step is left out, which
    takes a read. L-BFGS takes a closure, and so none of this.

    On ``device="cuda"`` there is nothing to scale for, and it is disabled.
    """

    def __init__(
        self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0,
        backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if device == "cuda" and enabled:
            import warnings

            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  "
                          "Disabling.", stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._init_growth_tracker = init_scale, 0
        self._policy = _Policy(growth_factor, backoff_factor, growth_interval)
        self._scale: Tensor | None = None
        self._growth_tracker: Tensor | None = None
        self._of: defaultdict[int, _OfOptimizer] = defaultdict(_OfOptimizer)

    def scale(self, outputs: Any) -> Any:
        """The outputs (tensors, alone or in containers) times the scale."""
        if not self._enabled:
            return outputs
        if self._scale is None:
            self._scale = _number(self._init_scale, _dtypes.float32)
            self._growth_tracker = _number(self._init_growth_tracker, _dtypes.int32)
        return self._scaled(outputs, self._scale)

    def _scaled(self, outputs: Any, scale: Tensor) -> Any:
        if isinstance(outputs, Tensor):
            return outputs * scale
        if isinstance(outputs, Iterable):
            found = (self._scaled(o, scale) for o in outputs)
            return type(outputs)(found) if isinstance(outputs, (list, tuple)) else found
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _state(self, function: str) -> tuple[Tensor, Tensor]:
        if self._scale is None or self._growth_tracker is None:
            raise AssertionError(
                f"Attempted {function} but _scale is None.  This may indicate your script did not "
                "use scaler.scale(loss or outputs) earlier in the iteration.")
        return self._scale, self._growth_tracker

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients by the scale now, to clip them, say; :meth:`step` does otherwise.

        Raises RuntimeError for the second time since ``update``, or after ``step``.
        """
        if not self._enabled:
            return
        scale, _ = self._state("unscale_")
        own = self._of[id(optimizer)]
        if own.stage is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the "
                               "last update().")
        if own.stage is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        wide = cast(scale.value, lazyloom.dtypes.float64)
        factor = cast(record("reciprocal", [wide]), lazyloom.dtypes.float32)
        own.found = self._unscale(optimizer, factor)
        own.stage = OptState.UNSCALED

    def _unscale(self, optimizer: Any, factor: Value) -> Value | None:
        """Multiply all gradients; whether any was not finite, as a number that is not 0.

        None without gradients.
        """
        by_kind: dict[Any, list[Tensor]] = {}
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    if p.grad.dtype is _dtypes.float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    by_kind.setdefault(p.grad.dtype, []).append(p.grad)
        found: Value | None = None
        try:
            with no_grad():
                for gradients in by_kind.values():
                    with write_locks(gradients):
                        here, *scaled = record("unscale", [factor, *[g.value for g in gradients]])
                        for g, value in zip(gradients, scaled, strict=True):
                            g._update(value)
                    found = here if found is None else record("maximum", [found, here])
        except lazyloom.LoomError as error:
            raise as_torch(error) from None
        return found

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscale if that is still to be done, and step unless a gradient was not finite.

        Raises RuntimeError for a closure, or a second step since ``update``.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError(
                "Closure use is not currently supported if GradScaler is enabled.")
        self._state("step")
        own = self._of[id(optimizer)]
        if own.stage is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if own.stage is OptState.READY:
            self.unscale_(optimizer)
        if own.found is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = self._selected(optimizer, own.found, args, kwargs)
        own.stage = OptState.STEPPED
        if isinstance(optimizer, RecordedOptimizer):
            optimizer.dispatch()
        return result

    def _selected(self, optimizer: Any, found: Value, args: Any, kwargs: Any) -> Any:
        """The optimizer's step, whose effects last only if nothing was found."""
        if not isinstance(optimizer, RecordedOptimizer) or not optimizer.selectable():
            # the step may change what is no tensor, so that one has to know before
            return None if Tensor.from_value(found).item() else optimizer.step(*args, **kwargs)
        optimizer.prepare()
        before = _contents(optimizer)
        optimizer.held = True
        try:
            result = optimizer.step(*args, **kwargs)
        finally:
            optimizer.held = False
        with no_grad():
            skipped = record("not_equal", [found, scalar(0, found.dtype)])
            # counters are shared: one selected value serves all that hold them
            changed: dict[Any, dict[Any, _Change]] = {}
            for key, (place, value) in _contents(optimizer).items():
                old = before[key][1] if key in before else record(
                    "full", [scalar(0, value.dtype)], {"shape": value.shape})
                if old.node is value.node and old.index == value.index:
                    continue
                pair = (id(old.node) if key in before else key, old.index, id(value.node),
                        value.index)
                of_kind = changed.setdefault(value.dtype, {})
                if pair not in of_kind:
                    of_kind[pair] = _Change(old, value)
                of_kind[pair].places.append(place)
            for of_kind in changed.values():
                given = list(of_kind.values())
                chosen = record("select_all", [
                    skipped, *[c.old for c in given], *[c.new for c in given]])
                for c, value in zip(
                    given, chosen if type(chosen) is tuple else (chosen,), strict=True
                ):
                    shared = Tensor.from_value(value)
                    for place in c.places:
                        place.store(value, shared)
        return result

    def update(self, new_scale: Any = None) -> None:
        """Let the scale follow what the steps since the last update have found, or set it."""
        if not self._enabled:
            return
        scale, tracker = self._state("update")
        if new_scale is not None:
            if isinstance(new_scale, Tensor):
                if new_scale.numel() != 1 or new_scale.requires_grad:
                    raise AssertionError(
                        "new_scale should be a float or a tensor of one element that does not "
                        "require grad")
                scale.copy_(new_scale.reshape(()))
            else:
                scale.fill_(float(new_scale))
        else:
            found = [own.found for own in self._of.values() if own.found is not None]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._policy.follow(scale, tracker, found)
        self._of = defaultdict(_OfOptimizer)

    def get_scale(self) -> float:
        """The scale as a Python number; reads it."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by after enough good steps."""
        return self._policy.growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set :meth:`get_growth_factor`."""
        self._policy.growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after a step that did not count."""
        return self._policy.backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set :meth:`get_backoff_factor`."""
        self._policy.backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many good steps in a row let the scale grow."""
        return self._policy.growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set :meth:`get_growth_interval`."""
        self._policy.growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(
            self._growth_tracker.item())

    def is_enabled(self) -> bool:
        """Whether anything is scaled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Scale, factors and counts as Python numbers; reads them. Empty if disabled."""
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), **dataclasses.asdict(self._policy),
                "_growth_tracker": self._get_growth_tracker()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what :meth:`state_dict` gave. Raises RuntimeError if that is empty."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from "
                               "a disabled instance of GradScaler.")
        self._init_scale = state_dict["scale"]
        self._policy = _Policy(**{
            field.name: state_dict[field.name] for field in dataclasses.fields(_Policy)})
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None and self._growth_tracker is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        found = dict(self.__dict__)
        if self._enabled:
            if self._of:
                raise AssertionError("A GradScaler instance may only be pickled at the beginning "
                                     "of an iteration, or at the end after scaler.update().")
            found.update(_init_scale=self.get_scale(), _scale=None, _growth_tracker=None,
                         _init_growth_tracker=self._get_growth_tracker())
        return found


class _Held:
    """A tensor whose contents a step may have changed."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def store(self, value: Value, shared: Tensor) -> None:
        self.tensor._update(value)


class _Entry:
    """An entry of a parameter's state for a counter, which is another tensor after a step."""

    __slots__ = ("state", "name")

    def __init__(self, state: dict[str, Any], name: str) -> None:
        self.state, self.name = state, name

    def store(self, value: Value, shared: Tensor) -> None:
        self.state[self.name] = shared


class _Change:
    """Contents before and after a step, and where they are."""

    __slots__ = ("old", "new", "places")

    def __init__(self, old: Value, new: Value) -> None:
        self.old, self.new = old, new
        self.places: list[Any] = []


def _contents(optimizer: RecordedOptimizer) -> dict[Any, tuple[Any, Value]]:
    """Where the optimizer's parameters and state are, and their contents."""
    found: dict[Any, tuple[Any, Value]] = {}
    for group in optimizer.param_groups:
        for p in group["params"]:
            found[id(p)] = (_Held(p), p.value.detach())
            state: dict[str, Any] = optimizer.state.get(p) or {}
            for name, held in state.items():
                place = _Entry(state, name) if name in optimizer.counters else _Held(held)
                found[id(p), name] = (place, held.value.detach())
    return found
