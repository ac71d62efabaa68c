"""Tensors: mutable, aliasing objects over the immutable values of the graph."""
