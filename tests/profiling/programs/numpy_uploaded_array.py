"""A table from NumPy that is made an array of at every step."""

import sys
import time

import numpy

import lazyloom_numpy as np

FAULTY = sys.argv[1:] == ["faulty"]

table = numpy.random.default_rng(0).random((2048, 1024), dtype=numpy.float32)
once = np.array(table)
x = np.random.default_rng(0).random((1, 2048), dtype=np.float32)
total = 0.0
started = time.perf_counter()
for n in range(100):
    weights = np.array(table) if FAULTY else once  # fault
    total += float((x * n @ weights).mean())
print(f"{total:.0f}", f"{time.perf_counter() - started:.3f}")
