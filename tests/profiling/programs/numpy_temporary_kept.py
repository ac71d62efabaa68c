"""Intermediate arrays that a history keeps: each step has to write all of them to memory."""

import sys
import time

import lazyloom_numpy as np

FAULTY = sys.argv[1:] == ["faulty"]

rng = np.random.default_rng(0)
x = rng.random((2048, 1024), dtype=np.float32)
kept = []
total = 0.0
started = time.perf_counter()
for n in range(40):
    h = x
    for _ in range(8):
        h = np.sin(h + n / 40) * np.exp(-np.square(h)) + 0.1  # fault
        if FAULTY:
            kept.append(h)
    if len(kept) > 16:
        del kept[:8]
    total += float((h * 0.5).mean())
print(f"{total:.3f}", f"{time.perf_counter() - started:.3f}")
