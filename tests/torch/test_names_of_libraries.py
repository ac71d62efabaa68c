"""Names that libraries take from PyTorch's modules, and errors that its programs rely on."""

from __future__ import annotations

import copy
import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import lazyloom_numpy
import lazyloom_torch as torch
from lazyloom_torch import nn
from lazyloom_torch.nn.utils import prune


def run(folder: Path, code: str) -> str:
    (folder / "program.py").write_text(dedent(code))
    path = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-m", "lazyloom_torch", "program.py"], cwd=folder, text=True,
        capture_output=True, env={**os.environ, "PYTHONPATH": path}, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- modules ---------------------------------------------------------------------------------


def test_functions_keep_their_places_where_modules_have_their_names(tmp_path: Path) -> None:
    assert run(tmp_path, """
        import torch
        import torch.multiprocessing.spawn, torch.nn.utils.spectral_norm, torch.nn.utils.weight_norm
        import torch.nn.parallel.data_parallel
        from torch.multiprocessing.spawn import ProcessRaisedException
        from torch.nn.parallel.distributed import DistributedDataParallel
        for found in (torch.multiprocessing.spawn, torch.nn.utils.spectral_norm,
                      torch.nn.utils.weight_norm, torch.nn.parallel.data_parallel):
            assert callable(found), found
        assert torch.__name__ == "torch" and torch.nn.__name__ == "lazyloom_torch.nn"
        assert not isinstance(torch.nn.Linear(1, 1), DistributedDataParallel)
        print(torch.__config__.show().split()[0])
        """) == "lazyloom_torch,\n"


def raises(index: int, text: str) -> None:
    if index == 1:
        raise ValueError(text)


def exits(index: int, how: str) -> None:
    if how == "code":
        os._exit(3)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_processes_that_fail_say_how() -> None:
    spawn = torch.multiprocessing.spawn
    raised = torch.multiprocessing.ProcessRaisedException
    with pytest.raises(raised, match="ValueError: reason") as e:
        spawn(raises, ("reason",), nprocs=2)
    assert e.value.error_index == 1 and e.value.error_pid == e.value.pid
    with pytest.raises(torch.multiprocessing.ProcessExitedException, match="exit code 3") as e:
        spawn(exits, ("code",))
    assert e.value.exit_code == 3
    with pytest.raises(torch.multiprocessing.ProcessExitedException, match="signal SIGKILL"):
        spawn(exits, ("signal",))
    started = spawn(raises, ("none",), nprocs=1, join=False)
    assert len(started.pids()) == 1
    while not started.join():
        pass


def test_an_optimizer_that_stands_before_another_needs_no_constructor() -> None:
    class Wrapper(torch.optim.Optimizer):  # type: ignore[misc]
        def __init__(self, inner: Any) -> None:
            self.inner, self.steps = inner, 0

        def step(self, closure: Any = None) -> None:
            self.steps += 1
            self.inner.step(closure)

    class Own(torch.optim.SGD):  # type: ignore[misc]
        def step(self, closure: Any = None) -> Any:
            return super().step(closure)

    p = nn.Parameter(torch.ones(2))
    p.grad = torch.ones(2)
    inner = torch.optim.SGD([p], lr=0.5)
    seen: list[str] = []
    inner.register_step_post_hook(lambda *_: seen.append("inner"))
    wrapper = Wrapper(inner)
    wrapper.step()
    assert wrapper.steps == 1 and seen == ["inner"] and p.tolist() == [0.5, 0.5]
    own = Own([p], lr=0.5)
    own.register_step_pre_hook(lambda *_: seen.append("own"))
    own.step()
    assert "own" in seen and p.tolist() == [0, 0]
    torch.optim.lr_scheduler.StepLR(own, 1).step()


def test_modules_with_other_parameters_for_a_while() -> None:
    module, x = nn.Linear(2, 1), torch.ones(1, 2)
    before = module.weight
    with nn.utils.stateless._reparametrize_module(module, {"weight": torch.zeros(1, 2)}):
        assert module(x).item() == module.bias.item()
    assert module.weight is before
    state = {"module.a.weight": 1, "module.b": 2, "c": 3}
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert state == {"a.weight": 1, "b": 2, "c": 3}


# -- pruning ----------------------------------------------------------------------------------


def layer() -> Any:
    made = nn.Linear(3, 2)
    with torch.no_grad():
        made.weight.copy_(torch.tensor([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]]))
        made.bias.copy_(torch.tensor([0.1, 7.0]))
    return made


def test_pruning() -> None:
    module = prune.l1_unstructured(layer(), "weight", amount=2)
    assert module.weight.tolist() == [[0, 0, 3], [-4, 5, -6]] and prune.is_pruned(module)
    assert sorted(n for n, _ in module.named_parameters()) == ["bias", "weight_orig"]
    assert sorted(module.state_dict()) == ["bias", "weight_mask", "weight_orig"]
    module(torch.ones(1, 3)).sum().backward()
    assert module.weight_orig.grad.tolist() == [[0, 0, 1], [1, 1, 1]]
    prune.l1_unstructured(module, "weight", amount=1)  # of those that are left
    assert module.weight.tolist() == [[0, 0, 0], [-4, 5, -6]]
    prune.remove(module, "weight")
    assert not prune.is_pruned(module) and isinstance(module.weight, nn.Parameter)
    assert module.weight.tolist() == [[0, 0, 0], [-4, 5, -6]]
    with pytest.raises(ValueError, match="has to be pruned"):
        prune.remove(module, "weight")
    rows = prune.ln_structured(layer(), "weight", amount=1, n=2, dim=0).weight
    assert rows.tolist() == [[0, 0, 0], [-4, 5, -6]]
    assert prune.ln_structured(layer(), "weight", 1, n=1, dim=1).weight[:, 0].tolist() == [0, 0]
    assert prune.identity(layer(), "weight").weight.tolist() == layer().weight.tolist()
    random = prune.random_unstructured(layer(), "weight", 0.5)
    assert random.weight_mask.sum().item() == 3
    rows = prune.random_structured(layer(), "weight", 1, dim=0).weight_mask.sum(1).tolist()
    assert sorted(rows) == [0, 3]
    custom = prune.custom_from_mask(layer(), "bias", torch.tensor([0, 1]))
    assert custom.bias.tolist() == [0, 7]


def test_pruning_of_several_parameters_together() -> None:
    a, b = layer(), layer()
    with torch.no_grad():
        b.weight.mul_(10)
    prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=6)
    assert a.weight.count_nonzero().item() == 0 and b.weight.count_nonzero().item() == 6
    scores = {(a, "bias"): torch.tensor([1.0, 0.0])}
    prune.global_unstructured([(a, "bias")], prune.L1Unstructured, scores, amount=1)
    assert a.bias.tolist() == [pytest.approx(0.1), 0]
    for wrong, error in ((1.5, ValueError), (-1, ValueError), ("a", TypeError), (99, ValueError)):
        with pytest.raises(error):
            prune.l1_unstructured(layer(), "weight", wrong)
    module = layer()
    with pytest.raises(ValueError):
        prune.random_unstructured(module, "weight", 99)
    assert isinstance(module.weight, nn.Parameter) and not prune.is_pruned(module)


# -- storages ---------------------------------------------------------------------------------


def test_storages_are_rows_of_numbers_that_tensors_share() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    s = x[1].storage()
    assert isinstance(s, torch.storage.TypedStorage) and s.dtype is torch.float32
    assert (s.size(), len(s), s.nbytes(), s.element_size()) == (6, 6, 24, 4)
    assert s.tolist() == [0, 1, 2, 3, 4, 5] == list(s) and s[-1] == 5
    s[0] = 9
    assert x[0, 0].item() == 9 and s.untyped() == x.untyped_storage() and s == x.storage()
    assert x.t().storage().tolist() == s.tolist() and s.clone() != s
    s.fill_(2)
    assert x.sum().item() == 12
    with pytest.raises(IndexError):
        s[6]
    assert torch.empty(0).set_(s, 0, (3,)).tolist() == [2, 2, 2]
    assert x.untyped_storage().size() == 24


# -- data -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("numbers", "dtype", "wanted"), [
    ((0.5, 3.7), "int64", [0, 1, 2]), ((0, 2.9), "int64", [0, 1]),
    ((0.9, 5.2, 1.5), "int32", [0, 1, 2]), ((0, 2.5), "int16", [0, 1, 2]),
    ((5, 0.5, -1.5), "int64", [5, 4, 3, 2, 1]), ((2.5,), "int64", [0, 1]),
    ((-0.5, 2), "int64", [0, 1]), ((1, 5, 2.0), "uint8", [1, 3]),
])  # fmt: skip
def test_arange_of_fractions_with_an_integer_dtype(
    numbers: Any, dtype: str, wanted: list[int]
) -> None:
    assert torch.arange(*numbers, dtype=getattr(torch, dtype)).tolist() == wanted


def test_arange_with_a_step_that_is_less_than_one_and_an_integer_dtype() -> None:
    with pytest.raises(ValueError, match="step must be nonzero"):
        torch.arange(0, 2.5, 0.5, dtype=torch.int64)


class Series:
    """Stands for a Series of pandas: a sequence with a dtype, which becomes an array."""

    def __init__(self, numbers: Any, dtype: str) -> None:
        self.array = np.array(numbers, dtype)
        self.dtype = self.array.dtype

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.array.astype(dtype or self.dtype)

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, index: int) -> Any:
        return self.array[index]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8", "bool", "complex128"])
def test_what_has_a_dtype_of_its_own_keeps_it(dtype: str) -> None:
    s = Series([1, 0], dtype)
    for made in (torch.tensor(s), torch.as_tensor(s), torch.asarray(s), torch.tensor([s, s])[0]):
        assert made.dtype is getattr(torch, dtype) and made.tolist() == s.array.tolist()
    assert torch.tensor([1.0, 2.0]).dtype is torch.float32
    if dtype != "complex128":
        assert torch.tensor(s, dtype=torch.float16).dtype is torch.float16
        assert torch.FloatTensor(s).tolist() == [1, 0]


def test_from_numpy_takes_arrays_of_the_numpy_like_frontend() -> None:
    a = lazyloom_numpy.arange(3.0) * 2
    t = torch.from_numpy(a)
    assert isinstance(t, torch.Tensor) and t.dtype is torch.float64 and t.tolist() == [0, 2, 4]
    a[0] = 7
    assert t.tolist() == [0, 2, 4]
    with pytest.raises(TypeError, match="np.ndarray"):
        torch.from_numpy([1.0])


# -- views that come together -----------------------------------------------------------------

PARTS: dict[str, Any] = {
    "chunk": lambda y: y.chunk(2), "split": lambda y: y.split(2), "unbind": lambda y: y.unbind(),
    "split_with_sizes": lambda y: y.split_with_sizes([1, 3]), "iteration": list,
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_that_come_together_are_not_written_with_gradients(name: str) -> None:
    y = torch.ones(4, 2, requires_grad=True) * 1
    for write in (lambda p: p.mul_(2), lambda p: p.zero_(), lambda p: p.__iadd__(1),
                  lambda p: p.__setitem__(0, 1.0), lambda p: p[..., :1].add_(1)):
        with pytest.raises(RuntimeError, match="output of a function that returns multiple views"):
            write(PARTS[name](y)[0])
    with torch.no_grad():
        PARTS[name](y)[0].mul_(3)
    PARTS[name](y.detach())[0].mul_(3)
    PARTS[name](torch.ones(4, 2))[0].add_(1)
    for alone in (y[:2], y.tensor_split(2)[0], y.unsafe_chunk(2)[0], y.narrow(0, 0, 2)):
        alone.add_(1)
    assert y[0, 0].item() == 13


def test_a_copied_inference_mode_is_the_same() -> None:
    assert copy.copy(torch.inference_mode(False).clone()).inference is False


def test_files_that_do_not_tell_their_order_of_bytes() -> None:
    order = torch.serialization.LoadEndianness
    assert torch.serialization.get_default_load_endianness() is None
    torch.serialization.set_default_load_endianness(order.BIG)
    try:
        assert torch.serialization.get_default_load_endianness() is order.BIG
        assert torch.serialization._untold_order() == "big"
    finally:
        torch.serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError):
        torch.serialization.set_default_load_endianness("big")
    flat = torch._utils._flatten_dense_tensors([torch.ones(2), torch.zeros(2, 1)])
    assert flat.tolist() == [1, 1, 0, 0]
    shaped = torch._utils._unflatten_dense_tensors(flat, [torch.ones(2), torch.zeros(2, 1)])
    assert [p.shape for p in shaped] == [(2,), (2, 1)]
