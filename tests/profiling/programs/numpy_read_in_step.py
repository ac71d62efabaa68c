"""A read in the middle of a step runs it as two programs."""

import sys
import time

import lazyloom_numpy as np

FAULTY = sys.argv[1:] == ["faulty"]

rng = np.random.default_rng(0)
field = rng.random((512, 512), dtype=np.float32)
started = time.perf_counter()
for _ in range(300):
    slope = np.roll(field, 1, axis=0) - 2 * field + np.roll(field, -1, axis=0)
    bend = np.roll(field, 1, axis=1) - 2 * field + np.roll(field, -1, axis=1)
    if FAULTY and float(np.abs(slope).max()) > 100:  # fault
        break
    field = field + 0.1 * (slope + bend) / (1 + slope * slope + bend * bend)
    del slope, bend
    if float(np.abs(field).max()) > 100:
        break
print(f"{float(field.mean()):.3f}", f"{time.perf_counter() - started:.3f}")
