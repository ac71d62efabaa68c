"""Lowering through JAX, compilation and execution by XLA. Only here is JAX used."""
