"""Who may import whom; the same rules that `make lint` checks, and what importing costs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_import_rules() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    command = str(lint) if lint.exists() else shutil.which("lint-imports")
    if command is None:
        pytest.skip("import-linter is not installed")
    done = subprocess.run([command, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("package", ["lazyloom", "lazyloom_numpy", "lazyloom_torch"])
def test_no_module_imports_itself_through_others(package: str) -> None:
    """A package and the modules in it too, which the rule for siblings does not compare."""
    grimp = pytest.importorskip("grimp")
    graph = grimp.build_graph(package, exclude_type_checking_imports=True, cache_dir=None)
    cycles = [
        (module, imported)
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
        if graph.chain_exists(importer=imported, imported=module)
    ]
    assert cycles == []


def test_private_parts_of_jax_are_named_in_three_modules() -> None:
    pattern = re.compile(r"\bjax\._src\b|\bjaxlib\b|\bjax\.interpreters\b")
    found = []
    for top in ("runtime", "frontends", "capi"):
        for path in (ROOT / top).rglob("*.py"):
            code = re.sub(r'""".*?"""|#[^\n]*', "", path.read_text(), flags=re.S)
            if re.search(r"^\s*(from|import) .*", code, flags=re.M) and any(
                pattern.search(line) for line in code.splitlines() if "import" in line
            ):
                found.append(path.name)
    assert set(found) == {
        "jax_compat.py", "jax_processes.py", "jax_targets.py", "tracing.py"}


@pytest.mark.parametrize("module", ["lazyloom", "lazyloom_numpy", "lazyloom_torch"])
def test_importing_loads_no_jax_and_starts_no_thread(module: str) -> None:
    code = (
        f"import json, sys, threading, {module};"
        "print(json.dumps([sorted(m for m in ('jax', 'jaxlib', 'cffi') if m in sys.modules),"
        " threading.active_count()]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [[], 1]


@pytest.mark.parametrize("on", [True, False])
def test_an_import_leaves_the_collector_as_it_was(on: bool) -> None:
    program = (
        f"import gc\nif not {on}: gc.disable()\nimport lazyloom_torch\n"
        f"assert gc.isenabled() is {on}\n"
        "from lazyloom_torch._importing import without_collection\n"
        "try:\n    with without_collection():\n        assert not gc.isenabled(); import no_such\n"
        f"except ImportError:\n    assert gc.isenabled() is {on}\n"
        "else:\n    raise AssertionError\n")
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
