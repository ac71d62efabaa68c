"""One op as a function in C: the text, from the op's definition as JAX traces it."""
