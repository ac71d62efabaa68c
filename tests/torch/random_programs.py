"""Random programs of views, in-place operations and gradients, under PyTorch and the frontend.

A program is a list of steps over a pool of tensors. It is made by running it under PyTorch: each
step picks something that fits the tensors that are there. Run under both libraries, every tensor
of the pool, what it says of itself and the gradients of all leaves are compared; where PyTorch
refuses a step the frontend must refuse it too.

PyTorch refuses to differentiate through a value that was overwritten where its formula needs it;
the frontend gives the gradient. So PyTorch runs with copies in place of every operand and
result, which makes no other difference. Left out is what PyTorch makes of views that are older than
the gradient of their base, were taken without recording one, or require one of their own: leaves
beside or below their base.

``python -m tests.torch.random_programs --start 0 --count 1000`` runs many; with ``--forms`` each op
by op, whole, and whole again, which must give the same bits; with ``--large`` on large arrays.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

Step = tuple[Any, ...]

SHAPES = ((3, 4), (4,), (2, 3, 2), (3, 1), ())
#: the same with arrays that are computed in blocks, and in memory that is written over
LARGE = ((300, 400), (400,), (20, 300, 20), (300, 1), ())
#: what a wrong program, or a wrong frontend, may raise
KINDS = (RuntimeError, ValueError, TypeError, IndexError, AttributeError, AssertionError, KeyError)
UNARY: dict[str, Callable[[Any], Any]] = {
    "sin": lambda x: x.sin(), "tanh": lambda x: x.tanh(), "neg": lambda x: -x,
    "scaled": lambda x: x * 0.75, "shifted": lambda x: 1.5 - x, "squared": lambda x: x * x,
    "clone": lambda x: x.clone(), "sigmoid": lambda x: x.sigmoid(),
    "sum0": lambda x: x.sum(), "cumsum": lambda x: x.cumsum(-1) if x.dim() else x * 1,
    "flip": lambda x: x.flip(0) if x.dim() else x * 1,
    "rows": lambda x: x[[0, -1, 0]] if x.dim() else x * 1,
    "moved": lambda x: x.movedim(0, -1) * 1 if x.dim() else x * 1,
    "relu": lambda x: x.relu(), "contiguous": lambda x: x.contiguous() * 1,
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
    "max": lambda x, y: (x > y) * x + (x <= y) * y,
}
INPLACE: dict[str, Callable[[Any], Any]] = {
    "sin_": lambda x: x.sin_(), "mul_": lambda x: x.mul_(0.5), "add_": lambda x: x.add_(0.25),
    "zero_": lambda x: x.zero_(), "fill_": lambda x: x.fill_(0.3), "tanh_": lambda x: x.tanh_(),
    "clamp_": lambda x: x.clamp_(-0.5, 0.8), "neg_": lambda x: x.neg_(),
}
INPLACE_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add_": lambda x, y: x.add_(y), "mul_": lambda x, y: x.mul_(y), "sub_": lambda x, y: x.sub_(y),
    "copy_": lambda x, y: x.copy_(y),
}


def _view(x: Any, step: Step) -> Any:
    """A view of a tensor, by the name and arguments of a step."""
    kind, *args = step
    if kind == "index":
        return x[tuple(args[0])]
    if kind == "transpose":
        return x.transpose(args[0], args[1])
    if kind == "flat":
        return x.reshape(-1)
    if kind == "view":
        return x.view(args[0])
    if kind == "unsqueeze":
        return x.unsqueeze(args[0])
    if kind == "squeeze":
        return x.squeeze()
    if kind == "expand":
        return x.expand(args[0])
    if kind == "diagonal":
        return x.diagonal(args[0])
    if kind == "narrow":
        return x.narrow(args[0], args[1], args[2])
    if kind == "detach":
        return x.detach()
    if kind == "select":
        return x.select(args[0], args[1])
    if kind == "data":
        return x.data
    raise AssertionError(kind)


def apply(t: Any, pool: list[Any], step: Step, copied: bool) -> Any:
    """Run one step; its result, or None for one that makes no tensor."""
    kind, *args = step

    def get(i: int) -> Any:
        return pool[i].clone() if copied else pool[i]

    def made(x: Any) -> Any:
        return x.clone() if copied else x

    if kind == "no_grad":
        with t.no_grad():
            return apply(t, pool, args[0], copied)
    if kind == "leaf":
        return t.tensor(args[0], dtype=t.float64, requires_grad=args[1])
    if kind == "unary":
        return made(UNARY[args[0]](get(args[1])))
    if kind == "binary":
        return made(BINARY[args[0]](get(args[1]), get(args[2])))
    if kind == "matmul":
        return made(get(args[0]) @ get(args[1]))
    if kind == "cat":
        return t.cat([get(args[0]), get(args[1])])
    if kind == "view":
        return _view(pool[args[0]], args[1])
    if kind == "inplace":
        x = pool[args[1]]
        if copied:
            _written(x, INPLACE[args[0]](x.clone()), step)
        else:
            INPLACE[args[0]](x)
        return None
    if kind == "inplace_binary":
        x, y = pool[args[1]], get(args[2])
        if copied:
            _written(x, INPLACE_BINARY[args[0]](x.clone(), y), step)
        else:
            INPLACE_BINARY[args[0]](x, y)
        return None
    if kind == "set":
        pool[args[0]][tuple(args[1])] = get(args[2])
        return None
    if kind == "set_mask":
        x = pool[args[0]]
        mask = get(args[0]).detach() > args[1]
        if copied:
            _written(x, x.clone().masked_fill(mask, args[2]), step)
        else:
            x.masked_fill_(mask, args[2])
        return None
    if kind == "set_rows":
        pool[args[0]][t.tensor(args[1])] = get(args[2])
        return None
    if kind == "add_rows":
        x, rows = pool[args[0]], t.tensor(args[1])
        if copied:
            _written(x, x.clone().index_add_(0, rows, get(args[2])), step)
        else:
            x.index_add_(0, rows, get(args[2]))
        return None
    if kind == "grad":
        found = t.autograd.grad((get(args[0]) * 2).sum(), pool[args[1]], create_graph=True,
                                allow_unused=True)[0]
        return None if found is None else made(found)
    if kind == "requires_grad":
        pool[args[0]].requires_grad_()
        return None
    if kind == "backward":
        (get(args[0]).sum() * args[1]).backward(retain_graph=True)
        return None
    raise AssertionError(kind)


def _written(x: Any, found: Any, step: Step) -> None:
    """Write what an in-place operation on a copy gave into the tensor itself."""
    x.copy_(found)


def _settle(pool: list[Any]) -> None:
    """Let PyTorch know of each view how it comes from its base.

    Of a view that is older than the gradient of its base it finds that out when the view is read,
    and takes it for a leaf until then.
    """
    for x in pool:
        x.grad_fn  # noqa: B018


def _index(rng: random.Random, shape: tuple[int, ...]) -> list[Any]:
    index: list[Any] = []
    for d in shape:
        choice = rng.random()
        if choice < 0.3:
            index.append(rng.randrange(-d, d))
        elif choice < 0.6:
            start = rng.randrange(d)
            index.append(slice(start, rng.randrange(start + 1, d + 1)))
        elif choice < 0.7:
            index.append(slice(None, None, 2))
        else:
            index.append(slice(None))
    if rng.random() < 0.1:
        index.insert(rng.randrange(len(index) + 1), None)
    return index


def _view_step(rng: random.Random, x: Any) -> Step:
    shape = tuple(x.shape)
    kinds = ["detach", "unsqueeze", "squeeze", "flat", "index", "index", "index", "data"]
    if shape:
        kinds += ["transpose", "narrow", "select"]
    if len(shape) >= 2:
        kinds += ["diagonal", "view"]
    if 1 in shape or len(shape) == 1:
        kinds += ["expand"]
    kind = rng.choice(kinds)
    if kind == "index":
        return ("index", _index(rng, shape))
    if kind == "transpose":
        return ("transpose", rng.randrange(len(shape)), rng.randrange(len(shape)))
    if kind == "narrow":
        dim = rng.randrange(len(shape))
        start = rng.randrange(shape[dim])
        return ("narrow", dim, start, rng.randrange(1, shape[dim] - start + 1))
    if kind == "select":
        dim = rng.randrange(len(shape))
        return ("select", dim, rng.randrange(shape[dim]))
    if kind == "unsqueeze":
        return ("unsqueeze", rng.randrange(len(shape) + 1))
    if kind == "diagonal":
        return ("diagonal", rng.randrange(-1, 2))
    if kind == "view":
        return ("view", (-1, shape[-1]))
    if kind == "expand":
        return ("expand", (2, *[3 if d == 1 else d for d in shape]))
    return (kind,)


def _broadcasts(a: tuple[int, ...], b: tuple[int, ...], to_a: bool) -> bool:
    try:
        found = np.broadcast_shapes(a, b)
    except ValueError:
        return False
    return found == a if to_a else len(found) <= 3 and int(np.prod(found)) <= 48


def _step(rng: random.Random, pool: list[Any], several: set[int]) -> Step | None:
    """A step that fits the pool. ``several``: what shares its memory with itself is not
    written."""
    i = rng.randrange(len(pool))
    x = pool[i]
    shape = tuple(x.shape)
    choice = rng.random()
    if choice < 0.14:
        return ("unary", rng.choice(list(UNARY)), i)
    if choice < 0.28:
        j = rng.randrange(len(pool))
        if _broadcasts(shape, tuple(pool[j].shape), False):
            return ("binary", rng.choice(list(BINARY)), i, j)
        return None
    if choice < 0.32:
        j = rng.randrange(len(pool))
        y = pool[j]
        if len(shape) >= 1 and y.dim() in (1, 2) and shape[-1] == y.shape[0]:
            return ("matmul", i, j)
        return None
    if choice < 0.35:
        j = rng.randrange(len(pool))
        return ("cat", i, j) if shape and tuple(pool[j].shape) == shape else None
    if choice < 0.6:
        return ("view", i, _view_step(rng, x))
    if choice < 0.62:
        return ("requires_grad", i) if x.is_leaf else None
    if choice < 0.65:
        leaves = [j for j, y in enumerate(pool) if y.is_leaf and y.requires_grad]
        return ("grad", i, rng.choice(leaves)) if x.requires_grad and leaves else None
    if choice < 0.67:
        if x.requires_grad:
            return ("backward", i, rng.choice([1.0, -0.5]))
        return None
    if i in several:
        return None
    if choice < 0.76:
        return ("inplace", rng.choice(list(INPLACE)), i)
    if choice < 0.9:
        j = rng.randrange(len(pool))
        if _broadcasts(shape, tuple(pool[j].shape), True):
            return ("inplace_binary", rng.choice(list(INPLACE_BINARY)), i, j)
        return None
    if choice < 0.93 and shape:
        rows = [rng.randrange(shape[0]) for _ in range(2)]
        j = rng.randrange(len(pool))
        if choice < 0.915 and rows[0] != rows[1]:
            fits = _broadcasts((2, *shape[1:]), tuple(pool[j].shape), True)
            return ("set_rows", i, rows, j) if fits else None
        return ("add_rows", i, rows, j) if tuple(pool[j].shape) == (2, *shape[1:]) else None
    if choice < 0.97:
        index = _index(rng, shape)
        j = rng.randrange(len(pool))
        target = tuple(np.empty(shape)[tuple(index)].shape)
        if _broadcasts(target, tuple(pool[j].shape), True):
            return ("set", i, index, j)
        return None
    return ("set_mask", i, 0.2, -0.4)


def _self_overlapping(x: Any) -> bool:
    return any(s == 0 and d > 1 for s, d in zip(x.stride(), x.shape))


def generate(theirs: Any, seed: int, length: int = 12, shapes: Any = SHAPES) -> list[Step]:
    """A program, made by running it under PyTorch."""
    rng = random.Random(seed)
    pool: list[Any] = []
    steps: list[Step] = []
    several: set[int] = set()
    views: set[int] = set()  # what shares its gradient with another
    for _ in range(3):
        shape = rng.choice(shapes)
        data = np.array([rng.uniform(-1, 1) for _ in range(int(np.prod(shape)))]).reshape(shape)
        steps.append(("leaf", data.tolist(), rng.random() < 0.6))
        pool.append(apply(theirs, pool, steps[-1], True))
    while len(steps) < length:
        step = _step(rng, pool, several)
        if step is None or step[0] == "requires_grad" and step[1] in views:
            continue
        wrapped = step
        if rng.random() < 0.15 and step[0] not in ("backward", "grad", "requires_grad", "view"):
            wrapped = ("no_grad", step)
        steps.append(wrapped)
        try:
            made = apply(theirs, pool, wrapped, True)
        except RuntimeError:
            continue
        _settle([*pool, *([made] if made is not None else [])])
        if step[0] == "view" and step[2][0] not in ("detach", "data"):
            views |= {step[1], len(pool)}
        if made is not None and 0 in made.shape:
            steps.pop()
        elif made is not None:
            pool.append(made)
            at = len(pool) - 1
            shared = step[0] == "view" and step[1] in several
            if shared or _self_overlapping(made):
                several.add(at)
    return steps


class Outcome:
    """What a run of a program gave.

    Attributes:
        refused: numbers of the steps that raised.
        facts: of each tensor, what it says of itself.
        data: all elements of all tensors and gradients.
        missing: which leaves have no gradient.
    """

    def __init__(self, t: Any, steps: list[Step], copied: bool) -> None:
        pool: list[Any] = []
        self.refused: list[tuple[int, str]] = []
        for number, step in enumerate(steps):
            try:
                made = apply(t, pool, step, copied)
            except RuntimeError as error:
                self.refused.append((number, str(error)))
                continue
            if made is not None:
                pool.append(made)
            if copied:
                _settle(pool)
        loss = None
        for number, x in enumerate(pool):
            part = (x.sin() * (number + 1)).sum()
            loss = part if loss is None else loss + part
        if loss is not None and loss.requires_grad:
            loss.backward()
        self.facts = [(tuple(x.shape), x.requires_grad, x.is_leaf) for x in pool]
        grads = [x.grad if x.is_leaf else None for x in pool]
        self.missing = [i for i, g in enumerate(grads) if g is None]
        parts = [x.detach().reshape(-1) for x in (*pool, *[g for g in grads if g is not None])]
        self.data = np.array(t.cat(parts).tolist())
        self.sizes = [int(np.prod(p.shape)) for p in parts]


def difference(theirs: Any, mine: Any, steps: list[Step]) -> str | None:
    """How the two libraries differ on a program, or None."""
    expected = Outcome(theirs, steps, True)
    try:
        found = Outcome(mine, steps, False)
    except KINDS as error:
        return f"{type(error).__name__}: {error}"
    if [n for n, _ in found.refused] != [n for n, _ in expected.refused]:
        return f"refused {found.refused}, expected {expected.refused}"
    if found.facts != expected.facts:
        return f"(shape, requires_grad, is_leaf) are {found.facts}, expected {expected.facts}"
    if found.missing != expected.missing:
        return f"no gradient for {found.missing}, expected {expected.missing}"
    close = np.isclose(found.data, expected.data, rtol=1e-9, atol=1e-9)
    if not close.all():
        ends = np.cumsum(expected.sizes)
        bad = sorted({int(np.searchsorted(ends, i, "right")) for i in np.flatnonzero(~close)})
        return (f"tensors and gradients number {bad} of {len(expected.facts)} tensors differ: "
                f"{found.data[~close][:4]}, expected {expected.data[~close][:4]}")
    return None


#: how far apart the forms may be: units in the last place of float64, of what is at least 1 large
ULPS = 4096


def forms_differ(mine: Any, steps: list[Step], large: bool = False) -> tuple[str | None, float]:
    """How a program's forms differ, or None; and how far apart they are, in :data:`ULPS`.

    Sums of ``large`` arrays cancel: there so many units of the largest number, times 64, are none.
    """
    import lazyloom

    allowed = 64 * ULPS if large else ULPS
    data = []
    for reproducible in (False, True, True):
        with lazyloom.options(reproducible=reproducible):
            data.append(Outcome(mine, steps, False).data)
    pieces, whole, again = data
    if whole.tobytes() != again.tobytes():
        return f"whole twice: {whole[whole != again][:4]}, then {again[whole != again][:4]}", 0.0
    if pieces.shape != whole.shape:
        return f"op by op {pieces.shape} numbers, whole {whole.shape}", 0.0
    unlike = np.isnan(pieces) != np.isnan(whole)
    with np.errstate(invalid="ignore"):
        apart = np.abs(pieces - whole) / np.maximum(
            np.abs(whole).max(initial=0.0, where=np.isfinite(whole)) if large else np.abs(whole), 1)
    ulps = float(np.nan_to_num(apart).max(initial=0.0)) / float(np.finfo(np.float64).eps)
    if unlike.any() or ulps > allowed:
        bad = unlike | (apart > allowed * np.finfo(np.float64).eps)
        return f"op by op {pieces[bad][:4]}, whole {whole[bad][:4]}", ulps
    return None, ulps


def shortest(theirs: Any, mine: Any, steps: list[Step]) -> list[Step]:
    """The program with as many steps left out as still shows a difference."""
    again = True
    while again:
        again = False
        for i in reversed(range(len(steps))):
            if steps[i][0] == "leaf":
                continue
            fewer = steps[:i] + steps[i + 1:]
            try:
                if difference(theirs, mine, fewer) is not None:
                    steps, again = fewer, True
            except KINDS:
                continue  # the rest refers to what the step made
    return steps


def main() -> int:
    import torch

    import lazyloom_torch

    parser = argparse.ArgumentParser()
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--length", type=int, default=14)
    parser.add_argument("--most", type=int, default=5, help="failures to show")
    parser.add_argument("--forms", action="store_true",
                        help="compare the forms in which the frontend's programs run")
    parser.add_argument("--large", action="store_true", help="arrays of 960,000 bytes")
    given = parser.parse_args()
    failures = 0
    most = 0.0
    for seed in range(given.start, given.start + given.count):
        steps = generate(torch, seed, given.length, LARGE if given.large else SHAPES)
        if given.forms:
            text, ulps = forms_differ(lazyloom_torch, steps, given.large)
            most = max(most, ulps)
            failures += text is not None
            if text is not None and failures <= given.most:
                print(f"seed {seed}: {text}")
            continue
        text = difference(torch, lazyloom_torch, steps)
        if text is None:
            continue
        failures += 1
        if failures <= given.most:
            small = shortest(torch, lazyloom_torch, steps)
            print(f"seed {seed}: {difference(torch, lazyloom_torch, small)}")
            for i, s in enumerate(small):
                print(f"   {i}: {s}")
    apart = f"; at most {most:.1f} units in the last place apart" if given.forms else ""
    print(f"{given.count} programs, {failures} differ{apart}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
