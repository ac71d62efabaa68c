"""Random programs that read and write overlapping parts of one memory, beside NumPy.

A program has one array and views of it in other shapes, and statements that write into one of
them what is computed from overlapping parts of another: shifted slices, gathers, rolls, pads,
concatenations, reductions. It is recorded as a whole and compiled as one program, with every
optimisation, as a user's is. So a write that is done in place while its memory is still read shows.

``python -m tests.numpy.overlapping_writes --start 0 --count 1000`` runs many.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import Any

import numpy as onp

import lazyloom
import lazyloom_numpy as np

#: shapes of the memory; a view has one of the shapes of as many elements
SHAPES: tuple[tuple[tuple[int, ...], ...], ...] = (
    ((6,), (1, 6), (6, 1), (2, 3), (3, 2), (1, 2, 3), (2, 1, 3)),
    ((24,), (1, 24), (4, 6), (2, 3, 4), (24, 1), (6, 4), (4, 1, 6)),
    ((40,), (5, 8), (1, 40), (8, 5), (5, 8, 1), (2, 4, 5)),
    ((300,), (1, 300), (20, 15), (15, 20), (300, 1)),
)
#: of a value t: what is read at the index at which it is written, and elsewhere
MAPS = (
    "{t}", "{t}", "{t}", "{t} * 2", "-{t}", "{t} + 3", "m.tanh({t})", "m.where({t} > 3, {t}, -{t})",
    "{t}[::-1]", "m.roll({t}, 1, 0)", "{t} + {t}.sum()", "{t} - {t}.max()", "m.cumsum({t}, 0)",
    "{t} + m.roll({t}, -1, -1)", "m.flip({t})", "m.sort({t}, -1)",
)
DTYPES = ("float64", "float32", "int32", "int64", "complex64", "int8")


def program(seed: int) -> list[str]:
    """The statements of a seed, about the module ``m``, the memory ``a`` and views ``v0``, ..."""
    rng = onp.random.default_rng(seed)

    def pick(choices: Any) -> Any:
        return choices[rng.integers(len(choices))]

    shapes = SHAPES[pick((0, 0, 1, 1, 1, 2, 3))]
    size = shapes[0][0]
    first = pick(shapes)
    dtype = pick(DTYPES)
    lines = [f"a = m.array((m.arange({size}) * 7 % 11 - 4).reshape({first}).astype('{dtype}'))"]
    if rng.integers(2):
        lines.append("a = a + 1")
    lines.append("read(a)" if rng.integers(3) else "pass")
    views = {"a": first}
    for n in range(rng.integers(1, 4)):
        shape = pick(shapes)
        source = pick(list(views))
        views[f"v{n}"] = shape
        lines.append(f"v{n} = {source}.reshape({shape})")
        if rng.integers(5) == 0:
            views[f"v{n}"] = shape[::-1]
            lines[-1] += ".T"
    for _ in range(rng.integers(1, 5)):
        name = pick(list(views))
        lines.append(_statement(rng, name, views[name], views))
    for _ in range(rng.integers(0, 3)):
        name = pick(list(views))
        ends = "{0}[..., :2] + {0}[..., -2:]" if views[name][-1] > 1 else "{0} - 1"
        f = pick(("m.tanh({0})", "{0} * 2", "{0}[..., ::-1] + 1", "{0}.sum()", ends))
        lines.append(f"r{len(lines)} = {f.format(name)}")
    return lines


def _statement(rng: Any, name: str, shape: tuple[int, ...], views: dict[str, Any]) -> str:
    """A write into a view of what is read of one of the same shape."""
    kind = rng.integers(12)
    axis = int(rng.choice([d for d, n in enumerate(shape) if n > 1]))
    n = shape[axis]
    same = [v for v, s in views.items() if s == shape]
    source = same[rng.integers(len(same))]
    f = MAPS[rng.integers(len(MAPS))] if kind != 9 else "{t}"
    if kind < 6:
        length = int(rng.integers(1, n))
        reads, writes = (int(rng.integers(0, n - length + 1)) for _ in range(2))
        read = _at(shape, axis, f"{reads}:{reads + length}")
        write = _at(shape, axis, f"{writes}:{writes + length}")
    elif kind == 6:
        write, read = _at(shape, axis, "::2"), _at(shape, axis, f":{-(-n // 2)}")
    elif kind == 7:
        write, read = "...", _at(shape, axis, "::-1")
    elif kind == 8:
        write = _at(shape, axis, str([int(i) for i in rng.permutation(n)[: max(1, n // 2)]]))
        read = _at(shape, axis, f":{max(1, n // 2)}")
    elif kind == 9:
        write, read = _at(shape, axis, "0"), _at(shape, axis, "-1")
    elif kind == 10:
        return f"{name}[...] = m.concatenate([{source}[1:], {source}[:1]])"
    else:
        other = f"{source}[{_at(shape, axis, '1:')}]"
        pad = tuple((0, 1) if d == axis else (0, 0) for d in range(len(shape)))
        return f"{name}[...] = m.pad({other}, {pad}) + {source}"
    value = f.format(t=f"{source}[{read}]")
    operator = ("=", "=", "=", "+=", "-=")[rng.integers(5)]
    if kind == 9 and rng.integers(2):
        return f"{name}[{_at(shape, axis, '1')}] {operator} own({value} * 2)"
    return f"{name}[{write}] {operator} own({value})"


def _at(shape: tuple[int, ...], axis: int, index: str) -> str:
    return ", ".join(index if d == axis else ":" for d in range(len(shape)))


def _run(line: str, names: dict[str, Any]) -> bool:
    """Whether the statement could be run."""
    try:
        with warnings.catch_warnings(), onp.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            exec(line, names)
    except (TypeError, ValueError):
        return False
    return True


def check(seed: int) -> str | None:
    """What differs between the two libraries for a seed's program, or None."""
    # NumPy 2.4's own a[::2] = a[:20] reads what it has overwritten: it is given copies
    theirs: dict[str, Any] = {"m": onp, "read": lambda x: None, "own": onp.array}
    ours: dict[str, Any] = {"m": np, "read": lazyloom.sync, "own": lambda x: x}
    lines = [line for line in program(seed) if _run(line, theirs)]
    for line in lines:
        assert _run(line, ours), f"refused: {line}\n{_text(lines)}"
    names = [n for n, x in theirs.items() if isinstance(x, (onp.ndarray, onp.generic))]
    lazyloom.sync(*[ours[n] for n in names])
    for name in names:
        expected, got = onp.asarray(theirs[name]), onp.asarray(ours[name])
        if expected.dtype.kind in "fc":
            same = onp.allclose(got, expected, rtol=1e-4, atol=1e-3, equal_nan=True)
        else:
            same = onp.array_equal(got, expected)
        if not same:
            return f"seed {seed}, {name}:\n{got}\nexpected\n{expected}\n{_text(lines)}"
    return None


def _text(lines: list[str]) -> str:
    return "\n".join(["import lazyloom_numpy as m  # or numpy", "own = read = m.asarray", *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    options = parser.parse_args()
    wrong = 0
    for seed in range(options.start, options.start + options.count):
        found = check(seed)
        if found is not None:
            wrong += 1
            print(found, flush=True)
    print(f"{options.count} programs, {wrong} with a wrong value")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
