"""How the C and C++ of these tests is compiled: as strictly as the headers promise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
STRICT = ["-pedantic", "-Wall", "-Wextra", "-Werror"]
C99 = ["cc", "-std=c99", *STRICT, "-xc"]
CXX17 = ["c++", "-std=c++17", *STRICT, "-xc++"]

Compile = Callable[..., Path]
