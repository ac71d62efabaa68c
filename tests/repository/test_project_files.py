"""What those who look at the project from outside rely on: versions, citation, issue forms."""

from __future__ import annotations

import re
import tomllib

import pytest

from docs.pages import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSIONS = ["3.11", "3.12", "3.13", "3.14"]


def test_classifiers_are_the_versions_that_ci_runs() -> None:
    classified = [
        m[1] for c in PROJECT["classifiers"] if (m := re.fullmatch(r".*Python :: (3\.\d+)", c))]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    matrix = re.search(r"python: \[([^]]+)\]", workflow)
    assert matrix is not None
    assert classified == re.findall(r'"([\d.]+)"', matrix[1]) == VERSIONS
    assert PROJECT["requires-python"] == f">={VERSIONS[0]}"


def test_wheels_are_built_for_the_same_versions() -> None:
    workflow = (ROOT / ".github" / "workflows" / "wheels.yml").read_text()
    assert re.findall(r'"cp3(\d+)"', workflow) == [v.partition(".")[2] for v in VERSIONS]


def test_the_citation_is_of_this_version_and_licence() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    stated = dict(re.findall(r"^([\w-]+): (.+)$", text, flags=re.M))
    assert stated["version"] == PROJECT["version"] and stated["license"] == PROJECT["license"]
    assert stated["cff-version"] == "1.2.0" and {"title", "message"} <= set(stated)
    assert re.search(r"^authors:\n  - name: ", text, flags=re.M)


def test_a_bug_report_asks_for_what_is_needed() -> None:
    yaml = pytest.importorskip("yaml", reason="forms for issues are YAML: make env-site")
    forms = {p.stem: yaml.safe_load(p.read_text())
             for p in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")}
    required = {
        field["id"]: field["attributes"]["label"] for field in forms["bug_report"]["body"]
        if field.get("validations", {}).get("required")}
    assert required["info"] == "python -m lazyloom info" and "program" in required
    assert all({"name", "description", "body"} <= set(form)
               for name, form in forms.items() if name != "config")
