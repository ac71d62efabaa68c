"""The evaluation of recorded work."""
