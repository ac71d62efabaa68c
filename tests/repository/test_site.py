"""The site is built of all pages, with warnings as errors."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.pages import ROOT


def listed(page: Path) -> set[Path]:
    """The pages that a page links to."""
    targets = re.findall(r"\]\(([^)\s#]+\.md)", page.read_text())
    return {(page.parent / target).resolve() for target in targets}


def test_every_page_is_in_the_index() -> None:
    found = {ROOT / "docs" / "index.md", *listed(ROOT / "docs" / "index.md")}
    found |= {p for p in listed(ROOT / "docs" / "ops.md") if p.parent.name == "ops"}
    missing = set(ROOT.glob("docs/**/*.md")) | set(ROOT.glob("*.md"))
    assert not missing - found


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    for package in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(package, reason=f"the site needs {package}: make env-site")
    tops = os.pathsep.join(str(ROOT / top) for top in ("runtime", "frontends", "capi"))
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "--jobs",
         "2", "--doctree-dir", str(tmp_path / "doctrees"), "--conf-dir", "docs/site", ".",
         str(tmp_path / "site")],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": tops}, capture_output=True, text=True,
        timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-8000:]
    page = (tmp_path / "site" / "docs" / "site" / "api" / "lazyloom.html").read_text()
    assert 'id="lazyloom.value_and_grad"' in page
    readme = (tmp_path / "site" / "README.html").read_text()
    assert "accuracy 0.9" in readme, "what an example prints stands beneath it"
