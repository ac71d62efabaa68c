"""The Markdown pages on the site: the tree of pages, links, and what examples print."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from sphinx.util import logging

from docs.pages import ROOT, blocks, is_guide, outputs

logger = logging.getLogger(__name__)
_LINK: Final = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


def _prepare(app: Any, name: str, source: list[str]) -> None:
    page = Path(app.env.doc2path(name))
    if page.suffix != ".md":
        return
    text = _with_outputs(page, source[0])
    text = _LINK.sub(lambda m: m[1] if (page.parent / m[2]).is_dir() else m[0], text)
    if name == "docs/index":
        text += _tree(text, ["site/api/index"])
    elif name == "docs/ops":
        topics = sorted(p.stem for p in (ROOT / "docs" / "ops").glob("*.md"))
        text += _tree("", [f"{t.replace('_', ' ').capitalize()} <ops/{t}>" for t in topics])
    source[0] = text


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
    for block, output in reversed(list(zip(found, printed, strict=True))):
        if output:
            shown = f"\n\nprints\n\n```text\n{output.rstrip()}\n```\n"
            text = text[:block.end] + shown + text[block.end:]
    return text


def _tree(text: str, more: list[str]) -> str:
    """The toctree of the pages that a page links to, by its sections, and of some more."""
    trees = []
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        links = [m[2] for m in _LINK.finditer(section) if m[2].endswith(".md")]
        trees.append((section.partition("\n")[0], [link.removesuffix(".md") for link in links]))
    if more:
        trees.append(("API reference" if trees else "", more))
    return "".join(
        "\n\n```{toctree}\n:hidden:\n" + (f":caption: {caption}\n" if caption else "") + "\n"
        + "\n".join(names) + "\n```\n" for caption, names in trees)


def setup(app: Any) -> dict[str, bool]:
    """Entered in ``conf.py``."""
    app.connect("source-read", _prepare)
    return {"parallel_read_safe": True}
