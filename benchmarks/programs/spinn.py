"""A stack-augmented parser-interpreter (Bowman and others, SPINN, 2016): shift, reduce, track.

Sentences of a batch keep a Python list each as buffer and as stack. At every transition a tracking
LSTM cell reads the tops and predicts what comes next; the sentences that reduce are bundled, go
through one tree-structured cell, and are taken apart again: how many they are changes each time.
"""

from __future__ import annotations

from typing import Any

import numpy

from .progress import Progress
from .weights import initialise

KIND = "torch"
SIZES: dict[str, dict[str, Any]] = {
    "small": {"batches": 3, "batch": 2, "longest": 5, "hidden": 8, "epochs": 2},
    "full": {"batches": 200, "batch": 4, "longest": 20, "hidden": 64, "epochs": 2},
}
WORDS, CLASSES, SHORTEST = 200, 3, 3
SHIFT, REDUCE = 0, 1


def sample_of(random: numpy.random.Generator, batch: int, longest: int) -> tuple[Any, Any, Any]:
    """Words [batch, n], transitions [batch][2 n - 1] of random binary trees, and classes."""
    n = int(random.integers(SHORTEST, longest + 1))
    transitions = []
    for _ in range(batch):
        found, waiting, depth = [], n, 0
        while waiting or depth > 1:
            shifts = depth < 2 or (waiting > 0 and random.random() < 0.5)
            found.append(SHIFT if shifts else REDUCE)
            waiting, depth = (waiting - 1, depth + 1) if shifts else (waiting, depth - 1)
        transitions.append(found)
    return random.integers(0, WORDS, (batch, n)), transitions, random.integers(0, CLASSES, batch)


def model_of(torch: Any, hidden: int) -> Any:
    nn = torch.nn

    class Parser(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(WORDS, 2 * hidden)
            self.tracker = nn.LSTMCell(3 * hidden, hidden)
            self.transition = nn.Linear(hidden, 2)
            self.left = nn.Linear(hidden, 5 * hidden)
            self.right = nn.Linear(hidden, 5 * hidden, bias=False)
            self.track = nn.Linear(hidden, 5 * hidden, bias=False)
            self.output = nn.Sequential(
                nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, CLASSES))

        def reduced(self, left: Any, right: Any, tracked: Any) -> Any:
            """The parents of two bundles of nodes, [bundle, 2 hidden], states before memories."""
            h_left, c_left = torch.chunk(left, 2, dim=1)
            h_right, c_right = torch.chunk(right, 2, dim=1)
            gates = self.left(h_left) + self.right(h_right) + self.track(tracked)
            i, f_left, f_right, o, u = torch.chunk(gates, 5, dim=1)
            c = torch.sigmoid(i) * torch.tanh(u) + torch.sigmoid(f_left) * c_left
            c = c + torch.sigmoid(f_right) * c_right
            return torch.cat([torch.sigmoid(o) * torch.tanh(c), c], dim=1)

        def forward(self, words: Any, transitions: list[list[int]]) -> tuple[Any, Any]:
            """Logits of the classes, and the mean loss of the predicted transitions."""
            batch, n = words.shape
            embedded = self.embedding(words)
            nothing = torch.zeros(1, 2 * hidden)
            # the next word is at the end; both lists never run empty
            buffers = [[nothing, nothing, *reversed(torch.split(e, 1))] for e in embedded]
            stacks = [[nothing, nothing] for _ in range(batch)]
            tracked = (torch.zeros(batch, hidden), torch.zeros(batch, hidden))
            losses = []
            for step in range(2 * n - 1):
                seen = [torch.cat([top[-1] for top in buffers])[:, :hidden],
                        torch.cat([stack[-1] for stack in stacks])[:, :hidden],
                        torch.cat([stack[-2] for stack in stacks])[:, :hidden]]  # fmt: skip
                tracked = self.tracker(torch.cat(seen, dim=1), tracked)
                now = [each[step] for each in transitions]
                losses.append(nn.functional.cross_entropy(
                    self.transition(tracked[0]), torch.tensor(now)))  # fmt: skip
                lefts, rights, states, reducing = [], [], [], []
                for b in range(batch):
                    if now[b] == SHIFT:
                        stacks[b].append(buffers[b].pop())
                    else:
                        rights.append(stacks[b].pop())
                        lefts.append(stacks[b].pop())
                        states.append(tracked[0][b : b + 1])
                        reducing.append(b)
                if reducing:
                    parents = self.reduced(torch.cat(lefts), torch.cat(rights), torch.cat(states))
                    for b, parent in zip(reducing, torch.split(parents, 1)):
                        stacks[b].append(parent)
            roots = torch.cat([stack[-1] for stack in stacks])[:, :hidden]
            return self.output(roots), torch.stack(losses).mean()

    return initialise(torch, Parser(), 4)


def run(torch: Any, progress: Progress, batches: int, batch: int, longest: int, hidden: int,
        epochs: int) -> None:  # fmt: skip
    """Train batch by batch with Adam; the loss is read each time."""
    model = model_of(torch, hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    random = numpy.random.default_rng(14)
    samples = [sample_of(random, batch, longest) for _ in range(batches)]
    progress.begin()
    for epoch in range(epochs):
        if epoch:
            progress.next_epoch()
        for words, transitions, labels in samples:
            logits, parsing = model(torch.tensor(words), transitions)
            loss = torch.nn.functional.cross_entropy(logits, torch.tensor(labels)) + parsing
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            progress.sample(loss.item())
