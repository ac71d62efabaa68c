"""The primitives of JAX that kernels have steps of: one entry each, in modules by what they do."""
