"""REINFORCE with a baseline (Williams, 1992): a cart that keeps a pole upright, episode by episode.

The dynamics run on the host between any two calls of the policy. A pole that falls costs a reward
and is put up again, and an episode's length is drawn beforehand: so both libraries do the same
work, whichever actions their own generators draw.
"""

from __future__ import annotations

import math
import random
from typing import Any

from .progress import Progress
from .weights import initialise

KIND = "torch"
SIZES: dict[str, dict[str, Any]] = {
    # draws by the host's generator, so that losses can be compared
    "small": {"episodes": 4, "shortest": 3, "longest": 8, "hidden": 8, "epochs": 2,
              "draws": "host"},
    "full": {"episodes": 200, "shortest": 10, "longest": 80, "hidden": 64, "epochs": 2,
             "draws": "library"},
}  # fmt: skip


class Cart:
    """A pole on a cart (Barto, Sutton and Anderson, 1983), in steps of 20 ms by Euler's rule.

    The state is position, velocity, the pole's angle from upright and its rate, in m, s and rad.
    """

    gravity, cart, pole, half_length, force, seconds = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice

    def upright(self) -> list[float]:
        """Near rest, near the middle."""
        self.state = [self.dice.uniform(-0.05, 0.05) for _ in range(4)]
        return self.state

    def push(self, right: bool) -> tuple[list[float], float]:
        """The state after a push to one side, and the reward."""
        place, speed, angle, rate = self.state
        mass = self.cart + self.pole
        moment = self.pole * self.half_length
        force = self.force if right else -self.force
        pressed = (force + moment * rate * rate * math.sin(angle)) / mass
        lever = self.half_length * (4 / 3 - self.pole * math.cos(angle) ** 2 / mass)
        turning = (self.gravity * math.sin(angle) - math.cos(angle) * pressed) / lever
        sliding = pressed - moment * turning * math.cos(angle) / mass
        self.state = [place + self.seconds * speed, speed + self.seconds * sliding,
                      angle + self.seconds * rate, rate + self.seconds * turning]  # fmt: skip
        if abs(self.state[0]) > 2.4 or abs(self.state[2]) > math.radians(12):
            return self.upright(), -1.0
        return self.state, 0.1


def policy_of(torch: Any, hidden: int) -> Any:
    nn = torch.nn
    return initialise(torch, nn.Sequential(
        nn.Linear(4, hidden), nn.ReLU(), nn.Linear(hidden, 2)), 3)  # fmt: skip


def run(torch: Any, progress: Progress, episodes: int, shortest: int, longest: int, hidden: int,
        epochs: int, draws: str) -> None:  # fmt: skip
    """Play and learn; the loss is read after every episode."""
    Categorical = torch.distributions.Categorical
    dice = random.Random(13)
    lengths = [dice.randint(shortest, longest) for _ in range(episodes)]
    cart = Cart(dice)
    policy = policy_of(torch, hidden)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    torch.manual_seed(0)
    baseline = 0.0
    progress.begin()
    for epoch in range(epochs):
        if epoch:
            progress.next_epoch()
        for length in lengths:
            state = cart.upright()
            log_probs, rewards = [], []
            for _ in range(length):
                chances = Categorical(logits=policy(torch.tensor(state)))
                if draws == "library":
                    action = chances.sample()
                else:
                    action = torch.tensor(int(dice.random() < chances.probs[1].item()))
                log_probs.append(chances.log_prob(action))
                state, reward = cart.push(bool(action.item()))
                rewards.append(reward)
            total, returns = 0.0, []
            for reward in reversed(rewards):
                total = reward + 0.97 * total
                returns.append(total)
            returns.reverse()
            advantages = torch.tensor(returns) - baseline
            baseline += 0.05 * (sum(returns) / length - baseline)
            loss = -(torch.stack(log_probs) * advantages).sum() / length
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            progress.sample(loss.item())
