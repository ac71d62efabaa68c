"""The Mandelbrot set: how many turns each point takes to escape."""

from __future__ import annotations

import lazyloom_numpy as np


def mandelbrot(width, height, turns):
    """Turns until |z| > 2 for each point of the plane; int64 [height, width]."""
    x = np.linspace(-2.2, 0.8, width)
    y = np.linspace(-1.2, 1.2, height)
    c = x + 1j * y[:, None]
    z = np.zeros_like(c)
    count = np.zeros(c.shape, dtype=np.int64)
    for _ in range(turns):
        inside = np.abs(z) <= 2
        z = np.where(inside, z * z + c, z)
        count += inside
    return count


def draw(figure, width=480, height=384, turns=60):
    """Into a figure of matplotlib's."""
    axes = figure.add_axes((0, 0, 1, 1))
    axes.imshow(mandelbrot(width, height, turns) ** 0.5, cmap="twilight_shifted", origin="lower")
    axes.axis("off")
