"""The API reference: a directive for all public names of a module, written by autodoc.

    .. public:: lazyloom_torch.nn
       :kind: class

Public is what ``__all__`` lists, else what the module's ``dir`` has, without what is another
package's. Docstrings are reStructuredText of the simplest kind: what would be markup by accident
(``*args``, ``add_``) is escaped.
"""

from __future__ import annotations

import importlib
import inspect
import re
import types
from typing import Any, ClassVar, Final

from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

OURS: Final = "lazyloom"
#: what is no text: literals, roles, links, examples, and blocks after a double colon
_LITERAL: Final = re.compile(
    r"(``.+?``|:[\w:]+:`[^`]+`|`[^`]+`_|^ *>>> [^\n]*(?:\n *\S[^\n]*)*"
    r"|::\n(?: *\n| +\S[^\n]*(?:\n|\Z))+)", flags=re.S | re.M)
#: a page that a docstring names, which the site has a link for
_PAGE: Final = re.compile(r"``docs/([\w/-]+)\.md``")
_MARKUP: Final = re.compile(r"([*|`])|(?<=\w)_(?!\w)")
_ATTRIBUTES: Final = re.compile(r"^Attributes:\n((?: .*\n|\n)+)", flags=re.M)


def _kind(found: Any) -> str:
    if isinstance(found, type):
        return "exception" if issubclass(found, BaseException) else "class"
    return "function" if inspect.isroutine(found) else "data"


def public(module: types.ModuleType, own: bool = False) -> list[str]:
    """The public names of a module that are its package's, or its own, and have a docstring."""
    names = getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"]
    package = module.__name__.partition(".")[0]
    found = []
    for name in sorted(set(names), key=str.lower):
        given = getattr(module, name)
        home = getattr(given, "__module__", None) or type(given).__module__
        if isinstance(given, types.ModuleType) or home.partition(".")[0] not in (package, OURS):
            continue
        if inspect.getdoc(given) and (not own or home == module.__name__):
            found.append(name)
    return found


def described(cls: type) -> list[str]:
    """The properties that the docstring of their class describes among its attributes."""
    section = _ATTRIBUTES.search(f"{inspect.getdoc(cls) or ''}\n")
    found = re.findall(r"^ {4}(\w[\w, ]*):", section[1], flags=re.M) if section else []
    names = [name for line in found for name in line.split(", ")]
    return [name for name in names if isinstance(getattr(cls, name, None), property)]


class Public(SphinxDirective):
    """``.. public:: module``: its public names, those of some kinds, or without some."""

    required_arguments = 1
    option_spec: ClassVar = {
        "kind": directives.unchanged, "members": directives.flag, "own": directives.flag,
        "without": directives.unchanged,
    }  # fmt: skip

    def run(self) -> list[Any]:
        """Give the nodes."""
        name = self.arguments[0]
        module = importlib.import_module(name)
        without = self.options.get("without", "").split()
        lines: list[str] = []
        for member in public(module, "own" in self.options):
            given = getattr(module, member)
            kind = _kind(given)
            if member in without or kind not in self.options.get("kind", kind).split():
                continue
            lines.append(f".. auto{kind}:: {name}.{member}")
            if kind == "data":
                lines.append("   :no-value:")
            if "members" in self.options and kind == "class":
                lines.append("   :members:")
                # napoleon describes these where the class's docstring does
                lines.append(f"   :exclude-members: {', '.join(described(given))}")
            lines.append("")
        return self.parse_text_to_nodes("\n".join(lines)) if lines else []


def _escape(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if what == "data" and inspect.getdoc(obj) == inspect.getdoc(type(obj)):
        lines[:] = [f"A :class:`~{type(obj).__module__}.{type(obj).__qualname__}`."]
    elif lines:
        if what == "data":  # napoleon takes a word and a colon there for a type
            lines[0] = re.sub(r"^(\w+): ", r"\1, ", lines[0])
        # napoleon knows sections by one word
        text = re.sub(r"(?m)^(Raises) \(.*\):$", r"\1:", "\n".join(lines))
        parts = _LITERAL.split(_PAGE.sub(r":doc:`/docs/\1`", text))
        parts[::2] = [_MARKUP.sub(lambda m: "\\" + m[0], part) for part in parts[::2]]
        lines[:] = "".join(parts).split("\n")


def setup(app: Any) -> dict[str, bool]:
    """Entered in ``conf.py``."""
    app.add_directive("public", Public)
    # before napoleon, which reads the sections of what is left
    app.connect("autodoc-process-docstring", _escape, priority=100)
    return {"parallel_read_safe": True}
