"""A language model of words with LSTM layers (Zaremba, Sutskever and Vinyals, "Recurrent neural
network regularization", 2014), trained on real text.

The hidden state is carried from one stretch of text to the next.

    python lstm_lm.py --epochs 8 --checkpoint lstm.pt --sample 60
"""

from __future__ import annotations

import math

import data
import training

import lazyloom_torch as torch

nn, F = torch.nn, torch.nn.functional


class LanguageModel(nn.Module):
    """Token numbers [length, n] and a state to logits [length, n, tokens] and the next state.

    With ``tied`` the decoder's weight is the embedding (Press and Wolf, 2016).
    """

    def __init__(self, tokens: int, size: int = 128, layers: int = 2, dropout: float = 0.2,
                 tied: bool = True) -> None:  # fmt: skip
        super().__init__()
        self.size, self.layers = size, layers
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(tokens, size)
        self.rnn = nn.LSTM(size, size, layers, dropout=dropout if layers > 1 else 0.0)
        self.decoder = nn.Linear(size, tokens)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        if tied:
            self.decoder.weight = self.encoder.weight

    def forward(self, tokens, state):
        output, state = self.rnn(self.drop(self.encoder(tokens)), state)
        return self.decoder(self.drop(output)), state

    def initial_state(self, n: int):
        weight = next(self.parameters())
        return (weight.new_zeros(self.layers, n, self.size),
                weight.new_zeros(self.layers, n, self.size))

    @torch.no_grad()
    def sample(self, start: int, count: int, temperature: float = 0.9) -> list[int]:
        """That many token numbers, drawn one after the other."""
        self.eval()
        state, token = self.initial_state(1), torch.tensor([[start]])
        found = []
        for _ in range(count):
            logits, state = self(token, state)
            probabilities = F.softmax(logits[-1, 0] / temperature, dim=-1)
            token = torch.multinomial(probabilities, 1).view(1, 1)
            found.append(token.item())
        return found


class Stretches:
    """A text in ``n`` columns, cut into stretches of ``length``: (inputs, targets) [length, n]."""

    def __init__(self, numbers, n: int, length: int) -> None:
        rows = len(numbers) // n
        self.columns, self.length = numbers[:rows * n].view(n, rows).t().contiguous(), length

    def __len__(self) -> int:
        return (len(self.columns) - 1) // self.length

    def __iter__(self):
        for i in range(len(self)):
            start = i * self.length
            yield (self.columns[start:start + self.length],
                   self.columns[start + 1:start + 1 + self.length])


def main(arguments: list[str] | None = None) -> list[float]:
    parser = training.options(__doc__.split("\n")[0], epochs=8, batch_size=16, lr=4e-3)
    parser.add_argument("--text", metavar="FILE", help="train on this, not on our own pages")
    parser.add_argument("--length", type=int, default=32, help="of a stretch")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--size", type=int, default=128, help="of embeddings and states")
    parser.add_argument("--vocabulary", type=int, default=2000)
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="write N words")
    args = parser.parse_args(arguments)
    torch.manual_seed(args.seed)

    tokens = data.words(data.prose(args.text))
    vocabulary = data.Vocabulary(tokens, size=args.vocabulary)
    loader = Stretches(vocabulary.encode(tokens), args.batch_size, args.length)
    model = LanguageModel(len(vocabulary), args.size, args.layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = training.warmup_cosine(optimizer, 20, args.epochs * len(loader))
    carried = {}

    def loss_of(model, batch):
        inputs, targets = batch
        state = carried.get("state") or model.initial_state(inputs.shape[1])
        logits, state = model(inputs, state)
        # the gradient ends at the beginning of the stretch
        carried["state"] = tuple(s.detach() for s in state)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    losses = training.fit(model, optimizer, loader, loss_of, args, scheduler, clip=0.5)
    if not args.quiet:
        mean = sum(losses[-len(loader):]) / max(len(losses[-len(loader):]), 1)
        print(f"perplexity {math.exp(mean):.1f}")
    if args.sample:
        print(vocabulary.decode(model.sample(vocabulary.number["\n"], args.sample), " "))
    return losses


if __name__ == "__main__":
    main()
