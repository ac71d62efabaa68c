"""A profile as one HTML file, which asks no host for anything."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, Final

from .program_graph import drawn

#: JSON is read several times as fast as the same text as JavaScript
_DATA: Final = "/*data*/"
#: characters of all drawings together, beyond which no more programs are drawn
DRAWN: Final = 1_500_000


def page(data: dict[str, Any]) -> str:
    """The page with the data in it, and the graphs of programs as drawings."""
    template = resources.files(__package__).joinpath("page.html").read_text("utf-8")
    # "</script>" in the user's source would end the script
    short = {**_with_drawings(data), "evaluations": _packed(data["evaluations"])}
    text = json.dumps(short, separators=(",", ":")).replace("<", "\\u003c")
    return template.replace(_DATA, text)


def _packed(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Columns, those of texts as the different texts and, for each row, which one it is.

    A page of ten thousand evaluations is half as long for it.
    """
    packed: dict[str, list[Any]] = {}
    for name, column in columns.items():
        if column and isinstance(column[0], str):
            place = {text: n for n, text in enumerate(dict.fromkeys(column))}
            packed[name] = [list(place), [place[text] for text in column]]
        else:
            packed[name] = [None, column]
    return packed


def _with_drawings(data: dict[str, Any]) -> dict[str, Any]:
    """The data, whose programs have ``svg`` in place of their graphs, "" where there is no room."""
    room = DRAWN
    programs = list(data["programs"])
    for number in sorted(range(len(programs)), key=lambda n: -programs[n]["seconds"]):
        details = programs[number]["details"]
        if details is None:
            continue
        picture = ""
        if details["graph"] is not None and room > 0:
            picture = drawn(details["graph"])
            if len(picture) > room:
                picture = ""
            room -= len(picture)
        programs[number] = {**programs[number], "details": {
            **{k: v for k, v in details.items() if k != "graph"}, "svg": picture}}
    return {**data, "programs": programs}
