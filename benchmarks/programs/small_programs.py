"""Small programs as people write them for NumPy: life, Mandelbrot's set, smoke, a ray tracer.

Arrays have a few hundred to a few thousand elements, so that most of the time is what a call costs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from .progress import Progress

KIND = "numpy"
SIZES: dict[str, dict[str, Any]] = {
    "small": {"name": "smoke", "runs": 2, "tiny": 1},
    "full": {"name": "life", "runs": 3, "tiny": 0},
}
Results = dict[str, Any]


def life(np: Any, side: int, generations: int) -> Results:
    """Conway's rules on a torus; the population of every generation is kept, and not read."""
    cells = np.array(numpy.random.default_rng(40).random((side, side)) < 0.3)
    populations = []
    for _ in range(generations):
        alive = cells.astype(int)
        rows = np.roll(alive, 1, axis=0) + alive + np.roll(alive, -1, axis=0)
        around = np.roll(rows, 1, axis=1) + rows + np.roll(rows, -1, axis=1) - alive
        cells = (around == 3) | (cells & (around == 2))
        populations.append(cells.sum())
    return {"cells": cells, "populations": np.stack(populations)}


def mandelbrot(np: Any, width: int, height: int, iterations: int) -> Results:
    """How many iterations each point stays within two of the origin; only these are computed."""
    x, y = np.linspace(-2.0, 0.6, width), np.linspace(-1.2, 1.2, height)
    c = x[np.newaxis, :] + 1j * y[:, np.newaxis]
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, dtype=int)
    inside = np.ones(c.shape, dtype=bool)
    for _ in range(iterations):
        z[inside] = z[inside] ** 2 + c[inside]
        inside = inside & (np.abs(z) <= 2.0)
        if not inside.any():
            break
        counts[inside] += 1
    return {"counts": counts}


def walled(field: Any, across: float, along: float) -> Any:
    """Fill the rim of a field from the cells beside it, times a factor for each pair of walls."""
    field[0, :], field[-1, :] = across * field[1, :], across * field[-2, :]
    field[:, 0], field[:, -1] = along * field[:, 1], along * field[:, -2]
    field[0, 0] = 0.5 * (field[0, 1] + field[1, 0])
    field[0, -1] = 0.5 * (field[0, -2] + field[1, -1])
    field[-1, 0] = 0.5 * (field[-2, 0] + field[-1, 1])
    field[-1, -1] = 0.5 * (field[-2, -1] + field[-1, -2])
    return field


def carried(np: Any, field: Any, u: Any, v: Any, step: float) -> Any:
    """What each inner cell holds after a step: what was where the flow comes from, bilinear."""
    rows, columns = field.shape
    row, column = np.meshgrid(np.arange(1, rows - 1), np.arange(1, columns - 1), indexing="ij")
    from_row = np.clip(row - step * u[1:-1, 1:-1], 0.5, rows - 1.5)
    from_column = np.clip(column - step * v[1:-1, 1:-1], 0.5, columns - 1.5)
    r, c = np.floor(from_row).astype(int), np.floor(from_column).astype(int)
    down, right = from_row - r, from_column - c
    upper = (1.0 - right) * field[r, c] + right * field[r, c + 1]
    lower = (1.0 - right) * field[r + 1, c] + right * field[r + 1, c + 1]
    found = np.zeros_like(field)
    found[1:-1, 1:-1] = (1.0 - down) * upper + down * lower
    return found


def without_divergence(np: Any, u: Any, v: Any, sweeps: int) -> tuple[Any, Any]:
    """The flow less the gradient of a pressure that some Jacobi sweeps find."""
    divergence = 0.5 * (u[2:, 1:-1] - u[:-2, 1:-1] + v[1:-1, 2:] - v[1:-1, :-2])
    pressure = np.zeros_like(u)
    for _ in range(sweeps):
        pressure[1:-1, 1:-1] = 0.25 * (
            pressure[2:, 1:-1] + pressure[:-2, 1:-1] + pressure[1:-1, 2:] + pressure[1:-1, :-2]
            - divergence)  # fmt: skip
        walled(pressure, 1.0, 1.0)
    u[1:-1, 1:-1] -= 0.5 * (pressure[2:, 1:-1] - pressure[:-2, 1:-1])
    v[1:-1, 1:-1] -= 0.5 * (pressure[1:-1, 2:] - pressure[1:-1, :-2])
    return walled(u, -1.0, 1.0), walled(v, 1.0, -1.0)


def smoke(np: Any, side: int, steps: int, sweeps: int) -> Results:
    """Smoke that rises from a source in a box: a semi-Lagrangian solver, its walls by slices."""
    step, lift = 0.5, 1.0
    u, v, density = (np.zeros((side + 2, side + 2)) for _ in range(3))
    middle, half = side // 2, max(1, side // 10)
    amounts = []
    for _ in range(steps):
        density[-half - 2 : -1, middle - half : middle + half + 1] = 1.0
        u[1:-1, 1:-1] -= step * lift * density[1:-1, 1:-1]
        u, v = without_divergence(np, u, v, sweeps)
        moved = walled(carried(np, u, u, v, step), -1.0, 1.0)
        v = walled(carried(np, v, u, v, step), 1.0, -1.0)
        density = walled(carried(np, density, u, v, step), 1.0, 1.0)
        u, v = without_divergence(np, moved, v, sweeps)
        amounts.append(density.sum())
    return {"density": density, "amounts": np.array(amounts), "rise": -u}


#: centre, radius, colour and how much each ball mirrors
BALLS = (
    ((0.0, 0.0, 3.0), 1.0, (0.9, 0.2, 0.2), 0.3),
    ((-1.6, 0.3, 4.0), 0.8, (0.2, 0.8, 0.3), 0.1),
    ((1.5, -0.4, 2.4), 0.6, (0.3, 0.3, 0.9), 0.5),
    ((0.0, -101.0, 3.0), 100.0, (0.7, 0.7, 0.6), 0.0),
)
LIGHT = (4.0, 6.0, -2.0)
FAR = 1e20


def distance(np: Any, start: Any, way: Any, centre: Any, radius: float) -> Any:
    """How far along each ray of unit length a ball is; FAR where it is missed."""
    away = start - centre
    b = np.sum(away * way, axis=1)
    inner = b * b - np.sum(away * away, axis=1) + radius * radius
    root = np.sqrt(np.maximum(inner, 0.0))
    near = np.where(-b - root > 1e-4, -b - root, -b + root)
    return np.where((inner > 0.0) & (near > 1e-4), near, FAR)


def seen(np: Any, start: Any, way: Any, bounces: int) -> Any:
    """The colour of each ray, [rays, 3]."""
    light = np.array(LIGHT)
    balls = [(np.array(centre), radius) for centre, radius, _, _ in BALLS]
    reached = np.stack([distance(np, start, way, c, r) for c, r in balls])
    nearest = np.min(reached, axis=0)
    colour = np.zeros(way.shape)
    if not (nearest < FAR).any():
        return colour
    for k, (centre, radius) in enumerate(balls):
        hit = (reached[k] == nearest) & (nearest < FAR)
        point = start + nearest[:, None] * way
        normal = (point - centre) / radius
        to_light = light - point
        to_light = to_light / np.linalg.norm(to_light, axis=1, keepdims=True)
        outside = point + 1e-4 * normal
        shade = np.stack([distance(np, outside, to_light, c, r) for c, r in balls]).min(axis=0)
        lit = (shade >= FAR) * np.maximum(np.sum(normal * to_light, axis=1), 0.0)
        own = (0.1 + 0.9 * lit)[:, None] * np.array(BALLS[k][2])
        mirror = BALLS[k][3]
        if bounces and mirror:
            turned = way - 2.0 * np.sum(way * normal, axis=1)[:, None] * normal
            own = (1.0 - mirror) * own + mirror * seen(np, outside, turned, bounces - 1)
        colour = np.where(hit[:, None], own, colour)
    return colour


def ray_tracer(np: Any, width: int, height: int, bounces: int) -> Results:
    """A picture of four balls with shadows and mirrors; whether any is hit is asked at once."""
    x, y = np.meshgrid(np.linspace(-1.5, 1.5, width), np.linspace(1.0, -1.0, height))
    way = np.stack([x.ravel(), y.ravel(), np.full(width * height, 1.5)], axis=1)
    way /= np.linalg.norm(way, axis=1)[:, None]
    colours = seen(np, np.zeros(way.shape), way, bounces)
    return {"picture": np.clip(colours, 0.0, 1.0).reshape(height, width, 3)}


#: by name: the program, its arguments, and those of a test
PROGRAMS: dict[str, tuple[Callable[..., Results], dict[str, int], dict[str, int]]] = {
    "life": (life, {"side": 32, "generations": 50}, {"side": 8, "generations": 3}),
    "mandelbrot": (mandelbrot, {"width": 60, "height": 40, "iterations": 40},
                   {"width": 9, "height": 6, "iterations": 3}),
    "smoke": (smoke, {"side": 30, "steps": 20, "sweeps": 20},
              {"side": 8, "steps": 2, "sweeps": 2}),
    "ray_tracer": (ray_tracer, {"width": 48, "height": 32, "bounces": 1},
                   {"width": 6, "height": 4, "bounces": 1}),
}  # fmt: skip


def results(np: Any, name: str, tiny: bool = False) -> dict[str, numpy.ndarray[Any, Any]]:
    """Everything that a program computes, in host memory."""
    if name not in PROGRAMS:
        raise ValueError(f"name is {name!r}, expected one of {', '.join(PROGRAMS)}")
    program, arguments, few = PROGRAMS[name]
    found = program(np, **(few if tiny else arguments))
    return {key: numpy.asarray(value) for key, value in found.items()}


def run(np: Any, progress: Progress, name: str, runs: int, tiny: int) -> None:
    """Run the program from nothing until every result is in host memory."""
    progress.begin()
    for r in range(runs):
        if r:
            progress.next_epoch()
        found = results(np, name, bool(tiny))
        progress.sample([float(abs(value).mean()) for value in found.values()])
