"""Walks PyTorch's own table of operators (``op_db``) and compares with the frontend.

``python -m tests.conformance.torch_db --names 'linalg.*,sort'`` prints one line an entry; with
``--write FILE`` the results are kept as JSON, from which ``docs/torch_coverage.md`` is made.
Needs PyTorch 2.13.
"""

from __future__ import annotations

import functools
import signal
import time
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.testing._internal import common_utils
from torch.testing._internal.common_methods_invocations import (
    gradcheck_wrapper_masked_operation,
    gradcheck_wrapper_masked_pointwise_operation,
    op_db,
)
from torch.testing._internal.opinfo import core

import lazyloom
import lazyloom_torch
from tests.conformance import torch_walk
from tests.conformance.torch_values import (
    GRADIENT,
    Converter,
    difference,
    evaluate,
    rebound,
    tensors,
)

# PyTorch's tables look among their callers for a TestCase of unittest, which there is not here, and
# read the sources of all callers for it: most of what samples would take
common_utils.extract_test_fn = core.extract_test_fn = lambda: None

#: samples whose results are evaluated as one program
TOGETHER = 16
SECONDS = 120  # for one sample
_MASKED = (gradcheck_wrapper_masked_operation, gradcheck_wrapper_masked_pointwise_operation)

#: entries whose results are random or not initialised: shapes and dtypes are compared, and
#: distributions in tests of their own
RANDOM = frozenset({
    "bernoulli", "cauchy", "empty", "empty_like", "empty_permuted", "empty_strided", "exponential",
    "geometric", "log_normal", "multinomial", "new_empty", "new_empty_strided",
    "nn.functional.alpha_dropout", "nn.functional.dropout", "nn.functional.dropout2d",
    "nn.functional.dropout3d", "nn.functional.feature_alpha_dropout|with_train",
    "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d",
    "nn.functional.rrelu", "normal", "normal|in_place", "normal|number_mean", "pca_lowrank",
    "rand_like", "randint", "randint_like", "randn", "randn_like", "resize_", "resize_as_",
    "svd_lowrank", "uniform",
})

#: entries that read by nature, and why
READS = {
    "__getitem__": "a mask as an index has a shape that depends on data",
    "allclose": "gives a Python bool",
    "argwhere": "the shape depends on data",
    "bincount": "the shape depends on data",
    "combinations": "PyTorch's own definition selects by a mask",
    "equal": "gives a Python bool",
    "index_put": "a mask as an index has a shape that depends on data",
    "item": "gives a Python number",
    "masked_select": "the shape depends on data",
    "nn.functional.ctc_loss": "lengths given as tensors set shapes",
    "nn.functional.one_hot": "the number of classes is the largest index",
    "nonzero": "the shape depends on data",
    "repeat_interleave": "the shape depends on data",
    "tensor_split": "places given as a tensor set shapes",
    "unique": "the shape depends on data",
    "unique_consecutive": "the shape depends on data",
}


@dataclass
class Result(torch_walk.Result):
    """Of one operator; counts are of samples."""

    samples: int = 0
    forward: int = 0
    backward: int = 0
    backward_samples: int = 0
    inplace: int = 0
    inplace_samples: int = 0
    out: int = 0
    out_samples: int = 0
    errors: int = 0
    errors_samples: int = 0

    def counts(self) -> str:
        counts = f"forward {self.forward}/{self.samples}"
        for part in ("backward", "inplace", "out", "errors"):
            of = getattr(self, f"{part}_samples")
            if of:
                counts += f", {part} {getattr(self, part)}/{of}"
        return f"{counts}, unlisted reads {self.reads}" if self.reads else counts

    @property
    def ok_forward(self) -> bool:
        return self.samples > 0 and self.forward == self.samples and not self.reads

    @property
    def ok_backward(self) -> bool:
        return self.ok_forward and self.backward == self.backward_samples


def full_name(op: Any) -> str:
    return f"{op.name}|{op.variant_test_name}" if op.variant_test_name else str(op.name)


def entries(patterns: list[str]) -> Iterator[Any]:
    """The entries of ``op_db`` on the fixed list whose names match."""
    return torch_walk.matching(op_db, "operators", patterns, full_name)


def _slice(x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return x[(slice(None),) * (dim % max(x.ndim, 1)) + (slice(start, end, step),)]


def ours(op: Any) -> Callable[..., Any] | None:
    """The frontend's function for an entry; None if there is none."""
    if op.name == "slice":
        return _slice
    theirs = op.op
    if isinstance(theirs, types.FunctionType) and "testing" in theirs.__module__:
        return rebound(theirs)
    found: Any = lazyloom_torch
    for part in op.name.split("."):
        found = getattr(found, part, None)
    if found is None or isinstance(found, type) or not callable(found):
        found = getattr(lazyloom_torch.Tensor, op.name, None)
    return found if callable(found) else None


def _drops(name: str, sample: Any) -> bool:
    """Whether a sample of an operator that is otherwise exact asks for dropout."""
    if name == "nn.functional.multi_head_attention_forward":
        return bool(sample.args[9] > 0 and sample.kwargs["training"])
    return bool(sample.kwargs.get("dropout_p", 0) > 0)


class _Late(Exception):
    """A sample took too long."""


def _alarm(*_: Any) -> None:
    raise _Late(f"more than {SECONDS} s")


def _mask(op: Any, sample: Any) -> Any:
    """Where the result of a masked operation is defined; None if everywhere."""
    if op.gradcheck_wrapper is gradcheck_wrapper_masked_operation:
        if sample.kwargs.get("mask") is None:
            return None
        return torch.masked._output_mask(op.op, sample.input, *sample.args, **sample.kwargs).numpy()
    if op.gradcheck_wrapper is gradcheck_wrapper_masked_pointwise_operation:
        found = None
        for m in (sample.kwargs.get("input_mask"), sample.kwargs.get("other_mask")):
            if m is not None:
                found = m.numpy() if found is None else found & m.numpy()
        return found
    return None


def _wrapped(op: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    wrapper = op.gradcheck_wrapper
    if wrapper in _MASKED or wrapper is None or wrapper.__name__ == "<lambda>":
        return function
    change = wrapper if function is op.op else rebound(wrapper)
    return lambda *args, **kwargs: change(function, *args, **kwargs)


def _seed(shape: Any, dtype: torch.dtype, i: int) -> torch.Tensor:
    found = np.random.default_rng(i).normal(size=(*shape, 2))
    values = found[..., 0] + 1j * found[..., 1] if dtype.is_complex else found[..., 0]
    return torch.from_numpy(np.array(values)).to(dtype)


def pending(made: list[Any]) -> list[lazyloom.Value]:
    """The frontend's results and gradients of attempted samples."""
    return [t.value for _, mine, _, _, g in made
            for t in tensors((mine, g[0] if g else ()), lazyloom_torch.Tensor)]


class Walk:
    """One entry at one dtype."""

    def __init__(self, op: Any, dtype: torch.dtype, most: int | None = None) -> None:
        self.op, self.dtype, self.most = op, dtype, most
        self.result = Result(full_name(op), str(dtype).removeprefix("torch."))
        self.exact = self.result.name not in RANDOM

    def run(self, parts: tuple[str, ...]) -> Result:
        begun = time.time()
        function = ours(self.op)
        for part in parts:
            if function is None:
                self.result.fail(part, 0, "there is no such function")
                self.result.samples = 1
                continue
            getattr(self, f"_{part}")(function)
        self.result.seconds = round(time.time() - begun, 2)
        return self.result

    def _samples(self, grad: bool) -> list[Any]:
        torch.manual_seed(7)
        found: list[Any] = []
        for sample in self.op.sample_inputs("cpu", self.dtype, requires_grad=grad):
            found.append(sample)
            if self.most is not None and len(found) == self.most:
                break
        return found

    def _differentiable(self) -> bool:
        return bool(self.op.supports_autograd and self.dtype in self.op.supported_backward_dtypes(
            "cpu") and (self.dtype.is_floating_point or self.dtype.is_complex))

    def _forward(self, function: Callable[..., Any]) -> None:
        """Forward, and backward where PyTorch has it."""
        grad = self._differentiable()
        samples = self._samples(grad)
        self.result.samples = len(samples)
        for at in range(0, len(samples), TOGETHER):
            made = [self._attempt(function, at + i, s, grad)
                    for i, s in enumerate(samples[at:at + TOGETHER])]
            self._judge([m for m in made if m is not None])

    def _attempt(self, function: Callable[..., Any], i: int, sample: Any, grad: bool) -> Any:
        """Both sides' results and gradients of one sample; None if PyTorch refuses it."""
        convert = Converter()
        mine_in = [convert(sample.input), *(convert(a) for a in sample.args)]
        mine_kw = {k: convert(v) for k, v in sample.kwargs.items()}
        mask = _mask(self.op, sample)
        process = sample.output_process_fn_grad
        torch.manual_seed(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = process(_wrapped(self.op, self.op.op)(
                sample.input, *sample.args, **sample.kwargs))
            before = lazyloom.stats()["reads"]
            try:
                signal.alarm(SECONDS)
                mine = self._rebound(process)(_wrapped(self.op, function)(*mine_in, **mine_kw))
            except Exception as error:
                self.result.fail("forward", i, f"{type(error).__name__}: {error}")
                mine = None
            finally:
                signal.alarm(0)
            read = lazyloom.stats()["reads"] - before
        if read and self.result.name not in READS:
            self.result.reads += 1
            self.result.fail("reads", i, f"{read} reads")
        asked = grad and any(t.requires_grad for t in tensors(theirs, torch.Tensor))
        self.result.backward_samples += asked
        if mine is None:
            return None
        gradients: Any = None
        exact = self.exact and not _drops(self.result.name, sample)
        if asked and exact:
            gradients = self._gradients(i, convert.leaves, mine, theirs, mask)
        elif asked:
            self.result.backward += 1
        return i, mine, theirs, mask if exact else "random", gradients

    @staticmethod
    def _rebound(process: Any) -> Any:
        return rebound(process) if isinstance(process, types.FunctionType) else process

    def _gradients(self, i: int, leaves: Any, mine: Any, theirs: Any, mask: Any) -> Any:
        a, b = tensors(mine, lazyloom_torch.Tensor), tensors(theirs, torch.Tensor)
        if len(a) != len(b):
            return None
        pairs = [(x, y) for x, y in zip(a, b) if y.requires_grad]
        if any(tuple(x.shape) != tuple(y.shape) for x, y in pairs):
            return None
        seeds = [_seed(y.shape, y.dtype, k) for k, (_, y) in enumerate(pairs)]
        if mask is not None:
            seeds = [s * torch.from_numpy(np.broadcast_to(mask, s.shape).copy()) for s in seeds]
        expected = torch.autograd.grad(
            [y for _, y in pairs], [t for t, _ in leaves], seeds, allow_unused=True,
            materialize_grads=True)
        try:
            signal.alarm(SECONDS)
            found = lazyloom_torch.autograd.grad(
                [x for x, _ in pairs], [t for _, t in leaves], [Converter()(s) for s in seeds],
                allow_unused=True, materialize_grads=True)
        except Exception as error:
            self.result.fail("backward", i, f"{type(error).__name__}: {error}")
            return None
        finally:
            signal.alarm(0)
        return found, expected

    def _judge(self, made: list[Any]) -> None:
        try:
            signal.alarm(SECONDS)
            evaluate(pending(made))
        except Exception:  # told below, at the sample that it belongs to
            pass
        finally:
            signal.alarm(0)
        for i, mine, theirs, mask, gradients in made:
            wrong = self._different(mine, theirs, 1.0, mask)
            if wrong:
                self.result.fail("forward", i, wrong)
            else:
                self.result.forward += 1
            if gradients is not None:
                wrong = self._different(*gradients, GRADIENT, None)
                if wrong:
                    self.result.fail("backward", i, f"gradient {wrong}")
                else:
                    self.result.backward += 1

    def _different(self, mine: Any, theirs: Any, loose: float, mask: Any) -> str | None:
        try:
            random = isinstance(mask, str)
            return difference(mine, theirs, loose, None if random else mask,
                              self.exact and not random)
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    def _inplace(self, function: Callable[..., Any]) -> None:
        """The method with an underscore, on a copy: the result, and the tensor itself."""
        variant = self.op.inplace_variant
        if variant is None:
            return
        named = getattr(variant, "__name__", "")
        if isinstance(variant, types.FunctionType):
            mine_call: Any = rebound(variant)
        elif isinstance(variant, functools.partial):  # of a function, with inplace=True
            mine_call = functools.partial(function, **variant.keywords)
        else:
            mine_call = getattr(lazyloom_torch.Tensor, named, None) or getattr(
                lazyloom_torch, named, None)
        made = []
        for i, sample in enumerate(self._samples(False)):
            if not isinstance(sample.input, torch.Tensor) or sample.broadcasts_input:
                continue
            convert = Converter()
            theirs_in = sample.input.clone()
            mine_in = convert(sample.input).clone()
            args = [convert(a) for a in sample.args]
            kwargs = {k: convert(v) for k, v in sample.kwargs.items()}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    torch.manual_seed(3)
                    variant(theirs_in, *sample.args, **sample.kwargs)
            except Exception:
                continue
            self.result.inplace_samples += 1
            try:
                if mine_call is None:
                    raise AttributeError(f"no method {named}")
                given = mine_call(mine_in, *args, **kwargs)
                if given is not mine_in:
                    raise TypeError("gave another tensor than the one written to")
                made.append((i, mine_in, theirs_in))
            except Exception as error:
                self.result.fail("inplace", i, f"{type(error).__name__}: {error}")
        self._count("inplace", made)

    def _out(self, function: Callable[..., Any]) -> None:
        """``out=``: what is given is filled and returned."""
        if not self.op.supports_out:
            return
        made = []
        for i, sample in enumerate(self._samples(False)):
            convert = Converter()
            args = [convert(sample.input), *(convert(a) for a in sample.args)]
            kwargs = {k: convert(v) for k, v in sample.kwargs.items()}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    torch.manual_seed(3)
                    theirs = self.op.op(sample.input, *sample.args, **sample.kwargs)
            except Exception:
                continue
            found = tensors(theirs, torch.Tensor)
            empty = [Converter()(torch.zeros_like(t)) for t in found]
            self.result.out_samples += 1
            try:
                out: Any = empty[0] if isinstance(theirs, torch.Tensor) else tuple(empty)
                given = function(*args, **kwargs, out=out)
                back = tensors(given, lazyloom_torch.Tensor)
                if any(a is not b for a, b in zip(back, empty)):
                    raise TypeError("gave another tensor than out")
                made.append((i, empty, found))
            except Exception as error:
                self.result.fail("out", i, f"{type(error).__name__}: {error}")
        self._count("out", made)

    def _errors(self, function: Callable[..., Any]) -> None:
        """Calls that PyTorch refuses, with the class of exception that it raises."""
        if self.op.error_inputs_func is None or self.dtype is not torch.float32:
            return
        for i, wrong in enumerate(self.op.error_inputs("cpu")):
            sample, convert = wrong.sample_input, Converter()
            self.result.errors_samples += 1
            try:
                args = [convert(sample.input), *(convert(a) for a in sample.args)]
                kwargs = {k: convert(v) for k, v in sample.kwargs.items()}
                found = function(*args, **kwargs)
                for t in tensors(found, lazyloom_torch.Tensor):
                    t.read()
            except wrong.error_type:
                self.result.errors += 1
            except Exception as error:
                self.result.fail("errors", i, f"{type(error).__name__}: {error}; expected "
                                              f"{wrong.error_type.__name__} {wrong.error_regex}")
            else:
                self.result.fail("errors", i, f"no error; expected {wrong.error_type.__name__} "
                                              f"{wrong.error_regex}")

    def _count(self, part: str, made: list[Any]) -> None:
        for at in range(0, len(made), TOGETHER):
            try:
                evaluate([t.value for _, mine, _ in made[at:at + TOGETHER]
                          for t in tensors(mine, lazyloom_torch.Tensor)])
            except Exception:  # told below, at the sample that it belongs to
                pass
        for i, mine, theirs in made:
            wrong = self._different(mine, theirs, 1.0, None)
            if wrong:
                self.result.fail(part, i, wrong)
            else:
                setattr(self.result, part, getattr(self.result, part) + 1)


def walk(op: Any, dtype: torch.dtype, parts: tuple[str, ...] = ("forward",),
         most: int | None = None) -> Result | None:
    """Compare one entry; None where PyTorch does not have it for that dtype."""
    if dtype not in op.supported_dtypes("cpu"):
        return None
    signal.signal(signal.SIGALRM, _alarm)
    return Walk(op, dtype, most).run(parts)


def together(ops: list[Any], dtype: torch.dtype, most: int) -> list[Result]:
    """Compare the first samples of several entries, whose results are one program."""
    signal.signal(signal.SIGALRM, _alarm)
    walks = [(Walk(op, dtype, most), ours(op)) for op in ops]
    attempts = []
    for w, function in walks:
        grad = w._differentiable()
        samples = w._samples(grad) if function is not None else []
        w.result.samples = len(samples)
        if function is None:
            w.result.fail("forward", 0, "there is no such function")
        attempts.append([m for m in (w._attempt(function, i, s, grad)
                                     for i, s in enumerate(samples)) if m is not None])
    try:
        evaluate([v for made in attempts for v in pending(made)])
    except Exception:  # told at the sample that it belongs to
        pass
    for (w, _), made in zip(walks, attempts, strict=True):
        w._judge(made)
    return [w.result for w, _ in walks]


def _passed(results: list[Result], part: str) -> str:
    of = [r for r in results if getattr(r, f"{part}_samples")]
    whole = sum(getattr(r, part) == getattr(r, f"{part}_samples") for r in of)
    return f"{whole} of {len(of)}"


def main() -> None:
    ask = torch_walk.parser(__doc__)
    ask.add_argument("--names-file", help="a file with one name a line")
    ask.add_argument("--parts", default="forward,inplace,out,errors",
                     help="forward has backward with it")
    ask.add_argument("--most", type=int, help="only so many samples an entry")
    given = ask.parse_args()
    patterns = given.names.split(",")
    if given.names_file:
        patterns = Path(given.names_file).read_text().split("\n")
    patterns = [p.replace("[", "[[]") for p in patterns if p]
    results = torch_walk.results(given, entries(patterns), lambda op, dtype: walk(
        op, dtype, tuple(given.parts.split(",")), given.most))
    n = len(results)
    grads = [r for r in results if r.backward_samples]
    print(f"{n} entries: {sum(r.ok_forward for r in results)} pass forward; "
          f"{len(grads)} differentiable: {sum(r.ok_backward for r in grads)} pass backward; "
          f"in-place {_passed(results, 'inplace')}; out= {_passed(results, 'out')}; "
          f"errors {_passed(results, 'errors')}; "
          f"{sum(r.reads > 0 for r in results)} with unlisted reads")


if __name__ == "__main__":
    main()
