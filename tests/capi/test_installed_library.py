"""The library as a package carries it: found by build systems, at home where it is moved to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lazyloom_capi import build, development, environment, header, python_symbols

from .compilers import C99, HERE

HELLO = HERE.parent.parent / "examples" / "hello.c"
VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"


def output(command: list[str], **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **options)  # type: ignore[call-overload]
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return str(done.stdout)


def carried(package: Path) -> Path:
    """The package in another place, with the library as a wheel has it; gives its folder."""
    shutil.copytree(
        build.HERE, package, ignore=shutil.ignore_patterns("lib", "include", "__pycache__"))
    shutil.copytree(header.include_dir(), package / "include")
    library = package / "lib"
    library.mkdir()
    for name in (build.soname(), build.LIBRARY):
        shutil.copy(build.build(), library / name)
    shutil.copy(build.build().with_name(f"{build.LIBRARY}.stamp"), library)
    development.write(library, build.soname(), package / "include")
    return library


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of its own that a wheel was installed in; the rest is this environment's."""
    made = tmp_path_factory.mktemp("environments") / "first"
    site = made / "lib" / VERSION / "site-packages"
    carried(site / "lazyloom_capi")
    (site / "rest.pth").write_text("\n".join(p for p in sys.path if p and Path(p).is_dir()))
    (made / "bin").mkdir()
    (made / "bin" / VERSION).symlink_to(os.path.realpath(sys.executable))
    home = os.path.dirname(os.path.realpath(sys.executable))
    (made / "pyvenv.cfg").write_text(f"home = {home}\n")
    return made


def test_a_moved_environment(
    prefix: Path, bare_environment: dict[str, str], tmp_path: Path
) -> None:
    """A program is linked without a compiler of the library's, and finds the environment moved."""
    empty = {**bare_environment, "PATH": str(tmp_path)}
    flags = output([str(prefix / "bin" / VERSION), "-m", "lazyloom_capi", "--cflags", "--libs"],
                   env={**empty, "CC": "no-such-compiler"}).split()  # fmt: skip
    library = prefix / "lib" / VERSION / "site-packages" / "lazyloom_capi" / "lib"
    assert f"-L{library}" in flags
    # one library under both names
    assert (library / build.LIBRARY).is_symlink()
    assert not (library / environment.RECORD).exists()
    program = tmp_path / "hello"
    output([*C99, str(HELLO), "-xnone", "-o", str(program), *flags])
    assert output([str(program)], env=empty).startswith("y        = 4 6 8\n")
    moved = prefix.rename(prefix.with_name("second"))
    place = moved / "lib" / VERSION / "site-packages" / "lazyloom_capi" / "lib"
    try:
        assert output(
            [str(program)], env={**empty, "LD_LIBRARY_PATH": str(place)}
        ).startswith("y        = 4 6 8\n")
    finally:
        moved.rename(prefix)


def test_a_numpy_that_cannot_be_imported(
    prefix: Path, bare_environment: dict[str, str], tmp_path: Path
) -> None:
    """The reason is the error's, and no traceback of Python's is on the host's stderr."""
    site = prefix / "lib" / VERSION / "site-packages"
    program = tmp_path / "hello"
    library = f"{site}/lazyloom_capi/lib"
    output([*C99, str(HELLO), "-xnone", "-o", str(program), *build.cflags(), f"-L{library}",
            f"-Wl,-rpath,{library}", "-llazyloom"])  # fmt: skip
    broken = site / "numpy"
    broken.mkdir()
    (broken / "__init__.py").write_text('raise ImportError("this numpy cannot be imported")\n')
    try:
        done = subprocess.run(
            [str(program)], env=bare_environment, capture_output=True, text=True, timeout=120)
    finally:
        shutil.rmtree(broken)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.endswith(
        ": lazyloom could not be started: ImportError: this numpy cannot be imported")


def test_pkg_config_finds_it(prefix: Path, tmp_path: Path) -> None:
    tool = shutil.which("pkg-config")
    if tool is None:
        pytest.skip("pkg-config is not installed")
    library = prefix / "lib" / VERSION / "site-packages" / "lazyloom_capi" / "lib"
    variables = {**os.environ, "PKG_CONFIG_PATH": str(library / development.PKG_CONFIG)}
    major, minor = header.abi_version()
    wanted = f"lazyloom >= {major}.{minor}"
    flags = output([tool, "--cflags", "--libs", wanted], env=variables).split()
    output([*C99, str(HELLO), "-xnone", "-o", str(tmp_path / "hello"), *flags])
    listed = output(["ldd", str(tmp_path / "hello")])
    found = [line.split()[2] for line in listed.splitlines() if build.soname() in line]
    assert [os.path.realpath(path) for path in found] == [
        os.path.realpath(library / build.soname())]
    assert subprocess.run([tool, f"lazyloom >= {major + 1}"], env=variables).returncode != 0


@pytest.mark.slow
def test_cmake_finds_it(prefix: Path, tmp_path: Path) -> None:
    tool = shutil.which("cmake")
    if tool is None:
        pytest.skip("cmake is not installed")
    library = prefix / "lib" / VERSION / "site-packages" / "lazyloom_capi" / "lib"
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.15)\nproject(client C)\n"
        "find_package(lazyloom 1.3 REQUIRED)\nfind_package(lazyloom 2.0 QUIET)\n"
        "if(lazyloom_FOUND)\n  message(FATAL_ERROR \"2.0 was found\")\nendif()\n"
        f"add_executable(hello {HELLO})\ntarget_link_libraries(hello lazyloom::lazyloom)\n")
    made = tmp_path / "made"
    given = f"-Dlazyloom_DIR={library / development.CMAKE}"
    subprocess.run([tool, "-S", str(tmp_path), "-B", str(made), given], check=True,
                   capture_output=True, timeout=120)  # fmt: skip
    subprocess.run([tool, "--build", str(made)], check=True, capture_output=True, timeout=120)
    listed = output(["ldd", str(made / "hello")])
    assert f"{build.soname()} => {library}" in listed


def test_clients_of_the_library_without_versions_find_their_functions(tmp_path: Path) -> None:
    """Linked before it had a soname with the major, and versions of symbols."""
    stub, client = tmp_path / build.LIBRARY, tmp_path / "client"
    output(["cc", "-shared", "-fPIC", f"-Wl,-soname,{build.LIBRARY}", "-xc", "-", "-o", str(stub)],
           input="unsigned loom_abi_version(void) { return 0; }\n")  # fmt: skip
    output(["cc", "-xc", "-", "-xnone", "-o", str(client), str(stub)],
           input="unsigned loom_abi_version(void);\n"
                 "int main(void) { return loom_abi_version() == 0; }\n")  # fmt: skip
    folder = str(build.build().parent)
    for names, status in ((str(tmp_path), 1), (folder, 0)):
        done = subprocess.run(
            [str(client)], env={"LD_LIBRARY_PATH": names}, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (status, "")


def test_a_package_that_its_user_cannot_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its library is copied to where it can be said which environment it opens."""
    library = carried(tmp_path / "packages" / "lazyloom_capi")
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: Path(path) != library and access(path, mode))
    monkeypatch.setattr(build, "HERE", library.parent)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CC", "no-such-compiler")
    before = sorted(library.iterdir())
    found = build.build()
    assert found.is_relative_to(tmp_path / "cache")
    assert found.read_bytes() == (library / build.LIBRARY).read_bytes()
    assert (found.parent / environment.RECORD).read_text().startswith(f"{sys.executable}\n")
    assert sorted(library.iterdir()) == before


@pytest.mark.parametrize("place, expected", [
    (f"lib/{VERSION}/site-packages/lazyloom_capi/lib", True),
    (f"lib64/{VERSION}/site-packages/lazyloom_capi/lib", True),
    ("lib/python3/dist-packages/lazyloom_capi/lib", True),
    ("lib/python2.7/site-packages/lazyloom_capi/lib", False),
    ("checkout/capi/lazyloom_capi/lib", False), ("lib", False),
])  # fmt: skip
def test_environments_are_told_by_places(place: str, expected: bool, tmp_path: Path) -> None:
    assert environment.by_place(tmp_path / place) == (tmp_path if expected else None)


def test_names_of_python_in_assembly() -> None:
    """What is called or pointed to; not what is defined here, or stands in a text."""
    assembly = """
    .file "PyFile.c"
Py_own:
    call PyErr_Fetch@PLT
    movq _Py_NoneStruct@GOTPCREL(%rip), %rax
    .local PyOther
    .comm PyOther,8,8
    movq PyOther(%rip), %rax
    call Py_own
    .string "PyText_Name"
"""
    assert python_symbols.used(assembly) == ["PyErr_Fetch", "_Py_NoneStruct"]
