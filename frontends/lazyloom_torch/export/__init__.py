"""``torch.export``: modules as programs in files, which NumPy-like programs, C and JAX run, too.

The files are those of ``lazyloom.export`` (StableHLO and safetensors in a zip archive), not
PyTorch's ``.pt2``. What PyTorch's graph of the program is for (``graph_module``, passes,
decompositions) is not here.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

import lazyloom
from lazyloom.errors import type_name

from .. import _absent, nn
from .._absent_names import MODULES
from .._tensor import Tensor

#: names of the file's metadata
_BUFFERS, _TRAINING = "torch.buffers", "torch.training"
#: the most extents of a dimension that has a smallest and a largest one
_MOST_EXTENTS = 64

_MODE: Final = (
    "{0}() was called on an exported module, whose program is that of the mode in which it was "
    "exported; call {0}() on the module itself and export that")



class _DimHint:
    """What a dimension is, where it has no name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"Dim.{self._name}"


class Dim:
    """A dimension whose extent varies from call to call. See ``torch.export.Dim``.

    The program is exported once for each extent from ``min`` to ``max``, so both are needed, and
    there are at most 64 of them. ``extents=`` names the extents one by one instead, as in
    ``Dim("batch", extents=(1, 8, 32))``, which PyTorch's does not have.
    """

    AUTO: Any = _DimHint("AUTO")
    DYNAMIC: Any = _DimHint("DYNAMIC")
    STATIC: Any = _DimHint("STATIC")

    def __init__(
        self, name: str, *, min: int | None = None, max: int | None = None,  # noqa: A002
        extents: Any = None,
    ) -> None:  # fmt: skip
        if not isinstance(name, str) or not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name!r}")
        if min is not None and max is not None and min > max:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        self.__name__ = name
        self.min = min
        self.max = max
        self._extents = None if extents is None else tuple(extents)

    def __repr__(self) -> str:
        return f"Dim({self.__name__!r}, min={self.min}, max={self.max})"

    def _all(self) -> tuple[int, ...]:
        """The extents that a program is exported for."""
        if self._extents is not None:
            return self._extents
        if self.max is None:
            raise ValueError(
                f"Dim {self.__name__!r} has no largest extent: a program is exported once for each "
                "extent, so give min= and max=, or extents=(1, 8, 32)")
        first = 1 if self.min is None else self.min
        if self.max - first >= _MOST_EXTENTS:
            raise ValueError(
                f"Dim {self.__name__!r} has {self.max - first + 1} extents, and a program is "
                f"exported once for each of at most {_MOST_EXTENTS}; give fewer, or "
                "extents=(1, 8, 32), and pad inputs to one of them")
        return tuple(range(first, self.max + 1))


def dims(
    *names: str, min: int | None = None, max: int | None = None  # noqa: A002
) -> tuple[Dim, ...]:
    """Several dimensions with the same bounds."""
    return tuple([Dim(name, min=min, max=max) for name in names])


class ExportedProgram:
    """A module as an exported program. See ``torch.export.ExportedProgram``.

    Made by :func:`export` and :func:`load`. ``module()`` gives what can be called.
    """

    def __init__(self, data: bytes, example_inputs: Any = None) -> None:
        self._data = data
        self._program = lazyloom.load(io.BytesIO(data), Tensor)
        self._example_inputs = example_inputs
        self._buffers = set(json.loads(self._program.metadata.get(_BUFFERS, "[]")))
        self._values = {
            name: Tensor.from_value(value) for name, value in self._program.parameters().items()}

    def module(self, check_guards: bool = True) -> nn.Module:
        """A module whose ``forward`` is the program, with its parameters and buffers.

        It computes what the exported module computed in its mode then. It has gradients if it was
        exported with ``vjp_order=1``: its parameters require them where those exported did.
        """
        return _ProgramModule(self._program, self._values, self._buffers)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` "
            "instead.")

    @property
    def state_dict(self) -> dict[str, Tensor]:
        """The parameters and buffers by name."""
        return {name: t for name, t in self._values.items() if not name.startswith("constant.")}

    @property
    def constants(self) -> dict[str, Tensor]:
        """The tensors that the program reads and that were no parameters or buffers, by name."""
        return {name: t for name, t in self._values.items() if name.startswith("constant.")}

    @property
    def example_inputs(self) -> Any:
        """The arguments that it was exported with, as (args, kwargs); None for a loaded one."""
        return self._example_inputs

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """Each parameter with its name."""
        yield from [(k, t) for k, t in self.state_dict.items() if k not in self._buffers]

    def parameters(self) -> Iterator[Tensor]:
        """Each parameter."""
        yield from [t for _, t in self.named_parameters()]

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """Each buffer with its name."""
        yield from [(k, t) for k, t in self.state_dict.items() if k in self._buffers]

    def buffers(self) -> Iterator[Tensor]:
        """Each buffer."""
        yield from [t for _, t in self.named_buffers()]

    def __repr__(self) -> str:
        return f"ExportedProgram: {self._program.signature}"


class _ProgramModule(nn.Module):
    """A module that calls an exported program with its own parameters and buffers."""

    def __init__(
        self, program: lazyloom.ExportedFunction, values: Mapping[str, Tensor], buffers: set[str]
    ) -> None:
        super().__init__()
        self._program = program
        aliases = program.aliases
        trained = set(program.differentiable_parameters)
        made: dict[str, Any] = {}
        for name, tensor in values.items():
            if name in aliases:
                continue
            made[name] = (tensor.clone() if name in buffers or name.startswith("constant.")
                          else nn.Parameter(tensor.clone(), requires_grad=name in trained))
        #: those that the program takes, in its order: (module, name in it)
        self._taken: list[tuple[nn.Module, str]] = []
        for name in values:
            owner, last = self._owner(name)
            tensor = made[aliases.get(name, name)]
            if isinstance(tensor, nn.Parameter):
                owner.register_parameter(last, tensor)
            else:
                owner.register_buffer(last, tensor, persistent=not name.startswith("constant."))
            if name not in aliases:
                self._taken.append((owner, last))

    def _owner(self, name: str) -> tuple[nn.Module, str]:
        """The module that has a parameter of a dotted name, and the last part of the name."""
        *parts, last = name.split(".")
        owner: nn.Module = self
        for part in parts:
            inner = owner._modules.get(part)
            if inner is None:
                inner = nn.Module()
                owner.add_module(part, inner)
            owner = inner
        return owner, last

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the program."""
        given = [getattr(owner, name) for owner, name in self._taken]
        return self._program.call_with(given, args, kwargs)

    def train(self, mode: bool = True) -> NoReturn:
        """Raises NotImplementedError: the program is what the module computed in its mode."""
        raise NotImplementedError(_MODE.format("train"))

    def eval(self) -> NoReturn:
        """Raises NotImplementedError: the program is what the module computed in its mode."""
        raise NotImplementedError(_MODE.format("eval"))


def _dynamic(
    dynamic_shapes: Any, args: tuple[Any, ...], module: Any
) -> tuple[dict[str, dict[int, str]], dict[str, tuple[int, ...]]]:
    """What ``lazyloom.export`` takes for the dynamic shapes of PyTorch."""
    import inspect

    if not dynamic_shapes:
        return {}, {}
    if not isinstance(dynamic_shapes, Mapping):
        names = list(inspect.signature(module.forward).parameters)[: len(args)]
        dynamic_shapes = dict(zip(names, dynamic_shapes, strict=False))
    dynamic: dict[str, dict[int, str]] = {}
    extents: dict[str, tuple[int, ...]] = {}

    def enter(name: str, given: Any) -> None:
        if given is None:
            return
        if isinstance(given, Mapping) and not all(isinstance(k, int) for k in given):
            for key, inner in given.items():
                enter(f"{name}[{key!r}]", inner)
            return
        pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
        if not isinstance(given, Mapping) and any(
            isinstance(x, (Mapping, list, tuple)) for x in given
        ):
            for k, inner in enumerate(given):
                enter(f"{name}[{k}]", inner)
            return
        for axis, dim in pairs:
            if dim is None or dim is Dim.STATIC or type(dim) is int:
                continue
            if not isinstance(dim, Dim):
                raise ValueError(
                    f"dynamic_shapes[{name!r}] has {dim!r} for axis {axis}: a program is exported "
                    "once for each extent, so expected Dim(name, min=1, max=8) or "
                    "Dim(name, extents=(1, 8, 32))")
            symbol = dim.__name__
            if extents.setdefault(symbol, dim._all()) != dim._all():
                raise ValueError(f"Found different definitions for Dim {symbol!r}")
            dynamic.setdefault(name, {})[axis] = symbol

    for name, given in dynamic_shapes.items():
        enter(name, given)
    return dynamic, extents


def export(
    mod: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None, *,
    dynamic_shapes: Any = None, strict: bool = False, preserve_module_call_signature: Any = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False, vjp_order: int = 0,
) -> ExportedProgram:  # fmt: skip
    """A module as a program, with its parameters and buffers. See ``torch.export.export``.

    The module is called once, or once for each combination of extents of ``dynamic_shapes``, on
    tensors without data, in the mode that it has: call ``eval()`` before for inference. It may
    draw random numbers, which each call draws anew, and may not read data or change buffers.

    Args:
        mod: the module.
        args, kwargs: example arguments; of tensors only shapes and dtypes matter.
        dynamic_shapes: for each argument, by name or in order, a :class:`Dim` by axis.
        strict, preserve_module_call_signature, prefer_deferred_runtime_asserts_over_guards:
            accepted, and nothing depends on them.
        vjp_order: how often the program can be differentiated, by its floating-point and complex
            arguments and by the parameters that require a gradient; PyTorch has no such argument.

    Raises TypeError for anything but a module and a tuple, ValueError for a dimension without
    bounds, and what ``lazyloom.export`` raises.
    """
    if not isinstance(mod, nn.Module):
        raise ValueError(
            f"Expected `mod` to be an instance of `torch.nn.Module`, got {type_name(mod)}.")
    if not isinstance(args, tuple):
        raise TypeError(
            f"Expecting `args` to be a tuple of example positional inputs, got {type_name(args)}")
    dynamic, extents = _dynamic(dynamic_shapes, args, mod)
    parameters = dict(mod.named_parameters(remove_duplicate=False))
    buffers = dict(mod.named_buffers(remove_duplicate=False))
    file = io.BytesIO()
    lazyloom.export(
        mod, file, *args, kwargs=kwargs, dynamic=dynamic, extents=extents, vjp_order=vjp_order,
        parameters={**parameters, **buffers},
        metadata={_BUFFERS: json.dumps(sorted(buffers)), _TRAINING: json.dumps(mod.training)})
    return ExportedProgram(file.getvalue(), (args, dict(kwargs or {})))


def save(
    ep: ExportedProgram, f: Any, *, extra_files: Mapping[str, Any] | None = None,
    opset_version: Any = None, pickle_protocol: int = 2,
) -> None:  # fmt: skip
    """Write a program to a path or a binary file. See ``torch.export.save``.

    The format is that of ``lazyloom.export``, so ``lazyloom.load`` and C read it, and PyTorch does
    not. Raises TypeError for anything but an ExportedProgram, NotImplementedError for extra files.
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type_name(ep)}' "
            "instead.")
    if extra_files:
        raise NotImplementedError(
            "extra_files is given: the file has no place for them; write them beside it")
    if hasattr(f, "write"):
        f.write(ep._data)
        return
    with open(f, "wb") as file:
        file.write(ep._data)


def load(
    f: Any, *, extra_files: Mapping[str, Any] | None = None, expected_opset_version: Any = None
) -> ExportedProgram:
    """Read a program that :func:`save` or ``lazyloom.export`` wrote. See ``torch.export.load``.

    Raises lazyloom.errors.ArgumentError for a file that is damaged or none of these, such as
    PyTorch's own ``.pt2``.
    """
    if hasattr(f, "read"):
        return ExportedProgram(f.read())
    with open(f, "rb") as file:
        return ExportedProgram(file.read())


__getattr__ = _absent.missing(__name__, reason=MODULES["export"])
