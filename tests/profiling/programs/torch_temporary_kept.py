"""Activations that a hook keeps in a list: each step has to write all of them to memory."""

import sys
import time

import lazyloom_torch as torch

FAULTY = sys.argv[1:] == ["faulty"]

torch.manual_seed(0)
x = torch.randn(2048, 1024)
kept = []
total = 0.0
started = time.perf_counter()
for n in range(40):
    h = x
    for _ in range(8):
        h = torch.sin(h + n / 40) * torch.exp(-h.square()) + 0.1  # fault
        if FAULTY:
            kept.append(h)
    if len(kept) > 16:
        del kept[:8]
    total += (h * 0.5).mean().item()
print(f"{total:.3f}", f"{time.perf_counter() - started:.3f}")
