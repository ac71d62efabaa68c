"""The parameters of the step before are kept, so that none can be updated in place."""

import sys
import time

import lazyloom_torch as torch

FAULTY = sys.argv[1:] == ["faulty"]

torch.manual_seed(0)
x = torch.randn(2048, 2048)
started = time.perf_counter()
before = None
for n in range(150):
    after = torch.sin(x) * 0.999 + x.mean() * 0.001 + torch.cos(x * 0.5)
    if FAULTY and n > 100:
        before = x
    x = after
    del after
    if x[0, 0].item() > 1e6:  # fault
        break
print(f"{x.mean().item():.3f}", f"{time.perf_counter() - started:.3f}")
