"""One private disk cache per test run, shared by its worker processes; and ``--quick``."""

from __future__ import annotations

import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

# SciPy reads it when it is imported: its functions, and scikit-learn's, then keep our arrays
os.environ.setdefault("SCIPY_ARRAY_API", "1")

#: Of tests that exist once for every op or function, ``--quick`` runs one in this many.
SAMPLE = 18
SAMPLED = ("tests/conformance/", "tests/ops/", "tests/numpy/", "tests/torch/")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick", action="store_true",
        help=f"leave out slow tests, and all but one in {SAMPLE} of those that go through every op",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    if not is_worker and "LAZYLOOM_CACHE_DIR" not in os.environ:
        folder = tempfile.mkdtemp(prefix="lazyloom-tests-")
        os.environ["LAZYLOOM_CACHE_DIR"] = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--quick"):
        return
    chosen = [item for item in items if _is_quick(item)]
    left_out = set(items) - set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = chosen


def _is_quick(item: pytest.Item) -> bool:
    if item.get_closest_marker("slow") is not None:
        return False
    # the same sample every time, and in every worker
    sampled = item.nodeid.startswith(SAMPLED) and "[" in item.nodeid
    return not sampled or zlib.crc32(item.nodeid.encode()) % SAMPLE == 0


@pytest.fixture(scope="module")
def quick_compiler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For modules whose programs run once: XLA leaves out what makes code fast.

    No other test finds these programs. Every op is also compiled as for users, by tests/ops.
    """
    from jaxlib import xla_client

    from lazyloom.cache import memory
    from lazyloom.execute import jax_compat

    def compile_text(text: str) -> Any:
        if "@lapack_" in text:
            jax_compat._find_lapack()
        options = xla_client.CompileOptions()
        options.env_option_overrides = [
            ("xla_backend_optimization_level", "0"), ("xla_llvm_disable_expensive_passes", "True")]
        return jax_compat.client().compile_and_load(text, jax_compat._device_list, options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax_compat, "compile_text", compile_text)
        patch.setenv("LAZYLOOM_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        memory.clear()
        yield
        memory.clear()
