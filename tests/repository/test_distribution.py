"""The distribution that pip would install: built once, looked into, and used."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "capi" / "include"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the unpacked wheel, built from a copy of the sources without a compiler.

    And without kernels, which take minutes.
    """
    try:
        major = int(importlib.metadata.version("setuptools").split(".")[0])
    except importlib.metadata.PackageNotFoundError:
        major = 0
    if major < 77:
        pytest.skip(f"building needs setuptools >= 77, here is {major}")
    folder = tmp_path_factory.mktemp("distribution")
    copy = folder / "source"
    copy.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    for name in ("runtime", "frontends", "capi"):
        built = ["lib"] if name == "capi" else []
        shutil.copytree(
            ROOT / name, copy / name,
            ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", *built))  # fmt: skip
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check",
         "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(copy)],
        check=True, timeout=300,
        env={**os.environ, "CC": "no-such-compiler", "LAZYLOOM_KERNELS": "0"},
    )  # fmt: skip
    (wheel,) = folder.glob("lazyloom-*.whl")
    target = folder / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def test_everything_is_in_it(installed: Path) -> None:
    def sources(top: Path, pattern: str) -> set[str]:
        found = top.rglob(pattern)
        return {str(p.relative_to(top)) for p in found if "__pycache__" not in p.parts}

    packed = sources(installed, "*.py")
    for top in ("runtime", "frontends", "capi"):
        assert sources(ROOT / top, "*.py") <= packed
    assert sources(ROOT / "frontends", "*.pyi") == sources(installed, "*.pyi")
    headers = installed / "lazyloom_capi" / "include"
    assert {p.name for p in headers.iterdir()} >= {p.name for p in INCLUDE.glob("*.h")}
    assert (headers / "lazyloom_api.json").exists()
    for name in ("shims.c", "entries.h"):
        assert (installed / "lazyloom_capi" / name).exists()
    assert (installed / "lazyloom" / "py.typed").exists()
    assert not list(installed.rglob("test_*.py"))


def test_without_a_compiler_the_core_is_interpreted_and_says_so(
    installed: Path, tmp_path: Path
) -> None:
    assert not list(installed.rglob("*.so"))
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(
        [sys.executable, "-m", "lazyloom", "info"], env=environment, cwd=tmp_path, check=True,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert re.search(r"^core +interpreted", done.stdout, flags=re.M), done.stdout


def test_what_make_installs_is_compiled() -> None:
    import lazyloom
    from lazyloom.compiled import core

    if "site-packages" not in Path(lazyloom.__file__).parts or shutil.which("cc") is None:
        pytest.skip("lazyloom is used from a checkout, or there is no C compiler")
    if os.environ.get("LAZYLOOM_CORE") == "interpreted":
        pytest.skip("LAZYLOOM_CORE asked for an interpreted core")
    assert core() == "compiled"


def test_c_programs_build_against_it(installed: Path, tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment["PYTHONPATH"] = str(installed)
    flags = subprocess.run(
        [sys.executable, "-m", "lazyloom_capi", "--cflags", "--libs"], env=environment,
        cwd=tmp_path, check=True, capture_output=True, text=True, timeout=300,
    ).stdout.split()  # fmt: skip
    assert any(f.startswith(f"-I{installed}") for f in flags)
    program = tmp_path / "hello"
    subprocess.run(
        ["cc", "-std=c99", str(ROOT / "examples" / "hello.c"), "-o", str(program), *flags],
        check=True, timeout=120,
    )
    done = subprocess.run(
        [str(program)], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "y        = 4 6 8" in done.stdout
