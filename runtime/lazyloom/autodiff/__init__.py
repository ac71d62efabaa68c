"""Derivatives of recorded work, in reverse and forward mode."""
