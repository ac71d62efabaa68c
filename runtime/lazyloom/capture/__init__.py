"""Capture: functions whose calls run without being recorded, once one call has been.

:func:`jit` is for programs; frontends register here which state of theirs calls depend on.
"""

from __future__ import annotations

from .environment import Generators, register, register_generators
from .function import CaptureError, Explanation, Jitted, RecordedCall, jit, recorded_calls
from .numbers import Readers, register_readers
from .outputs import Views, register_views
from .program import CapturedProgram, Section
from .state import composed_tensors, constant_classes, ignore_attributes, uncapturable

__all__ = [
    "CaptureError", "CapturedProgram", "Explanation", "Generators", "Jitted", "Readers",
    "RecordedCall", "Section", "Views", "composed_tensors", "constant_classes",
    "ignore_attributes", "jit", "recorded_calls", "register",
    "register_generators", "register_readers", "register_views", "uncapturable",
]  # fmt: skip
