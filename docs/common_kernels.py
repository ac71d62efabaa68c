"""Write which of the usual kernels programs ask for, the profile of an installation from source.

    python docs/common_kernels.py [--add] [SCRIPT ...]

runs the programs of the README, the examples, those of the benchmarks, and scripts of your own,
each in a process and from an empty cache, and writes
``runtime/lazyloom/host/common.txt``: a line for each usual case whose kernels one of
them asked for. ``--add`` keeps the lines that are there, if they still name a usual case: those of
scripts that are not in this repository.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
EXAMPLES = ROOT / "examples"
#: seconds after which a program is ended; what it asked for until then counts
LIMIT = 40
#: by kind of kernel and description of its types, the extents and other numbers it is wanted for
Asked: TypeAlias = "dict[tuple[str, bytes], set[tuple[int, ...]]]"
HEAD = """\
# The usual kernels that programs ask for, which an installation from source makes.
# Written by docs/common_kernels.py; do not edit.
"""


def programs() -> list[list[str]]:
    """Command lines of Python: first training steps, examples, the benchmarks' programs."""
    scripts = [EXAMPLES / "numpy_programs" / "both.py", EXAMPLES / "digits_numpy.py",
               EXAMPLES / "digits_torch.py"]
    scripts += sorted(p for p in (EXAMPLES / "torch_scripts").glob("*.py") if p.stem != "both")
    from benchmarks.programs import NAMES

    sys.path.insert(0, str(ROOT / "benchmarks"))
    from workloads.transformer import SMALL

    steps = [
        [str(ROOT / "benchmarks" / "suite" / "fresh.py"), "first_step", "first_step", json.dumps(
            {"workload": name, "maker": module, "modules": [module], "arguments": arguments})]
        for name, arguments in (("transformer", SMALL), ("mlp", {"read": True}))
        for module in ("lazyloom_numpy", "lazyloom_torch")]
    return [*steps, *([str(p)] for p in scripts),
            *(["-m", "benchmarks.programs", name, "--limit", "20"] for name in NAMES)]


def of_the_readme(folder: str) -> list[list[str]]:
    """The README's programs, as scripts in a folder."""
    text = (ROOT / "README.md").read_text()
    found = []
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", text, re.S)):
        path = Path(folder) / f"readme{number}.py"
        path.write_text(block)
        found.append([str(path)])
    return found


def record(output: str, command: list[str]) -> None:
    """Run a program in this process, and write what kernels it asks for, one a line."""
    from lazyloom.host import find, shipped
    from lazyloom.program.extents import description, outline

    load = shipped.load
    with open(output, "a", encoding="ascii", buffering=1) as file:

        def loaded(kind: str, place: bytes, fingerprint: bytes) -> bytes | None:
            if kind == "kernel":
                file.write(f"kernel {place.hex()}\n")
            return load(kind, place, fingerprint)

        def outlined(spec: Any, types: Any) -> Any:
            found = outline(spec, types)
            file.write(f"kernels {description(spec, types).hex()} "
                       f"{','.join(map(str, found[1])) or '-'}\n")
            return found

        shipped.load = loaded
        find.outline = outlined
        module = command[0] == "-m"
        sys.argv = command[1:] if module else command
        if module:
            runpy.run_module(command[1], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(Path(command[0]).parent)
            runpy.run_path(command[0], run_name="__main__")


def asked_by(command: list[str]) -> Asked:
    """What a program asks for."""
    # what compiles beside a program may write there a moment longer than the program
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        output = os.path.join(folder, "asked")
        Path(output).touch()
        environment = {**os.environ, "LAZYLOOM_CACHE_DIR": os.path.join(folder, "cache"),
                       "MPLBACKEND": "Agg"}  # fmt: skip
        try:
            done = subprocess.run(
                [sys.executable, os.path.abspath(__file__), "--record", output, *command],
                cwd=ROOT if command[0] == "-m" else Path(command[0]).resolve().parent,
                env=environment, capture_output=True, text=True, timeout=LIMIT)
            status = f"status {done.returncode}"
        except subprocess.TimeoutExpired:
            status = f"ended after {LIMIT} s"
        lines = set(Path(output).read_text("ascii").splitlines())
    found: Asked = {}
    for line in lines:
        kind, place, *numbers = line.split()
        found.setdefault((kind, bytes.fromhex(place)), set()).update(
            () if n == "-" else tuple(map(int, n.split(","))) for n in numbers)
    print(f"{' '.join(command)}: {len(found)}, {status}", flush=True)
    return found


def lines_for(asked: Asked, kept: frozenset[str]) -> list[str]:
    """The lines of the first cases that serve what was asked for, and of those to keep."""
    from lazyloom.host.build import served
    from lazyloom.host.common import DERIVED, text_of_case
    from lazyloom.host.usual import cases

    left = {key: set(numbers) for key, numbers in asked.items()}

    def serves(kind: str, place: bytes, form: Any) -> bool:
        """Whether a kernel serves what no earlier one does."""
        numbers = left.get((kind, place))
        if numbers is None:
            return False
        if form is None:
            del left[kind, place]
            return True
        by_this = {n for n in numbers if form.values(n) is not None}
        numbers -= by_this
        return bool(by_this)

    found: dict[str, bool] = {}
    for case in cases():
        text, kernels = text_of_case(case), [serves(*one) for one in served(case)]
        if text + DERIVED in kept or any(kernels[1:]):
            found[text] = True
        elif text in kept or any(kernels):
            found.setdefault(text, False)
    return [text + DERIVED * derived for text, derived in sorted(found.items())]


def main() -> None:
    if sys.argv[1:2] == ["--record"]:
        record(sys.argv[2], sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scripts", nargs="*")
    parser.add_argument("--add", action="store_true", help="keep what the file has")
    given = parser.parse_args()

    from lazyloom.host import common

    kept = common.profile() if given.add else frozenset()
    asked: Asked = {}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        commands = [*of_the_readme(folder), *programs(),
                    *([os.path.abspath(s)] for s in given.scripts)]
        for found in pool.map(asked_by, commands):
            for key, numbers in found.items():
                asked.setdefault(key, set()).update(numbers)
    lines = lines_for(asked, kept)
    with open(common.path(), "w", encoding="ascii") as file:
        file.writelines([HEAD, *(f"{line}\n" for line in lines)])
    print(f"{len(lines)} cases in {common.path()}")


if __name__ == "__main__":
    main()
