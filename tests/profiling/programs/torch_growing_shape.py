"""A slice that grows by one row a step: each step is another program."""

import sys
import time

import lazyloom_torch as torch

FAULTY = sys.argv[1:] == ["faulty"]

torch.manual_seed(0)
x = torch.rand(200, 32)
rows = torch.arange(200)
total = 0.0
started = time.perf_counter()
for n in range(1, 200):
    if FAULTY:
        part = x[:n]
        smooth = torch.tanh(part @ part.T + 1).cumsum(1)
        total += (smooth.sum() + part.sort(0)[0][0].sum() + part.logsumexp(0).sum()).item()  # fault
    else:
        seen = (rows < n)[:, None]
        part = torch.where(seen, x, 2)
        both = seen & seen.T
        smooth = torch.where(both, torch.tanh(part @ part.T + 1), 0).cumsum(1) * both
        low = torch.where(seen, x, -torch.inf)
        total += (smooth.sum() + part.sort(0)[0][0].sum() + low.logsumexp(0).sum()).item()
print(f"{total:.0f}", f"{time.perf_counter() - started:.3f}")
