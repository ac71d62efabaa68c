"""L-BFGS, with a line search for the strong Wolfe conditions.

The decisions are the host's, as in PyTorch: an iteration reads what it decides by twice, all
numbers of a moment together. The direction is one op; its history is filled up with entries of
no effect to 8 or a power of two, so that a run has a handful of programs and not one an iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lazyloom
from lazyloom import Value
from lazyloom.frontend import write_lock

from .._core import cast, record, scalar
from .._divided import divided
from .._grad_mode import enable_grad
from .._tensor import Tensor
from ._recorded import check_rate
from .optimizer import Optimizer

_wrap = Tensor.from_value


class LBFGS(Optimizer):
    """Limited-memory BFGS (Liu and Nocedal, 1989), for one group of parameters.

    Args:
        max_iter: iterations of a step; ``max_eval`` (5/4 of it) evaluations of the closure.
        tolerance_grad: stop at gradients whose elements are all smaller.
        tolerance_change: stop at changes of loss or parameters that are smaller.
        history_size: how many changes of the gradient are kept.
        line_search_fn: None for steps of ``lr``, or ``"strong_wolfe"``.

    Raises:
        ValueError: invalid hyperparameters, or several groups.
    """

    def __init__(
        self, params: Any, lr: Any = 1, max_iter: int = 20, max_eval: int | None = None,
        tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_rate(lr)
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
            "history_size": history_size, "line_search_fn": line_search_fn})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]
        self._empty: dict[Any, list[Tensor]] = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._params = self.param_groups[0]["params"]
        self._empty = {}

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Minimise for some iterations. Returns the first loss that the closure gave."""
        with lazyloom.grad_mode(False):
            return self._minimise(enable_grad()(closure))

    def _minimise(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        lr = float(group["lr"])
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = closure()
        state["func_evals"] += 1
        gradient = self._flat_gradient()
        loss, largest, total = _read(first, _largest(gradient), _sum(record("abs", [gradient])))
        if largest <= group["tolerance_grad"]:
            return first
        evaluations = iterations = 0
        evaluations = 1
        pending: tuple[float, float] | None = None
        while iterations < group["max_iter"]:
            iterations += 1
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                state.update(d=None, t=None, old_dirs=[], old_stps=[], ro=[], H_diag=1)
                direction = record("negative", [gradient])
            else:
                self._remember(state, group, gradient, pending)
                direction = self._direction(state, group, gradient)
            state["d"] = _wrap(direction)
            state["prev_flat_grad"], state["prev_loss"] = _wrap(gradient), loss
            step = min(1.0, 1.0 / total) * lr if state["n_iter"] == 1 else lr
            state["t"] = step
            (slope,) = _read(_dot(gradient, direction))
            if slope > -group["tolerance_change"]:
                break
            before, calls = loss, 0
            if group["line_search_fn"] is not None:
                search = _Search(self._evaluator(closure, direction), group["tolerance_change"],
                                 group["max_eval"] - evaluations)
                (size,) = _read(_largest(direction))
                step, loss, gradient = search.run(step, loss, gradient, slope, size)
                calls = search.calls
                state["t"] = step
                self._move(step, direction)
                again = False
            else:
                self._move(step, direction)
                again = iterations != group["max_iter"]
                if again:
                    fresh = closure()
                    gradient = self._flat_gradient()
                    calls = 1
            evaluations += calls
            state["func_evals"] += calls
            if not again and group["line_search_fn"] is None:
                break
            change = record("subtract", [gradient, state["prev_flat_grad"].value])
            moved = record("multiply", [direction, _number(step, direction)])
            numbers = _read(
                *([fresh] if again else []), _largest(gradient), _largest(moved),
                _dot(change, moved), _dot(change, change))
            if again:
                loss = numbers.pop(0)
            largest, distance, *pending = numbers  # type: ignore[assignment]
            if (
                iterations == group["max_iter"] or evaluations >= group["max_eval"]
                or largest <= group["tolerance_grad"] or distance <= group["tolerance_change"]
                or abs(loss - before) < group["tolerance_change"]
            ):
                break
        return first

    def _remember(
        self, state: dict[str, Any], group: dict[str, Any], gradient: Value, known: Any
    ) -> None:
        """Take the last change of gradient and parameters into the history."""
        change = record("subtract", [gradient, state["prev_flat_grad"].value])
        moved = record("multiply", [state["d"].value, _number(float(state["t"]), gradient)])
        curvature, square = _dot(change, moved), _dot(change, change)
        if known is None:
            known = _read(curvature, square)
        if known[0] <= 1e-10:
            return
        if len(state["old_dirs"]) == group["history_size"]:
            for name in ("old_dirs", "old_stps", "ro"):
                state[name].pop(0)
        state["old_dirs"].append(_wrap(change))
        state["old_stps"].append(_wrap(moved))
        state["ro"].append(_wrap(record("reciprocal", [curvature])))
        state["H_diag"] = _wrap(record("divide", [curvature, square]))

    def _direction(self, state: dict[str, Any], group: dict[str, Any], gradient: Value) -> Value:
        count = len(state["old_dirs"])
        room = max(8, 1 << max(count - 1, 0).bit_length())
        room = min(room, max(group["history_size"], count))
        history: list[Value] = []
        for name, shape in (("old_dirs", gradient.shape), ("old_stps", gradient.shape), ("ro", ())):
            history += self._fillers(name, shape, gradient.dtype, room - count)
            history += [t.value for t in state[name]]
        scale = state["H_diag"]
        first = scale.value if isinstance(scale, Tensor) else _number(float(scale), gradient)
        found: Value = record("lbfgs_direction", [first, gradient, *history])
        return found

    def _fillers(self, name: str, shape: Any, kind: Any, count: int) -> list[Value]:
        """Entries of no effect: zeros, each a tensor of its own, as the entries to come are."""
        known = self._empty.setdefault((name, shape, kind), [])
        while len(known) < count:
            known.append(_wrap(lazyloom.source("full", [scalar(0, kind)], {"shape": shape})))
        del known[count:]
        return [t.value for t in known]

    def _flat_gradient(self) -> Value:
        parts = []
        for p in self._params:
            grad = p.grad
            if grad is None:
                shape = (p.numel() * (2 if p.is_complex() else 1),)
                kind = p.tensor_type.dtype
                if p.is_complex():
                    kind = _real_part(p.value).dtype
                parts.append(record("full", [scalar(0, kind)], {"shape": shape}))
                continue
            if grad._is_dtensor:
                grad = grad.full_tensor()
            value = grad.value.detach()
            if p.is_complex():
                value = record("stack", [_real_part(value), record("imag", [value])],
                               {"axis": -1})
            parts.append(record("reshape", [value], {"shape": (value.type.size,)}))
        found: Value = record("concatenate", parts, {"axis": 0})
        return found

    def _move(self, step: float, direction: Value) -> None:
        """Add step times the direction to the parameters."""
        at = 0
        for p in self._params:
            shape = p.tensor_type.shape
            size = p.numel()
            if p.is_complex():
                part = _piece(direction, at, 2 * size, (*shape, 2))
                axis = len(shape)
                halves = [record("reshape", [
                    record("slice", [part], {
                        "starts": (0,) * axis + (k,), "stops": (*shape, k + 1)})],
                    {"shape": shape}) for k in (0, 1)]
                part = record("complex", halves)
                at += 2 * size
            else:
                part = _piece(direction, at, size, shape)
                at += size
            part = cast(part, p.tensor_type.dtype)
            moved = record("multiply", [part, _number(step, part)])
            own = _own(p)
            if own is not p:
                moved = divided["part"](_wrap(moved), p).value
            with write_lock(own):
                own._update(record("add", [own.value, moved]))

    def _evaluator(
        self, closure: Callable[[], Any], direction: Value
    ) -> Callable[[float], tuple[float, Value, float]]:
        """Loss, gradient and slope at a distance from here; the parameters are put back."""
        here = [_own(p).value for p in self._params]

        def evaluate(step: float) -> tuple[float, Value, float]:
            self._move(step, direction)
            loss = closure()
            gradient = self._flat_gradient()
            for p, value in zip(self._params, here, strict=True):
                _own(p)._update(value.detach())
            found, slope = _read(loss, _dot(gradient, direction))
            return found, gradient, slope

        return evaluate


def _own(p: Any) -> Tensor:
    """This process's part of a parameter that is divided; others as they are."""
    found: Tensor = p._local_tensor if p._is_dtensor else p
    return found


class _Point:
    """A step of the line search: its length, the loss, the gradient and the slope there."""

    __slots__ = ("step", "loss", "gradient", "slope")

    def __init__(self, step: float, loss: float, gradient: Value, slope: float) -> None:
        self.step, self.loss, self.gradient, self.slope = step, loss, gradient, slope


class _Search:
    """A line search for the strong Wolfe conditions (Nocedal and Wright, 3.5 and 3.6)."""

    enough, flat = 1e-4, 0.9

    def __init__(
        self, evaluate: Callable[[float], tuple[float, Value, float]], tolerance: float, most: int
    ) -> None:
        self.evaluate, self.tolerance, self.most = evaluate, tolerance, most
        self.calls = 0

    def _at(self, step: float) -> _Point:
        self.calls += 1
        return _Point(step, *self.evaluate(step))

    def run(
        self, step: float, loss: float, gradient: Value, slope: float, size: float
    ) -> tuple[float, float, Value]:
        """The step that was found, with loss and gradient; ``size`` is the direction's largest."""
        start = _Point(0.0, loss, gradient, slope)
        low, high, found = self._bracket(start, step)
        if found is None:
            found = self._zoom(start, low, high, size)
        return found.step, found.loss, found.gradient

    def _bracket(self, start: _Point, step: float) -> tuple[_Point, _Point, _Point | None]:
        """Two points between which one satisfies the conditions, or that one."""
        previous, now = start, self._at(step)
        tried = 0
        while tried < self.most:
            if self._too_high(start, now) or (tried > 1 and now.loss >= previous.loss):
                return previous, now, None
            if abs(now.slope) <= -self.flat * start.slope:
                return now, now, now
            if now.slope >= 0:
                return previous, now, None
            least, most = now.step + 0.01 * (now.step - previous.step), now.step * 10
            step = _cubic_minimum(previous, now, (least, most))
            previous, now = now, self._at(step)
            tried += 1
        self.tried = tried
        return start, now, None

    def _too_high(self, start: _Point, now: _Point) -> bool:
        return now.loss > start.loss + self.enough * now.step * start.slope

    def _zoom(self, start: _Point, first: _Point, second: _Point, size: float) -> _Point:
        low, high = (first, second) if first.loss <= second.loss else (second, first)
        ends = [first, second]
        stuck = False
        while self.calls - 1 < self.most:
            near, far = sorted((low.step, high.step))
            if (far - near) * size < self.tolerance:
                break
            step = _cubic_minimum(ends[0], ends[1])
            margin = 0.1 * (far - near)
            if min(far - step, step - near) < margin:
                # near an end: the second time, or beyond it, go inside by a tenth
                if stuck or step >= far or step <= near:
                    step = far - margin if abs(step - far) < abs(step - near) else near + margin
                    stuck = False
                else:
                    stuck = True
            else:
                stuck = False
            now = self._at(step)
            if self._too_high(start, now) or now.loss >= low.loss:
                ends[ends.index(high)] = now
                high = now
                low, high = (ends[0], ends[1]) if ends[0].loss <= ends[1].loss else (
                    ends[1], ends[0])
                continue
            if abs(now.slope) <= -self.flat * start.slope:
                return now
            place = ends.index(low)
            if now.slope * (high.step - low.step) >= 0:
                ends[1 - place] = high = low
            ends[place] = low = now
        return low


def _cubic_minimum(
    a: _Point, b: _Point, bounds: tuple[float, float] | None = None
) -> float:
    """Where the cubic through two points with their slopes is least, within the bounds."""
    least, most = sorted((a.step, b.step)) if bounds is None else bounds
    if a.step == b.step:
        return (least + most) / 2.0
    bend = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.step - b.step)
    square = bend * bend - a.slope * b.slope
    if not square >= 0:
        return (least + most) / 2.0
    root = square**0.5
    left, right = (a, b) if a.step <= b.step else (b, a)
    divisor = right.slope - left.slope + 2 * root
    if divisor == 0:
        return (least + most) / 2.0
    found = right.step - (right.step - left.step) * ((right.slope + root - bend) / divisor)
    return min(max(found, least), most)


def _number(x: float, like: Value) -> Any:
    return scalar(x, like.dtype, bake=False)


def _real_part(value: Value) -> Value:
    found: Value = record("real", [value])
    return found


def _sum(value: Value) -> Value:
    found: Value = record("sum", [value])
    return found


def _dot(a: Value, b: Value) -> Value:
    return _sum(record("multiply", [a, b]))


def _largest(value: Value) -> Value:
    found: Value = record("max", [record("abs", [value])])
    return found


def _piece(flat: Value, at: int, size: int, shape: tuple[int, ...]) -> Value:
    part = record("slice", [flat], {"starts": (at,), "stops": (at + size,)})
    found: Value = record("reshape", [part], {"shape": shape})
    return found


def _read(*given: Any) -> list[float]:
    """Numbers, values and tensors of one element as floats, by one read."""
    numbers: list[Any] = [None] * len(given)
    values = []
    for i, x in enumerate(given):
        if isinstance(x, Tensor):
            x = x.value
        if isinstance(x, Value):
            x = record("reshape", [x.detach()], {"shape": ()})
            values.append((i, x))
        else:
            numbers[i] = float(x)
    if values:
        from lazyloom.dtypes import float64

        together = _wrap(record("stack", [cast(v, float64) for _, v in values], {"axis": 0}))
        for (i, _), number in zip(values, together.tolist(), strict=True):
            numbers[i] = number
    return numbers
