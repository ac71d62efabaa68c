"""Modules: what PyTorch is not needed for, or does not decide."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom_torch import nn

pytestmark = pytest.mark.usefixtures("quick_compiler")


def _kinds(module: Any) -> list[str]:
    return sorted(n for n in dir(module) if isinstance(getattr(module, n), type) and issubclass(
        getattr(module, n), module.Module))


def test_classes_and_arguments_are_pytorchs() -> None:
    theirs = pytest.importorskip("torch").nn
    assert set(_kinds(theirs)) <= set(_kinds(nn))
    for name in _kinds(theirs):
        mine, other = getattr(nn, name), getattr(theirs, name)
        assert mine._version == other._version, name
        for method in ("__init__", "forward"):
            a, b = ([(p.name, p.kind, None if callable(p.default) else p.default)
                     for p in inspect.signature(getattr(m, method)).parameters.values()]
                    for m in (mine, other))
            # what has no forward of its own raises for any arguments
            assert a == b or other.forward in (theirs.Module.forward,), f"{name}.{method}"


def test_names_are_pytorchs() -> None:
    theirs = pytest.importorskip("torch").nn
    absent = {"nn": {"factory_kwargs", "intrinsic", "qat", "quantizable", "quantized"},
              # smart_apply is what transformers gives PyTorch's class
              "Module": {"T_destination", "dump_patches", "ipu", "mtia", "share_memory",
                         "smart_apply", "xpu"},
              "utils": {"memory_format"}, "init": {"Literal", "ParamSpec", "TypeVar", "torch"}}
    for part, missing in absent.items():
        mine, other = (nn, theirs) if part == "nn" else (getattr(nn, part), getattr(theirs, part))
        assert {n for n in dir(other) if not n.startswith("_")} - set(dir(mine)) <= missing, part


@pytest.mark.slow
@pytest.mark.compiled
def test_no_length_of_a_sequence_is_part_of_a_program() -> None:
    """Training on batches of other lengths compiles nothing once the first steps have run."""
    tools = nn.utils.rnn
    m = nn.LSTM(3, 4, 2, bidirectional=True)
    optimizer = torch.optim.SGD(m.parameters(), lr=0.1)
    rng, before = np.random.default_rng(0), -1
    for step in range(5):
        lengths = sorted(rng.integers(1, 9, 4).tolist(), reverse=True)
        y, _ = m(tools.pack_padded_sequence(torch.rand(8, 4, 3), lengths))
        z, _ = tools.pad_packed_sequence(y, total_length=8)
        loss = (z**2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert np.isfinite(loss.item())
        made = lazyloom.stats()["programs_compiled"] + lazyloom.stats()["programs_from_disk"]
        assert step < 2 or made == before
        before = made


def test_lazy_modules_learn_their_sizes() -> None:
    m = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(),
                      nn.LazyLinear(2))
    assert isinstance(m[0].weight, nn.UninitializedParameter)
    with pytest.raises(RuntimeError, match="uninitialized"):
        _ = m[0].weight.shape
    twin = copy.deepcopy(m).double()
    assert twin[0].weight.dtype is torch.float64
    y = m(torch.rand(2, 3, 5, 5))
    assert [type(c).__name__ for c in m] == ["Conv2d", "BatchNorm2d", "ReLU", "Flatten", "Linear"]
    assert y.shape == (2, 2) and m[4].in_features == 36 and m[0].weight.shape == (4, 3, 3, 3)
    assert type(m[0].weight) is nn.Parameter and not m[0]._forward_pre_hooks
    twin.float().load_state_dict(m.state_dict())
    np.testing.assert_allclose(
        twin.eval()(torch.ones(1, 3, 5, 5)).detach().numpy(),
        m.eval()(torch.ones(1, 3, 5, 5)).detach().numpy(), rtol=1e-6)


def test_copies_and_pickles_are_modules_of_their_own() -> None:
    m = nn.TransformerEncoderLayer(4, 2, 8, 0.0)
    seen: list[int] = []
    m.register_forward_hook(lambda *a: seen.append(1))
    x = torch.rand(3, 1, 4)
    expected = m(x).detach().numpy()
    twin = copy.deepcopy(m)
    with torch.no_grad():
        m.linear1.weight.zero_()
    np.testing.assert_array_equal(twin(x).detach().numpy(), expected)
    assert len(seen) == 2
    lstm = nn.LSTM(2, 3)
    back = pickle.loads(pickle.dumps(lstm))
    x = torch.rand(2, 1, 2)
    np.testing.assert_array_equal(back(x)[0].detach().numpy(), lstm(x)[0].detach().numpy())
    assert [n for n, _ in back.named_parameters()] == [n for n, _ in lstm.named_parameters()]


def test_orthogonal_weights_stay_orthogonal() -> None:
    for by, size in (("matrix_exp", 3), ("cayley", 5), ("householder", 5), ("householder", 2)):
        m = nn.utils.parametrizations.orthogonal(nn.Linear(3, size), orthogonal_map=by)
        optimizer = torch.optim.SGD(m.parameters(), lr=0.3)
        (m(torch.ones(2, 3)) ** 3).sum().backward()
        optimizer.step()
        w = m.weight.detach().numpy()
        small = w @ w.T if size < 3 else w.T @ w
        np.testing.assert_allclose(small, np.eye(len(small)), atol=1e-5)
        given = np.linalg.qr(np.random.default_rng(1).normal(size=(max(3, size), min(3, size))))[0]
        given = given.T if size < 3 else given
        m.weight = torch.tensor(given.astype(np.float32))
        np.testing.assert_allclose(m.weight.detach().numpy(), given, atol=1e-5)


def test_spectral_norm_bounds_the_weight() -> None:
    m = nn.utils.parametrizations.spectral_norm(nn.Linear(6, 4), n_power_iterations=3)
    for _ in range(3):
        m(torch.ones(1, 6))
    values = np.linalg.svd(m.eval().weight.detach().numpy(), compute_uv=False)
    assert values[0] == pytest.approx(1.0, abs=2e-2)


def test_fused_layers_do_what_both_did() -> None:
    for layer, norm, x in ((nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3), torch.rand(2, 2, 4, 4)),
                           (nn.Linear(4, 3), nn.BatchNorm1d(3), torch.rand(5, 4))):
        for _ in range(2):
            norm(layer(x))
        fuse = nn.utils.fuse_conv_bn_eval if isinstance(layer, nn.Conv2d) else (
            nn.utils.fuse_linear_bn_eval)
        fused = fuse(layer.eval(), norm.eval())
        np.testing.assert_allclose(fused(x).detach().numpy(), norm(layer(x)).detach().numpy(),
                                   rtol=1e-4, atol=1e-5)


def test_initial_values() -> None:
    w = nn.init.dirac_(torch.empty(4, 2, 3), groups=2).numpy()
    assert w.sum() == 4 and all(w[i, i % 2, 1] == 1 for i in range(4))
    w = nn.init.sparse_(torch.empty(10, 3), 0.35).numpy()
    assert ((w == 0).sum(0) == 4).all()
    w = nn.init.kaiming_normal_(torch.empty(200, 100), mode="fan_out").numpy()
    assert w.std() == pytest.approx((2 / 200) ** 0.5, rel=0.05)
    assert nn.init.calculate_gain("leaky_relu", 1) == 1.0
    m = nn.Embedding(5, 3, padding_idx=-1)
    assert m.padding_idx == 4 and not m.weight[4].any()
    skipped = nn.utils.skip_init(nn.Linear, 3, 2)
    assert skipped.weight.shape == (2, 3) and skipped.weight.requires_grad


def test_rare_classes_have_their_share() -> None:
    m = nn.AdaptiveLogSoftmaxWithLoss(4, 12, [3, 7], div_value=2.0)
    x, y = torch.rand(6, 4), torch.tensor([0, 2, 3, 6, 7, 11])
    before = lazyloom.stats()["reads"]
    output, loss = m(x, y)
    every, best = m.log_prob(x), m.predict(x)
    assert lazyloom.stats()["reads"] == before
    found = every.detach().numpy()
    np.testing.assert_allclose(np.exp(found).sum(1), np.ones(6), rtol=1e-5)
    np.testing.assert_allclose(output.detach().numpy(), found[np.arange(6), y.numpy()], rtol=1e-5)
    assert loss.item() == pytest.approx(-output.detach().numpy().mean(), rel=1e-5)
    np.testing.assert_array_equal(best.numpy(), found.argmax(1))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_gradients_of_convolutions(n: int) -> None:
    x = torch.rand(2, 4, *(5,) * n, requires_grad=True)
    w = torch.rand(6, 2, *(2,) * n, requires_grad=True)
    y = getattr(nn.functional, f"conv{n}d")(x, w, stride=2, padding=1, groups=2)
    seed = torch.rand(*y.shape)
    y.backward(seed)
    options = {"stride": 2, "padding": 1, "groups": 2}
    dx = getattr(nn.grad, f"conv{n}d_input")(x.shape, w, seed, **options)
    dw = getattr(nn.grad, f"conv{n}d_weight")(x, w.shape, seed, **options)
    np.testing.assert_allclose(dx.numpy(), x.grad.numpy(), rtol=1e-5)
    np.testing.assert_allclose(dw.detach().numpy(), w.grad.numpy(), rtol=1e-5)


def test_data_parallel_is_the_module_itself() -> None:
    m, x = nn.Bilinear(2, 3, 1), (torch.rand(4, 2), torch.rand(4, 3))
    assert nn.parallel.data_parallel(m, x, range(2)).tolist() == m(*x).tolist()
    scale = nn.Threshold(0.5, 0.0)
    assert nn.parallel.data_parallel(scale, x[0], [0]).tolist() == scale(x[0]).tolist()
    assert nn.parallel.data_parallel(scale, None, module_kwargs={"input": x[0]}).shape == (4, 2)


def test_processes_do_not_share_parameters() -> None:
    with pytest.raises(NotImplementedError, match="Module.share_memory is out of scope.*one proc"):
        nn.Linear(2, 1).share_memory()
    x = torch.ones(3)
    assert not x.is_shared() and not x.storage().is_shared()
    for share in (x.share_memory_, x.storage().share_memory_, x.untyped_storage().share_memory_,
                  torch.optim.Adagrad([nn.Parameter(x)]).share_memory):
        with pytest.raises(NotImplementedError, match="share_memory.*out of scope.*one process"):
            share()


def test_attention_projects_by_the_class_that_checkpoints_name() -> None:
    kind = nn.modules.linear.NonDynamicallyQuantizableLinear
    m = nn.MultiheadAttention(4, 2)
    assert type(m.out_proj) is kind and kind.__module__.endswith("nn.modules.linear")
    assert type(pickle.loads(pickle.dumps(m)).out_proj) is kind


def test_a_list_of_modules_stays_as_it_was_when_no_module_is_inserted() -> None:
    layers = torch.nn.ModuleList([torch.nn.ReLU(), torch.nn.Tanh()])
    with pytest.raises(TypeError, match="str is not a Module subclass"):
        layers.insert(0, "sigmoid")  # type: ignore[arg-type]
    assert [type(m).__name__ for m in layers] == ["ReLU", "Tanh"]
