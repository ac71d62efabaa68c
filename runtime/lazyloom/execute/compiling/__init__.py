"""Compilation: lookup of programs on disk, the compiler, and its process."""
