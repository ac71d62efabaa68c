"""Programs as ONNX models: results, names, shapes that vary, files, and what is refused."""

from __future__ import annotations

import importlib
import io
import os
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom.dtypes import ALL
from lazyloom.errors import AliasError, ArgumentError, ReadForbiddenError
from tests.conformance.torch_models import EXAMPLES, either
from tests.export.running_onnx import by_reference, needed, run, written

pytestmark = [pytest.mark.xla, pytest.mark.usefixtures("quick_compiler"), needed]
nn = torch.nn
FOLDER = EXAMPLES / "torch_models"


def shapes(values: Any) -> dict[str, list[Any]]:
    """The shapes of inputs or outputs by name."""
    return {v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim]
            for v in values}


def of_model(model: Any, *arguments: Any, **options: Any) -> Any:
    """A module as a ModelProto, with its parameters by name."""
    named = {**dict(model.named_parameters(remove_duplicate=False)),
             **dict(model.named_buffers(remove_duplicate=False))}
    return written(model, *arguments, parameters=named, **options)


def compare(model: Any, proto: Any, *arguments: Any, rtol: float = 1e-4) -> None:
    """That a model computes what a module does."""
    with torch.no_grad():
        expected = model(*arguments)
    expected = expected if isinstance(expected, (tuple, list)) else [expected]
    found = run(proto, *[x.numpy() for x in arguments])
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.numpy().dtype
        numpy.testing.assert_allclose(mine, theirs.numpy(), rtol=rtol, atol=1e-5)


# Models


def test_a_resnet_of_any_batch() -> None:
    models = either.load(FOLDER / "resnet.py", "lazyloom_torch")
    torch.manual_seed(0)
    model = models.ResNet(models.BasicBlock, [2, 2, 2, 2], 10, 4).eval()
    proto = of_model(model, torch.randn(1, 3, 32, 32), dynamic={"x": {0: "batch"}})
    assert shapes(proto.graph.input) == {"x": ["batch", 3, 32, 32]}
    assert shapes(proto.graph.output) == {"output": ["batch", 10]}
    assert {t.name for t in proto.graph.initializer} >= set(dict(model.named_parameters()))
    for batch in (1, 3):
        compare(model, proto, torch.randn(batch, 3, 32, 32), rtol=1e-3)


def test_a_gpt2_of_any_batch_and_length_with_its_weights_tied() -> None:
    models = either.load(FOLDER / "gpt2.py", "lazyloom_torch")
    torch.manual_seed(7)
    config = models.Config(vocab_size=50, n_positions=16, n_embd=16, n_layer=2, n_head=2)
    model = models.GPT2LMHeadModel(config).eval()
    proto = of_model(model, torch.tensor([[1, 2, 3]]),
                     dynamic={"input_ids": {0: "batch", 1: "length"}})
    assert shapes(proto.graph.output) == {"output": ["batch", "length", 50]}
    names = [t.name for t in proto.graph.initializer]
    assert "transformer.wte.weight" in names and "lm_head.weight" not in names
    for shape in ((1, 1), (2, 5), (3, 16)):
        compare(model, proto, torch.randint(0, 50, shape))


class Recurrent(nn.Module):
    """Layers of each kind, of both directions."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 5, 2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(10, 3, batch_first=True)
        self.rnn = nn.RNN(3, 3, nonlinearity="relu", bias=False, batch_first=True)

    def forward(self, x: Any) -> Any:
        y, (h, c) = self.lstm(x)
        y, last = self.gru(y)
        return *self.rnn(y), h, c, last


def test_recurrent_layers_of_any_length() -> None:
    torch.manual_seed(1)
    model = Recurrent().eval()
    proto = of_model(model, torch.randn(2, 7, 4), dynamic={"x": {0: "batch", 1: "time"}})
    assert {"LSTM", "GRU", "RNN"} <= {node.op_type for node in proto.graph.node}
    for shape in ((2, 7, 4), (1, 1, 4), (3, 9, 4)):
        compare(model, proto, torch.randn(*shape))


def test_a_transformer_with_masks() -> None:
    torch.manual_seed(2)
    layer = nn.TransformerDecoderLayer(16, 2, 32, batch_first=True, activation="gelu").eval()
    causal = nn.Transformer.generate_square_subsequent_mask(5)

    def model(x: Any, memory: Any, hidden: Any) -> Any:
        return layer(x, memory, tgt_mask=causal, memory_key_padding_mask=hidden)

    x, memory = torch.randn(2, 5, 16), torch.randn(2, 7, 16)
    hidden = torch.tensor([[False] * 7, [False] * 4 + [True] * 3])
    proto = written(model, x, memory, hidden)
    compare(model, proto, x, memory, hidden)


def test_a_network_of_convolutions() -> None:
    torch.manual_seed(3)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding="same", groups=1), nn.BatchNorm2d(8), nn.SiLU(),
        nn.MaxPool2d(3, 2, 1, ceil_mode=False), nn.ConvTranspose2d(8, 4, 3, 2, 1, 1),
        nn.GroupNorm(2, 4), nn.Upsample(scale_factor=2), nn.AvgPool2d(2), nn.PReLU(),
        nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Hardswish(), nn.LogSoftmax(1))
    with torch.no_grad():
        model(torch.randn(4, 3, 8, 8))
    lazyloom.sync(*model.buffers())
    model.eval()
    proto = of_model(model, torch.randn(2, 3, 8, 8), dynamic={"input": {0: "n"}})
    compare(model, proto, torch.randn(5, 3, 8, 8))


# Control flow


def test_loops_and_branches_are_graphs_within_the_graph() -> None:
    weights = np.array([[0.5, 1.0], [0.0, 0.5]], dtype=np.float32)

    def function(x: Any, start: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            carry = np.tanh(carry @ weights + row)
            return carry, carry * 2

        last, rows = lazyloom.scan(step, start, x)
        total = lazyloom.while_loop(
            lambda v: np.sum(v) < 10, lambda v: v * 2 + 1, np.abs(last), max_steps=5)
        return last, rows, total, lazyloom.cond(
            np.sum(last) > 0, lambda v: v + 1, lambda v: v - 1, last)

    x = numpy.arange(6, dtype="float32").reshape(3, 2) / 5
    start = numpy.array([0.25, -0.5], "float32")
    proto = written(function, np.array(x), np.array(start))
    assert {"Scan", "Loop", "If"} <= {node.op_type for node in proto.graph.node}
    for sign in (1, -1):
        found = run(proto, x * sign, start)
        for mine, theirs in zip(found, function(np.array(x * sign), np.array(start)), strict=True):
            numpy.testing.assert_allclose(mine, numpy.asarray(theirs), rtol=1e-5)


# Values


@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("shape", [(), (2, 3), (0, 3)], ids=str)
def test_every_dtype_and_shape(dtype: Any, shape: tuple[int, ...]) -> None:
    x = numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape).astype(dtype.numpy)

    def function(x: lazyloom.Tensor) -> Any:
        two = lazyloom.apply("stack", [x, x], {"axis": 0})
        return lazyloom.apply("reshape", [two], {"shape": (3, 0) if 0 in shape else (-1,)}), x

    tensor = lazyloom.Tensor.from_value(lazyloom.from_host(x))
    proto = written(function, tensor)
    for mine, theirs in zip(run(proto, x), function(tensor), strict=True):
        assert mine.dtype == dtype.numpy
        numpy.testing.assert_array_equal(mine, theirs.read())


def test_outputs_that_are_inputs_equal_or_views_of_each_other() -> None:
    def function(x: Any) -> Any:
        y = x + 1
        y[0] = 5
        return {"x": x, "twice": [y, y], "view": y.T, "part": y[1:], "constant": np.ones(2)}

    x = numpy.arange(6, dtype="float32").reshape(2, 3)
    proto = written(function, np.array(x))
    found = run(proto, x)
    y = x + 1
    y[0] = 5
    for mine, theirs in zip(found, [x, y, y, y.T, y[1:], numpy.ones(2)], strict=True):
        numpy.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype
    assert [v.name for v in proto.graph.output] == [f"output{k}" for k in range(6)]


def test_pending_values_and_numbers() -> None:
    a, b = np.ones((2, 2), dtype=np.float32), np.full((2, 2), 3.0, dtype=np.float32)
    lazyloom.sync(a, b)
    proto = written((a * 0.7 + b) ** 2, inputs={"a": a})
    assert list(shapes(proto.graph.input)) == ["a"] and len(proto.graph.initializer) > 1
    (found,) = run(proto, numpy.zeros((2, 2), "float32"))
    numpy.testing.assert_array_equal(found, numpy.full((2, 2), 9, "float32"))


def test_both_evaluators_agree() -> None:
    def function(x: Any) -> Any:
        return np.where(x > 0, np.log1p(np.abs(x)), x), np.mean(x, axis=0), np.sort(x)

    x = numpy.linspace(-2, 2, 12, dtype="float32").reshape(3, 4)
    proto = written(function, np.array(x))
    for mine, theirs in zip(run(proto, x), by_reference(proto, {"x": x}), strict=True):
        numpy.testing.assert_allclose(mine, theirs, rtol=1e-6)


# Extents that vary


def test_extents_are_computed_from_the_inputs() -> None:
    def function(x: Any, y: Any) -> Any:
        n, m = x.shape
        joined = np.concatenate([x, y], axis=0)
        places = np.arange(n * m, dtype=np.float32).reshape(n, m)
        return (joined.reshape(-1)[1:], x.sum() / n + places, np.zeros((2 * n + 1, m)),
                np.broadcast_to(x[:1], (n, m)), x[1:, ::2])

    proto = written(
        function, np.zeros((2, 4), dtype=np.float32), np.zeros((3, 4), dtype=np.float32),
        dynamic={"x": {0: "n", 1: "m"}, "y": {0: "k", 1: "m"}})
    found = shapes(proto.graph.output)
    assert found["output1"] == ["n", "m"] and found["output2"] == ["2*n + 1", "m"]
    rng = numpy.random.default_rng(0)
    for n, m, k in ((2, 4, 3), (5, 3, 2), (3, 8, 1)):
        x, y = (rng.standard_normal(s).astype("float32") for s in ((n, m), (k, m)))
        for mine, theirs in zip(run(proto, x, y), function(np.array(x), np.array(y)), strict=True):
            numpy.testing.assert_allclose(mine, numpy.asarray(theirs), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("function", [
    lambda x: lazyloom.cond(x.sum() > 0, lambda x: np.concatenate([x, x]), lambda x:
                            np.concatenate([-x, x * 3]), x),
    lambda x: lazyloom.while_loop(lambda c: np.abs(c).sum() < 1000, lambda c: c * 2, x),
    lambda x: lazyloom.scan(lambda c, r: (lazyloom.cond(
        r.sum() > 0, lambda c, r: c + r, lambda c, r: c - r, c, r), np.outer(c, r)),
        np.ones(x.shape[0], dtype=np.float32), x.T),
], ids=["cond", "while_loop", "scan"])  # fmt: skip
def test_loops_and_branches_whose_values_vary(function: Any) -> None:
    proto = written(function, np.zeros((3, 4), dtype=np.float32), dynamic={"x": {0: "n"}})
    generator = numpy.random.default_rng(0)
    for extent in (1, 2, 3, 30):
        for sign in (1, -1):
            x = sign * generator.random((extent, 4), dtype=numpy.float32)
            expected = function(np.array(x))
            expected = expected if isinstance(expected, tuple) else (expected,)
            for mine, theirs in zip(run(proto, x), expected, strict=True):
                numpy.testing.assert_allclose(mine, numpy.asarray(theirs), rtol=1e-5)


def test_programs_that_differ_for_other_extents_are_an_error_with_the_line() -> None:
    x = np.zeros((4, 3), dtype=np.float32)
    options: dict[str, Any] = {"dynamic": {"x": {0: "n"}}}
    with pytest.raises(ArgumentError, match=r"n=4.*other ops|n=4.*differs.*test_onnx"):
        written(lambda x: x * 2 if x.shape[0] % 2 else np.exp(x), x, **options)
    with pytest.raises(ArgumentError, match="no sum of products.*test_onnx.py"):
        written(lambda x: x + np.zeros((x.shape[0], 1)) + np.arange(x.shape[0] ** 3)[:1], x,
                **options)
    with pytest.raises(ValueError) as caught:
        written(lambda x: x.reshape(x.shape[0] // 2, -1), x, **options)
    assert "n=5" in caught.value.__notes__[0]
    with pytest.raises(ArgumentError, match="equal extents, or another name"):
        written(lambda x, y: (x, y), x, np.zeros((3, 3)),
                dynamic={"x": {0: "n"}, "y": {0: "n"}})
    # bounds keep it from extents that it does not take
    proto = written(lambda x: np.exp(x).reshape(-1), x, bounds={"n": (4, 6)}, **options)
    assert shapes(proto.graph.output) == {"output": ["3*n"]}


def test_large_extents_find_branches_that_small_ones_do_not_take() -> None:
    x = np.zeros((4, 3), dtype=np.float32)
    options: dict[str, Any] = {"dynamic": {"x": {0: "n"}}}
    for function in (lambda x: x[:min(x.shape[0], 10)] * 2,
                     lambda x: x * 2 if x.shape[0] > 20 else np.exp(x)):
        with pytest.raises(ArgumentError, match="n=4 and n=5 and n=69 differs.*bounds"):
            written(function, x, **options)
        small = numpy.ones((9, 3), numpy.float32)
        proto = written(function, x, bounds={"n": (2, 10)}, **options)
        (found,) = run(proto, small)
        numpy.testing.assert_allclose(found, numpy.asarray(function(np.array(small))), rtol=1e-6)
    # a function that ends before is the same for all extents that it takes
    table = np.ones((16, 3), dtype=np.float32)
    proto = written(lambda x: x + table[np.arange(x.shape[0])] + table[:x.shape[0]], x, **options)
    assert run(proto, numpy.zeros((16, 3), numpy.float32))[0].tolist() == [[2.0] * 3] * 16


# What is refused


def test_one_error_names_all_ops_without_mapping_with_their_lines() -> None:
    def function(x: Any) -> Any:
        a = np.linalg.svd(x)[1]
        b = np.fft.fft(x).real
        return a, b, np.exp(x)

    with pytest.raises(ArgumentError) as caught:
        written(function, np.ones((3, 3)))
    text = str(caught.value)
    for part in ("svd_full: ", "fft: ", "opset 20", "lazyloom.export writes them"):
        assert part in text
    lines = function.__code__.co_firstlineno
    assert f"test_onnx.py:{lines + 1}" in text and f"test_onnx.py:{lines + 2}" in text
    assert "exp:" not in text


def test_random_numbers_state_and_reads_are_refused() -> None:
    x = torch.ones(3)
    with pytest.raises(ArgumentError, match="random numbers.*eval\\(\\).*test_onnx.py"):
        written(lambda x: x + torch.rand(3), x)
    with pytest.raises(ArgumentError, match="random numbers"):
        written(nn.Dropout(), x)
    # one that nothing needs is no part of the model
    written(lambda x: (torch.rand(3), x + 1)[1], x)
    model = nn.BatchNorm1d(3)
    with pytest.raises(AliasError, match=r"lazyloom.export_onnx.*eval\(\)"):
        written(model, torch.ones(2, 3))
    with pytest.raises(ReadForbiddenError):
        written(lambda x: x * float(x.sum()), x)


def test_arguments_that_are_wrong() -> None:
    x = np.ones(3)
    for options, message in (
        ({"opset_version": 16}, "opset_version is 16, expected 17 to 23"),
        ({"input_names": ["a", "b"]}, "input_names has 2 names, expected at most 1"),
        ({"input_names": "a"}, "expected a sequence of names"),
        ({"input_names": ["a"], "output_names": ["a"]}, "named 'a'"),
        ({"metadata": {"a": 1}}, "expected texts by name"),
        ({"external_data": True}, "expected a path"),
        ({"inputs": {"x": x}}, "function's inputs are its arguments"),
        ({"parameters": {"w": 3}}, "expected tensors by name"),
        ({"input_names": 5}, "input_names is 5, expected a sequence of names"),
        ({"metadata": ["a"]}, r"metadata is \['a'\] \(list\), expected texts by name"),
        ({"parameters": [x]}, "parameters is .*list.*, expected tensors by name"),
        ({"kwargs": [1]}, "kwargs is .* expected arguments by name"),
        ({"external_data": 1}, "external_data is 1, expected True or False"),
        ({"dynamic": ["x"]}, "dynamic is .* expected a symbol for each axis"),
        ({"dynamic": {"x": "n"}}, r"dynamic\['x'\] is 'n' \(str\), expected a symbol"),
        ({"dynamic": {"x": {True: "n"}}}, "has True: 'n', expected an axis"),
        ({"dynamic": {"x": {0: "n", -1: "m"}}}, "names one axis of .* 'n' and 'm'"),
        ({"dynamic": {"x": {0: "n"}}, "bounds": {"m": (1, 2)}},
         r"bounds has \['m'\], expected symbols of dynamic: 'n'"),
        ({"bounds": {"m": (1, 2)}}, "there are none"),
        ({"dynamic": {"x": {0: "n"}}, "bounds": [1]}, "bounds is .* smallest and largest"),
        *[({"dynamic": {"x": {0: "n"}}, "bounds": {"n": wrong}}, r"bounds\['n'\] is .* from 0 on")
          for wrong in (5, (8, 2), (-8, 2), ("a", "b"), (1,), (True, 2))],
    ):
        with pytest.raises(ArgumentError, match=message):
            written(lambda x: x + 1, x, **options)


def test_pending_values_that_are_none() -> None:
    x = np.ones(3)
    lazyloom.sync(x)
    with pytest.raises(ArgumentError, match=r"pending values \(NoneType\), expected a function"):
        lazyloom.export_onnx(None, None, x)
    with pytest.raises(ArgumentError, match="inputs is 5 .* expected tensors"):
        lazyloom.export_onnx(x + 1, None, inputs=5)


def test_a_function_is_recorded_within_the_bounds_of_its_extents() -> None:
    seen: list[int] = []

    def function(x: Any) -> Any:
        seen.append(x.shape[0])
        return x * 2

    for extent, bounds in ((3, (10, 20)), (30, (10, 20)), (3, (3, 3)), (1, (0, None)), (5, (4, 5))):
        seen.clear()
        proto = written(function, np.zeros((extent, 2)), dynamic={"x": {0: "n"}},
                        bounds={"n": bounds})
        assert shapes(proto.graph.input) == {"x": ["n", 2]}
        most = 100 if bounds[1] is None else bounds[1]
        assert seen and all(bounds[0] <= n <= most for n in seen), (bounds, seen)


def test_without_onnx_ir_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def refuse(name: str, *rest: Any) -> Any:
        if name == "onnx_ir":
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", refuse)
    called = []
    with pytest.raises(ImportError, match=r"pip install 'lazyloom\[onnx\]'"):
        lazyloom.export_onnx(lambda x: called.append(x), None, np.ones(2))
    assert not called


# Versions and files


@pytest.mark.parametrize("opset", range(17, 24))
def test_every_version_of_the_operators(opset: int) -> None:
    torch.manual_seed(4)
    model = nn.Sequential(
        nn.Conv1d(2, 4, 3, padding=1), nn.LayerNorm(6), nn.GELU(), nn.GELU("tanh"),
        nn.AdaptiveAvgPool1d(1), nn.Softmax(1)).eval()
    x = torch.randn(2, 2, 6)

    def function(x: Any) -> Any:
        y = model(x)
        return y, y.mean(), y.amax((0, 1)), y.var(1), y.argmax(1)

    proto = written(function, x, opset_version=opset)
    assert [o.version for o in proto.opset_import] == [opset]
    compare(function, proto, x)
    if opset == 17:
        with pytest.raises(ArgumentError, match="bitwise_and: opset 17, expected 18"):
            written(lambda x: x & 3, torch.arange(3), opset_version=17)


def test_names_and_metadata() -> None:
    proto = written(
        lambda x, y: (x["a"] @ y, y), {"a": np.ones((2, 3)), "b": 2}, np.ones((3, 2)),
        input_names=["left"], output_names=["product"], metadata={"author": "nobody"})
    assert list(shapes(proto.graph.input)) == ["left", "y"]
    assert list(shapes(proto.graph.output)) == ["product", "output1"]
    assert proto.producer_name == "lazyloom" and proto.producer_version == lazyloom.__version__
    assert [(p.key, p.value) for p in proto.metadata_props] == [("author", "nobody")]


def test_arrays_beside_the_model(tmp_path: Path) -> None:
    onnx: Any = importlib.import_module("onnx")
    weights = np.ones((64, 64), dtype=np.float32)

    def function(x: Any) -> Any:
        return x @ weights

    path, x = tmp_path / "m.onnx", np.ones((1, 64), dtype=np.float32)
    path.write_bytes(b"old")
    lazyloom.export_onnx(function, path, x, parameters={"w": weights}, external_data=True)
    assert sorted(os.listdir(tmp_path)) == ["m.onnx", "m.onnx.data"]
    assert (tmp_path / "m.onnx.data").stat().st_size == 64 * 64 * 4 and path.stat().st_size < 4096
    onnx.checker.check_model(str(path), full_check=True)
    proto = onnx.load(str(path))
    (found,) = run(proto, numpy.ones((1, 64), "float32"))
    numpy.testing.assert_array_equal(found, numpy.full((1, 64), 64, "float32"))
    # a model that is refused leaves the file as it was
    before = path.read_bytes()
    with pytest.raises(ArgumentError):
        lazyloom.export_onnx(lambda x: np.linalg.svd(x)[1], path, np.ones((2, 2)))
    assert path.read_bytes() == before and len(os.listdir(tmp_path)) == 2


def test_a_model_that_is_too_large_for_one_file(monkeypatch: pytest.MonkeyPatch,
                                                tmp_path: Path) -> None:
    files: Any = importlib.import_module("lazyloom.artifact.onnx_file")
    monkeypatch.setattr(files, "MOST_BYTES", 1000)
    weights = np.ones((64, 64), dtype=np.float32)
    x = np.ones((1, 64), dtype=np.float32)
    lazyloom.export_onnx(lambda x: x @ weights, tmp_path / "m.onnx", x)
    assert (tmp_path / "m.onnx.data").exists()
    with pytest.raises(ArgumentError, match="parameters have 16384 bytes.*expected a path"):
        lazyloom.export_onnx(lambda x: x @ weights, io.BytesIO(), x)


def test_files_keep_links_and_permissions_and_devices_stay(tmp_path: Path) -> None:
    weights, x = np.ones((4, 40)), np.zeros((2, 4))
    path, link = tmp_path / "model.onnx", tmp_path / "link.onnx"
    link.symlink_to("model.onnx")

    def export(to: Any, **options: Any) -> None:
        lazyloom.export_onnx(lambda x: x @ weights, to, x, parameters={"weights": weights},
                             **options)

    export(os.fsencode(link))
    path.chmod(0o600)
    export(link, external_data=True)
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path)) == ["link.onnx", "link.onnx.data", "model.onnx"]
    export(os.devnull)
    with pytest.raises(ArgumentError, match="a device or a pipe"):
        export(os.devnull, external_data=True)
    assert not os.path.isfile(os.devnull)
    for wrong in (tmp_path, tmp_path / "no" / "m.onnx"):
        for external in (False, True):
            with pytest.raises(OSError) as raised:
                export(wrong, external_data=external)
            assert raised.value.filename == str(wrong)
    assert len(os.listdir(tmp_path)) == 3
    with pytest.raises(ArgumentError, match="model is a int"):
        lazyloom.save_onnx(5, path)
