"""A loop over 400 time steps, each of which is recorded, where one op has all of them."""

import sys
import time

import lazyloom_torch as torch
from lazyloom_torch import nn

FAULTY = sys.argv[1:] == ["faulty"]

torch.manual_seed(0)
x = torch.randn(400, 8, 16)
lstm = nn.LSTM(16, 32)
total = 0.0
started = time.perf_counter()
with torch.no_grad():
    for n in range(12):
        if FAULTY:
            h = c = torch.zeros(8, 32)
            for t in range(400):
                gates = x[t] * (n / 12) @ lstm.weight_ih_l0.T + lstm.bias_ih_l0
                gates = gates + h @ lstm.weight_hh_l0.T + lstm.bias_hh_l0  # fault
                i, f, g, o = gates.chunk(4, 1)
                c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(c)
        else:
            h = lstm(x * (n / 12))[0][-1]
        total += h.sum().item()
print(f"{total:.2f}", f"{time.perf_counter() - started:.3f}")
