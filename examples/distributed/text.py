"""Text for masked language modelling, and a vocabulary of byte pairs learned from it.

Byte-pair encoding as Sennrich, Haddow and Birch describe it ("Neural machine translation of rare
words with subword units", 2016), on bytes, as GPT-2 and RoBERTa have it: any text can be encoded.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from pathlib import Path

import numpy
from trainer import model_file

#: what stands before the bytes in the vocabulary; RoBERTa's names and order
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
#: a word with the space before it, a number, punctuation, other space
_PARTS = re.compile(r" ?[^\W\d_]+| ?\d+| ?[^\w\s]+| ?_+|\s+")


def read(path: str | None) -> str:
    """A text file; without one, the reference of Python's language that its help() shows."""
    if path is not None:
        return Path(path).read_text(encoding="utf-8")
    try:
        from pydoc_data.topics import topics
    except ImportError:
        # some systems leave it out: the pages of this repository
        return str(model_file("data").prose())
    return "\n".join(topics[name] for name in sorted(topics))


class BytePairs:
    """A vocabulary: special tokens, the 256 bytes, and pairs of tokens by their frequency.

    Args:
        text: what is learned from.
        size: how many tokens, at least 5 + 256; fewer where the text has no more pairs.
    """

    def __init__(self, text: str, size: int) -> None:
        if size < len(SPECIAL) + 256:
            raise ValueError(f"a vocabulary of {size}, expected {len(SPECIAL) + 256} or more")
        counts = Counter(_PARTS.findall(text))
        self._words = {word: [b + len(SPECIAL) for b in word.encode()] for word in counts}
        self.tokens = [*(s.encode() for s in SPECIAL), *(bytes([b]) for b in range(256))]
        words = list(self._words.values())
        often = [counts[word] for word in self._words]
        pairs: Counter[tuple[int, int]] = Counter()
        where: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
        for n, word in enumerate(words):
            for pair in zip(word, word[1:]):
                pairs[pair] += often[n]
                where[pair].add(n)
        # the most frequent first; entries whose count is no longer right are passed over
        heap = [(-count, pair) for pair, count in pairs.items()]
        heapq.heapify(heap)
        while heap and len(self.tokens) < size:
            count, pair = heapq.heappop(heap)
            if -count != pairs[pair] or count == 0:
                continue
            new = len(self.tokens)
            self.tokens.append(self.tokens[pair[0]] + self.tokens[pair[1]])
            changed = set()
            for n in where.pop(pair):
                word = words[n]
                for old in zip(word, word[1:]):
                    pairs[old] -= often[n]
                    changed.add(old)
                _join(word, pair, new)
                for now in zip(word, word[1:]):
                    pairs[now] += often[n]
                    where[now].add(n)
                    changed.add(now)
            for found in changed:
                if pairs[found] > 0:
                    heapq.heappush(heap, (-pairs[found], found))

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, text: str) -> numpy.ndarray:
        """The numbers of the tokens of the text that was learned from, int64 [n]."""
        words = self._words
        return numpy.array([t for part in _PARTS.findall(text) for t in words[part]], numpy.int64)

    def decode(self, numbers: numpy.ndarray) -> str:
        """The text of tokens."""
        return b"".join(self.tokens[int(n)] for n in numbers).decode(errors="replace")


def _join(word: list[int], pair: tuple[int, int], new: int) -> None:
    """Replace each occurrence of a pair, in place."""
    k = 0
    while k < len(word) - 1:
        if word[k] == pair[0] and word[k + 1] == pair[1]:
            word[k:k + 2] = [new]
        k += 1


class MaskedRows:
    """Rows of a text: ``<s>``, ``length - 2`` tokens, ``</s>``; and what of them is to be guessed.

    RoBERTa masks anew whenever a row is shown: 15 % of its tokens, of which 80 % are masked, 10 %
    are another token and 10 % are left. Here every row has as many, so that the mean over a batch
    is that of its parts.
    """

    PART = 0.15

    def __init__(self, numbers: numpy.ndarray, length: int, vocabulary: int) -> None:
        body = length - 2
        rows = numbers[:len(numbers) // body * body].reshape(-1, body)
        ends = [numpy.full((len(rows), 1), SPECIAL.index(s)) for s in ("<s>", "</s>")]
        self.rows = numpy.concatenate([ends[0], rows, ends[1]], axis=1)
        self.vocabulary = vocabulary
        self.guesses = max(round(self.PART * body), 1)

    def __len__(self) -> int:
        return len(self.rows)

    def batch(
        self, rows: numpy.ndarray, random: numpy.random.Generator,
    ) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Inputs and labels, int64 [n, length]; labels are -100 where nothing is to be guessed."""
        tokens = self.rows[rows]
        n, length = tokens.shape
        order = random.random((n, length - 2)).argsort(axis=1)[:, :self.guesses] + 1
        chosen = numpy.zeros((n, length), bool)
        numpy.put_along_axis(chosen, order, True, axis=1)
        kind = random.random((n, length))
        other = random.integers(len(SPECIAL), self.vocabulary, (n, length))
        inputs = numpy.where(chosen & (kind < 0.8), SPECIAL.index("<mask>"), tokens)
        inputs = numpy.where(chosen & (kind >= 0.9), other, inputs)
        return inputs, numpy.where(chosen, tokens, -100)
