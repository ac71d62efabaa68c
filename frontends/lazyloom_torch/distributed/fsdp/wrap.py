"""Which modules of a model are wrapped: policies, and a context in which ``wrap`` does it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ...nn.modules.activation import MultiheadAttention
from ...nn.modules.container import ModuleDict, ModuleList
from ...nn.modules.module import Module


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """True: every module is wrapped."""
    return True


class _Policy(ABC):
    """Says which modules of a model are wrapped, and with which arguments."""

    @abstractmethod
    def _run_policy(
        self, root_module: Module, ignored_modules: set[Module], root_kwargs: dict[str, Any]
    ) -> dict[Module, dict[str, Any]]:
        """The arguments of each module that is wrapped."""


class ModuleWrapPolicy(_Policy):
    """Wraps every module of some classes, with the arguments of the outermost one."""

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._module_classes = set(module_classes)

    def _run_policy(
        self, root_module: Module, ignored_modules: set[Module], root_kwargs: dict[str, Any]
    ) -> dict[Module, dict[str, Any]]:
        return {m: dict(root_kwargs) for m in root_module.modules()
                if m not in ignored_modules and isinstance(m, tuple(self._module_classes))}

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or isinstance(module, tuple(self._module_classes))

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self._module_classes})"


class CustomPolicy(_Policy):
    """Wraps what a function of a module says: True, or a dict of arguments that differ."""

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn

    def _run_policy(
        self, root_module: Module, ignored_modules: set[Module], root_kwargs: dict[str, Any]
    ) -> dict[Module, dict[str, Any]]:
        found = {}
        for module in root_module.modules():
            if module in ignored_modules:
                continue
            said = self._lambda_fn(module)
            if not isinstance(said, (dict, bool)):
                raise ValueError(
                    "The lambda_fn passed to CustomPolicy should return False/True or a kwarg "
                    f"dict, but it returned {said}")
            if said:
                found[module] = {**root_kwargs, **(said if isinstance(said, dict) else {})}
        return found


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Whether ``lambda_fn(module)`` says that a module is wrapped."""
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int,
    transformer_layer_cls: set[type[Module]],
) -> bool:
    """Whether a module is of one of some classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def _module_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, module_classes: set[type[Module]]
) -> bool:
    return recurse or isinstance(module, tuple(module_classes))


def _or_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, policies: Iterable[Callable[..., bool]]
) -> bool:
    """Whether one of several policies says so."""
    return any(p(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel)
               for p in policies)


def size_based_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, min_num_params: int = int(1e8),
    force_leaf_modules: set[type[Module]] | None = None,
    exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:
    """Whether a module has so many parameters that are not wrapped yet.

    Args:
        min_num_params: how many elements.
        force_leaf_modules: classes of modules of which no part is wrapped.
        exclude_wrap_modules: classes of modules that are not wrapped themselves.
    """
    large = nonwrapped_numel >= min_num_params
    policy: Any = size_based_auto_wrap_policy
    if recurse:
        leaves = policy.FORCE_LEAF_MODULES if force_leaf_modules is None else force_leaf_modules
        return large and not isinstance(module, tuple(leaves))
    left_out = policy.EXCLUDE_WRAP_MODULES if exclude_wrap_modules is None else (
        exclude_wrap_modules)
    return large and not isinstance(module, tuple(left_out))


size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = {  # type: ignore[attr-defined]
    ModuleList, ModuleDict}
size_based_auto_wrap_policy.FORCE_LEAF_MODULES = {  # type: ignore[attr-defined]
    MultiheadAttention}


class _Context:
    """The arguments of the innermost :func:`enable_wrap`."""

    wrapper: Callable[..., Module] | None = None
    kwargs: dict[str, Any] = {}  # noqa: RUF012 - replaced, never changed


@contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """Let :func:`wrap` wrap by ``wrapper_cls(module, **wrapper_kwargs)`` in a ``with`` block."""
    before = _Context.wrapper, _Context.kwargs
    if before[0] is not None:
        raise NotImplementedError(
            "You are already within an autowrap context and we currently do not supported nested "
            "autowrap.")
    _Context.wrapper, _Context.kwargs = wrapper_cls, wrapper_kwargs
    try:
        yield
    finally:
        _Context.wrapper, _Context.kwargs = before


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """The module, wrapped inside of :func:`enable_wrap`; itself elsewhere."""
    if _Context.wrapper is None:
        return module
    return _Context.wrapper(module, **{**_Context.kwargs, **wrap_overrides})


def wrap_children(
    root: Module, policy: Any, wrapper: Callable[..., Module], ignored: set[Module],
    kwargs: dict[str, Any],
) -> None:
    """Wrap the modules below a model that a policy says, the innermost first.

    Args:
        policy: a :class:`_Policy`, or a function of ``module``, ``recurse``, ``nonwrapped_numel``.
        wrapper: called with a module and the arguments.
        ignored: modules that stay as they are.
        kwargs: the arguments.
    """
    if isinstance(policy, _Policy):
        wanted = policy._run_policy(root, ignored, kwargs)
        wanted.pop(root, None)
        done: dict[Module, Module] = {}
        _wrap_wanted(root, wanted, wrapper, done)
        return
    _wrap_by_function(root, policy, wrapper, ignored, kwargs, only_children=True)


def _wrap_wanted(
    module: Module, wanted: dict[Module, dict[str, Any]], wrapper: Callable[..., Module],
    done: dict[Module, Module],
) -> None:
    for name, child in list(module._modules.items()):
        if child is None:
            continue
        if child not in done:
            _wrap_wanted(child, wanted, wrapper, done)
            done[child] = wrapper(child, **wanted[child]) if child in wanted else child
        if done[child] is not child:
            setattr(module, name, done[child])


def _wrap_by_function(
    module: Module, policy: Callable[..., bool], wrapper: Callable[..., Module],
    ignored: set[Module], kwargs: dict[str, Any], only_children: bool = False,
) -> tuple[Module, int]:
    """The module, wrapped or not, and how many elements of parameters are wrapped in it."""
    left_out = {id(p) for m in ignored for p in m.parameters()}
    count = sum(p.numel() for p in module.parameters() if id(p) not in left_out)
    if not policy(module=module, recurse=True, nonwrapped_numel=count):
        return module, 0
    wrapped = 0
    for name, child in list(module.named_children()):
        if child in ignored:
            continue
        made, part = _wrap_by_function(child, policy, wrapper, ignored, kwargs)
        if made is not child:
            setattr(module, name, made)
        wrapped += part
    if not only_children and policy(
            module=module, recurse=False, nonwrapped_numel=count - wrapped):
        return wrapper(module, **kwargs), count
    return module, wrapped


__all__ = [
    "CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap",
    "lambda_auto_wrap_policy", "size_based_auto_wrap_policy", "transformer_auto_wrap_policy",
    "wrap",
]  # fmt: skip
