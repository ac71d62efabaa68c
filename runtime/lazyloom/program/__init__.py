"""Canonical programs, and what is decided about them before they run."""
