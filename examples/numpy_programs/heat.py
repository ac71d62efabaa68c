"""Heat in a periodic plate with a pulsating source, solved in Fourier space.

    du/dt = k (d2u/dx2 + d2u/dy2) + q(x, y) cos(w t)

Each Fourier mode is an ordinary differential equation of its own, which an exponential
integrator of second order (ETD2RK) solves; a solver by finite differences runs beside it as a
check, and so do the conserved total and the decay of a single mode, known exactly.

    python heat.py [points per side] [steps]
"""

import sys

import numpy as np

LENGTH = 2.0 * np.pi
DIFFUSIVITY = 0.05
FREQUENCY = 3.0


def grid(n):
    """Coordinates of an n by n periodic grid, and its spacing."""
    axis = np.arange(n) * (LENGTH / n)
    x, y = np.meshgrid(axis, axis, indexing="ij")
    return x, y, LENGTH / n


def start(x, y):
    """A warm disc and a cold bar."""
    u = np.zeros_like(x)
    u[(x - 2.0) ** 2 + (y - 2.0) ** 2 < 0.8] = 1.0
    u[:, y[0] > 5.5] -= 0.25
    return u


def source(x, y):
    """Two spots, one heating while the other cools, so that no heat is added in total."""
    spots = np.exp(-8.0 * ((x - 4.5) ** 2 + (y - 1.5) ** 2))
    spots -= np.exp(-8.0 * ((x - 1.5) ** 2 + (y - 4.5) ** 2))
    return spots - spots.mean()


def laplacian_symbol(n):
    """What the Laplace operator multiplies each mode of a real transform with."""
    kx = np.fft.fftfreq(n, d=1.0 / n)[:, np.newaxis]
    ky = np.fft.rfftfreq(n, d=1.0 / n)[np.newaxis, :]
    return -(kx**2 + ky**2)


def exponentials(rates, dt):
    """exp(z), (exp(z) - 1) / z and (exp(z) - 1 - z) / z^2 for z = rates dt, safe at zero."""
    z = rates * dt
    small = np.abs(z) < 1e-4
    safe = np.where(small, 1.0, z)
    decay = np.exp(z)
    first = np.where(small, 1.0 + z / 2.0 + z * z / 6.0, np.expm1(safe) / safe)
    second = np.where(small, 0.5 + z / 6.0, (np.expm1(safe) - safe) / safe**2)
    return decay, dt * first, dt * second


def solve_spectral(u, q, dt, steps):
    """The field after some steps of the exponential integrator, and the total at each step."""
    n = u.shape[0]
    modes = np.fft.rfft2(u)
    forcing = np.fft.rfft2(q)
    decay, first, second = exponentials(DIFFUSIVITY * laplacian_symbol(n), dt)
    totals = []
    for step in range(steps):
        now = np.cos(FREQUENCY * step * dt)
        then = np.cos(FREQUENCY * (step + 1) * dt)
        modes = decay * modes + first * (now * forcing) + second * ((then - now) * forcing)
        totals.append(modes[0, 0].real)
    return np.fft.irfft2(modes, s=u.shape), np.array(totals) / u.size


def solve_differences(u, q, spacing, dt, steps):
    """The same by the five-point stencil and many small explicit steps, in place."""
    inner = 1 + int(4.0 * DIFFUSIVITY * dt / spacing**2)
    h = dt / inner
    u = u.copy()
    for step in range(steps * inner):
        ring = np.pad(u, 1, mode="wrap")
        change = ring[:-2, 1:-1] + ring[2:, 1:-1] + ring[1:-1, :-2] + ring[1:-1, 2:] - 4.0 * u
        u += h * (DIFFUSIVITY / spacing**2 * change + np.cos(FREQUENCY * (step + 0.5) * h) * q)
    return u


def single_mode_error(n, dt, steps):
    """How far one decaying cosine is from exp(-k |m|^2 t), its exact amplitude."""
    x, y, _ = grid(n)
    wave = np.cos(3.0 * x) * np.cos(2.0 * y)
    found, _ = solve_spectral(wave, np.zeros_like(wave), dt, steps)
    exact = np.exp(-DIFFUSIVITY * 13.0 * dt * steps) * wave
    return np.max(np.abs(found - exact))


def run(n=64, steps=40):
    """All results of the program, by name."""
    dt = 0.02
    x, y, spacing = grid(n)
    u, q = start(x, y), source(x, y)
    spectral, totals = solve_spectral(u, q, dt, steps)
    differences = solve_differences(u, q, spacing, dt, steps)
    profile = spectral[n // 3]
    return {
        "field": spectral,
        "totals": totals,
        "drift": np.ptp(totals),
        "difference": np.linalg.norm(spectral - differences) / np.linalg.norm(differences),
        "single mode": single_mode_error(n, dt, steps),
        "hottest": np.unravel_index(np.argmax(spectral), spectral.shape),
        "spectrum": np.abs(np.fft.rfft(profile)) / n,
    }


if __name__ == "__main__":
    n, steps = (int(a) for a in (sys.argv[1:] + ["64", "40"][len(sys.argv) - 1 :]))
    found = run(n, steps)
    print(f"hottest point {tuple(int(i) for i in found['hottest'])} of {n} x {n}")
    print(f"mean temperature drifts by {found['drift']:.1e}")
    print(f"one decaying mode is off by {found['single mode']:.1e}")
    print(f"finite differences differ by {100 * found['difference']:.2f} %")
    print("strongest waves of one row:", np.argsort(found["spectrum"])[::-1][:4])
