"""What is written into an array may depend on the array's own elements."""

from __future__ import annotations

from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom.backends.xla.layout_assignment import assign_layouts
from lazyloom.backends.xla.overlaps import separated, used_operands

pytestmark = pytest.mark.usefixtures("fresh_cache")


def test_a_shift_through_an_axis_of_one_element() -> None:
    b = np.arange(6.0).reshape(1, 6)
    b[:, 1:] = b[:, :-1]
    b[:, 0] = 9
    onp.testing.assert_allclose(onp.asarray(np.tanh(b)), onp.tanh([[9.0, 0, 1, 2, 3, 4]]))
    assert b.tolist() == [[9.0, 0, 1, 2, 3, 4]]


def test_a_shift_below_a_view() -> None:
    a = torch.arange(6.0)
    v = a[None]
    a[1:] = a[:-1].clone()
    v.neg_()
    assert a.tolist() == [0.0, 0, -1, -2, -3, -4]
    assert v.tolist() == [[0.0, 0, -1, -2, -3, -4]]


def test_a_scaled_shift_below_a_view() -> None:
    h = torch.arange(6.0) + 1
    v = h[None]
    h[..., 1:] = h[..., :-1] * 2
    v *= -1
    assert h.tolist() == [-1.0, -2, -4, -6, -8, -10]


def test_a_shift_before_a_reshape() -> None:
    # the program of https://github.com/openxla/xla/issues/49176: nothing is donated
    x = np.arange(4, dtype=np.int32).reshape(4, 1, 1)
    lazyloom.sync(x)
    base = x + 1
    base[1:] = base[:3]
    assert base.reshape(1, 4, 1).ravel().tolist() == [1, 1, 2, 3]


def test_an_index_that_is_read_where_it_writes() -> None:
    x = np.array([[3, 1, 2, 0]])
    lazyloom.sync(x)
    y = x.reshape(4)
    y[y[0]] = y[1] + 10
    assert (x * 2).tolist() == [[6, 2, 4, 22]]


def _separated(*values: Any) -> set[int]:
    program = lazyloom.program_of(*values)
    structure = program.structure
    outputs = [(n, 0) for n in range(len(structure.instructions))][-1:]
    texts = [a.lowered.text for a in assign_layouts(structure.instructions, outputs)]
    return separated(structure.instructions, texts, structure.leaf_types, "cpu")


def test_only_what_reads_what_it_writes_is_separated() -> None:
    x, y = np.arange(12.0).reshape(3, 4), np.arange(4.0)
    lazyloom.sync(x, y)
    x[1] = np.tanh(y) * 2  # reads another array
    x[2] += 1  # its own
    assert len(_separated(x)) == 1


def test_a_training_step_has_nothing_to_separate() -> None:
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.ones(4, 3)
    lazyloom.sync(x, *model.parameters())
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    assert not _separated(loss, *model.parameters())


def test_values_of_an_op_with_several_results() -> None:
    x = np.arange(6.0).reshape(1, 6) + 0.5
    lazyloom.sync(x)
    fraction, whole = np.modf(x[:, :-1])
    x[:, 1:] = fraction + whole
    assert (x.reshape(6) * 1).tolist() == [0.5, 0.5, 1.5, 2.5, 3.5, 4.5]


def test_a_gradient_of_slices_is_not_separated_from_them() -> None:
    # their derivatives take the slices' operand for its shape alone
    x = torch.rand(4, 6, requires_grad=True)
    lazyloom.sync(x)
    y = x * 2
    (y[:, :3].tanh() * y[:, 3:]).sum().backward()
    assert not _separated(x.grad)


def test_what_the_results_of_an_op_depend_on() -> None:
    text = """  func.func private @f(%arg0: tensor<2xf32>, %arg1: tensor<f32>) -> (tensor<2xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.add %arg0, %arg0 : tensor<2xf32>
    %1:2 = stablehlo.while(%iterArg = %arg1, %iterArg_0 = %cst) : tensor<f32>, tensor<f32>
    cond {
      %3 = stablehlo.compare LT, %iterArg, %cst : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      stablehlo.return %iterArg, %iterArg_0 : tensor<f32>, tensor<f32>
    }
    %2 = stablehlo.broadcast_in_dim %1#0, dims = [] : (tensor<f32>) -> tensor<2xf32>
    return %2 : tensor<2xf32>
  }"""
    assert used_operands(text) == {1}
    assert used_operands(text.replace("return %2", "return %0")) == {0}
