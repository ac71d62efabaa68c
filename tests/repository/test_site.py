"""The site is built of all pages, with warnings as errors."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.pages import ROOT, blocks, with_outputs


def listed(page: Path) -> set[Path]:
    """The pages that a page links to."""
    targets = re.findall(r"\]\(([^)\s#]+\.md)", page.read_text())
    return {(page.parent / target).resolve() for target in targets}


def test_every_page_is_in_the_index() -> None:
    found = {ROOT / "docs" / "index.md", *listed(ROOT / "docs" / "index.md")}
    found |= {p for p in listed(ROOT / "docs" / "ops.md") if p.parent.name == "ops"}
    missing = set(ROOT.glob("docs/**/*.md")) | set(ROOT.glob("*.md"))
    assert not missing - found


#: results of a search, in the order in which they are to come: document, title, anchor,
#: description, score, file, kind
RESULTS = [
    ["docs/start", "Lazyloom", "", None, 2, "docs/start.md", "title"],
    ["docs/transforms", "Function transforms", "", None, 9, "docs/transforms.md", "text"],
    ["docs/torch", "Programs written for PyTorch", "", None, 5, "docs/torch.md", "text"],
    ["docs/from_jax", "Coming from JAX", "", None, 15, "docs/from_jax.md", "text"],
    ["docs/backend", "Add a backend", "", None, 15, "docs/backend.md", "text"],
    ["docs/numpy_coverage", "Coverage", "", None, 20, "docs/numpy_coverage.md", "text"],
    ["docs/site/api/lazyloom", "lazyloom.vmap", "#lazyloom.vmap", "function", 99,
     "docs/site/api/lazyloom.rst", "object"],
    ["docs/site/api/lazyloom_torch", "vmap", "", None, 7, "docs/site/api/lazyloom_torch.rst",
     "title"],
]  # fmt: skip


def ranked(query: str) -> list[str]:
    """Titles of RESULTS, best first, as the site's scorer has it."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node, which runs the site's JavaScript")
    program = (
        f"const window = {{location: {{search: '?q={query}'}}}};\n"
        f"{(ROOT / 'docs' / 'site' / 'scorer.js').read_text()}\n"
        f"console.log(JSON.stringify({json.dumps(RESULTS)}.map(r => Scorer.score(r))));")
    done = subprocess.run([node, "-e", program], capture_output=True, text=True, check=True)
    scores = json.loads(done.stdout)
    return [r[1] for _, r in sorted(zip(scores, RESULTS), key=lambda pair: -pair[0])]  # type: ignore[misc]


def test_a_search_finds_pages_before_methods() -> None:
    assert ranked("vmap") == [r[1] for r in RESULTS]


def test_a_search_for_a_library_finds_the_page_for_who_comes_from_it() -> None:
    assert ranked("jax")[:2] == ["Lazyloom", "Coming from JAX"]


def test_a_search_for_a_dotted_name_finds_the_object() -> None:
    assert ranked("lazyloom.vmap")[0] == "lazyloom.vmap"


@pytest.mark.slow
@pytest.mark.op_by_op  # pages run as for users
def test_what_a_page_shows_of_a_block_is_not_shown_again(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\n```text\none\n```\n\n```python\nprint(2)\n```\n"
                    "\nA word.\n\n```python\nx = 3\n```\n")
    text = with_outputs(page.read_text(), blocks(page, "python"), ["1\n", "2\n", ""])
    assert re.findall(r"```text\n(.*)\n```", text) == ["one", "2"]
    assert text.count("Output:") == 1


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
    first = re.search(r'url=([^"]+)', (tmp_path / "site" / "index.html").read_text())
    assert first is not None and (tmp_path / "site" / first[1]).is_file()
    start = (tmp_path / "site" / first[1]).read_text()
    assert "Who it is for" in start and 'href="tutorial.html"' in start
    static = tmp_path / "site" / "_static"
    assert any("rank:" in script.read_text() for script in static.glob("*.js")), "the scorer"
    page = (tmp_path / "site" / "docs" / "site" / "api" / "lazyloom.html").read_text()
    assert 'id="lazyloom.value_and_grad"' in page
    text = html.unescape(re.sub(r"<[^>]+>", "", page))
    assert "lazyloom.grad(lambda x: (x * x).sum())" in text, "an example stands as it is"
    assert 'href="../../options.html"' in page, "a page that a docstring names is a link"
    readme = (tmp_path / "site" / "README.html").read_text()
    assert "accuracy 0.9" in readme, "what an example prints stands beneath it"
