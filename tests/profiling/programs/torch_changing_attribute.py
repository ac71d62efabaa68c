"""An attribute, here of roll, that changes at each step: each step is another program."""

import sys
import time

import lazyloom_torch as torch

FAULTY = sys.argv[1:] == ["faulty"]

torch.manual_seed(0)
x = torch.randn(256, 64)
places = torch.arange(256)
total = 0.0
started = time.perf_counter()
for n in range(60):
    if FAULTY:
        moved = torch.roll(torch.tanh(x @ x.T + 1), n, 0)
    else:
        moved = torch.tanh(x @ x.T + 1)[(places - n) % 256]
    total += (moved * x[:, :1]).sum().item()  # fault
print(f"{total:.1f}", f"{time.perf_counter() - started:.3f}")
