"""What the walks over PyTorch's tables of operators, modules and optimizers share."""

from __future__ import annotations

import argparse
import fnmatch
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import torch

HERE = Path(__file__).resolve().parent


@dataclass
class Result:
    """What came out for one entry of a table and one dtype; subclasses count parts of it."""

    #: how a part's first failure names where it was
    place: ClassVar[str] = "sample {}"

    name: str
    dtype: str
    reads: int = 0
    seconds: float = 0.0
    first: dict[str, str] = field(default_factory=dict)

    def fail(self, part: str, at: object, text: str) -> None:
        """Keep what went wrong, where it is the first of its part."""
        text = " ".join(text.replace(f"{HERE.parents[1]}/", "").split())
        self.first.setdefault(part, f"{self.place.format(at)}: {text[:400]}")

    def counts(self) -> str:
        """How many agreed of how many, part by part."""
        raise NotImplementedError

    def line(self) -> str:
        """The result as text, with a line more for each part that failed."""
        mark = "ok  " if not self.first else "FAIL"
        tells = "".join(f"\n       {part}: {text}" for part, text in self.first.items())
        return f"{mark} {self.name} {self.dtype}: {self.counts()} ({self.seconds} s){tells}"


def fixed_names(section: str) -> list[str]:
    """The names of a section of the list that the project keeps itself to."""
    found: list[str] = []
    at = ""
    for line in (HERE / "torch_names.txt").read_text().splitlines():
        if line.startswith("## "):
            at = line[3:]
        elif line and not line.startswith("#") and at == section:
            found.append(line)
    return found


def matching(
    table: Iterable[Any], section: str, patterns: list[str],
    name_of: Callable[[Any], str] = lambda entry: entry.name,
) -> Iterator[Any]:
    """The entries of a table on a section of the fixed list whose names match a pattern."""
    fixed = set(fixed_names(section))
    for entry in table:
        name = name_of(entry)
        if name in fixed and any(fnmatch.fnmatchcase(name, p) for p in patterns):
            yield entry


R = TypeVar("R", bound=Result)


def parser(doc: str | None) -> argparse.ArgumentParser:
    """The arguments that every walk takes."""
    ask = argparse.ArgumentParser(description=doc)
    ask.add_argument("--names", default="*", help="patterns of names, separated by commas")
    ask.add_argument("--dtypes", default="float32")
    ask.add_argument("--write", help="a JSON file to add the results to")
    ask.add_argument("--verbose", action="store_true", help="lines of what agrees, too")
    return ask


def results(
    given: argparse.Namespace, entries: Iterable[Any],
    walk: Callable[[Any, torch.dtype], R | None],
) -> list[R]:
    """Walk each entry in each dtype asked for; print what fails, and keep all as JSON."""
    kept: dict[str, Any] = {}
    if given.write and Path(given.write).exists():
        kept = json.loads(Path(given.write).read_text())
    found = []
    for entry in entries:
        for dtype in given.dtypes.split(","):
            r = walk(entry, getattr(torch, dtype))
            if r is None:
                continue
            found.append(r)
            if given.verbose or r.first:
                print(r.line(), flush=True)
            kept[f"{r.name} {r.dtype}"] = asdict(r)
            if given.write:
                lines = (f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(kept.items()))
                Path(given.write).write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return found
