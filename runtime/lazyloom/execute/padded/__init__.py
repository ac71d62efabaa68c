"""Padded programs: one for structures that differ in extents alone."""
