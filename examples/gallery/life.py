"""Conway's game of life on a torus."""

from __future__ import annotations

import lazyloom_numpy as np


def generation(cells):
    """The next generation; bool [height, width], as the one before."""
    around = sum(np.roll(cells, (dy, dx), axis=(0, 1)).astype(np.int64)
                 for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0))
    return (around == 3) | (cells & (around == 2))


def life(size, generations, seed=3):
    """Random cells after some generations; bool [size, size]."""
    cells = np.random.default_rng(seed).random((size, size)) < 0.3
    for _ in range(generations):
        cells = generation(cells)
    return cells


def draw(figure, size=80, generations=(0, 20, 150)):
    """Into a figure of matplotlib's."""
    for axes, count in zip(figure.subplots(1, len(generations)), generations):
        axes.imshow(life(size, count), cmap="Greens", interpolation="nearest")
        axes.set_title(f"generation {count}", fontsize=9)
        axes.axis("off")
