"""Files that are damaged or were changed are errors that say so; old ones are read for ever."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
from lazyloom.errors import ArgumentError

pytestmark = [pytest.mark.xla, pytest.mark.usefixtures("quick_compiler")]

#: written by ``python -m tests.export.first_version``, and never again
FIRST = Path(__file__).parent / "version_1.loom"


@pytest.fixture(scope="module")
def whole() -> dict[str, bytes]:
    """The members of a file."""
    weights = np.array(numpy.arange(6, dtype=numpy.float32).reshape(3, 2))
    file = io.BytesIO()
    lazyloom.export(lambda x: x @ weights, file, np.ones((4, 3), dtype=np.float32),
                    parameters={"weights": weights})
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    file.seek(0)
    return file


def changed(members: dict[str, bytes], change: Callable[[dict[str, Any]], Any]) -> io.BytesIO:
    """The file with another manifest."""
    manifest = json.loads(members["manifest.json"])
    change(manifest)
    return packed({**members, "manifest.json": json.dumps(manifest).encode()})


def replaced(members: dict[str, bytes], name: str, data: bytes) -> io.BytesIO:
    """The file with another member, and its size and checksum in the manifest."""
    manifest = json.loads(members["manifest.json"])
    manifest["files"][name] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    return packed({**members, name: data, "manifest.json": json.dumps(manifest).encode()})


def test_the_whole_file_is_read(whole: dict[str, bytes]) -> None:
    g = lazyloom.load(packed(whole))
    assert float(g(np.ones((4, 3), dtype=np.float32)).sum()) == 60
    assert json.loads(whole["manifest.json"])["version"] == 1


def test_truncated_files(whole: dict[str, bytes], tmp_path: Path) -> None:
    data = packed(whole).getvalue()
    for size in (0, 10, len(data) // 2, len(data) - 1):
        path = tmp_path / "cut.loom"
        path.write_bytes(data[:size])
        with pytest.raises(ArgumentError, match=r"cut\.loom: it is no whole zip archive"):
            lazyloom.load(path)
    with pytest.raises(FileNotFoundError):
        lazyloom.load(tmp_path / "missing.loom")


def test_directories_of_the_archive_that_are_damaged(
    whole: dict[str, bytes], tmp_path: Path
) -> None:
    data, path = packed(whole).getvalue(), tmp_path / "damaged.loom"
    refused = 0
    for at in range(data.index(b"PK\x01\x02"), len(data)):
        damaged = data[:at] + b"\xff" + data[at + 1:]
        path.write_bytes(damaged)
        # a file and memory answer a wrong place differently
        for source in (io.BytesIO(damaged), path):
            try:
                lazyloom.load(source)
            except ArgumentError:
                refused += 1
    assert refused > 200


def test_every_changed_byte_of_a_member_is_found(whole: dict[str, bytes]) -> None:
    for name, data in whole.items():
        if name == "manifest.json":
            continue
        for at in (0, len(data) // 2, len(data) - 1):
            other = bytearray(data)
            other[at] ^= 1
            with pytest.raises(ArgumentError, match=f"checksum of its member {name} differs"):
                lazyloom.load(packed({**whole, name: bytes(other)}))
    longer = {**whole, "parameters.safetensors": whole["parameters.safetensors"] + b"\0"}
    with pytest.raises(ArgumentError, match="bytes, expected"):
        lazyloom.load(packed(longer))


@pytest.mark.parametrize("name", [
    "../manifest.json", "/etc/passwd", "modules/../../x.mlirbc", "modules\\0.mlirbc", "code.pkl",
    "modules/0.mlirbc/"])
def test_other_members_are_refused(whole: dict[str, bytes], name: str) -> None:
    with pytest.raises(ArgumentError, match="it has the member"):
        lazyloom.load(packed({**whole, name: b"x"}))


def test_members_that_are_missing_compressed_or_twice(whole: dict[str, bytes]) -> None:
    for name in whole:
        with pytest.raises(ArgumentError, match="has no manifest.json|its manifest lists"):
            lazyloom.load(packed({k: v for k, v in whole.items() if k != name}))
    with pytest.raises(ArgumentError, match="is compressed, expected members that are stored"):
        lazyloom.load(packed(whole, zipfile.ZIP_DEFLATED))
    file = packed(whole)
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("manifest.json", b"{}")
    with pytest.raises(ArgumentError, match="expected each once"):
        lazyloom.load(file)


@pytest.mark.parametrize("change, message", [
    (lambda m: m.update(version=4), "version 4 of the format, and this Lazyloom reads up to "
                                    "version 3; install the one that wrote it"),
    (lambda m: m.update(version="1"), "its version is '1', expected an integer"),
    (lambda m: m.update(format="other"), "it is no exported program"),
    (lambda m: m.update(extra=1), r"the fields \['extra'\] are unknown"),
    (lambda m: m.pop("leaves"), r"\['leaves'\] are missing"),
    (lambda m: m["leaves"][0].update(color="red"), r"the fields \['color'\] are unknown"),
    (lambda m: m["leaves"][0].update(dtype="float31"), "dtype 'float31' is not known"),
    (lambda m: m["leaves"][0].update(shape=[4, -3]), "-3 is no integer from 0 on"),
    (lambda m: m["leaves"][0].update(shape=[4, True]), "True is no integer"),
    (lambda m: m["leaves"][0].update(shape=[4, 5]), r"takes .*expected float32\[4,5\]"),
    (lambda m: m["parameters"][0].update(shape=[2, 3]), r"'weights' is F32\[3, 2\], expected"),
    (lambda m: m["parameters"][0].update(name="w"), r"lacks the arrays \['w'\]"),
    (lambda m: m.update(arguments={"leaf": 0}), "no tuple of positional ones"),
    (lambda m: m.update(arguments={"tuple": [{"leaf": 0}, {"tuple": []}]}), "no tuple of posit"),
    (lambda m: m["arguments"]["tuple"][1]["dict"].append([5, {"constant": 1}]), "a name for each"),
    (lambda m: m.update(positional=["x", "y"]), "has the names .* of positional arguments, and 1"),
    (lambda m: m.update(results={"leaf": 1}), "the leaf 1 of 1"),
    (lambda m: m.update(results={"object": 0}), "a part of the kind 'object'"),
    (lambda m: m.update(specializations=[]), "it has no specialization"),
    (lambda m: m["specializations"][0].update(extents={"n": 1}), "has extents of"),
    (lambda m: m["specializations"][0].update(module="modules/7.mlirbc"), "there is no file"),
    (lambda m: m["specializations"][0]["results"][0].update(shape=[9]), r"expected float32\[9\]"),
    (lambda m: m.update(custom_calls=["lapack_x"], platform="tpu"), "exported on tpu and calls"),
    (lambda m: m.update(generators=[{"draws": 1, "key": [1], "number": 2}]), "no two words"),
    (lambda m: m.update(aliases={"a": "b"}), "an alias names none of them"),
    (lambda m: m["files"].update({"parameters.safetensors": {"size": 1, "sha256": "0" * 64}}),
     "bytes, expected 1"),
])  # fmt: skip
def test_manifests_that_were_changed(
    whole: dict[str, bytes], change: Callable[[dict[str, Any]], Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        lazyloom.load(changed(whole, change))


@pytest.mark.parametrize("data", [b"", b"{}", b"[1]", b"{", b"\xff\xfe"])
def test_manifests_that_are_none(whole: dict[str, bytes], data: bytes) -> None:
    with pytest.raises(ArgumentError, match="no JSON|no exported program"):
        lazyloom.load(packed({**whole, "manifest.json": data}))


def test_modules_and_parameters_that_are_none(whole: dict[str, bytes]) -> None:
    module = whole["modules/0.mlirbc"]
    for data, message in (
        (b"func.func", "expected b'ML.xefR'"),
        (module[: len(module) // 2], "no StableHLO artifact"),
        (module[:4] + b"x" * 40, "no StableHLO artifact"), (b"", "expected b'ML"),
    ):
        with pytest.raises(ArgumentError, match=rf"modules/0\.mlirbc: the module.*{message}"):
            lazyloom.load(replaced(whole, "modules/0.mlirbc", data))
    parameters = whole["parameters.safetensors"]
    for data in (b"", b"\xff" * 20, parameters[:30], parameters[:-1],
                 parameters.replace(b'"F32"', b'"I32"'), parameters.replace(b"[0,24]", b"[0,25]")):
        with pytest.raises(ArgumentError, match=r"parameters\.safetensors"):
            lazyloom.load(replaced(whole, "parameters.safetensors", data))


def test_the_first_version_is_read_for_ever() -> None:
    g = lazyloom.load(FIRST)
    assert g.signature == (
        "first(x: float32[n,3], options['shift']: int32[])\n"
        "  n=1 -> float32[1,2], float32[1]\n"
        "  n=2 -> float32[2,2], float32[2]")
    assert g.aliases == {"tied": "weights"} and g.metadata == {"written by": "a test"}
    assert [s.state for s in g.generators] == [((0, 7), 5)]
    x = np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32)
    found = g(x, options={"shift": np.array(2, dtype=np.int32), "axis": 1})
    numpy.testing.assert_allclose(
        numpy.asarray(found["y"]), numpy.array([[24, 30], [42, 57]], numpy.float32) * 0.1)
    drawn = numpy.asarray(found["drawn"])
    assert ((drawn >= 0) & (drawn < 1)).all()
    numpy.testing.assert_array_equal(drawn, numpy.asarray(lazyloom.load(FIRST)(
        x, options={"shift": np.array(2, dtype=np.int32), "axis": 1})["drawn"]))
