"""Walks PyTorch's own table of optimizers (``optim_db``) and compares with the frontend.

``python -m tests.conformance.torch_optim --names 'Adam*,SGD'`` prints one line an optimizer: some
steps with the same gradients (parameters, state dict and groups are compared, and that nothing is
read), the state dict's way to PyTorch and back with a further step on both sides, gradients through
differentiable steps, and the errors. ``--write FILE`` keeps the results as JSON. Needs PyTorch
2.13.
"""

from __future__ import annotations

import copy
import pickle
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_optimizers import OptimizerErrorEnum, optim_db

import lazyloom
import lazyloom_torch
from tests.conformance import torch_walk
from tests.conformance.torch_values import Converter, difference

STEPS = 4
SHAPES = ((3, 4), (4,), (), (2, 3, 2), (3, 4))
MATRICES = ((3, 4), (4, 2), (3, 4))
#: optimizers that read by nature, and why
READS = {"LBFGS": "the closure's loss and the slopes decide where the search goes"}
#: they have no complex form, or none of half precision that could be compared
REFUSED = {"Adafactor": ("complex64",), "Muon": ("complex64",), "LBFGS": ("bfloat16",)}

#: factors on tolerances: a search amplifies rounding, and an iteration in bfloat16 does
LOOSE = {"LBFGS": 100.0, "Muon": 10.0}
#: PyTorch computes some of their numbers in float32
ROUNDED = ("ASGD", "NAdam", "Muon")


@dataclass
class Result(torch_walk.Result):
    """Of one optimizer; counts are of configurations."""

    place = "{}"

    configurations: int = 0
    steps: int = 0
    exchange: int = 0
    gradients: int = 0
    gradients_configurations: int = 0
    errors: int = 0
    errors_configurations: int = 0

    def counts(self) -> str:
        return (f"steps {self.steps}/{self.configurations}, exchange {self.exchange}/"
                f"{self.configurations}, gradients {self.gradients}/"
                f"{self.gradients_configurations}, errors {self.errors}/"
                f"{self.errors_configurations}")


def entries(patterns: list[str]) -> Iterator[Any]:
    """The optimizers on the fixed list, but the sparse one, whose names match."""
    table = [info for info in optim_db if info.name != "SparseAdam"]
    return torch_walk.matching(table, "optimizers", patterns)


def to_torch(x: Any) -> Any:
    """A state dict of the frontend as one of PyTorch's."""
    if isinstance(x, lazyloom_torch.Tensor):
        array = x.detach().read()
        if x.dtype is lazyloom_torch.bfloat16:
            return torch.from_numpy(np.array(array, np.float32)).bfloat16()
        return torch.from_numpy(np.array(array))
    if isinstance(x, dict):
        return {k: to_torch(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(to_torch(v) for v in x)
    return x


def _unlike(mine: Any, theirs: Any, loose: float, path: str) -> str | None:
    """The first difference of two structures of dicts, lists, numbers and tensors."""
    if isinstance(theirs, dict):
        if list(mine) != list(theirs):
            return f"{path} has {list(mine)}, expected {list(theirs)}"
        found = (_unlike(mine[k], theirs[k], loose, f"{path}[{k!r}]") for k in theirs)
    elif isinstance(theirs, (list, tuple)):
        if len(mine) != len(theirs):
            return f"{path} has {len(mine)} members, expected {len(theirs)}"
        found = (_unlike(a, b, loose, f"{path}[{i}]") for i, (a, b) in enumerate(
            zip(mine, theirs, strict=True)))
    elif isinstance(theirs, torch.Tensor) and not isinstance(mine, lazyloom_torch.Tensor):
        # L-BFGS counts its first step in a tensor, and here in a number
        return _unlike(mine, theirs.item(), loose, path)
    else:
        wrong = difference(mine, theirs, loose)
        return f"{path}: {wrong}" if wrong else None
    return next((text for text in found if text), None)


class Pair:
    """Parameters and an optimizer on both sides, given the same gradients."""

    def __init__(self, info: Any, dtype: torch.dtype, kwargs: dict[str, Any], grouped: bool
                 ) -> None:
        self.info, self.dtype = info, dtype
        self.random = torch.Generator().manual_seed(1)
        shapes = MATRICES if info.name == "Muon" else SHAPES
        self.theirs = [torch.nn.Parameter(self._draw(s)) for s in shapes]
        self.targets = [self._draw(s) for s in shapes]
        convert = Converter()
        self.mine = [convert(p) for p in self.theirs]
        self.optimizers = (
            self.make(lazyloom_torch, self.mine, Converter()(kwargs), grouped),
            self.make(torch, self.theirs, kwargs, grouped))

    def _draw(self, shape: tuple[int, ...]) -> torch.Tensor:
        return torch.randn(shape, dtype=self.dtype, generator=self.random)

    def make(self, library: Any, params: Any, kwargs: dict[str, Any], grouped: bool) -> Any:
        if grouped:
            params = [{"params": params[:2]}, {"params": params[2:], "lr": 0.02}]
        return getattr(library.optim, self.info.name)(params, **kwargs)

    def closures(self) -> tuple[Any, Any]:
        """A loss on each side, with its backward pass."""
        targets = self.targets

        def closure(library: Any, params: Any, optimizer: Any, goals: Any) -> Any:
            def run() -> Any:
                optimizer.zero_grad()
                loss = sum(((p - g).abs() ** 4).sum() + ((p - g).abs() ** 2).sum()
                           for p, g in zip(params, goals, strict=True))
                loss.backward()
                return loss

            return run

        mine, theirs = self.optimizers
        return (closure(lazyloom_torch, self.mine, mine, Converter()(targets)),
                closure(torch, self.theirs, theirs, targets))

    def step(self, i: int) -> None:
        """One step of both; in the first, a parameter has no gradient yet."""
        if self.info.step_requires_closure:
            for optimizer, closure in zip(self.optimizers, self.closures(), strict=True):
                optimizer.step(closure)
            return
        for k, (mine, theirs) in enumerate(zip(self.mine, self.theirs, strict=True)):
            gradient = self._draw(tuple(theirs.shape))
            absent = i == 0 and k == 1
            theirs.grad = None if absent else gradient
            mine.grad = None if absent else Converter()(gradient)
        for optimizer in self.optimizers:
            optimizer.step()

    def states(self) -> tuple[Any, Any]:
        mine, theirs = (o.state_dict() for o in self.optimizers)
        for state in (*mine["state"].values(), *theirs["state"].values()):
            state.pop("al", None)  # PyTorch's room for numbers between two loops
        return mine, theirs


class Walk:
    """One optimizer at one dtype."""

    def __init__(self, info: Any, dtype: torch.dtype) -> None:
        self.info, self.dtype = info, dtype
        self.result = Result(info.name, str(dtype).removeprefix("torch."))
        self.loose = LOOSE.get(info.name, 1.0)
        if dtype is torch.float64 and info.name in ROUNDED:
            self.loose = 1e3

    def configurations(self) -> Iterator[tuple[str, dict[str, Any], bool]]:
        """The table's, and those with the flags and groups that every test of it adds."""
        given = self.info.optim_inputs_func(device="cpu")
        for one in given:
            # where a search has converged its state is noise
            few = {"max_iter": 2} if self.info.step_requires_closure else {}
            yield one.desc, {**one.kwargs, **few}, False
        if self.info.supports_param_groups:
            yield "groups", given[-1].kwargs, True
        for flag in self.info.supported_impls:
            if flag == "differentiable" or (flag == "fused" and self.dtype.is_complex):
                continue
            yield flag, {**given[1].kwargs, flag: True}, False

    def run(self) -> Result:
        begun = time.time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for place, kwargs, grouped in self.configurations():
                self.result.configurations += 1
                try:
                    self._attempt(place, kwargs, grouped)
                except Exception as error:
                    self.result.fail("steps", place, f"{type(error).__name__}: {error}")
            if "differentiable" in self.info.supported_impls and self.dtype is torch.float64:
                self._differentiable()
            if self.dtype is torch.float32:
                self._errors()
        self.result.seconds = round(time.time() - begun, 2)
        return self.result

    def _attempt(self, place: str, kwargs: dict[str, Any], grouped: bool) -> None:
        pair = Pair(self.info, self.dtype, copy.deepcopy(kwargs), grouped)
        before = lazyloom.stats()["reads"]
        for i in range(2 if self.info.step_requires_closure else STEPS):
            pair.step(i)
        read = lazyloom.stats()["reads"] - before
        if read and self.info.name not in READS:
            self.result.reads += read
            self.result.fail("reads", place, f"{read} reads")
        mine, theirs = pair.states()
        wrong = _unlike(pair.mine, pair.theirs, self.loose, "parameters") or _unlike(
            mine, theirs, self.loose, "state_dict")
        if wrong:
            self.result.fail("steps", place, wrong)
            return
        self.result.steps += 1
        wrong = self._exchange(pair, mine, theirs, kwargs, grouped)
        if wrong:
            self.result.fail("exchange", place, wrong)
        else:
            self.result.exchange += 1

    def _exchange(
        self, pair: Pair, mine: Any, theirs: Any, kwargs: dict[str, Any], grouped: bool
    ) -> str | None:
        """Each side goes on from the other's state dict; ours has been through pickle, too."""
        fresh_mine = pair.make(
            lazyloom_torch, pair.mine, Converter()(copy.deepcopy(kwargs)), grouped)
        fresh_theirs = pair.make(torch, pair.theirs, copy.deepcopy(kwargs), grouped)
        fresh_theirs.load_state_dict(to_torch(mine))
        fresh_mine.load_state_dict(pickle.loads(pickle.dumps(Converter()(theirs))))
        pair.optimizers = (fresh_mine, fresh_theirs)
        pair.step(STEPS)
        states = pair.states()
        return _unlike(pair.mine, pair.theirs, self.loose, "parameters") or _unlike(
            *states, self.loose, "state_dict")

    def _differentiable(self) -> None:
        """The gradient of two steps' result with respect to where they started."""
        for one in self.info.optim_inputs_func(device="cpu"):
            if any(isinstance(v, torch.Tensor) for v in one.kwargs.values()):
                continue
            random = torch.Generator().manual_seed(2)
            start = torch.rand((3, 2), dtype=self.dtype, generator=random) + 0.5
            convert = Converter()
            start.requires_grad_()
            try:
                theirs = self._gradient(torch, start, one.kwargs)
            except RuntimeError:
                continue  # PyTorch's own in-place steps do not allow it
            self.result.gradients_configurations += 1
            try:
                mine = self._gradient(lazyloom_torch, convert(start), one.kwargs)
            except Exception as error:
                self.result.fail("gradients", one.desc, f"{type(error).__name__}: {error}")
                continue
            wrong = difference(mine, theirs, 1e3)
            if wrong:
                self.result.fail("gradients", one.desc, wrong)
            else:
                self.result.gradients += 1

    def _gradient(self, library: Any, start: Any, kwargs: dict[str, Any]) -> Any:
        p = start.clone()
        optimizer = getattr(library.optim, self.info.name)([p], differentiable=True, **kwargs)
        for _ in range(2):
            p.grad = start * start * 0.3 + 0.2
            optimizer.step()
        (gradient,) = library.autograd.grad([(p * p).sum()], [start])
        return gradient

    def _errors(self) -> None:
        for one in self.info.optim_error_inputs_func(device="cpu", dtype=self.dtype):
            if one.error_type is UserWarning:
                continue
            given = one.optimizer_error_input
            self.result.errors_configurations += 1
            convert = Converter()
            params = given.params
            if params is None:
                params = [torch.nn.Parameter(torch.randn(2, 3, dtype=self.dtype))]
            mine = convert(params)
            for t, m in zip(_flat(params), _flat(mine), strict=True):
                if t.grad is not None:
                    m.requires_grad_()
                    m.grad = Converter()(t.grad)
            try:
                made = getattr(lazyloom_torch.optim, self.info.name)(
                    mine, **convert(given.kwargs))
                if one.error_on is OptimizerErrorEnum.STEP_ERROR:
                    made.step()
            except one.error_type:
                self.result.errors += 1
            except Exception as error:
                self.result.fail("errors", given.desc, f"{type(error).__name__}: {error}, "
                                 f"expected {one.error_type.__name__}")
            else:
                self.result.fail(
                    "errors", given.desc, f"nothing, expected {one.error_type.__name__}")


def _flat(x: Any) -> list[Any]:
    if isinstance(x, (torch.Tensor, lazyloom_torch.Tensor)):
        return [x]
    if isinstance(x, dict):
        return [t for v in x.values() for t in _flat(v)]
    return [t for v in x for t in _flat(v)] if isinstance(x, (list, tuple)) else []


def walk(info: Any, dtype: torch.dtype) -> Result | None:
    """Compare one optimizer; None where PyTorch does not have it for that dtype."""
    if str(dtype).removeprefix("torch.") in REFUSED.get(info.name, ()):
        return None
    if dtype.is_complex and not info.supports_complex:
        return None
    return Walk(info, dtype).run()


def main() -> None:
    given = torch_walk.parser(__doc__).parse_args()
    results = torch_walk.results(given, entries(given.names.split(",")), walk)
    print(f"{len(results)} walks: {sum(not r.first for r in results)} agree in everything")


if __name__ == "__main__":
    main()
