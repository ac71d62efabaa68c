"""The repository holds together: packaging, links, generated pages, what no file may say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")])


def tracked(*patterns: str) -> list[Path]:
    """Files of this tree that git knows, or all of them where there is no git."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.split("\0") if name]
    return [p for pattern in patterns or ("*",) for p in ROOT.rglob(pattern) if p.is_file()]


def test_every_package_is_listed_for_distribution() -> None:
    found = set()
    for top in ("runtime", "frontends", "capi"):
        for init in (ROOT / top).rglob("__init__.py"):
            found.add(".".join(init.parent.relative_to(ROOT / top).parts))
    listed = set(PROJECT["tool"]["setuptools"]["packages"]) - {"lazyloom_capi.include"}
    assert listed == found


def test_headers_are_distributed() -> None:
    mapping = PROJECT["tool"]["setuptools"]["package-dir"]
    folder = ROOT / mapping["lazyloom_capi.include"]
    for name in ("lazyloom.h", "lazyloom_ops.h", "lazyloom_types.h", "lazyloom_api.json"):
        assert (folder / name).exists()


def test_core_dependencies_are_the_four() -> None:
    names = [re.match(r"[\w-]+", d)[0] for d in PROJECT["project"]["dependencies"]]  # type: ignore[index]
    assert names == ["jax", "jaxlib", "numpy", "cffi"]


def test_version_is_stated_once() -> None:
    import lazyloom

    assert PROJECT["project"]["version"] == lazyloom.__version__


def test_the_changelog_begins_with_this_version() -> None:
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)
    assert versions[0] == PROJECT["project"]["version"]
    assert len(versions) == len(set(versions))


def test_the_hosted_ci_runs_what_ci_runs() -> None:
    assert re.search(
        r"^ +run: \.ci/run$", (ROOT / ".github/workflows/ci.yml").read_text(), flags=re.M)
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_makefile_installs_every_extra_it_names() -> None:
    text = (ROOT / "Makefile").read_text()
    named = {e for group in re.findall(r"'\.\[([\w,]+)\]'", text) for e in group.split(",")}
    assert named <= set(PROJECT["project"]["optional-dependencies"])


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path) if path else page
        if not place.exists():
            broken.append(target)
            continue
        lost_anchor = anchor and place.suffix == ".md" and anchor not in anchors(place)
        if lost_anchor:
            broken.append(target)
    assert not broken


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", t.lower()).strip().replace(" ", "-") for t in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_that_pages_name_exist(page: Path) -> None:
    """A path in backquotes that begins with one of our folders is a file or folder of ours."""
    tops = "runtime|frontends|capi|tests|examples|benchmarks|docs"
    named = re.findall(rf"`((?:{tops})/[\w./-]*\w/?)(?:::[\w\[\]-]+)*`", page.read_text())
    assert not [name for name in named if not (ROOT / name).exists()]


def test_tests_that_pages_name_exist() -> None:
    """``tests/x/test_y.py::test_z`` in a page names a test that is there."""
    missing = []
    for page in PAGES:
        for path, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)", page.read_text()):
            source = ROOT / path
            if not source.exists() or f"def {name}(" not in source.read_text():
                missing.append(f"{page.name}: {path}::{name}")
    assert not missing


def test_generated_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_pages_state_the_coverage_of_numpy_that_was_counted() -> None:
    counted = re.search(r"^(\d+ of \d+ names) ", (ROOT / "docs" / "numpy_coverage.md").read_text(),
                        flags=re.M)
    assert counted is not None
    stated = [(page.name, m) for page in PAGES
              for m in re.findall(r"(\d{3} of (?:the )?\d{3} names)", page.read_text())]
    assert {"start.md", "from_numpy.md", "CHANGELOG.md"} < {page for page, _ in stated}
    assert {m.replace("the ", "") for _, m in stated} == {counted[1]}, stated


def test_no_machine_path_in_any_file() -> None:
    """A path of the machine that a file was written on is of no use on another."""
    pattern = re.compile(r"(?<![\w.])/(?:home|root|Users|work)/\w")
    found = []
    for path in tracked():
        if not path.is_file() or path.suffix in {".png", ""} and path.name != "Makefile":
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {m[0]}" for m in pattern.finditer(text)]
    assert not found


def test_modules_stay_small() -> None:
    """A module is one concept; at seven hundred lines it is more than one."""
    sources = tracked("*.py", "*.c", "*.h", "*.cc")
    lengths = {str(p.relative_to(ROOT)): p.read_text().count("\n") for p in sources if p.is_file()}
    assert not {name: n for name, n in lengths.items() if n > 700 and name != GENERATED_HEADER}


GENERATED_HEADER = "capi/include/lazyloom_ops.h"
