"""A transformer encoder that says whether brackets are balanced."""

from __future__ import annotations

import math
import random as host_random

import reproducible

import lazyloom_torch as torch

nn, F = torch.nn, torch.nn.functional

LETTERS = "_()[]"
LENGTH = 16


def balanced(text: str) -> bool:
    open_ones = []
    for c in text:
        if c in "([":
            open_ones.append(c)
        elif not open_ones or open_ones.pop() + c not in ("()", "[]"):
            return False
    return not open_ones


def example(draw) -> str:
    """Balanced brackets, in half of the cases with one of them changed."""
    text = ""
    while len(text) < LENGTH - 2 and (not text or draw.random() < 0.85):
        pair = draw.choice(["()", "[]"])
        kind = draw.random()
        text = pair[0] + text + pair[1] if kind < 0.5 else text + pair
    if draw.random() < 0.5:
        at = draw.randrange(len(text))
        text = text[:at] + draw.choice("()[]") + text[at + 1:]
    return text


def batch(count: int, seed: int):
    """Letters [count, LENGTH] and labels [count]."""
    draw = host_random.Random(seed)
    texts = [example(draw) for _ in range(count)]
    letters = [[LETTERS.index(c) for c in text.ljust(LENGTH, "_")] for text in texts]
    return torch.tensor(letters), torch.tensor([int(balanced(text)) for text in texts])


class PositionalEncoding(nn.Module):
    def __init__(self, size, length):
        super().__init__()
        position = torch.arange(length).unsqueeze(1)
        rates = torch.exp(torch.arange(0, size, 2) * (-math.log(10000.0) / size))
        table = torch.zeros(1, length, size)
        table[0, :, 0::2] = torch.sin(position * rates)
        table[0, :, 1::2] = torch.cos(position * rates)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[:, :x.size(1)]


class Classifier(nn.Module):
    def __init__(self, size=32, heads=4, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(len(LETTERS), size)
        self.positions = PositionalEncoding(size, LENGTH)
        layer = nn.TransformerEncoderLayer(
            size, heads, dim_feedforward=2 * size, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Linear(size, 2)

    def forward(self, letters):
        padding = letters == 0
        x = self.positions(self.embedding(letters) * math.sqrt(self.embedding.embedding_dim))
        x = self.encoder(x, src_key_padding_mask=padding)
        count = (~padding).sum(dim=1, keepdim=True)
        mean = x.masked_fill(padding.unsqueeze(-1), 0.0).sum(dim=1) / count
        return self.out(mean)


def run(steps: int = 120, batch_size: int = 64):
    random = reproducible.generator(7)
    model = reproducible.initialise(Classifier(), random)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: min(1.0, (i + 1) / 20))
    losses = []
    for step in range(steps):
        letters, labels = batch(batch_size, seed=step)
        loss = F.cross_entropy(model(letters), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    model.eval()
    letters, labels = batch(200, seed=-1)
    with torch.no_grad():
        logits = model(letters)
    accuracy = (logits.argmax(dim=1) == labels).float().mean().item()
    return {"losses": losses, "logits": logits[:8].numpy(), "accuracy": accuracy}


if __name__ == "__main__":
    found = run(steps=600)
    print(f"loss {found['losses'][-1]:.4f}, accuracy {found['accuracy']:.3f}")
