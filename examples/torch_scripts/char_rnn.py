"""A recurrent network that learns to write names of stars, letter by letter."""

from __future__ import annotations

import reproducible

import lazyloom_torch as torch

nn, F = torch.nn, torch.nn.functional

NAMES = """achernar acrux adhara albireo alcor alcyone aldebaran alderamin algol alioth alkaid
alnair alnilam alnitak alphard alphecca alpheratz altair ankaa antares arcturus atria avior
bellatrix betelgeuse canopus capella castor deneb denebola diphda dubhe elnath eltanin enif
fomalhaut gacrux hadar hamal kochab markab megrez menkar menkent merak miaplacidus mintaka mira
mirach mirfak mizar nunki peacock phecda polaris pollux procyon rasalhague regulus rigel sabik
saiph scheat schedar shaula sirius spica suhail tarazed thuban unukalhai vega""".split()
LETTERS = "." + "abcdefghijklmnopqrstuvwxyz"  # the dot begins and ends a name


class CharRNN(nn.Module):
    def __init__(self, letters, hidden):
        super().__init__()
        self.embedding = nn.Embedding(letters, 16)
        self.gru = nn.GRU(16, hidden, batch_first=True)
        self.out = nn.Linear(hidden, letters)

    def forward(self, letters, hidden=None):
        output, hidden = self.gru(self.embedding(letters), hidden)
        return self.out(output), hidden


def batches():
    """All names as one batch: letters, the letters that follow, and how many count."""
    longest = max(map(len, NAMES)) + 1
    inputs = torch.zeros(len(NAMES), longest, dtype=torch.long)
    targets = torch.full((len(NAMES), longest), -1)
    for i, name in enumerate(NAMES):
        numbers = [LETTERS.index(c) for c in f".{name}."]
        inputs[i, :len(numbers) - 1] = torch.tensor(numbers[:-1])
        targets[i, :len(numbers) - 1] = torch.tensor(numbers[1:])
    return inputs, targets


@torch.no_grad()
def write(model, first: str, longest: int = 14) -> str:
    """The likeliest name that begins so."""
    hidden, found = None, "." + first
    for i in range(longest):
        letters = torch.tensor([[LETTERS.index(c) for c in (found if i == 0 else found[-1])]])
        logits, hidden = model(letters, hidden)
        letter = LETTERS[logits[0, -1].argmax().item()]
        if letter == ".":
            break
        found += letter
    return found[1:]


def run(steps: int = 150, hidden: int = 48):
    random = reproducible.generator(5)
    model = reproducible.initialise(CharRNN(len(LETTERS), hidden), random)
    inputs, targets = batches()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-3)
    losses = []
    for _ in range(steps):
        logits, _ = model(inputs)
        loss = F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=-1)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "written": [write(model, c) for c in "amrs"]}


if __name__ == "__main__":
    found = run()
    print(f"loss {found['losses'][-1]:.4f}; {', '.join(found['written'])}")
