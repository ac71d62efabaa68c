"""Images for the distributed examples: digits, CIFAR from a folder, or made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
from trainer import model_file

#: bytes of labels before the image in a row of CIFAR-10 and of CIFAR-100, whose last one counts
LABELS = {"data_batch_1.bin": 1, "train.bin": 2}
SIDE = 32

Pair = tuple[numpy.ndarray, numpy.ndarray]


class Images:
    """Images float32 [n, 3, size, size] and labels int64 [n], in memory.

    ``augmented`` ones are drawn from anywhere in a frame of zeros around them, every second one
    mirrored.
    """

    FRAME = 4

    def __init__(self, images: numpy.ndarray, labels: numpy.ndarray,
                 augmented: bool = False) -> None:  # fmt: skip
        self.images, self.labels, self.augmented = images, labels, augmented

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, rows: numpy.ndarray, random: numpy.random.Generator) -> Pair:
        images = self.images[rows]
        if self.augmented:
            images = moved(images, self.FRAME, random)
        return images, self.labels[rows]


def moved(images: numpy.ndarray, frame: int, random: numpy.random.Generator) -> numpy.ndarray:
    """Each image shifted by up to ``frame`` pixels either way, and mirrored or not."""
    n, channels, height, width = images.shape
    inner = slice(frame, -frame)
    wide = numpy.zeros((n, channels, height + 2 * frame, width + 2 * frame), images.dtype)
    wide[:, :, inner, inner] = images
    down, right = random.integers(0, 2 * frame + 1, (2, n))
    found = numpy.stack([
        image[:, d:d + height, r:r + width] for image, d, r in zip(wide, down, right, strict=True)])
    mirrored = random.random(n) < 0.5
    found[mirrored] = found[mirrored, :, :, ::-1]
    return found


class MadeUp:
    """Images that are a pattern of their class and noise, made as they are asked for."""

    def __init__(self, count: int, classes: int, size: int, seed: int = 0) -> None:
        self.count, self.classes = count, classes
        coarse = numpy.random.default_rng((seed, 2)).standard_normal((classes, 3, 8, 8))
        nearest = numpy.arange(size) * 8 // size
        self.patterns = coarse[:, :, nearest][:, :, :, nearest].astype(numpy.float32)

    def __len__(self) -> int:
        return self.count

    def batch(self, rows: numpy.ndarray, random: numpy.random.Generator) -> Pair:
        labels = rows.astype(numpy.int64) % self.classes
        noise = random.standard_normal((len(rows), *self.patterns.shape[1:]), numpy.float32)
        return self.patterns[labels] + noise, labels


def digits(size: int, part: str = "train") -> Images:
    """The digits of this repository, enlarged."""
    images, labels = model_file("resnet").images(part, size)
    return Images(images.numpy(), labels.numpy())


def cifar(folder: str, part: str = "train") -> Images:
    """The images of CIFAR-10's or CIFAR-100's binary version, centred by channel.

    Raises SystemExit where the folder has none.
    """
    first = next((name for name in LABELS if (Path(folder) / name).exists()), None)
    if first is None:
        raise SystemExit(
            f"{folder}: expected {' or '.join(LABELS)}, files of the binary versions "
            "(cifar-10-binary.tar.gz, cifar-100-binary.tar.gz)")
    skipped = LABELS[first]

    def rows(pattern: str) -> numpy.ndarray:
        files = sorted(Path(folder).glob(pattern))
        raw = numpy.concatenate([numpy.fromfile(f, numpy.uint8) for f in files])
        return raw.reshape(-1, skipped + 3 * SIDE * SIDE)

    known = rows("data_batch_*.bin" if skipped == 1 else "train.bin")
    found = known if part == "train" else rows("test*.bin")

    def pixels(of: numpy.ndarray) -> numpy.ndarray:
        return of[:, skipped:].reshape(-1, 3, SIDE, SIDE).astype(numpy.float32) / 255

    # centred and scaled by what the images for training have
    train = pixels(known)
    mean, spread = (f(train, axis=(0, 2, 3), keepdims=True) for f in (numpy.mean, numpy.std))
    images = ((train if found is known else pixels(found)) - mean) / spread
    return Images(images, found[:, skipped - 1].astype(numpy.int64), part == "train")


def of(args: Any, part: str = "train") -> Any:
    """The images that the option ``--data`` names."""
    if args.data == "digits":
        return digits(args.size, part)
    if args.data == "made-up":
        return MadeUp(args.count, args.classes, args.size)
    return cifar(args.data, part)
