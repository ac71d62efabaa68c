"""How Sphinx builds the site: ``make site``. The root of the source is the checkout itself."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "site")]

import lazyloom  # noqa: E402

project = "Lazyloom"
version = release = lazyloom.__version__
author = "The Lazyloom authors"
copyright = author  # noqa: A001

extensions = [
    "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "site_pages",
    "site_api",
]  # fmt: skip
# the first page; site_pages.py writes an index.html that leads to it
root_doc = "docs/start"
include_patterns = [
    "README.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md",
    "docs/**",
]  # fmt: skip
exclude_patterns = [".*", "out", "build", "tests", "examples", "**/__pycache__"]
# which of two objects of one name a docstring means, its reader knows
suppress_warnings = ["ref.python"]

myst_heading_anchors = 4
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_display_short_literal_types = True
maximum_signature_line_length = 80

html_theme = "furo"
# the theme's own dark style underlines modules as if they were links
pygments_dark_style = "monokai"
html_title = f"Lazyloom {release}"
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_search_scorer = str(ROOT / "docs" / "site" / "scorer.js")
html_show_sphinx = False
