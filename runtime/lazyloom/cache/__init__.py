"""Caches of executables and lowerings: in memory and on disk."""
