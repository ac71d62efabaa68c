"""An encoder is trained on rows that are shifted, each step by another number: an attribute.

``python -m lazyloom profile -o run.html examples/profile/train.py`` tells the line and the seconds.
"""

import lazyloom_torch as torch
from lazyloom_torch import nn
from lazyloom_torch.nn import functional as F

torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(128, 4, dim_feedforward=256, batch_first=True, dropout=0.0)
encoder = nn.TransformerEncoder(layer, 1)
head = nn.Linear(128, 10)
optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=1e-3)
features, labels = torch.randn(64, 16, 128), torch.randint(0, 10, (64,))

for step in range(60):
    rows = torch.roll(features, step % 6, 0)
    loss = F.cross_entropy(head(encoder(rows).mean(1)), labels)
    if loss.item() > 100:
        break
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
