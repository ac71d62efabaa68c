"""A profile as one HTML file, which asks no host for anything."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

_DATA = "/*data*/null"


def page(data: dict[str, Any]) -> str:
    """The page with the data in it."""
    template = resources.files(__package__).joinpath("page.html").read_text("utf-8")
    # "</script>" in the user's source would end the script
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return template.replace(_DATA, text)
