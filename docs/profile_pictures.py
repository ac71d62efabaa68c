"""Draw ``docs/profile.png`` and ``docs/profile_program.png`` by ``examples/profile/train.py``.

``python docs/profile_pictures.py [REPORT]``: profiles the program, or takes the report of an
earlier profile (JSON), and has a browser draw the page. Chromium has to be there, and Pillow (the
extra ``demo``). The peaks that bounds are made of are those that
``python -m lazyloom profile --measure-machine`` measured, without which there are none.
"""

from __future__ import annotations

import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from lazyloom.profiling.page import page

ROOT: Final = Path(__file__).resolve().parents[1]
PROGRAM: Final = ROOT / "examples" / "profile" / "train.py"
BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
#: width and height in pixels of each picture, and what is done on the page before
PICTURES: Final = {
    "profile": (1200, 780, ""),
    "profile_program": (1200, 1830, """
const rows = () => document.querySelectorAll("#table > table > tbody > tr[tabindex]");
const tabs = [...document.querySelectorAll("[role=tab]")];
tabs.find(t => t.textContent.startsWith("Programs")).click();
const search = document.getElementById("search");
search.value = KEY;
search.dispatchEvent(new Event("input", {bubbles: true}));
rows()[0].click();
document.getElementById("findings").remove();
"""),
}
COLOURS: Final = 256


def profiled() -> dict[str, Any]:
    """The report of the program, compiled from the first step on."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        # the file's own name is the one that the page shows
        subprocess.run(
            [sys.executable, "-m", "lazyloom", "profile", "-o", report, PROGRAM.name],
            cwd=PROGRAM.parent, check=True, env={**os.environ, "LAZYLOOM_REPRODUCIBLE": "1"})
        found: dict[str, Any] = json.loads(Path(report).read_text("utf-8"))
    return found


def anonymous(data: dict[str, Any]) -> dict[str, Any]:
    """The report with the kind of the machine in place of its name."""
    cores = data["machine"]["name"].rpartition(", ")[2]
    return {**data, "machine": {**data["machine"], "name": f"{platform.machine()}, {cores}"}}


def picture(data: dict[str, Any], name: str) -> bytes:
    """The PNG file of a picture. Raises OSError without a browser."""
    from PIL import Image

    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise OSError(f"no browser is installed, expected one of {', '.join(BROWSERS)}")
    width, height, script = PICTURES[name]
    # of the programs that came again, the one that took the longest
    longest = max((p for p in data["programs"] if p["details"] is not None and p["runs"] > 1),
                  key=lambda p: p["seconds"])
    script = script.replace("KEY", json.dumps(longest["key"]))
    with tempfile.TemporaryDirectory() as folder:
        shown, drawn = Path(folder, "page.html"), Path(folder, "page.png")
        shown.write_text(page(data).replace("</body>", f"<script>{{{script}}}</script></body>"),
                         "utf-8")
        subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             f"--user-data-dir={folder}/user", f"--window-size={width},{height}",
             f"--screenshot={drawn}", shown.as_uri()],
            check=True, capture_output=True, timeout=120)
        small = Image.open(drawn).convert("RGB").quantize(COLOURS)
    written = io.BytesIO()
    small.save(written, format="png", optimize=True)
    return written.getvalue()


if __name__ == "__main__":
    report = json.loads(Path(sys.argv[1]).read_text("utf-8")) if sys.argv[1:] else profiled()
    for each in PICTURES:
        Path(__file__).with_name(f"{each}.png").write_bytes(picture(anonymous(report), each))
