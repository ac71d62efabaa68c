"""Reading ``lazyloom.h`` and what it includes, the one place where the C ABI is written down."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

#: the header and its parts, in the order of what they declare
NAMES: Final = ("lazyloom_types.h", "lazyloom.h", "lazyloom_runtime.h")


#: headers of inline functions alone, which are no part of the ABI, in the order of their includes
HEADER_ONLY: Final = ("lazyloom_safetensors.h", "lazyloom_parameters.h", "lazyloom_optimizers.h",
                      "lazyloom_nn.h")  # fmt: skip


def include_dir() -> Path:
    """The folder with ``lazyloom.h``: beside this package, or in it once installed."""
    here = Path(__file__).resolve().parent
    for folder in (here.parent / "include", here / "include"):
        if (folder / "lazyloom.h").is_file():
            return folder
    raise FileNotFoundError(f"lazyloom.h is neither in {here.parent / 'include'} nor in {here}")


def text() -> str:
    """The header with the parts that it includes."""
    folder = include_dir()
    return "".join((folder / name).read_text() for name in NAMES)


def abi_version() -> tuple[int, int]:
    """The version of the C ABI that the header declares."""
    found = dict(re.findall(r"#define LOOM_ABI_(MAJOR|MINOR) (\d+)", text()))
    return int(found["MAJOR"]), int(found["MINOR"])


def statements(text: str) -> list[str]:
    """The declarations of a header, without comments, preprocessor lines and inline bodies."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"\\\n", " ", text)
    text = re.sub(r"^#ifdef __cplusplus$.*?^#endif$", "", text, flags=re.M | re.S)
    text = re.sub(r"^[ \t]*#.*$", "", text, flags=re.M)
    text = re.sub(r"\b(LOOM_API|LOOM_CHECK)\b", "", text)
    found: list[str] = []
    current = ""
    depth = 0
    for character in text:
        current += character
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0 and current.lstrip().startswith("static inline"):
                current = ""
        elif character == ";" and depth == 0:
            statement = " ".join(current.split())
            if statement != ";":
                found.append(statement)
            current = ""
    return found


def types(text: str) -> str:
    """The type definitions of a header, as cffi reads them."""
    return "\n".join(s for s in statements(text) if _is_type(s))


def functions(text: str) -> dict[str, str]:
    """The exported functions of a header: name to prototype."""
    prototypes = [s for s in statements(text) if not _is_type(s)]
    return {_name(p): p for p in prototypes}


def _is_type(statement: str) -> bool:
    # a structure of another library's is named before it is used, and no more
    return statement.startswith(("typedef", "struct"))


def versions(text: str) -> dict[str, tuple[int, int]]:
    """The version of the ABI that each exported function of a header came with."""
    since = [(1, 0)]
    parts: dict[tuple[int, int], str] = {}
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"\\\n", " ", text)
    text = re.sub(r"^#ifdef __cplusplus$.*?^#endif$", "", text, flags=re.M | re.S)
    for line in text.splitlines():
        if re.match(r"\s*#\s*if", line):
            given = re.search(r"LOOM_TARGET_VERSION >= LOOM_VERSION\((\d+), (\d+)\)", line)
            since.append((int(given[1]), int(given[2])) if given else since[-1])
        elif re.match(r"\s*#\s*endif", line):
            since.pop()
        else:
            parts[since[-1]] = parts.get(since[-1], "") + line + "\n"
    return {name: version for version, lines in parts.items() for name in functions(lines)}


def declarations(text: str) -> str:
    """Types and functions, as cffi reads them."""
    return "\n".join(statements(text))


def _name(prototype: str) -> str:
    found = re.search(r"(\w+)\s*\(", prototype)
    if found is None:
        raise ValueError(f"not a prototype: {prototype}")
    return found.group(1)
