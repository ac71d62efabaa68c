"""The errors of the compiler process."""

from __future__ import annotations


class CompilerLost(Exception):
    """The process has ended, or was given up, while it compiled."""


class NotCompiled(Exception):
    """The process could not compile a program; the text is its error."""


class NoCompilerError(Exception):
    """There can be no such process here; the text says why."""
