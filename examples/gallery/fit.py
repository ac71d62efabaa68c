"""A curve through noisy points: the method of Gauss and Newton with a Jacobian by lazyloom."""

from __future__ import annotations

import lazyloom
import lazyloom_numpy as np


def swing(parameters, t):
    """A damped oscillation; float64 [n], as the times t."""
    size, decay, frequency, phase = parameters
    return size * np.exp(-decay * t) * np.cos(frequency * t + phase)


def fit(t, measured, guess, turns=12):
    """The parameters with the least squares, and the sum of squares at each turn."""
    parameters = np.asarray(guess)
    squares = []
    for _ in range(turns):
        slopes = lazyloom.jacobian(swing)(parameters, t)
        error = measured - swing(parameters, t)
        squares.append(np.sum(error ** 2))
        parameters = parameters + np.linalg.lstsq(slopes, error)[0]
    return parameters, squares


def measurements(count=60, seed=1):
    """Times, and a swing of size 2 with noise at each."""
    t = np.linspace(0, 6, count)
    noise = np.random.default_rng(seed).normal(0, 0.15, count)
    return t, swing((2.0, 0.4, 3.0, 0.5), t) + noise


GUESS = [1.5, 0.2, 2.8, 0.0]


def draw(figure):
    """Into a figure of matplotlib's."""
    t, measured = measurements()
    found, _ = fit(t, measured, GUESS)
    fine = np.linspace(0, 6, 300)
    axes = figure.add_subplot()
    axes.plot(t, measured, ".", color="#666666", label="measured")
    axes.plot(fine, swing(GUESS, fine), ":", color="#999999", label="first guess")
    axes.plot(fine, swing(found, fine), color="#1f5fa8", label="fitted")
    axes.set_xlabel("time")
    axes.legend(fontsize=9)
