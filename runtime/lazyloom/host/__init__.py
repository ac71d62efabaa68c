"""Ops as functions of NumPy, for the form that runs before anything is compiled."""
