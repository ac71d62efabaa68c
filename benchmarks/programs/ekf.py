"""An extended Kalman filter: a vehicle seen by range and bearing from two beacons.

The state is position, heading and speed (m, rad, m/s). Nothing is read before the track ends.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from .progress import Progress

KIND = "numpy"
SIZES: dict[str, dict[str, Any]] = {
    "small": {"steps": 6, "runs": 2},
    "full": {"steps": 200, "runs": 3},
}
SECONDS = 0.1
BEACONS = ((0.0, 30.0), (40.0, -10.0))
RANGE_NOISE, BEARING_NOISE, TURN_NOISE, SPEED_NOISE = 0.3, 0.02, 0.05, 0.2


def measured(steps: int, seed: int) -> Any:
    """Ranges and bearings of both beacons along a winding track, [steps, 4]."""
    random = numpy.random.default_rng(seed)
    x, y, heading, speed = 0.0, 0.0, 0.3, 5.0
    found = numpy.empty((steps, 4))
    for k in range(steps):
        heading += SECONDS * (0.4 * math.sin(0.05 * k) + TURN_NOISE * random.standard_normal())
        speed += SECONDS * SPEED_NOISE * random.standard_normal()
        x += SECONDS * speed * math.cos(heading)
        y += SECONDS * speed * math.sin(heading)
        for b, (to_x, to_y) in enumerate(BEACONS):
            found[k, 2 * b] = math.hypot(to_x - x, to_y - y)
            found[k, 2 * b + 1] = math.atan2(to_y - y, to_x - x) - heading
    found[:, ::2] += RANGE_NOISE * random.standard_normal((steps, 2))
    found[:, 1::2] += BEARING_NOISE * random.standard_normal((steps, 2))
    return found


def predict(np: Any, x: Any, P: Any, Q: Any) -> tuple[Any, Any]:
    """State and covariance one step on."""
    sin, cos = np.sin(x[2]), np.cos(x[2])
    moved = np.array([x[0] + SECONDS * x[3] * cos, x[1] + SECONDS * x[3] * sin, x[2], x[3]])
    F = np.eye(4)
    F[0, 2], F[0, 3] = -SECONDS * x[3] * sin, SECONDS * cos
    F[1, 2], F[1, 3] = SECONDS * x[3] * cos, SECONDS * sin
    return moved, F @ P @ F.T + Q


def update(np: Any, x: Any, P: Any, z: Any, R: Any, beacon: tuple[float, float]) -> tuple[Any, Any]:
    """State and covariance after a range and a bearing of one beacon."""
    dx, dy = beacon[0] - x[0], beacon[1] - x[1]
    q = dx**2 + dy**2
    r = np.sqrt(q)
    H = np.zeros((2, 4))
    H[0, 0], H[0, 1] = -dx / r, -dy / r
    H[1, 0], H[1, 1], H[1, 2] = dy / q, -dx / q, -1.0
    expected = np.array([r, np.arctan2(dy, dx) - x[2]])
    innovation = z - expected
    innovation[1] = (innovation[1] + np.pi) % (2 * np.pi) - np.pi
    S = H @ P @ H.T + R
    K = P @ H.T @ np.linalg.inv(S)
    return x + K @ innovation, (np.eye(4) - K @ H) @ P


def run(np: Any, progress: Progress, steps: int, runs: int) -> None:
    """Filter a track; where it went and the trace of its covariance are read at its end."""
    tracks = [measured(steps, 20 + r) for r in range(runs)]
    progress.begin()
    for r, track in enumerate(tracks):
        if r:
            progress.next_epoch()
        readings = np.array(track)
        x = np.array([0.0, 0.0, 0.3, 5.0])
        P = np.diag(np.array([1.0, 1.0, 0.1, 1.0]))
        turn, speed = SECONDS * TURN_NOISE, SECONDS * SPEED_NOISE
        Q = np.diag(np.array([1e-4, 1e-4, turn**2, speed**2]))
        R = np.diag(np.array([RANGE_NOISE**2, BEARING_NOISE**2]))
        estimates = np.zeros((steps, 4))
        spreads = []
        for k in range(steps):
            x, P = predict(np, x, P, Q)
            for b, beacon in enumerate(BEACONS):
                x, P = update(np, x, P, readings[k, 2 * b : 2 * b + 2], R, beacon)
            estimates[k] = x
            spreads.append(np.trace(P))
        spread = np.mean(np.stack(spreads))
        progress.sample([*numpy.asarray(estimates)[steps // 2], *numpy.asarray(x), float(spread)])
