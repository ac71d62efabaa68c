"""Everything private or unstable of JAX and jaxlib that the runtime touches.

The only module that knows such names. Each use says what it relies on; the tests run it
on the oldest and the newest supported jax.
"""

from __future__ import annotations

import hashlib
import os
import platform
import threading
from collections.abc import Sequence
from typing import Any

_loaded = False
_lock = threading.Lock()
_device: Any = None
_client: Any = None
_device_list: Any = None


def _import() -> None:
    import jax.dlpack
    import jax.numpy
    from jaxlib import xla_client

    del jax, xla_client


def _load() -> None:
    """Import JAX where Ctrl-C does not reach: half of it could never be imported whole again."""
    global _loaded
    if _loaded:
        return
    if threading.current_thread() is threading.main_thread():
        importing = threading.Thread(target=_import, name="lazyloom-import")
        importing.start()
        importing.join()
    _loaded = True


def x64() -> Any:
    """The context in which every call of JAX is made: 64-bit types mean 64 bits."""
    _load()
    import jax

    return jax.enable_x64(True)


def _start() -> None:
    global _device, _client, _device_list
    with _lock:
        if _client is not None:
            return
        _load()
        import jax
        from jaxlib import _jax

        with x64():
            _device = jax.devices()[0]
            _device_list = _jax.DeviceList((_device,))
            _client = _device.client


def client() -> Any:
    """The XLA client of JAX's default device; starts it on first use."""
    if _client is None:
        _start()
    return _client


def device() -> Any:
    """The JAX device that programs run on."""
    if _client is None:
        _start()
    return _device


def device_text() -> str:
    """Platform and kind of the device, such as ``cpu: cpu``."""
    d = device()
    return f"{d.platform}: {d.device_kind}"


def versions() -> dict[str, str]:
    """Versions of jax and jaxlib, without importing jax."""
    from importlib.metadata import version

    return {"jax": version("jax"), "jaxlib": version("jaxlib")}


def compile_text(text: str) -> Any:
    """Compile a StableHLO module given as text for the device."""
    from jaxlib import xla_client

    if "@lapack_" in text:
        _find_lapack()
    options = xla_client.CompileOptions()
    # a bfloat16 result is rounded where the program says so, whether or not it is read there
    options.env_option_overrides = [("xla_allow_excess_precision", "False")]
    return client().compile_and_load(text, _device_list, options)


def serialize(executable: Any) -> bytes:
    """The executable's machine code; no pickle, no trace."""
    return bytes(client().serialize_executable(executable))


def _find_lapack() -> None:
    """Let jaxlib look up LAPACK's routines.

    JAX does so when it lowers a call of one, which another process may have done; without it
    the call jumps to address 0.
    """
    from jaxlib import lapack

    lapack._lapack.initialize()


def deserialize(data: bytes) -> Any:
    """An executable from :func:`serialize`'s bytes, which must be trusted."""
    from jaxlib import xla_client

    c = client()
    if b"lapack_" in data:
        _find_lapack()
    return c.deserialize_executable(data, _device_list, xla_client.CompileOptions())


def execute(executable: Any, arguments: Sequence[Any]) -> list[Any]:
    """Run an executable on device arrays; returns its results without waiting."""
    results = executable.execute_sharded(list(arguments))
    return [shards[0] for shards in results.disassemble_into_single_device_arrays()]


def upload(array: Any) -> Any:
    """A device array of a NumPy array's data, of exactly its dtype.

    The array's memory may be used in place, so it must be private.
    """
    import jax

    with x64():
        return jax.device_put(array, device())


def lower_text(fn: Any, arguments: Sequence[Any]) -> tuple[str, list[tuple[tuple[int, ...], str]]]:
    """StableHLO text of ``fn`` at those (shape, NumPy dtype) arguments, and its result types."""
    import jax

    with x64():
        shaped = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in arguments]
        lowered = jax.jit(fn, keep_unused=True).lower(*shaped)
        out = jax.tree_util.tree_leaves(lowered.out_info)
        return lowered.as_text(), [(tuple(o.shape), str(o.dtype)) for o in out]


def environment() -> str:
    """Everything outside a program that changes its machine code, as one line of text."""
    parts = [f"{k}={v}" for k, v in sorted(versions().items())]
    for name in ("XLA_FLAGS", "LIBTPU_INIT_ARGS", "JAX_PLATFORMS", "JAX_DEFAULT_MATMUL_PRECISION",
                 "JAX_PLATFORM_NAME", "NVIDIA_TF32_OVERRIDE"):  # fmt: skip
        parts.append(f"{name}={os.environ.get(name, '')}")
    d = device()
    parts.append(f"platform={d.platform} kind={d.device_kind} {d.client.platform_version}")
    parts.append(f"machine={platform.machine()} system={platform.system()}")
    parts.append(f"cpu={_cpu_features()}")
    parts.append(f"threads={len(os.sched_getaffinity(0)) if d.platform == 'cpu' else 0}")
    return "\n".join(parts)


def _cpu_features() -> str:
    """A digest of the processor's model and feature flags."""
    wanted = ("model name", "flags", "Features", "CPU part")
    try:
        with open("/proc/cpuinfo") as f:
            lines = sorted({line.strip() for line in f if line.startswith(wanted)})
    except OSError:
        lines = [platform.processor()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def copy(array: Any) -> Any:
    """A device array of the same data in memory of its own."""
    import jax.numpy as jnp

    return jnp.array(array, copy=True)


def to_host(array: Any) -> Any:
    """The data as a fresh NumPy array; waits, and raises the run's error if it failed."""
    import numpy as np

    return np.array(np.asarray(array))


def wait(array: Any) -> None:
    """Wait until the array is computed; raises the run's error if it failed."""
    array.block_until_ready()


def from_dlpack(source: Any) -> Any:
    """A device array that shares memory with any object of the DLPack protocol."""
    with x64():
        import jax.dlpack

        return jax.dlpack.from_dlpack(source)
