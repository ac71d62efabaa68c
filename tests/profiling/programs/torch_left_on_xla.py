"""A product that oneDNN does not take, beside others that it does."""

import sys
import time

import lazyloom_torch as torch

FAULTY = sys.argv[1:] == ["faulty"]

torch.manual_seed(0)
x = torch.randn(8, 256, 512).bfloat16()
w = (torch.randn(512, 512) / 22).bfloat16()
total = 0.0
started = time.perf_counter()
for n in range(40):
    h = torch.relu(x.reshape(2048, 512) @ w).reshape(8, 256, 512) * (n / 40)
    if FAULTY:
        y = torch.einsum("bik,kj->jib", h, w)  # fault
        y = y.permute(2, 1, 0)
    else:
        y = (h.reshape(2048, 512) @ w).reshape(8, 256, 512)
    total += y.float().mean().item()
print(f"{total:.2f}", f"{time.perf_counter() - started:.3f}")
