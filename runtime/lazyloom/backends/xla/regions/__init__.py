"""Regions of other code generators inside programs that XLA compiles."""
