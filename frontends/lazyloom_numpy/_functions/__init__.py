"""The functions of arrays, a module for each kind."""
