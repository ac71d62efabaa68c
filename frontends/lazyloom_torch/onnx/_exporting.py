"""What ``torch.onnx.export`` makes: models of onnx-ir, and their programs."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import lazyloom
from lazyloom.errors import type_name

from .. import nn
from .._tensor import Tensor
from ..export import Dim, ExportedProgram

#: how many exports are going on
_going = 0


class OnnxExporterError(RuntimeError):
    """A model that was written is wrong. See ``torch.onnx.OnnxExporterError``."""


def is_in_onnx_export() -> bool:
    """Whether ``torch.onnx.export`` is calling the module that it exports."""
    return _going > 0


class ONNXProgram:
    """A module as an ONNX model. See ``torch.onnx.ONNXProgram``.

    Made by ``torch.onnx.export``. Calling it runs the model with ONNX Runtime.

    Attributes:
        model: the model, an ``onnx_ir.Model``.
    """

    def __init__(self, model: Any, example: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        self.model = model
        self._example = example
        self._session: Any = None

    @property
    def model_proto(self) -> Any:
        """The model, an ``onnx.ModelProto``."""
        return importlib.import_module("onnx_ir").serde.serialize_model(self.model)

    def optimize(self) -> None:
        """Remove nodes that change nothing, equal nodes and those that nothing reads."""
        passes = importlib.import_module("onnx_ir.passes.common")
        for each in (passes.IdentityEliminationPass(), passes.CommonSubexpressionEliminationPass(),
                     passes.RemoveUnusedNodesPass()):
            each(self.model)
        self._session = None

    def save(
        self, destination: Any, *, include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False, external_data: bool | None = None,
    ) -> None:
        """Write the model to a path or a binary file.

        ``external_data`` writes arrays of more than 256 bytes to a file beside it, of its name and
        ``.data``; None does so for more than 2 GB. Raises NotImplementedError for
        ``include_initializers=False``.
        """
        if not include_initializers:
            raise NotImplementedError(
                "ONNXProgram.save: include_initializers is False, expected True: a model has its "
                "parameters")
        graph = self.model.graph
        added = list(graph.initializers.values()) if keep_initializers_as_inputs else []
        graph.inputs.extend(added)
        try:
            lazyloom.save_onnx(self.model, destination, external_data=bool(external_data))
        finally:
            del graph.inputs[len(graph.inputs) - len(added):]

    def _feed(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        given = _tensors((args, dict(kwargs)))
        names = [v.name for v in self.model.graph.inputs]
        if len(given) != len(names):
            raise ValueError(
                f"ONNXProgram: {len(given)} tensors are given, expected {len(names)}: "
                f"{', '.join(names)}")
        return dict(zip(names, [x.detach().numpy() for x in given], strict=True))

    def initialize_inference_session(self, initializer: Callable[..., Any] | None = None) -> None:
        """Make the session of ONNX Runtime that calls run; ``initializer`` makes it of a model."""
        data = self.model_proto.SerializeToString()
        if initializer is not None:
            self._session = initializer(data)
            return
        try:
            runtime = importlib.import_module("onnxruntime")
        except ImportError as error:
            raise ImportError(
                "calls of an ONNXProgram need ONNX Runtime, which is not installed; install it "
                "with pip install onnxruntime, or use call_reference()") from error
        self._session = runtime.InferenceSession(data, providers=["CPUExecutionProvider"])

    def release(self) -> None:
        """Let go of the session of ONNX Runtime."""
        self._session = None

    def __call__(self, *args: Any, **kwargs: Any) -> Sequence[Tensor]:
        """The outputs of the model, in a flat sequence, by ONNX Runtime."""
        if self._session is None:
            self.initialize_inference_session()
        found = self._session.run(None, self._feed(args, kwargs))
        return tuple([Tensor.from_value(lazyloom.from_host(x)) for x in found])

    def call_reference(self, *args: Any, **kwargs: Any) -> Sequence[Tensor]:
        """The outputs of the model, in a flat sequence, by the package ``onnx``."""
        reference = importlib.import_module("onnx.reference")
        found = reference.ReferenceEvaluator(self.model_proto).run(None, self._feed(args, kwargs))
        return tuple([Tensor.from_value(lazyloom.from_host(np.asarray(x))) for x in found])

    def _verify(self, model: Any) -> None:
        """Raise OnnxExporterError unless ONNX Runtime computes what a module does."""
        args, kwargs = self._example
        # before a module that writes to its arguments has them
        found = self(*args, **kwargs)
        expected = _tensors(model(*args, **kwargs))
        for k, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
            a, b = mine.numpy(), theirs.detach().numpy()
            if a.shape != b.shape or a.dtype != b.dtype or not np.allclose(
                a.astype("complex128"), b.astype("complex128"), rtol=1e-3, atol=1e-5, equal_nan=True
            ):
                raise OnnxExporterError(
                    f"torch.onnx.export: output {k} of the model is {a.dtype}{list(a.shape)} by "
                    f"ONNX Runtime, and {b.dtype}{list(b.shape)} of other numbers by the module")

    def __repr__(self) -> str:
        return f"ONNXProgram(model=\n{self.model}\n)"


def _tensors(x: Any) -> list[Any]:
    """The tensors in lists, tuples and dicts, in order."""
    if isinstance(x, Tensor):
        return [x]
    if isinstance(x, (list, tuple)):
        return [t for inner in x for t in _tensors(inner)]
    if isinstance(x, dict):
        return [t for inner in x.values() for t in _tensors(inner)]
    return []


def _parameter_names(model: Any, count: int) -> list[str]:
    """The names that ``lazyloom.export_onnx`` has for positional arguments."""
    function = model.forward if isinstance(model, nn.Module) else model
    given = list(inspect.signature(function).parameters.values())
    names = [p.name for p in given
             if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in given if p.kind is p.VAR_POSITIONAL), "argument")
    return [*names[:count], *[f"{rest}[{k}]" for k in range(count - len(names))]]


class _Symbols:
    """The axes that vary, by the name of a tensor, and the bounds of their extents."""

    def __init__(self) -> None:
        self.dynamic: dict[str, dict[int, str]] = {}
        self.bounds: dict[str, tuple[int, int | None]] = {}
        #: the symbols that have no name of the caller's
        self.unnamed: set[str] = set()
        #: what is written in place of a symbol: names that are not those of variables
        self.written: dict[str, str] = {}

    def enter(self, name: str, given: Any) -> None:
        """Take what is given for an argument, which may hold several tensors."""
        if given is None:
            return
        if isinstance(given, Mapping) and not all(isinstance(k, int) for k in given):
            for key, inner in given.items():
                self.enter(f"{name}[{key!r}]", inner)
            return
        if not isinstance(given, (Mapping, list, tuple)):
            raise ValueError(
                f"torch.onnx.export: dynamic_shapes has {given!r:.60} for {name}, expected a Dim "
                "for each axis, as {0: Dim('batch')}")
        if not isinstance(given, Mapping) and any(
            isinstance(x, (Mapping, list, tuple)) for x in given
        ):
            for k, inner in enumerate(given):
                self.enter(f"{name}[{k}]", inner)
            return
        for axis, dim in given.items() if isinstance(given, Mapping) else enumerate(given):
            self._axis(name, axis, dim)

    def enter_all(self, given: Any, names: Sequence[str]) -> None:
        """Take ``dynamic_shapes``: for each argument by name, or in order."""
        if not isinstance(given, (Mapping, list, tuple)):
            raise TypeError(
                f"torch.onnx.export: dynamic_shapes is a {type_name(given)}, expected a dict by "
                "the names of arguments, or a tuple in their order")
        if isinstance(given, Mapping):
            by_name: Mapping[str, Any] = given
        # what *args takes may be given as one
        elif len(given) == 1 and names and names[0].endswith("[0]") and (
            isinstance(given[0], (list, tuple)) and len(given[0]) == len(names)
        ):
            by_name = dict(zip(names, given[0], strict=True))
        elif len(given) > len(names):
            raise ValueError(
                f"torch.onnx.export: dynamic_shapes has {len(given)} entries, expected at most "
                f"{len(names)}, one for each argument: {', '.join(names)}")
        else:
            by_name = dict(zip(names, given, strict=False))
        for name, each in by_name.items():
            self.enter(name, each)

    def _axis(self, name: str, axis: int, dim: Any) -> None:
        if dim is None or dim is Dim.STATIC or type(dim) is int:
            return
        if dim is Dim.AUTO or dim is Dim.DYNAMIC:
            plain = "".join(c if c.isalnum() else "_" for c in name)
            symbol = f"{plain}_dim_{axis}"
            self.unnamed.add(symbol)
        elif isinstance(dim, Dim):
            symbol = dim.__name__
            self.bounds[symbol] = (0 if dim.min is None else dim.min, dim.max)
        elif isinstance(dim, str):
            symbol = dim
        else:
            raise ValueError(
                f"torch.onnx.export: dynamic_shapes has {dim!r:.60} for axis {axis} of {name}, "
                "expected Dim(name), a name, Dim.DYNAMIC, Dim.AUTO, Dim.STATIC or None")
        self.dynamic.setdefault(name, {})[axis] = symbol

    def of_axes(
        self, dynamic_axes: Any, names: Sequence[str], inputs: Sequence[str],
        outputs: Sequence[str],
    ) -> None:  # fmt: skip
        """Take ``dynamic_axes``, which are by the names of inputs."""
        if not isinstance(dynamic_axes, Mapping):
            raise TypeError(
                f"torch.onnx.export: dynamic_axes is a {type_name(dynamic_axes)}, expected a dict "
                "of axes by the names of inputs and outputs")
        for name, axes in dynamic_axes.items():
            if not isinstance(axes, (Mapping, list, tuple)):
                raise TypeError(
                    f"torch.onnx.export: dynamic_axes[{name!r:.60}] is {axes!r:.60}, expected a "
                    "list of axes, or a dict of their names")
            if name in outputs:
                continue
            if name not in inputs and name not in names:
                raise ValueError(
                    f"torch.onnx.export: dynamic_axes has {name!r}, expected one of the names of "
                    f"inputs and outputs: {', '.join([*(inputs or names), *outputs])}")
            own = names[inputs.index(name)] if name in inputs else name
            self.dynamic[own] = dict(axes) if isinstance(axes, Mapping) else {
                axis: f"{name}_dynamic_axes_{k + 1}" for k, axis in enumerate(axes)}
        used = {text for each in self.dynamic.values() for text in each.values()}
        self.dynamic = {own: {axis: self._symbol(text, used) for axis, text in each.items()}
                        for own, each in self.dynamic.items()}

    def _symbol(self, text: Any, used: set[Any]) -> Any:
        """A symbol for any text, as PyTorch takes it; the same one for the same text."""
        if not isinstance(text, str) or not text or text.isidentifier():
            return text
        known = next((s for s, t in self.written.items() if t == text), None)
        if known is not None:
            return known
        symbol = "d_" + "".join(c if c.isalnum() or c == "_" else "_" for c in text)
        symbol = symbol if symbol.isidentifier() else f"d_{len(self.written)}"
        while symbol in used or symbol in self.written:
            symbol += "_"
        self.written[symbol] = text
        return symbol

    def check(self, names: Sequence[str]) -> None:
        """Raise ValueError for a tensor that is not among the arguments."""
        for name in self.dynamic:
            if name not in names:
                raise ValueError(
                    f"torch.onnx.export: dynamic_shapes has {name!r}, expected one of the tensors "
                    f"among the arguments: {', '.join(map(repr, names))}")

    def write(self, model: Any) -> None:
        """Have a model's inputs and outputs name extents as the caller does."""
        if self.written:
            for value in (*model.graph.inputs, *model.graph.outputs):
                ir = importlib.import_module("onnx_ir")
                value.shape = ir.Shape([self.written.get(str(d), d) for d in value.shape])

    def equal(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, dict[int, str]] | None:
        """The axes where unnamed symbols of one extent in the example are one; None if none are."""
        firsts: dict[int, str] = {}
        found = {
            name: {axis: firsts.setdefault(shapes[name][axis], symbol)
                   if symbol in self.unnamed else symbol for axis, symbol in axes.items()}
            for name, axes in self.dynamic.items() if name in shapes}
        return None if found == self.dynamic else found


def _leaf_names(x: Any, name: str) -> list[str]:
    if isinstance(x, Tensor):
        return [name]
    if isinstance(x, (list, tuple)):
        return [n for k, inner in enumerate(x) for n in _leaf_names(inner, f"{name}[{k}]")]
    if isinstance(x, dict):
        return [n for k, inner in x.items() for n in _leaf_names(inner, f"{name}[{k!r}]")]
    return []


def exported(
    model: Any, args: Any, kwargs: Mapping[str, Any] | None, input_names: Sequence[str] | None,
    output_names: Sequence[str] | None, opset_version: int | None, dynamic_shapes: Any,
    dynamic_axes: Mapping[str, Any] | None, training: bool | None,
) -> ONNXProgram:  # fmt: skip
    """A module or function as a program. ``training`` is the mode to export in, None for its own.

    Raises TypeError for anything else, and what ``lazyloom.export_onnx`` raises.
    """
    global _going
    if isinstance(model, ExportedProgram) or not callable(model):
        raise TypeError(
            f"torch.onnx.export: model is a {type_name(model)}, expected a torch.nn.Module or a "
            "function of tensors; of an ExportedProgram, export the module that it was made of")
    if not isinstance(args, (Tensor, list, tuple)):
        raise TypeError(
            f"torch.onnx.export: args is a {type_name(args)}, expected a tuple of the positional "
            "arguments")
    args = (args,) if isinstance(args, Tensor) else tuple(args)
    given = dict(kwargs or {})
    positional = _parameter_names(model, len(args))
    names = [n for x, name in [*zip(args, positional, strict=True),
                               *[(x, k) for k, x in given.items()]] for n in _leaf_names(x, name)]
    symbols = _Symbols()
    if dynamic_axes:
        symbols.of_axes(dynamic_axes, names, list(input_names or ()), list(output_names or ()))
    elif dynamic_shapes:
        symbols.enter_all(dynamic_shapes, [*positional, *given])
        symbols.check(names)
    parameters: dict[str, Any] = {}
    modes: list[tuple[nn.Module, bool]] = []
    if isinstance(model, nn.Module):
        parameters = {**dict(model.named_parameters(remove_duplicate=False)),
                      **dict(model.named_buffers(remove_duplicate=False))}
        if training is not None:
            modes = [(m, m.training) for m in model.modules()]
            model.train(training)
    _going += 1
    try:
        def made(dynamic: Any) -> Any:
            return lazyloom.export_onnx(
                model, None, *args, kwargs=given, parameters=parameters, input_names=input_names,
                output_names=output_names, dynamic=dynamic, bounds=symbols.bounds,
                opset_version=opset_version)

        try:
            found = made(symbols.dynamic)
        except (ValueError, RuntimeError):
            shapes = dict(zip(names, [x.shape for x in _tensors((args, given))], strict=True))
            equal = symbols.equal(shapes)
            if equal is None:
                raise
            # extents that a module takes only if they are equal, as those of a sum
            found = made(equal)
    finally:
        _going -= 1
        for module, mode in modes:
            module.training = mode
    symbols.write(found)
    return ONNXProgram(found, (args, given))
