"""Other packages, and classes of programs, that take part: NumPy, pandas, einops, subclasses."""
