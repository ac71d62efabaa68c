"""Heat in a plate, one of whose edges is hot: Jacobi's method, in place."""

from __future__ import annotations

import lazyloom_numpy as np


def plate(points, sweeps):
    """Temperatures of a plate with a hot upper edge; float64 [points, points]."""
    u = np.zeros((points, points))
    u[0] = np.sin(np.linspace(0, np.pi, points))
    for _ in range(sweeps):
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    return u


def draw(figure, points=64, sweeps=2000):
    """Into a figure of matplotlib's."""
    axes = figure.add_subplot()
    filled = axes.contourf(plate(points, sweeps)[::-1], levels=12, cmap="inferno")
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    figure.colorbar(filled, label="temperature")
