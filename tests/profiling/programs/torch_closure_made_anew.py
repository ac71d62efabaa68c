"""A function that is captured anew at each step, as the closure is another one each time."""

import sys
import time

import lazyloom_torch as torch

FAULTY = sys.argv[1:] == ["faulty"]

torch.manual_seed(0)
x = torch.randn(128, 128)
w = torch.randn(128, 128) / 12


def step(x, rate):
    for _ in range(6):
        x = torch.tanh(x @ w) * rate
    return x.mean()


once = torch.compile(step)
total = 0.0
started = time.perf_counter()
for _ in range(60):
    rate = torch.tensor(0.9)
    if FAULTY:
        total += torch.compile(lambda x, rate=rate: step(x, rate))(x).item()  # fault
    else:
        total += once(x, rate).item()
print(f"{total:.3f}", f"{time.perf_counter() - started:.3f}")
