"""A function that is captured anew at each step, as the closure is another one each time."""

import sys
import time

import lazyloom
import lazyloom_numpy as np

FAULTY = sys.argv[1:] == ["faulty"]

rng = np.random.default_rng(0)
x = rng.random((128, 128), dtype=np.float32)
w = rng.random((128, 128), dtype=np.float32) / 12


def step(x, rate):
    for _ in range(6):
        x = np.tanh(x @ w) * rate
    return x.mean()


once = lazyloom.jit(step)
total = 0.0
started = time.perf_counter()
for _ in range(60):
    rate = np.float32(0.9)
    if FAULTY:
        total += float(lazyloom.jit(lambda x, rate=rate: step(x, rate))(x))  # fault
    else:
        total += float(once(x, rate))
print(f"{total:.3f}", f"{time.perf_counter() - started:.3f}")
