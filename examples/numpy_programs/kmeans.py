"""K-means clustering of handwritten digits: seeding, Lloyd's rounds, and how good it is.

Centres are seeded far from each other (k-means++), rounds go on until no image changes its
cluster, clusters that lose all members start anew at the image that fits worst, and the result
is compared with the labels, which the clustering has not seen.

    python kmeans.py [clusters] [images]
"""

import random
import sys
from pathlib import Path

import numpy as np

DATA = Path(__file__).resolve().parents[1] / "data" / "digits"


def read_idx(name, header):
    """The bytes of one file of the digits after its header."""
    return np.frombuffer((DATA / name).read_bytes(), dtype=np.uint8, offset=header)


def load(count):
    """Images as rows of numbers between 0 and 1, and their labels."""
    labels = read_idx("train-labels.idx1-ubyte", 8)
    images = read_idx("train-images.idx3-ubyte", 16).reshape(len(labels), -1)
    return images[:count].astype(np.float64) / images.max(), labels[:count].astype(np.intp)


def squared_distances(points, centres):
    """All squared distances, shape (points, centres), by one matrix product."""
    cross = points @ centres.T
    lengths = np.einsum("ij,ij->i", points, points)
    squares = lengths[:, None] - 2.0 * cross + np.sum(centres**2, axis=1)
    return np.maximum(squares, 0.0)


def seed(points, clusters, dice):
    """Centres drawn from the points, each with odds that grow with its distance to the last."""
    chosen = [dice.randrange(len(points))]
    nearest = np.full(len(points), np.inf)
    while len(chosen) < clusters:
        latest = squared_distances(points, points[chosen[-1]][None, :])[:, 0]
        nearest = np.minimum(nearest, latest)
        steps = np.cumsum(nearest)
        place = int(np.searchsorted(steps, dice.random() * steps[-1]))
        chosen.append(min(place, len(points) - 1))
    return points[chosen].copy()


def means(points, member, clusters):
    """The mean of every cluster's points, and how many there are."""
    counts = np.bincount(member, minlength=clusters)
    sums = np.zeros((clusters, points.shape[1]))
    np.add.at(sums, member, points)
    return sums / np.maximum(counts, 1)[:, None], counts


def lloyd(points, centres, limit=100):
    """Centres and members when no point moves any more, with the cost of each round."""
    member = np.full(len(points), -1)
    rows = np.arange(len(points))
    costs = []
    for _ in range(limit):
        distances = squared_distances(points, centres)
        nearest = np.argmin(distances, axis=1)
        costs.append(distances[rows, nearest].sum())
        if np.array_equal(nearest, member):
            break
        member = nearest
        centres, counts = means(points, member, len(centres))
        for empty in np.flatnonzero(counts == 0):
            worst = int(np.argmax(distances[rows, member]))
            centres[empty] = points[worst]
            distances[worst, :] = 0.0
    return centres, member, np.array([float(c) for c in costs])


def confusion(member, labels, clusters):
    """How many images of each label are in each cluster."""
    table = np.zeros((clusters, 10), dtype=int)
    np.add.at(table, (member, labels), 1)
    return table


def separation(points, centres, member):
    """The mean over points of 1 - (distance to own centre) / (distance to the next one)."""
    distances = np.sqrt(squared_distances(points, centres))
    own = np.take_along_axis(distances, member[:, None], axis=1)[:, 0]
    np.put_along_axis(distances, member[:, None], np.inf, axis=1)
    return np.mean(1.0 - own / distances.min(axis=1))


def run(clusters=12, images=1000):
    """All results of the program, by name."""
    dice = random.Random(7)
    points, labels = load(images)
    best = None
    for _ in range(2):
        found = lloyd(points, seed(points, clusters, dice))
        if best is None or found[2][-1] < best[2][-1]:
            best = found
    centres, member, costs = best
    table = confusion(member, labels, clusters)
    return {
        "centres": centres,
        "member": member,
        "costs": costs,
        "table": table,
        "purity": table.max(axis=1).sum() / len(labels),
        "separation": separation(points, centres, member),
        "sizes": np.sort(table.sum(axis=1))[::-1],
    }


if __name__ == "__main__":
    clusters, images = (int(a) for a in (sys.argv[1:] + ["12", "1000"][len(sys.argv) - 1 :]))
    found = run(clusters, images)
    print(f"{len(found['costs'])} rounds, cost {found['costs'][0]:.0f} to {found['costs'][-1]:.0f}")
    print(f"purity {100 * found['purity']:.1f} %, separation {found['separation']:.3f}")
    print("images in each cluster:", found["sizes"])
    print("labels of each cluster:")
    print(found["table"])
