"""``torch.compile``: functions and modules whose calls are captured.

The runtime captures (:func:`lazyloom.jit`); here stands what of this frontend calls rest on, and
the module that stands for a compiled one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import lazyloom
from lazyloom import capture
from lazyloom.errors import type_name

from . import _dtypes
from ._autocast import state as _autocast
from ._draws import Generator, default_generator
from ._grad_mode import is_inference_mode_enabled
from ._hooks import RemovableHandle
from ._tensor import Leaf
from .autograd import _hooks as _tensor_hooks
from .autograd import anomaly_mode
from .nn.modules import _hooks as _module_hooks
from .nn.modules.module import Module
from .optim import optimizer as _optimizer
from .optim._recorded import RecordedOptimizer

#: whether calls are captured: what ``torch.compiler.set_stance`` says
stance: list[str] = ["default"]
#: all that was compiled, for ``torch.compiler.reset``
_compiled: weakref.WeakSet[Any] = weakref.WeakSet()


def _settings() -> tuple[Any, ...]:
    """What calls depend on beside what they reach."""
    hooks = _module_hooks.Global
    return (
        _dtypes.get_default_dtype(), is_inference_mode_enabled(), _autocast.enabled,
        _autocast.cache_enabled, _autocast.nesting, _autocast.dtypes["cpu"],
        anomaly_mode.is_enabled(), len(_tensor_hooks.watches),
        len(hooks.pre) + len(hooks.post) + len(hooks.always) + len(hooks.backward)
        + len(hooks.backward_pre) + len(hooks.buffers) + len(hooks.modules)
        + len(hooks.parameters) + len(_optimizer._global_pre_hooks)
        + len(_optimizer._global_post_hooks), stance[0])


capture.register(_settings)
capture.register_generators(capture.Generators(
    Generator, Generator.next_key, Generator.next_number, Generator.advance,
    lambda: [default_generator]))
capture.ignore_attributes(
    _optimizer.Optimizer, "_ended", "_opt_called", "_step_count")
capture.ignore_attributes(
    RecordedOptimizer, "_watched", "_apart", "_forgets", "_due", "held", "_kept", "_kept_state")
capture.register_readers(capture.Readers(
    RecordedOptimizer, "param_groups",
    (RecordedOptimizer.step.__wrapped__, RecordedOptimizer._groups,  # type: ignore[attr-defined]
     RecordedOptimizer.zero_grad, _optimizer.Optimizer.zero_grad)))
capture.composed_tensors(lambda x: bool(getattr(x, "_is_dtensor", False)))
capture.constant_classes(RemovableHandle, _dtypes.dtype, _dtypes.device)
capture.ignore_attributes(Leaf, "owner", "strides", "lock", "token", "__weakref__")


class OptimizedModule(Module):
    """A module whose calls are captured: what ``torch.compile(module)`` gives.

    It has the attributes of the module, ``_orig_mod``, and the same parameters; its state dict's
    keys begin with ``_orig_mod.``, as PyTorch's do.
    """

    _orig_mod: Module
    _options: dict[str, Any]

    def __init__(self, module: Module, options: dict[str, Any]) -> None:
        super().__init__()
        self._orig_mod = module
        object.__setattr__(self, "training", module.training)
        self.__dict__["_options"] = options
        self._start()

    def _start(self) -> None:
        self.__dict__["_captured"] = _jitted(self._orig_mod.__call__, **self._options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["_captured"](*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["_captured"](*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._modules["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "training":
            object.__setattr__(self, name, value)
            self.__dict__["_modules"]["_orig_mod"].training = value
        elif name == "_orig_mod" or "_orig_mod" not in self.__dict__.get("_modules", {}):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __getstate__(self) -> dict[str, Any]:
        return {"module": self._orig_mod, "options": self._options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        OptimizedModule.__init__(self, state["module"], state["options"])

    def __reduce_ex__(self, protocol: Any) -> Any:
        return OptimizedModule, (self._orig_mod, self._options)

    def __deepcopy__(self, memo: dict[int, Any]) -> OptimizedModule:
        import copy

        return OptimizedModule(copy.deepcopy(self._orig_mod, memo), dict(self._options))


def _jitted(function: Callable[..., Any], fullgraph: bool = False, disable: bool = False) -> Any:
    made = lazyloom.jit(function, fullgraph=fullgraph, disable=disable)
    _compiled.add(made)
    return made


def compile(
    model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: Any = None,
    mode: str | None = None, options: Any = None, disable: bool = False,
) -> Any:  # fmt: skip
    """``torch.compile``; of a module it gives an :class:`OptimizedModule`."""
    if model is None:
        found: Callable[[Any], Any] = lambda m: compile(  # noqa: E731
            m, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options,
            disable=disable)
        return found
    if not callable(model):
        raise TypeError(f"compile() takes a module or function, not {type_name(model)}")
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same "
            "time.")
    if mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES[1:])}")
    if isinstance(model, Module):
        if isinstance(model, OptimizedModule):
            return model
        return OptimizedModule(model, {"fullgraph": fullgraph, "disable": disable})
    if isinstance(model, capture.Jitted):
        return model
    if isinstance(model, type):
        return model
    return _jitted(model, fullgraph, disable)


_MODES: tuple[Any, ...] = (
    None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


def reset() -> None:
    """Forget what was captured of everything that was compiled."""
    for made in list(_compiled):
        made.forget()


def explain(f: Any, *extra_args: Any, **extra_kwargs: Any) -> Any:
    """What became of the calls of a compiled function or module, an object that prints itself.

    With arguments to call it with, as PyTorch has it, that is done first.
    """
    made = f.__dict__["_captured"] if isinstance(f, OptimizedModule) else f
    if not isinstance(made, capture.Jitted):
        def called(*args: Any, **kwargs: Any) -> Any:
            compiled = compile(f)
            for _ in range(3):
                compiled(*args, **kwargs)
            return explain(compiled)

        return called(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else called
    if extra_args or extra_kwargs:
        f(*extra_args, **extra_kwargs)
    return made.explain()
