"""What a library that is built and the entries in Python say to each other, as recorded."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import lazyloom
from lazyloom_capi import build, header

from .compilers import HERE

RECORD = HERE / "interface.txt"


def signature(name: str, file: Path) -> str:
    """A function's parameters and result, as its source has them."""
    found = re.search(
        rf"^ *def {name}\((.*?)\) -> (.*?):(?:  #[^\n]*)?\n", file.read_text(), flags=re.M | re.S)
    assert found is not None, f"{name} is not in {file}"
    parameters = " ".join(found[1].split()).removesuffix(",")
    return f"{name}({parameters}) -> {found[2]}"


def interface() -> str:
    """All of it in words, a line each."""
    recording, handles = ((build.HERE / n).read_text() for n in ("recording.c", "handles.c"))
    # what a library does without has a list of its own
    before, block, after = re.split(r"(} welcome\[\] = {.*?};)", recording, flags=re.S)
    welcome = re.findall(r'{"(\w+)", +&', block)
    recording = before + after
    taken = re.findall(r'{"(\w+)", +&', recording)
    taken += re.findall(r'GetItemString\(given, "(\w+)"', recording)
    offered = re.findall(r'^    {"(\w+)", .*METH_', handles, flags=re.M)
    lines = [f"interface {build.INTERFACE}"]
    lines += sorted(header.statements((build.HERE / "entries.h").read_text()))
    lines += sorted(line for line in build._SHARED_CONSTANTS.split("\n") if line)
    lines += [f"taken from what setup is given: {name}" for name in sorted(taken)]
    lines += [f"taken if setup is given it: {name}" for name in sorted(welcome)]
    lines += [f"offered by _lazyloom_shims: {name}" for name in sorted(offered)]
    runtime = Path(lazyloom.__file__).parent
    for function in (
        lazyloom.record_one, lazyloom.record_two, lazyloom.record_number, lazyloom.record_spec,
        lazyloom.name_site, lazyloom.gradients, lazyloom.set_grad_enabled,
        lazyloom.frontend.write_all, lazyloom.frontend.look,
    ):  # fmt: skip
        module = function.__module__.partition(".")[2].replace(".", "/")
        lines.append(signature(function.__name__, runtime / f"{module}.py"))
    lines.append(signature("run_expected", runtime / "capture" / "program.py"))
    lines += [signature(name, build.HERE / "entries.py") for name in ("start", "apply")]
    lines.append(signature("failed", build.HERE / "serving.py"))
    return "\n".join(lines) + "\n"


def test_interface_is_the_recorded_one() -> None:
    """A changed or missing line breaks libraries that are built already: raise INTERFACE in
    build.py. A new one needs a new minor version of the ABI, which older libraries then do without.
    Then: python -m tests.capi.test_library_interface"""
    now, recorded = interface(), RECORD.read_text()
    changes = "\n".join(difflib.unified_diff(
        recorded.splitlines(), now.splitlines(), "recorded", "now", lineterm="", n=0))
    assert now == recorded, changes


if __name__ == "__main__":
    RECORD.write_text(interface())
