"""Regression: a polynomial fitted by hand-written steps, then a small network with Adam."""

from __future__ import annotations

import math

import reproducible

import lazyloom_torch as torch

nn = torch.nn


def polynomial(steps: int):
    """The coefficients of a polynomial of third degree that follows a sine, and the losses."""
    x = torch.linspace(-math.pi, math.pi, 200)
    y = torch.sin(x)
    powers = x.unsqueeze(-1).pow(torch.tensor([0, 1, 2, 3]))
    scale = powers.abs().max(dim=0).values
    w = torch.zeros(4, requires_grad=True)
    losses = []
    for _ in range(steps):
        loss = ((powers / scale) @ w - y).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.5 * w.grad
            w.grad = None
        losses.append(loss.item())
    return (w / scale).detach(), losses


def network(steps: int):
    """A network that follows a noisy function of two numbers: losses, and what it says."""
    random = reproducible.generator(2)
    x = 2.0 * torch.from_numpy(random.random((256, 2), "f4")) - 1.0
    y = torch.sin(3.0 * x[:, :1]) * x[:, 1:] + 0.05 * reproducible.normal(random, 256, 1)
    model = reproducible.initialise(
        nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)),
        random)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    grid = torch.stack(torch.meshgrid(
        torch.linspace(-1, 1, 5), torch.linspace(-1, 1, 5), indexing="ij"), dim=-1)
    with torch.no_grad():
        said = model(grid.reshape(-1, 2)).reshape(5, 5)
    return said, losses


def run(steps: int = 300):
    coefficients, first = polynomial(steps)
    said, second = network(steps)
    return {"coefficients": coefficients.numpy(), "polynomial": first, "network": second,
            "said": said.numpy()}


if __name__ == "__main__":
    found = run()
    a, b, c, d = found["coefficients"]
    print(f"y = {a:.3f} + {b:.3f} x + {c:.3f} x^2 + {d:.3f} x^3")
    print(f"losses {found['polynomial'][-1]:.4f} and {found['network'][-1]:.5f}")
