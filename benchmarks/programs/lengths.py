"""A transformer classifier on batches whose length changes: each is as long as its longest text."""

from __future__ import annotations

from typing import Any

import numpy

from .progress import Progress
from .weights import initialise

KIND = "torch"
SIZES: dict[str, dict[str, Any]] = {
    "small": {"steps": 3, "later": 2, "batch": 2, "width": 16, "shortest": 3, "longest": 6},
    "full": {"steps": 300, "later": 100, "batch": 16, "width": 64, "shortest": 20, "longest": 60},
}
WORDS, CLASSES, HEADS, LAYERS = 500, 4, 4, 2


def batch_of(random: numpy.random.Generator, batch: int, shortest: int, longest: int) -> Any:
    """Token numbers [batch, n] padded with 0, and classes: what most of a text's words are."""
    n = int(random.integers(shortest, longest + 1))
    labels = random.integers(0, CLASSES, batch)
    tokens = random.integers(1, WORDS, (batch, n))
    # two words in three belong to the class
    own = tokens // CLASSES * CLASSES + labels[:, None]
    tokens = numpy.where(random.random((batch, n)) < 0.67, numpy.clip(own, 1, WORDS - 1), tokens)
    ends = random.integers(max(n - 5, 1), n + 1, batch)
    tokens[numpy.arange(n)[None, :] >= ends[:, None]] = 0
    return tokens, labels


def model_of(torch: Any, width: int, longest: int) -> Any:
    nn = torch.nn

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(WORDS, width)
            self.places = nn.Embedding(longest, width)
            layer = nn.TransformerEncoderLayer(
                width, HEADS, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
            self.encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
            self.output = nn.Linear(width, CLASSES)

        def forward(self, tokens: Any) -> Any:
            padding = tokens == 0
            x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
            x = self.encoder(x, src_key_padding_mask=padding)
            kept = (~padding).unsqueeze(-1).float()
            return self.output((x * kept).sum(dim=1) / kept.sum(dim=1))

    return initialise(torch, Classifier(), 7)


def run(torch: Any, progress: Progress, steps: int, later: int, batch: int, width: int,
        shortest: int, longest: int) -> None:  # fmt: skip
    """Train with Adam; the loss is read each step."""
    model = model_of(torch, width, longest)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    random = numpy.random.default_rng(21)
    batches = [batch_of(random, batch, shortest, longest) for _ in range(steps + later)]
    progress.begin()
    for epoch, part in enumerate((batches[:steps], batches[steps:])):
        if epoch:
            progress.next_epoch()
        for tokens, labels in part:
            loss = torch.nn.functional.cross_entropy(
                model(torch.tensor(tokens)), torch.tensor(labels))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            progress.sample(loss.item())
