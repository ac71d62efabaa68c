"""``scan``, ``while_loop`` and ``cond``: explicit loops and branches."""
