"""The digits classifier as a PyTorch program.

``python digits_torch.py [DATA_FOLDER [REPORT.json]]``
"""

from __future__ import annotations

import digits_data as data

import lazyloom_torch as torch
import lazyloom_torch.nn.functional as F
from lazyloom_torch import nn, optim


class Classifier(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.w1, self.b1, self.w2, self.b2, self.w3, self.b3 = (
            nn.Parameter(torch.tensor(w)) for w in weights
        )

    def forward(self, x):
        x = F.relu(x @ self.w1 + self.b1)
        x = F.relu(x @ self.w2 + self.b2)
        return x @ self.w3 + self.b3


def train_step(model, optimizer, images, labels, chosen):
    """One optimizer step; the loss before it."""
    x, y = images.index_select(0, chosen), labels.index_select(0, chosen)
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach()


@torch.no_grad()
def accuracy_of(model, images, labels):
    guesses = model(images).argmax(dim=1)
    return float((guesses.numpy() == labels).mean())


def main() -> None:
    report = data.Report("torch")
    random = data.SplitMix64(data.SEED)
    model = Classifier(data.initial_weights(random))
    # foreach=False: a loop over parameters in elementary ops, as the other two programs write it
    optimizer = optim.SGD(
        model.parameters(), lr=data.LEARNING_RATE, momentum=data.MOMENTUM, foreach=False)
    train_images, train_labels = map(torch.tensor, data.load(report.folder, "train"))
    test_images, test_labels = data.load(report.folder, "test")
    test_images = torch.tensor(test_images)

    for number, epoch in enumerate(data.batches(len(train_images), random), 1):
        for chosen in epoch:
            with report.step() as losses:
                loss = train_step(
                    model, optimizer, train_images, train_labels, torch.tensor(chosen)
                )
                losses.append(loss.item())
        accuracy = accuracy_of(model, test_images, test_labels)
        report.epoch(number, accuracy)
    report.finish(accuracy)


if __name__ == "__main__":
    main()
