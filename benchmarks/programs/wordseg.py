"""A segmental language model: the sum over all ways to cut a sentence into words.

The probability of a sentence is the sum, over all its segmentations, of the product of the
segments' probabilities (Kawakami, Dyer and Blunsom, "Learning to discover, ground and use words
with segmental neural language models", 2019, without the lexicon). An LSTM reads the characters;
from every position a second LSTM spells the segments that begin there; the forward algorithm adds
up the lattice. Every sentence has another length, and everything is a loop of the host.
"""

from __future__ import annotations

from typing import Any

import numpy

from .progress import Progress
from .weights import initialise

KIND = "torch"
SIZES: dict[str, dict[str, Any]] = {
    "small": {"sentences": 4, "longest": 7, "hidden": 8, "segment": 3, "epochs": 2},
    "full": {"sentences": 60, "longest": 45, "hidden": 32, "segment": 6, "epochs": 3},
}
ALPHABET, SHORTEST = 30, 3


def sentences_of(count: int, longest: int) -> list[list[int]]:
    """Sentences made of words of a small random lexicon, cut at a random length."""
    random = numpy.random.default_rng(11)
    lexicon = [random.integers(0, ALPHABET, random.integers(1, 6)).tolist() for _ in range(50)]
    found = []
    for _ in range(count):
        length = int(random.integers(SHORTEST, longest + 1))
        text: list[int] = []
        while len(text) < length:
            text += lexicon[int(random.integers(len(lexicon)))]
        found.append(text[:length])
    return found


def model_of(torch: Any, hidden: int, segment: int) -> Any:
    nn, F = torch.nn, torch.nn.functional

    class SegmentalModel(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            # one symbol more: it begins a sentence, and ends a segment
            self.embedding = nn.Embedding(ALPHABET + 1, hidden)
            self.encoder = nn.LSTMCell(hidden, hidden)
            self.start = nn.Linear(hidden, hidden)
            self.decoder = nn.LSTMCell(hidden, hidden)
            self.output = nn.Linear(hidden, ALPHABET + 1)

        def contexts(self, inputs: list[Any]) -> list[Any]:
            """What the encoder knows before each character, [1, hidden] each."""
            h = c = torch.zeros(1, hidden)
            found = []
            for x in inputs:
                h, c = self.encoder(x, (h, c))
                found.append(h)
            return found

        def segments(self, context: Any, inputs: list[Any], targets: list[Any]) -> list[Any]:
            """Log-probabilities of the segments of 1, 2, ... characters that begin here."""
            h, c = torch.tanh(self.start(context)), torch.zeros(1, hidden)
            following = F.log_softmax(self.output(h), dim=-1)
            spelled = torch.zeros(())
            found = []
            for x, target in zip(inputs, targets):
                spelled = spelled - F.nll_loss(following, target)
                h, c = self.decoder(x, (h, c))
                following = F.log_softmax(self.output(h), dim=-1)
                found.append(spelled + following[0, ALPHABET])
            return found

        def forward(self, text: list[int]) -> Any:
            """Minus the log-probability of the sentence."""
            targets = [torch.tensor([character]) for character in text]
            embedded = [self.embedding(t) for t in targets]
            begin = self.embedding(torch.tensor([ALPHABET]))
            contexts = self.contexts([begin, *embedded[:-1]])
            # arriving[j]: ways to arrive at position j, by the last segment
            arriving: list[list[Any]] = [[] for _ in range(len(text) + 1)]
            total = torch.zeros(())
            for i, context in enumerate(contexts):
                if i > 0:
                    total = torch.logsumexp(torch.stack(arriving[i]), dim=0)
                ends = slice(i, i + segment)
                scores = self.segments(context, embedded[ends], targets[ends])
                for k, score in enumerate(scores):
                    arriving[i + k + 1].append(total + score)
            return -torch.logsumexp(torch.stack(arriving[-1]), dim=0)

    return initialise(torch, SegmentalModel(), 1)


def run(torch: Any, progress: Progress, sentences: int, longest: int, hidden: int, segment: int,
        epochs: int) -> None:  # fmt: skip
    """Train sentence by sentence with Adam; the loss per character is read each time."""
    model = model_of(torch, hidden, segment)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    texts = sentences_of(sentences, longest)
    progress.begin()
    for epoch in range(epochs):
        if epoch:
            progress.next_epoch()
        for text in texts:
            optimizer.zero_grad()
            loss = model(text) / len(text)
            loss.backward()
            optimizer.step()
            progress.sample(loss.item())
