"""What build systems read to find the library: a pkg-config file and a CMake package.

They lie in the folder of the library, as ``pkgconfig/lazyloom.pc`` and ``cmake/lazyloom/``, and
name it and the headers relative to themselves. Their version is that of the C ABI, by which a
program says what it needs: ``find_package(lazyloom 1.9)``, ``lazyloom >= 1.9``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from . import header

PKG_CONFIG: Final = "pkgconfig"
CMAKE: Final = os.path.join("cmake", "lazyloom")

_PC: Final = """libdir=${{pcfiledir}}/..
includedir={include}

Name: lazyloom
Description: A lazy tensor runtime, compiled by XLA; the version is that of its C ABI
Version: {version}
Cflags: -I${{includedir}}
Libs: -L${{libdir}} -Wl,-rpath,${{libdir}} -llazyloom
"""

_CONFIG: Final = """# lazyloom::lazyloom, the C library of Lazyloom with its headers
get_filename_component(lazyloom_LIBRARY_DIR "${{CMAKE_CURRENT_LIST_DIR}}/../.." ABSOLUTE)
get_filename_component(lazyloom_INCLUDE_DIR "{include}" ABSOLUTE)
if(NOT TARGET lazyloom::lazyloom)
  add_library(lazyloom::lazyloom SHARED IMPORTED)
  set_target_properties(lazyloom::lazyloom PROPERTIES
    IMPORTED_LOCATION "${{lazyloom_LIBRARY_DIR}}/{soname}"
    IMPORTED_SONAME "{soname}"
    INTERFACE_INCLUDE_DIRECTORIES "${{lazyloom_INCLUDE_DIR}}")
endif()
"""

_VERSION: Final = """set(PACKAGE_VERSION "{version}")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
elseif(PACKAGE_FIND_VERSION AND NOT PACKAGE_FIND_VERSION_MAJOR STREQUAL "{major}")
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
if(CMAKE_SIZEOF_VOID_P AND NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(PACKAGE_VERSION_UNSUITABLE TRUE)
endif()
"""


def write(folder: Path, soname: str, include: Path | None = None) -> None:
    """Write the files of a library's folder, those alone that are not so already.

    Args:
        folder: where the library lies.
        soname: the file to name in CMake's package.
        include: a folder with the headers beside it; this package's if None.

    Raises:
        OSError: a file cannot be written.
    """
    major, minor = header.abi_version()
    given = {"version": f"{major}.{minor}", "major": major, "soname": soname}
    for name, text, variable in (
        (os.path.join(PKG_CONFIG, "lazyloom.pc"), _PC, "${pcfiledir}"),
        (os.path.join(CMAKE, "lazyloom-config.cmake"), _CONFIG, "${CMAKE_CURRENT_LIST_DIR}"),
        (os.path.join(CMAKE, "lazyloom-config-version.cmake"), _VERSION, ""),
    ):
        place = folder / name
        made = text.format(**given, include=_headers(place.parent, variable, include))
        if not place.exists() or place.read_text() != made:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(made)


def _headers(folder: Path, variable: str, given: Path | None) -> str:
    """The headers' folder as a file in a folder names it, by a variable that is this folder."""
    include = given or header.include_dir()
    # the package with its headers can be moved; a library in a cache is beside neither
    if folder.is_relative_to(include.parent):
        return f"{variable}/{os.path.relpath(include, folder)}"
    return str(include)


def prefix(folder: Path) -> Path:
    """A folder with ``include`` and ``lib``: the package, or links beside the library.

    Raises:
        OSError: the links cannot be made.
    """
    include = header.include_dir()
    if folder.name == "lib" and folder.parent == include.parent:
        return folder.parent
    made = folder / "prefix"
    made.mkdir(exist_ok=True)
    for name, place in (("include", include), ("lib", folder)):
        if not (made / name).is_symlink() or os.readlink(made / name) != str(place):
            (made / f".{name}").unlink(missing_ok=True)
            (made / f".{name}").symlink_to(place)
            os.replace(made / f".{name}", made / name)
    return made
