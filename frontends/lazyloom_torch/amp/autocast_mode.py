"""The contexts of autocasting, and its state."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from lazyloom.errors import type_name
from lazyloom.frontend import set_operators

from .. import _dtypes, _operators
from .._autocast import casting, state
from .._tensor import Tensor

_AVAILABLE = ("cpu", "cuda")
#: other kinds of devices that may be asked about, as in PyTorch
_KINDS = ("mps", "xpu", "mtia", "hpu", "xla", "ipu", "maia", "privateuseone")


def is_autocast_available(device_type: str) -> bool:
    """Whether programs may ask for autocasting on that kind of device."""
    return device_type in _AVAILABLE


def _known(device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if not is_autocast_available(device_type):
        raise RuntimeError(f"unsupported autocast device_type {device_type!r}, expected one of "
                           f"{', '.join(map(repr, _AVAILABLE))}")
    return device_type


def get_autocast_dtype(device_type: str) -> Any:
    """The lower precision on that kind of device: bfloat16 on the CPU unless it was set."""
    return state.dtypes[_known(device_type)]


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Set the dtype of ``autocast`` on a kind of device."""
    state.dtypes[_known(device_type)] = _dtypes.as_dtype(dtype)


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether this thread autocasts on that kind of device; there is only the CPU."""
    if device_type in _KINDS:
        return False
    return _known(device_type) == "cpu" and state.enabled


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch autocasting of this thread for good; use :class:`autocast` for a part of it."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    if _known(device_type) == "cpu" and bool(enabled) is not state.enabled:
        _switch(bool(enabled))


def is_autocast_cpu_enabled() -> bool:
    """Whether this thread autocasts."""
    return state.enabled


def get_autocast_cpu_dtype() -> Any:
    """``get_autocast_dtype("cpu")``."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> Any:
    """``get_autocast_dtype("cuda")``."""
    return get_autocast_dtype("cuda")


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """Set the dtype of ``autocast`` on a CPU."""
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype: Any) -> None:
    """Set the dtype of ``autocast`` on a GPU."""
    set_autocast_dtype("cuda", dtype)


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Set whether ``autocast`` is on, on a CPU."""
    set_autocast_enabled("cpu", enabled)


def is_autocast_cache_enabled() -> bool:
    """Whether casts of weights may be kept; XLA merges equal ones in any case."""
    return state.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether ``autocast`` keeps casts of weights."""
    state.cache_enabled = bool(enabled)


def clear_autocast_cache() -> None:
    """Nothing: casts are part of the program that uses them."""


def autocast_increment_nesting() -> int:
    """Enter a level of ``autocast``; how many there are then."""
    state.nesting += 1
    return state.nesting


def autocast_decrement_nesting() -> int:
    """Leave a level of ``autocast``; how many there are then."""
    state.nesting -= 1
    return state.nesting


def _switch(enabled: bool) -> None:
    """Let this thread autocast or not, and the operators look for it while any thread does."""
    if enabled is state.enabled:
        return
    state.enabled = enabled
    if enabled:
        casting.append(None)
    else:
        casting.pop()
    if len(casting) == (1 if enabled else 0):
        set_operators(Tensor, _operators.autocasting if enabled else _operators.usual)


class autocast:  # noqa: N801
    """A context manager or decorator in which products take operands of lower precision.

    Matrix products, convolutions and attention are computed on operands cast to ``dtype``
    (bfloat16, or float16 if asked for), losses and what else needs range in float32; everything
    else as it comes. Tensors of float64 stay. ``enabled=False`` switches it off inside. On
    ``"cuda"`` there is nothing to cast, and a warning says so.

    Raises RuntimeError for another kind of device.
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        self.device = _known(device_type)
        self.fast_dtype = state.dtypes[device_type] if dtype is None else _dtypes.as_dtype(dtype)
        self._cache_enabled = state.cache_enabled if cache_enabled is None else cache_enabled
        if enabled and device_type == "cuda":
            warnings.warn("User provided device_type of 'cuda', but CUDA is not available. "
                          "Disabling autocast.", stacklevel=2)
            enabled = False
        elif enabled and self.fast_dtype not in (_dtypes.bfloat16, _dtypes.float16):
            warnings.warn(
                f"In CPU autocast, but the target dtype {self.fast_dtype!r} is not supported. "
                "Disabling autocast. CPU Autocast only supports dtypes of torch.bfloat16, "
                "torch.float16 currently.", stacklevel=2)
            enabled = False
        self._enabled = enabled
        self._before: list[tuple[bool, Any, bool]] = []

    def __enter__(self) -> autocast:
        self._before.append((state.enabled, state.dtypes[self.device], state.cache_enabled))
        if self.device == "cpu":
            _switch(self._enabled)
        state.dtypes[self.device] = self.fast_dtype
        state.cache_enabled = self._cache_enabled
        autocast_increment_nesting()
        return self

    def __exit__(self, *exc: object) -> None:
        enabled, dtype, cache = self._before.pop()
        autocast_decrement_nesting()
        if self.device == "cpu":
            _switch(enabled)
        state.dtypes[self.device] = dtype
        state.cache_enabled = cache

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(function):
            raise TypeError("autocast()(function) requires a callable, but got "
                            f"{type_name(function)}; use it as a context manager otherwise")

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return wrapper


def _converted(x: Any, dtype: Any) -> Any:
    if isinstance(x, Tensor):
        wide = x.is_floating_point() and x.dtype is not _dtypes.float64
        return x.to(dtype) if wide else x
    if isinstance(x, dict):
        return {_converted(k, dtype): _converted(v, dtype) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(_converted(v, dtype) for v in x)
    return x


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: Any = None
) -> Any:
    """Decorates ``forward`` of an autograd.Function that is called while autocasting.

    With ``cast_inputs`` its floating-point tensors get that dtype and nothing in it autocasts;
    otherwise ``backward``, decorated by :func:`custom_bwd`, does as forward did.
    """
    _known(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        args[0]._dtype = get_autocast_dtype(device_type)
        enabled = is_autocast_enabled(device_type)
        args[0]._fwd_used_autocast = enabled and cast_inputs is None
        if cast_inputs is None or not enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_converted(args, cast_inputs), **_converted(kwargs, cast_inputs))

    return wrapper


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Decorates ``backward``: it autocasts exactly if ``forward`` did (:func:`custom_fwd`)."""
    _known(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        context = args[0]
        with autocast(device_type, dtype=context._dtype, enabled=context._fwd_used_autocast):
            return bwd(*args, **kwargs)

    return wrapper
