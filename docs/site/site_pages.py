"""The Markdown pages on the site: the tree of pages, links, and what examples print."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from sphinx.util import logging

from docs.pages import ROOT, blocks, is_guide, outputs, with_outputs

logger = logging.getLogger(__name__)
_LINK: Final = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")

_INDEX: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<meta http-equiv="refresh" content="0; url={first}">
<link rel="canonical" href="{first}">
</head>
<body><p><a href="{first}">{title}</a></p></body>
</html>
"""


def _prepare(app: Any, name: str, source: list[str]) -> None:
    page = Path(app.env.doc2path(name))
    if page.suffix != ".md":
        return
    text = _with_outputs(page, source[0])
    text = _LINK.sub(lambda m: m[0] if _is_on_the_site(app, page, m[2]) else m[1], text)
    if name == app.config.root_doc:
        index = (ROOT / "docs" / "index.md").read_text()
        text += _tree(index, ["site/api/index", "index"], without=page.name)
    elif name == "docs/ops":
        topics = sorted(p.stem for p in (ROOT / "docs" / "ops").glob("*.md"))
        text += _tree("", [f"{t.replace('_', ' ').capitalize()} <ops/{t}>" for t in topics])
    source[0] = text


def _is_on_the_site(app: Any, page: Path, target: str) -> bool:
    """Whether a link leads somewhere: folders, and pages beside programs, are in the checkout."""
    if re.match(r"[a-z]+:", target):
        return True
    place = (page.parent / target.partition("#")[0]).resolve()
    if place.suffix == ".md" and ROOT in place.parents:
        return str(place.relative_to(ROOT).with_suffix("")) in app.env.found_docs
    return not place.is_dir() or place == page.parent


def _with_outputs(page: Path, text: str) -> str:
    """The page with what each of its Python blocks prints beneath it."""
    found = blocks(page, "python")
    if not found or is_guide(page):
        return text
    try:
        printed = outputs(page)
    except RuntimeError as error:
        logger.warning(str(error), location=str(page))
        return text
    return with_outputs(text, found, printed)


def _tree(text: str, more: list[str], without: str = "") -> str:
    """The toctree of the pages that a page links to, by its sections, and of some more."""
    trees = []
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        links = [m[2] for m in _LINK.finditer(section) if m[2].endswith(".md") and m[2] != without]
        names = [link.removesuffix(".md") for link in links]
        # its title is that of the first page
        names = [f"README <{name}>" if name == "../README" else name for name in names]
        trees.append((section.partition("\n")[0], names))
    if more:
        trees.append(("Everything" if trees else "", more))
    return "".join(
        "\n\n```{toctree}\n:hidden:\n" + (f":caption: {caption}\n" if caption else "") + "\n"
        + "\n".join(names) + "\n```\n" for caption, names in trees)


def _write_index(app: Any, exception: Exception | None) -> None:
    """An ``index.html`` at the root of the site, which leads to the first page."""
    if exception is None and app.builder.format == "html":
        first = f"{app.config.root_doc}.html"
        (Path(app.outdir) / "index.html").write_text(_INDEX.format(
            first=first, title=app.config.project))


def setup(app: Any) -> dict[str, bool]:
    """Entered in ``conf.py``."""
    app.connect("source-read", _prepare)
    app.connect("build-finished", _write_index)
    return {"parallel_read_safe": True}
