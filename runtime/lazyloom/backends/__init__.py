"""Compilation and execution of programs: the backend interface, and XLA behind it.

:mod:`.backend` is the interface that a backend implements, :mod:`.selection` says which one runs,
:mod:`.run` and :mod:`.programs` are what all of them share, and :mod:`.xla` is the one that ships.
"""
