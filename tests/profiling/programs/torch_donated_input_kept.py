"""The tensor of the step before is kept, so that it cannot be updated in place."""

import sys
import time

import lazyloom_torch as torch

FAULTY = sys.argv[1:] == ["faulty"]

torch.manual_seed(0)
x = torch.rand(2048, 1024)
started = time.perf_counter()
before = None
for n in range(400):
    after = x * 0.999 + 0.001 - x * x * 1e-4 + torch.abs(x - 0.5) * 1e-4
    if FAULTY and n > 150:
        before = x
    x = after
    del after
    if x[0, 0].item() > 1e6:  # fault
        break
print(f"{x.mean().item():.3f}", f"{time.perf_counter() - started:.3f}")
