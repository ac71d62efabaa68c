"""The part of ``numpy.lib`` that array programs use."""

from . import stride_tricks as stride_tricks
