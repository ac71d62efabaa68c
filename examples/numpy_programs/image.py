"""An image pipeline: contrast, smoothing, edges, and the outlines that are long enough.

A scene of shapes with noise is drawn, its contrast equalised, smoothed by a separable
Gaussian, sharpened, and searched for edges by Canny's steps: gradients, thinning to ridges, two
thresholds, and growing from strong edges into weak ones until nothing changes.

    python image.py [pixels per side]
"""

import sys

import numpy as np


def scene(n):
    """Shapes in grey, between 0 and 1, shaded across, with noise that is always the same."""
    y, x = np.mgrid[0:n, 0:n] / n
    picture = 0.25 + 0.1 * x
    picture[(x - 0.35) ** 2 + (y - 0.4) ** 2 < 0.05] = 0.8
    picture[(np.abs(x - 0.7) < 0.15) & (np.abs(y - 0.65) < 0.2)] = 0.55
    stripes = (y > 0.82) & (np.floor(x * 12) % 2 == 0)
    picture[stripes] += 0.3
    noise = (np.arange(n * n).reshape(n, n) * 40503 % 65521) % 256 / 255 - 0.5
    return np.clip(picture + 0.06 * noise, 0.0, 1.0)


def equalise(picture, bins=64):
    """Grey levels mapped so that their distribution becomes even."""
    counts, edges = np.histogram(picture, bins=bins, range=(0.0, 1.0))
    levels = np.cumsum(counts) / picture.size
    return np.interp(picture, 0.5 * (edges[1:] + edges[:-1]), levels)


def gaussian(sigma):
    """A normalised kernel that reaches three standard deviations."""
    reach = int(3 * sigma + 0.5)
    x = np.arange(-reach, reach + 1)
    kernel = np.exp(-0.5 * (x / sigma) ** 2)
    return kernel / kernel.sum()


def convolve_rows(picture, kernel):
    """Each row convolved, edges mirrored."""
    reach = len(kernel) // 2
    wide = np.pad(picture, ((0, 0), (reach, reach)), mode="symmetric")
    result = np.zeros_like(picture)
    for i in range(len(kernel)):
        result += kernel[-1 - i] * wide[:, i : i + picture.shape[1]]
    return result


def smooth(picture, sigma):
    """Rows, then columns: the kernel of a Gaussian is a product."""
    kernel = gaussian(sigma)
    return convolve_rows(convolve_rows(picture, kernel).T, kernel).T


def convolve(picture, kernel):
    """A general two-dimensional convolution, edges repeated."""
    h, w = kernel.shape
    wide = np.pad(picture, ((h // 2, h // 2), (w // 2, w // 2)), mode="edge")
    result = np.zeros(picture.shape)
    for i, j in np.ndindex(h, w):
        weight = kernel[h - 1 - i, w - 1 - j]
        result += weight * wide[i : i + picture.shape[0], j : j + picture.shape[1]]
    return result


def gradients(picture):
    """Strength and direction of the steepest ascent, by Sobel's masks."""
    across = np.array([[1.0, 0.0, -1.0], [2.0, 0.0, -2.0], [1.0, 0.0, -1.0]])
    gx, gy = convolve(picture, across), convolve(picture, across.T)
    return np.hypot(gx, gy), np.arctan2(gy, gx)


def thin(strength, direction):
    """Only what is as strong as both neighbours along the gradient."""
    sector = np.round(direction / (np.pi / 4)).astype(int) % 4
    ring = np.pad(strength, 1)
    n, m = strength.shape
    offsets = [(0, 1), (1, 1), (1, 0), (1, -1)]
    kept = np.zeros(strength.shape, dtype=bool)
    for number, (dy, dx) in enumerate(offsets):
        one = ring[1 + dy : 1 + dy + n, 1 + dx : 1 + dx + m]
        other = ring[1 - dy : 1 - dy + n, 1 - dx : 1 - dx + m]
        kept |= (sector == number) & (strength >= one) & (strength > other)
    return np.where(kept, strength, 0.0)


def grow(ridges, low, high):
    """Strong ridges and all weak ones connected with them; how many rounds it took."""
    weak = ridges > low
    edges = ridges > high
    rounds, before = 0, -1
    while edges.sum() != before:
        rounds, before = rounds + 1, edges.sum()
        ring = np.pad(edges, 1)
        near = np.zeros_like(edges)
        for dy in range(3):
            for dx in range(3):
                near |= ring[dy : dy + edges.shape[0], dx : dx + edges.shape[1]]
        edges = near & weak
    return edges, rounds


def run(n=96):
    """All results of the program, by name."""
    picture = scene(n)
    even = equalise(picture)
    calm = smooth(even, 1.4)
    sharp = np.clip(calm + 0.6 * (calm - smooth(calm, 3.0)), 0.0, 1.0)
    strength, direction = gradients(sharp)
    ridges = thin(strength, direction)
    low, high = np.percentile(ridges[ridges > 0], [60, 90])
    edges, rounds = grow(ridges, low, high)
    rows, columns = np.nonzero(edges)
    return {
        "even": even,
        "sharp": sharp,
        "ridges": ridges,
        "edges": edges,
        "rounds": rounds,
        "thresholds": np.array([low, high]),
        "centre": np.array([rows.mean(), columns.mean()]),
        "by direction": np.histogram(direction[edges], bins=8, range=(-np.pi, np.pi))[0],
    }


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 96
    found = run(n)
    edges = found["edges"]
    print(f"{edges.sum()} edge pixels of {edges.size}, grown in {found['rounds']} rounds")
    print("their centre:", found["centre"].round(2))
    print("by direction:", found["by direction"])
    for row in edges[:: n // 24, :: n // 48]:
        print("".join("#" if pixel else "." for pixel in row.tolist()))
