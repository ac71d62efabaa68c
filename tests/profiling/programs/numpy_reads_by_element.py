"""Elements of a computed array that are read one by one."""

import sys
import time

import lazyloom_numpy as np

FAULTY = sys.argv[1:] == ["faulty"]

rng = np.random.default_rng(0)
x = rng.random((200, 200), dtype=np.float32)
total = 0.0
started = time.perf_counter()
for n in range(10):
    y = np.tanh(x + n / 10)
    if FAULTY:
        for i in range(200):
            for j in range(0, 200, 4):
                total += float(y[i, j])  # fault
    else:
        total += float(y[:, ::4].sum())
print(f"{total:.0f}", f"{time.perf_counter() - started:.3f}")
