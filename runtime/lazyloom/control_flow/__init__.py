"""``scan``, ``while_loop`` and ``cond``: loops and branches that are written as such."""
