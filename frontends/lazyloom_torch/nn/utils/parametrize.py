"""Parametrizations: a parameter computed from others each time that it is used."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lazyloom.errors import type_name

from ..._grad_mode import no_grad
from ..._tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

_depth = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once while this lasts."""
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if not _depth:
            _cache.clear()


def _set(here: Tensor, value: Tensor) -> None:
    """Give a tensor other data, which may have another shape; it stays the same tensor."""
    if value is not here:
        here.data = value.detach()


def _register(module: Module, name: str, value: Tensor) -> None:
    if isinstance(value, Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)


def _check_type(before: Tensor, after: Any, what: str) -> None:
    if not isinstance(after, Tensor):
        raise ValueError(f"{what} must return a tensor. Got {type_name(after)}.")
    for attribute in ("dtype", "shape"):
        old, new = getattr(before, attribute), getattr(after, attribute)
        if old != new:
            raise ValueError(
                f"{what} may not change the {attribute} of the tensor, unless `unsafe` flag is "
                f"enabled: it was {old}, and is {new}")


def _inverse(parametrization: Module, value: Any) -> Any:
    """What a parametrization would compute the value from; the value itself if it cannot tell."""
    right_inverse = getattr(parametrization, "right_inverse", None)
    try:
        return value if right_inverse is None else right_inverse(value)
    except NotImplementedError:
        return value


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and what it is computed from: ``original``, or
    ``original0``, ``original1`` and so on.

    Raises ValueError for parametrizations that change dtype or shape, unless ``unsafe``.
    """

    original: Tensor

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        kept = original.detach()
        new: Any = original
        with no_grad():
            for module in reversed(list(self)):
                new = _inverse(module, new)
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type_name(new)}")
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if isinstance(new, Tensor) else len(new)
        if isinstance(new, Tensor):
            if new.dtype is not original.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype: it was "
                    f"{original.dtype}, and is {new.dtype}")
            _set(original, new)
            _register(self, "original", original)
        else:
            for i, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, "
                        f"tuple...). Got element {i} of the sequence with type "
                        f"{type_name(part)}.")
                if isinstance(original, Parameter):
                    part = Parameter(part.detach(), original.requires_grad)
                else:
                    part = part.detach().requires_grad_(original.requires_grad)
                _register(self, f"original{i}", part)
        if not unsafe:
            _check_type(kept, self(), "A parametrization")

    def right_inverse(self, value: Any) -> None:
        """Set what the tensor is computed from, so that it becomes a given one."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not "
                                       "implement right_inverse.")
                value = module.right_inverse(value)
            names = ["original"] if self.is_tensor else [
                f"original{i}" for i in range(self.ntensors)]
            if self.is_tensor and not isinstance(value, Tensor):
                raise ValueError(
                    f"`right_inverse` should return a tensor. Got {type_name(value)}")
            given = [value] if self.is_tensor else value
            if not isinstance(given, Sequence) or len(given) != len(names):
                raise ValueError("'right_inverse' must return a sequence of tensors of length "
                                 f"{self.ntensors}. Got {type_name(given)}.")
            for name, tensor in zip(names, given, strict=True):
                here = getattr(self, name)
                if not isinstance(tensor, Tensor) or tensor.dtype is not here.dtype:
                    raise ValueError(
                        f"what `right_inverse` returned for `{name}` should be a tensor of dtype "
                        f"{here.dtype}, but is {getattr(tensor, 'dtype', type_name(tensor))}")
                _set(here, tensor)

    def forward(self) -> Any:
        parametrizations = list(self)
        if self.is_tensor:
            x = parametrizations[0](self.original)
        else:
            x = parametrizations[0](*(getattr(self, f"original{i}")
                                      for i in range(self.ntensors)))
        for module in parametrizations[1:]:
            x = module(x)
        return x


def _without_state(self: Any) -> Any:
    raise RuntimeError("Serialization of parametrized modules is only supported through "
                       "state_dict().")


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    found = memo.get(id(self))
    if found is None:
        found = memo[id(self)] = self.__new__(type(self))
        found.__dict__ = copy.deepcopy(self.__dict__, memo)
    return found


def _give_class(module: Module) -> None:
    """Give a module a class of its own, on which properties can be set."""
    cls = type(module)
    members: dict[str, Any] = {"__getstate__": _without_state, "__module__": cls.__module__}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _give_property(module: Module, name: str) -> None:
    def get(self: Any) -> Any:
        parametrization = self.parametrizations[name]
        if not _depth:
            return parametrization()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def put(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, put))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer of a module by another module, from now on.

    ``parametrization.right_inverse``, if there is one, gives what to start from. Raises
    ValueError for a name that the module lacks, and for dtypes or shapes that change, unless
    ``unsafe``.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            before = getattr(module, tensor_name)
            after = parametrization(before)
            _check_type(before, after, "A parametrization")
            _check_type(before, _inverse(parametrization, after), "parametrization.right_inverse")
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
        return module
    if tensor_name not in module._buffers and tensor_name not in module._parameters:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a "
                         f"parametrized element with name '{tensor_name}'")
    made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _give_class(module)
        module.parametrizations = ModuleDict()
    _give_property(module, tensor_name)
    module.parametrizations[tensor_name] = made
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations, or one of that tensor."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a tensor a plain parameter or buffer again: with what was computed, or the original.

    Raises ValueError where there is no parametrization, or several originals are to be left.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with no_grad():
                _set(original, getattr(module, tensor_name))
    elif leave_parametrized:
        tensor = getattr(module, tensor_name)
        original = Parameter(tensor.detach()) if tensor.requires_grad else tensor
    else:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that "
                         "is parametrized in terms of a sequence of tensors.")
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that a module had before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give a module the parametrizations of another one, and what they compute from."""
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        given = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
        for parametrization in given:
            register_parametrization(to_module, name, parametrization)
        mine = to_module.parametrizations[name]
        for original in ("original",) if given.is_tensor else tuple(
            f"original{i}" for i in range(given.ntensors)
        ):
            setattr(mine, original, getattr(given, original))
    return to_module


__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization",
           "remove_parametrizations", "transfer_parametrizations_and_params",
           "type_before_parametrizations"]
