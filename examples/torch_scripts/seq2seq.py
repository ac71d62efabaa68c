"""Sequence to sequence with attention (Bahdanau and others, 2014): dates into another notation.

"3 march 1871" becomes "1871-03-03": an encoder, a decoder that looks at the encoder's states.
"""

from __future__ import annotations

import random as host_random

import reproducible

import lazyloom_torch as torch

nn, F = torch.nn, torch.nn.functional

MONTHS = """january february march april may june july august september october november
december""".split()
SOURCE = "_ 0123456789abcdefghijklmnopqrstuvwxyz"
TARGET = "_<0123456789-"
LONGEST, LENGTH = 17, 10


def pairs(count: int, seed: int):
    """Sources [count, LONGEST] and targets [count, LENGTH], as numbers of letters."""
    draw = host_random.Random(seed)
    sources, targets = [], []
    for _ in range(count):
        day, month, year = draw.randint(1, 28), draw.randint(1, 12), draw.randint(1700, 2100)
        text = f"{day} {MONTHS[month - 1]} {year}".ljust(LONGEST, "_")
        sources.append([SOURCE.index(c) for c in text])
        targets.append([TARGET.index(c) for c in f"{year}-{month:02}-{day:02}"])
    return torch.tensor(sources), torch.tensor(targets)


class Encoder(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.embedding = nn.Embedding(len(SOURCE), hidden)
        self.gru = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)

    def forward(self, source):
        states, last = self.gru(self.embedding(source))
        return states, torch.tanh(last[0] + last[1])


class Attention(nn.Module):
    """Weights of the encoder's states, by a small network of them and the decoder's state."""

    def __init__(self, hidden):
        super().__init__()
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.key = nn.Linear(2 * hidden, hidden, bias=False)
        self.score = nn.Linear(hidden, 1, bias=False)

    def forward(self, state, states, padding):
        scores = self.score(torch.tanh(self.query(state).unsqueeze(1) + self.key(states)))
        scores = scores.squeeze(-1).masked_fill(padding, float("-inf"))
        weights = F.softmax(scores, dim=-1)
        return torch.bmm(weights.unsqueeze(1), states).squeeze(1), weights


class Decoder(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.embedding = nn.Embedding(len(TARGET), hidden)
        self.attention = Attention(hidden)
        self.cell = nn.GRUCell(3 * hidden, hidden)
        self.out = nn.Linear(3 * hidden, len(TARGET))

    def step(self, letter, state, states, padding):
        context, weights = self.attention(state, states, padding)
        state = self.cell(torch.cat([self.embedding(letter), context], dim=1), state)
        return self.out(torch.cat([state, context], dim=1)), state, weights

    def forward(self, states, state, padding, target=None):
        """Logits of LENGTH letters: behind the target's, or behind the likeliest so far."""
        letter = torch.full((states.shape[0],), TARGET.index("<"))
        found = []
        for i in range(LENGTH):
            logits, state, _ = self.step(letter, state, states, padding)
            found.append(logits)
            letter = logits.argmax(dim=1) if target is None else target[:, i]
        return torch.stack(found, dim=1)


def run(steps: int = 120, batch_size: int = 64, hidden: int = 48):
    random = reproducible.generator(6)
    encoder = reproducible.initialise(Encoder(hidden), random)
    decoder = reproducible.initialise(Decoder(hidden), random)
    parameters = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=4e-3)
    losses = []
    for step in range(steps):
        source, target = pairs(batch_size, seed=step)
        states, state = encoder(source)
        logits = decoder(states, state, source == 0, target)
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        losses.append(loss.item())
    source, target = pairs(batch_size, seed=-1)
    with torch.no_grad():
        states, state = encoder(source)
        said = decoder(states, state, source == 0).argmax(dim=-1)
    right = (said == target).float().mean().item()
    shown = ["".join(TARGET[n] for n in row) for row in said[:3].tolist()]
    return {"losses": losses, "right": right, "shown": shown}


if __name__ == "__main__":
    found = run(steps=400)
    print(f"loss {found['losses'][-1]:.4f}, letters right {found['right']:.3f}: {found['shown']}")
