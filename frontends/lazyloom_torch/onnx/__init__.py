"""``torch.onnx``: modules as ONNX models, by ``lazyloom.export_onnx``.

Models are made with the package ``onnx-ir``: ``pip install 'lazyloom[onnx]'``. What PyTorch has for
translations of its own graphs (``ops``, ``symbolic_opset*``, custom translation tables) is not
here.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _absent
from .._absent_names import MODULES
from ._exporting import OnnxExporterError, ONNXProgram, exported, is_in_onnx_export


class TrainingMode(enum.Enum):
    """The mode that a model is exported in, for ``dynamo=False``. See ``torch.onnx.TrainingMode``.
    """

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.Enum):
    """How operators are written. See ``torch.onnx.OperatorExportTypes``; only ONNX is taken."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


def export(
    model: Any, args: Any = (), f: Any = None, *, kwargs: Mapping[str, Any] | None = None,
    verbose: bool | None = None, input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None, opset_version: int | None = None,
    dynamo: bool = True, external_data: bool = True, dynamic_shapes: Any = None,
    custom_translation_table: Any = None, report: bool = False, optimize: bool = True,
    verify: bool = False, profile: bool = False, dump_exported_program: bool = False,
    artifacts_dir: Any = ".", export_params: bool = True, keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Any] | None = None, training: Any = TrainingMode.EVAL,
    operator_export_type: Any = OperatorExportTypes.ONNX, do_constant_folding: bool = True,
    custom_opsets: Any = None, export_modules_as_functions: Any = False,
    autograd_inlining: bool = True,
) -> ONNXProgram | None:  # fmt: skip
    """Write a module as an ONNX model. See ``torch.onnx.export``.

    The module is called on tensors without data, with what ``torch.export.export`` says of that,
    in the mode that it has: call ``eval()`` before for inference. Random numbers are refused.

    Args:
        model: a module, or a function of tensors.
        args, kwargs: example arguments; of tensors only shapes and dtypes matter.
        f: a path or a binary file; None to get the program only.
        input_names, output_names: names for the inputs and outputs of the model, in order.
        opset_version: 17 to 23; 20 by default.
        dynamo: False gives None, and takes ``training``.
        external_data: True writes arrays of more than 256 bytes to a file beside ``f``, of its name
            and ``.data``; an open file has all in one.
        dynamic_shapes: the extents that vary, as for ``torch.export.export``: for each argument, by
            name or in order, a ``Dim``, its name, ``Dim.DYNAMIC`` or ``Dim.AUTO`` by axis. A Dim
            needs no bounds here.
        dynamic_axes: the same for names of inputs, as ``{"x": {0: "batch"}}`` or ``{"x": [0]}``;
            what varies in outputs follows from the inputs, so theirs are not looked at.
        optimize: remove nodes that change nothing, and equal ones, by passes of onnx-ir.
        verify: run the model with ONNX Runtime, and compare it with ``model``.
        keep_initializers_as_inputs: make the parameters inputs of the model, too.
        training: for ``dynamo=False``, the mode that the model is exported in.
        verbose, artifacts_dir, do_constant_folding, autograd_inlining: accepted, and nothing
            depends on them.

    Raises NotImplementedError for a ``custom_translation_table``, ``custom_opsets``,
    ``export_modules_as_functions``, ``report``, ``profile``, ``dump_exported_program``,
    ``export_params=False`` and other operator types; OnnxExporterError where ``verify`` finds a
    difference; ImportError without onnx-ir; and what ``lazyloom.export_onnx`` raises, such as for
    ops that ONNX has not.
    """
    not_taken = {
        "custom_translation_table": custom_translation_table, "custom_opsets": custom_opsets,
        "export_modules_as_functions": export_modules_as_functions, "report": report,
        "profile": profile, "dump_exported_program": dump_exported_program}
    for name, given in not_taken.items():
        if given:
            raise NotImplementedError(
                f"torch.onnx.export: {name} is {given!r:.60}, which is not taken: ops are written "
                "by Lazyloom's own mapping to ONNX; leave it out")
    if not export_params:
        raise NotImplementedError(
            "torch.onnx.export: export_params is False, expected True: a model has its parameters; "
            "keep_initializers_as_inputs=True has a caller give others")
    if getattr(operator_export_type, "name", "ONNX") != "ONNX":
        raise NotImplementedError(
            f"torch.onnx.export: operator_export_type is {operator_export_type}, expected ONNX")
    if dynamic_shapes and dynamic_axes:
        raise ValueError(
            "torch.onnx.export: dynamic_shapes and dynamic_axes are given, expected one of them")
    mode = None if dynamo else {"EVAL": False, "TRAINING": True}.get(
        getattr(training, "name", "PRESERVE"))
    program = exported(
        model, args, kwargs, input_names, output_names, opset_version, dynamic_shapes, dynamic_axes,
        mode)
    if optimize:
        program.optimize()
    if verify:
        program._verify(model)
    if f is not None:
        program.save(f, keep_initializers_as_inputs=keep_initializers_as_inputs,
                     external_data=external_data and not hasattr(f, "write"))
    return program if dynamo else None


def is_onnxrt_backend_supported() -> bool:
    """False."""
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int,
                                custom_opsets: Any = None) -> None:
    """Accepted: an export does not ask for it, and refuses ops that it cannot write."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Accepted: there is none."""


__all__ = [
    "ONNXProgram", "OnnxExporterError", "OperatorExportTypes", "TrainingMode", "export",
    "is_in_onnx_export",
]

__getattr__ = _absent.missing(__name__, reason=MODULES["onnx"])
