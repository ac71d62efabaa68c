"""Names of PyTorch's that are only there to be imported and asked about, and small real ones."""

from __future__ import annotations

import copy
import importlib
import pickle
from collections import OrderedDict, namedtuple
from typing import Any

import pytest

import lazyloom_torch as torch
from lazyloom_torch import _absent, _absent_names

nn = torch.nn


@pytest.mark.parametrize("name", [
    "fx.graph_module", "_dynamo.exc", "_inductor", "export", "distributed.tensor.parallel",
    "distributed.fsdp", "onnx.symbolic_opset9", "nested", "ao.quantization",
    "numa.binding", "distributed.checkpoint", "utils.benchmark",
    "utils.cpp_extension", "nn.attention.flex_attention", "cuda.nvtx", "jit.mobile", "_custom_ops",
])  # fmt: skip
def test_modules_that_are_not_here_say_why_at_the_first_use(name: str) -> None:
    module = importlib.import_module(f"lazyloom_torch.{name}")
    something = module.something
    assert isinstance(something, type) and not isinstance(3, something)
    for use in (lambda: something(1), lambda: something.inner.method(), lambda: list(something)):
        with pytest.raises(NotImplementedError, match=rf"torch\.{name}.*is out of scope.*: \w"):
            use()
    assert not hasattr(module, "__nothing__")


def test_names_that_are_not_here_can_be_named_and_subclassed() -> None:
    class Tracer(torch.fx.Tracer):  # type: ignore[misc, name-defined]
        def trace(self, root: Any) -> torch.fx.Graph | None:  # type: ignore[name-defined]
            return None

    with pytest.raises(NotImplementedError, match=r"torch\.fx\.Tracer is out of scope"):
        Tracer()
    assert torch.fx.wrap("len") == "len"
    assert not isinstance(nn.Linear(1, 1), (torch.jit.ScriptModule, torch.cuda.Stream))
    assert not isinstance(3, torch.SymInt) and torch.sym_max(2, 3.0) == 3.0
    with pytest.raises(NotImplementedError, match="sparse_bsr_tensor is out of scope.*dense"):
        torch.sparse_bsr_tensor([[0]], [1.0])
    for missing in ("nothing", "_nothing", "__nothing__"):
        assert not hasattr(torch, missing) and not hasattr(torch._C, missing)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("lazyloom_torch.nothing")


def test_every_name_of_the_table_is_refused_or_real() -> None:
    for place, names in _absent_names.NAMES.items():
        module: Any = importlib.import_module(f"lazyloom_torch.{place}".rstrip("."))
        for name in names:
            found = getattr(module, name)
            real = (place, name) == ("_C", "DispatchKeySet")
            assert isinstance(found, _absent.Absent) is not real, f"{place}.{name}"
            assert found is getattr(module, name)
    for name in _absent_names.MODULES:
        importlib.import_module(f"lazyloom_torch.{name}")


@pytest.mark.parametrize("name", ["float8_e4m3fn", "int4", "complex32", "qint8"])
def test_dtypes_that_no_tensor_has(name: str) -> None:
    found = getattr(torch, name)
    assert isinstance(found, torch.dtype) and repr(found) == f"torch.{name}"
    assert {found: 1}[pickle.loads(pickle.dumps(found))] == 1 and copy.copy(found) is found
    for use in (lambda: torch.zeros(2, dtype=found), lambda: torch.ones(2).to(found),
                lambda: torch.tensor([1], dtype=found)):
        with pytest.raises(NotImplementedError, match=rf"torch\.{name} is out of scope"):
            use()


def test_limits_of_float8() -> None:
    limits = torch.finfo(torch.float8_e4m3fn)
    assert (limits.max, limits.min, limits.eps, limits.tiny) == (448, -448, 0.125, 2**-6)
    assert torch.finfo(torch.float8_e5m2).max == 57344 and limits.bits == 8


def test_what_programs_ask_of_processes_and_devices() -> None:
    assert torch.distributed.is_available() and not torch.distributed.is_initialized()
    with pytest.raises(ValueError, match="not been initialized"):
        torch.distributed.get_rank()
    for device in (torch.cuda, torch.xpu, torch.mps, torch.mtia, torch.accelerator):
        assert not device.is_available() and device.device_count() == 0
        device.manual_seed(0)
    with pytest.raises(AssertionError, match=r"torch\.xpu\.current_device\(\)"):
        torch.xpu.current_device()
    with torch.profiler.record_function("step"), torch.autograd.profiler.record_function("a"):
        pass
    with pytest.raises(NotImplementedError, match="last_evaluation"):
        torch.profiler.profile()
    assert torch.__version__ >= (2, 1) and torch.__version__ < "2.100" and not torch.version.cuda
    assert not any(torch.is_autocast_enabled(d) for d in ("cpu", "cuda", "mps", "xpu"))
    assert torch.utils.checkpoint.get_device_states(torch.ones(1)) == ([], [])
    # transformers has a way without it, which it takes where the name is not there
    assert not hasattr(nn.functional, "grouped_mm") and not hasattr(torch, "_grouped_mm")
    torch._dynamo.config.suppress_errors = True
    assert torch.compiler.allow_in_graph(len) is len and not torch.compiler.is_exporting()


def test_checks_and_functions_of_lists() -> None:
    torch._check(True)
    for check, error in ((torch._check, RuntimeError), (torch._check_value, ValueError),
                         (torch._check_index, IndexError), (torch._check_type, TypeError)):
        with pytest.raises(error, match="said"):
            check(False, lambda: "said")
    with pytest.raises(AssertionError, match="said"):
        torch._assert(torch.tensor(False), "said")
    a, b = [torch.ones(2), torch.arange(3.0)], [torch.ones(2), torch.ones(3)]
    assert [t.tolist() for t in torch._foreach_add(a, b, alpha=2)] == [[3, 3], [2, 3, 4]]
    torch._foreach_mul_(a, 3.0)
    torch._foreach_maximum_(a, 4.0)
    torch._foreach_addcdiv_(a, b, b, value=0.5)
    assert [t.tolist() for t in a] == [[4.5, 4.5], [4.5, 4.5, 6.5]]
    torch._foreach_copy_(a, b)
    assert [n.item() for n in torch._foreach_norm(a)] == pytest.approx([2**0.5, 3**0.5])
    with pytest.raises(RuntimeError, match="same number of tensors"):
        torch._foreach_add(a, b[:1])


def test_trees() -> None:
    pytree = torch.utils._pytree
    point = namedtuple("point", "x y")  # noqa: PYI024

    class Box:
        def __init__(self, inside: Any, label: str) -> None:
            self.inside, self.label = inside, label

    pytree.register_pytree_node(
        Box, lambda box: ([box.inside], box.label), lambda parts, label: Box(*parts, label))
    tree = {"a": [1, (2, None)], "b": point(3, OrderedDict(c=4)), "d": Box(5, "five")}
    leaves, spec = pytree.tree_flatten(tree)
    assert leaves == [1, 2, None, 3, 4, 5] and spec.num_leaves == 6
    again = pytree.tree_unflatten([10 * (n or 0) for n in leaves], spec)
    assert again["a"] == [10, (20, 0)] and again["b"] == point(30, OrderedDict(c=40))
    assert again["d"].inside == 50 and again["d"].label == "five"
    assert pytree.tree_map(lambda a, b: a + b, (1, [2]), (3, [4])) == (4, [6])
    assert pytree.tree_map_only(int, str, [1, "x", 2.5]) == ["1", "x", 2.5]
    assert pytree.tree_structure([1, 2]) == pytree.tree_structure([3, 4]) != spec
    found = pytree.tree_leaves_with_path({"a": [1], "b": point(2, 3)})
    paths = [pytree.keystr(path) for path, _ in found]
    assert paths == ["['a'][0]", "['b'].x", "['b'].y"]
    for wrong in (lambda: pytree.tree_unflatten([1], spec),
                  lambda: pytree.tree_map(max, [1, 2], [1]),
                  lambda: pytree.register_pytree_node(Box, None, None)):
        with pytest.raises(ValueError):
            wrong()


def test_operators_of_a_program_s_own() -> None:
    library = torch.library
    own = library.Library("mine", "DEF")
    own.define("twice(Tensor x, int n=2) -> Tensor")
    own.impl("twice", lambda x, n=2: x * n, "CompositeImplicitAutograd")
    assert torch.ops.mine.twice(torch.ones(2)).tolist() == [2, 2]
    assert torch.ops.mine.twice.default(torch.ones(2), n=3).tolist() == [3, 3]

    @library.custom_op("mine::cube", mutates_args=())
    def cube(x: Any) -> Any:
        return torch.from_numpy(x.numpy() ** 3)

    cube.register_fake(lambda x: torch.empty_like(x))
    cube.register_autograd(lambda ctx, grad: grad * 3 * ctx.saved_tensors[0] ** 2,
                           setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    x = torch.tensor([2.0], requires_grad=True)
    torch.ops.mine.cube(x).sum().backward()
    assert x.grad.tolist() == [12]
    with pytest.raises(AttributeError, match="compiled extensions"):
        torch.ops.mine.nothing  # noqa: B018
    own.define("hollow(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="no implementation for tensors on the CPU"):
        torch.ops.mine.hollow(x)
    with pytest.raises(OSError, match="compiled extensions of PyTorch"):
        torch.ops.load_library("lib.so")
    assert torch.ops.aten.add.Tensor(x, x).tolist() == [4]
    own._destroy()
