"""A slice that grows by one row a step: each step is another program."""

import sys
import time

import lazyloom_numpy as np

FAULTY = sys.argv[1:] == ["faulty"]

rng = np.random.default_rng(0)
x = rng.random((64, 32), dtype=np.float32)
rows = np.arange(64)
total = 0.0
started = time.perf_counter()
for n in range(1, 60):
    if FAULTY:
        part = x[:n]
        total += float(np.tanh(part @ part.T + 1).sum())  # fault
    else:
        seen = (rows < n).astype(np.float32)
        total += float((np.tanh(x @ x.T + 1) * seen[:, None] * seen[None]).sum())
print(f"{total:.1f}", f"{time.perf_counter() - started:.3f}")
