"""A package, so that tests/torch and tests/numpy do not pass for the libraries of that name."""
