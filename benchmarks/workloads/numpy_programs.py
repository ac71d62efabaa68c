"""Programs written for NumPy, run by NumPy, by our NumPy-like frontend and by jax.jit.

Each program is one function of the module ``np`` and its arrays, and every contender runs the
same text. Data is float64, as NumPy programs have it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from suite import Case, Contender, Limit, Turn, Workload

Arrays = tuple[Any, ...]
DAYS, SWEEPS, ROUNDS, ITERATIONS, CLUSTERS = 10, 20, 5, 30, 8


def black_scholes(np: Any, spot: Any, strike: Any, years: Any) -> Arrays:
    """Prices of European calls and puts; the normal distribution by A&S 26.2.17."""
    rate, volatility = 0.03, 0.2

    def normal(x: Any) -> Any:
        k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
        series = k * (0.319381530 + k * (-0.356563782 + k * (
            1.781477937 + k * (-1.821255978 + k * 1.330274429))))  # fmt: skip
        tail = 0.3989422804014327 * np.exp(-0.5 * x * x) * series
        return np.where(x >= 0, 1.0 - tail, tail)

    deviation = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / deviation
    d2 = d1 - deviation
    discounted = strike * np.exp(-rate * years)
    call = spot * normal(d1) - discounted * normal(d2)
    return call, call - spot + discounted


def n_body(np: Any, place: Any, speed: Any, mass: Any) -> Arrays:
    """Leapfrog steps of bodies that attract each other, all pairs."""
    step = 0.001
    for _ in range(DAYS):
        away = place[None, :, :] - place[:, None, :]
        distance2 = (away * away).sum(axis=2) + 0.01
        pull = mass[None, :] / (distance2 * np.sqrt(distance2))
        speed = speed + step * (pull[:, :, None] * away).sum(axis=1)
        place = place + step * speed
    return place, speed


def jacobi(np: Any, grid: Any) -> Arrays:
    """Sweeps of the five-point stencil over the inside of a grid."""
    for _ in range(SWEEPS):
        inside = 0.25 * (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])
        middle = np.concatenate([grid[1:-1, :1], inside, grid[1:-1, -1:]], axis=1)
        grid = np.concatenate([grid[:1], middle, grid[-1:]], axis=0)
    return (grid,)


def k_means(np: Any, points: Any, centres: Any) -> Arrays:
    """Lloyd's rounds with squared distances in the plane."""
    numbers = np.arange(CLUSTERS)
    for _ in range(ROUNDS):
        away = points[:, None, :] - centres[None, :, :]
        nearest = (away * away).sum(axis=2).argmin(axis=1)
        member = (nearest[:, None] == numbers[None, :]).astype(points.dtype)
        centres = (member.T @ points) / np.maximum(member.sum(axis=0), 1.0)[:, None]
    return centres, nearest


def mandelbrot(np: Any, c: Any) -> Arrays:
    """How many iterations each point of a complex grid stays within two of the origin."""
    z = np.zeros_like(c)
    count = np.zeros(c.shape, dtype=np.int32)
    for _ in range(ITERATIONS):
        inside = (z.real * z.real + z.imag * z.imag) <= 4.0
        z = np.where(inside, z * z + c, z)
        count = count + inside
    return (count,)


def arrays_of(program: str, size: int) -> Arrays:
    """Host arrays with about that many elements in the program's largest temporaries."""
    random = numpy.random.default_rng(0)
    side = round(size**0.5)
    if program == "black_scholes":
        return tuple(random.uniform(low, high, size) for low, high in ((10, 50), (10, 50), (1, 2)))
    if program == "n_body":
        return (random.uniform(-1, 1, (side, 3)), random.uniform(-0.1, 0.1, (side, 3)),
                random.uniform(0.1, 1, side))  # fmt: skip
    if program == "jacobi":
        return (random.uniform(0, 1, (side, side)),)
    if program == "k_means":
        points = random.standard_normal((max(CLUSTERS, size // CLUSTERS), 2))
        return points, points[:CLUSTERS].copy()
    real, imaginary = numpy.linspace(-2, 0.6, side), numpy.linspace(-1.2, 1.2, side)
    return (real[None, :] + 1j * imaginary[:, None],)


PROGRAMS: dict[str, tuple[str, Callable[..., Arrays]]] = {
    "black_scholes": ("Black-Scholes", black_scholes),
    "n_body": ("n-body", n_body),
    "jacobi": ("Jacobi stencil", jacobi),
    "k_means": ("k-means", k_means),
    "mandelbrot": ("Mandelbrot", mandelbrot),
}


def numpy_itself(program: str, size: int) -> Turn:
    run, arrays = PROGRAMS[program][1], arrays_of(program, size)

    def turn(units: int) -> None:
        for _ in range(units):
            turn.results = run(numpy, *arrays)  # type: ignore[attr-defined]

    return turn


def lazyloom_numpy(program: str, size: int) -> Turn:
    import lazyloom
    import lazyloom_numpy as np

    run = PROGRAMS[program][1]
    arrays = [np.array(a) for a in arrays_of(program, size)]

    def turn(units: int) -> None:
        for _ in range(units):
            results = run(np, *arrays)
            lazyloom.sync(*results, wait=True)
            turn.results = results  # type: ignore[attr-defined]

    return turn


def jax_jit(program: str, size: int) -> Turn:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    run = PROGRAMS[program][1]
    compiled = jax.jit(lambda *arrays: run(jnp, *arrays))
    arrays = [jnp.asarray(a) for a in arrays_of(program, size)]

    def turn(units: int) -> None:
        for _ in range(units):
            results = jax.block_until_ready(compiled(*arrays))
            turn.results = results  # type: ignore[attr-defined]

    return turn


OURS = "lazyloom, NumPy-like"
SIZES = (1_000, 100_000, 1_000_000)

WORKLOAD = Workload(
    name="numpy_programs",
    title="NumPy-style programs",
    about=(
        f"The same text for every module: Black-Scholes prices, {DAYS} steps of n-body, {SWEEPS} "
        f"Jacobi sweeps, {ROUNDS} rounds of k-means with {CLUSTERS} centres, {ITERATIONS} "
        "iterations of Mandelbrot's map; float64 (Mandelbrot complex128), inputs in place "
        "beforehand, until all results are computed. The size is about that of the largest "
        "temporaries. Lazyloom records the program anew every time; jax.jit has traced it once."
    ),
    cases=[
        Case(f"{title}, {size:,}", {"program": name, "size": size}, warm=2, rounds=15, budget=5,
             seconds=0.02, per="run", quick=size == 1_000 and name == "black_scholes")
        for name, (title, _) in PROGRAMS.items() for size in SIZES
    ],
    contenders=[
        Contender(OURS, "lazyloom", lazyloom_numpy),
        Contender("NumPy", "numpy", numpy_itself),
        Contender("jax.jit", "jax", jax_jit),
    ],
    base=OURS,
    columns=len(SIZES),
    limits=[
        Limit("NumPy-style program beside NumPy",
              [f"{title}, {size:,}" for title, _ in PROGRAMS.values() for size in SIZES[1:]],
              [OURS], 1.0, ["NumPy"]),
    ],
)  # fmt: skip
