"""A table from NumPy that is made a tensor of at every step."""

import sys
import time

import numpy

import lazyloom_torch as torch

FAULTY = sys.argv[1:] == ["faulty"]

torch.manual_seed(0)
table = numpy.random.default_rng(0).random((2048, 1024), dtype=numpy.float32)
once = torch.tensor(table)
x = torch.randn(64, 2048)
total = 0.0
started = time.perf_counter()
for n in range(100):
    weights = torch.tensor(table) if FAULTY else once  # fault
    total += (x[:1] * n @ weights).mean().item()
print(f"{total:.0f}", f"{time.perf_counter() - started:.3f}")
