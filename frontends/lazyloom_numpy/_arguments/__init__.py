"""What arguments mean: dtypes and promotion, array-likes, options, bounds, assigned values."""
