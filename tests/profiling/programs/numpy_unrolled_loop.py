"""A loop over 600 time steps, each of which is recorded, where `lazyloom.scan` records one."""

import sys
import time

import lazyloom
import lazyloom_numpy as np

FAULTY = sys.argv[1:] == ["faulty"]

rng = np.random.default_rng(0)
w = rng.random((64, 64), dtype=np.float32) / 64
start = rng.random((8, 64), dtype=np.float32)


def cell(h, _):
    return np.tanh(h @ w) + 0.5 / (1 + np.square(h)), None


total = 0.0
started = time.perf_counter()
for n in range(12):
    h = start * (n / 12)
    if FAULTY:
        for _ in range(600):
            h = np.tanh(h @ w) + 0.5 / (1 + np.square(h))  # fault
    else:
        h, _ = lazyloom.scan(cell, h, None, length=600)
    total += float(h.sum())
print(f"{total:.2f}", f"{time.perf_counter() - started:.3f}")
