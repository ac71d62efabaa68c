"""Random programs from a seed, and made so that their inputs can have another extent."""

from __future__ import annotations

import math
import random
import warnings
from typing import Any, Final

import lazyloom

from .programs import Input, Program, frontend
from .vocabulary import TABLES

#: no array has more elements
MOST: Final = 400_000
FLOATS: Final = ("float32", "float32", "float32", "float64", "float16", "bfloat16")
INTEGERS: Final = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
COMPLEX: Final = ("complex64", "complex128")
#: extents at which compilers begin to do otherwise
LARGE: Final = tuple(2**k + d for k in (14, 15, 16) for d in (-1, 0, 1))
SMALL: Final = (0, 1, 1, 2, 3, 3, 4, 5, 7, 8, 17, 33)
NUMBERS: Final = ("0.5", "2.0", "-1.5", "1e-39", "1e-3", "3.0", "1e30", "0.0", "-1.0", "100.0")


def _kind(dtype: str) -> str:
    if dtype.startswith("complex"):
        return "c"
    return "b" if dtype == "bool" else "f" if "float" in dtype else "i"


def _shape(rng: random.Random, large: bool) -> tuple[int, ...]:
    choice = rng.random()
    if choice < 0.06:
        return ()
    if choice < 0.12:
        # of many axes, most of which are 1 or 2
        return tuple(rng.choice((1, 1, 2, 2, 3)) for _ in range(rng.randint(5, 8)))
    shape = [rng.choice(SMALL) for _ in range(rng.choice((1, 1, 2, 2, 2, 3, 4)))]
    if large and 0 not in shape:
        shape[rng.randrange(len(shape))] = rng.choice(LARGE)
        while math.prod(shape) > MOST // 2:
            k = max((k for k, e in enumerate(shape) if e < 1000), key=lambda k: shape[k])
            shape[k] = max(1, shape[k] // 2)
    return tuple(shape)


class _Maker:
    """A program in the making: what it has recorded so far is there to be looked at."""

    def __init__(self, seed: int, library: str, large: bool, padded: bool, calm: bool) -> None:
        self.rng = random.Random(f"{seed} {library}")
        self.module = frontend(library)
        self.library = library
        self.table = TABLES[library]
        self.padded = padded
        self.calm = calm
        self.inputs: list[Input] = []
        self.lines: list[str] = []
        self.values: dict[str, Any] = {}
        self.space: dict[str, Any] = {"np" if library == "numpy" else "t": self.module}
        self.n = self.rng.choice((5, 6, 9, 11, 13, 17, 23))
        self.base = _shape(self.rng, large)
        if padded:
            self.base = tuple(
                e if e < 64 else 3 for e in (self.base or (2,))) or (2,)
        self.seed = seed
        self.leaves: list[str] = []

    def make(self, length: int) -> Program:
        rng = self.rng
        count = rng.choice((1, 1, 2, 2, 3))
        dtype = rng.choice((*FLOATS, *FLOATS, rng.choice(INTEGERS), "bool", rng.choice(COMPLEX)))
        if self.padded:
            dtype = "float32"
        for k in range(count):
            self._input(dtype if k == 0 or rng.random() < 0.8 else rng.choice(FLOATS), k)
        tries = 0
        while len(self.lines) < length and tries < 8 * length:
            tries += 1
            self._line()
        used = " ".join(line.partition(" = ")[2] for line in self.lines)
        made = [line.partition(" = ")[0] for line in self.lines]
        free = [v for v in made if f"{v}" not in used.replace("(", " ").replace(")", " ").replace(
            ",", " ").replace(".", " ").replace("[", " ").replace("]", " ").split()]
        others = [v for v in made if v not in free and rng.random() < 0.15]
        results = tuple(dict.fromkeys([*free, *others])) or ("x0",)
        return Program(self.library, tuple(self.inputs), tuple(self.lines), results, self.n)

    def _input(self, dtype: str, k: int) -> None:
        rng = self.rng
        shape: list[int | str] = list(self.base)
        if k and shape and rng.random() < 0.4:
            # broadcasts with the first
            shape = shape[rng.randrange(len(shape)) :]
            shape = [1 if rng.random() < 0.3 else e for e in shape]
        if self.padded:
            if k == 0 or len(shape) == len(self.base):
                shape[0] = "n"
            else:
                shape = list(shape)
        kind = rng.choice(("normal", "normal", "normal", "positive", "calm", "far", "few") if (
            self.calm) else ("normal", "normal", "positive", "ends", "some_ends", "far", "wide",
                             "few"))
        name = f"x{k}"
        given = Input(dtype, tuple(shape), kind, rng.randrange(1000))
        self.inputs.append(given)
        make = self.module.array if self.library == "numpy" else self.module.tensor
        self.values[name] = make(given.data(self.n))
        if self.library == "torch" and "float" in dtype and rng.random() < 0.5:
            leaf = f"v{k}00"
            self._enter(leaf, f"x{k}.clone().requires_grad_()")
            if leaf in self.values:
                self.leaves.append(leaf)

    def _enter(self, name: str, text: str) -> bool:
        """Take a line, if it can be recorded and is not too large."""
        module = "np" if self.library == "numpy" else "t"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = eval(text.replace("M.", f"{module}."), {**self.space, **self.values})
        except lazyloom.errors.LoomError:
            return False
        except (ValueError, TypeError, RuntimeError, IndexError, NotImplementedError,
                AttributeError, OverflowError):
            return False
        if not isinstance(found, lazyloom.Tensor) or math.prod(found.shape) > MOST or (
            len(found.shape) > 8
        ):
            return False
        self.values[name] = found
        self.lines.append(f"{name} = {text}")
        return True

    def _line(self) -> None:
        rng = self.rng
        # recent results more often than others
        names = list(self.values)
        a = rng.choice(names[-3:] if rng.random() < 0.6 else names)
        x = self.values[a]
        dtype = str(x.dtype).rpartition(".")[2]
        kind = _kind(dtype)
        ndim = len(x.shape)
        groups = [kind] * 8 + ["shape"] * 2 + ["cast"]
        if ndim:
            groups += ["scan"] if kind in "fi" else []
            groups += ["reduce f"] * 4 if kind == "f" else ["reduce i"] if kind in "ib" else []
            groups += ["product"] * 2 if kind in "fc" else []
        if self.leaves and kind == "f" and getattr(x, "requires_grad", False):
            groups += ["gradient"] * 3
        group = rng.choice(groups)
        if group not in self.table:
            return
        template = rng.choice(self.table[group])
        fields: dict[str, str] = {"a": a, "z": a}
        if "{axis}" in template:
            if not ndim:
                return
            fields["axis"] = str(rng.randrange(-ndim, ndim))
        for slot in "bc":
            if f"{{{slot}}}" in template:
                same = [n for n, y in self.values.items() if y.dtype == x.dtype and (
                    tuple(y.shape) == tuple(x.shape) or not y.shape
                    or tuple(y.shape) == tuple(x.shape[-len(y.shape) :]))]
                fields[slot] = rng.choice(same or [a])
        if "{m}" in template:
            masks = [n for n, y in self.values.items() if str(y.dtype).endswith("bool") and (
                tuple(y.shape) == tuple(x.shape))]
            if not masks:
                return
            fields["m"] = rng.choice(masks)
        if "{i}" in template:
            indices = [n for n, y in self.values.items() if _kind(
                str(y.dtype).rpartition(".")[2]) == "i" and math.prod(y.shape) < 1000]
            if not indices:
                return
            fields["i"] = rng.choice(indices)
        if "{at}" in template:
            if ndim < 2:
                return
            fields["at"] = f"M.swapaxes({a}, -1, -2)" if self.library == "numpy" else (
                f"{a}.transpose(-1, -2)")
            if x.shape[-2] > 300:
                fields["a"], fields["at"] = fields["at"], a
            if math.prod(x.shape[:-2]) * min(x.shape[-2], x.shape[-1] + 299) ** 2 > MOST:
                return
        if group == "product" and "{at}" not in template and math.prod(x.shape[1:]) ** 2 > MOST:
            return
        if "{number}" in template:
            fields["number"] = rng.choice([x for x in NUMBERS if not (self.calm and "e" in x)])
        if "{dtype}" in template:
            options = [*FLOATS, *INTEGERS, "bool"]
            if kind == "c":
                options = list(COMPLEX)
            if self.library == "torch":
                options = [o for o in options if o not in ("uint16", "uint32", "uint64")]
            else:
                options = [o for o in options if o != "bfloat16"]
            fields["dtype"] = rng.choice(options)
        if "{l}" in template:
            fields["l"] = rng.choice(self.leaves)
        name = f"v{len(self.lines)}"
        while name in self.values:
            name += "0"
        self._enter(name, template.format(**fields))


def program(
    seed: int, *, large: bool | None = None, padded: bool | None = None, calm: bool = False
) -> Program:
    """A random program of either frontend; a third of them on large arrays, a tenth for padding.

    ``calm`` ones have no subnormal numbers, nor what soon becomes one.
    """
    rng = random.Random(seed)
    library = rng.choice(("numpy", "torch"))
    draw = rng.random()
    padded = draw < 0.1 if padded is None else padded
    large = 0.1 <= draw < 0.45 if large is None else large
    maker = _Maker(seed, library, large and not padded, padded, calm)
    found = maker.make(rng.choice((14, 18)) if padded else rng.choice((2, 3, 4, 6, 9)))
    maker.values.clear()
    return found
