"""Compilation and execution of programs: the backend interface, and XLA behind it.

:mod:`.backend` is the interface that a backend implements, :mod:`.selection` selects the one that
runs, and :mod:`.xla` is the one that ships.
"""
