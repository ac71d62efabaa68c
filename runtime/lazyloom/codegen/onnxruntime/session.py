"""A region as an ONNX Runtime session on the processor."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..generator import Region
from .writing import input_of, model

#: the most bytes of a model: protocol buffers have at most 2 GiB
MOST: Final = 1 << 30

#: fusions that are slower than the ops that they fuse: eight layer norms of 512 rows of 256, each
#: after a sum, took 5.2 ms with it and 1.0 without, on one core (ONNX Runtime 1.32)
SLOWER: Final = ("SkipLayerNormFusion",)


def runtime() -> Any:
    """Return the library; importing it is slow, and nothing needs it before a region is built."""
    return importlib.import_module("onnxruntime")


class Session:
    """Runs a region on NumPy arrays: its operands and then its results, which it fills."""

    def __init__(
        self, region: Region, values: Mapping[int, Any], optimized: bytes | None = None
    ) -> None:
        """Make a session of a region, from its :attr:`optimized` model if that is given."""
        ort = runtime()
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads()
        options.inter_op_num_threads = 1
        # waiting threads must let XLA's threads run
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # errors are raised
        options.log_severity_level = 4
        #: the model after ONNX Runtime's optimisations for this processor; None if values are in it
        self.optimized = optimized
        if optimized is not None:
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
            made = _inference(optimized, options)
            outputs = [output.name for output in made.get_outputs()]
        else:
            text, outputs = model(region, values)
            if values:
                made = _inference(text, options)
            else:
                with tempfile.TemporaryDirectory(prefix="lazyloom-") as folder:
                    path = os.path.join(folder, "optimized.ort")
                    options.optimized_model_filepath = path
                    options.add_session_config_entry("session.save_model_format", "ORT")
                    made = _inference(text, options)
                    with open(path, "rb") as file:
                        self.optimized = file.read()
        self._session: Final = made
        types = (*region.operands, *region.results)
        names = [*map(input_of, range(len(region.operands))), *outputs]
        self._count: Final = len(region.operands)
        self._arrays: Final[Sequence[tuple[int, str, Any, list[int]]]] = [
            (k, name, t.dtype.numpy, list(t.shape))
            for k, (name, t) in enumerate(zip(names, types, strict=True)) if k not in values]

    def __call__(self, *arrays: Any) -> None:
        binding = self._session.io_binding()
        count = self._count
        for k, name, dtype, shape in self._arrays:
            address = arrays[k].__array_interface__["data"][0]
            if k < count:
                binding.bind_input(name, "cpu", 0, dtype, shape, address)
            else:
                binding.bind_output(name, "cpu", 0, dtype, shape, address)
        self._session.run_with_iobinding(binding)


def _inference(model_bytes: bytes, options: Any) -> Any:
    return runtime().InferenceSession(
        model_bytes, options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOWER)


def threads() -> int:
    """Return the threads of a session, including the caller's: OMP_NUM_THREADS, or one per
    processor."""
    variable = os.environ.get("OMP_NUM_THREADS", "")
    if variable.isdigit() and int(variable):
        return int(variable)
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
