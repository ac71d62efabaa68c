"""Exported programs with their derivatives, beside the functions that were exported."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom.errors import ArgumentError, GradientError, IndexRangeError
from tests.export.test_damaged_files import changed, replaced
from tests.export.test_exported_functions import data, loaded

pytestmark = [pytest.mark.xla, pytest.mark.usefixtures("quick_compiler")]


def close(a: Any, b: Any) -> None:
    numpy.testing.assert_allclose(numpy.asarray(a), numpy.asarray(b), rtol=1e-5, atol=1e-6)


def gradients_of(function: Any, *arguments: Any) -> list[Any]:
    """The gradients of a sum by torch-like arguments, by backward()."""
    given = [a.detach().clone().requires_grad_() for a in arguments]
    function(*given).square().sum().backward()
    return [a.grad.numpy() for a in given]


def test_backward_goes_through_a_module_of_any_extent() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    program = loaded(model, torch.zeros(2, 3), parameters=model.state_dict(), vjp_order=1,
                     dynamic={"input": {0: "batch"}}, extents={"batch": (1, 5)})
    assert program.vjp_order == 1 and program.describe()["vjp_order"] == 1
    for batch in (1, 5):
        x = torch.tensor(data(batch, 3))
        close(gradients_of(program, x)[0], gradients_of(model, x)[0])
    assert not program(torch.zeros(1, 3)).requires_grad
    with torch.no_grad():
        assert not program(torch.zeros(1, 3).requires_grad_()).requires_grad


def test_parameters_that_required_a_gradient_are_trained() -> None:
    model = torch.nn.Linear(3, 2)
    model.bias.requires_grad_(False)
    program = torch.export.export(model, (torch.zeros(4, 3),), vjp_order=1)
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    again = torch.export.load(file).module()
    assert [name for name, p in again.named_parameters() if p.requires_grad] == ["weight"]
    x, y = torch.tensor(data(4, 3)), torch.tensor(data(4, 2))
    losses = []
    for trained in (model, again):
        optimizer = torch.optim.SGD([p for p in trained.parameters() if p.requires_grad], lr=0.1)
        losses.append([])
        for _ in range(4):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(trained(x), y)
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    close(losses[0], losses[1])
    assert losses[1][3] < losses[1][0]
    close(model.weight.detach(), again.weight.detach())
    again.bias.requires_grad_()
    with pytest.raises(GradientError, match="bias requires a gradient, and the parameter did not"):
        again(x)


def test_transforms_and_second_derivatives() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sin(x) * y + x * x * x

    g = loaded(f, np.array(data(3)), np.array(data(3)), vjp_order=2)
    once = loaded(f, np.array(data(3)), np.array(data(3)), vjp_order=1)
    x, y = np.array(data(3) + 1), np.array(data(3))
    for transform in (
        lambda h: lazyloom.grad(lambda x, y: h(x, y).sum(), argnums=(0, 1)),
        lambda h: lazyloom.jacrev(h, argnums=(0, 1)),
        lambda h: lazyloom.jacrev(lazyloom.grad(lambda x, y: h(x, y).sum()), argnums=(0, 1)),
    ):
        for a, b in zip(transform(f)(x, y), transform(g)(x, y), strict=True):
            close(a, b)
    rows = np.stack([x, y + 2])
    close(lazyloom.vmap(lazyloom.grad(lambda x: f(x, y).sum()))(rows),
          lazyloom.vmap(lazyloom.grad(lambda x: g(x, y).sum()))(rows))
    second = lazyloom.jacrev(lazyloom.grad(lambda x: once(x, y).sum()))
    with pytest.raises(GradientError, match="derivative 2 .* with vjp_order=1; .*vjp_order=2"):
        second(x)
    with pytest.raises(GradientError, match="in reverse mode only"):
        lazyloom.jvp(lambda x: g(x, y), (x,), (x,))


def test_without_it_the_error_says_how_to_export_anew() -> None:
    g = loaded(lambda x: (x * x).sum(), torch.tensor(data(3)))
    with pytest.raises(GradientError, match="without its derivative; export it with "
                                            r"lazyloom\.export\(\.\.\., vjp_order=1\)"):
        g(torch.tensor(data(3), requires_grad=True))


class Doubled(torch.autograd.Function):
    """Its derivative is not that of what it computes."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 1

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return gradient * 2 + x


def test_what_is_detached_and_what_has_a_derivative_of_its_own() -> None:
    table = torch.tensor(data(5, 3))

    def f(x: Any, i: Any) -> Any:
        with torch.no_grad():
            constant = x * 3
        return Doubled.apply(x) * x.detach() * constant + table[i].sum() * x

    i = torch.tensor([0, 4])
    g = loaded(f, torch.tensor(data(3)), i, vjp_order=1)
    x = torch.tensor(data(3) + 1)
    close(gradients_of(lambda x: g(x, i), x)[0], gradients_of(lambda x: f(x, i), x)[0])
    y = x.clone().requires_grad_()
    g(y, torch.tensor([0, 9])).sum().backward()
    with pytest.raises(IndexRangeError, match="9 is out of bounds"):
        y.grad.numpy()


def test_draws_are_those_of_the_call() -> None:
    torch.manual_seed(3)
    dropout = torch.nn.Dropout(0.5)
    g = loaded(lambda x: dropout(x) * x, torch.zeros(64), vjp_order=1)
    for _ in range(2):
        x = torch.ones(64).requires_grad_()
        y = g(x)
        y.sum().backward()
        close(x.grad, 2 * y.detach())
        assert 0 < (y == 0).sum().item() < 64
    with lazyloom.options(reproducible=True):
        assert (g(x.detach()).numpy() != y.detach().numpy()).any()


def test_results_without_a_derivative_and_arguments_that_are_not_used() -> None:
    def f(x: Any, unused: Any, n: Any) -> Any:
        return x.argmax(), x * n, np.ones(2)

    g = loaded(f, np.array(data(3)), np.array(data(2)), np.array(2), vjp_order=1)
    x, unused, n = np.array(data(3)), np.array(data(2)), np.array(5)
    of_x, of_unused = lazyloom.grad(
        lambda x, unused: (g(x, unused, n)[1] * x).sum(), argnums=(0, 1))(x, unused)
    close(of_x, 2 * 5 * data(3))
    close(of_unused, numpy.zeros(2))
    z = np.array([1 + 2j, 3 - 1j])
    h = loaded(lambda z: z * z, z, vjp_order=1)
    close(lazyloom.grad(lambda z: h(z).real.sum())(z),
          lazyloom.grad(lambda z: (z * z).real.sum())(z))


def test_pending_values_have_the_inputs_that_require_a_gradient() -> None:
    x = torch.tensor(data(2, 3), requires_grad=True)
    other = torch.tensor(data(2, 3))
    y = (x * other).tanh()
    file = io.BytesIO()
    lazyloom.export(y, file, inputs={"x": x, "other": other}, vjp_order=1)
    g = lazyloom.load(file)
    close(gradients_of(lambda x: g(x, other), x)[0],
          gradients_of(lambda x: (x * other).tanh(), x)[0])
    with pytest.raises(GradientError, match="other requires a gradient, and the input did not"):
        g(x, other.clone().requires_grad_())
    with pytest.raises(ArgumentError, match="nothing is there to differentiate by"):
        lazyloom.export(other * 2, io.BytesIO(), inputs={"other": other}, vjp_order=1)


def test_captured_steps_and_exports_of_loaded_programs() -> None:
    g = loaded(lambda x: np.tanh(x) * x, np.array(data(3)), vjp_order=1)
    step = lazyloom.jit(lambda x: lazyloom.grad(lambda x: g(x).sum())(x))
    expected = lazyloom.grad(lambda x: (np.tanh(x) * x).sum())
    for k in range(4):
        close(step(np.array(data(3) + k)), expected(np.array(data(3) + k)))
    again = loaded(lambda x: g(x) * 2, np.array(data(3)), vjp_order=1)
    x = np.array(data(3))
    close(lazyloom.grad(lambda x: again(x).sum())(x), 2 * expected(x))


def test_bad_orders_are_errors() -> None:
    x = np.array(data(3))
    for order in (-1, 5, True, 1.0):
        with pytest.raises(ArgumentError, match="vjp_order is .*expected an integer from 0 to 4"):
            loaded(lambda x: x, x, vjp_order=order)
    with pytest.raises(ArgumentError, match="no result is floating-point or complex"):
        loaded(lambda x: x.argmax(), x, vjp_order=1)
    with pytest.raises(ArgumentError, match="nothing is there to differentiate by"):
        loaded(lambda n: n * 1.5, np.array(3), vjp_order=1)


def members_of(**options: Any) -> dict[str, bytes]:
    file = io.BytesIO()
    weights = np.array(data(3, 2))
    lazyloom.export(lambda x: x @ weights, file, np.array(data(4, 3)),
                    parameters={"weights": weights}, **options)
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_files_without_derivatives_are_as_before_and_changed_ones_are_errors() -> None:
    plain, whole = members_of(), members_of(vjp_order=1)
    manifest = json.loads(plain["manifest.json"])
    assert manifest["version"] == 1 and "differentiable" not in manifest
    assert json.loads(whole["manifest.json"])["version"] == 3
    assert whole["modules/0.mlirbc"] == plain["modules/0.mlirbc"]
    for change, message in (
        (lambda m: m.pop("differentiable"), r"\['differentiable'\] are missing"),
        (lambda m: m["differentiable"].update(arguments=[1]), r"by its arguments \[1\], expected"),
        (lambda m: m["differentiable"].update(arguments=[0, 0]), "expected numbers of floating"),
        (lambda m: m["differentiable"].update(parameters=[0]), r"vjp1\.mlirbc gives .*expected"),
        (lambda m: m["specializations"][0].update(vjps=[]), "lists|expected"),
        (lambda m: m["specializations"][0]["vjps"][0].update(module="modules/0.mlirbc"),
         "two of its specializations or VJPs have one module"),
        (lambda m: m.update(version=2), r"the fields \['differentiable'\] are unknown"),
    ):
        file = changed(whole, change)
        if "lists" in message:
            assert lazyloom.load(file).vjp_order == 0
            continue
        with pytest.raises(ArgumentError, match=message):
            lazyloom.load(file)
    with pytest.raises(ArgumentError, match=r"modules/0\.vjp1\.mlirbc takes"):
        lazyloom.load(replaced(whole, "modules/0.vjp1.mlirbc", whole["modules/0.mlirbc"]))


#: written by ``python -m tests.export.third_version``, and never again
THIRD = Path(__file__).parent / "version_3.loom"


def test_the_third_version_is_read_for_ever() -> None:
    g = lazyloom.load(THIRD)
    assert g.vjp_order == 2 and g.differentiable_parameters == ["weight"]
    assert g.extents == [{"n": 1}, {"n": 2}]
    x = torch.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]], requires_grad=True)
    weight = torch.tensor([1.0, 0.0, 2.0], requires_grad=True)
    # y = (x * x) @ weight + shift
    y = g.call_with([weight, torch.tensor(3.0)], (x,), {})
    close(y.detach(), [22, 3])
    of_x, of_weight = torch.autograd.grad(y.sum(), (x, weight), create_graph=True)
    close(of_x.detach(), [[2, 0, 12], [0, 0, 0]])
    close(of_weight.detach(), [1, 5, 9])
    (again,) = torch.autograd.grad(of_weight.sum(), x)
    close(again, [[2, 4, 6], [0, 2, 0]])
