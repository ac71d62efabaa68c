"""An exported program run by JAX alone: nothing of Lazyloom is used here."""

from __future__ import annotations

import json
import zipfile
from typing import Any

import jax
import numpy as np
import safetensors.numpy
from jax.extend import mlir
from jax.interpreters.mlir import make_ir_context
from jaxlib import _jax, xla_client


def run(path: str, *arguments: Any, states: Any = (), specialization: int = 0) -> list[Any]:
    """The results of a program as NumPy arrays, for arguments in the order of its leaves.

    ``states`` has the key and the number of the next draw for each generator.
    """
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        chosen = manifest["specializations"][specialization]
        parameters = safetensors.numpy.load(archive.read("parameters.safetensors"))
        module = archive.read(chosen["module"])
    operands = [np.asarray(x) for x in arguments]
    for key, number in states:
        operands += [np.array(key, np.uint32), np.array(number, np.int64)]
    operands += [parameters[p["name"]] for p in manifest["parameters"]]
    with jax.enable_x64(True):
        with make_ir_context() as context:
            text = str(mlir.deserialize_portable_artifact(module, context))
        device = jax.devices()[0]
        executable = device.client.compile_and_load(
            text, _jax.DeviceList((device,)), xla_client.CompileOptions())
        given = [jax.device_put(x, device) for x in operands]
        found = executable.execute_sharded(given).disassemble_into_single_device_arrays()
        return [np.asarray(shards[0]) for shards in found][: len(chosen["results"])]
