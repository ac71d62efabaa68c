"""An attribute, here of roll, that changes at each step: each step is another program."""

import sys
import time

import lazyloom_numpy as np

FAULTY = sys.argv[1:] == ["faulty"]

rng = np.random.default_rng(0)
x = rng.random((256, 64), dtype=np.float32)
places = np.arange(256)
total = 0.0
started = time.perf_counter()
for n in range(60):
    if FAULTY:
        moved = np.roll(np.tanh(x @ x.T + 1), n, axis=0)
    else:
        moved = np.tanh(x @ x.T + 1)[(places - n) % 256]
    total += float((moved * x[:, :1]).sum())  # fault
print(f"{total:.1f}", f"{time.perf_counter() - started:.3f}")
