"""Elements of a computed tensor that are read one by one."""

import sys
import time

import lazyloom_torch as torch

FAULTY = sys.argv[1:] == ["faulty"]

torch.manual_seed(0)
x = torch.rand(200, 200)
total = 0.0
started = time.perf_counter()
for n in range(10):
    y = torch.tanh(x + n / 10)
    if FAULTY:
        for i in range(200):
            for j in range(0, 200, 4):
                total += y[i, j].item()  # fault
    else:
        total += y[:, ::4].sum().item()
print(f"{total:.0f}", f"{time.perf_counter() - started:.3f}")
