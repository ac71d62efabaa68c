"""A loss that is added up over all steps: the work behind it grows at each step."""

import sys
import time

import lazyloom_torch as torch
from lazyloom_torch import nn

FAULTY = sys.argv[1:] == ["faulty"]

torch.manual_seed(0)
x, y = torch.randn(64, 32), torch.randn(64, 1)
model = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
losses = []
started = time.perf_counter()
for _ in range(400):
    loss = (model(x) - y).square().mean()
    losses.append(loss if FAULTY else loss.detach())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    mean = torch.stack(losses if FAULTY else losses[-8:]).mean().item()  # fault
print(f"{loss.item():.3f}", f"{time.perf_counter() - started:.3f}")
