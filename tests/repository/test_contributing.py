"""CONTRIBUTING.md names every folder of tests, and the commands that run it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
#: targets of the Makefile that run a part of the folders, by the variables that name these
PARTS: Final = {"test-interpreted": "CORE_TESTS", "test-without": "WITHOUT_TESTS",
                "test-devices": "DEVICES_TESTS"}  # fmt: skip


def rows() -> dict[str, tuple[str, str]]:
    """What is tested in each folder that the table of folders lists, and what runs it as well."""
    found: dict[str, tuple[str, str]] = {}
    for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        names = re.findall(r"`tests/(\w+)/`", cells[0]) if line.startswith("| `tests/") else []
        for name in names:
            assert name not in found, f"tests/{name} is listed twice"
            found[name] = cells[1], cells[2]
    return found


def test_every_folder_of_tests_is_listed() -> None:
    listed = rows()
    assert set(listed) == {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert not [name for name, (tested, _) in listed.items() if not tested]


def test_what_runs_a_folder_is_what_the_makefile_says() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target, variable in PARTS.items():
        (named,) = re.findall(rf"^{variable} \?= (.*)$", makefile, flags=re.M)
        recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, flags=re.M)
        assert recipe is not None and f"$({variable})" in recipe[1]
        said = {name for name, (_, also) in rows().items() if f"`make {target}`" in also}
        assert {f"tests/{name}" for name in said} == set(named.split())
