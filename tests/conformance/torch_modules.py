"""Walks PyTorch's own table of modules (``module_db``) and compares with the frontend.

``python -m tests.conformance.torch_modules --names 'nn.LSTM,nn.*Norm*'`` prints one line a module:
forward, backward (gradients of inputs and parameters), the round trip of the state dict and the
repr, each in training and in evaluation mode. ``--write FILE`` keeps the results as JSON. Needs
PyTorch 2.13.
"""

from __future__ import annotations

import time
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.testing._internal.common_modules import module_db

import lazyloom
import lazyloom_torch
from tests.conformance import torch_walk
from tests.conformance.torch_values import GRADIENT, Converter, difference, evaluate, tensors

#: samples whose results are evaluated as one program
TOGETHER = 8
#: modules that draw random numbers in every forward pass
RANDOM = frozenset({"nn.FractionalMaxPool2d", "nn.FractionalMaxPool3d"})
#: modules that read by nature, and why
READS: dict[str, str] = {"nn.CTCLoss": "lengths given as tensors set shapes"}


@dataclass
class Result(torch_walk.Result):
    """Of one module; counts are of samples in both modes."""

    samples: int = 0
    forward: int = 0
    backward: int = 0
    backward_samples: int = 0
    state: int = 0
    text: int = 0

    def counts(self) -> str:
        return (f"forward {self.forward}/{self.samples}, backward {self.backward}/"
                f"{self.backward_samples}, state {self.state}/{self.samples}, "
                f"text {self.text}/{self.samples}")

    @property
    def ok(self) -> bool:
        """Whether forward, backward and the state's round trip pass for all samples."""
        return (0 < self.samples == self.forward == self.state and not self.reads
                and self.backward == self.backward_samples)


def entries(patterns: list[str]) -> Iterator[Any]:
    """The entries of ``module_db`` on the fixed list whose names match."""
    return torch_walk.matching(module_db, "modules", patterns)


def _seed(t: torch.Tensor, i: int) -> torch.Tensor:
    return torch.randn(t.shape, dtype=t.dtype, generator=torch.Generator().manual_seed(i))


class Arguments(Converter):
    """Turns a module's arguments into the frontend's: layers and functions, too."""

    def __call__(self, x: Any) -> Any:
        if isinstance(x, torch.nn.TransformerEncoderLayer):
            attention = x.self_attn
            return lazyloom_torch.nn.TransformerEncoderLayer(
                attention.embed_dim, attention.num_heads, x.linear1.out_features, x.dropout.p,
                self(x.activation), x.norm1.eps, attention.batch_first, x.norm_first,
                x.linear1.bias is not None)
        if isinstance(x, types.BuiltinFunctionType | types.FunctionType):
            return getattr(lazyloom_torch.nn.functional, x.__name__)
        return super().__call__(x)


class Walk:
    """One module at one dtype."""

    def __init__(self, info: Any, dtype: torch.dtype, most: int | None = None) -> None:
        self.info, self.dtype, self.most = info, dtype, most
        self.result = Result(info.name, str(dtype).removeprefix("torch."))
        self.exact = info.name not in RANDOM

    def run(self) -> Result:
        begun = time.time()
        for training in (True, False):
            samples = self.samples(training)
            for at in range(0, len(samples), TOGETHER):
                self.judge(self.attempts(samples[at:at + TOGETHER], training, at))
        self.result.seconds = round(time.time() - begun, 2)
        return self.result

    def samples(self, training: bool) -> list[Any]:
        torch.manual_seed(7)
        found = self.info.module_inputs_func(
            self.info, device="cpu", dtype=self.dtype, requires_grad=True, training=training)
        return [s for s in found if s.forward_input is not None][:self.most]

    def attempts(self, samples: list[Any], training: bool, first: int = 0) -> list[Any]:
        """What both sides give for some samples; without those that raise."""
        made = []
        for i, s in enumerate(samples, first):
            self.result.samples += 1
            place = f"{i} {'training' if training else 'evaluation'}"
            try:
                made.append((place, *self._attempt(place, s, training)))
            except Exception as error:
                self.result.fail("forward", place, f"{type(error).__name__}: {error}")
        return made

    def _attempt(self, place: str, sample: Any, training: bool) -> Any:
        """Both sides' results, gradients and states of one sample."""
        args, kwargs = sample.constructor_input.args, sample.constructor_input.kwargs
        given = sample.forward_input
        name = self.info.name.removeprefix("nn.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = self.info.module_cls(*args, **kwargs).to(self.dtype).train(training)
            if name.startswith("Lazy"):
                with torch.no_grad():
                    theirs(*given.args, **given.kwargs)
            build = Arguments()
            built_args, built_kwargs = build(args), build(kwargs)
            mine = getattr(lazyloom_torch.nn, name)(*built_args, **built_kwargs)
            mine = mine.to(getattr(lazyloom_torch, self.result.dtype)).train(training)
            mine.load_state_dict(Converter()(dict(theirs.state_dict())))
            torch.manual_seed(3)
            expected = theirs(*given.args, **given.kwargs)
            convert = Converter()
            mine_args = [convert(a) for a in given.args]
            mine_kwargs = {k: convert(v) for k, v in given.kwargs.items()}
            before = lazyloom.stats()["reads"]
            found = mine(*mine_args, **mine_kwargs)
            read = lazyloom.stats()["reads"] - before
        if repr(mine) == repr(theirs):
            self.result.text += 1
        else:
            self.result.fail("text", place, f"{mine!r}, expected {theirs!r}")
        if read and self.info.name not in READS:
            self.result.reads += 1
            self.result.fail("reads", place, f"{read} reads")
        pairs = [(t, m) for t, m in convert.leaves if t.requires_grad]
        own = dict(mine.named_parameters())
        pairs += [(p, own[n]) for n, p in theirs.named_parameters()]
        asked = [t for t in tensors(expected, torch.Tensor) if t.requires_grad]
        gradients: Any = None
        if asked:
            self.result.backward_samples += 1
            if not self.exact:
                self.result.backward += 1
            else:
                try:
                    gradients = self._gradients(pairs, expected, found)
                except Exception as error:
                    self.result.fail("backward", place, f"{type(error).__name__}: {error}")
        return found, expected, gradients, mine, theirs

    @staticmethod
    def _gradients(pairs: Any, expected: Any, found: Any) -> Any:
        outs = [(m, t) for m, t in zip(tensors(found, lazyloom_torch.Tensor),
                                       tensors(expected, torch.Tensor)) if t.requires_grad]
        seeds = [_seed(t, i) for i, (_, t) in enumerate(outs)]
        theirs = torch.autograd.grad(
            [t for _, t in outs], [t for t, _ in pairs], seeds, allow_unused=True,
            materialize_grads=True)
        mine = lazyloom_torch.autograd.grad(
            [m for m, _ in outs], [m for _, m in pairs], [Converter()(s) for s in seeds],
            allow_unused=True, materialize_grads=True)
        return mine, theirs

    def judge(self, made: list[Any]) -> None:
        _evaluate(made)
        for place, found, expected, gradients, mine, theirs in made:
            wrong = self._different(found, expected, 1.0)
            if wrong:
                self.result.fail("forward", place, wrong)
            else:
                self.result.forward += 1
            if gradients is not None:
                wrong = self._different(*gradients, GRADIENT)
                if wrong:
                    self.result.fail("backward", place, f"gradient {wrong}")
                else:
                    self.result.backward += 1
            wrong = self._state(mine, theirs)
            if wrong:
                self.result.fail("state", place, wrong)
            else:
                self.result.state += 1

    def _state(self, mine: Any, theirs: Any) -> str | None:
        """The state after forward is PyTorch's, and goes into a module of PyTorch's and of ours."""
        a, b = mine.state_dict(), theirs.state_dict()
        if list(a) != list(b):
            return f"state {list(a)}, expected {list(b)}"
        wrong = self._different(list(a.values()), list(b.values()), 1.0)
        if wrong:
            return f"state {wrong}"
        keys = mine.load_state_dict(a)
        if keys.missing_keys or keys.unexpected_keys:
            return f"round trip {keys}"
        versions = {k: v.get("version") for k, v in a._metadata.items()}
        expected = {k: v.get("version") for k, v in b._metadata.items()}
        return None if versions == expected else f"versions {versions}, expected {expected}"

    def _different(self, mine: Any, theirs: Any, loose: float) -> str | None:
        try:
            return difference(mine, theirs, loose, None, self.exact)
        except Exception as error:
            return f"{type(error).__name__}: {error}"


def _evaluate(made: list[Any]) -> None:
    """Run all that samples wait for as one program."""
    given = [(found, g[0] if g else (), list(mine.state_dict().values()))
             for _, found, _, g, mine, _ in made]
    try:
        evaluate([t.value for t in tensors(given, lazyloom_torch.Tensor)])
    except Exception:  # told by judge, at the sample that it belongs to
        pass


def together(infos: list[Any], dtype: torch.dtype, most: int) -> list[Result]:
    """Compare several modules in training mode, all as one program."""
    walks = [Walk(info, dtype, most) for info in infos]
    made = [w.attempts(w.samples(True), True) for w in walks]
    _evaluate([m for some in made for m in some])
    for w, some in zip(walks, made):
        w.judge(some)
    return [w.result for w in walks]


def walk(info: Any, dtype: torch.dtype, most: int | None = None) -> Result | None:
    """Compare one module; None where PyTorch does not have it for that dtype."""
    if dtype not in info.dtypes:
        return None
    return Walk(info, dtype, most).run()


def main() -> None:
    ask = torch_walk.parser(__doc__)
    ask.add_argument("--most", type=int, help="only so many samples a module and mode")
    given = ask.parse_args()
    results = torch_walk.results(given, entries(given.names.split(",")),
                                 lambda info, dtype: walk(info, dtype, given.most))
    print(f"{len(results)} modules: {sum(r.ok for r in results)} pass forward, backward and the "
          f"state's round trip; {sum(r.text == r.samples for r in results)} print as PyTorch's")


if __name__ == "__main__":
    main()
