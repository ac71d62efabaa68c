"""The frontend in ``examples/frontend`` passes its tests, and the page about it quotes it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from docs.pages import EXAMPLES, ROOT, Block, blocks


@pytest.mark.slow
def test_its_own_tests_pass() -> None:
    path = os.pathsep.join([p for p in (os.environ.get("PYTHONPATH"), str(EXAMPLES)) if p])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
         str(EXAMPLES / "tests")],
        cwd=EXAMPLES, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
        timeout=300)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("block", blocks(ROOT / "docs" / "frontend.md", "py"),
                         ids=lambda b: b.text.splitlines()[0].strip())  # fmt: skip
def test_the_page_quotes_the_package(block: Block) -> None:
    modules = [p.read_text() for p in (EXAMPLES / "named_arrays").glob("*.py")]
    assert any(block.text in text for text in modules), f"not in the package:\n{block.text}"
