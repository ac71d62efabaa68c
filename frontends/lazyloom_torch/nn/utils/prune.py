"""Pruning: parameters of which a mask keeps some elements and sets the others to zero.

A pruned parameter ``weight`` is kept whole as the parameter ``weight_orig``, with the mask as the
buffer ``weight_mask``; before each call of the module, ``weight`` is their product. Which elements
go is decided by what :meth:`BasePruningMethod.compute_mask` of a class says.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from ..._functions.creation import ones_like, zeros_like
from ..._functions.reductions import norm
from ..._functions.shaping import cat
from ..._functions.sorting import topk
from ..._tensor import Tensor
from ...random import rand_like, randperm


class BasePruningMethod(ABC):
    """A way to choose what is pruned; subclasses define :meth:`compute_mask`.

    ``PRUNING_TYPE`` says what a method that follows others chooses among: ``"unstructured"``
    elements that are left, ``"structured"`` channels that are left, or ``"global"`` all of it.
    """

    _tensor_name: str
    PRUNING_TYPE = "unstructured"
    #: the dimension of channels
    dim = -1

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of what is kept of ``t``, where ``default_mask`` has been pruned already."""

    def apply_mask(self, module: Any) -> Tensor:
        """The pruned parameter of a module: the original times the mask."""
        name = self._tensor_name
        mask = getattr(module, name + "_mask")
        original = getattr(module, name + "_orig")
        found: Tensor = mask.to(dtype=original.dtype) * original
        return found

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None,
              **kwargs: Any) -> Any:  # fmt: skip
        """Prune a parameter of a module, further if it is pruned; the hook that is added.

        The elements are chosen by ``importance_scores`` instead of the parameter, where given.
        Raises AssertionError for scores of another shape.
        """
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        key = _hook_of(module, name)
        before = None if key is None else module._forward_pre_hooks.pop(key)
        if before is not None:
            several = before if isinstance(before, PruningContainer) else PruningContainer(before)
            several.add_pruning_method(method)
            method = several
        whole = getattr(module, name)
        if importance_scores is not None:
            assert importance_scores.shape == whole.shape, (
                f"importance_scores should have the shape {tuple(whole.shape)} of parameter "
                f"{name}, not {tuple(importance_scores.shape)}")
        if before is None:
            module.register_parameter(name + "_orig", whole)
            del module._parameters[name]
            default = ones_like(whole)
        else:
            default = getattr(module, name + "_mask").detach().clone()
        scores = whole if importance_scores is None else importance_scores
        try:
            mask = method.compute_mask(scores.detach(), default_mask=default)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
        except Exception:
            if before is None:
                original = module._parameters.pop(name + "_orig")
                setattr(module, name, original)
            else:
                if len(method._pruning_methods) > 1:
                    method._pruning_methods = method._pruning_methods[:-1]
                module.register_forward_pre_hook(before)
            raise
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None,
              importance_scores: Tensor | None = None) -> Tensor:  # fmt: skip
        """A pruned copy of a tensor."""
        if importance_scores is not None:
            assert importance_scores.shape == t.shape, (
                f"importance_scores should have the shape {tuple(t.shape)} of the tensor, not "
                f"{tuple(importance_scores.shape)}")
        default = ones_like(t) if default_mask is None else default_mask
        scores = t if importance_scores is None else importance_scores
        return t * self.compute_mask(scores, default_mask=default)

    def remove(self, module: Any) -> None:
        """Make the pruned parameter a plain one, pruned for good."""
        name = self._tensor_name
        assert name is not None, f"Module {module} has to be pruned before pruning can be removed"
        pruned = self.apply_mask(module).detach()
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = pruned
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods for one parameter, each of which prunes what the ones before it left.

    Raises TypeError for what is no method, ValueError for a method of another parameter.
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        given = args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args
        methods = list(given)
        if methods:
            self._tensor_name = methods[0]._tensor_name
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method, the last to prune."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and method._tensor_name != self._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found "
                f"'{method._tensor_name}'")
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, index: Any) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last method, which has pruned what ``default_mask`` had left."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        at: Any = _left_for(method, mask)
        made: Tensor = mask.clone()
        part = method.compute_mask(t[at], default_mask=mask[at])
        made[at] = part.to(dtype=made.dtype)
        return made


def _left_for(method: Any, mask: Tensor) -> Any:
    """The index of the elements that a method chooses among."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "global":
        return (slice(None),) * mask.ndim
    if method.PRUNING_TYPE != "structured":
        raise AttributeError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    if not hasattr(method, "dim"):
        raise AttributeError("Pruning methods of PRUNING_TYPE 'structured' need to have the "
                             "attribute `dim` defined.")
    dim = method.dim % mask.ndim
    kept = mask.sum(dim=[d for d in range(mask.ndim) if d != dim]) != 0
    at: list[Any] = [slice(None)] * mask.ndim
    at[dim] = kept
    return tuple(at)


class Identity(BasePruningMethod):
    """Prunes nothing: parameters get their masks, all of ones."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


def _checked(amount: Any) -> None:
    """Raise TypeError or ValueError for what is no amount to prune."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    whole = isinstance(amount, numbers.Integral)
    if not (float(amount) >= 0.0 and (whole or float(amount) <= 1.0)):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a "
                         "non-negative integer")


def _count(amount: Any, size: int) -> int:
    """How many of ``size`` are pruned. ValueError for more than there are."""
    if not isinstance(amount, numbers.Integral):
        return round(amount * size)
    if int(amount) > size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to "
                         f"prune={size}")
    return int(amount)


class RandomUnstructured(BasePruningMethod):
    """Prunes elements at random: ``amount`` of them, or that part of all."""

    def __init__(self, amount: Any) -> None:
        _checked(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _count(self.amount, t.numel())
        mask: Tensor = default_mask.clone()
        if count:
            chosen = topk(rand_like(t).view(-1), k=count).indices
            mask.view(-1)[chosen] = 0
        return mask


class L1Unstructured(BasePruningMethod):
    """Prunes the elements that are smallest: ``amount`` of them, or that part of all."""

    def __init__(self, amount: Any) -> None:
        _checked(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _count(self.amount, t.numel())
        mask: Tensor = default_mask.clone()
        if count:
            chosen = topk(t.abs().reshape(-1), k=count, largest=False).indices
            mask.view(-1)[chosen] = 0
        return mask


class _Structured(BasePruningMethod):
    """Prunes whole channels of a dimension."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        _checked(amount)
        self.amount, self.dim = amount, dim

    def _kept(self, t: Tensor, count: int) -> Tensor:
        """The positions of ``count`` channels that are kept."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.ndim <= 1:
            raise ValueError(
                f"Structured pruning can only be applied to a multidimensional tensor. Found "
                f"tensor of shape {t.shape} with {t.ndim} dims")
        if not -t.ndim <= self.dim < t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        channels = t.shape[self.dim]
        count = _count(self.amount, channels)
        if not count:
            return default_mask
        mask = zeros_like(t)
        at: list[Any] = [slice(None)] * t.ndim
        at[self.dim % t.ndim] = self._kept(t, channels - count)
        mask[tuple(at)] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Structured):
    """Prunes channels at random: ``amount`` of them, or that part of all."""

    def _kept(self, t: Tensor, count: int) -> Tensor:
        found: Tensor = randperm(t.shape[self.dim])[:count]
        return found


class LnStructured(_Structured):
    """Prunes the channels with the smallest ``n``-norm: ``amount`` of them, or that part."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t: Tensor, count: int) -> Tensor:
        others = [d for d in range(t.ndim) if d != self.dim % t.ndim]
        found: Tensor = topk(norm(t, p=self.n, dim=others), k=count).indices
        return found


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        assert default_mask.shape == self.mask.shape, (
            f"the mask has the shape {tuple(self.mask.shape)}, the parameter "
            f"{tuple(default_mask.shape)}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def _hook_of(module: Any, name: str) -> int | None:
    """The key of the hook that prunes a parameter of a module."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return int(key)
    return None


def identity(module: Any, name: str) -> Any:
    """Give a parameter a mask that prunes nothing. Returns the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prune elements of a parameter at random (:class:`RandomUnstructured`)."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prune the smallest elements of a parameter (:class:`L1Unstructured`)."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prune channels of a parameter at random (:class:`RandomStructured`)."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Any, name: str, amount: Any, n: Any, dim: int,
                  importance_scores: Any = None) -> Any:  # fmt: skip
    """Prune the channels with the smallest norm (:class:`LnStructured`)."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prune a parameter by a mask (:class:`CustomFromMask`)."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Iterable[tuple[Any, str]], pruning_method: Any,
                        importance_scores: dict[Any, Tensor] | None = None, **kwargs: Any,
                        ) -> None:  # fmt: skip
    """Prune elements of several parameters together, as if they were one.

    Args:
        parameters: pairs of a module and the name of its parameter.
        pruning_method: a class whose ``PRUNING_TYPE`` is ``"unstructured"``.
        importance_scores: by pair, what decides instead of the parameter.

    Raises TypeError for parameters that can be gone through once, for a method of another kind
    and for scores in no dict.
    """
    if not isinstance(parameters, Iterable) or iter(parameters) is parameters:
        raise TypeError("global_unstructured(): parameters is not an Iterable of pairs")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores is not a dict")
    pairs = [(module, name) for module, name in parameters]
    flat = cat([scores.get(p, getattr(*p)).detach().reshape(-1) for p in pairs])
    before = cat([getattr(m, n + "_mask", ones_like(getattr(m, n))).detach().reshape(-1)
                  for m, n in pairs])
    several = PruningContainer()
    several._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    several.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError('Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
                        f"Found {pruning_method} of type {method.PRUNING_TYPE}")
    mask, at = several.compute_mask(flat, before), 0
    for module, name in pairs:
        whole = getattr(module, name)
        custom_from_mask(module, name, mask[at:at + whole.numel()].view_as(whole))
        at += whole.numel()


def remove(module: Any, name: str) -> Any:
    """Make a pruned parameter a plain one. Raises ValueError for one that is not pruned."""
    key = _hook_of(module, name)
    if key is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning "
                         "can be removed")
    module._forward_pre_hooks.pop(key).remove(module)
    return module


def is_pruned(module: Any) -> bool:
    """Whether a parameter of the module, or of one inside it, is pruned."""
    return any(isinstance(hook, BasePruningMethod)
               for _, m in module.named_modules() for hook in m._forward_pre_hooks.values())


__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured",
    "PruningContainer", "RandomStructured", "RandomUnstructured", "custom_from_mask",
    "global_unstructured", "identity", "is_pruned", "l1_unstructured", "ln_structured",
    "random_structured", "random_unstructured", "remove",
]  # fmt: skip
