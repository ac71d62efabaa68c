"""Write which kernels programs meet, of those that an installation can make.

    python docs/kernels_met.py [SCRIPT ...]

runs the examples, the programs of the benchmarks and of the conformance tests, and scripts of your
own, each in a process and from an empty cache, and writes
``runtime/lazyloom/backends/xla/host/met.txt``: a digest for each usual kernel that one asked
for. ``--add`` keeps what stands there, if it is still one of the usual kernels; about a third of
what is there was asked for by programs that others wrote, which are not in this repository.
"""

from __future__ import annotations

import argparse
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
EXAMPLES = ROOT / "examples"
#: seconds after which a program is ended; what it met until then counts
LIMIT = 120
HEAD = "# Written by docs/kernels_met.py; do not edit.\n"


def programs() -> list[list[str]]:
    """Command lines of Python: examples, benchmarks' programs and those of conformance tests."""
    scripts = [EXAMPLES / "numpy_programs" / "both.py", EXAMPLES / "digits_numpy.py",
               EXAMPLES / "digits_torch.py"]
    scripts += sorted(p for p in (EXAMPLES / "torch_scripts").glob("*.py") if p.stem != "both")
    tests = str(ROOT / "tests" / "conformance" / "test_programs.py")
    from benchmarks.programs import NAMES

    return [
        *([str(p)] for p in scripts),
        *(["-m", "benchmarks.programs", name, "--limit", "20"] for name in NAMES),
        ["-m", "pytest", "-q", "-p", "no:cacheprovider", tests],
    ]


def record(output: str, command: list[str]) -> None:
    """Run a program in this process, and write what kernels it asks for, one a line."""
    from lazyloom.backends import shipped

    load = shipped.load
    with open(output, "a", encoding="ascii", buffering=1) as file:

        def asked(kind: str, description: bytes, fingerprint: bytes) -> bytes | None:
            file.write(f"{kind} {description.hex()}\n")
            return load(kind, description, fingerprint)

        shipped.load = asked
        module = command[0] == "-m"
        sys.argv = command[1:] if module else command
        if module:
            runpy.run_module(command[1], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(Path(command[0]).parent)
            runpy.run_path(command[0], run_name="__main__")


def asked_by(command: list[str]) -> set[str]:
    """The digests of what a program asks for."""
    from lazyloom.backends.xla.host.met import digest

    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "asked")
        Path(output).touch()
        environment = {**os.environ, "LAZYLOOM_CACHE_DIR": os.path.join(folder, "cache"),
                       "MPLBACKEND": "Agg"}  # fmt: skip
        try:
            done = subprocess.run(
                [sys.executable, __file__, "--record", output, *command], env=environment,
                cwd=ROOT, capture_output=True, text=True, timeout=LIMIT)
            status = f"status {done.returncode}"
        except subprocess.TimeoutExpired:
            status = f"ended after {LIMIT} s"
        lines = [line.split() for line in Path(output).read_text("ascii").splitlines()]
    found = {digest(kind, bytes.fromhex(rest[0]) if rest else b"") for kind, *rest in lines}
    print(f"{command[-1]}: {len(found)}, {status}", flush=True)
    return found


def main() -> None:
    if sys.argv[1:2] == ["--record"]:
        record(sys.argv[2], sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scripts", nargs="*")
    parser.add_argument("--add", action="store_true", help="keep what the file has")
    given = parser.parse_args()

    from lazyloom.backends.xla.host import build, met, usual

    usual_ones = {met.digest(*place) for case in usual.cases() for place in build.places_of(case)}
    found = set(met.met()) if given.add and os.path.exists(met.path()) else set()
    for command in [*programs(), *([s] for s in given.scripts)]:
        found |= asked_by(command)
    found &= usual_ones
    with open(met.path(), "w", encoding="ascii") as file:
        file.writelines([HEAD, *(f"{line}\n" for line in sorted(found))])
    print(f"{len(found)} of {len(usual_ones)} usual kernels in {met.path()}")


if __name__ == "__main__":
    main()
