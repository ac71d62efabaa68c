"""A wheel and an SDK where nothing is that they do not bring: no compiler, no Python.

    python -m tests.capi.clean_environments --wheel dist/lazyloom-*.whl --sdk dist/lazyloom-sdk-*.gz

Run by hand after ``make wheel sdk``, in minutes. Of the wheel: it is installed in an environment
of its own, and flags are asked for and programs run with a PATH on which nothing is; then the
environment is moved. Of the SDK: it is unpacked, moved, and its programs run with an empty
environment; as root also in a root directory with the C and C++ libraries and nothing else.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent / "examples"
HELLO = EXAMPLES / "hello.c"
SAID = "y        = 4 6 8\ngradient = 2 2 2\n"
#: what programs on a system with a C++ program have
SYSTEM = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1",
          "libstdc++.so.6", "libgcc_s.so.1")  # fmt: skip
#: some of what is tested are counts of compiled runs
COMPILED = {"LAZYLOOM_REPRODUCIBLE": "1"}
CMAKE = """cmake_minimum_required(VERSION 3.15)
project(client C)
find_package(lazyloom 1.3 REQUIRED)
add_executable(hello {hello})
target_link_libraries(hello lazyloom::lazyloom)
"""


def run(command: list[str], environment: dict[str, str] | None = None) -> str:
    """What a command says; it must end well and say nothing on stderr."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, ""), (command, done.stdout, done.stderr)
    return done.stdout


def timed(what: str, command: list[str], environment: dict[str, str]) -> str:
    """:func:`run`, and the seconds that it took, printed."""
    begun = time.monotonic()
    said = run(command, environment)
    print(f"  {what}: {time.monotonic() - begun:.2f} s")
    return said


def compiled(source: Path, target: Path, flags: list[str]) -> str:
    """A program's path."""
    run(["cc", "-std=c99", str(source), "-o", str(target), *flags, "-pthread", "-lm", "-ldl"])
    return str(target)


def build_systems(package: Path, configuration: Path, folder: Path, bare: dict[str, str]) -> None:
    """pkg-config and CMake find it; what they build runs."""
    if shutil.which("pkg-config"):
        flags = run(["pkg-config", "--cflags", "--libs", "lazyloom"],
                    {**os.environ, "PKG_CONFIG_PATH": str(configuration)}).split()  # fmt: skip
        assert run([compiled(HELLO, folder / "by_pkg_config", flags)], bare).startswith(SAID)
        print("  pkg-config: works")
    if shutil.which("cmake"):
        source = folder / "client"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(CMAKE.format(hello=HELLO))
        run(["cmake", "-S", str(source), "-B", str(source / "made"), f"-Dlazyloom_DIR={package}"])
        run(["cmake", "--build", str(source / "made")])
        assert run([str(source / "made" / "hello")], bare).startswith(SAID)
        print("  CMake: works")


def of_the_wheel(wheel: Path, folder: Path) -> None:
    """A wheel in an environment of its own."""
    print(f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB")
    place = folder / "environment"
    run([sys.executable, "-m", "venv", str(place)])
    subprocess.run([str(place / "bin" / "pip"), "install", "--quiet", str(wheel)], check=True)
    nothing = folder / "nothing"
    nothing.mkdir()
    bare = {"PATH": str(nothing), "HOME": str(folder / "home")}
    python = str(place / "bin" / "python")

    def flags(*options: str, environment: dict[str, str] = bare) -> list[str]:
        return run([python, "-m", "lazyloom_capi", *options], environment).split()

    found = timed("flags", [python, "-m", "lazyloom_capi", "--cflags", "--libs"], bare).split()
    program = compiled(HELLO, folder / "hello", found)
    for what in ("first program, empty cache", "again"):
        assert timed(what, [program], bare).startswith(SAID)
    everything = compiled(HERE / "everything.c", folder / "all", found)
    assert "everything works" in run([everything], {**bare, **COMPILED})
    build_systems(Path(flags("--cmake-dir")[0]), Path(flags("--pkg-config-dir")[0]), folder, bare)
    library = Path(next(f for f in found if f.startswith("-L"))[2:])
    moved = place.rename(folder / "moved")
    there = moved / library.relative_to(place)
    assert run([program], {**bare, "LD_LIBRARY_PATH": str(there)}).startswith(SAID)
    print("  moved: works")


def of_the_sdk(archive: Path, folder: Path) -> None:
    """An SDK where there is no Python."""
    print(f"{archive.name}, {archive.stat().st_size / 1e6:.0f} MB")
    nothing = folder / "nothing"
    nothing.mkdir()
    bare = {"PATH": str(nothing), "HOME": str(folder / "home")}
    run(["tar", "xzf", str(archive), "-C", str(folder)])
    root = (folder / "lazyloom-sdk").rename(folder / "moved")
    size = sum(p.lstat().st_size for p in root.rglob("*") if not p.is_symlink())
    print(f"  unpacked: {size / 1e6:.0f} MB")
    config = str(root / "bin" / "lazyloom-config")
    flags = run([config, "--cflags", "--libs"]).split()
    program = compiled(HELLO, folder / "hello", flags)
    for what in ("first program, empty cache", "again"):
        assert timed(what, [program], bare).startswith(SAID)
    everything = compiled(HERE / "everything.c", folder / "all", flags)
    assert "everything works" in run([everything], {**bare, **COMPILED})
    digits = compiled(EXAMPLES / "digits.c", folder / "digits", flags)
    data = [str(EXAMPLES / "data" / "digits"), str(folder / "report.json")]
    said = timed("digits, 20 epochs", [digits, *data], bare)
    print(f"  {said.splitlines()[-1]}")
    for source in sorted((root / "examples" / "c").glob("*.c")):
        compiled(source, folder / f"example_{source.stem}", flags)
    assert "y = 2.000 x + 1.000" in run([str(folder / "example_first")], bare)
    said = run([str(folder / "example_digits"), str(root / "examples" / "data" / "digits"), "1"],
               bare)  # fmt: skip
    print(f"  its examples: {said.splitlines()[-1]}")
    build_systems(Path(run([config, "--cmake-dir"]).strip()),
                  Path(run([config, "--pkg-config-dir"]).strip()), folder, bare)  # fmt: skip
    if os.getuid() == 0:
        in_a_root_of_its_own(root, folder, [program, everything])


def in_a_root_of_its_own(sdk: Path, folder: Path, programs: list[str]) -> None:
    """Nothing of the system can be opened: no Python, no shell, no cache."""
    root = folder / "root"
    for program in programs:
        listed = run(["ldd", program])
        loader = re.search(r"^\s*(/\S*ld-linux\S*)", listed, flags=re.M)
        assert loader is not None
        place = root / loader[1].lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.realpath(loader[1]), place)
    libraries = root / "lib"
    libraries.mkdir(exist_ok=True)
    for name in SYSTEM:
        shutil.copy(os.path.realpath(run(["cc", f"-print-file-name={name}"]).strip()),
                    libraries / name)  # fmt: skip
    (root / "tmp").mkdir()
    (root / "dev").mkdir()
    for name, minor in (("null", 3), ("urandom", 9)):
        os.mknod(root / "dev" / name, 0o020666, os.makedev(1, minor))
    # programs name the folder that they were linked for
    shutil.copytree(sdk, root / str(sdk).lstrip("/"), symlinks=True)
    chroot = shutil.which("chroot", path="/usr/sbin:/usr/bin")
    assert chroot is not None
    for program in programs:
        shutil.copy(program, root)
        said = run([chroot, str(root), f"/{Path(program).name}"],
                   {"HOME": "/tmp", "LD_LIBRARY_PATH": "/lib", **COMPILED})  # fmt: skip
        assert said.startswith(SAID) or "everything works" in said
    print("  with nothing but the C and C++ libraries: works")


def main() -> None:
    """Run the command line; an assertion fails where something does not work."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--sdk", type=Path)
    given = parser.parse_args()
    for what, file in ((of_the_wheel, given.wheel), (of_the_sdk, given.sdk)):
        if file is not None:
            with tempfile.TemporaryDirectory() as folder:
                what(file.absolute(), Path(folder))


if __name__ == "__main__":
    main()
