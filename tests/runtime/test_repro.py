"""Programs that are saved for a report: the file, both forms, and smaller ones."""

import json
import os
import signal
import subprocess
import sys
import threading

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom import dtypes
from lazyloom.__main__ import main
from lazyloom.artifact import safetensors
from lazyloom.errors import ArgumentError, ExecutionError
from lazyloom.host.kernel import HostKernel
from lazyloom.repro import running, saved, taking
from lazyloom.repro.minimising import minimised
from lazyloom.repro.script import script_of
from tests.runtime.test_broken_op_definitions import enter, raising

LONGEST = 180


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "a.repro")


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def saved_of(file, *what, **more):
    assert lazyloom.save_repro(file, *what, **more) == file
    return saved.read(file)


def test_a_program_of_values_has_its_inputs_and_gives_its_results(file):
    x = np.asarray([[0.5, -1.5], [2.0, 3.0]])
    y = np.tanh(x @ x.T) * 2.5
    y[0] = 7
    found = saved_of(file, {"a": [y, np.sum(y, axis=0)]})
    assert same_bits(found.inputs[0], numpy.array([[0.5, -1.5], [2.0, 3.0]]))
    assert found.program.ops.count("matmul") == 1 and "dynamic_update_slice" in found.program.ops
    result = running.findings_of(found)
    assert result.fault is None
    for ran in result.forms:
        assert ran.error is None and ran.results is not None
        assert any(numpy.allclose(r, y) for r in ran.results if r.shape == (2, 2))
    assert all(site.startswith("test_repro.py:") for site in found.sites)
    assert found.about["versions"]["lazyloom"] == lazyloom.__version__
    # the values were computed, and are as they should be
    assert float(y[0, 1]) == 7 and "pending" not in repr(y)


def test_the_file_is_a_safetensors_file_with_the_program_as_text(file):
    z = np.asarray([1.0, 2.0], dtype=np.float32) + 0.1
    lazyloom.save_repro(file, z)
    with open(file, "rb") as opened:
        data = opened.read()
    head = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert head["in0"] == {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    metadata = safetensors.metadata_of(data, "it")
    assert metadata["format"] == "lazyloom repro"
    program = lazyloom.Program.parse(metadata["program"].encode())
    assert program.ops == ["add"]
    assert json.loads(metadata["about"])["scalars"] == {"float32": [(0.1).hex()]}


@pytest.mark.parametrize("dtype", sorted(
    {d for d in vars(dtypes).values() if isinstance(d, lazyloom.DType)}, key=lambda d: d.name),
    ids=lambda d: d.name)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_every_dtype_and_shape_goes_through_a_file(file, dtype, shape):
    numbers = numpy.arange(int(numpy.prod(shape))).reshape(shape)
    x = lazyloom.from_host((numbers % 2).astype(dtype.numpy))
    y = lazyloom.record("reshape", [x], {"shape": (*shape, 1)})
    y = lazyloom.record("concatenate", [y, y], {"axis": -1})
    found = saved_of(file, y)
    assert same_bits(found.inputs[0], (numbers % 2).astype(dtype.numpy))
    result = running.findings_of(found, 0)
    assert result.fault is None
    expected = y.read()
    assert all(same_bits(ran.results[0], expected) for ran in result.forms)


def test_nan_infinities_and_signed_zeros_are_kept(file):
    special = numpy.array([numpy.nan, numpy.inf, -numpy.inf, -0.0, 5e-324])
    x = np.asarray(special)
    y = x * float("inf") + float("-inf") * x
    found = saved_of(file, y)
    assert same_bits(found.inputs[0], special)
    assert sorted(found.scalars[dtypes.float64]) == [-numpy.inf, numpy.inf]
    assert running.findings_of(found).fault is None


def test_integers_of_all_bits_and_complex_scalars_are_kept(file):
    x = np.asarray([1, 2], dtype=np.uint64)
    z = np.asarray([1j, 2.0])
    found = saved_of(file, [x + np.uint64(2**64 - 1), z * (0.1 - 0.3j)])
    scalars = {k: list(v) for k, v in found.scalars.items()}
    # two components, of which the last is saved
    assert scalars == {dtypes.complex128: [0.1 - 0.3j]}
    assert saved.unpacked_number(
        saved.packed_number(2**64 - 1, dtypes.uint64), dtypes.uint64) == 2**64 - 1


def test_random_ops_and_loops(file):
    def step(total, x):
        total = total * 1.25 + x
        return total, np.sin(total)

    rng = np.random.default_rng(3)
    x = rng.normal(size=(5,))
    last, every = lazyloom.scan(step, np.asarray(0.5), x)
    result = running.findings_of(saved_of(file, [last, every]))
    assert result.fault is None
    wanted = every.copy()
    assert any(numpy.allclose(r, wanted) for r in result.forms[0].results if r.shape == (5,))
    torch.manual_seed(4)
    y = torch.randn(7)
    result = running.findings_of(saved_of(file, y))
    assert result.fault is None
    assert numpy.allclose(result.forms[1].results[0], y.numpy(), rtol=1e-6)


def test_a_training_step_of_a_function(file):
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = torch.randn(4, 3)

    def train_step():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    before = model.weight.detach().clone().numpy()
    # what makes the arguments is no part of the step
    lazyloom.sync(wait=True)
    found = saved_of(file, train_step)
    assert running.findings_of(found).fault is None
    # inputs are those from before the step, which took place
    assert any(same_bits(i, before) for i in found.inputs)
    assert not numpy.array_equal(model.weight.detach().numpy(), before)


def test_random_data_have_the_same_bounds(file):
    x = np.asarray(numpy.array([3.0, numpy.nan, -7.0, 0.5, numpy.inf] * 40, numpy.float32))
    k = np.asarray(numpy.array([4, 9, 5] * 50))
    b = np.asarray(numpy.array([True, False, False] * 50))
    found = saved_of(file, np.where(b, k, 0).sum() + x.sum(), data="random")
    by_kind = {i.dtype.kind: i for i in found.inputs}
    assert set(by_kind) == {"f", "i", "b"}
    floats = by_kind["f"]
    assert numpy.isnan(floats).sum() == 40 and numpy.isposinf(floats).sum() == 40
    finite = floats[numpy.isfinite(floats)]
    assert -7 <= finite.min() < 0 < finite.max() <= 3 and len(set(finite.tolist())) > 100
    assert set(by_kind["i"].tolist()) == {4, 5, 6, 7, 8, 9}
    assert by_kind["b"].sum() == 50
    again = saved.with_random_inputs(found).inputs
    assert not all(same_bits(a, c) for a, c in zip(again, found.inputs, strict=True))
    # everywhere the same ones
    assert all(same_bits(a, c) for a, c in zip(
        again, saved.with_random_inputs(found).inputs, strict=True))


def test_what_cannot_be_saved_says_why(file):
    y = np.asarray([1.0, 3.0]) + 2
    float(y[0])
    with pytest.raises(ArgumentError, match="none of the values is pending"):
        lazyloom.save_repro(file, y)
    with pytest.raises(ArgumentError, match="data is 'zeros', expected 'values' or 'random'"):
        lazyloom.save_repro(file, y, data="zeros")
    with pytest.raises(ArgumentError, match="arguments are given with"):
        lazyloom.save_repro(file, y, 3)
    with pytest.raises(ArgumentError, match="no program ran"):
        lazyloom.save_repro(file, lambda: 3)
    with pytest.raises(ZeroDivisionError):
        lazyloom.save_repro(file, lambda: 1 / 0)
    with pytest.raises(lazyloom.errors.ShapeError):
        lazyloom.save_repro(file, lambda: float(y[0] + 1) + y + np.zeros(3))
    assert not os.path.exists(file)
    from lazyloom.hooks import hooks

    assert hooks.observer is None


def test_an_op_that_does_not_work_is_found_in_both_forms(file):
    enter("own_repro_raises", lambda x: raising(x))

    def program():
        x = lazyloom.Tensor(lazyloom.from_host(numpy.float32([1, 2, 3])))
        for _ in range(5):
            x = lazyloom.apply("sin", [x])
        x = lazyloom.apply("own_repro_raises", [x])
        return lazyloom.apply("exp", [x])

    found = saved_of(file, program)
    assert "own_repro_raises" in found.about["error"]
    result = running.findings_of(found)
    assert result.fault.kind == running.ERROR and result.fault.form == running.BOTH
    assert running.op_name(found, result.fault.op) == "own_repro_raises"
    assert "ZeroDivisionError: no such luck" in result.fault.text
    smaller = minimised(found)
    assert smaller.saved.program.ops == ["own_repro_raises"] and smaller.complete
    assert smaller.saved.inputs[0].shape == (1,) and smaller.saved.inputs[0].tolist() == [0]
    with pytest.raises(ExecutionError) as caught:
        program().read()
    assert "LAZYLOOM_REPRO=DIR" in "".join(caught.value.__notes__)


def wrong_kernel(monkeypatch, name, function):
    """A kernel of the host that gives a NaN beside what it should."""
    from lazyloom.host import find

    right = find.kernel_of

    def kernel_of(spec, types):
        if spec.op.name != name:
            return right(spec, types)

        def run(x):
            y = numpy.array(function(x))
            y.reshape(-1)[-1:] = numpy.nan
            return y

        return HostKernel(run, (False,))

    monkeypatch.setattr(find, "kernel_of", kernel_of)


def test_the_op_whose_forms_differ_is_named_and_is_what_is_left(file, monkeypatch, capsys):
    from lazyloom.ops import lookup
    from lazyloom.trace.specs import spec_of

    wrong_kernel(monkeypatch, "atan", numpy.arctan)
    spec = spec_of(lookup("atan"), None, 1)
    spec.kernels.clear()
    x = np.asarray(numpy.linspace(-2, 2, 24).reshape(4, 6))
    try:
        y = np.arctan(np.exp(x) - 0.25)
        z = np.sum(np.sqrt(np.abs(y)) * 3.5, axis=1) + np.cos(x)[:, 0]
        found = saved_of(file, z)
        result = running.findings_of(found)
        assert result.fault.kind == running.DIFFERS and result.fault.mark == "class"
        assert running.op_name(found, result.fault.op) == "atan"
        assert main(["repro", file, "--minimise"]) == 1
        told = capsys.readouterr().out
        assert "the op     %" in told and " = atan(" in told
        smallest = saved.read(f"{file}.min")
        assert smallest.program.ops == ["atan"]
        assert smallest.inputs[0].size == 1 and smallest.about["minimised_from"] > 5
        with open(f"{file}.min.py", encoding="utf-8") as script:
            text = script.read()
        monkeypatch.setenv("LAZYLOOM_CACHE", "0")
        assert len(text.split("\n")) < 50
        exec(compile(text, "it", "exec"), {})
        assert capsys.readouterr().out.endswith("not the same\n")
    finally:
        # other tests get a kernel that is right
        spec.kernels.clear()


def test_last_bits_that_differ_are_a_fault_where_one_says_so(file):
    x = np.asarray(numpy.linspace(-2, 2, 60, dtype=numpy.float32).reshape(6, 10))
    y = np.sum(np.exp(x @ x.T) / 3.3, axis=0)
    found = saved_of(file, np.log(y) * 1.7)
    assert running.findings_of(found).fault is None
    fault = running.findings_of(found, 0).fault
    if fault is None:
        pytest.skip("this processor gives the same bits in both forms")
    smaller = minimised(found, 0, 60)
    assert len(smaller.saved.program.ops) < len(found.program.ops)
    assert running.findings_of(smaller.saved, 0).fault.is_same(fault)


def test_nothing_wrong_cannot_be_made_smaller(file):
    found = saved_of(file, np.asarray([1.0, 2.0]) * 3)
    with pytest.raises(ArgumentError, match="nothing is wrong with the program"):
        minimised(found)


def test_an_index_that_is_out_of_range_is_a_condition(file):
    rows = np.asarray([0, 1, 7]) + 1
    table = np.asarray(numpy.arange(10.0).reshape(5, 2))
    found = saved_of(file, lambda: table[rows] * 2)
    fault = running.findings_of(found).fault
    assert fault.kind == running.CHECK
    assert "index" in fault.text or "indices" in fault.text


@pytest.mark.parametrize("a, b, expected", [
    ([1.0, 2.0], [1.0, 2.0 + 1e-12], None),
    ([1.0, 2.0], [1.0, 2.1], False),
    ([numpy.nan, 1.0], [numpy.nan, 1.0], None),
    ([numpy.nan, 1.0], [1.0, 1.0], True),
    ([numpy.inf], [-numpy.inf], True),
    ([numpy.inf], [1e308], True),
    ([0.0], [-0.0], True),
    ([1e300, 0.0], [1e300, 1e280], None),
])
def test_how_floats_are_compared(a, b, expected):
    t = lazyloom.tensor_type((len(a),), dtypes.float64)
    for x, y in ((a, b), (b, a)):
        found = running.difference(numpy.array(x), numpy.array(y), t, None)
        assert (None if found is None else found.is_class) == expected


def test_scripts_have_all_ops_attributes_and_data(file, capsys, monkeypatch):
    monkeypatch.setenv("LAZYLOOM_CACHE", "0")
    x = torch.tensor([[1.5, -2.0], [0.25, 3.0]], requires_grad=True)
    y = (torch.nn.functional.softmax(x * 0.3, dim=1).half() + float("inf")).float().cumsum(0)
    (grad,) = torch.autograd.grad((x.tanh() ** 2).sum(), [x])
    for values in (y, grad, torch.ones(3, dtype=torch.bfloat16) * 2.5,
                   torch.arange(200.0).reshape(2, 100).t() @ torch.ones(2, 1) * 1.5):
        found = saved_of(file, values)
        text = script_of(found, None)
        exec(compile(text, "it", "exec"), {})
        assert "result 0" in capsys.readouterr().out


def test_a_damaged_file_says_what_is_wrong(file, tmp_path, capsys):
    lazyloom.save_repro(file, np.asarray([1.0, 2.0]) * 3)
    with open(file, "rb") as opened:
        data = opened.read()
    bad = tmp_path / "bad.repro"
    for changed, expected in (
        (data[:40], "damaged"), (b"", "damaged"), (b"x" * 200, "damaged"),
        (data[:-8], "damaged"),
        (data.replace(b'multiply', b'multiplx'), "--import"),
        (data.replace(b"lazyloom repro", b"lazyloom_repro"), "no saved program"),
    ):
        bad.write_bytes(changed)
        assert main(["repro", str(bad)]) == 2
        assert expected in capsys.readouterr().err
    changed = saved.read(file)
    for about, expected in (
        ({"versions": [1]}, "versions are no object"), ({"processor": "x"}, "processor are no"),
        ({"extra": {}}, "lists in lists"), ({"extra": 1}, "too large"),
    ):
        saved.write(bad, changed._replace(about={**changed.about, **about}))
        data = bad.read_bytes()
        if "extra" in about:
            header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
            text = header["__metadata__"]["about"]
            header["__metadata__"]["about"] = text.replace(
                '"extra": {}', f'"extra": {"[" * 100_000}').replace(
                '["0x1.8000000000000p+1"]', '["0x1p99999"]')
            packed = json.dumps(header).encode()
            bad.write_bytes(len(packed).to_bytes(8, "little") + packed + data[-16:])
        assert main(["repro", str(bad)]) == 2
        assert expected in capsys.readouterr().err
    deep = b'{"a":' + b"[" * 100_000
    bad.write_bytes(len(deep).to_bytes(8, "little") + deep)
    assert main(["repro", str(bad)]) == 2 and "no safetensors header" in capsys.readouterr().err
    assert main(["repro", str(tmp_path / "none")]) == 2
    assert "No such file" in capsys.readouterr().err
    assert main(["repro", file, "--tolerance", "nan"]) == 2
    assert main(["repro", file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fault"] is None


def test_nothing_of_a_file_is_code_in_its_script(file, capsys, monkeypatch):
    found = saved_of(file, np.exp(np.asarray([1.0, 2.0])))
    text = 'a.py:1\nraise SystemExit("ran")\r\x1b[31m'
    evil = found._replace(
        sites=(text,) * len(found.sites), about={**found.about, "versions": {"x": text}})
    fault = running.Fault("error", "", text, text)
    # the script sets it
    monkeypatch.setenv("LAZYLOOM_CACHE", "0")
    # as a whole it is a program, with the same lines as without any of it
    exec(compile(script_of(evil, fault), "script", "exec"), {})
    assert "\x1b" not in capsys.readouterr().out
    evil = evil._replace(about={**evil.about, "line": text, "error": text})
    saved.write(file, evil)
    assert main(["repro", file]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_script_has_bools(file, capsys, monkeypatch):
    x = np.asarray([True, False, True])
    found = saved_of(file, np.logical_not(x).astype(np.float64).astype(np.bool_))
    # the script sets it
    monkeypatch.setenv("LAZYLOOM_CACHE", "0")
    exec(compile(script_of(found, None), "script", "exec"), {})
    assert "not the same" not in capsys.readouterr().out


@pytest.mark.parametrize("shape", [(), (2, 2)])
@pytest.mark.parametrize("number", [complex(1, numpy.inf), complex(numpy.nan, 1)])
def test_random_complex_numbers_have_the_infinities_and_no_nan_besides(file, number, shape):
    x = lazyloom.Tensor(lazyloom.from_host(numpy.full(shape, number)))
    (random,) = saved_of(file, lazyloom.apply("negative", [x]), data="random").inputs
    numpy.testing.assert_array_equal(random.real, numpy.full(shape, number.real))
    numpy.testing.assert_array_equal(random.imag, numpy.full(shape, number.imag))


def test_a_path_that_cannot_be_is_told_before_anything_runs(file, tmp_path):
    x = np.exp(np.asarray([1.0, 2.0]))
    for path, kind in (
        (None, ArgumentError), (x, ArgumentError), (tmp_path, IsADirectoryError),
        (tmp_path / "no" / "a", FileNotFoundError),
    ):
        with pytest.raises(kind):
            lazyloom.save_repro(path, x)
    assert lazyloom.save_repro(os.fsencode(file), x) == file
    assert saved_ops(tmp_path / "a.repro") == ["exp"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no such pipes")
def test_links_and_what_is_no_file_stay_what_they_are(tmp_path):
    (tmp_path / "folder").mkdir()
    link, place, pipe = tmp_path / "link", tmp_path / "folder" / "place", tmp_path / "pipe"
    link.symlink_to(place)
    for _ in range(2):
        lazyloom.save_repro(link, np.exp(np.asarray([1.0, 2.0])))
        assert link.is_symlink() and saved_ops(place) == ["exp"]
    os.mkfifo(pipe)
    # with a reader, so that nobody waits for one
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    lazyloom.save_repro(pipe, np.exp(np.asarray([1.0, 2.0])))
    assert pipe.is_fifo() and b"lazyloom repro" in os.read(reader, 1 << 16)
    os.close(reader)


def test_arguments_of_the_command_are_looked_at_first(file, tmp_path, capsys, monkeypatch):
    lazyloom.save_repro(file, np.exp(np.asarray([1.0, 2.0])))
    (tmp_path / "own_broken.py").write_text("1 / 0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for words, expected in (
        (("--import", "own_broken"), "ZeroDivisionError"), (("--import", ""), "''"),
        (("--minimise", "-o", "no/such/a"), "--output"),
    ):
        assert main(["repro", file, *words]) == 2
        assert expected in capsys.readouterr().err


@pytest.mark.once("a process of its own")
def test_a_limit_may_be_longer_than_any_system_waits(file, capfd):
    lazyloom.save_repro(file, np.exp(np.asarray([1.0, 2.0])))
    assert main(["repro", file, "--isolate", "--limit", "inf"]) == 0


FAILS = """
import sys, numpy, lazyloom
from lazyloom.ops.rules import elementwise

def own_fails(x):
    "fails"
    raise ZeroDivisionError("no such luck")

own_fails.__annotations__ = {"x": "T"}
lazyloom.register_op(elementwise, T="floating", source="a test", name="own_fails")(own_fails)
if __name__ == "__main__":
    x = lazyloom.Tensor(lazyloom.from_host(numpy.float32([1, 2, 3])))
    for _ in range(2):
        y = lazyloom.apply("own_fails", [lazyloom.apply("sin", [x])])
        try:
            y.read()
        except lazyloom.errors.ExecutionError as error:
            print(error)
    assert lazyloom.get_option("donate") is False
"""


@pytest.mark.once("processes of their own")
def test_the_environment_has_failing_programs_saved(tmp_path):
    (tmp_path / "fails.py").write_text(FAILS)
    folder = tmp_path / "saved"
    told = subprocess.run(
        [sys.executable, "fails.py"], cwd=tmp_path, capture_output=True, text=True,
        timeout=LONGEST, env={**os.environ, "LAZYLOOM_REPRO": str(folder)})
    assert told.returncode == 0, told.stderr
    # one file for one program, however often it fails
    (name,) = os.listdir(folder)
    lines = told.stdout.strip().split("\n")
    assert len(lines) == 2 and all(f"python -m lazyloom repro {folder / name}" in x for x in lines)
    repro = [sys.executable, "-m", "lazyloom", "repro", str(folder / name)]
    unknown = subprocess.run(repro, cwd=tmp_path, capture_output=True, text=True, timeout=LONGEST)
    assert unknown.returncode == 2 and "--import" in unknown.stderr
    known = subprocess.run(
        [*repro, "--import", "fails", "--json"], cwd=tmp_path, capture_output=True, text=True,
        timeout=LONGEST)
    assert known.returncode == 1, known.stderr
    found = json.loads(known.stdout)
    assert found["fault"]["kind"] == "error" and "own_fails" in found["fault"]["instruction"]
    assert "no such luck" in found["about"]["error"]


def test_at_most_so_many_files_are_written_by_themselves(tmp_path, monkeypatch):
    folder = tmp_path / "a folder"
    monkeypatch.setenv("LAZYLOOM_REPRO", str(folder))
    monkeypatch.setattr(taking, "MOST_FILES", 1)
    monkeypatch.setattr(taking, "_failures", taking._Failures())
    monkeypatch.setattr(lazyloom._hooks, "failed", taking.failed)
    enter("own_repro_again", lambda x: raising(x))
    for count in (2, 3):
        x = lazyloom.Tensor(lazyloom.from_host(numpy.zeros(count)))
        with pytest.raises(ExecutionError, match="own_repro_again") as raised:
            lazyloom.apply("own_repro_again", [x]).read()
        # what is told can be given to a shell
        assert count == 3 or f"repro '{folder}{os.sep}" in f"{raised.value}"
    assert len(os.listdir(folder)) == 1


def test_what_cannot_be_saved_is_told_so_many_times(tmp_path, monkeypatch):
    folder = tmp_path / "no folder"
    folder.write_text("a file")
    told = []
    monkeypatch.setenv("LAZYLOOM_REPRO", str(folder))
    monkeypatch.setattr(taking, "MOST_FILES", 2)
    monkeypatch.setattr(taking, "_failures", taking._Failures())
    monkeypatch.setattr(lazyloom._hooks, "failed", taking.failed)
    monkeypatch.setattr(taking.logs, "say", lambda *said: told.append(said))
    enter("own_repro_unsaved", lambda x: raising(x))
    for _ in range(5):
        x = lazyloom.Tensor(lazyloom.from_host(numpy.zeros(3)))
        with pytest.raises(ExecutionError, match="own_repro_unsaved"):
            lazyloom.apply("own_repro_unsaved", [x]).read()
    said = [text for subject, _, text in told if subject == "run" and "LAZYLOOM_REPRO" in text]
    assert len(said) == 2


def test_no_file_takes_the_place_of_another(tmp_path, monkeypatch):
    monkeypatch.setenv("LAZYLOOM_REPRO", str(tmp_path))
    monkeypatch.setattr(taking, "_failures", taking._Failures())
    monkeypatch.setattr(lazyloom._hooks, "failed", taking.failed)
    earlier = tmp_path / f"failed-{os.getpid()}-1.repro"
    earlier.write_text("of a process of the same number")
    both = threading.Barrier(2, timeout=LONGEST)
    write = saved.write

    def together(path, found):
        both.wait()
        return write(path, found)

    monkeypatch.setattr(saved, "write", together)
    enter("own_repro_threads", lambda x: raising(x))

    def run(count):
        x = lazyloom.Tensor(lazyloom.from_host(numpy.zeros(count)))
        with pytest.raises(ExecutionError, match="own_repro_threads"):
            lazyloom.apply("own_repro_threads", [x]).read()

    threads = [threading.Thread(target=run, args=(count,)) for count in (2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert earlier.read_text() == "of a process of the same number"
    assert len(os.listdir(tmp_path)) == 3


ENDS = """
import os, sys, time, numpy, lazyloom
from lazyloom.ops.rules import elementwise

def own_ends(x):
    "ends the process that lowers it"
    os.kill(os.getpid(), 9)

def own_hangs(x):
    "never comes back"
    while True:
        time.sleep(1)

for f in (own_ends, own_hangs):
    f.__annotations__ = {"x": "T"}
    lazyloom.register_op(elementwise, T="floating", source="a test", name=f.__name__)(f)
if __name__ == "__main__":
    def program():
        x = lazyloom.Tensor(lazyloom.from_host(numpy.float32([1, 2, 3])))
        for _ in range(3):
            x = lazyloom.apply("sin", [x])
        return lazyloom.apply("exp", [lazyloom.apply(sys.argv[1], [x])])
    lazyloom.save_repro("it.repro", program, before=True)
"""


@pytest.mark.once("processes of their own")
def test_a_program_that_ends_the_process_is_saved_and_run_in_another(tmp_path):
    (tmp_path / "ends.py").write_text(ENDS)

    def done(*words):
        return subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True,
                              text=True, timeout=LONGEST)

    assert done("ends.py", "own_ends").returncode == -9
    repro = ("-m", "lazyloom", "repro", "it.repro", "--import", "ends", "--isolate")
    told = done(*repro, "--minimise", "--seconds", "15")
    assert told.returncode == 1, told.stderr
    assert "it ends the process op by op: SIGKILL" in told.stdout
    assert "written    it.repro.min" in told.stdout
    # what it runs op by op cannot be run here, so that only what follows was dropped
    assert saved_ops(tmp_path / "it.repro.min")[-1] == "own_ends"
    hanging = tmp_path / "it.repro"
    hanging.write_bytes(hanging.read_bytes().replace(b"own_ends", b"own_hang"))
    (tmp_path / "ends.py").write_text(ENDS.replace("own_hangs", "own_hang"))
    told = done(*repro, "--limit", "3", "--json")
    assert told.returncode == 1, told.stderr
    assert json.loads(told.stdout)["fault"]["text"] == "it still runs op by op after 3 s"


@pytest.mark.once("processes of their own")
def test_an_interrupt_writes_the_smallest_program_so_far(file):
    x = np.asarray(numpy.linspace(-2, 2, 600).reshape(20, 30))
    y = x
    for k in range(12):
        y = np.tanh(y @ x.T / 7.7) @ np.sin(x + k)
    saved_of(file, np.log(np.sum(np.exp(y), axis=0)))
    before = len(saved.read(file).program.ops)
    process = subprocess.Popen(
        [sys.executable, "-m", "lazyloom", "repro", file, "--minimise", "--tolerance", "0",
         "--seconds", str(LONGEST)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert " ops, " in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        told, said = process.communicate(timeout=LONGEST)
    finally:
        process.kill()
    assert process.returncode == 130, said
    assert "it was interrupted, so there may be a smaller one" in told
    assert f"written    {file}.min" in told and "Traceback" not in said
    smallest = saved.read(f"{file}.min")
    assert len(smallest.program.ops) < before
    assert running.findings_of(smallest, 0).fault is not None


def saved_ops(path):
    """The names of the ops of a file, of which this process need not know all."""
    data = path.read_bytes()
    lines = safetensors.metadata_of(data, "it")["program"].split("\n")
    return [json.loads(line)[0] for line in lines[1:-1]]


@pytest.mark.once("processes of their own")
def test_another_process_finds_what_this_one_does(file):
    from lazyloom.repro.isolation import Isolated

    x = np.asarray(numpy.linspace(-2, 2, 60, dtype=numpy.float32).reshape(6, 10))
    found = saved_of(file, np.log(np.sum(np.exp(x @ x.T) / 3.3, axis=0)) * 1.7)
    here = running.findings_of(found, 0, locate=False).fault
    assert here is not None
    with Isolated([], 0) as isolated:
        there = isolated.fault_of(found)
        # tests have XLA compile otherwise than users, so that other elements may differ
        assert there is not None and there._replace(text="") == here._replace(text="")
        # the same process again
        assert isolated.fault_of(found) == there
