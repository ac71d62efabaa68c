"""``vmap``: functions of one element, mapped over a whole axis."""
