"""Programs: lines of a frontend's functions over arrays of given data, as text that can be run."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import ml_dtypes
import numpy as np

#: what a name of an array looks like in a line
NAME: Final = re.compile(r"\b[xv]\d+\b")


class Input(NamedTuple):
    """The data of an array.

    Attributes:
        dtype: its name.
        shape: extents; "n" is that of the program.
        kind: a function of :data:`KINDS`.
        seed: what it is drawn from.
    """

    dtype: str
    shape: tuple[int | str, ...]
    kind: str
    seed: int

    def data(self, n: int) -> np.ndarray:
        shape = tuple(n if e == "n" else int(e) for e in self.shape)
        rng = np.random.default_rng([self.seed, zlib.crc32(self.kind.encode())])
        dtype = np.dtype(ml_dtypes.bfloat16) if self.dtype == "bfloat16" else np.dtype(self.dtype)
        with np.errstate(all="ignore"):
            return np.asarray(KINDS[self.kind](rng, dtype, shape)).astype(dtype)


def _normal(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> Any:
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -9, 10, shape)
    if dtype.kind == "c":
        return rng.normal(size=shape) + 1j * rng.normal(size=shape)
    return rng.normal(size=shape)


def ends_of(dtype: Any) -> Any:
    """Numbers at the ends of a dtype, and those at which definitions differ."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        found = [info.min, info.max, 0, 1, 2, info.max - 1, info.bits - 1, info.bits]
        if dtype.kind == "i":
            found += [-1, -2, info.min + 1]
        return np.array(found).astype(dtype) if dtype != np.uint64 else np.array(found, np.uint64)
    if dtype.kind == "c":
        some = ends_of(np.dtype(f"f{dtype.itemsize // 2}"))
        return (some[:, None] + 1j * some[None, :]).reshape(-1).astype(dtype)
    info = ml_dtypes.finfo(dtype)
    least = float(info.smallest_normal)
    found = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 3.0, -3.0, 20.0,
             float(info.max), -float(info.max), least, -least, least / 2, -least / 4,
             float(info.smallest_subnormal), float(info.max) / 2, 1 + float(info.eps),
             float(np.sqrt(float(info.max))), float(np.sqrt(least)), 100.0, -100.0, 2.0**31,
             -(2.0**31), 2.0**63, 1e-3, -0.41, 88.0, -104.0]
    with np.errstate(all="ignore"):
        return np.array(found).astype(dtype)


def _calm(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Numbers at the ends of a dtype, but for those whose products are subnormal."""
    some = ends_of(dtype)
    if dtype.kind not in "biuc":
        size = np.abs(some.astype(np.float64))
        some = some[~((size > 0) & (size < 1e-3))]
    return rng.choice(some, shape) if dtype.kind != "c" else _normal(rng, dtype, shape)


def _ends(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> Any:
    return rng.choice(ends_of(dtype), shape)


def _some_ends(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> Any:
    return np.where(rng.random(shape) < 0.1, rng.choice(ends_of(dtype), shape),
                    _normal(rng, dtype, shape).astype(dtype))


def _far(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Far from zero, and close to each other."""
    found = _normal(rng, dtype, shape)
    return found if dtype.kind in "bu" else found + 1000 if dtype != np.int8 else found


def _wide(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Of all magnitudes of the dtype."""
    if dtype.kind not in "f" and dtype != np.dtype(ml_dtypes.bfloat16):
        return _ends(rng, dtype, shape)
    info = ml_dtypes.finfo(dtype)
    low, high = np.log(float(info.smallest_normal)), np.log(float(info.max))
    return np.exp(rng.uniform(low * 1.01, high, shape)) * rng.choice([-1, 1], shape)


def _positive(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> Any:
    return np.abs(_normal(rng, dtype, shape)) if dtype.kind != "b" else _normal(rng, dtype, shape)


def _few(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Few different numbers, so that many are equal."""
    if dtype.kind == "b":
        return _normal(rng, dtype, shape)
    return rng.integers(0 if dtype.kind == "u" else -2, 3, shape)


KINDS: Final[Mapping[str, Callable[..., Any]]] = {
    "normal": _normal, "ends": _ends, "some_ends": _some_ends, "far": _far, "wide": _wide,
    "positive": _positive, "few": _few, "calm": _calm,
}  # fmt: skip


def frontend(name: str) -> Any:
    """The module of a frontend."""
    if name == "numpy":
        import lazyloom_numpy

        return lazyloom_numpy
    import lazyloom_torch

    return lazyloom_torch


def read(result: Any) -> np.ndarray:
    """The data of a tensor of either frontend, which counts as a read of the user's."""
    found = result.detach().read() if hasattr(result, "detach") else result.read()
    return np.asarray(found)


class Program(NamedTuple):
    """A program of a frontend.

    Attributes:
        frontend: "numpy" or "torch".
        inputs: the data of ``x0``, ``x1`` ...
        lines: assignments, each to a name of its own.
        results: the names that are read.
        n: the extent that varies where it runs padded.
    """

    frontend: str
    inputs: tuple[Input, ...]
    lines: tuple[str, ...]
    results: tuple[str, ...]
    n: int = 5

    @property
    def source(self) -> str:
        """A function of the inputs, as Python."""
        arguments = ", ".join(f"x{k}" for k in range(len(self.inputs)))
        module = "np" if self.frontend == "numpy" else "t"
        body = "".join(f"    {line}\n" for line in self.lines)
        returned = ", ".join(self.results)
        return f"def program({arguments}):\n{body}    return [{returned}]\n".replace(
            "M.", f"{module}.")

    def text(self) -> str:
        """The program and its data, for people to read."""
        data = [f"x{k} = {i.kind}({i.dtype}, {list(i.shape)}, seed {i.seed})"
                for k, i in enumerate(self.inputs)]
        return "\n".join([f"# {self.frontend}, n = {self.n}", *data, self.source.rstrip()])

    def function(self) -> Callable[..., list[Any]]:
        module = frontend(self.frontend)
        space: dict[str, Any] = {"np" if self.frontend == "numpy" else "t": module}
        exec(compile(self.source, "<program>", "exec"), space)
        made: Callable[..., list[Any]] = space["program"]
        return made

    def tensors(self) -> list[Any]:
        """The inputs as tensors of the frontend."""
        module = frontend(self.frontend)
        make = module.array if self.frontend == "numpy" else module.tensor
        return [make(i.data(self.n)) for i in self.inputs]

    def record(self) -> list[Any]:
        """The results, which nobody has read yet."""
        return self.function()(*self.tensors())

    def read(self, result: Any) -> np.ndarray:
        return read(result)

    def run(self) -> list[np.ndarray]:
        return [read(x) for x in self.record()]

    # Shrinking

    def smaller(self) -> list[Program]:
        """Programs with less in them, those first that lose most."""
        found = []
        # one result
        if len(self.results) > 1:
            found += [self._needed((r,)) for r in self.results]
        made = {line.split(" =", 1)[0]: k for k, line in enumerate(self.lines)}
        # what a result is made of, instead
        for r in self.results:
            if r in made:
                used = dict.fromkeys(NAME.findall(self.lines[made[r]].split("=", 1)[1]))
                for u in used:
                    if u in made:
                        found.append(self._needed(tuple(u if s == r else s for s in self.results)))
        # an operand in the place of what is made of it
        for k, line in enumerate(self.lines):
            name, _, rest = line.partition(" = ")
            for u in dict.fromkeys(NAME.findall(rest)):
                lines = [*self.lines[:k], *(
                    re.sub(rf"\b{name}\b", u, after) for after in self.lines[k + 1 :])]
                results = tuple(dict.fromkeys(u if r == name else r for r in self.results))
                if any(r in made for r in results):
                    shorter = self._replace(lines=tuple(lines), results=results)
                    found.append(shorter._needed(results))
        # simpler data
        for k, i in enumerate(self.inputs):
            for simpler in _simpler(i):
                found.append(self._replace(
                    inputs=(*self.inputs[:k], simpler, *self.inputs[k + 1 :])))
        return [p for p in dict.fromkeys(found) if p != self]

    def _needed(self, results: Sequence[str]) -> Program:
        """The program without the lines that these results do not need."""
        kept: list[str] = []
        wanted = set(results)
        for line in reversed(self.lines):
            name, _, rest = line.partition(" = ")
            if name in wanted:
                kept.append(line)
                wanted |= set(NAME.findall(rest))
        return self._replace(lines=tuple(reversed(kept)), results=tuple(results))


def _simpler(i: Input) -> list[Input]:
    found = []
    for kind in ("few", "normal", "calm", "some_ends"):
        if kind == i.kind:
            break
        found.append(i._replace(kind=kind))
    for axis, extent in enumerate(i.shape):
        if isinstance(extent, int) and extent > 2:
            for less in (1, 2, extent // 2):
                if less < extent:
                    found.append(i._replace(shape=(*i.shape[:axis], less, *i.shape[axis + 1 :])))
    return found
