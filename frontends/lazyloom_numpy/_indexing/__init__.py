"""Indexing: ``x[key]``, ``x[key] = value`` and ``x.flat``."""
