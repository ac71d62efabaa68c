"""The array of the step before is kept, so that it cannot be updated in place."""

import sys
import time

import lazyloom_numpy as np

FAULTY = sys.argv[1:] == ["faulty"]

rng = np.random.default_rng(0)
x = rng.random((2048, 1024), dtype=np.float32)
started = time.perf_counter()
before = None
for n in range(400):
    after = x * 0.999 + 0.001 - x * x * 1e-4 + np.abs(x - 0.5) * 1e-4
    if FAULTY and n > 150:
        before = x
    x = after
    del after
    if float(x[0, 0]) > 1e6:  # fault
        break
print(f"{float(x.mean()):.3f}", f"{time.perf_counter() - started:.3f}")
