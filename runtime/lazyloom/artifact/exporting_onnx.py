"""``export_onnx``: a function of tensors, or pending values, as an ONNX model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..errors import ArgumentError, type_name
from ..tensor.tensor import Tensor
from .recording import PendingValues, RecordedFunction, RecordedWork, named_values, texts

NAME: Final = "lazyloom.export_onnx"


def export_onnx(
    function_or_values: Any, path: Any, *arguments: Any,
    kwargs: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | Sequence[Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None,
    dynamic: Mapping[str, Mapping[int, str]] | None = None,
    bounds: Mapping[str, tuple[int, int | None]] | None = None,
    opset_version: int | None = None, external_data: bool = False,
    metadata: Mapping[str, str] | None = None,
) -> Any:
    """Write a program as an ONNX model, which ONNX Runtime and others run.

    What is recorded, and what it may do, is as for :func:`lazyloom.export`; random numbers, for
    which ONNX has no generator of ours, are refused. Tensors that the function reads are
    initializers, each once. Checks of indices are left out: runtimes have their own.

    Args:
        function_or_values: a function, or pending tensors in lists, tuples and dicts.
        path: where the model is written, a path or a binary file that is open for writing; a file
            that is there is replaced when all is written. None writes nothing.
        arguments: example arguments of the function: tensors, numbers, strings and None, in lists,
            tuples and dicts. Of the tensors only the shapes and dtypes matter.
        kwargs: those that it takes by name.
        inputs: for pending values, the tensors that are the arguments: by name, or in order and
            named ``input0``, ``input1``. All other pending work is part of the program.
        parameters: names for tensors that the program reads; others are named ``constant.0``,
            ``constant.1``.
        input_names: names for the inputs of the model, in order; those of the arguments by default,
            ``x[0]`` or ``x['key']`` for a tensor in a list or dict.
        output_names: names for its outputs, in order; ``output``, or ``output0``, ``output1`` of
            several, by default.
        dynamic: the extents that vary from call to call, ``{"x": {0: "batch"}}``: for an argument,
            by name, a symbol for each axis. The function is recorded at some extents, and what
            differs between the programs must be extents that follow from the symbols.
        bounds: for a symbol of ``dynamic``, the smallest and the largest extent, or None, that the
            function may be recorded at.
        opset_version: the version of ONNX's operators, 17 to 23; 20 by default.
        external_data: write arrays to a second file beside the first, ``model.onnx.data`` for
            ``model.onnx``, as is done for more than 2 GB in any case.
        metadata: texts by name that are kept with the model.

    Returns:
        The model, an ``onnx_ir.Model``.

    Raises:
        ImportError: ``onnx-ir`` is not installed; ``pip install 'lazyloom[onnx]'`` has it.
        ArgumentError: an argument is of another kind; the program has ops or dtypes that ONNX has
            not, all of which the message names with the lines that recorded them; or what it
            records at other extents of a symbol is another program.
        ReadForbiddenError: the function reads data of its arguments.
        AliasError: the function writes to a tensor that it did not make.
        OSError: the file cannot be written.

    Example:

        >>> import importlib.util, io
        >>> weights, file = np.ones((3, 2)), io.BytesIO()
        >>> if importlib.util.find_spec("onnx_ir"):
        ...     model = lazyloom.export_onnx(
        ...         lambda x: np.tanh(x @ weights), file, np.zeros((4, 3)),
        ...         parameters={"weights": weights}, dynamic={"x": {0: "batch"}})
        ...     assert model.graph.outputs[0].shape == ("batch", 2)
    """
    # only who exports such models needs what makes them
    from . import onnx_file, onnx_model

    where = NAME
    onnx_file.library(where)
    opset = onnx_model.checked_opset(opset_version, where)
    kept = texts(metadata, where)
    named = named_values(parameters, where)
    allowed = onnx_model.checked_bounds(bounds, dynamic, where)
    if not isinstance(external_data, bool):
        raise ArgumentError(
            f"{where}: external_data is {external_data!r:.60}, expected True or False")
    if callable(function_or_values) and not isinstance(function_or_values, Tensor):
        if inputs is not None:
            raise ArgumentError(
                f"{where}: inputs is given for a function, expected only for pending values; a "
                "function's inputs are its arguments")
        recording: RecordedWork = RecordedFunction(
            where, function_or_values, arguments, kwargs, dynamic,
            lambda examples: onnx_model.samples(examples, allowed), named)
    else:
        if arguments or kwargs or dynamic:
            raise ArgumentError(
                f"{where}: arguments, kwargs or dynamic are given for pending values "
                f"({type_name(function_or_values)}), expected a function; what was recorded has "
                "its arguments in inputs, and their shapes")
        recording = PendingValues(where, function_or_values, inputs, named)
    model = onnx_model.model_of(
        recording, input_names, output_names, opset, kept, set(named))
    if path is not None:
        onnx_file.write(model, path, external_data, where)
    return model


def save_onnx(model: Any, path: Any, *, external_data: bool = False) -> None:
    """Write a model that :func:`export_onnx` gave, as it is now, to a path or a binary file.

    A file that is there is replaced when all is written. ``external_data`` is as for
    :func:`export_onnx`.

    Raises ArgumentError for external data, or more than 2 GB, and an open file; ImportError where
    ``onnx-ir`` is not installed; OSError where the file cannot be written.

    Example:

        >>> import importlib.util, io
        >>> if importlib.util.find_spec("onnx_ir"):
        ...     model = lazyloom.export_onnx(lambda x: x + 1, None, np.zeros(3))
        ...     model.metadata_props["author"] = "nobody"
        ...     lazyloom.save_onnx(model, io.BytesIO())
    """
    from . import onnx_file

    onnx_file.write(model, path, external_data, "lazyloom.save_onnx")
