"""NumPy-like programs as people write them, on divided arrays: the results of one device."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
from lazyloom.cache import memory

MESH = lazyloom.make_mesh({"rows": 4, "columns": 2})


def kmeans(points: Any, centers: Any, steps: int) -> tuple[Any, Any]:
    for _ in range(steps):
        distances = ((points[:, None, :] - centers[None]) ** 2).sum(axis=2)
        nearest = distances.argmin(axis=1)
        members = (nearest[:, None] == np.arange(len(centers))[None]).astype(points.dtype)
        counts = members.sum(axis=0)
        centers = (members.T @ points) / np.maximum(counts, 1)[:, None]
    return centers, nearest


def test_kmeans() -> None:
    source = numpy.random.default_rng(0)
    data = source.standard_normal((4096, 8)) + source.integers(0, 4, (4096, 1)) * 3
    start = data[:5].copy()
    expected, labels = kmeans(np.asarray(data), np.asarray(start), 8)
    points = lazyloom.shard(np.asarray(data), MESH, (("rows", "columns"),))
    found, divided = kmeans(points, lazyloom.shard(np.asarray(start), MESH, ()), 8)
    numpy.testing.assert_allclose(numpy.asarray(found), numpy.asarray(expected), rtol=1e-9)
    assert (numpy.asarray(divided) == numpy.asarray(labels)).all()
    assert lazyloom.placement_of(divided).spec == (("rows", "columns"),)


def jacobi(u: Any, steps: int) -> Any:
    """Relaxation of Laplace's equation: each inner point becomes the mean of its neighbours."""
    for _ in range(steps):
        inner = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        u = u.copy()
        u[1:-1, 1:-1] = inner
    return u


@pytest.mark.parametrize("partition", [("rows", "columns"), (None, ("rows", "columns"))])
def test_jacobi(partition: Any) -> None:
    start = numpy.zeros((64, 64))
    start[0], start[:, 0] = 1, numpy.linspace(1, 0, 64)
    expected = jacobi(start, 50)
    found = jacobi(lazyloom.shard(np.asarray(start), MESH, partition), 50)
    numpy.testing.assert_allclose(numpy.asarray(found), expected, rtol=1e-12, atol=1e-15)


def test_each_device_has_its_part() -> None:
    """What XLA plans for one device falls with the number of parts."""
    sizes = []
    for partition in ((), ("rows",), ("rows", "columns")):
        x = lazyloom.shard(np.ones((256, 512)), MESH, partition)
        lazyloom.sync(lazyloom.shard(x * 2.5 + x, MESH, partition))
        stats = memory.entries()[-1].program.executable.get_compiled_memory_stats()
        sizes.append(stats.argument_size_in_bytes)
    whole = 256 * 512 * 8
    for size, parts in zip(sizes, (1, 4, 8), strict=True):
        assert whole // parts <= size <= whole // parts + 64


def test_a_program_on_a_mesh_comes_from_disk_in_the_next_process(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os
    import subprocess
    import sys

    program = (
        "import lazyloom, lazyloom_numpy as np\n"
        "mesh = lazyloom.make_mesh({'a': 8})\n"
        "x = lazyloom.shard(np.arange(64.0).reshape(8, 8), mesh, ('a',))\n"
        "y = np.tanh(x / 64) @ x\n"
        "print(float(y.sum()), lazyloom.placement_of(y).spec)\n"
        "s = lazyloom.stats()\n"
        "print(s['programs_compiled'], s['programs_from_disk'])\n")
    printed = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=120,
            env={**os.environ, "LAZYLOOM_CACHE_DIR": str(tmp_path / "cache")})
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout.split("\n"))
    assert printed[0][0] == printed[1][0]
    assert printed[0][1] == "1 0" and printed[1][1] == "0 1"
