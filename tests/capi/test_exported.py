"""Exported programs from C: the models of tests/export, and programs that C writes."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
from lazyloom.repro import running, saved
from tests.export import models

from .compilers import HERE, Compile


@pytest.mark.parametrize("name", ["resnet", "gpt2"])
def test_models_from_c(
    name: str, compiled: Compile, bare_environment: dict[str, str], tmp_path: Path
) -> None:
    path, x, expected = getattr(models, name)(tmp_path)
    (tmp_path / "input").write_bytes(x.tobytes())
    (tmp_path / "expected").write_bytes(expected[0].tobytes())
    done = subprocess.run(
        [str(compiled(HERE / "exported.c")), str(path), str(tmp_path / "input"),
         str(tmp_path / "expected"), "images" if name == "resnet" else "tokens"],
        env=bare_environment, capture_output=True, text=True,
        timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "exported programs work\n"


def test_programs_that_c_writes(
    compiled: Compile, bare_environment: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "c.loom"
    done = subprocess.run(
        [str(compiled(HERE / "exported.c")), str(path)],
        env=bare_environment, capture_output=True, text=True,
        timeout=300, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    g = lazyloom.load(path)
    assert g.argument_names == ["x", "key"]
    assert list(g.parameters()) == ["weights", "constant.0", "constant.1"]
    x = numpy.arange(1, 7, dtype=numpy.float32).reshape(2, 3)
    _, product = g(np.array(x), np.array([0, 3], dtype=np.uint32))
    numpy.testing.assert_array_equal(numpy.asarray(product), x * (x + 9))


def test_derivatives_and_engines_that_c_writes(
    compiled: Compile, bare_environment: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "c.loom"
    done = subprocess.run(
        [str(compiled(HERE / "exported.c")), "derivatives", str(path)],
        env=bare_environment | {"LAZYLOOM_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    with zipfile.ZipFile(path) as archive:
        assert {"engines.bin", "modules/0.ops.json", "modules/0.vjp2.ops.json"} <= set(
            archive.namelist())
    g = lazyloom.load(path)
    x = np.ones((2, 3), dtype=np.float32)
    slope = lazyloom.grad(lambda x: g(x)[0].sum())(x)
    numpy.testing.assert_array_equal(
        numpy.asarray(slope), numpy.arange(2, 8, dtype=numpy.float32).reshape(2, 3))


def test_a_program_that_c_saves_for_a_report(
    compiled: Compile, bare_environment: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "c.repro"
    done = subprocess.run(
        [str(compiled(HERE / "exported.c")), "repro", str(path)],
        env=bare_environment, capture_output=True, text=True,
        timeout=300, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    found = saved.read(path)
    assert found.program.ops == ["sin", "multiply"]
    assert found.inputs[0].tolist() == [[2, 3, 4], [5, 6, 7]]
    assert found.sites[0].startswith("exported.c:")
    assert running.findings_of(found).fault is None
