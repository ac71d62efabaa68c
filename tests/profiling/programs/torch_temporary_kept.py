"""Activations that a hook keeps in a list: each step has to write all of them to memory."""

import sys
import time

import lazyloom_torch as torch

FAULTY = sys.argv[1:] == ["faulty"]

torch.manual_seed(0)
x = torch.randn(1024, 1024)
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
    total += step(n).item()
print(f"{total:.2f}", f"{time.perf_counter() - started:.3f}")
