"""Programs that both libraries can run: parameters that share memory, optimizers' machinery."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Case = Callable[[Any], Any]


def parameters_of_shared_memory(t: Any) -> Any:
    a, x = t.nn.Parameter(t.zeros(2, 3)), t.zeros(2, 3)
    part = x[0]
    made = [t.nn.Parameter(a.data.t()), t.nn.Parameter(a), t.nn.Parameter(x),
            t.nn.Parameter(part, requires_grad=False), t.nn.Buffer(x.t())]
    with t.no_grad():
        a.add_(1)
        x.add_(2)
    part.add_(1)
    (made[0].sum() + 2 * made[1].sum() + 3 * made[2].sum()).backward()
    # each is updated by its own gradient, one after the other
    t.optim.SGD([a, *made[:3]], lr=0.1).step()
    tied = t.nn.Parameter(t.ones(2, 2) @ t.ones(2, 2))
    tied.data = tied.data[:1]
    (tied * tied).sum().backward()
    last = t.nn.Parameter((a * 2)[1])
    made.append(last.data.as_strided((2,), (2,)))
    return [[m.detach() for m in made], [m.grad for m in made[:3]], a, x, tied, tied.grad,
            [m.is_leaf for m in made], made[0].is_contiguous()]


def averages_put_in_and_out(t: Any) -> Any:
    p = t.nn.Parameter(t.ones(3))
    flat, shadow, kept = t.arange(6.0), t.zeros(3), p.data
    found = []
    for data in (shadow, kept, flat[3:], shadow, kept):
        p.data = data
        p.grad = None
        (p * p).sum().backward()
        t.optim.SGD([p], lr=0.25).step()
        found.append((p.detach().clone(), p.grad))
    return found, flat, shadow, kept


def hooks_see_the_optimizer(t: Any) -> Any:
    p = t.nn.Parameter(t.ones(2))
    optimizer = t.optim.SGD([{"params": [p]}, {"params": [t.nn.Parameter(t.ones(1))]}], lr=0.1)
    seen = []
    optimizer.register_step_pre_hook(
        lambda o, args, kwargs: (seen.append(args[0] is o), ((o,), {}))[1])
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(len(args)))
    optimizer.step(None)
    return seen, repr(optimizer)


def gradient_of_another_dtype(t: Any) -> Any:
    p = t.nn.Parameter(t.ones(2))
    p.grad = t.ones(2, dtype=t.float64)


def loaders_of_iterables(t: Any) -> Any:
    class Numbers(t.utils.data.IterableDataset):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Any:
            return iter(range(3))

    data = t.utils.data
    chained = list(data.DataLoader(Numbers() + Numbers(), batch_size=4))
    epoch = iter(data.DataLoader(range(3), batch_size=2))
    return chained, len(epoch), list(epoch), data._utils.collate.default_collate([1, 2])


def names_of_parameters(t: Any) -> Any:
    d = t.nn.ParameterDict({"b": t.ones(1), "a": t.ones(2)})
    return list(d), repr(d.load_state_dict({"a": t.ones(2), "c": t.ones(1)}, strict=False))


TRAINING: dict[str, Case] = {f.__name__: f for f in (
    parameters_of_shared_memory, averages_put_in_and_out, hooks_see_the_optimizer,
    gradient_of_another_dtype, loaders_of_iterables, names_of_parameters)}
