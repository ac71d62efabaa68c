"""``torch.onnx.export``: what it takes, what it gives, and what it does not take."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import io
import os
from pathlib import Path
from typing import Any

import pytest

import lazyloom_torch as torch
from lazyloom.errors import ArgumentError
from tests.export.running_onnx import needed

pytestmark = [pytest.mark.xla, pytest.mark.usefixtures("quick_compiler"), needed]
nn = torch.nn
with_runtime = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed")


class Model(nn.Module):
    """Takes a tensor, a dict of tensors and a number."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.dropout = nn.Dropout()
        self.register_buffer("scale", torch.tensor(2.0))
        self.exporting: list[bool] = []

    def forward(self, x: Any, more: Any, power: int = 2, shift: Any = None) -> Any:
        self.exporting.append(torch.onnx.is_in_onnx_export())
        y = self.dropout(self.linear(x)) ** power * self.scale + more["bias"]
        return {"y": y if shift is None else y + shift}, more["bias"]


def arguments(n: int) -> tuple[Any, ...]:
    return torch.arange(3.0 * n).reshape(n, 3), {"bias": torch.ones(2)}, 3


def shapes(values: Any) -> dict[str, list[Any]]:
    return {v.name: [d if isinstance(d, int) else d.value for d in v.shape] for v in values}


@with_runtime
def test_a_module_with_nested_and_named_arguments(tmp_path: Path) -> None:
    model = Model().eval()
    path = tmp_path / "m.onnx"
    program = torch.onnx.export(
        model, arguments(2), path, kwargs={"shift": torch.ones(2)}, input_names=["x"],
        output_names=["y", "bias"], dynamic_shapes={"x": {0: torch.export.Dim("n")}}, verify=True)
    assert program is not None
    assert set(model.exporting[:3]) == {True} and not torch.onnx.is_in_onnx_export()
    assert shapes(program.model.graph.inputs) == {
        "x": ["n", 3], "more['bias']": [2], "shift": [2]}
    assert shapes(program.model.graph.outputs) == {"y": ["n", 2], "bias": [2]}
    assert {"linear.weight", "linear.bias", "scale"} <= set(program.model.graph.initializers)
    given, shift = arguments(5), torch.full((2,), 0.5)
    y, bias = program(*given, shift=shift)
    assert isinstance(y, torch.Tensor)
    torch.testing.assert_close(y, model(*given, shift=shift)[0]["y"].detach())
    assert torch.equal(bias, given[1]["bias"])
    torch.testing.assert_close(program.call_reference(*given, shift=shift)[0], y)
    with pytest.raises(ValueError, match="2 tensors are given, expected 3"):
        program(*given)
    assert sorted(os.listdir(tmp_path)) == ["m.onnx"]  # its arrays are small


def test_files(tmp_path: Path) -> None:
    onnx: Any = importlib.import_module("onnx")
    model, x = nn.Linear(32, 32), torch.ones(1, 32)
    torch.onnx.export(model, x, str(tmp_path / "a.onnx"))
    torch.onnx.export(model, (x,), tmp_path / "b.onnx", external_data=False)
    assert sorted(os.listdir(tmp_path)) == ["a.onnx", "a.onnx.data", "b.onnx"]
    file = io.BytesIO()
    program = torch.onnx.export(model, (x,), file, keep_initializers_as_inputs=True)
    assert program is not None
    written = onnx.load_from_string(file.getvalue())
    assert [v.name for v in written.graph.input] == ["input", "weight", "bias"]
    # but those of the program are as they were
    assert [v.name for v in program.model_proto.graph.input] == ["input"]
    program.save(tmp_path / "c.onnx")
    for name in "abc":
        onnx.checker.check_model(str(tmp_path / f"{name}.onnx"), full_check=True)
    assert not [n for n in program.model_proto.graph.node if n.op_type == "Identity"]
    plain = torch.onnx.export(model, (x,), None, optimize=False)
    assert plain is not None
    assert [n for n in plain.model_proto.graph.node if n.op_type == "Identity"]


def test_axes_that_vary_by_the_names_of_inputs() -> None:
    def function(x: Any, y: Any) -> Any:
        return x @ y.T

    x, y = torch.ones(2, 3), torch.ones(4, 3)
    program = torch.onnx.export(
        function, (x, y), None, input_names=["left"], output_names=["product"],
        dynamic_axes={"left": {0: "rows"}, "y": [0], "product": [0, 1]})
    assert program is not None
    assert shapes(program.model.graph.inputs) == {
        "left": ["rows", 3], "y": ["y_dynamic_axes_1", 3]}
    assert shapes(program.model.graph.outputs) == {"product": ["rows", "y_dynamic_axes_1"]}
    found = program.call_reference(torch.ones(5, 3), torch.ones(7, 3))[0]
    assert torch.equal(found, torch.full((5, 7), 3.0))
    named = torch.onnx.export(
        function, (x, y), None,
        dynamic_shapes=({0: "n"}, (torch.export.Dim.DYNAMIC, torch.export.Dim.STATIC)))
    assert named is not None
    assert shapes(named.model.graph.outputs) == {"output": ["n", "y_dim_0"]}
    auto = torch.export.Dim.AUTO
    both = torch.onnx.export(
        lambda x, y: x + y, (x, torch.ones(2, 3)), None, dynamic_shapes=({0: auto}, {0: auto}))
    assert both is not None
    assert shapes(both.model.graph.inputs) == {"x": ["x_dim_0", 3], "y": ["x_dim_0", 3]}
    with pytest.raises(ValueError, match="dynamic_axes has 'z', expected one of the names"):
        torch.onnx.export(function, (x, y), None, dynamic_axes={"z": [0]})
    with pytest.raises(ValueError, match="expected one of them"):
        torch.onnx.export(function, (x, y), None, dynamic_axes={"x": [0]},
                          dynamic_shapes=({0: "n"}, None))


def test_names_that_are_no_names_of_variables() -> None:
    program = torch.onnx.export(
        lambda x, y, z: (x + y, z * 2), (torch.ones(2, 3),) * 3, None,
        input_names=["my input", "x[0]", "d_batch_size"], output_names=["größe (m)"],
        dynamic_axes={"my input": {0: "batch size"}, "x[0]": {0: "batch size"},
                      "d_batch_size": {0: "batch size", 1: "d_batch_size"}, "größe (m)": [0]})
    assert program is not None
    assert shapes(program.model.graph.inputs) == {
        "my input": ["batch size", 3], "x[0]": ["batch size", 3],
        "d_batch_size": ["batch size", "d_batch_size"]}
    assert shapes(program.model.graph.outputs) == {
        "größe (m)": ["batch size", 3], "output1": ["batch size", "d_batch_size"]}
    listed = torch.onnx.export(lambda x: x.reshape(-1), (torch.ones(2, 3),), None,
                               input_names=["a b"], dynamic_axes={"a b": [0]})
    assert listed is not None
    assert shapes(listed.model.graph.inputs) == {"a b": ["a b_dynamic_axes_1", 3]}
    found = listed.call_reference(torch.ones(5, 3))[0]
    assert found.shape == (15,)


def test_dynamic_shapes_of_no_argument_are_an_error() -> None:
    x = torch.ones(2, 3)
    for wrong, error, message in (
        ({"y": {0: "n"}}, ValueError, "dynamic_shapes has 'y', expected one of the tensors"),
        (({0: "n"}, {0: "n"}), ValueError, "has 2 entries, expected at most 1"),
        (([{0: "n"}, {0: "n"}],), ValueError, r"has 'x\[0\]', expected one of the tensors"),
        (5, TypeError, "dynamic_shapes is a int"),
    ):
        with pytest.raises(error, match=message):
            torch.onnx.export(lambda x: x * 2, (x,), None, dynamic_shapes=wrong)
    for axes, message in (({"x": 0}, r"dynamic_axes\['x'\] is 0"), ([0], "dynamic_axes is a list")):
        with pytest.raises(TypeError, match=message):
            torch.onnx.export(lambda x: x * 2, (x,), None, dynamic_axes=axes)
    with pytest.raises(TypeError, match="args is a int, expected a tuple"):
        torch.onnx.export(lambda x: x * 2, 5, None)
    several = torch.onnx.export(lambda *each: each[0] + each[1], (x, x), None,
                                dynamic_shapes=(({0: "n"}, {0: "n"}),))
    assert several is not None
    assert shapes(several.model.graph.inputs) == {"each[0]": ["n", 3], "each[1]": ["n", 3]}


def test_the_mode_that_a_module_is_exported_in() -> None:
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout())
    x = torch.ones(2, 3)
    with pytest.raises(ValueError, match=r"eval\(\)"):
        torch.onnx.export(model, (x,), None)
    assert torch.onnx.export(model, (x,), None, dynamo=False) is None
    assert all(m.training for m in model.modules())
    with pytest.raises(ArgumentError, match="random numbers"):
        torch.onnx.export(nn.Dropout(), (x,), None, dynamo=False,
                          training=torch.onnx.TrainingMode.PRESERVE)
    assert not torch.onnx.is_in_onnx_export()


@with_runtime
def test_verify_takes_a_function_that_writes_to_its_arguments() -> None:
    def function(x: Any) -> Any:
        x += 1
        return x * 2

    x = torch.ones(3)
    assert torch.onnx.export(function, (x,), None, verify=True) is not None


@with_runtime
def test_verify_finds_what_differs() -> None:
    class Counting(nn.Module):
        calls = 0

        def forward(self, x: Any) -> Any:
            Counting.calls += 1
            return x * self.calls

    with pytest.raises(torch.onnx.OnnxExporterError, match="output 0 of the model is float32"):
        torch.onnx.export(Counting(), (torch.ones(2),), None, verify=True)


def test_what_is_not_taken() -> None:
    model, x = nn.Linear(2, 2), torch.ones(1, 2)
    for name, value in (
        ("custom_translation_table", {"a": 1}), ("custom_opsets", {"a": 1}), ("report", True),
        ("profile", True), ("dump_exported_program", True), ("export_params", False),
        ("export_modules_as_functions", True),
        ("operator_export_type", torch.onnx.OperatorExportTypes.ONNX_ATEN),
    ):
        with pytest.raises(NotImplementedError, match=f"torch.onnx.export: {name} is"):
            torch.onnx.export(model, (x,), None, **{name: value})
    with pytest.raises(TypeError, match="export the module that it was made of"):
        torch.onnx.export(torch.export.export(model, (x,)), (x,), None)
    with pytest.raises(TypeError, match="model is a int"):
        torch.onnx.export(3, (x,), None)


def test_it_takes_the_arguments_of_pytorch() -> None:
    real = pytest.importorskip("torch")
    theirs = inspect.signature(real.onnx.export).parameters
    mine = inspect.signature(torch.onnx.export).parameters
    assert list(mine) == list(theirs)
    for name, p in theirs.items():
        if isinstance(p.default, (bool, str, type(None))):
            assert mine[name].default == p.default, name
        assert mine[name].kind == p.kind, name
