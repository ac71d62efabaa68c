"""Reinforcement learning (Williams, "Simple statistical gradient-following algorithms", 1992).

A policy balances a pole on a cart. The physics and the choice of actions run on the host, so
that the control flow of every episode depends on what the network says.
"""

from __future__ import annotations

import math

import reproducible

import lazyloom_torch as torch

nn, F = torch.nn, torch.nn.functional


class CartPole:
    """The cart and pole of Barto, Sutton and Anderson, 1983: four numbers, two actions."""

    GRAVITY, CART, POLE, HALF, FORCE, TAU = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02

    def __init__(self, random):
        self.random = random

    def reset(self):
        self.state = self.random.uniform(-0.05, 0.05, 4).tolist()
        return self.state

    def step(self, action: int):
        """The next state, and whether the pole has fallen or the cart has left the track."""
        x, v, angle, turn = self.state
        force = self.FORCE if action == 1 else -self.FORCE
        total = self.CART + self.POLE
        sin, cos = math.sin(angle), math.cos(angle)
        push = (force + self.POLE * self.HALF * turn**2 * sin) / total
        swing = (self.GRAVITY * sin - cos * push) / (
            self.HALF * (4.0 / 3.0 - self.POLE * cos**2 / total))
        slide = push - self.POLE * self.HALF * swing * cos / total
        x, v = x + self.TAU * v, v + self.TAU * slide
        angle, turn = angle + self.TAU * turn, turn + self.TAU * swing
        self.state = [x, v, angle, turn]
        return self.state, abs(x) > 2.4 or abs(angle) > 12 * math.pi / 180


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 32)
        self.affine2 = nn.Linear(32, 2)

    def forward(self, x):
        return F.softmax(self.affine2(torch.tanh(self.affine1(x))), dim=-1)


def play(env, policy, random, longest: int):
    """One episode: the logarithms of the probabilities of what was done, and the rewards."""
    state = env.reset()
    saved, rewards = [], []
    for _ in range(longest):
        distribution = torch.distributions.Categorical(policy(torch.tensor(state)))
        # drawn by the host's generator, so that two runs do the same
        action = int(random.random() < distribution.probs[1].item())
        saved.append(distribution.log_prob(torch.tensor(action)))
        state, fallen = env.step(action)
        rewards.append(1.0)
        if fallen:
            break
    return saved, rewards


def returns_of(rewards, gamma: float = 0.99):
    found, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + gamma * total
        found.insert(0, total)
    found = torch.tensor(found)
    return (found - found.mean()) / (found.std() + 1e-6)


def run(episodes: int = 40, longest: int = 60):
    random = reproducible.generator(8)
    env, policy = CartPole(random), reproducible.initialise(Policy(), random)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    lengths, losses = [], []
    for _ in range(episodes):
        saved, rewards = play(env, policy, random, longest)
        returns = returns_of(rewards)
        loss = torch.stack([-p * r for p, r in zip(saved, returns)]).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lengths.append(len(rewards))
        losses.append(loss.item())
    return {"lengths": lengths, "losses": losses}


if __name__ == "__main__":
    found = run(episodes=200, longest=200)
    print(f"mean length of the first ten episodes {sum(found['lengths'][:10]) / 10:.1f}, "
          f"of the last ten {sum(found['lengths'][-10:]) / 10:.1f}")
