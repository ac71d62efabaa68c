"""A read between the forward and the backward pass runs a step as two programs."""

import sys
import time

import lazyloom_torch as torch
from lazyloom_torch import nn

FAULTY = sys.argv[1:] == ["faulty"]

torch.manual_seed(0)
x, y = torch.randn(512, 256), torch.randn(512, 1)
model = nn.Sequential(
    nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
started = time.perf_counter()
for _ in range(60):
    optimizer.zero_grad()
    loss = (model(x) - y).square().mean()
    if FAULTY and loss.item() > 1e6:  # fault
        break
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 10)
    optimizer.step()
    if norm.item() > 1e6:
        break
print(f"{loss.item():.3f}", f"{time.perf_counter() - started:.3f}")
