"""``examples/distributed``: the same losses on a mesh, in processes, resumed and under PyTorch."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "distributed"
#: seconds after which a script is given up
LIMIT = 120
#: programs here run a few times, and compiling them takes all the time
QUICK = ("--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
         "--xla_cpu_use_fusion_emitters=false")
#: sizes at which a step compiles in a second or so
SMALL = {
    "resnet50": ["--layers", "1", "1", "1", "1", "--width", "4", "--size", "16", "--classes", "8",
                 "--batch", "16", "--lr", "0.02"],
    "resnet56": ["--layers", "8", "--width", "4", "--batch", "16", "--lr", "0.05"],
    "roberta_mlm": ["--layers", "1", "--width", "32", "--vocabulary", "300", "--length", "16",
                    "--batch", "16", "--accumulate", "2", "--warmup", "2"],
}
TORCH = importlib.util.find_spec("torch") is not None


def run(
    name: str, folder: Path, *arguments: str, processes: int = 1, pytorch: bool = False,
    expected: int = 0,
) -> Any:
    """What a script reports, with what it printed as ``said``."""
    report = folder / "report.json"
    launcher = ["-m", "lazyloom", "run", "-n", str(processes), "--grace", "5"] if (
        processes > 1) else []
    through = [] if pytorch else ["-m", "lazyloom_torch"]
    environment = {**os.environ, "LAZYLOOM_LOG": "0", "LAZYLOOM_REPRODUCIBLE": "1",
                   "XLA_FLAGS": QUICK}  # fmt: skip
    if pytorch and processes == 1:
        environment.pop("WORLD_SIZE", None)
    done = subprocess.run(
        [sys.executable, *launcher, *through, str(FOLDER / f"{name}.py"), *SMALL[name],
         "--report", str(report), *arguments],
        capture_output=True, text=True, timeout=LIMIT, env=environment)
    assert done.returncode == expected, done.stdout[-2000:] + done.stderr[-4000:]
    found = json.loads(report.read_text()) if expected == 0 else {}
    return {**found, "said": done.stdout + done.stderr}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "where"), [
    ("resnet50", "mesh"),
    pytest.param("roberta_mlm", "processes", marks=pytest.mark.thorough)])
def test_resuming_gives_the_losses_of_an_undisturbed_run(
    name: str, where: str, tmp_path: Path
) -> None:
    """To the last bit; and on a mesh they are those of one device."""
    processes = 2 if where == "processes" else 1
    devices = ["--devices", "2"] if where == "mesh" else []
    checkpoint = ["--checkpoint", str(tmp_path / "c.pt")]
    common = ["--steps", "4", *devices]
    whole = run(name, tmp_path, *common, *checkpoint, "--every", "2", processes=processes)
    assert "4/4" in whole["said"] and "/s" in whole["said"]
    first = run(name, tmp_path, *common, *checkpoint, "--stop-at", "2", processes=processes)
    rest = run(name, tmp_path, *common, *checkpoint, "--resume", processes=processes)
    assert "resumed after step 2" in rest["said"] and rest["first"] == 2
    assert len(whole["losses"]) == 4 and numpy.isfinite(whole["losses"]).all()
    assert first["losses"] + rest["losses"] == whole["losses"]
    if where == "mesh":
        one = run(name, tmp_path, "--steps", "4")
        numpy.testing.assert_allclose(whole["losses"], one["losses"], rtol=1e-5)


@pytest.mark.slow
@pytest.mark.skipif(not TORCH, reason="PyTorch is not installed")
@pytest.mark.parametrize(("name", "more"), [
    ("resnet56", []),
    pytest.param("roberta_mlm", ["--dropout", "0", "--dtype", "float32"],
                 marks=pytest.mark.thorough)])
def test_losses_are_those_of_pytorchs_processes(
    name: str, more: list[str], tmp_path: Path
) -> None:
    """From one checkpoint, which PyTorch reads."""
    checkpoint = str(tmp_path / "c.pt")
    common = ["--steps", "5", *more, "--checkpoint", checkpoint]
    run(name, tmp_path, *common, "--stop-at", "1")
    begun = Path(checkpoint).read_bytes()
    found = []
    for pytorch in (False, True):
        Path(checkpoint).write_bytes(begun)
        found.append(run(name, tmp_path, *common, "--resume", processes=2, pytorch=pytorch))
    ours, theirs = found
    assert ours["processes"] == theirs["processes"] == 2 and ours["first"] == 1
    numpy.testing.assert_allclose(ours["losses"], theirs["losses"], rtol=1e-4)


@pytest.mark.slow
@pytest.mark.thorough
def test_synchronised_batch_norms_give_the_losses_of_one_process(tmp_path: Path) -> None:
    one = run("resnet50", tmp_path, "--steps", "4")
    two = run("resnet50", tmp_path, "--steps", "4", "--sync-batchnorm", processes=2)
    numpy.testing.assert_allclose(two["losses"], one["losses"], rtol=1e-4)


@pytest.mark.slow
def test_images_of_cifar_are_read_from_a_folder(tmp_path: Path) -> None:
    random = numpy.random.default_rng(0)
    for name, count in (("data_batch_1", 24), ("data_batch_2", 24), ("test_batch", 10)):
        rows = random.integers(0, 256, (count, 3073)).astype(numpy.uint8)
        rows[:, 0] %= 10
        rows.tofile(tmp_path / f"{name}.bin")
    found = run("resnet56", tmp_path, "--data", str(tmp_path), "--steps", "4")
    assert len(found["losses"]) == 4 and "accuracy 0." in found["said"]


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "message"), [
    (["--batch", "9", "--devices", "2"], "--batch 9: expected a multiple of 2"),
    (["--layers", "9"], "--layers 9: expected 6 n + 2"),
    (["--data", "/nowhere"], "/nowhere: expected data_batch_1.bin or train.bin"),
    (["--batch", "4000"], "--batch 4000: there are"),
])
def test_what_cannot_be_is_said(arguments: list[str], message: str, tmp_path: Path) -> None:
    assert message in run("resnet56", tmp_path, *arguments, expected=1)["said"]


@pytest.mark.slow
def test_byte_pairs_are_a_vocabulary(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"""
import sys
sys.path.append({str(FOLDER)!r})
import numpy
from text import SPECIAL, BytePairs, MaskedRows, read

words = "low lower lowest \\u00e9t\\u00e9 low low\\n\\n" * 3
pairs = BytePairs(words, 270)
numbers = pairs.encode(words)
assert pairs.decode(numbers) == words and len(pairs) == 270
# "lo" and "low" are the most frequent, in this order
assert pairs.tokens[261:263] == [b"lo", b"low"], pairs.tokens[261:]
assert len(read(None)) > 100_000
rows = MaskedRows(numpy.arange(300) % 200 + 10, 22, 261)
assert len(rows) == 15 and rows.guesses == 3
inputs, labels = rows.batch(numpy.arange(15), numpy.random.default_rng(0))
again, _ = rows.batch(numpy.arange(15), numpy.random.default_rng(0))
asked = labels != -100
assert (inputs == again).all() and (asked.sum(axis=1) == 3).all()
assert (labels[asked] == rows.rows[asked]).all() and (inputs[~asked] == rows.rows[~asked]).all()
assert not asked[:, [0, -1]].any()
assert 0.5 < (inputs[asked] == SPECIAL.index("<mask>")).mean() < 1
try:
    BytePairs(words, 260)
except ValueError as error:
    assert "expected 261 or more" in str(error)
else:
    raise AssertionError
""")
    done = subprocess.run([sys.executable, "-m", "lazyloom_torch", str(program)],
                          capture_output=True, text=True, timeout=LIMIT, env=os.environ)
    assert done.returncode == 0, done.stderr
