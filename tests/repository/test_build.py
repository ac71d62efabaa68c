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
    literals = r'"\001\"runtime/lazyloom/capture/guards.py",'
    assert commands["sources_named"](literals) == literals  # a length, 34, and as many letters


PYTHON = r'''
"""The module."""
from typing import NamedTuple

class Pair(NamedTuple):
    """Two "things"."""
    a: int

class Box:
    """A box.

    Of é?
    """
    def __init__(self, n=DEFAULT) -> None: ...

    @property
    def side(self):
        """Its side."""

    @side.setter
    def side(self, value): ...

    def grow(self, by, *, times=(1, 2)):
        """Let it grow."""

def free(x, y=LATER, *more, z=1):
    """A function\\n."""

def bare(x): ...
'''
TRANSLATED = r"""
static PyGetSetDef m___Box_getseters[] = {
    {"side",
     (getter)m___Box_get_side,
     (setter)m___Box_set_side,
    NULL, NULL},
    {"n",
     (getter)m___Box_get_n, (setter)m___Box_set_n,
     NULL, NULL},
};
static PyMethodDef m___Box_methods[] = {
    {"__init__",
     (PyCFunction)CPyPy_m___Box_____init__,
     METH_FASTCALL | METH_KEYWORDS, PyDoc_STR(NULL)},
    {"grow",
     (PyCFunction)CPyPy_m___Box___grow,
     METH_FASTCALL | METH_KEYWORDS, PyDoc_STR("grow($self, by, *, times=(1, 2))\n--\n\n")},
};
static PyTypeObject CPyType_m___Box_template_ = {
    .tp_doc = PyDoc_STR(NULL),
};
static PyMethodDef mmodule_methods[] = {
    {"free", (PyCFunction)CPyPy_m___free, METH_FASTCALL | METH_KEYWORDS, PyDoc_STR(NULL) /* docstring */},
    {"bare", (PyCFunction)CPyPy_m___bare, METH_FASTCALL | METH_KEYWORDS, PyDoc_STR("bare(x)\n--\n\n") /* docstring */},
};
    "m",
    NULL, /* docstring */
    cpy_r_r1 = CPyStatics[35]; /* 'mypyc filler docstring' */
    cpy_r_r2 = CPyDict_SetItem(cpy_r_r3, cpy_r_r4, cpy_r_r1);
    if (unlikely(!cpy_r_r2)) {
        CPy_AddTraceback("runtime/lazyloom/m.py", "<module>", 5, globals);
"""  # noqa: E501


def test_docstrings_of_compiled_modules_are_written_into_their_c(commands: dict[str, Any]) -> None:
    written = commands["Docstrings"](PYTHON).written(TRANSLATED)
    for expected in (
        r'PyUnicode_FromString("Two \042things\042.");', r'PyDoc_STR("The module."),',
        r'PyDoc_STR("__init__($self, n=...)\012"', r'PyDoc_STR("Box(n=...)\012"',
        r'"Of \303\251\077"', r'"Its side.", NULL}', r'"Let it grow.")},',
        r'PyDoc_STR("free(x, y=..., *more, z=1)\012"', r'"A function\134n.") /* docstring */},',
        r'PyDoc_STR("bare(x)\n--\n\n") /* docstring */},',
    ):
        assert expected in written, expected
    assert "filler" not in written and written.count("NULL, NULL}") == 1  # of the attribute


def test_classes_of_c_without_one_in_the_module_are_an_error(commands: dict[str, Any]) -> None:
    with pytest.raises(RuntimeError, match="at line 6"):
        commands["Docstrings"](PYTHON).written(TRANSLATED.replace("<module>\", 5", "<module>\", 6"))


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
