"""What is raised where the process that compiles is lost."""

from __future__ import annotations


class CompilerLost(Exception):
    """The process has ended, or was given up, while it compiled."""
