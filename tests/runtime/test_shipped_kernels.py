"""Kernels that come with an installation: found where they are right, and nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazyloom.cache import archive
from lazyloom.counters import counters
from lazyloom.dtypes import float32, int64
from lazyloom.host import common, find, shipped, storage
from lazyloom.host.build import entries_of
from lazyloom.host.loading import load
from lazyloom.host.usual import cases
from lazyloom.host.usual_case import KernelCase
from lazyloom.ops.derived import op_named
from lazyloom.ops.spec import lookup
from lazyloom.trace.specs import Spec, spec_of
from lazyloom.types import tensor_type
from tests.contract.helpers import in_threads

pytestmark = pytest.mark.xla

#: an operand's extents are letters: see Case
CASES = (
    KernelCase(lookup("add"), ((("a", "b"), float32), (("b",), float32)), {}),
    KernelCase(lookup("tanh"), (((), float32),), {}),
    KernelCase(lookup("sum"), ((("a", "b"), float32),), {"axes": (1,)}),
    KernelCase(lookup("matmul"), ((("a", "b"), float32), (("b", "c"), float32)), {}),
    KernelCase(lookup("softmax"), ((("a", "b"), float32),), {"axis": -1}),
    KernelCase(lookup("reshape"), ((("a", "b"), float32),), {"shape": ("ab",)}),
    KernelCase(lookup("take"), ((("a", "b"), float32), (("n",), int64)), {"axis": 0}),
    KernelCase(lookup("checked"), ((("a",), int64), ((), int64)), {"kind": ""}),
)
VJPS = {"add": (0, 1), "sum": (0,), "matmul": (0, 1), "softmax": (0,), "reshape": (0,)}


@pytest.fixture(scope="module")
def entries() -> list[Any]:
    return entries_of(CASES)[0]


@pytest.fixture
def place(
    tmp_path: Path, entries: list[Any], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The package's file, written for this environment; nothing is in memory or on disk."""
    path = tmp_path / "kernels.bin"
    archive.write(str(path), storage.fingerprint(), entries, b"def kernel(")
    monkeypatch.setattr(shipped, "path", lambda: str(path))
    monkeypatch.setattr(shipped, "wanted", lambda: True)
    monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(tmp_path / "cache"))
    families = dict(find._families)
    find._families.clear()
    yield path
    find._families.clear()
    find._families.update(families)


def example(name: str, *shapes: Any, **attributes: Any) -> tuple[Spec, list[np.ndarray]]:
    rng = np.random.default_rng(5)
    operands = [rng.standard_normal(s).astype(np.float32) if isinstance(s, tuple) else s
                for s in shapes]
    return spec_of(op_named(name), attributes, len(operands)), operands


def examples() -> list[tuple[Spec, list[np.ndarray]]]:
    """Every case at extents that it was not made at."""
    rows = np.array([3, 0, 3], np.int64)
    found = [
        example("add", (13, 7), (7,)), example("tanh", ()), example("sum", (2, 31), axes=(1,)),
        example("matmul", (9, 2), (2, 30)), example("softmax", (5, 5), axis=-1),
        example("reshape", (8, 9), shape=(72,)), example("take", (4, 3), rows, axis=0),
        example("checked", rows, np.array(0, np.int64), kind="index", of="take", info=(0, 4)),
    ]  # fmt: skip
    for spec, operands in list(found):
        argnums = VJPS.get(spec.op.name)
        if argnums:
            vjp = spec.op.derive("vjp")
            (t,) = spec.infer(types_of(operands))
            own = dict(zip(vjp.own, (len(operands), argnums, (0,)), strict=True))
            given = [*operands, np.ones(t.shape, np.float32)]
            found.append((spec_of(vjp, {**spec.attrs, **own}, len(given)), given))
    return found


def types_of(operands: list[np.ndarray]) -> tuple[Any, ...]:
    return tuple(tensor_type(x.shape, {"f": float32, "i": int64}[x.dtype.kind]) for x in operands)


def test_they_give_what_traced_ones_give(place: Path) -> None:
    for spec, operands in examples():
        types = types_of(operands)
        before = counters["host_kernels"]
        kernel = find.kernel_of(spec, types)
        assert kernel is not None
        assert counters["host_kernels"] == before, f"{spec} was traced"
        run, shared = load(find.text_of(spec, types))
        assert shared == kernel.shared
        given = [x[()] if x.ndim == 0 else x for x in operands]
        found, expected = kernel.run(*given), run(*given)
        for a, b in zip(*((r if isinstance(r, tuple) else (r,)) for r in (found, expected)),
                        strict=True):
            np.testing.assert_array_equal(a, b, strict=True)


def test_those_of_another_environment_are_not_used(place: Path, entries: list[Any]) -> None:
    archive.write(str(place), b"?" * 32, entries)
    shipped._opened.pop(str(place), None)
    spec, operands = examples()[0]
    before, errors = counters["host_kernels"], counters["disk_errors"]
    assert find.kernel_of(spec, types_of(operands)) is not None
    assert counters["host_kernels"] == before + 1
    assert counters["disk_errors"] == errors
    assert "other sources" in shipped.described(storage.fingerprint())


def test_they_can_be_left_alone(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "wanted", lambda: False)
    spec, operands = examples()[0]
    before = counters["host_kernels"]
    assert find.kernel_of(spec, types_of(operands)) is not None
    assert counters["host_kernels"] == before + 1


@pytest.mark.parametrize("spoil", ["truncated", "empty", "another file", "index", "entries"])
def test_a_bad_file_costs_traces(place: Path, spoil: str) -> None:
    data = place.read_bytes()
    head = archive._HEAD.size
    rows = archive._HEAD.unpack_from(data)[2] * archive._ROW.size
    place.write_bytes({
        "truncated": data[: len(data) // 2], "empty": b"", "another file": b"?" * 200,
        "index": data[:head] + b"\xff" * rows + data[head + rows :],
        "entries": data[: head + rows + 11] + b"\xff" * (len(data) - head - rows - 11),
    }[spoil])  # fmt: skip
    spec, operands = examples()[0]
    before, errors = counters["host_kernels"], counters["disk_errors"]
    kernel = find.kernel_of(spec, types_of(operands))
    assert kernel is not None
    np.testing.assert_array_equal(kernel.run(*operands), operands[0] + operands[1])
    assert counters["host_kernels"] == before + 1
    assert counters["disk_errors"] > errors


def test_forms_that_follow_are_kept_with_those_that_came(place: Path) -> None:
    """Another form is traced, and all are then on the user's disk, which is asked first."""
    types = [tensor_type((n, 1), float32) for n in (6, 8)]
    row = tensor_type((1,), float32)
    spec = spec_of(lookup("add"), {}, 2)
    before = counters["host_kernels"]
    for t in types:
        assert find.kernel_of(spec, (t, row)) is not None
    assert counters["host_kernels"] == before + 2
    os.unlink(place)
    shipped._opened.pop(str(place), None)
    find._families.clear()
    for a, b in (((5, 1), (1,)), ((5, 3), (3,))):
        kernel = find.kernel_of(spec, (tensor_type(a, float32), tensor_type(b, float32)))
        assert kernel is not None
        assert kernel.run(np.ones(a, np.float32), np.ones(b, np.float32)).shape == a
    assert counters["host_kernels"] == before + 2


def test_threads_share_the_file(place: Path, entries: list[Any]) -> None:
    def look() -> list[bytes]:
        return [description for kind, description, payload in entries * 5
                if storage.load(kind, description) != payload]

    assert in_threads([look] * 6) == [[]] * 6


def test_cases_are_of_every_family_that_they_name() -> None:
    """What a case says is an op's that takes it: no case is there for nothing."""
    ops = {case.op.name for case in cases()}
    assert {"add", "where", "sum", "cast", "reshape", "transpose", "concatenate", "dynamic_slice",
            "matmul", "dot_general", "layer_norm", "conv", "lstm", "cross_entropy", "dropout",
            "random_normal", "inv", "step_adam", "embedding", "checked"} <= ops  # fmt: skip


def test_every_line_of_the_profile_is_a_usual_case() -> None:
    """Else it is an old one: python docs/common_kernels.py --add writes it again."""
    usual = {common.text_of_case(case) for case in cases()}
    lines = common.profile()
    assert len(lines) > 500
    assert not {line.removesuffix(common.DERIVED) for line in lines} - usual


def test_common_cases_are_arithmetic_and_what_the_profile_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = common.text_of_case(CASES[2])
    assert first == "sum(float32[a,b]; axes=(1,))"
    lines = {first, common.text_of_case(CASES[4]) + common.DERIVED}
    monkeypatch.setattr(common, "cases", lambda: iter(CASES))
    monkeypatch.setattr(common, "profile", lambda: frozenset(lines))
    found = {case.op.name: case for case in common.common_cases()}
    assert set(found) == {"add", "sum", "softmax"}
    assert not found["add"].derived and not found["sum"].derived and found["softmax"].derived
    assert len(entries_of(found.values())[0]) == 4


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_slices_of_vectors_and_matrices_are_common(dtype: str) -> None:
    found = {common.text_of_case(case) for case in common.common_cases()}
    for operands, sizes in ((f"{dtype}[a], int64[]", ("n",)), (f"{dtype}[a], int64[]", (1,)),
                            (f"{dtype}[a,b], int64[], int64[]", ("n", "b"))):
        assert f"dynamic_slice({operands}; sizes={sizes})" in found
    assert f"slice({dtype}[b]; starts=('b-1',), stops=(-1,), strides=(-1,))" in found
    assert f"dynamic_update_slice({dtype}[a], {dtype}[n], int64[])" in found


def test_a_file_says_whether_all_usual_kernels_are_there(
    place: Path, entries: list[Any]
) -> None:
    host = storage.fingerprint()
    assert shipped.is_of(str(place), host, False) and not shipped.is_of(str(place), host, True)
    count = f"{len(entries)} ops at types"
    assert shipped.described(host).startswith(f"{count}; ")
    assert "makes all" in shipped.described(host)
    archive.write(str(place), host, [*entries, (*shipped.EVERY, b"")])
    shipped._opened.pop(str(place), None)
    assert shipped.is_of(str(place), host, True)
    assert shipped.described(host) == count
    assert not shipped.is_of(str(place), b"?" * 32, False)
    assert not shipped.is_of(str(place.with_name("none.bin")), host, False)


NUMPY = """
import sys
import lazyloom, lazyloom_numpy as np
x = np.arange(12.0).reshape(3, 4)
y = np.exp(-x / 5.0) @ np.ones((4, 2)) + x[:, :2]
print(float(y.sum()), y.mean(axis=0), np.where(x > 3, x, 0.0).max(axis=1), x[1], x.T[0, 2])
assert lazyloom.stats()["host_kernels"] == 0, lazyloom.stats()
assert "jax" not in sys.modules
"""
TORCH = """
import sys
import lazyloom, lazyloom_torch as torch
from lazyloom_torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
for _ in range(2):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    print(loss.item())
assert lazyloom.stats()["host_kernels"] == 0, lazyloom.stats()
assert "jax" not in sys.modules
"""


@pytest.mark.op_by_op
@pytest.mark.parametrize("program", [NUMPY, TORCH], ids=["numpy", "torch"])
def test_a_first_run_imports_no_jax(program: str, tmp_path: Path) -> None:
    said = shipped.described(storage.fingerprint())
    if " ops at types" not in said:
        pytest.skip(f"the package under test brings no kernels: {said}")
    environment = {**os.environ, "LAZYLOOM_CACHE_DIR": str(tmp_path), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, cwd=tmp_path,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
