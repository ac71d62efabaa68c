"""The array class, its memory layout, and how it and arrays of NumPy become each other."""
