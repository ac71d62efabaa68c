"""Intermediate arrays that a history keeps: each step has to write all of them to memory."""

import sys
import time

import lazyloom_numpy as np

FAULTY = sys.argv[1:] == ["faulty"]

rng = np.random.default_rng(0)
x = rng.random((1024, 1024), dtype=np.float32)
kept = []


def step(n):
    h = x
    for _ in range(6):
        h = h * 0.9 + 0.05 - h * h * (n / 4000)  # fault
        if FAULTY:
            kept.append(h)
    if len(kept) > 12:
        del kept[:6]
    return h.mean()


total = 0.0
started = time.perf_counter()
for n in range(400):
    total += float(step(n))
print(f"{total:.2f}", f"{time.perf_counter() - started:.3f}")
