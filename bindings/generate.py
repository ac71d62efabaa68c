"""Writes the ops' functions of every language from ``capi/include/lazyloom_api.json``.

``python bindings/generate.py`` writes them; ``--check`` only tells whether the files are as it
would write them, and a test does that.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

LANGUAGES = (
    "cpp", "fortran", "fortran_c", "go", "lua", "node", "node_types", "r", "rust",
    "rust_ffi")


def texts() -> dict[str, str]:
    """Path below bindings/ to contents."""
    from generator import r_help

    modules = (importlib.import_module(f"generator.{name}") for name in LANGUAGES)
    return {**{module.PATH: module.text() for module in modules}, **r_help.texts()}


def stale() -> list[str]:
    """The files that are not as they would be written."""
    return [path for path, text in texts().items()
            if not (HERE / path).exists() or (HERE / path).read_text() != text]  # fmt: skip


def main() -> int:
    from generator import common

    if common.unknown_types():
        print(f"lazyloom_api.json does not declare {', '.join(common.unknown_types())}; expected "
              "types of the header, or of <stdint.h>", file=sys.stderr)  # fmt: skip
        return 1
    if "--check" in sys.argv:
        for path in stale():
            print(f"bindings/{path} is stale; run: python bindings/generate.py", file=sys.stderr)
        return 1 if stale() else 0
    for path, text in texts().items():
        (HERE / path).parent.mkdir(exist_ok=True)
        (HERE / path).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
