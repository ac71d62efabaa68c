"""Two spirals, told apart by a small network."""

from __future__ import annotations

import math

import lazyloom_torch as torch
from lazyloom_torch import nn


def spirals(count):
    """Points of two spirals, float32 [2 * count, 2], and which spiral each is on, int64."""
    angle = torch.linspace(0.5, 3 * math.pi, count)
    one = torch.stack([angle * angle.cos(), angle * angle.sin()], dim=1) / 10
    points = torch.cat([one, -one]) + 0.01 * torch.randn(2 * count, 2)
    return points, torch.arange(2).repeat_interleave(count)


def train(points, labels, steps):
    """A network that gives the score of either spiral for points, float32 [n, 2]."""
    model = nn.Sequential(
        nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(points), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


@torch.no_grad()
def surface(model, points_a_side):
    """The probability of the second spiral on a grid over -1.1 .. 1.1; float32 [n, n]."""
    axis = torch.linspace(-1.1, 1.1, points_a_side)
    y, x = torch.meshgrid(axis, axis, indexing="ij")
    grid = torch.stack([x.flatten(), y.flatten()], dim=1)
    return model(grid).softmax(dim=1)[:, 1].reshape(points_a_side, points_a_side)


def draw(figure, count=100, steps=600, points_a_side=150):
    """Into a figure of matplotlib's."""
    torch.manual_seed(0)
    points, labels = spirals(count)
    probability = surface(train(points, labels, steps), points_a_side).numpy()
    axes = figure.add_subplot()
    axes.imshow(probability, extent=(-1.1, 1.1, -1.1, 1.1), origin="lower", cmap="RdBu", alpha=0.6)
    axes.scatter(*points.numpy().T, c=labels.numpy(), cmap="RdBu", s=9, edgecolors="#333333",
                 linewidths=0.4)
    axes.set_xticks([])
    axes.set_yticks([])
