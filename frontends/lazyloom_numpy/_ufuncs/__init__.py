"""The ufuncs: their loops, the error state, outputs and operators."""
