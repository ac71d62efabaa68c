"""Run the public test suite of the array API standard with this frontend, NumPy and jax.numpy.

    python tests/conformance/array_api.py SUITE [--examples 50] [--modules numpy ...] [-- -k fft]

SUITE is a checkout of https://github.com/data-apis/array-api-tests with its submodule; it is
not part of this repository. What stands after ``--`` goes to pytest. Prints how many tests
passed, failed and were skipped with each module, and exits with 1 if one that fails with
``lazyloom_numpy`` stands not in ``array_api_skips.txt``, or if as many fail with it as with
NumPy. ``make array-api`` calls it; see docs/array_api.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

VERSION = "2024.12"
MODULES = ("lazyloom_numpy", "numpy", "jax.numpy")
SKIPS = Path(__file__).with_name("array_api_skips.txt")


@dataclass
class Outcome:
    """What one run of the suite gave: how many tests there were, and which ended how."""

    module: str
    passed: int = 0
    skipped: int = 0
    failed: list[str] = field(default_factory=list)
    output: str = ""


def listed(path: Path = SKIPS) -> dict[str, str]:
    """The tests that are known to fail, with the reason for each; ValueError without one."""
    found: dict[str, str] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, reason = line.partition("  # ")
        if not reason.strip():
            raise ValueError(f"{path.name}:{number}: no reason is given for {name!r}")
        if name in found:
            raise ValueError(f"{path.name}:{number}: {name!r} is listed twice")
        found[name] = reason.strip()
    return found


def node_id(case: ET.Element) -> str:
    """``file::class::name`` of a JUnit test case, as pytest prints it."""
    package, module, *classes = case.get("classname", "").split(".")
    name = case.get("name", "")
    if not module:  # a module that could not be collected
        return f"{package}/{name}"
    return "::".join([f"{package}/{module}.py", *classes, name])


def outcome(module: str, report: Path) -> Outcome:
    """Count what a JUnit report says."""
    result = Outcome(module)
    for case in ET.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            result.failed.append(node_id(case))
        elif case.find("skipped") is not None:
            result.skipped += 1
        else:
            result.passed += 1
    return result


def environment(module: str) -> dict[str, str]:
    """The environment of a run; paths are made absolute, as it runs in the suite's folder."""
    env = dict(os.environ)
    if "PYTHONPATH" in env:
        env["PYTHONPATH"] = os.pathsep.join(
            os.path.abspath(p) for p in env["PYTHONPATH"].split(os.pathsep))
    env.update(ARRAY_API_TESTS_MODULE=module, ARRAY_API_TESTS_VERSION=VERSION, JAX_ENABLE_X64="1")
    return env


def run(suite: Path, module: str, examples: int, options: Sequence[str]) -> Outcome:
    """Run the suite with one module. Without a deadline: a first call compiles."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--disable-deadline",
            "--max-examples", str(examples), f"--junitxml={report}", *options, "array_api_tests",
        ]  # fmt: skip
        done = subprocess.run(
            command, cwd=suite, env=environment(module), capture_output=True, text=True)
        if not report.exists():
            raise SystemExit(f"{module}: the suite did not run\n{done.stdout}\n{done.stderr}")
        result = outcome(module, report)
        result.output = done.stdout
        return result


def _complaints(results: Sequence[Outcome], known: dict[str, str], partial: bool) -> Iterator[str]:
    by_module = {r.module: r for r in results}
    ours, theirs = by_module.get("lazyloom_numpy"), by_module.get("numpy")
    if ours is None:
        return
    for name in ours.failed:
        if name not in known:
            yield f"fails and is not listed: {name}"
    if theirs is not None and not partial and len(ours.failed) >= len(theirs.failed):
        yield f"{len(ours.failed)} tests fail, with NumPy {len(theirs.failed)}"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", type=Path, help="a checkout of data-apis/array-api-tests")
    parser.add_argument("--examples", type=int, default=50, help="hypothesis examples a test")
    parser.add_argument("--modules", nargs="+", default=MODULES)
    parser.add_argument("--output", type=Path, help="a folder for what pytest prints")
    split = arguments.index("--") if "--" in arguments else len(arguments)
    given = parser.parse_args(arguments[:split])
    options = arguments[split + 1:]
    if not (given.suite / "array_api_tests").is_dir():
        raise SystemExit(f"{given.suite} is no checkout of data-apis/array-api-tests")
    known = listed()
    results = []
    print(f"array API {VERSION}, {given.examples} examples")
    print(f"{'module':16} {'passed':>7} {'failed':>7} {'skipped':>8}")
    for module in given.modules:
        result = run(given.suite.resolve(), module, given.examples, options)
        results.append(result)
        counts = f"{result.passed:7} {len(result.failed):7} {result.skipped:8}"
        print(f"{module:16} {counts}", flush=True)
        if given.output is not None:
            given.output.mkdir(parents=True, exist_ok=True)
            (given.output / f"{module}.txt").write_text(result.output)
            (given.output / f"{module}.failed.txt").write_text("\n".join(result.failed) + "\n")
    for r in results:
        if r.module == "lazyloom_numpy" and not options:
            for name in sorted(known.keys() - set(r.failed)):
                print(f"is listed and passed this time: {name}")
    complaints = list(_complaints(results, known, bool(options)))
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
