"""A list that is stacked at each step: each step is a longer program than the one before."""

import sys
import time

import lazyloom_numpy as np

FAULTY = sys.argv[1:] == ["faulty"]

rng = np.random.default_rng(0)
x = rng.random((64, 64), dtype=np.float32)
seen = []
total = np.zeros((), np.float32)
started = time.perf_counter()
for n in range(400):
    x = np.tanh(x @ x.T / 64 + n / 400)
    if FAULTY:
        seen.append(x.mean())
        mean = float(np.stack(seen).mean())  # fault
    else:
        total = total + x.mean()
        mean = float(total / (n + 1))
print(f"{mean:.3f}", f"{time.perf_counter() - started:.3f}")
