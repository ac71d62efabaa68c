"""Parameters as one vector."""

from __future__ import annotations

from .clip_grad import parameters_to_vector, vector_to_parameters

__all__ = ["parameters_to_vector", "vector_to_parameters"]
