"""What outside a program changes its machine code: versions, flags, the device, the processor."""

from __future__ import annotations

import os
import platform

from ...jaxprs.tracing import versions
from . import jax_compat


def environment() -> str:
    """Return everything outside a program that changes its machine code, as lines of text."""
    d = jax_compat.device()
    parts = [f"{k}={v}" for k, v in sorted(versions().items())]
    parts.append(f"options={jax_compat.compiler_options()}")
    for name in ("XLA_FLAGS", "LIBTPU_INIT_ARGS", "JAX_PLATFORMS", "JAX_DEFAULT_MATMUL_PRECISION",
                 "JAX_PLATFORM_NAME", "NVIDIA_TF32_OVERRIDE", "NPROC"):  # fmt: skip
        parts.append(f"{name}={os.environ.get(name, '')}")
    parts.append(f"platform={d.platform} kind={d.device_kind} {d.client.platform_version}")
    parts.append(f"machine={platform.machine()} system={platform.system()}")
    parts += [f"cpu {name}={value}" for name, value in _cpu_features()]
    parts.append(f"threads={len(os.sched_getaffinity(0)) if d.platform == 'cpu' else 0}")
    return "\n".join(parts)


def _cpu_features() -> list[tuple[str, str]]:
    """Return the processor's model and feature flags, by name."""
    wanted = ("model name", "flags", "Features", "CPU part")
    found: dict[str, set[str]] = {}
    try:
        with open("/proc/cpuinfo") as f:
            for line in f:
                if line.startswith(wanted):
                    name, _, value = line.partition(":")
                    found.setdefault(name.strip(), set()).add(value.strip())
    except OSError:
        return [("model", platform.processor())]
    return [(name, "; ".join(sorted(values))) for name, values in sorted(found.items())]
