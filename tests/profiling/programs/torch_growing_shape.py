"""An array that grows by one row a step: each step is another program."""

import sys
import time

import lazyloom_torch as torch
from lazyloom_torch import nn

FAULTY = sys.argv[1:] == ["faulty"]

torch.manual_seed(0)
attend = nn.MultiheadAttention(64, 4, batch_first=True)
steps, tokens = 48, torch.randn(1, 48, 64)
total = 0.0
started = time.perf_counter()
with torch.no_grad():
    if FAULTY:
        past = tokens[:, :1]
        for n in range(1, steps):
            past = torch.cat([past, tokens[:, n : n + 1]], dim=1)
            total += attend(past[:, -1:], past, past)[0].sum().item()  # fault
    else:
        past = torch.zeros(1, steps, 64)
        past[:, :1] = tokens[:, :1]
        places = torch.arange(steps)
        for n in range(1, steps):
            past = torch.where((places == n)[None, :, None], tokens, past)
            query = (past * (places == n)[None, :, None]).sum(1, keepdim=True)
            mask = (places > n)[None, :]
            total += attend(query, past, past, key_padding_mask=mask)[0].sum().item()
print(f"{total:.2f}", f"{time.perf_counter() - started:.3f}")
