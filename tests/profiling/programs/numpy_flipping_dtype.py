"""An array that is float64 at some steps and float32 at others: several programs where one does."""

import sys
import time

import lazyloom_numpy as np

FAULTY = sys.argv[1:] == ["faulty"]

rng = np.random.default_rng(0)
x = rng.random((512, 512), dtype=np.float32)
w = rng.random((512, 512), dtype=np.float32)
total = 0.0
started = time.perf_counter()
for n in range(120):
    # np.full without a dtype is float64 for 0.5 and int64 for 0
    scale = np.full(1, n / 120) if FAULTY and n % 3 == 1 else np.full(1, n / 120, np.float32)
    total += float(np.tanh(x * scale @ w).mean())  # fault
print(f"{total:.3f}", f"{time.perf_counter() - started:.3f}")
