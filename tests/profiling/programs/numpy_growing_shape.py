"""A slice that grows by one row a step: each step is another program."""

import sys
import time

import lazyloom_numpy as np

FAULTY = sys.argv[1:] == ["faulty"]

rng = np.random.default_rng(0)
x = rng.random((200, 32), dtype=np.float32)
rows = np.arange(200)
total = 0.0
started = time.perf_counter()
for n in range(1, 200):
    if FAULTY:
        part = x[:n]
        ranks = np.argsort(part, axis=0)
        smooth = np.cumsum(np.tanh(part @ part.T + 1), axis=1)
        total += float(smooth.sum() + ranks.sum() + np.sort(part, axis=0)[0].sum())  # fault
    else:
        seen = (rows < n)[:, None]
        part = np.where(seen, x, 2)
        ranks = np.argsort(part, axis=0)
        smooth = np.cumsum(np.where(seen & seen.T, np.tanh(part @ part.T + 1), 0), axis=1)
        total += float((smooth * (seen & seen.T)).sum() + np.where(seen, ranks, 0).sum()
                       + np.sort(part, axis=0)[0].sum())
print(f"{total:.0f}", f"{time.perf_counter() - started:.3f}")
