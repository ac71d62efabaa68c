"""Tracking many targets at once: a Kalman filter, its smoother, and whether they are honest.

Each target moves in the plane with an almost constant velocity; its position is measured with
noise, and at times not at all. The filter goes forward, the Rauch-Tung-Striebel smoother goes
back, and the normalised innovations tell whether the stated uncertainties are true. All targets
are filtered together: arrays are (targets, 4) and (targets, 4, 4).

    python kalman.py [targets] [steps]
"""

import math
import random
import sys

import numpy as np

STEP = 0.5
JERK = 0.05
NOISE = 0.8


def model():
    """Transition, process noise, measurement and its noise."""
    advance = np.eye(4)
    advance[0, 2] = advance[1, 3] = STEP
    gain = np.array([[STEP**2 / 2, 0], [0, STEP**2 / 2], [STEP, 0], [0, STEP]])
    process = JERK * gain @ gain.T
    measure = np.zeros((2, 4))
    measure[[0, 1], [0, 1]] = 1.0
    return advance, process, measure, NOISE**2 * np.identity(2)


def simulate(targets, steps, dice):
    """True states, measurements, and which of these arrived."""
    advance, _, _, _ = model()

    def noise(*shape):
        return np.array([dice.gauss(0.0, 1.0) for _ in range(math.prod(shape))]).reshape(shape)

    state = noise(targets, 4) * np.array([10.0, 10.0, 1.0, 1.0])
    states = np.empty((steps, targets, 4))
    pushes = math.sqrt(JERK) * noise(steps, targets, 2)
    for k in range(steps):
        state = state @ advance.T
        state[:, :2] += STEP**2 / 2 * pushes[k]
        state[:, 2:] += STEP * pushes[k]
        states[k] = state
    measured = states[..., :2] + NOISE * noise(steps, targets, 2)
    arrived = np.array([[dice.random() > 0.1 for _ in range(targets)] for _ in range(steps)])
    measured[~arrived] = np.nan
    return states, measured, arrived


def forward(measured, arrived):
    """Filtered and predicted means and covariances, innovations, and the log-likelihood."""
    advance, process, measure, noise = model()
    steps, targets, _ = measured.shape
    mean = np.zeros((targets, 4))
    mean[:, :2] = np.nan_to_num(measured[0])
    spread = np.broadcast_to(np.diag([100.0, 100.0, 4.0, 4.0]), (targets, 4, 4)).copy()
    track = []
    surprise = np.zeros(targets)
    logs = np.zeros(targets)
    eye = np.eye(4)
    for k in range(steps):
        ahead = mean @ advance.T
        ahead_spread = advance @ spread @ advance.T + process
        seen = arrived[k]
        error = np.where(seen[:, None], measured[k] - ahead @ measure.T, 0.0)
        total = measure @ ahead_spread @ measure.T + noise
        gain = np.linalg.solve(total, measure @ ahead_spread).swapaxes(-1, -2)
        gain *= seen[:, None, None]
        mean = ahead + (gain @ error[..., None])[..., 0]
        keep = eye - gain @ measure
        spread = keep @ ahead_spread @ keep.swapaxes(-1, -2)
        spread += gain @ noise @ gain.swapaxes(-1, -2)
        weighed = np.linalg.solve(total, error[..., None])[..., 0]
        distance = np.einsum("ij,ij->i", error, weighed)
        surprise += distance
        logs -= 0.5 * seen * (distance + np.log(np.linalg.det(2.0 * np.pi * total)))
        track.append((mean, spread, ahead, ahead_spread))
    return [np.stack(part) for part in zip(*track)], surprise, logs


def backward(means, spreads, aheads, ahead_spreads):
    """Smoothed means and covariances, from the last step to the first."""
    advance, _, _, _ = model()
    smooth, smooth_spread = means.copy(), spreads.copy()
    for k in range(len(means) - 2, -1, -1):
        gain = np.linalg.solve(ahead_spreads[k + 1], advance @ spreads[k]).swapaxes(-1, -2)
        change = smooth[k + 1] - aheads[k + 1]
        smooth[k] += (gain @ change[..., np.newaxis]).squeeze(-1)
        wider = smooth_spread[k + 1] - ahead_spreads[k + 1]
        smooth_spread[k] += gain @ wider @ gain.swapaxes(-1, -2)
    return smooth, smooth_spread


def error_of(found, states):
    """The root mean square distance to the true positions."""
    return np.sqrt(np.mean(np.sum((found[..., :2] - states[..., :2]) ** 2, axis=-1)))


def run(targets=40, steps=40):
    """All results of the program, by name."""
    states, measured, arrived = simulate(targets, steps, random.Random(3))
    (means, spreads, aheads, ahead_spreads), surprise, logs = forward(measured, arrived)
    smooth, smooth_spread = backward(means, spreads, aheads, ahead_spreads)
    counts = arrived.sum(axis=0)
    distances = np.linalg.norm(measured - states[..., :2], axis=-1)
    return {
        "filtered": means,
        "smoothed": smooth,
        "spread": np.trace(smooth_spread, axis1=-2, axis2=-1),
        "raw error": np.sqrt(np.nanmean(distances**2)),
        "filter error": error_of(means, states),
        "smoother error": error_of(smooth, states),
        "honesty": np.mean(surprise / (2.0 * counts)),
        "likelihood": logs,
    }


if __name__ == "__main__":
    targets, steps = (int(a) for a in (sys.argv[1:] + ["40", "40"][len(sys.argv) - 1 :]))
    found = run(targets, steps)
    for name in ("raw error", "filter error", "smoother error"):
        print(f"{name:15} {found[name]:.3f}")
    print(f"innovations are {found['honesty']:.2f} times as large as stated (ideal: 1)")
    print("log-likelihood of the first targets:", found["likelihood"][:3].round(2))
