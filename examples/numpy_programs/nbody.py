"""A small galaxy: bodies that attract each other, moved in place by velocity Verlet steps.

Positions, velocities and accelerations are three arrays that are updated in place for the whole
run. Energy, momentum and angular momentum are watched, bodies that leave the box are put to
rest at its wall, and the density of the disc is measured in rings at the end.

    python nbody.py [bodies] [steps]
"""

import math
import random
import sys

import numpy as np

SOFTENING = 0.05
BOX = 6.0
STEP = 0.002


def disc(bodies, dice):
    """Masses, positions and velocities of a heavy centre and bodies that circle it."""
    masses = np.empty(bodies)
    masses[0] = 1.0
    masses[1:] = 0.5 / bodies
    radius = np.array([0.0] + [0.4 + 1.6 * dice.random() for _ in range(bodies - 1)])
    angle = np.array([2.0 * math.pi * dice.random() for _ in range(bodies)])
    height = np.array([0.05 * dice.gauss(0.0, 1.0) for _ in range(bodies)])
    positions = np.stack([radius * np.cos(angle), radius * np.sin(angle), height], axis=1)
    positions[0] = 0.0
    speed = np.zeros(bodies)
    speed[1:] = np.sqrt((1.0 + 0.25 * radius[1:]) / radius[1:])
    velocities = np.column_stack([-speed * np.sin(angle), speed * np.cos(angle), 0.0 * speed])
    velocities -= np.average(velocities, axis=0, weights=masses)
    return masses, positions, velocities


def separations(positions):
    """All differences of positions, (n, n, 3), and softened squared distances, (n, n)."""
    away = positions[np.newaxis, :, :] - positions[:, np.newaxis, :]
    squares = np.sum(away**2, axis=-1)
    squares += SOFTENING**2
    return away, squares


def accelerate(positions, masses, out):
    """The acceleration of every body, written into ``out``."""
    away, squares = separations(positions)
    weights = masses / (squares * np.sqrt(squares))
    np.fill_diagonal(weights, 0.0)
    np.einsum("ij,ijk->ik", weights, away, out=out)
    return out


def energy(positions, velocities, masses):
    """Kinetic and potential energy."""
    kinetic = 0.5 * np.sum(masses * np.sum(velocities**2, axis=1))
    _, squares = separations(positions)
    pairs = np.outer(masses, masses) / np.sqrt(squares)
    rows, columns = np.triu_indices(len(masses), k=1)
    return kinetic, -pairs[rows, columns].sum()


def angular_momentum(positions, velocities, masses):
    """The sum of r x m v."""
    return np.sum(np.cross(positions, masses[:, None] * velocities), axis=0)


def keep_in_box(positions, velocities):
    """Bodies beyond the walls stop there; changes both arrays in place."""
    outside = np.abs(positions) > BOX
    np.clip(positions, -BOX, BOX, out=positions)
    velocities[outside] = 0.0


def advance(positions, velocities, accelerations, masses, steps):
    """Velocity Verlet, all in place; energies along the way."""
    energies = np.zeros((steps, 2))
    for step in range(steps):
        velocities += 0.5 * STEP * accelerations
        positions += STEP * velocities
        accelerate(positions, masses, accelerations)
        velocities += 0.5 * STEP * accelerations
        keep_in_box(positions, velocities)
        energies[step] = energy(positions, velocities, masses)
    return energies


def density(positions, masses, rings=8):
    """Mass per area in rings around the centre of mass."""
    centre = masses @ positions / masses.sum()
    radius = np.hypot(*(positions - centre)[:, :2].T)
    edges = np.linspace(0.0, 3.0, rings + 1)
    inside, _ = np.histogram(radius, bins=edges, weights=masses)
    return inside / (np.pi * np.diff(edges**2))


def run(bodies=64, steps=60):
    """All results of the program, by name."""
    masses, positions, velocities = disc(bodies, random.Random(11))
    accelerations = accelerate(positions, masses, np.empty_like(positions))
    before = angular_momentum(positions, velocities, masses)
    energies = advance(positions, velocities, accelerations, masses, steps)
    after = angular_momentum(positions, velocities, masses)
    total = energies.sum(axis=1)
    return {
        "positions": positions,
        "velocities": velocities,
        "energies": energies,
        "energy drift": np.abs(total / total[0] - 1.0).max(),
        "momentum": masses @ velocities,
        "spin drift": np.linalg.norm(after - before) / np.linalg.norm(before),
        "density": density(positions, masses),
        "farthest": np.argmax(np.linalg.norm(positions, axis=1)),
    }


if __name__ == "__main__":
    bodies, steps = (int(a) for a in (sys.argv[1:] + ["64", "60"][len(sys.argv) - 1 :]))
    found = run(bodies, steps)
    print(f"energy drifts by {found['energy drift']:.1e}, spin by {found['spin drift']:.1e}")
    print(f"the farthest body is number {found['farthest']}")
    print("density in rings:", np.round(found["density"], 4))
