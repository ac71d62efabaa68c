"""What ``setup.py`` builds again, and what it keeps."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

setuptools = pytest.importorskip("setuptools")


@pytest.fixture(scope="module")
def commands() -> dict[str, Any]:
    """The names of setup.py, which builds nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setuptools, "setup", lambda **given: None)
        patch.setattr(sys, "argv", ["setup.py", "egg_info"])
        patch.chdir(ROOT)
        return runpy.run_path(str(ROOT / "setup.py"))


@pytest.fixture
def compiled(
    commands: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., list[str]]:
    """Compiles ``a.c`` and ``b.c``, which need ``a.h``; gives the sources that were compiled."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.c", "b.c", "a.h"):
        Path(name).write_text(f"/* {name} */")
    made: list[str] = []

    def compiler(sources: list[str], output_dir: str, **options: Any) -> list[str]:
        (source,) = sources
        made.append(source)
        if "#error" in Path(source).read_text():
            raise RuntimeError(f"{source} cannot be compiled")
        place = Path(output_dir) / source.replace(".c", ".o")
        place.parent.mkdir(exist_ok=True)
        place.write_text(Path(source).read_text())
        return [str(place)]

    def run(flag: str = "-O2", force: bool = False, command: str = "cc") -> list[str]:
        made.clear()
        objects = commands["Objects"](compiler, [command], force)
        found = objects(["a.c", "b.c"], output_dir="temp", extra_postargs=[flag], depends=["a.h"])
        assert found == [str(Path("temp") / name) for name in ("a.o", "b.o")]
        return sorted(made)

    return run


def test_only_sources_that_changed_are_compiled_again(compiled: Callable[..., list[str]]) -> None:
    assert compiled() == ["a.c", "b.c"]
    assert compiled() == []
    Path("b.c").write_text("int b;")
    assert compiled() == ["b.c"]
    Path("b.c").write_text("int b;")  # written again, but the same
    assert compiled() == []
    assert Path("temp/b.o").read_text() == "int b;"


def test_headers_flags_and_what_is_missing_count(compiled: Callable[..., list[str]]) -> None:
    assert compiled() == ["a.c", "b.c"]
    Path("a.h").write_text("int a;")
    assert compiled() == ["a.c", "b.c"]
    assert compiled("-O3") == ["a.c", "b.c"]
    assert compiled("-O3", force=True) == ["a.c", "b.c"]
    Path("temp/a.o").unlink()
    assert compiled("-O3") == ["a.c"]
    Path("temp/b.o").write_text("half")  # a compiler was killed, or a disk was full
    assert compiled("-O3") == ["b.c"]
    Path("temp/a.o.sha256").write_bytes(b"\xff\xfe")
    assert compiled("-O3") == ["a.c"]
    assert compiled("-O3", command="clang") == ["a.c", "b.c"]


def test_what_failed_is_compiled_again(compiled: Callable[..., list[str]]) -> None:
    assert compiled() == ["a.c", "b.c"]
    before = Path("a.c").read_text()
    Path("a.c").write_text("#error")
    with pytest.raises(RuntimeError, match="a.c cannot"):
        compiled()
    with pytest.raises(RuntimeError, match="a.c cannot"):
        compiled()
    Path("a.c").write_text(before)  # what was there may be half of the other text
    assert "a.c" in compiled()
    assert compiled() == []


def test_deallocators_of_classes_without_cycles_skip_the_trashcan(
    commands: dict[str, Any],
) -> None:
    text = (
        "static void A_dealloc(A *self) { PyObject_GC_UnTrack(self); "
        "CPy_TRASHCAN_BEGIN(self, A_dealloc) }\n"
        "(traverseproc)A_traverse\n"
        "static void B_dealloc(B *self) { CPy_TRASHCAN_BEGIN(self, B_dealloc) }\n")
    mended = commands["deallocators_mended"](text)
    assert "CPy_TRASHCAN_BEGIN(self, A_dealloc)" in mended
    assert "CPy_TRASHCAN_BEGIN(self, NULL)" in mended
    with pytest.raises(RuntimeError, match="A_dealloc"):
        commands["deallocators_mended"](text.replace("PyObject_GC_UnTrack(self); ", ""))


def test_tracebacks_of_compiled_code_name_files_of_the_package(commands: dict[str, Any]) -> None:
    text = 'CPy_AddTraceback("runtime/lazyloom/trace/graph.py", "read", 12, globals);\n'
    named = commands["sources_named"](text)
    assert named == 'CPy_AddTraceback("lazyloom/trace/graph.py", "read", 12, globals);\n'


def test_an_extension_is_linked_again_if_it_or_its_sources_changed(
    commands: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.c").write_text("int a;")
    extension = setuptools.Extension("a", ["a.c"])
    built: list[str] = []

    def build(self: Any, ext: Any) -> None:
        built.append(ext.name)
        Path("a.so").write_text("built")

    def run(always: bool = False) -> int:
        built.clear()
        command = object.__new__(commands["OptionalBuild"])
        command.build_temp, command.compiler, command.always = str(tmp_path), None, always
        command.get_ext_fullpath = lambda name: f"{name}.so"
        command.objects = commands["Objects"](None, ["cc"], False)
        command._built(extension)
        return len(built)

    monkeypatch.setattr(commands["build_ext"], "build_extension", build)
    assert [run(), run(), run(always=True)] == [1, 0, 1]
    Path("a.c").write_text("int b;")
    assert [run(), run()] == [1, 0]
    extension.extra_compile_args = ["-g0"]
    assert [run(), run()] == [1, 0]
    Path("a.so").write_text("of another build")
    assert [run(), run()] == [1, 0]


def test_each_folder_of_c_says_what_its_files_are() -> None:
    native = ROOT / "runtime" / "native"
    folders = sorted(p for p in native.iterdir() if p.is_dir() and p.name != "common")
    index = (native / "README.md").read_text()
    assert [f"]({p.name}/README.md)" in index for p in folders] == [True] * len(folders) != []
    for folder in folders:
        said = (folder / "README.md").read_text()
        assert len(said.splitlines()) <= 14
        assert [p.name for p in sorted(folder.glob("*.[ch]")) if f"`{p.name}`" not in said] == []
    assert not list((ROOT / "runtime" / "lazyloom").glob("*.[ch]"))
