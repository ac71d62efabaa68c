"""The data of the examples: the digits of this repository, and the prose of its pages."""

from __future__ import annotations

import re
import struct
from collections import Counter
from pathlib import Path

import numpy

import lazyloom_torch as torch

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "data" / "digits"


def _read_idx(path: Path) -> numpy.ndarray:
    """The array in an IDX file of unsigned bytes, as MNIST's files are."""
    raw = path.read_bytes()
    _, kind, rank = struct.unpack_from(">HBB", raw)
    if kind != 0x08:
        raise ValueError(f"{path}: not an IDX file of unsigned bytes")
    shape = struct.unpack_from(f">{rank}I", raw, 4)
    return numpy.frombuffer(raw, numpy.uint8, offset=4 + 4 * rank).reshape(shape)


def digits(part: str = "train"):
    """Images, float32 [n, 1, 8, 8] in 0..1, and labels, int64 [n]; part is train or test."""
    images = _read_idx(DIGITS / f"{part}-images.idx3-ubyte")[:, None]
    labels = _read_idx(DIGITS / f"{part}-labels.idx1-ubyte")
    return (torch.from_numpy(images.astype(numpy.float32) / 16.0),
            torch.from_numpy(labels.astype(numpy.int64)))


def prose(path: str | Path | None = None) -> str:
    """The sentences of a text file, or of this repository's pages; without tables and code."""
    pages = [Path(path)] if path else [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    lines = [line for line in text.splitlines() if not line.startswith(("|", "<!--"))]
    text = re.sub(r"\]\([^)]*\)|[`*#\[\]]", "", "\n".join(lines))
    return re.sub(r"\n{2,}", "\n", text)


class Vocabulary:
    """Numbers of tokens; the most frequent ones first, behind the special ones.

    A token that is not there has the number of ``<unk>``.
    """

    def __init__(self, tokens: list[str], special: tuple[str, ...] = ("<unk>",),
                 size: int | None = None) -> None:  # fmt: skip
        frequent = [t for t, _ in Counter(tokens).most_common(size and size - len(special))]
        self.tokens = [*special, *frequent]
        self.number = {token: i for i, token in enumerate(self.tokens)}
        self.unknown = self.number.get("<unk>", 0)

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, tokens: list[str]):
        """The tokens' numbers, int64 [n]."""
        return torch.tensor([self.number.get(t, self.unknown) for t in tokens])

    def decode(self, numbers, between: str = "") -> str:
        return between.join(self.tokens[int(n)] for n in numbers)


def words(text: str) -> list[str]:
    """Lower-case words, numbers, punctuation and line ends."""
    return re.findall(r"[a-z']+|\d+|[^\sa-z\d]|\n", text.lower())
