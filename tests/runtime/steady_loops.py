"""Loops of eight kinds that go on for ever, and what is counted of the process while they do.

``python -m tests.runtime.steady_loops 50000`` runs them for so many steps together, and says by how
much each count grew in the second half, and in a quarter more.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as onp

import lazyloom as ll
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom.trace import graph

#: containers with as many members as there are different things at most, not steps
PACKAGES = ("lazyloom", "lazyloom_numpy", "lazyloom_torch")

#: calls of each kind after which all of them do the same again. What the caches hold then is the
#: same, too; at any other time it is of other programs, large or small
PERIOD = 48


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
        self.scale = 1.0
        self.steps = 0

    def forward(self, x: Any) -> Any:
        self.steps += 1
        return torch.relu(self.inner(x)) * self.scale


def lengths(k: int) -> None:
    """Extents that differ from step to step."""
    n = 3 + k % 12
    a = np.arange(float(n))
    assert float((a * 2).sum()) == n * (n - 1)
    x = torch.ones(n, 4)
    torch.softmax(x, 0).sum(0).tolist()


_model, _captured_model = Model(), Model()
_optimizer = torch.optim.Adam(_model.parameters(), lr=1e-4)
_compiled = torch.compile(_captured_model)
_state = np.zeros(4)


@ll.jit
def _advance(x: Any) -> Any:
    global _state
    _state = _state * 0.5 + x
    return _state.sum()


def captured(k: int) -> None:
    """Calls that run without being recorded."""
    _advance(np.ones(4))
    _compiled(torch.ones(2, 4)).sum().item()


_losses: list[Any] = []


def kept(k: int) -> None:
    """Losses that are kept with their graphs, and read together now and then."""
    _losses.append(_model(torch.full((2, 4), float(k % 4))).sum())
    if len(_losses) == 16:
        _optimizer.zero_grad()
        torch.stack(_losses).mean().backward()
        _optimizer.step()
        _losses.clear()


def dropped(k: int) -> None:
    """Leaves that are dropped with what they collected, and hooks that name them."""
    w = torch.ones(64, 64, requires_grad=True)
    seen: list[Any] = []
    w.register_hook(lambda g: seen.append(w))
    y = w * 2
    y.register_hook(lambda g: g * 1 + y * 0)
    (y * y).sum().backward(retain_graph=k % 2 == 0)
    model = Model()
    model(torch.ones(1, 4)).sum().backward()


_shared = torch.zeros(8)
_rows = np.zeros((4, 4))


def threads(k: int) -> None:
    """Threads that come and go, and write to what they share; one after the other, since each
    order in which they meet is another program."""
    def work(number: int) -> None:
        _shared[number].add_(1)
        _rows[number] = float(k)
        (_model(torch.ones(1, 4)).sum()).backward()

    for number in range(2):
        thread = threading.Thread(target=work, args=(number,))
        thread.start()
        thread.join()
    _optimizer.zero_grad()
    if k % 8 == 0:
        assert _rows.sum() == 8.0 * k
        _shared.zero_()


_grown: list[Any] = [np.zeros((0, 2)), torch.zeros(0, 2)]


def growing(k: int) -> None:
    """Arrays that grow by a row at every step, up to a size."""
    if len(_grown[0]) == 24:
        _grown[:] = [np.zeros((0, 2)), torch.zeros(0, 2)]
    _grown[0] = np.concatenate([_grown[0], np.ones((1, 2))])
    _grown[1] = torch.cat([_grown[1], torch.ones(1, 2)])
    assert float(_grown[0].sum()) == float(_grown[1].sum())


def attributes(k: int) -> None:
    """Attributes that are others at each call, of objects and of tensors."""
    _captured_model.scale = 1.0 + k % 8
    _compiled(torch.ones(2, 4)).sum().item()
    x = torch.ones(3)
    x.before, x.number = x * 2, k
    x.itself = x


def exceptions(k: int) -> None:
    """Errors at the call, where a value is read, in a hook, and from the user's own code."""
    for wrong in (lambda: np.ones(3) + np.ones(4), lambda: torch.ones(2, 3) @ torch.ones(2, 3),
                  lambda: torch.ones(3)[torch.tensor([7])].sum().item()):
        try:
            wrong()
        except (ValueError, RuntimeError, IndexError):
            pass
        else:
            raise AssertionError("no error was raised")
    w = torch.ones(3, requires_grad=True)
    w.register_hook(lambda g: 1 / 0)
    try:
        (w * 2).sum().backward()
    except ZeroDivisionError:
        pass


KINDS: list[Callable[[int], None]] = [
    lengths, captured, kept, dropped, threads, growing, attributes, exceptions]


def run(kinds: list[Callable[[int], None]], steps: int) -> None:
    """So many steps, the kinds in turn."""
    for k in range(steps):
        kinds[k % len(kinds)](k // len(kinds))


def counts() -> dict[str, int]:
    """What may not grow: nodes and components, objects, members of containers, files, mappings."""
    _optimizer.zero_grad()
    ll.sync()
    for _ in range(3):
        gc.collect()
    one = ll.from_host(onp.ones(1))
    ll.record("add", [one, one]).read()  # what was let go of is taken apart at a call
    found = {
        "pending nodes": sum(len(c.nodes) for c in graph.trace.components),
        "components": len(graph.trace.components),
        "threads": threading.active_count(),
        "objects": len(gc.get_objects()),
        "files": len(os.listdir("/proc/self/fd")),
    }
    with open("/proc/self/maps") as file:
        found["mappings"] = len(file.readlines())
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in PACKAGES:
            for key, value in vars(module).items():
                if isinstance(value, (dict, list, set)) and not key.startswith("__"):
                    found[f"{name}.{key}"] = len(value)
    return found


def resident() -> int:
    """Bytes of memory in use."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def grown(before: dict[str, int], after: dict[str, int], allowed: int = 0) -> dict[str, int]:
    """What grew by more than is allowed, and by how much; not what is of new modules."""
    return {name: count - before[name] for name, count in after.items()
            if name in before and count - before[name] > allowed}


#: what may not grow by one; all else may by less than one for four steps of a kind
EXACT = ("pending nodes", "components", "threads", "files")


def growth(steps: int, kinds: list[Callable[[int], None]]) -> tuple[dict[str, int], int, int]:
    """What grew in the second half of so many steps and again in a quarter more, the bytes before
    and by how much more; the steps are rounded to whole periods."""
    import jax  # noqa: F401 - it is imported when it is first of use, which is not at the start

    period = PERIOD * len(kinds)
    quarter = max(1, steps // 4 // period) * period
    with ll.options(records_kept=8, programs_kept=64):
        run(kinds, 2 * quarter)
        before, memory = counts(), resident()
        run(kinds, 2 * quarter)
        middle = counts()
        run(kinds, quarter)
        after = counts()
        once, twice = grown(before, middle), grown(middle, after)
        seldom = quarter // len(kinds) // 4
        return {name: n + twice[name] for name, n in once.items() if name in twice and (
            name in EXACT or n > 2 * seldom and twice[name] > seldom)}, memory, resident() - memory


if __name__ == "__main__":
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    chosen = [f for f in KINDS if f.__name__ in sys.argv[2:]] or KINDS
    found, at_first, increase = growth(total, chosen)
    print(f"{total} steps: {increase / 1e6:+.1f} MB beside {at_first / 1e6:.0f} MB")
    print(found or "nothing grew")
