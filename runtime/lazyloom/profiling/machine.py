"""What this machine can do at best: operations and bytes in a second, measured once and kept."""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import sys
import time
from typing import Any, Final, NamedTuple

import numpy

from ..cache import disk
from ..dtypes import dtype_named
from ..evaluate.sync import sync
from ..files import replace
from ..settings import options
from ..tensor.host import from_host
from ..trace.recording import record

#: the file's name in the folder of the disk cache
FILE: Final = "machine.json"
#: extents of the matrices whose product is timed, and bytes of each array that is added
EXTENT: Final = 1024
ARRAY: Final = 64 << 20
#: each is run so often, and the quickest run counts
RUNS: Final = 15
#: bytes read and written in a second where nothing was measured: about what one core does
ASSUMED_BANDWIDTH: Final = 8e9
#: the command that measures
COMMAND: Final = "python -m lazyloom profile --measure-machine"


class MachinePeaks(NamedTuple):
    """The best that was measured on a machine.

    Attributes:
        machine: its processor and the number of cores that the process may use.
        flops: floating-point operations in a second, of a product of two matrices, by dtype.
        bandwidth: bytes in a second, read and written, of a sum of two arrays that no cache holds.
    """

    machine: str
    flops: dict[str, float]
    bandwidth: float

    def bound(self, flops: float, nbytes: float, dtype: str = "float32") -> float:
        """Seconds that work takes at least, by the roofline: operations or bytes, the longer."""
        rate = self.flops.get(dtype, self.flops["float32"])
        return max(flops / rate, nbytes / self.bandwidth)

    def limit(self, flops: float, nbytes: float, dtype: str = "float32") -> str:
        """What bounds work: "operations" or "memory"."""
        rate = self.flops.get(dtype, self.flops["float32"])
        return "operations" if flops / rate > nbytes / self.bandwidth else "memory"


def this_machine() -> str:
    """The processor and the cores that the process may use, such as "Xeon, 2 cores"."""
    name = platform.processor() or platform.machine()
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()
    return f"{name}, {cores} core{'s' if cores != 1 else ''}"


def known_peaks() -> MachinePeaks | None:
    """What was measured on this machine with as many cores; None if nothing was."""
    if not disk.enabled():
        return None
    try:
        with open(os.path.join(disk.folder(), FILE), encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)[this_machine()]
        flops = {str(name): float(rate) for name, rate in found["flops"].items()}
        peaks = MachinePeaks(this_machine(), flops, float(found["bandwidth"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError,
            RecursionError):
        return None
    rates = [peaks.bandwidth, flops.get("float32", 0.0), *flops.values()]
    return peaks if all(0 < rate < math.inf for rate in rates) else None


def bandwidth_here() -> tuple[float, str]:
    """Bytes that are read and written in a second, and where the figure is from."""
    peaks = known_peaks()
    if peaks is None:
        return ASSUMED_BANDWIDTH, (
            f"at {ASSUMED_BANDWIDTH / 1e9:g} GB/s, which is assumed; {COMMAND} measures it")
    return peaks.bandwidth, f"at {peaks.bandwidth / 1e9:.1f} GB/s, as measured on this machine"


def measure_peaks() -> MachinePeaks:
    """Measure this machine, which takes some seconds, and keep it in the disk cache's folder.

    What was measured before and was better stays: other programs take from what is measured.

    Raises OSError if it cannot be written there.
    """
    flops = {name: _flops(name) for name in ("float32", "float64")}
    bandwidth = _bandwidth()
    before = known_peaks()
    if before is not None:
        flops = {name: max(rate, before.flops.get(name, 0.0)) for name, rate in flops.items()}
        bandwidth = max(bandwidth, before.bandwidth)
    found = MachinePeaks(this_machine(), flops, bandwidth)
    if disk.enabled():
        _keep(found)
    return found


def _flops(dtype: str) -> float:
    numbers = numpy.linspace(-1, 1, EXTENT * EXTENT).reshape(EXTENT, EXTENT)
    x = from_host(numbers.astype(dtype_named(dtype).numpy))
    return 2.0 * EXTENT**3 / _quickest("matmul", x, x)


def _bandwidth() -> float:
    x, y = (from_host(numpy.full(ARRAY // 4, n, numpy.float32)) for n in (1, 2))
    return 3.0 * ARRAY / _quickest("add", x, y)


def _quickest(op: str, x: Any, y: Any) -> float:
    """Seconds of the quickest run of an op, compiled."""
    best = float("inf")
    with options(reproducible=True):
        for _ in range(RUNS):
            sync([x, y], True)
            began = time.perf_counter()
            z = record(op, [x, y])
            sync([z], True)
            best = min(best, time.perf_counter() - began)
            del z
    return best


def _keep(found: MachinePeaks) -> None:
    folder = disk.folder()
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, FILE)
    known: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError, RecursionError), open(
        path, encoding="utf-8") as file:
        read = json.load(file)
        known = read if isinstance(read, dict) else {}
    known[found.machine] = {"flops": found.flops, "bandwidth": found.bandwidth}
    replace(path, [json.dumps(known, indent=1).encode()])
