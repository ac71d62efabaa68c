"""Everything that Python's ``lazyloom`` has is reached from C, or said not to be."""

from __future__ import annotations

import importlib
from pathlib import Path

import lazyloom
from lazyloom_capi import coverage, header

from .compilers import HERE

PAGE = HERE.parent.parent / "docs" / "c-abi.md"


def test_every_public_name_is_in_the_table() -> None:
    assert set(coverage.NAMES) == set(lazyloom.__all__)
    for name, members in coverage.MODULES.items():
        assert set(members) == set(importlib.import_module(f"lazyloom.{name}").__all__), name


def test_the_functions_of_the_table_are_in_the_header() -> None:
    functions = header.functions(header.text())
    everything = [coverage.NAMES, *coverage.MODULES.values()]
    for name, found in (item for names in everything for item in names.items()):
        if isinstance(found, tuple):
            assert found and not set(found) - set(functions), name
        else:
            assert len(found) > 20, name


def test_the_page_has_the_table() -> None:
    text = Path(PAGE).read_text()
    assert coverage.table() in text, "run: python docs/generate.py"
