"""A bootstrap particle filter (Gordon, Salmond and Smith, 1993) for their growth model.

Particles are resampled systematically where the effective number of them is below half: a branch
of the host on what was computed, at every step.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from .progress import Progress

KIND = "numpy"
SIZES: dict[str, dict[str, Any]] = {
    # draws by the host's generator, so that results can be compared
    "small": {"particles": 10, "steps": 5, "runs": 2, "draws": "host"},
    "full": {"particles": 100, "steps": 200, "runs": 3, "draws": "library"},
}
START, PROCESS, NOISE = 2.0, math.sqrt(10.0), 1.0


def measured(steps: int, seed: int) -> Any:
    """What is seen of a state that moves by the model, [steps]."""
    random = numpy.random.default_rng(seed)
    x, found = START * random.standard_normal(), []
    for k in range(steps):
        x = x / 2 + 25 * x / (1 + x * x) + 8 * math.cos(1.2 * k)
        x += PROCESS * random.standard_normal()
        found.append(x * x / 20 + NOISE * random.standard_normal())
    return found


def resampled(np: Any, particles: Any, weights: Any, offset: float) -> tuple[Any, Any]:
    """Particles drawn in proportion to their weights, and equal weights."""
    n = len(particles)
    positions = (np.arange(n) + offset) / n
    cumulative = np.cumsum(weights)
    cumulative[-1] = 1.0
    return particles[np.searchsorted(cumulative, positions)], np.ones(n) / n


def run(np: Any, progress: Progress, particles: int, steps: int, runs: int, draws: str) -> None:
    """Filter a track; each step's estimate is kept as a number of the host."""
    tracks = [measured(steps, 30 + r) for r in range(runs)]
    dice = numpy.random.default_rng(15)
    random = np.random.default_rng(15)

    def normal(count: int) -> Any:
        if draws == "library":
            return random.standard_normal(count)
        return np.array(dice.standard_normal(count))

    progress.begin()
    for r, track in enumerate(tracks):
        if r:
            progress.next_epoch()
        x = START * normal(particles)
        weights = np.ones(particles) / particles
        estimates, times = [], 0
        for k, seen in enumerate(track):
            x = x / 2 + 25 * x / (1 + x**2) + 8 * math.cos(1.2 * k) + PROCESS * normal(particles)
            error = seen - x**2 / 20
            weights = weights * np.exp(-0.5 * (error / NOISE) ** 2) + 1e-300
            weights = weights / np.sum(weights)
            estimates.append(float(np.sum(weights * x)))
            if 1.0 / np.sum(weights**2) < particles / 2:
                x, weights = resampled(np, x, weights, dice.random())
                times += 1
        progress.sample([numpy.mean(estimates), estimates[-1], times])
