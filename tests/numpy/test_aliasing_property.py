"""Random sequences of views, in-place operations, reads and fancy assignments, as NumPy has them.

A seed makes a program: statements about arrays ``a0``, ``a1``, ... It runs once with NumPy and
once with this frontend, and every array is compared, by data, shape, dtype, strides, flags and
whether it owns its memory; so a write that reached too few or too many of them shows. A seed that
fails prints its program as Python.

The statements are chosen from a small vocabulary over a few shapes. Most programs run op by op,
as the compiler would take too long for thousands of them otherwise; some are computed as a whole
when they have been recorded.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np
from lazyloom.evaluate.evaluate import evaluate_component
from lazyloom.hooks import hooks

pytestmark = pytest.mark.usefixtures("quick_compiler")

#: seeds of a block; ``--quick`` runs one block in eighteen
BLOCK = 100
BLOCKS = 31
#: one seed in this many is computed as a whole
WHOLE = 16

FIRST = (
    "m.arange(4.0)", "m.arange(4.0).reshape(2, 2)", "m.arange(6.0).reshape(2, 3)",
    "m.array(m.arange(6.0).reshape(2, 3), order='F')", "m.arange(8.0).reshape(2, 2, 2)",
)  # fmt: skip

#: by number of dimensions: what may be taken of an array of it
VIEWS: dict[int, tuple[str, ...]] = {
    0: ("x[...]", "x[None]", "x.reshape(1)", "x.copy()"),
    1: ("x[1:]", "x[::-1]", "x[::2]", "x[None]", "x.reshape(-1, 1)", "x[:0]", "x[-1, ...]",
        "m.split(x, [1])[1]", "x[[0, -1, 0]]", "x[m.array([-1, 0])]", "x.copy()", "x[-1]",
        "m.broadcast_to(x, (2,) + x.shape)", "x[m.argmax(x)]", "x.view()", "x[...]"),
    2: ("x.T", "x[0]", "x[:, 0]", "x[::-1]", "x[:, ::-1]", "x[:, 1:]", "x.reshape(-1)", "x.ravel()",
        "x.ravel('F')", "x.ravel('K')", "x.diagonal()", "m.moveaxis(x, 0, 1)", "x[..., None]",
        "x[[1, 0]]", "x[:, [0, 1, 0]]", "x.copy('K')", "x[m.argmax(x[:, 0])]", "x.flatten()",
        "x.reshape(x.shape[::-1])", "x.reshape(-1, order='F')", "m.expand_dims(x, 1)",
        "m.array_split(x, 2, axis=1)[0]", "x + 0", "x[0, 0, ...]", "m.asfortranarray(x)"),
    3: ("x.transpose(2, 0, 1)", "x[0]", "x[..., 0]", "x.swapaxes(0, 2)", "x.reshape(2, -1)",
        "x.reshape(-1)", "x[:, :1]", "m.squeeze(x)", "x[::-1, :, ::-1]", "x[:, [1, 0]]", "x.mT",
        "x[[0, 1], :, [1, 0]]", "x.copy('A')", "m.rot90(x)", "x[1, ..., None]"),
}  # fmt: skip

#: what may be done to any array
WRITES = (
    "x += 1", "x *= 2", "x[...] = 3", "x -= x", "x[x > 2] = 0", "x[x > 2] += 1", "x[()] = 7",
    "m.add(x, 1, out=x)", "m.copyto(x, 5, where=x > 3)", "x.fill(4)", "m.putmask(x, x > 4, -x)",
)  # fmt: skip

#: what may be done to arrays of some number of dimensions
WRITES_OF: dict[int, tuple[str, ...]] = {
    0: (),
    1: ("x[1:] = x[:-1]", "x[::-1] += x", "x[0] = 9", "x[[0, 0, -1]] = [1, 2, 3]", "x[1:] *= 3",
        "x[m.array([0, 1])] += 1", "x[-1:] -= x[:1]", "x.flat[::2] = [5, 6]",
        "m.put(x, [0, -1], 8)", "x[m.argmin(x)] = -2", "x[:] = x[::-1]", "m.cumsum(x, out=x)"),
    2: ("x[0] = x[-1]", "x[:, 0] += 1", "x[1:] = x[:-1]", "x.T[...] = x[0, 0]", "x[0, 0] += 5",
        "x[[0, 1]] = x[[1, 0]]", "x[:, [0, 0]] = 6", "x.reshape(-1)[0] = -3", "x += x[::-1]",
        "x[m.argmax(x[:, 0])] += 2", "x.flat[1] = 7", "x[x[:, 0] > 1] -= 1",
        "x[[0, 1], [0, 1]] = [4, 5]", "x *= x[:, :1]", "x.T.flat = [1, 2, 3]",
        "x += x.T if x.shape[0] == x.shape[1] else 1"),
    3: ("x[0] += x[1]", "x[..., 0] = 1", "x[:, 1:] *= 2", "x.transpose(1, 2, 0)[0] -= 1",
        "x[[0, 1], :, [1, 0]] = 3", "x[x > 3] *= 2", "x.swapaxes(0, 1)[...] = x[0]"),
}  # fmt: skip

#: what makes a host value of an array
READS = ("x.sum().item()", "x.tolist()", "bool((x == 1).any())", "len(x) if x.ndim else 0")


def _pick(rng: onp.random.Generator, choices: tuple[str, ...]) -> str:
    return choices[rng.integers(len(choices))]


def program(seed: int) -> list[str]:
    """The statements of a seed; which can be made depends on what NumPy gives for those before."""
    rng = onp.random.default_rng(seed)
    lines = [f"a0 = {_pick(rng, FIRST)}"]
    names: dict[str, Any] = {"m": onp}
    _execute(lines[0], names)
    count = 1
    for _ in range(rng.integers(4, 9)):
        name = f"a{rng.integers(count)}"
        x = names[name]
        kind = rng.integers(10)
        if kind < 4 and count < 7:
            line = f"a{count} = {_pick(rng, VIEWS[x.ndim])}" if x.ndim in VIEWS else ""
        elif kind == 9:
            line = f"r = {_pick(rng, READS)}"
        else:
            line = _pick(rng, WRITES + WRITES_OF.get(x.ndim, ()))
        line = re.sub(r"\bx\b", name, line)
        if not line:
            continue
        _execute(line, names)
        new = names.get(f"a{count}")
        if new is not None:
            if isinstance(new, onp.ndarray):
                count += 1
            else:
                # a scalar: nothing aliases it
                del names[f"a{count}"]
                line = line.partition("= ")[2]
        lines.append(line)
    return lines


def _execute(line: str, names: dict[str, Any]) -> str | None:
    """Run a statement; the type of what it raised."""
    try:
        with warnings.catch_warnings(), onp.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            exec(line, names)
    except Exception as error:
        return next(t.__name__ for t in type(error).__mro__ if t.__module__ == "builtins")
    return None


def _facts(x: Any) -> Any:
    """What is compared of an array besides its data; strides where they mean something."""
    strides = tuple(s for s, n in zip(x.strides, x.shape) if n > 1) if x.size else ()
    flags = x.flags
    return (x.shape, onp.dtype(x.dtype).name, strides, flags.writeable, flags.owndata,
            x.base is None, flags.c_contiguous, flags.f_contiguous)  # fmt: skip


def _text(seed: int, lines: list[str]) -> str:
    return "\n".join([f"# seed {seed}", "import lazyloom_numpy as m  # or numpy", *lines])


@contextlib.contextmanager
def op_by_op() -> Iterator[None]:
    """Run every op when it is recorded: what there is to compile is then found in the cache."""
    before = hooks.grown
    hooks.grown = lambda c: evaluate_component(c, "test")
    try:
        with lazyloom.options(cut_ops=1):
            yield
    finally:
        hooks.grown = before


def check(seed: int) -> None:
    """Run a seed's program with both and compare all arrays."""
    lines = program(seed)
    theirs: dict[str, Any] = {"m": onp}
    ours: dict[str, Any] = {"m": np}
    with op_by_op() if seed % WHOLE else contextlib.nullcontext():
        _compare(seed, lines, theirs, ours)


def _compare(seed: int, lines: list[str], theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    for line in lines:
        expected, got = _execute(line, theirs), _execute(line, ours)
        assert got == expected, f"{line!r} raised {got}, expected {expected}\n{_text(seed, lines)}"
        if line.startswith("r = ") and expected is None:
            assert ours["r"] == theirs["r"], f"{line!r}\n{_text(seed, lines)}"
    names = [n for n, x in theirs.items() if isinstance(x, onp.ndarray)]
    if not seed % WHOLE:
        lazyloom.sync(*[ours[n] for n in names])
    for name in names:
        a, b = ours[name], theirs[name]
        assert _facts(a) == _facts(b), (
            f"{name}: {_facts(a)}, expected {_facts(b)}\n{_text(seed, lines)}")
        assert onp.asarray(a).tobytes() == b.tobytes() or onp.array_equal(
            onp.asarray(a), b, equal_nan=True), f"{name}:\n{a}\nexpected\n{b}\n{_text(seed, lines)}"
        for other in names:
            shared = onp.shares_memory(b, theirs[other])
            assert np.shares_memory(a, ours[other]) == shared or _unknown(ours[other]) or (
                _unknown(a)), f"{name} and {other}: shared {shared}\n{_text(seed, lines)}"


def _unknown(x: Any) -> bool:
    """Whether a position that only the device knows is part of what the array is."""
    return any(isinstance(s, lazyloom.frontend.Select) for s in x.view_steps)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_programs(block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        check(seed)


def test_the_programs_do_what_they_are_for() -> None:
    """Most statements run, and views that alias are common."""
    lines = [line for seed in range(200) for line in program(seed)]
    raised = 0
    for seed in range(200):
        names: dict[str, Any] = {"m": onp}
        raised += sum(_execute(line, names) is not None for line in program(seed))
    assert raised < len(lines) / 5
    assert sum(line.startswith("a") and "= a" in line for line in lines) > len(lines) / 5


def test_a_failing_seed_prints_its_program() -> None:
    text = _text(3, program(3))
    names: dict[str, Any] = {}
    exec(text, names)
    assert isinstance(names["a0"], np.ndarray)
