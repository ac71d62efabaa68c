"""The page of a profile in a browser: tables, filter, differences, graphs, keys."""

from __future__ import annotations

import copy
import html
import io
import json
import platform
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lazyloom
import lazyloom_numpy as np
from docs import profile_pictures
from docs.pages import ROOT
from lazyloom.profiling.page import page

BROWSER = next(filter(None, map(shutil.which, (
    "chromium", "chromium-browser", "google-chrome", "chrome"))), None)

#: what the scripts below use: a key that is pressed where the focus is, and what is there
HELP = """
const press = (key, where) => (where || document.activeElement).dispatchEvent(
  new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
const rows = () => [...document.querySelectorAll("#table > table > tbody > tr[tabindex]")];
const detail = () => document.querySelector("tr.detail");
const tab = () => document.querySelector("[role=tab][aria-selected=true]").textContent;
const seen = {};
"""


@pytest.fixture(scope="module")
def data() -> Any:
    """A profile of programs that differ, some compiled, one of which fails."""
    x = np.ones((8, 8), dtype=np.float32)
    with lazyloom.options(reproducible=True), lazyloom.profile() as watched:
        for n in range(6):
            float(np.roll(np.tanh(x @ x.T + 1), n // 2, axis=0)[:3].sum())
        with lazyloom.options(compiles="error"), pytest.raises(lazyloom.LoomError):
            (np.sinh(x) - np.cosh(x) * 0.3).sum().item()
    with lazyloom.profile() as other:
        float((x * 2).sum())
    assert "op_by_op" in other.report.data["evaluations"]["form"]
    return watched.report.data


def grown(data: dict[str, Any], count: int) -> dict[str, Any]:
    """The same with so many evaluations."""
    grown = copy.deepcopy(data)
    columns = grown["evaluations"]
    for name, column in columns.items():
        columns[name] = (column * (count // len(column) + 1))[:count]
    columns["number"] = list(range(count))
    columns["form"][count // 2] = "padded"
    return grown


@pytest.fixture
def browse(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    if BROWSER is None:
        pytest.skip("no chromium is installed")

    def run(data: dict[str, Any], script: str, *arguments: str) -> dict[str, Any]:
        path = tmp_path / "page.html"
        path.write_text(page(data).replace("</body>", f"<script>{HELP}try {{ {script} }} catch (e) "
                        "{ seen.error = String(e.stack); }"
                        "document.title = JSON.stringify(seen);</script></body>"))
        done = subprocess.run(
            [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
             f"--user-data-dir={tmp_path}/browser", *arguments, path.as_uri()],
            capture_output=True, text=True, timeout=300)
        found = re.search("<title>(.*?)</title>", done.stdout, re.S)
        assert found is not None, done.stderr
        seen: dict[str, Any] = json.loads(html.unescape(found[1]))
        assert "error" not in seen, seen["error"]
        return seen

    return run


@pytest.mark.skipif(BROWSER is None, reason="no chromium is installed")
def test_the_pictures_of_the_pages_are_drawn(data: dict[str, Any]) -> None:
    image = pytest.importorskip("PIL.Image")
    sizes = {}
    colours = {}
    named = profile_pictures.anonymous(data)
    assert named["machine"]["name"].startswith(platform.machine())
    for name in profile_pictures.PICTURES:
        drawn = image.open(io.BytesIO(profile_pictures.picture(named, name)))
        # those of the documentation are as large, and are none that failed to be drawn
        with image.open(ROOT / "docs" / f"{name}.png") as kept:
            sizes[name] = drawn.size == kept.size
        colours[name] = len(drawn.convert("RGB").getcolors(1 << 20))
    assert all(sizes.values()) and min(colours.values()) > 40
    assert profile_pictures.PROGRAM.is_file()


def test_keys_do_what_the_mouse_does(data: dict[str, Any], browse: Any) -> None:
    seen = browse(data, """
        seen.first = tab();
        press("2", document.body); seen.second = tab();
        press("4", document.body); seen.fourth = tab(); seen.failures = rows().length;
        press("2", document.body);
        press("ArrowDown", document.body); press("ArrowDown"); press("ArrowUp");
        seen.row = rows().indexOf(document.activeElement);
        press("Enter"); seen.opened = detail() !== null;
        seen.expanded = document.activeElement.getAttribute("aria-expanded");
        press("Escape"); seen.closed = detail() === null;
        press("/", document.body); seen.searching = document.activeElement.id;
        press("2"); seen.typed = tab();
        press("Escape"); seen.left = document.activeElement === document.body;
        """)
    assert seen["first"].startswith("Lines") and seen["second"].startswith("Programs")
    assert seen["fourth"].startswith("Failures") and seen["failures"] == len(data["failures"]) == 1
    assert seen["row"] == 0 and seen["opened"] and seen["expanded"] == "true" and seen["closed"]
    assert seen["searching"] == "search" and seen["typed"].startswith("Programs") and seen["left"]


def test_a_program_shows_all_that_is_known_of_it(data: dict[str, Any], browse: Any) -> None:
    (number,) = [n for n, p in enumerate(data["programs"]) if "shifts=(2)" in p["text"]]
    p = data["programs"][number]
    seen = browse(data, f"""
        show("Programs"); rows().find(r => r.record.n === {number}).click();
        seen.text = detail().innerText;
        seen.titles = [...detail().querySelectorAll("h3")].map(h => h.textContent);
        seen.before = detail().querySelectorAll(".split pre").length;
        seen.changed = [...detail().querySelectorAll(".split .changed")].map(d => d.textContent);
        const box = detail().querySelector(".box:not(.low)");
        seen.ops = box.querySelectorAll("g[data-op]").length;
        box.focus(); press("ArrowDown"); press("ArrowDown"); press("ArrowDown"); press("ArrowUp");
        seen.current = detail().querySelector(".current").dataset.op;
        seen.said = box.nextElementSibling.textContent;
        press("End"); seen.last = detail().querySelector(".current").dataset.op;
        seen.row = document.querySelectorAll("tr.detail").length;
        """)
    assert {"How it ran", "Work", "Memory", "Code generators", "Graph", "Donation"} <= set(
        seen["titles"])
    assert f"program {number}," in seen["text"] and "the options ask for compiled" in seen["text"]
    assert "as XLA says" in seen["text"] and "as XLA counts" in seen["text"]
    assert seen["before"] == 2 and any("shifts=(2)" in line for line in seen["changed"])
    assert seen["ops"] == p["ops"] == int(seen["last"]) + 1 and seen["current"] == "1"
    assert seen["said"].startswith("%1 = ") and f"{Path(__file__).name}:" in seen["said"]
    assert seen["row"] == 1


def test_ten_thousand_evaluations_are_filtered(data: dict[str, Any], browse: Any) -> None:
    many = grown(data, 10_000)
    seen = browse(many, """
        seen.tab = tabs[2].textContent;
        show("Evaluations"); seen.rows = rows().length; seen.count = byId("count").textContent;
        seen.forms = [...filter.options].map(o => o.value);
        filter.value = "padded"; filter.onchange(); seen.padded = rows().length;
        filter.selectedIndex = 0; filter.onchange();
        search.value = "sHiFtS=(1,)"; search.oninput(); seen.found = byId("count").textContent;
        search.value = ""; search.oninput();
        document.querySelector("#table > p button").click(); seen.more = rows().length;
        document.querySelector("th button").click(); seen.last = rows()[0].record.number;
        byId("theme").click(); seen.dark = getComputedStyle(document.body).backgroundColor;
        byId("theme").click(); seen.light = getComputedStyle(document.body).backgroundColor;
        """)
    assert seen["tab"] == "Evaluations (10000)" and seen["count"] == "10000 of 10000"
    assert seen["rows"] == 200 and seen["more"] == 1200 and seen["padded"] == 1
    assert {"any form", "compiled", "padded"} <= set(seen["forms"])
    assert seen["found"] == "1 of 10000" and seen["last"] == 9999
    assert {seen["dark"], seen["light"]} == {"rgb(13, 17, 23)", "rgb(255, 255, 255)"}
