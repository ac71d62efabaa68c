"""A number that is float64 at some steps and float32 at others: several programs where one does."""

import sys
import time

import lazyloom_torch as torch

FAULTY = sys.argv[1:] == ["faulty"]

torch.manual_seed(0)
x, w = torch.randn(512, 512), torch.randn(512, 512)
total = 0.0
started = time.perf_counter()
for n in range(120):
    dtype = torch.float64 if FAULTY and n % 3 == 1 else torch.float32
    a, b = x.to(dtype), w.to(dtype)
    total += torch.tanh(a * (n / 120) @ b).mean().item()  # fault
print(f"{total:.3f}", f"{time.perf_counter() - started:.3f}")
