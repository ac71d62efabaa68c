"""Bayesian linear regression by variational inference, beside the posterior in closed form."""

from __future__ import annotations

import reproducible

import lazyloom_torch as torch

nn = torch.nn
dist = torch.distributions

NOISE = 0.3


def data(count: int = 80):
    """Inputs [count, 3] (the last is one) and outputs [count]."""
    random = reproducible.generator(10)
    x = reproducible.normal(random, count, 3)
    x[:, 2] = 1.0
    w = torch.tensor([1.5, -0.7, 0.4])
    return x, x @ w + NOISE * reproducible.normal(random, count)


def closed_form(x, y):
    """Mean and standard deviations of the posterior for a standard normal prior."""
    precision = torch.eye(3) + x.t() @ x / NOISE**2
    mean = torch.linalg.solve(precision, x.t() @ y / NOISE**2)
    return mean, torch.linalg.inv(precision).diagonal().sqrt()


class Posterior(nn.Module):
    """Independent normal distributions of the weights."""

    def __init__(self, size):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(size))
        self.log_scale = nn.Parameter(torch.full((size,), -1.0))

    def forward(self):
        return dist.Independent(dist.Normal(self.loc, self.log_scale.exp()), 1)


def run(steps: int = 400, samples: int = 16, seed: int = 0):
    torch.manual_seed(seed)
    x, y = data()
    posterior = Posterior(3)
    prior = dist.Independent(dist.Normal(torch.zeros(3), torch.ones(3)), 1)
    optimizer = torch.optim.Adam(posterior.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    bounds = []
    for _ in range(steps):
        q = posterior()
        weights = q.rsample((samples,))
        likelihood = dist.Normal(weights @ x.t(), NOISE).log_prob(y).sum(dim=-1).mean()
        loss = dist.kl_divergence(q, prior) - likelihood
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        bounds.append(-loss.item())
    mean, spread = closed_form(x, y)
    with torch.no_grad():
        q = posterior()
        drawn = q.sample((2000,))
        predicted = dist.Normal(drawn @ x[:5].t(), NOISE).sample()
        kl = dist.kl_divergence(q, dist.Independent(dist.Normal(mean, spread), 1))
    return {
        "closed mean": mean.numpy(), "closed spread": spread.numpy(),
        "mean": posterior.loc.detach().numpy(),
        "spread": posterior.log_scale.detach().exp().numpy(),
        "predicted": predicted.mean(dim=0).numpy(), "divergence": kl.item(), "bounds": bounds,
    }


if __name__ == "__main__":
    found = run()
    for name in ("closed mean", "mean", "closed spread", "spread"):
        print(f"{name:14}", "  ".join(f"{v:8.4f}" for v in found[name]))
